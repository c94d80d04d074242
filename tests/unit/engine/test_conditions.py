"""What becomes of a command that is only meant for a certain revision, or only once?"""

import pytest

from lightsched.event.status import Outcome, Status
from tests.unit.engine.scheduler import Scheduler

EVENT = {"id": "e", "in": "1h"}


def once(name, what="x"):
    return (("ls_once", name.encode().ljust(8) + what.encode().ljust(8)),)


def test_a_change_is_made_only_to_the_revision_it_is_about(scheduler):
    scheduler.post(EVENT)
    assert scheduler.post(EVENT | {"in": "2h", "if_revision": 1}).outcome is Outcome.REPLACED
    late = scheduler.post(EVENT | {"in": "3h", "if_revision": 1})
    assert (late.outcome, late.unmet, late.revision) == (Outcome.REJECTED, "revision", 2)
    assert scheduler.advance("1d").times("e") == ["12:00"]


@pytest.mark.parametrize("op", ["cancel", "pause", "resume", "trigger"])
def test_every_command_may_be_about_a_revision(scheduler, op):
    scheduler.post({"id": "e", "every": "1h"})
    assert scheduler.post({"op": op, "id": "e", "if_revision": 2}).unmet == "revision"
    assert scheduler.state("e").status is Status.NOT_STARTED
    assert scheduler.post({"op": op, "id": "e", "if_revision": 1}).unmet == ""


def test_revision_0_is_an_event_that_is_not_there(scheduler):
    assert scheduler.post(EVENT | {"if_revision": 1}).unmet == "revision"
    assert scheduler.post(EVENT | {"if_revision": 0}).outcome is Outcome.SCHEDULED
    assert scheduler.post(EVENT | {"if_revision": 0}).unmet == "revision"


def test_what_is_over_or_running_cannot_be_changed_under_its_revision(scheduler):
    scheduler.post({"id": "over", "in": "1m"}, {"id": "out", "in": "1m", "timeout": "1h"})
    scheduler.advance("2m")
    for id_ in ("over", "out"):
        assert scheduler.post({"id": id_, "in": "5m", "if_revision": 1}).outcome is Outcome.TOO_LATE
        assert scheduler.post({"id": id_, "in": "5m"}).outcome is Outcome.REPLACED


def test_a_negative_revision_makes_no_sense(scheduler):
    assert scheduler.post(EVENT | {"if_revision": -1}).outcome is Outcome.INVALID


def test_what_is_sent_again_under_its_name_is_answered_again_and_does_nothing(scheduler):
    assert scheduler.post(EVENT, headers=once("k")).outcome is Outcome.SCHEDULED
    again = scheduler.at("10:30").post(EVENT, headers=once("k"))
    assert (again.outcome, again.revision) == (Outcome.SCHEDULED, 1)
    assert scheduler.at("12:00").post(EVENT, headers=once("k")).outcome is Outcome.SCHEDULED
    assert scheduler.advance("1d").times("e") == ["11:00"]


def test_a_name_is_remembered_over_changes_and_a_cancel(scheduler):
    scheduler.post(EVENT, headers=once("k"))
    scheduler.post(EVENT | {"in": "2h"})
    assert scheduler.post(EVENT, headers=once("k")).revision == 2
    scheduler.cancel("e")
    assert scheduler.post(EVENT, headers=once("k")).status is Status.CANCELLED
    assert scheduler.advance("1d").times("e") == []


def test_a_name_that_was_used_for_something_else_is_refused(scheduler):
    scheduler.post(EVENT, headers=once("k", "one"))
    refused = scheduler.post(EVENT | {"in": "2h"}, headers=once("k", "two"))
    assert (refused.outcome, refused.unmet) == (Outcome.REJECTED, "once")
    assert scheduler.post(EVENT | {"in": "2h"}, headers=once("l", "two")).outcome is Outcome.REPLACED


