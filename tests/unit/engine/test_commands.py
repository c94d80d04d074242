"""What is the answer to every command in every situation, and the status after it?"""

import pytest

from lightsched.event.status import Outcome, Status
from tests.unit.engine.situations import SITUATIONS, in_situation

TABLE = """
                           cancel     pause      resume     trigger    same       other      keep       reject
unknown                    NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  SCHEDULED  SCHEDULED  SCHEDULED  SCHEDULED
once                       CANCELLED  PAUSED     RESUMED    TRIGGERED  UNCHANGED  REPLACED   UNCHANGED  REJECTED
once_paused                CANCELLED  PAUSED     RESUMED    TRIGGERED  UNCHANGED  REPLACED   UNCHANGED  REJECTED
once_out                   TOO_LATE   TOO_LATE   RESUMED    TOO_LATE   UNCHANGED  REPLACED   UNCHANGED  REJECTED
once_claimed               TOO_LATE   TOO_LATE   RESUMED    TOO_LATE   UNCHANGED  REPLACED   UNCHANGED  REJECTED
once_processing            TOO_LATE   TOO_LATE   RESUMED    TOO_LATE   UNCHANGED  REPLACED   UNCHANGED  REJECTED
once_retrying              CANCELLED  PAUSED     RESUMED    TRIGGERED  UNCHANGED  REPLACED   UNCHANGED  REJECTED
once_retrying_paused       CANCELLED  PAUSED     RESUMED    TRIGGERED  UNCHANGED  REPLACED   UNCHANGED  REJECTED
once_without_slot          CANCELLED  PAUSED     RESUMED    TRIGGERED  UNCHANGED  REPLACED   UNCHANGED  REJECTED
once_without_slot_paused   CANCELLED  PAUSED     RESUMED    TRIGGERED  UNCHANGED  REPLACED   UNCHANGED  REJECTED
once_replaced_while_out    CANCELLED  PAUSED     RESUMED    TRIGGERED  UNCHANGED  REPLACED   UNCHANGED  REJECTED
once_success               TOO_LATE   TOO_LATE   TOO_LATE   TOO_LATE   UNCHANGED  REPLACED   UNCHANGED  REJECTED
once_failed                TOO_LATE   TOO_LATE   TOO_LATE   TOO_LATE   UNCHANGED  REPLACED   UNCHANGED  REJECTED
once_cancelled             CANCELLED  TOO_LATE   TOO_LATE   TOO_LATE   SCHEDULED  SCHEDULED  SCHEDULED  SCHEDULED
once_expired               TOO_LATE   TOO_LATE   TOO_LATE   TOO_LATE   UNCHANGED  REPLACED   UNCHANGED  REJECTED
often                      CANCELLED  PAUSED     RESUMED    TRIGGERED  UNCHANGED  REPLACED   UNCHANGED  REJECTED
often_paused               CANCELLED  PAUSED     RESUMED    TRIGGERED  UNCHANGED  REPLACED   UNCHANGED  REJECTED
often_out                  CANCELLED  PAUSED     RESUMED    TRIGGERED  UNCHANGED  REPLACED   UNCHANGED  REJECTED
often_claimed              CANCELLED  PAUSED     RESUMED    TRIGGERED  UNCHANGED  REPLACED   UNCHANGED  REJECTED
often_processing           CANCELLED  PAUSED     RESUMED    TRIGGERED  UNCHANGED  REPLACED   UNCHANGED  REJECTED
often_retrying             CANCELLED  PAUSED     RESUMED    TRIGGERED  UNCHANGED  REPLACED   UNCHANGED  REJECTED
often_out_skipping         CANCELLED  PAUSED     RESUMED    TOO_LATE   UNCHANGED  REPLACED   UNCHANGED  REJECTED
often_out_paused           CANCELLED  PAUSED     RESUMED    TRIGGERED  UNCHANGED  REPLACED   UNCHANGED  REJECTED
often_cancelled_while_out  CANCELLED  TOO_LATE   TOO_LATE   TOO_LATE   SCHEDULED  SCHEDULED  SCHEDULED  SCHEDULED
often_over                 TOO_LATE   TOO_LATE   TOO_LATE   TOO_LATE   UNCHANGED  REPLACED   UNCHANGED  REJECTED
often_without_times        TOO_LATE   TOO_LATE   TOO_LATE   TOO_LATE   UNCHANGED  REPLACED   UNCHANGED  REJECTED
"""
HEAD, *ROWS = [line.split() for line in TABLE.strip().splitlines()]
CELLS = [(row[0], column, outcome) for row in ROWS for column, outcome in zip(HEAD, row[1:], strict=True)]
LATER = {"at": "2026-03-02T20:00:00Z"}
COMMANDS = {
    "cancel": lambda event: {"op": "cancel", "id": "e"},
    "pause": lambda event: {"op": "pause", "id": "e"},
    "resume": lambda event: {"op": "resume", "id": "e"},
    "trigger": lambda event: {"op": "trigger", "id": "e"},
    "same": lambda event: event,
    "other": lambda event: {"id": "e"} | LATER,
    "keep": lambda event: {"id": "e", "on_conflict": "keep"} | LATER,
    "reject": lambda event: {"id": "e", "on_conflict": "reject"} | LATER,
}
STATUS_AFTER = {
    "CANCELLED": Status.CANCELLED,
    "PAUSED": Status.PAUSED,
    "SCHEDULED": Status.NOT_STARTED,
}
NOTHING_CHANGES = {"NOT_FOUND", "TOO_LATE", "UNCHANGED", "REJECTED"}


