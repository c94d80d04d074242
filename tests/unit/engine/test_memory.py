"""How much does a step hold in memory? Some megabytes, also where many large events are looked at and none goes out."""

import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager

from lightsched.event.tenant import Tenant, TenantLimits
from tests.unit.engine.scheduler import Scheduler

MB = 1024 * 1024
LARGE = 240 * 1024
COUNT = 80
"""So many large ones are 25 MB, in base64."""
MOST = 12 * MB


@contextmanager
def holding_at_most(most_bytes: int) -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak_bytes < most_bytes, f"{peak_bytes / MB:.0f} MB"


def large(id_: str, **more: object) -> dict:
    return {"id": id_, "in": "1m", "payload_base64": "A" * (LARGE * 4 // 3), **more}


def post_many(scheduler: Scheduler, **more: object) -> None:
    scheduler.post(*(large(f"e{number}", **more) for number in range(COUNT)))


def test_large_events_that_wait_for_a_slot_are_not_all_held_at_once():
    scheduler = Scheduler(tenants={"default": Tenant(limits=TenantLimits(in_flight=1))})
    post_many(scheduler, track=True)
    scheduler.jump("10:01")
    with holding_at_most(MOST):
        scheduler.engine.step(scheduler.view, [], scheduler.now_ms)


def test_large_events_that_expire_are_not_all_held_at_once():
    scheduler = Scheduler()
    post_many(scheduler, expires_in="1s")
    scheduler.jump("10:02")
    with holding_at_most(MOST):
        scheduler.engine.step(scheduler.view, [], scheduler.now_ms)


def test_large_events_whose_leases_run_out_together_are_not_all_held_at_once():
    scheduler = Scheduler()
    post_many(scheduler, retry={"attempts": 2}, timeout="1m")
    scheduler.at("10:01").jump("10:02")
    with holding_at_most(MOST):
        scheduler.engine.step(scheduler.view, [], scheduler.now_ms)


def test_large_events_that_are_reported_on_together_are_not_all_held_at_once():
    scheduler = Scheduler()
    post_many(scheduler, track=True)
    scheduler.at("10:01")
    reports = [scheduler.reported(delivery, "SUCCESS") for delivery in scheduler.deliveries]
    with holding_at_most(MOST):
        step = scheduler.engine.step(scheduler.view, reports, scheduler.now_ms)
    assert len(step.ended) == COUNT
