"""`kafka`: the address of a broker, one for the whole run, however many workers it has."""

from collections.abc import Iterator

import pytest

from tests.broker.share import shared_broker


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Iterator[str]:
    """A bootstrap address. Tests share the broker: each has its own names for topics, groups and transactions."""
    base = tmp_path_factory.getbasetemp()
    of_the_run = base if worker_id == "master" else base.parent
    with shared_broker(of_the_run / "kafka") as bootstrap:
        yield bootstrap
