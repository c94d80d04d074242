"""What happens while the previous run of a recurrence is not over?"""

import pytest

from lightsched.event.status import Outcome, Status
from tests.unit.engine.scheduler import Scheduler

SLOW = {"id": "e", "every": "10m", "timeout": "5h"}


@pytest.mark.parametrize(
    ("overlap", "times"),
    [
        (None, ["10:10", "10:20", "10:30", "10:40"]),
        ("allow", ["10:10", "10:20", "10:30", "10:40"]),
        ("skip", ["10:10", "10:40"]),
        ("queue", ["10:10", "10:35"]),
    ],
)
def test_overlap_decides(scheduler, overlap, times):
    scheduler.post(SLOW if overlap is None else SLOW | {"overlap": overlap})
    scheduler.at("10:35").report("SUCCESS", scheduler.deliveries[0])
    assert scheduler.at("10:45").times("e") == times


def test_a_queue_goes_on_one_by_one_in_order(scheduler):
    scheduler.post(SLOW | {"overlap": "queue", "max_runs": 4})
    scheduler.at("11:00")
    for _ in range(4):
        scheduler.advance("1m").report("SUCCESS")
    assert scheduler.dues("e") == ["10:10", "10:20", "10:30", "10:40"]
    assert scheduler.times("e") == ["10:10", "11:01", "11:02", "11:03"]
    assert scheduler.status("e") is Status.SUCCESS


def test_a_queue_waits_for_the_retries_of_the_run_before(scheduler):
    scheduler.post(SLOW | {"overlap": "queue", "retry": {"delays": ["30m"]}})
    scheduler.at("10:15").report("RETRIABLE_FAILURE")
    scheduler.at("10:44")
    assert scheduler.times("e") == ["10:10"]
    assert scheduler.phases("e") == ["RETRY", "QUEUED", "QUEUED", "QUEUED"]
    scheduler.at("10:45").report("FATAL_FAILURE")
    assert scheduler.dues("e") == ["10:10", "10:10", "10:20"]


def test_skip_waits_for_the_retries_of_the_run_before(scheduler):
    scheduler.post(SLOW | {"overlap": "skip", "retry": {"delays": ["15m"]}})
    scheduler.at("10:15").report("RETRIABLE_FAILURE")
    scheduler.at("10:30").report("SUCCESS")
    assert scheduler.at("10:40").dues("e") == ["10:10", "10:10", "10:40"]
    assert scheduler.missed == {"overlap": 2}


def test_a_queued_run_that_expires_is_taken_out_of_the_queue(scheduler):
    scheduler.post(SLOW | {"overlap": "queue", "expires_in": "15m", "max_runs": 3})
    scheduler.at("10:40").report("SUCCESS")
    assert scheduler.dues("e") == ["10:10", "10:30"]
    scheduler.report("SUCCESS")
    assert scheduler.ended("e") == ["SUCCESS", "EXPIRED", "SUCCESS"]


def test_a_pause_holds_the_queue_and_its_end_lets_it_go_on(scheduler):
    scheduler.post(SLOW | {"overlap": "queue"})
    scheduler.at("10:25").pause("e")
    scheduler.report("SUCCESS")
    assert scheduler.advance("1h").times("e") == ["10:10"]
    scheduler.resume("e")
    assert scheduler.dues("e") == ["10:10", "10:20"]
    scheduler.report("SUCCESS")
    assert scheduler.dues("e") == ["10:10", "10:20", "11:20"], "the latest of those missed in the pause"


def test_a_triggered_run_waits_behind_the_queue(scheduler):
    scheduler.post(SLOW | {"overlap": "queue"})
    scheduler.at("10:25").trigger("e")
    for _ in range(3):
        scheduler.report("SUCCESS")
    assert scheduler.dues("e") == ["10:10", "10:20", "10:25"]


def test_a_triggered_run_waits_behind_a_queue_that_a_pause_holds(scheduler):
    scheduler.post(SLOW | {"overlap": "queue"})
    scheduler.at("10:25").pause("e")
    scheduler.report("SUCCESS")
    scheduler.trigger("e")
    scheduler.settle()
    assert scheduler.phases("e") == ["QUEUED", "QUEUED"]


def test_a_long_queue_neither_exhausts_the_stack_nor_is_lost(scheduler):
    scheduler.post({"id": "e", "every": "1h", "overlap": "queue", "timeout": "5h", "expires_in": "20m"})
    scheduler.post(*[{"op": "trigger", "id": "e"}] * 1000)
    assert scheduler.trigger("e").outcome is Outcome.QUOTA
    scheduler.sleep("1s")
    assert scheduler.phases("e") == ["DELIVERED"] + ["QUEUED"] * 999
    for _ in range(3):
        scheduler.report("SUCCESS")
    assert len(scheduler.deliveries) == 4
    scheduler.sleep("30m")
    assert scheduler.ended("e") == ["SUCCESS"] * 3 + ["EXPIRED"] * 996
    assert scheduler.phases("e") == ["DELIVERED"]


def test_a_queue_whose_runs_cannot_be_delivered_comes_to_an_end():
    refused = []
    scheduler = Scheduler(refuse=lambda delivery: "no such topic" if refused else "")
    scheduler.post(SLOW | {"overlap": "queue", "max_runs": 50})
    scheduler.at("20:00")
    assert len(scheduler.phases("e")) == 1 + 50 - 1 - scheduler.ended("e").count("FATAL_FAILURE")
    refused.append(True)
    scheduler.report("SUCCESS")
    scheduler.settle()
    assert scheduler.status("e") is Status.FATAL_FAILURE


def test_no_more_runs_are_unfinished_than_the_rules_allow():
    scheduler = Scheduler(active_runs=3)
    scheduler.post(SLOW)
    scheduler.at("11:00")
    assert scheduler.times("e") == ["10:10", "10:20", "10:30"]
    assert scheduler.missed == {"active_runs": 3}
    scheduler.report("SUCCESS")
    assert scheduler.at("11:10").times("e")[-1] == "11:10"
