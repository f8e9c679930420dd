"""Coins are seeded by the name of the test that tosses them."""

import pytest

from undeleted.coins import Seeded, seeded


@pytest.fixture
def coins(request: pytest.FixtureRequest) -> Seeded:
    return seeded(request.node.name)
