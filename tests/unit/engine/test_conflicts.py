"""What happens when an event is scheduled again under the same identity?"""

import pytest

from lightsched.event.status import Outcome, Status
from tests.unit.engine.scheduler import Scheduler

LATER = {"id": "e", "at": "2026-03-02T12:00:00Z"}


def test_in_sent_again_re_arms(scheduler):
    scheduler.post({"id": "e", "in": "30m"})
    for minute in (20, 40):
        assert scheduler.at(f"10:{minute}").post({"id": "e", "in": "30m"}).outcome is Outcome.REPLACED
    assert scheduler.advance("1d").times("e") == ["11:10"]


def test_in_sent_again_after_it_fired_fires_again(scheduler):
    scheduler.post({"id": "e", "in": "30m"})
    assert scheduler.at("11:00").post({"id": "e", "in": "30m"}).outcome is Outcome.REPLACED
    assert scheduler.advance("1d").times("e") == ["10:30", "11:30"]
    assert scheduler.totals == {"accepted": 2, "fired": 2}


def test_in_is_kept_when_the_conflict_says_keep(scheduler):
    scheduler.post({"id": "e", "in": "30m"})
    assert scheduler.at("10:20").post({"id": "e", "in": "30m", "on_conflict": "keep"}).outcome is Outcome.UNCHANGED
    assert scheduler.advance("1d").times("e") == ["10:30"]


def test_an_identical_event_is_unchanged_while_history_is_kept_and_new_after_that(scheduler):
    scheduler.post(LATER)
    assert scheduler.at("13:00").post(LATER).outcome is Outcome.UNCHANGED
    assert scheduler.advance("8d").post(LATER).outcome is Outcome.SCHEDULED


def test_an_identical_event_is_scheduled_again_after_a_cancel(scheduler):
    scheduler.post(LATER)
    scheduler.cancel("e")
    answer = scheduler.post(LATER)
    assert (answer.outcome, answer.revision) == (Outcome.SCHEDULED, 2)
    assert scheduler.advance("1d").times("e") == ["12:00"]


@pytest.mark.parametrize("other", [{"reason": "why not"}, {"op": "schedule"}, {"on_conflict": "reject"}, {"key": "e"}])
def test_what_is_not_part_of_the_definition_makes_no_difference(scheduler, other):
    scheduler.post(LATER)
    assert scheduler.post(LATER | other).outcome is Outcome.UNCHANGED


@pytest.mark.parametrize(
    "other",
    [
        {"payload": {"a": 1}},
        {"payload": None},
        {"payload_base64": ""},
        {"headers": {"a": "1"}},
        {"labels": {"a": "1"}},
        {"priority": 4},
        {"type": "other"},
        {"expires_in": "1h"},
        {"track": True},
        {"topics": ["a"]},
        {"window": {"days": ["mon"]}},
        {"retry": {"attempts": 2}},
        {"jitter": "1s"},
        {"catch_up": "all"},
        {"timezone": "UTC"},
    ],
    ids=str,
)
def test_what_is_part_of_the_definition_makes_a_difference(scheduler, other):
    scheduler.post(LATER)
    assert scheduler.post(LATER | other).outcome is Outcome.REPLACED


def test_a_default_that_is_spelled_out_makes_no_difference(scheduler):
    defaults = {
        "op": "schedule",
        "tenant": "default",
        "type": "event",
        "catch_up": "latest",
        "look_back": "60m",
        "topics": [],
        "priority": 5,
        "headers": {},
        "labels": {},
        "on_conflict": "replace",
        "reason": "",
        **dict.fromkeys(("in", "cron", "every", "timezone", "window", "retry", "timeout", "until", "track")),
        **dict.fromkeys(("starts_at", "ends_at", "max_runs", "jitter", "overlap", "expires_in", "payload_base64")),
    }
    scheduler.post(LATER)
    for name, value in defaults.items():
        assert scheduler.post(LATER | {name: value}).outcome is Outcome.UNCHANGED, name


def test_the_order_of_headers_and_labels_makes_no_difference(scheduler):
    scheduler.post(LATER | {"headers": {"a": "1", "b": "2"}, "labels": {"c": "3", "d": "4"}})
    again = LATER | {"labels": {"d": "4", "c": "3"}, "headers": {"b": "2", "a": "1"}}
    assert scheduler.post(again).outcome is Outcome.UNCHANGED


