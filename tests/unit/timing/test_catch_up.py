import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightsched.timing import CaughtUp, Cron, Every, Plan, Window, catch_up
from tests.unit.timing.oracle import ms, untimed

MINUTE_MS, HOUR_MS = 60_000, 3_600_000
NOW = ms("2026-11-16T12:00:30Z")
EVERY_TEN = Plan(Cron.parse("*/10 * * * *"))


def at(clock: str) -> int:
    return ms(f"2026-11-16T{clock}:00Z")


@pytest.mark.parametrize(
    ("policy", "due", "look_back_ms", "expected"),
    [
        # 12:00 is half a minute ago: late, not missed.
        ("none", "11:00", HOUR_MS, CaughtUp(at("12:00"), 6)),
        ("latest", "11:00", HOUR_MS, CaughtUp(at("11:50"), 5)),
        ("latest", "11:50", HOUR_MS, CaughtUp(at("11:50"), 0)),
        ("latest", "11:00", 5 * MINUTE_MS, CaughtUp(at("12:00"), 6)),
        ("all", "11:10", HOUR_MS, CaughtUp(at("11:10"), 0)),
        ("all", "09:00", HOUR_MS, CaughtUp(at("11:10"), 13)),
        ("all", "09:00", 5 * MINUTE_MS, CaughtUp(at("12:00"), 18)),
    ],
)
def test_a_late_event_goes_on_where_its_policy_says(policy, due, look_back_ms, expected):
    assert catch_up(EVERY_TEN, at(due), NOW - MINUTE_MS, NOW, policy, look_back_ms) == expected


def test_when_resumed_all_that_has_passed_counts_as_missed():
    now = at("12:00")
    assert catch_up(EVERY_TEN, at("11:00"), now + 1, now, "none", HOUR_MS) == CaughtUp(at("12:10"), 7)
    assert catch_up(EVERY_TEN, at("11:00"), now + 1, now, "latest", HOUR_MS) == CaughtUp(at("12:00"), 6)
    assert catch_up(EVERY_TEN, at("11:00"), now + 1, now, "all", HOUR_MS) == CaughtUp(at("11:00"), 0)


def test_what_lies_exactly_as_far_back_as_looked_is_still_caught_up():
    assert catch_up(EVERY_TEN, at("11:00"), at("12:00"), at("12:00"), "all", HOUR_MS) == CaughtUp(at("11:00"), 0)
    assert catch_up(EVERY_TEN, at("11:00"), at("12:00"), at("12:00"), "latest", 10 * MINUTE_MS) == CaughtUp(
        at("11:50"), 5
    )


@pytest.mark.parametrize("policy", ["latest", "all", "none"])
def test_what_is_less_than_a_minute_late_fires_however_short_the_look_back(policy):
    # 12:00 is half a minute ago: further back than ten seconds, but late and not missed.
    assert catch_up(EVERY_TEN, at("11:50"), NOW - MINUTE_MS, NOW, policy, 10_000) == CaughtUp(at("12:00"), 1)
    ended = Plan(EVERY_TEN.recurrence, ends_ms=at("12:00"))
    assert catch_up(ended, at("11:50"), NOW - MINUTE_MS, NOW, policy, 10_000) == CaughtUp(at("12:00"), 1)


@pytest.mark.parametrize(
    ("policy", "look_back_ms", "expected"),
    [
        ("none", HOUR_MS, CaughtUp(None, 4)),
        ("latest", HOUR_MS, CaughtUp(at("11:30"), 3)),
        ("latest", 10 * MINUTE_MS, CaughtUp(None, 4)),
        ("all", 10 * MINUTE_MS, CaughtUp(None, 4)),
        ("all", 45 * MINUTE_MS, CaughtUp(at("11:20"), 2)),
    ],
)
def test_a_plan_that_ended_meanwhile_is_caught_up_to_its_end(policy, look_back_ms, expected):
    plan = Plan(EVERY_TEN.recurrence, ends_ms=at("11:30"))
    assert catch_up(plan, at("11:00"), NOW - MINUTE_MS, NOW, policy, look_back_ms) == expected


def test_more_than_a_thousand_missed_are_counted_as_a_thousand():
    year_ms = 365 * 24 * HOUR_MS
    plan = Plan(Cron.parse("* * * * *"))
    assert catch_up(plan, at("11:00") - year_ms, NOW - MINUTE_MS, NOW, "latest", HOUR_MS).missed == 1_000


def test_occurrences_that_the_window_joined_are_missed_once():
    plan = Plan(Cron.parse("*/10 * * * *"), window=Window.parse("09:00", "10:00"))
    monday, tuesday = ms("2026-11-16T09:00:00Z"), ms("2026-11-17T09:00:00Z")
    # Monday 09:00 to 09:50, and on Tuesday all of the night as one.
    assert catch_up(plan, monday, tuesday + 1, tuesday, "none", HOUR_MS) == CaughtUp(tuesday + 10 * MINUTE_MS, 7)


@untimed
@given(
    interval_ms=st.integers(1, 50),
    due_number=st.integers(1, 30),
    missed_before_ms=st.integers(1, 1_500),
    late_ms=st.integers(-1, 40),
    policy=st.sampled_from(["latest", "all", "none"]),
    look_back_ms=st.integers(1, 2_000),
    ends_ms=st.none() | st.integers(0, 1_500),
)
def test_catching_up_is_what_one_would_do_by_hand(  # noqa: PLR0917 -- all that matters
    interval_ms, due_number, missed_before_ms, late_ms, policy, look_back_ms, ends_ms
):
    plan = Plan(Every(interval_ms, 0), ends_ms=ends_ms)
    due_ms = interval_ms * due_number
    now_ms = missed_before_ms + late_ms
    if due_ms >= missed_before_ms or (ends_ms is not None and due_ms > ends_ms):
        return
    times = [time for time in range(due_ms, 4_000, interval_ms) if ends_ms is None or time <= ends_ms]
    missed = [time for time in times if time < missed_before_ms]
    coming = [time for time in times if time >= missed_before_ms]
    candidates = {"latest": missed[-1:], "all": missed, "none": []}[policy]
    recent = [time for time in candidates if time >= now_ms - look_back_ms]
    chosen = next(iter([*recent, *coming]), None)
    dropped = [time for time in times if chosen is None or time < chosen]
    assert catch_up(plan, due_ms, missed_before_ms, now_ms, policy, look_back_ms) == CaughtUp(
        chosen, min(len(dropped), 1_000)
    )