def test_a_trigger_sent_again_under_its_name_runs_once(scheduler):
    scheduler.post({"id": "e", "every": "1h"})
    for _ in range(3):
        assert scheduler.post({"op": "trigger", "id": "e"}, headers=once("k")).outcome is Outcome.TRIGGERED
    scheduler.settle()
    assert len(scheduler.deliveries) == 1


def test_what_was_refused_may_be_tried_again_under_its_name(scheduler):
    cancel = {"op": "cancel", "id": "e"}
    assert scheduler.post(cancel, headers=once("k")).outcome is Outcome.NOT_FOUND
    scheduler.post(EVENT)
    assert scheduler.post(cancel, headers=once("k")).outcome is Outcome.CANCELLED


def test_what_was_refused_is_not_carried_out_after_what_followed_it_in_its_request(scheduler):
    """The request is sent again: the cancel that found nothing would find what the request itself has scheduled."""
    cancel, first, second = {"op": "cancel", "id": "e"}, once("key  \0\0\0"), once("key  \0\0\1")
    outcomes = [scheduler.post(cancel, headers=first).outcome, scheduler.post(EVENT, headers=second).outcome]
    assert outcomes == [Outcome.NOT_FOUND, Outcome.SCHEDULED]
    outcomes = [scheduler.post(cancel, headers=first).outcome, scheduler.post(EVENT, headers=second).outcome]
    assert outcomes == [Outcome.TOO_LATE, Outcome.SCHEDULED]
    assert scheduler.status("e") is Status.NOT_STARTED
    for another in (once("key  \0\0\2"), once("other\0\0\0"), once("key  \0\0\0", "more")):
        assert scheduler.post({"op": "pause", "id": "e"}, headers=another).outcome is Outcome.PAUSED
        assert scheduler.post({"op": "resume", "id": "e"}).outcome is Outcome.RESUMED


def test_only_the_last_names_are_remembered(scheduler):
    scheduler.post({"id": "e", "every": "1h"})
    for n in range(20):
        scheduler.post({"op": "trigger", "id": "e"}, headers=once(f"k{n}"))
    assert len(scheduler.state("e").heard) == 8


def test_a_name_goes_along_when_a_command_is_sent_home():
    scheduler = Scheduler(partitions=2)
    away = next(f"e{n}" for n in range(100) if scheduler.post({"id": f"e{n}", "in": "1h"}).outcome == "FORWARDED")
    step = scheduler.step(scheduler.command({"id": away, "in": "1h"}, headers=once("k")))
    assert once("k")[0] in step.follows[0].record.headers


IDLE = (("ls_idle", b"1"),)


def test_a_cancel_for_an_idle_event_waits_for_no_run_and_changes_nothing_while_one_is_out(scheduler):
    scheduler.post({"id": "e", "every": "1h", "timeout": "1h"})
    cancel = {"op": "cancel", "id": "e"}
    scheduler.advance("1h")
    late = scheduler.post(cancel, headers=IDLE)
    assert (late.outcome, late.unmet) == (Outcome.TOO_LATE, "idle")
    scheduler.report("SUCCESS")
    assert scheduler.post(cancel, headers=IDLE).outcome is Outcome.CANCELLED


def test_a_run_that_waits_for_a_retry_is_not_out(scheduler):
    scheduler.post({"id": "e", "every": "1h", "retry": {"attempts": 2}})
    scheduler.advance("1h")
    scheduler.report("RETRIABLE_FAILURE")
    assert scheduler.post({"op": "cancel", "id": "e"}, headers=IDLE).outcome is Outcome.CANCELLED


def test_a_cancel_for_an_idle_event_stays_one_when_it_is_forwarded():
    elsewhere = Scheduler(partitions=64)
    home = elsewhere.post({"op": "cancel", "id": "e"}, headers=IDLE)
    assert home.outcome is Outcome.FORWARDED
    (follow,) = elsewhere.steps[-1].follows
    assert IDLE[0] in follow.record.headers