def test_the_table_knows_every_situation():
    assert {row[0] for row in ROWS} == set(SITUATIONS)


@pytest.mark.parametrize(("situation", "command", "outcome"), CELLS)
def test_every_command_has_one_outcome_in_every_situation(situation, command, outcome):
    scheduler, event = in_situation(situation)
    before = scheduler.state("e")
    answer = scheduler.post(COMMANDS[command](event))
    assert answer.outcome == outcome
    after = scheduler.state("e")
    if outcome in NOTHING_CHANGES or (before is not None and before.status == outcome):
        assert after == before, "it said that nothing changes"
    if outcome in STATUS_AFTER:
        assert after.status is STATUS_AFTER[outcome]
    if outcome == "REPLACED":
        assert after.status is (Status.PAUSED if before.paused else Status.NOT_STARTED)
        assert after.revision == before.revision + 1
    if outcome != "TRIGGERED":  # what it made due has gone since
        assert answer.status is (None if after is None else after.status)
    assert bool(answer.error) == (outcome in {"TOO_LATE", "REJECTED"}), "a refusal says why"


@pytest.mark.parametrize(("situation", "command", "outcome"), CELLS)
def test_asking_twice_gets_an_answer_that_fits_the_first(situation, command, outcome):
    scheduler, event = in_situation(situation)
    asked = COMMANDS[command](event)
    scheduler.post(asked)
    again = scheduler.post(asked).outcome
    expected = {"SCHEDULED": "UNCHANGED", "REPLACED": "UNCHANGED"}.get(outcome, outcome)
    if outcome == "TRIGGERED" and situation.startswith("once") and "slot" not in situation:
        expected = "TOO_LATE"  # it has gone
    assert again == expected


@pytest.mark.parametrize(("situation", "command", "outcome"), CELLS)
def test_whatever_was_asked_the_rest_of_the_day_goes_well(situation, command, outcome):
    """The scheduler checks its invariants after every step; here every story is told to its end."""
    scheduler, event = in_situation(situation)
    scheduler.post(COMMANDS[command](event))
    scheduler.advance("9h")
    scheduler.resume("e")
    scheduler.advance("9h")
    scheduler.cancel("e")
    for delivery in scheduler.deliveries:
        scheduler.report("SUCCESS", delivery)
    scheduler.advance("30d")
    assert scheduler.view.identities == []
    assert scheduler.view.runs == {}


@pytest.mark.parametrize(("situation", "command", "outcome"), CELLS)
def test_the_outcome_is_on_the_audit(situation, command, outcome):
    scheduler, event = in_situation(situation)
    before = scheduler.state("e")
    scheduler.post(COMMANDS[command](event) | {"reason": "somebody asked"}, headers=(("ls_who", b"anna"),))
    line = next(line for line in scheduler.steps[-1].audit if line.outcome)
    assert (line.what, line.id, line.outcome, line.who) == (line.what, "e", outcome, "anna")
    assert line.what == (command if command in {"cancel", "pause", "resume", "trigger"} else "schedule")
    assert line.before == ("" if before is None else before.status)
    assert line.reason, "either why not, or the reason that was given"


def test_only_outcomes_of_the_contract_are_in_the_table():
    assert {outcome for _, _, outcome in CELLS} <= set(Outcome)


def test_a_cancel_drops_what_waits_and_lets_go_on_what_is_out():
    scheduler, event = in_situation("often")
    scheduler.post(event | {"retry": {"attempts": 2}, "timeout": "2h"})
    first, second = scheduler.at("12:00").deliveries
    scheduler.report("RETRIABLE_FAILURE", second)
    assert scheduler.cancel("e").outcome is Outcome.CANCELLED
    assert scheduler.ended("e") == [Status.CANCELLED]
    assert not scheduler.report("SUCCESS", first).ignored
    assert scheduler.ended("e") == [Status.SUCCESS, Status.CANCELLED]
    assert scheduler.advance("1d").times("e") == ["11:00", "12:00"]
    assert scheduler.status("e") is Status.CANCELLED


def test_what_is_out_when_its_event_is_cancelled_is_not_retried():
    scheduler, _ = in_situation("often_cancelled_while_out")
    scheduler.report("RETRIABLE_FAILURE")
    assert scheduler.ended("e") == [Status.FATAL_FAILURE]
    assert "the event is over" in scheduler.history("e")[0].error


