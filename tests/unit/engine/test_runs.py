"""How does a run live? Attempts, retries, leases."""

import msgspec
import pytest

from lightsched.event.status import Status
from tests.unit.engine.scheduler import Scheduler, clock

ONCE = {"id": "e", "in": "10m"}
OFFICE = {"window": {"from": "09:00", "to": "17:00"}}


@pytest.mark.parametrize(
    ("retry", "times"),
    [
        ({"delays": ["1m", "2m", "4m"]}, ["10:10", "10:11", "10:13", "10:17"]),
        ({"attempts": 4, "delay": "1m"}, ["10:10", "10:11", "10:13", "10:17"]),
        ({"attempts": 4, "delay": "1m", "factor": 3}, ["10:10", "10:11", "10:14", "10:23"]),
        ({"attempts": 4, "delay": "1m", "factor": 10, "max": "5m"}, ["10:10", "10:11", "10:16", "10:21"]),
        ({"attempts": 2}, ["10:10", "10:11"]),
        ({"attempts": 1}, ["10:10"]),
    ],
    ids=str,
)
def test_retries_come_after_their_delays(scheduler, retry, times):
    scheduler.post(ONCE | {"retry": retry})
    scheduler.at("10:10")
    for time in times[1:]:
        scheduler.report("RETRIABLE_FAILURE")
        assert scheduler.status("e") is Status.RETRIABLE_FAILURE
        assert clock(scheduler.state("e").runs[0].at_ms) == time
        scheduler.at(time)
    scheduler.report("RETRIABLE_FAILURE", error="no luck")
    assert scheduler.times("e") == times
    assert scheduler.status("e") is Status.FATAL_FAILURE
    run = scheduler.history("e")[0]
    assert (run.status, run.attempt, run.error) == (Status.FATAL_FAILURE, len(times), "no luck")
    assert [attempt.status for attempt in run.attempts] == ["RETRIABLE_FAILURE"] * (len(times) - 1) + ["FATAL_FAILURE"]
    assert scheduler.state("e").failures == 1


def test_the_jitter_of_a_retry_is_bounded_and_always_the_same(scheduler):
    scheduler.post(ONCE | {"retry": {"attempts": 2, "delay": "10m", "jitter": 0.5}})
    scheduler.at("10:10").report("RETRIABLE_FAILURE")
    assert 300_000 <= scheduler.state("e").runs[0].at_ms - scheduler.now_ms <= 900_000


def test_without_retry_a_retriable_failure_is_the_end(scheduler):
    scheduler.post(ONCE | {"track": True})
    scheduler.at("10:10").report("RETRIABLE_FAILURE")
    assert scheduler.status("e") is Status.FATAL_FAILURE


def test_the_report_may_say_when_to_try_again(scheduler):
    scheduler.post(ONCE | {"retry": {"delays": ["1m"]}})
    scheduler.at("10:10").report("RETRIABLE_FAILURE", retry_in="42s")
    assert scheduler.advance("1h").times("e") == ["10:10", "10:10:42"]


def test_without_a_delay_the_next_attempt_comes_at_once(scheduler):
    scheduler.post(ONCE | {"in": "0s", "retry": {"attempts": 3, "delay": "0s"}})
    scheduler.report("RETRIABLE_FAILURE")
    scheduler.report("RETRIABLE_FAILURE", retry_in="0s")
    assert scheduler.times("e") == ["10:00"] * 3


def test_the_report_cannot_ask_for_more_attempts_than_there_are(scheduler):
    scheduler.post(ONCE | {"track": True})
    scheduler.at("10:10").report("RETRIABLE_FAILURE", retry_in="42s")
    assert scheduler.advance("1h").times("e") == ["10:10"]


def test_a_retry_outside_the_window_is_moved_to_its_opening(scheduler):
    scheduler.post({"id": "e", "at": "2026-03-02T16:50:00Z", "retry": {"delays": ["30m"]}, **OFFICE})
    scheduler.at("16:50").report("RETRIABLE_FAILURE")
    assert scheduler.advance("1d").times("e") == ["16:50", "2026-03-03T09:00"]


