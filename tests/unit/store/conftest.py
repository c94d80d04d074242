import pytest

from lightsched.store.store import Store
from tests.unit.store.make import opened


@pytest.fixture
def rocks(tmp_path):
    with opened(tmp_path / "db") as opened_rocks:
        yield opened_rocks


@pytest.fixture
def store(rocks):
    return Store(rocks, 0)
