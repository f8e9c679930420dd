"""Coins are seeded by the name of the test that tosses them; servers are started for those who need one."""

from itertools import count

import pytest

from undeleted.coins import Seeded, seeded

_numbers = count()


@pytest.fixture
def coins(request: pytest.FixtureRequest) -> Seeded:
    return seeded(request.node.name)


@pytest.fixture(scope="session")
def server():
    """A private PostgreSQL server.  Where there is none, tests that need one fail: they are not skipped."""
    from support.servers import Server

    running = Server()
    yield running
    running.remove()


@pytest.fixture
def mark():
    """A name that no other test has, for what outlives a test on a server."""
    return f"t{next(_numbers)}"
