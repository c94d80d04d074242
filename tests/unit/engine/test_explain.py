"""Why did it fire, or not? In words."""

import pytest

from lightsched.engine.changes import MOST_BYTES
from lightsched.engine.explain import WORDS
from tests.unit.engine.scheduler import Scheduler

OFFICE = {"window": {"from": "09:00", "to": "17:00"}}
DUE = "2026-03-02T10:10:00.000Z"
THE_RUN = f"The run due {DUE}"


def story(prepare, *, rules=None):
    scheduler = Scheduler(**(rules or {}))
    prepare(scheduler)
    return scheduler.story("e")


def replaced(s):
    s.post({"id": "e", "in": "1h"})
    s.post({"id": "e", "in": "2h"})


def too_old(s):
    s.post({"id": "e", "at": "2020-01-01T00:00:00Z"})


def never_due(s):
    s.post({"id": "e", "cron": "0 * * * *", "ends_at": "2020-01-01T00:00:00Z"})


def cancelled(s):
    s.post({"id": "e", "in": "1h"})
    s.cancel("e", reason="{wrong} customer")


def paused(s):
    s.post({"id": "e", "in": "1h"})
    s.pause("e", reason="holiday")


def resumed(s):
    paused(s)
    s.resume("e")


def triggered(s):
    s.post({"id": "e", "every": "1h"})
    s.trigger("e", reason="to see it")


def until_success(s):
    s.post({"id": "e", "every": "1h", "until": "success"})
    s.at("11:00").report("SUCCESS")


def moved_into_window(s):
    s.post({"id": "e", "at": "2026-03-02T16:00:00Z", **OFFICE})
    s.jump("18:00").settle()


def retry_moved(s):
    s.post({"id": "e", "at": "2026-03-02T16:50:00Z", "retry": {"delays": ["20m"]}, **OFFICE})
    s.at("16:50").report("RETRIABLE_FAILURE", error="busy")


def missed_paused(s):
    s.post({"id": "e", "every": "1h", "catch_up": "none"})
    s.pause("e")
    s.at("13:30").resume("e")


def missed_late(s):
    s.post({"id": "e", "every": "1h"})
    s.sleep("210m")


def missed_window(s):
    s.post({"id": "e", "cron": "45 16 * * *", "ends_at": "2026-03-02T20:00:00Z", **OFFICE})
    s.jump("17:30").settle()


def skipped_overlap(s):
    s.post({"id": "e", "every": "1h", "overlap": "skip", "timeout": "5h"})
    s.at("12:00")


def skipped_active_runs(s):
    s.post({"id": "e", "every": "1h", "timeout": "5h"})
    s.at("12:00")


TOLD = {
    "replaced": "A new definition took the place of the old one: revision 2 (changed: at), in some words.",
    "too_old": "It was older than the history when it arrived, so it expired at once.",
    "never_due": "It has no time to fire at, so it expired at once.",
    "cancelled": "It was cancelled. {wrong} customer",
    "paused": "It was paused. holiday",
    "resumed": "It was resumed.",
    "triggered": "It was triggered by hand. to see it",
    "until_success": "It stopped at its first success, as `until` says.",
    "moved_into_window": "It was due outside its window and was moved to the next opening, 2026-03-03T09:00:00.000Z.",
    "retry_moved": "The retry fell outside the window and was moved: "
    "2026-03-02T17:10:00.000Z → 2026-03-03T09:00:00.000Z.",
    "missed_paused": "3 occurrence(s) fell into the pause and were dropped, as `catch_up` says.",
    "missed_late": "2 occurrence(s) were more than a minute late and were dropped, as `catch_up` says.",
    "missed_window": "An occurrence could not go before the recurrence ended at 2026-03-02T20:00:00.000Z: "
    "the window was closed.",
    "skipped_overlap": "The occurrence of 2026-03-02T12:00:00.000Z was skipped: the previous run was not over, "
    "and `overlap` is `skip`.",
    "skipped_active_runs": "The occurrence of 2026-03-02T12:00:00.000Z was skipped: too many runs of this event "
    "are unfinished.",
}


def test_every_decision_has_words_and_a_test():
    assert set(TOLD) == set(WORDS)


@pytest.mark.parametrize("decision", WORDS)
def test_a_decision_is_told(decision):
    rules = {"active_runs": 1} if decision == "skipped_active_runs" else None
    assert TOLD[decision] in story(globals()[decision], rules=rules)


def test_the_story_goes_from_the_beginning_to_now(scheduler):
    scheduler.post({"id": "e", "in": "10m", "retry": {"delays": ["1m", "1m"]}})
    scheduler.at("10:10").report("RETRIABLE_FAILURE", error="busy")
    scheduler.at("10:11")
    assert scheduler.story("e") == [
        "It was scheduled: in some words.",
        f"{THE_RUN} was delivered.",
        f"Attempt 1 of the run due {DUE} failed: busy; it was tried again at 2026-03-02T10:11:00.000Z.",
        f"{THE_RUN} was delivered (attempt 2).",
        f"{THE_RUN} is out at an executor; without a word it times out at 2026-03-02T10:16:00.000Z.",
    ]
    scheduler.report("FATAL_FAILURE", error="no luck")
    assert scheduler.story("e")[-2:] == [
        f"{THE_RUN} ended FATAL_FAILURE: no luck.",
        "It is over: FATAL_FAILURE.",
    ]


