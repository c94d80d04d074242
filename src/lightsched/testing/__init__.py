"""How do you test what you schedule? With the real scheduler, in your process, on a clock that you move.

    def test_the_tea_is_ready_after_five_minutes(scheduler):
        scheduler.schedule(id="tea", type="kitchen.timer", in_="5m")
        scheduler.advance("5m")
        scheduler.assert_delivered(type="kitchen.timer", times=1)

The fixtures `scheduler` and `async_scheduler` come with lightsched (`lightsched.pytest_plugin`); without pytest, a
`with Scheduler() as scheduler:` does the same. Engine, store, log and worker are those of a node; docs/testing.md is a
tutorial.
"""

from lightsched.testing.asking import CommandRefused, Done, Report, ReportIgnored
from lightsched.testing.async_scheduler import AsyncScheduler
from lightsched.testing.scheduler import Scheduler
from lightsched.testing.seen import Attempt, DeadLetter, Delivery, Event, NoSuchEvent, Run

__all__ = [
    "AsyncScheduler",
    "Attempt",
    "CommandRefused",
    "DeadLetter",
    "Delivery",
    "Done",
    "Event",
    "NoSuchEvent",
    "Report",
    "ReportIgnored",
    "Run",
    "Scheduler",
]