def test_a_retry_that_comes_late_when_the_window_has_closed_waits_for_it(scheduler):
    scheduler.post({"id": "e", "at": "2026-03-02T16:50:00Z", "retry": {"delays": ["5m"]}, **OFFICE})
    scheduler.at("16:50").report("RETRIABLE_FAILURE")
    scheduler.jump("17:30").settle()
    assert scheduler.advance("1d").times("e") == ["16:50", "2026-03-03T09:00"]


def test_a_retry_after_its_expiry_is_expired_and_the_attempts_tell_what_was(scheduler):
    scheduler.post(ONCE | {"retry": {"delays": ["30m"]}, "expires_in": "20m"})
    scheduler.at("10:10").report("RETRIABLE_FAILURE", error="no luck", executor="x1")
    scheduler.at("11:00")
    run = scheduler.history("e")[0]
    assert (scheduler.times("e"), run.status) == (["10:10"], Status.EXPIRED)
    assert [(a.status, a.executor, a.error) for a in run.attempts] == [("RETRIABLE_FAILURE", "x1", "no luck")]


def test_silence_for_as_long_as_the_timeout_is_a_retriable_failure(scheduler):
    scheduler.post(ONCE | {"timeout": "3m", "retry": {"delays": ["1m"]}})
    scheduler.at("10:12:59.999")
    assert scheduler.status("e") is Status.NOT_STARTED
    assert scheduler.at("10:13").status("e") is Status.RETRIABLE_FAILURE
    assert scheduler.at("10:20").times("e") == ["10:10", "10:14"]
    assert scheduler.status("e") is Status.FATAL_FAILURE
    assert scheduler.history("e")[0].error == "no report or heartbeat for 3 minutes"


def test_five_minutes_are_the_timeout_by_default(scheduler):
    scheduler.post(ONCE | {"track": True})
    assert scheduler.at("10:14:59").status("e") is Status.NOT_STARTED
    assert scheduler.at("10:15").status("e") is Status.FATAL_FAILURE


@pytest.mark.parametrize("word", ["CLAIMED", "PROCESSING"])
def test_a_word_from_the_executor_renews_the_lease(scheduler, word):
    scheduler.post(ONCE | {"timeout": "3m"})
    scheduler.at("10:12").report(word)
    assert scheduler.at("10:14").status("e") == word
    assert scheduler.at("10:15").status("e") is Status.FATAL_FAILURE


def test_heartbeats_keep_a_run_alive(scheduler):
    scheduler.post(ONCE | {"timeout": "3m"})
    scheduler.at("10:10")
    for _ in range(10):
        assert not scheduler.advance("2m").report("PROCESSING").ignored
    scheduler.report("SUCCESS")
    assert scheduler.status("e") is Status.SUCCESS


def test_a_report_that_is_there_in_time_wins_over_its_own_timeout(scheduler):
    scheduler.post(ONCE | {"timeout": "3m"})
    scheduler.at("10:10").jump("10:30").report("SUCCESS")
    assert scheduler.status("e") is Status.SUCCESS


def test_a_live_event_shows_the_status_of_its_newest_run_that_went_out(scheduler):
    scheduler.post({"id": "e", "every": "10m", "timeout": "1h", "retry": {"delays": ["3m"]}})
    first, second = scheduler.at("10:20").deliveries
    scheduler.report("PROCESSING", first)
    assert scheduler.status("e") is Status.NOT_STARTED
    scheduler.report("CLAIMED", second)
    assert scheduler.status("e") is Status.CLAIMED
    scheduler.report("RETRIABLE_FAILURE", second)
    assert scheduler.status("e") is Status.RETRIABLE_FAILURE
    scheduler.at("10:23").report("SUCCESS")
    assert scheduler.status("e") is Status.PROCESSING
    scheduler.report("SUCCESS", first)
    assert scheduler.status("e") is Status.NOT_STARTED


def test_a_run_that_has_not_gone_out_yet_is_not_shown(scheduler):
    scheduler.post({"id": "e", "every": "10m", "timeout": "1h"})
    scheduler.at("10:10").report("PROCESSING")
    scheduler.firing = False
    assert scheduler.trigger("e").status is Status.PROCESSING