def test_the_same_id_of_another_key_or_tenant_is_another_event(scheduler):
    for more in ({}, {"key": "k"}, {"tenant": "acme"}, {"tenant": "acme", "key": "k"}):
        assert scheduler.post(LATER | more).outcome is Outcome.SCHEDULED
    assert len(scheduler.at("12:00").deliveries) == 4


def test_the_key_of_the_record_is_the_key_of_the_event(scheduler):
    scheduler.post(LATER, key=b"customer-7")
    assert scheduler.post(LATER | {"key": "customer-7"}).outcome is Outcome.UNCHANGED
    assert scheduler.at("12:00").deliveries[0].record.key == b"customer-7"


def test_without_an_id_every_record_is_an_event_of_its_own(scheduler):
    for _ in range(2):
        assert scheduler.post({"at": "2026-03-02T12:00:00Z"}).outcome is Outcome.SCHEDULED
    appended = 1772445600000
    assert scheduler.at("12:00").order == [f"auto:0-0-{appended}", f"auto:0-1-{appended}"]


def test_replacing_keeps_a_pause(scheduler):
    scheduler.post(LATER)
    scheduler.pause("e")
    assert scheduler.post(LATER | {"type": "other"}).status is Status.PAUSED
    assert scheduler.at("13:00").times("e") == []
    scheduler.resume("e")
    assert scheduler.advance("1s").times("e") == ["13:00"]


def test_replacing_a_paused_event_by_one_that_is_too_old_ends_it(scheduler):
    scheduler.post(LATER)
    scheduler.pause("e")
    assert scheduler.post({"id": "e", "at": "2025-03-02T12:00:00Z"}).status is Status.EXPIRED
    assert scheduler.totals == {"accepted": 1, "expired": 1}


def test_what_is_out_goes_on_under_its_old_revision_and_is_not_retried(scheduler):
    scheduler.post({"id": "e", "every": "1h", "retry": {"attempts": 5}})
    scheduler.at("11:00").post({"id": "e", "every": "2h", "retry": {"attempts": 5}})
    old = scheduler.deliveries[0]
    assert not scheduler.report("PROCESSING", old).ignored
    assert scheduler.status("e") is Status.NOT_STARTED, "the old revision's run is not shown"
    assert not scheduler.report("RETRIABLE_FAILURE", old).ignored
    assert scheduler.ended("e") == [Status.FATAL_FAILURE]
    assert "revision 2 has taken its place" in scheduler.history("e")[0].error
    assert scheduler.at("13:00").times("e") == ["11:00", "13:00"]


def test_a_one_shot_that_is_replaced_while_it_is_out_fires_again(scheduler):
    scheduler.post(LATER | {"track": True})
    scheduler.at("12:00").post(LATER | {"track": True, "at": "2026-03-02T13:00:00Z"})
    assert not scheduler.report("SUCCESS").ignored
    assert scheduler.status("e") is Status.NOT_STARTED
    assert scheduler.at("13:00").times("e") == ["12:00", "13:00"]
    scheduler.report("SUCCESS")
    assert scheduler.status("e") is Status.SUCCESS


@pytest.mark.parametrize("overlap", ["skip", "queue", "allow"])
def test_a_one_shot_is_not_lost_when_its_old_revision_is_out(scheduler, overlap):
    scheduler.post(LATER | {"overlap": overlap, "timeout": "5h"})
    scheduler.at("12:00").post(LATER | {"overlap": overlap, "at": "2026-03-02T13:00:00Z"})
    scheduler.at("14:00").report("SUCCESS", scheduler.deliveries[0])
    assert scheduler.advance("1m").times("e") == ["12:00", "14:00" if overlap == "queue" else "13:00"]


def test_runs_that_wait_are_dropped_when_they_are_replaced(scheduler):
    scheduler.post({"id": "e", "every": "1h", "overlap": "queue", "timeout": "10h"})
    scheduler.at("13:00")
    assert scheduler.phases("e") == ["DELIVERED", "QUEUED", "QUEUED"]
    scheduler.post({"id": "e", "every": "3h", "overlap": "queue", "timeout": "10h"})
    assert scheduler.phases("e") == ["DELIVERED"]
    assert scheduler.ended("e") == [Status.CANCELLED, Status.CANCELLED]


def test_max_runs_begins_anew_with_a_new_revision(scheduler):
    scheduler.post({"id": "e", "every": "1h", "max_runs": 2})
    scheduler.at("11:00").post({"id": "e", "every": "30m", "max_runs": 2})
    assert scheduler.advance("1d").times("e") == ["11:00", "11:30", "12:00"]