def test_lateness_is_told(scheduler):
    scheduler.post({"id": "e", "in": "10m"})
    scheduler.sleep("750s")
    assert f"{THE_RUN} was delivered, 150.0 s after its time." in scheduler.story("e")


@pytest.mark.parametrize(
    ("prepare", "now"),
    [
        (replaced, "It fires next at 2026-03-02T12:00:00.000Z."),
        (paused, "It is paused: nothing fires until it is resumed."),
        (cancelled, "It is over: CANCELLED."),
        (retry_moved, "The run due 2026-03-02T16:50:00.000Z goes at 2026-03-03T09:00:00.000Z."),
    ],
)
def test_what_it_waits_for_now_comes_last(prepare, now):
    assert story(prepare)[-1] == now


def test_waiting_for_a_slot_or_for_the_run_before_is_told():
    scheduler = Scheduler(in_flight=1)
    scheduler.post({"id": "other", "in": "1m", "timeout": "1d"}, {"id": "e", "every": "1h", "overlap": "queue"})
    scheduler.at("12:00")
    assert scheduler.story("e")[-3:-1] == [
        "The run due 2026-03-02T11:00:00.000Z waits for a slot of its tenant.",
        "The run due 2026-03-02T12:00:00.000Z waits for the previous run to end.",
    ]


def test_the_schedule_that_holds_is_told_of_the_revision_that_brought_it():
    told = story(replaced)
    assert told[0] == "It was scheduled."
    assert told[1] == "A new definition took the place of the old one: revision 2 (changed: at), in some words."


def test_a_failed_attempt_is_told_with_its_error_its_executor_and_when_it_is_tried_again(scheduler):
    scheduler.post({"id": "e", "in": "10m", "retry": {"delays": ["1m", "7m"]}, "timeout": "2m"})
    scheduler.at("10:10").report("RETRIABLE_FAILURE", error="busy", executor="mail-1")
    failed = f"Attempt 1 of the run due {DUE} failed at mail-1: busy"
    assert scheduler.story("e")[-2:] == [
        f"{failed}; it is tried again at 2026-03-02T10:11:00.000Z.",
        f"{THE_RUN} goes at 2026-03-02T10:11:00.000Z.",
    ]
    scheduler.at("10:13")
    timed_out = f"Attempt 2 of the run due {DUE} failed: no report or heartbeat for 2 minutes"
    assert scheduler.story("e")[-4:-1] == [
        f"{failed}; it was tried again at 2026-03-02T10:11:00.000Z.",
        f"{THE_RUN} was delivered (attempt 2).",
        f"{timed_out}; it is tried again at 2026-03-02T10:20:00.000Z.",
    ]
    scheduler.at("10:14").pause("e")
    assert f"{timed_out}." in scheduler.story("e")
    scheduler.cancel("e")
    assert scheduler.story("e")[-5:] == [
        f"{timed_out}.",
        "It was paused.",
        "It was cancelled.",
        f"{THE_RUN} ended CANCELLED: the event was cancelled.",
        "It is over: CANCELLED.",
    ]


def test_a_replacement_says_which_fields_it_changed(scheduler):
    scheduler.post({"id": "e", "every": "1h", "payload": {"a": 1}, "labels": {"x": "1"}})
    scheduler.post({"id": "e", "every": "1h", "payload": {"a": 2}, "labels": {"x": "1"}, "timezone": "Europe/Paris"})
    scheduler.post({"id": "e", "in": "1h"})
    second, third = scheduler.story("e")[1:3]
    assert second == "A new definition took the place of the old one: revision 2 (changed: timezone, payload)."
    assert third.endswith(": revision 3 (changed: at, every, timezone, labels, payload), in some words.")


def test_of_a_replacement_that_changed_much_or_is_large_not_all_is_told(scheduler):
    much = {"jitter": "1s", "max_runs": 5, "timeout": "1m", "overlap": "skip", "priority": 1, "type": "x"}
    scheduler.post({"id": "e", "in": "1h", "payload": "x" * MOST_BYTES})
    scheduler.post({"id": "e", "in": "1h"})
    scheduler.post({"id": "e", "every": "1h", "labels": {"x": "1"}, "headers": {"x": "1"}, "payload": 1, **much})
    large, many = scheduler.story("e")[1:3]
    assert large == "A new definition took the place of the old one: revision 2."
    assert many.endswith(
        "revision 3 (changed: type, at, every, max_runs, jitter, overlap, timeout, priority and 3 more), in some words."
    )
