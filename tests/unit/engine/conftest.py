import pytest

from tests.unit.engine.scheduler import Scheduler


@pytest.fixture
def scheduler():
    """One partition, at 10:00 on a Monday."""
    return Scheduler()