def test_an_unchanged_recurrence_keeps_its_beat(scheduler):
    scheduler.post({"id": "e", "every": "1h"})
    scheduler.at("10:30").post({"id": "e", "every": "1h"})
    assert scheduler.at("12:10").times("e") == ["11:00", "12:00"]


def test_a_replaced_recurrence_counts_from_its_new_append(scheduler):
    scheduler.post({"id": "e", "every": "1h"})
    scheduler.at("10:30").post({"id": "e", "every": "2h"})
    assert scheduler.at("14:30").times("e") == ["12:30", "14:30"]


def test_what_ended_and_is_replaced_counts_as_accepted_again(scheduler):
    scheduler.post(LATER)
    scheduler.post(LATER | {"type": "b"})
    assert scheduler.totals == {"accepted": 1, "pending": 1}
    scheduler.at("12:00").post({"id": "e", "in": "1h"})
    assert scheduler.totals == {"accepted": 2, "fired": 1, "pending": 1}


def test_a_one_shot_as_old_as_the_history_is_expired_on_arrival(scheduler):
    answer = scheduler.post({"id": "e", "at": "2026-02-23T10:00:00Z"})
    assert (answer.outcome, answer.status) == (Outcome.SCHEDULED, Status.EXPIRED)
    assert scheduler.post({"id": "f", "at": "2026-02-23T10:00:00.001Z"}).status is Status.NOT_STARTED
    assert scheduler.advance("1s").order == ["f"]


# what a replacement runs, and what it does not


@pytest.mark.parametrize(
    ("cron", "more", "changed", "fires"),
    [
        ("0 3 * * *", {"window": {"from": "09:00", "to": "17:00"}}, "2026-03-02T08:00:00Z", "09:00"),
        ("0 9 * * *", {"jitter": "2h"}, "2026-03-02T09:00:01Z", "09:32:05.805"),
    ],
)
def test_what_waits_for_its_window_or_jitter_is_run_after_a_change(cron, more, changed, fires):
    node = Scheduler("2026-03-01T12:00:00Z")
    event = {"id": "n", "cron": cron, **more}
    node.post(event)
    node.at(changed)
    assert node.post(event | {"labels": {"team": "blue"}}).outcome == "REPLACED"
    node.at("2026-03-02T23:00:00Z")
    assert node.dues("n") == [fires]


def test_what_is_late_is_run_after_a_change():
    node = Scheduler("2026-03-02T08:55:00Z")
    node.post({"id": "n", "cron": "*/2 * * * *", "catch_up": "all"})
    node.firing = False  # nobody is there
    node.jump("2026-03-02T09:03:00Z")
    node.post({"id": "n", "cron": "*/2 * * * *", "catch_up": "all", "priority": 3})
    node.firing = True
    node.jump("2026-03-02T09:07:00Z")
    node.settle()
    assert node.dues("n") == ["08:56", "08:58", "09:00", "09:02", "09:04", "09:06"]
    assert not node.missed


def test_another_schedule_begins_when_it_comes():
    node = Scheduler("2026-03-02T08:00:00Z")
    node.post({"id": "n", "cron": "0 12 * * *"})
    node.post({"id": "n", "cron": "0 3 * * *", "window": {"from": "09:00", "to": "17:00"}})
    node.at("2026-03-03T10:00:00Z")
    assert node.dues("n") == ["2026-03-03T09:00"]


def test_a_denser_schedule_does_not_wait_for_the_sparser_one():
    node = Scheduler("2026-03-02T10:00:00Z")
    node.post({"id": "n", "cron": "0 9 * * *"})
    node.post({"id": "n", "cron": "0 * * * *"})
    node.at("2026-03-02T12:30:00Z")
    assert node.dues("n") == ["11:00", "12:00"]


@pytest.mark.parametrize("when", [{"cron": "0 * * * *"}, {"every": "1h"}])
def test_what_was_run_since_its_start_is_not_run_again(when):
    node = Scheduler("2026-03-02T08:00:00Z")
    event = {"id": "n", **when, "starts_at": "2026-03-02T08:00:00Z", "catch_up": "all", "look_back": "24h"}
    node.post(event)
    node.at("2026-03-02T10:20:00Z")
    before = node.dues("n")
    assert node.post(event | {"payload": 2}).outcome == "REPLACED"
    node.at("2026-03-02T11:20:00Z")
    assert node.dues("n") == [*before, "11:00"]
    assert not node.missed
