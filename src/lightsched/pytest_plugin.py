"""How do the fixtures get into your tests? pytest finds this module by its entry point: there is nothing to import.

pytest loads it at every start, so it imports the scheduler only when a test asks for it.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from lightsched.testing import AsyncScheduler, Scheduler


@pytest.fixture
def scheduler() -> Iterator["Scheduler"]:
    """A lightsched scheduler of the test's own, on a clock that the test moves: `scheduler.advance("2h")`."""
    from lightsched.testing import Scheduler  # noqa: PLC0415 -- see above

    with Scheduler() as ours:
        yield ours


@pytest.fixture
def async_scheduler() -> Iterator["AsyncScheduler"]:
    """As `scheduler`, for tests that run in an event loop: `await async_scheduler.advance("2h")`."""
    from lightsched.testing import AsyncScheduler  # noqa: PLC0415 -- see above

    ours = AsyncScheduler()
    try:
        yield ours
    finally:
        ours.close()
