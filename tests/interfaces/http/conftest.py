"""A published store, and a client of a service over it."""

import pytest

from support.services import Published, client_of


@pytest.fixture
def published(tmp_path):
    return Published(tmp_path)


@pytest.fixture
def client(published):
    with client_of(published.store) as client:
        yield client
