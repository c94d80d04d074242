"""How many runs of a tenant are out at once, and who goes when a slot is free?"""

import pytest

from lightsched.event.status import Status
from lightsched.event.tenant import Tenant, TenantLimits
from tests.unit.engine.scheduler import Scheduler


def tracked(id_, **more):
    return {"id": id_, "in": "10m", "timeout": "10h", **more}


@pytest.fixture
def scheduler():
    return Scheduler(in_flight=2)


def test_no_more_runs_are_out_than_there_are_slots(scheduler):
    scheduler.post(*(tracked(f"{n}") for n in range(5)))
    assert scheduler.at("10:30").order == ["0", "1"]
    for status in ("SUCCESS", "FATAL_FAILURE", "RETRIABLE_FAILURE"):
        scheduler.report(status)
    assert scheduler.order == ["0", "1", "2", "3", "4"]


def test_a_free_slot_goes_to_the_highest_priority_then_the_earliest_due_then_the_first_arrival(scheduler):
    scheduler.post(tracked("x"), tracked("y"))
    scheduler.at("10:10").post(
        tracked("late", **{"in": "3m"}),
        tracked("b", **{"in": "2m"}),
        tracked("a", **{"in": "2m"}),
        tracked("urgent", priority=1, **{"in": "4m"}),
    )
    scheduler.advance("10m")
    for _ in range(4):
        scheduler.report("SUCCESS")
    assert scheduler.order == ["x", "y", "urgent", "b", "a", "late"]


def test_a_slot_that_a_report_frees_is_taken_in_the_same_step(scheduler):
    scheduler.post(*(tracked(f"{n}") for n in range(3)))
    step = scheduler.at("10:10").step(scheduler.reported(scheduler.deliveries[0], "SUCCESS"))
    assert len(step.deliveries) == 1


def test_a_timeout_and_a_pending_retry_free_the_slot(scheduler):
    scheduler.post(
        tracked("a", timeout="5m"), tracked("b", retry={"delays": ["1h"]}), *(tracked(f"{n}") for n in range(3))
    )
    scheduler.at("10:10").report("RETRIABLE_FAILURE")
    assert scheduler.order == ["a", "b", "0"]
    scheduler.at("10:15")
    assert scheduler.order == ["a", "b", "0", "1"]


def test_untracked_events_need_no_slot(scheduler):
    scheduler.post(*({"id": f"{n}", "in": "10m"} for n in range(5)))
    assert len(scheduler.at("10:10").deliveries) == 5


def test_waiting_runs_never_block_others(scheduler):
    scheduler.post(*(tracked(f"{n}") for n in range(5)), {"id": "plain", "in": "11m"}, tracked("t", tenant="acme"))
    assert set(scheduler.at("10:11").order) == {"0", "1", "plain", "t"}


def test_each_tenant_has_slots_of_its_own():
    scheduler = Scheduler(in_flight=1, tenants={"big": Tenant(limits=TenantLimits(in_flight=3))})
    scheduler.post(*(tracked(f"{tenant}{n}", tenant=tenant) for tenant in ("big", "small") for n in range(5)))
    assert scheduler.at("10:10").order == ["big0", "big1", "big2", "small0"]


def test_what_waits_for_a_slot_expires(scheduler):
    scheduler.post(*(tracked(f"{n}", expires_in="20m") for n in range(3)))
    scheduler.at("10:29:59")
    assert scheduler.status("2") is Status.NOT_STARTED
    assert scheduler.at("10:30").status("2") is Status.EXPIRED
    scheduler.report("SUCCESS")
    assert len(scheduler.deliveries) == 2


def test_what_waits_for_a_slot_too_long_waits_for_the_window_too(scheduler):
    scheduler.post(tracked("0"), tracked("1"), tracked("w", window={"from": "09:00", "to": "10:20"}))
    scheduler.at("10:30").report("SUCCESS")
    assert scheduler.advance("1d").times("w") == ["2026-03-03T09:00"]


def test_a_slot_that_a_waiting_run_did_not_take_goes_to_the_next(scheduler):
    scheduler.post(
        tracked("0"), tracked("1"), tracked("w", window={"from": "09:00", "to": "10:20"}), tracked("n", priority=6)
    )
    scheduler.at("10:30").report("SUCCESS")
    assert scheduler.order == ["0", "1", "n"]


def test_a_pause_takes_a_run_out_of_the_line_and_its_end_puts_it_back(scheduler):
    scheduler.post(*(tracked(f"{n}") for n in range(4)))
    scheduler.at("10:10").pause("2")
    scheduler.report("SUCCESS")
    assert scheduler.order == ["0", "1", "3"]
    scheduler.resume("2")
    scheduler.settle()
    scheduler.report("SUCCESS")
    assert scheduler.order == ["0", "1", "3", "2"]


def test_a_cancel_takes_a_run_out_of_the_line(scheduler):
    scheduler.post(*(tracked(f"{n}") for n in range(4)))
    scheduler.at("10:10").cancel("2")
    scheduler.report("SUCCESS")
    assert scheduler.order == ["0", "1", "3"]


def test_a_run_that_was_triggered_under_a_pause_waits_for_a_slot_and_not_for_the_end_of_the_pause(scheduler):
    scheduler.post(tracked("0"), tracked("1"), {"id": "r", "every": "1h", "timeout": "1h"})
    scheduler.at("10:10").pause("r")
    scheduler.trigger("r")
    assert scheduler.phases("r") == ["WAITING"]
    scheduler.report("SUCCESS", scheduler.deliveries[0])
    assert scheduler.times("r") == ["10:10"]
    assert scheduler.status("r") is Status.PAUSED


def test_a_pause_also_holds_a_run_that_was_triggered_before_it(scheduler):
    scheduler.post(tracked("0"), tracked("1"), {"id": "r", "every": "1h", "timeout": "1h"})
    scheduler.at("10:10").trigger("r")
    scheduler.pause("r")
    scheduler.report("SUCCESS", scheduler.deliveries[0])
    assert scheduler.times("r") == []
    scheduler.resume("r")
    assert scheduler.times("r") == ["10:10"]


def test_when_the_cap_is_lifted_everything_goes(scheduler):
    scheduler.post(*(tracked(f"{n}") for n in range(5)))
    scheduler.at("10:10")
    scheduler.rules = scheduler.engine.rules = Scheduler(in_flight=None).rules
    scheduler.settle()
    assert len(scheduler.deliveries) == 5


def test_what_waited_for_a_slot_does_not_go_early_when_the_clock_was_put_back(scheduler):
    scheduler.post(*(tracked(f"{n}") for n in range(3)))
    scheduler.at("10:10").jump("10:05").report("SUCCESS")
    assert len(scheduler.deliveries) == 2
    assert scheduler.at("10:10").order == ["0", "1", "2"]
