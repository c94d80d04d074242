import gc
import os

import pytest
from hypothesis import HealthCheck, Phase, settings

from tests.broker.fixture import kafka

__all__ = ["kafka"]

# A loaded machine is no bug: how long an example takes says nothing here.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
# Where any failure will do (`make mutants`), looking for the smallest one is a waste of time.
settings.register_profile("hasty", settings.get_profile("patient"), phases=[Phase.explicit, Phase.generate])
settings.load_profile(os.environ.get("LIGHTSCHED_TEST_HYPOTHESIS", "patient"))


def pytest_collection_finish():
    """Leave what was imported out of every collection: it stays, and to look through it takes long."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="module", autouse=True)
def _own_garbage():
    """What a module has left open is an error of its own, at its last test: not of whichever test comes later."""
    yield
    gc.collect()
