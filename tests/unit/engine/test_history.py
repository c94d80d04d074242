"""What is remembered, for how long, and does the sum agree?"""

import random

import pytest

from lightsched.event.status import Outcome, Status
from tests.unit.engine.scheduler import Scheduler


@pytest.mark.parametrize(
    ("event", "how"),
    [
        ({"in": "1h"}, "SUCCESS"),
        ({"in": "1h", "track": True}, "FATAL_FAILURE"),
        ({"at": "2025-01-01T00:00:00Z"}, "EXPIRED"),
        ({"every": "1h", "max_runs": 3}, "SUCCESS"),
    ],
    ids=str,
)
def test_a_finished_event_is_kept_with_its_runs_and_then_forgotten(scheduler, event, how):
    scheduler.post({"id": "e", **event})
    scheduler.at("14:00")
    assert scheduler.status("e") == how
    ended_ms = scheduler.state("e").forget_ms - 7 * 86_400_000
    scheduler.run_until(ended_ms + 7 * 86_400_000 - 1)
    assert scheduler.state("e") is not None
    scheduler.advance("1ms")
    assert scheduler.state("e") is None
    assert scheduler.view.definitions([scheduler.name("e")]) == [None]
    assert scheduler.view.runs == {}
    assert scheduler.totals["accepted"] == 1, "the totals remember"


def test_a_cancelled_event_is_kept_until_its_last_run_is_history(scheduler):
    scheduler.post({"id": "e", "every": "1h", "timeout": "20d"})
    scheduler.at("11:00").cancel("e")
    scheduler.advance("9d").report("SUCCESS")
    assert scheduler.ended("e") == ["SUCCESS"]
    assert scheduler.advance("6d").state("e") is not None
    assert scheduler.advance("1d").state("e") is None


def test_a_run_that_ends_when_its_event_is_to_be_forgotten_leaves_nothing_behind():
    scheduler = Scheduler(keep="1h")
    scheduler.post({"id": "e", "every": "1h", "timeout": "1h"})
    scheduler.at("11:00").cancel("e")
    scheduler.jump("14:00").settle()
    scheduler.advance("2h")
    assert scheduler.view.identities == []
    assert scheduler.view.runs == {}


def test_replacing_a_finished_event_takes_it_back_from_oblivion(scheduler):
    scheduler.post({"id": "e", "in": "1h"})
    scheduler.at("12:00").post({"id": "e", "in": "20d"})
    assert scheduler.advance("10d").state("e") is not None
    assert scheduler.advance("10d").status("e") is Status.SUCCESS


def test_old_runs_of_a_recurrence_are_forgotten():
    scheduler = Scheduler(keep="1d")
    scheduler.post({"id": "e", "every": "1h"})
    scheduler.advance("10d")
    assert 24 <= len(scheduler.history("e")) <= 28
    assert scheduler.state("e").fired == 240


def test_thousands_of_runs_are_forgotten_over_several_steps():
    scheduler = Scheduler(keep="1h")
    scheduler.post({"id": "e", "every": "1s", "catch_up": "all", "look_back": "1h", "max_runs": 2500})
    scheduler.view.apply(scheduler.engine.step(scheduler.view, [], scheduler.now_ms))
    while scheduler.state("e").forget_ms is None:  # without the checks of the harness
        scheduler.now_ms += 1000
        scheduler.view.apply(scheduler.engine.step(scheduler.view, [], scheduler.now_ms))
    assert len(scheduler.view.runs) == 2500
    scheduler.now_ms += 3_600_000
    steps = [scheduler.step() for _ in range(3)]
    assert [len(step.runs) for step in steps] == [1000, 1000, 500]
    assert [step.more for step in steps] == [True, True, False]
    assert scheduler.view.identities == []
    assert scheduler.view.runs == {}


def test_old_runs_of_many_recurrences_are_forgotten_over_several_steps():
    scheduler = Scheduler(keep="1h")
    scheduler.post(*({"id": f"e{n}", "cron": "* * * * *"} for n in range(50)))
    scheduler.at("10:01")
    for (name, due_ms, revision), run in list(scheduler.view.runs.items()):
        scheduler.view.runs.update({(name, due_ms + n, revision): run for n in range(1, 200)})
    steps = [scheduler.jump(f"15:{minute:02}").step() for minute in range(5)]
    assert {len(step.deliveries) for step in steps} == {50}
    assert max(len(step.runs) for step in steps) <= 5_300
    assert len(scheduler.view.runs) == 5 * 50, "only those of the last minutes are left"


def test_counters_go_on_over_revisions(scheduler):
    scheduler.post({"id": "e", "every": "1h", "track": True})
    scheduler.at("11:00").report("FATAL_FAILURE")
    created_ms = scheduler.state("e").created_ms
    scheduler.post({"id": "e", "every": "30m", "track": True})
    scheduler.at("11:30").report("FATAL_FAILURE")
    state = scheduler.state("e")
    assert (state.fired, state.failures, state.revision, state.created_ms) == (2, 2, 2, created_ms)
    assert state.last_ms == scheduler.now_ms


def test_the_totals_of_a_mixed_day_add_up():
    """Pseudo-random commands and reports; the harness checks the sum and the pending ones after every step."""
    chance = random.Random(1)
    scheduler = Scheduler(in_flight=3, keep="2h", refuse=lambda d: "no" if b"bad" in d.identity else "")
    schedules = [
        {"in": "7m"},
        {"every": "10m", "max_runs": 4},
        {"cron": "*/15 * * * *"},
        {"at": "2026-01-01T00:00:00Z"},
    ]
    policies = [{}, {"retry": {"attempts": 2}}, {"overlap": "queue", "timeout": "30m"}, {"overlap": "skip"}]
    more = [{}, {"expires_in": "3m"}, {"until": "success"}, {"window": {"from": "10:00", "to": "12:00"}}]
    for _ in range(400):
        id_ = chance.choice(["a", "b", "c", "d", "bad"])
        op = chance.choice(["schedule"] * 3 + ["cancel", "pause", "resume", "trigger"])
        command = {"op": op, "id": id_}
        if op == "schedule":
            command |= chance.choice(schedules) | chance.choice(policies)
            extra = chance.choice(more)
            command |= extra if "until" not in extra or "cron" in command or "every" in command else {}
        scheduler.post(command)
        if scheduler.deliveries and chance.random() < 0.7:
            delivery = chance.choice(scheduler.deliveries[-6:])
            scheduler.report(chance.choice(["CLAIMED", "PROCESSING", "SUCCESS", "RETRIABLE_FAILURE"]), delivery)
        scheduler.advance(f"{chance.randint(1, 400)}s")
    assert set(scheduler.totals) == {"accepted", "fired", "cancelled", "expired", "dead", "pending"}


def test_an_event_is_not_forgotten_before_the_commands_that_were_sent_to_it_are_read():
    scheduler = Scheduler(keep="10m")
    scheduler.post({"id": "e", "at": "2026-03-02T10:00:00Z"})
    scheduler.advance("1m")
    early = scheduler.command({"id": "other", "in": "1h"})
    again = scheduler.command({"id": "e", "at": "2026-03-02T10:00:00Z", "payload": 2})
    scheduler.jump("12:00")
    step = scheduler.engine.step(scheduler.view, [early], scheduler.now_ms, read_ms=early.timestamp_ms)
    scheduler.view.apply(step)
    answer = scheduler.step(again).answers[0]
    assert (answer.outcome, answer.revision) == (Outcome.REPLACED, 2)