def test_a_cancel_wins_if_it_is_read_in_the_step_that_would_fire(scheduler):
    scheduler.post({"id": "e", "at": "2026-03-02T10:30:00Z"})
    assert scheduler.jump("10:30").cancel("e").outcome is Outcome.CANCELLED
    assert scheduler.advance("1h").deliveries == []


def test_commands_of_one_step_see_each_other(scheduler):
    step = scheduler.step(
        scheduler.command({"id": "e", "in": "1h"}),
        scheduler.command({"op": "pause", "id": "e"}),
        scheduler.command({"id": "e", "in": "2h"}),
        scheduler.command({"op": "cancel", "id": "e"}),
        scheduler.command({"id": "e", "in": "3h"}),
    )
    assert [answer.outcome for answer in step.answers] == ["SCHEDULED", "PAUSED", "REPLACED", "CANCELLED", "SCHEDULED"]
    assert [answer.offset for answer in step.answers] == [0, 1, 2, 3, 4]
    assert scheduler.totals == {"accepted": 2, "cancelled": 1, "pending": 1}
    assert scheduler.advance("1d").times("e") == ["13:00"]


# trigger


def test_a_triggered_one_shot_runs_now_instead_of_later():
    scheduler, _ = in_situation("once")
    answer = scheduler.at("10:20").trigger("e")
    assert (answer.status, answer.next_ms) == (Status.NOT_STARTED, scheduler.now_ms)
    assert scheduler.advance("1d").times("e") == ["10:20"]


def test_a_triggered_one_shot_is_no_longer_paused():
    scheduler, _ = in_situation("once_paused")
    scheduler.trigger("e")
    assert scheduler.status("e") is Status.SUCCESS


@pytest.mark.parametrize("situation", ["once_retrying", "once_retrying_paused"])
def test_a_pending_retry_is_triggered(situation):
    scheduler, _ = in_situation(situation)
    scheduler.advance("1m").trigger("e")
    assert scheduler.times("e") == ["11:00", "11:01"]
    assert [delivery.attempt for delivery in scheduler.deliveries] == [1, 2]


@pytest.mark.parametrize("situation", ["once_without_slot", "once_without_slot_paused"])
def test_a_triggered_run_still_needs_a_slot(situation):
    scheduler, _ = in_situation(situation)
    scheduler.trigger("e")
    scheduler.settle()
    assert scheduler.phases("e") == ["WAITING"]
    scheduler.report("SUCCESS", scheduler.deliveries[0])
    assert scheduler.phases("e") == ["DELIVERED"]


def test_a_triggered_recurrence_runs_once_more_and_keeps_its_schedule():
    scheduler, _ = in_situation("often")
    scheduler.at("10:20").trigger("e")
    assert scheduler.at("12:00").times("e") == ["10:20", "11:00", "12:00"]


def test_a_triggered_recurrence_runs_and_stays_paused():
    scheduler, _ = in_situation("often_paused")
    scheduler.at("10:20").trigger("e")
    assert scheduler.at("13:00").times("e") == ["10:20"]
    assert scheduler.status("e") is Status.PAUSED


def test_the_retry_of_a_run_that_was_triggered_under_a_pause_waits_for_its_end():
    scheduler, _ = in_situation("often_out_paused")
    scheduler.report("SUCCESS")
    scheduler.trigger("e")
    scheduler.advance("1ms").report("RETRIABLE_FAILURE")
    scheduler.at("11:40")
    assert scheduler.times("e") == ["11:00", "11:00:00.001"]
    scheduler.resume("e")
    assert scheduler.times("e") == ["11:00", "11:00:00.001", "11:40"]


def test_triggers_at_the_same_instant_run_a_millisecond_apart():
    scheduler, _ = in_situation("often")
    scheduler.post(*[{"op": "trigger", "id": "e"}] * 3)
    assert scheduler.advance("1s").times("e") == ["10:00", "10:00:00.001", "10:00:00.002"]


def test_a_triggered_run_never_has_the_due_of_a_scheduled_one(scheduler):
    scheduler.post({"id": "e", "every": "100ms", "catch_up": "all"})
    scheduler.pause("e")
    scheduler.sleep("1s")
    scheduler.trigger("e")  # at an instant that is a fire time as well, and will be caught up with
    scheduler.resume("e")
    scheduler.settle()
    assert len(scheduler.deliveries) == 10
    scheduler.advance("1ms")
    assert len(scheduler.deliveries) == 11


def test_a_window_does_not_hold_for_a_trigger():
    scheduler, _ = in_situation("often")
    scheduler.post({"id": "w", "cron": "0 * * * *", "window": {"from": "20:00", "to": "21:00"}})
    scheduler.trigger("w")
    assert scheduler.times("w") == ["10:00"]


def test_a_trigger_is_refused_when_too_many_runs_are_unfinished():
    scheduler, _ = in_situation("often_out")
    scheduler.rules = scheduler.engine.rules = scheduler.rules.__class__(active_runs=1)
    assert scheduler.trigger("e").outcome is Outcome.QUOTA
