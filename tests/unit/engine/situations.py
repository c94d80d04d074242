"""Events in every situation they can be in, each called `e`, by the name of the situation."""

from tests.unit.engine.scheduler import Scheduler

ONCE = {"id": "e", "at": "2026-03-02T11:00:00Z"}
OFTEN = {"id": "e", "cron": "0 * * * *"}
TRACKED = {"retry": {"delays": ["10m"]}, "timeout": "30m"}


def unknown(scheduler):
    return ONCE


def once(scheduler):
    scheduler.post(ONCE)
    return ONCE


def once_paused(scheduler):
    scheduler.post(ONCE)
    scheduler.pause("e")
    return ONCE


def once_out(scheduler):
    scheduler.post(ONCE | TRACKED)
    scheduler.at("11:00")
    return ONCE | TRACKED


def once_claimed(scheduler):
    event = once_out(scheduler)
    scheduler.report("CLAIMED")
    return event


def once_processing(scheduler):
    event = once_out(scheduler)
    scheduler.report("PROCESSING")
    return event


def once_retrying(scheduler):
    event = once_out(scheduler)
    scheduler.report("RETRIABLE_FAILURE")
    return event


def once_retrying_paused(scheduler):
    event = once_retrying(scheduler)
    scheduler.pause("e")
    return event


def once_without_slot(scheduler):
    scheduler.post({"id": "other", "in": "1m", "timeout": "10h"}, ONCE | TRACKED)
    assert scheduler.at("11:00").phases("e") == ["WAITING"]
    return ONCE | TRACKED


def once_without_slot_paused(scheduler):
    event = once_without_slot(scheduler)
    scheduler.pause("e")
    return event


def once_replaced_while_out(scheduler):
    once_out(scheduler)
    event = {"id": "e", "at": "2026-03-02T12:00:00Z"}
    scheduler.post(event)
    return event


def once_success(scheduler):
    event = once(scheduler)
    scheduler.at("11:00")
    return event


def once_failed(scheduler):
    event = once_out(scheduler)
    scheduler.report("FATAL_FAILURE")
    return event


def once_cancelled(scheduler):
    event = once(scheduler)
    scheduler.cancel("e")
    return event


def once_expired(scheduler):
    event = ONCE | {"at": "2025-03-02T11:00:00Z"}
    scheduler.post(event)
    return event


def often(scheduler):
    scheduler.post(OFTEN)
    return OFTEN


def often_paused(scheduler):
    scheduler.post(OFTEN)
    scheduler.pause("e")
    return OFTEN


def often_out(scheduler):
    scheduler.post(OFTEN | TRACKED)
    scheduler.at("11:00")
    return OFTEN | TRACKED


def often_claimed(scheduler):
    event = often_out(scheduler)
    scheduler.report("CLAIMED")
    return event


def often_processing(scheduler):
    event = often_out(scheduler)
    scheduler.report("PROCESSING")
    return event


def often_retrying(scheduler):
    event = often_out(scheduler)
    scheduler.report("RETRIABLE_FAILURE")
    return event


def often_out_skipping(scheduler):
    event = OFTEN | TRACKED | {"overlap": "skip"}
    scheduler.post(event)
    scheduler.at("11:00")
    return event


def often_out_paused(scheduler):
    event = often_out(scheduler)
    scheduler.pause("e")
    return event


def often_cancelled_while_out(scheduler):
    event = often_out(scheduler)
    scheduler.cancel("e")
    return event


def often_over(scheduler):
    event = OFTEN | {"max_runs": 1}
    scheduler.post(event)
    scheduler.at("11:00")
    return event


def often_without_times(scheduler):
    event = OFTEN | {"ends_at": "2026-03-02T10:30:00Z"}
    scheduler.post(event)
    return event


SITUATIONS = {
    name: situation
    for name, situation in globals().items()
    if name.startswith(("unknown", "once", "often")) and callable(situation)
}


def in_situation(name: str) -> tuple[Scheduler, dict]:
    """A scheduler with an event in this situation, and the event's definition."""
    scheduler = Scheduler(in_flight=1 if "slot" in name else None)
    return scheduler, SITUATIONS[name](scheduler)