def test_a_retry_that_waits_for_a_slot_still_shows_that_it_failed():
    scheduler = Scheduler(in_flight=1)
    scheduler.post(ONCE | {"retry": {"delays": ["1m"]}}, {"id": "other", "in": "10m", "timeout": "1h"})
    scheduler.at("10:10").report("RETRIABLE_FAILURE")
    scheduler.at("10:12")
    assert scheduler.phases("e") == ["WAITING"]
    assert scheduler.status("e") is Status.RETRIABLE_FAILURE


def test_an_untracked_run_is_done_when_it_is_delivered(scheduler):
    scheduler.post(ONCE)
    scheduler.at("10:10")
    run = scheduler.history("e")[0]
    assert (run.status, run.finished_ms, run.attempt) == (Status.SUCCESS, scheduler.now_ms, 1)
    assert [(a.attempt, a.delivered_ms, a.status) for a in run.attempts] == [(1, scheduler.now_ms, "SUCCESS")]


@pytest.mark.parametrize(
    "tracking", [{"retry": {"attempts": 2}}, {"timeout": "1m"}, {"overlap": "skip"}, {"track": True}]
)
def test_what_needs_reports_is_tracked(scheduler, tracking):
    scheduler.post(ONCE | tracking)
    scheduler.at("10:10")
    assert scheduler.phases("e") == ["DELIVERED"]


def test_only_the_last_fifty_attempts_are_kept(scheduler):
    scheduler.post(ONCE | {"retry": {"attempts": 70, "delay": "1s", "factor": 1}})
    scheduler.at("10:10")
    for _ in range(69):
        scheduler.report("RETRIABLE_FAILURE")
        scheduler.advance("1s")
    scheduler.report("SUCCESS")
    run = scheduler.history("e")[0]
    assert run.attempt == 70
    assert [attempt.attempt for attempt in run.attempts] == list(range(21, 71))


# undeliverable


def test_what_cannot_be_delivered_is_a_dead_letter_and_the_rest_goes_on():
    scheduler = Scheduler(refuse=lambda delivery: "no topic `b`" if "b" in delivery.topics else "")
    scheduler.post(ONCE | {"topics": ["a"]}, {"id": "bad", "in": "10m", "topics": ["b"], "payload": 1})
    scheduler.at("10:10")
    assert scheduler.order == ["e"]
    assert scheduler.status("bad") is Status.FATAL_FAILURE
    assert scheduler.dead_letters == ["UNDELIVERABLE: no topic `b`"]
    assert [letter.record.value for step in scheduler.steps for letter in step.dead_letters] == [b"1"]
    assert scheduler.totals == {"accepted": 2, "fired": 1, "dead": 1}
    assert scheduler.missed == {"undeliverable": 1}


def test_a_recurrence_goes_on_after_a_run_that_could_not_be_delivered():
    bad = [True]
    scheduler = Scheduler(refuse=lambda delivery: "no" if bad else "")
    scheduler.post({"id": "e", "every": "10m"})
    scheduler.at("10:10")
    bad.clear()
    assert scheduler.at("10:20").times("e") == ["10:20"]
    assert scheduler.ended("e") == ["FATAL_FAILURE", "SUCCESS"]


def test_a_retry_that_cannot_be_delivered_is_the_end():
    bad = []
    scheduler = Scheduler(refuse=lambda delivery: "no" if bad else "")
    scheduler.post(ONCE | {"retry": {"attempts": 5}})
    scheduler.at("10:10").report("RETRIABLE_FAILURE")
    bad.append(True)
    scheduler.at("10:20")
    assert scheduler.status("e") is Status.FATAL_FAILURE
    assert scheduler.totals == {"accepted": 1, "dead": 1}


def test_a_state_stays_small_however_many_runs_fail_however_often(scheduler):
    retry = {"attempts": 60, "delay": "1m", "factor": 1}
    scheduler.post({"id": "e", "every": "10s", "retry": retry, "timeout": "1h"})
    reported = 0
    for _ in range(210):
        scheduler.advance("10s")
        fresh, reported = scheduler.deliveries[reported:], len(scheduler.deliveries)
        reports = [
            scheduler.reported(each, "RETRIABLE_FAILURE", error="x" * 1_000, executor="y" * 1_000) for each in fresh
        ]
        scheduler.step(*reports)
    state = scheduler.state("e")
    assert len(state.runs) > 200
    assert len(msgspec.msgpack.encode(state)) < 200_000
