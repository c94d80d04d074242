from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightsched.timing import LAST_MS, At, Cron, Every, Plan, Window, format_utc
from tests.unit.timing.oracle import fire_times, ms, openings, untimed, wall

MINUTE_MS, HOUR_MS, DAY_MS = 60_000, 3_600_000, 86_400_000
WORKING_HOURS = Window.parse("09:00", "17:00", ["mon", "tue", "wed", "thu", "fri"], "Europe/Paris")
MONDAY = ms("2026-11-16T00:00:00+01:00")


def texts(times: list[int]) -> list[str]:
    return [format_utc(time)[:16] for time in times]


def test_a_one_shot_fires_when_it_says():
    plan = Plan(At(MONDAY))
    assert not plan.repeats
    assert plan.first() == plan.after(MONDAY - 1) == plan.latest(MONDAY) == MONDAY
    assert plan.after(MONDAY) is None
    assert plan.latest(MONDAY - 1) is None


def test_a_one_shot_in_the_past_of_its_creation_still_has_its_time():
    assert Plan(At(1_000), not_before_ms=5_000).first() == 1_000


def test_a_one_shot_outside_the_window_is_moved_to_the_opening():
    plan = Plan(At(MONDAY), window=WORKING_HOURS)
    assert plan.first() == MONDAY + 9 * HOUR_MS
    assert plan.after(MONDAY) == MONDAY + 9 * HOUR_MS
    assert plan.latest(MONDAY + 9 * HOUR_MS - 1) is None
    assert plan.latest(MONDAY + 9 * HOUR_MS) == MONDAY + 9 * HOUR_MS


def test_all_that_was_due_while_closed_fires_once_at_the_opening():
    plan = Plan(Cron.parse("*/30 * * * *", "Europe/Paris"), window=WORKING_HOURS, not_before_ms=MONDAY)
    assert texts(plan.upcoming(MONDAY, 3)) == ["2026-11-16T08:00", "2026-11-16T08:30", "2026-11-16T09:00"]
    friday_evening = ms("2026-11-20T17:00:00+01:00")
    assert texts(plan.upcoming(friday_evening, 2)) == ["2026-11-23T08:00", "2026-11-23T08:30"]
    assert plan.after(friday_evening + 10 * HOUR_MS) == ms("2026-11-23T09:00:00+01:00")
    assert plan.latest(friday_evening + 10 * HOUR_MS) == ms("2026-11-20T16:30:00+01:00")


def test_nothing_that_was_due_before_the_start_fires_at_the_opening():
    plan = Plan(Cron.parse("0 20 * * *", "Europe/Paris"), window=WORKING_HOURS, not_before_ms=MONDAY + 21 * HOUR_MS)
    # Monday 20:00 was before its creation, Tuesday 20:00 is moved to Wednesday.
    assert plan.first() == MONDAY + 57 * HOUR_MS
    assert plan.after(MONDAY + 22 * HOUR_MS) == MONDAY + 57 * HOUR_MS
    assert plan.latest(MONDAY + 57 * HOUR_MS - 1) is None


def test_jitter_shifts_before_the_window_moves():
    every_day_at_nine = Cron.parse("0 9 * * *", "Europe/Paris")
    plan = Plan(every_day_at_nine, window=WORKING_HOURS, jitter_ms=90_000, not_before_ms=MONDAY)
    assert plan.first() == MONDAY + 9 * HOUR_MS + 90_000
    late = Plan(Cron.parse("59 16 * * *", "Europe/Paris"), WORKING_HOURS, jitter_ms=90_000, not_before_ms=MONDAY)
    assert late.first() == MONDAY + 33 * HOUR_MS


def test_the_creation_is_no_nominal_time_but_the_start_is():
    cron = Cron.parse("0 9 * * *")
    nine = ms("2026-11-16T09:00:00Z")
    assert Plan(cron, not_before_ms=nine).first() == nine + DAY_MS
    assert Plan(cron, not_before_ms=nine).latest(nine + HOUR_MS) is None
    assert Plan(cron, not_before_ms=nine, starts_ms=nine).latest(nine + HOUR_MS) == nine
    assert Plan(cron, not_before_ms=nine, starts_ms=nine).first() == nine
    assert Plan(cron, not_before_ms=nine + DAY_MS, starts_ms=nine).first() == nine  # missed, for catch_up to decide
    assert Plan(cron, not_before_ms=0, starts_ms=nine + 1).first() == nine + DAY_MS


def test_the_end_is_inclusive_and_binds_the_fire_time():
    every = Every(1_000, 0)
    assert Plan(every, ends_ms=3_000).upcoming(0, 10) == [1_000, 2_000, 3_000]
    assert Plan(every, ends_ms=2_999).upcoming(0, 10) == [1_000, 2_000]
    assert Plan(every, ends_ms=3_000, jitter_ms=1).upcoming(0, 10) == [1_001, 2_001]
    assert Plan(every, ends_ms=3_000).latest(LAST_MS) == 3_000
    assert Plan(every, ends_ms=999).first() is None
    assert Plan(every, ends_ms=999).latest(LAST_MS) is None
    assert Plan(At(MONDAY), window=WORKING_HOURS, ends_ms=MONDAY + HOUR_MS).first() is None


def test_upcoming_includes_the_instant_it_starts_from():
    assert Plan(Every(1_000, 0)).upcoming(2_000, 2) == [2_000, 3_000]
    assert Plan(Every(1_000, 0)).upcoming(2_000, 0) == []


def test_a_plan_ends_with_the_year_9999():
    plan = Plan(Every(DAY_MS, 0), window=Window.parse("23:00", "24:00", ["mon"]))
    assert plan.after(LAST_MS) is None
    assert plan.after(LAST_MS - DAY_MS) is None
    assert plan.latest(10**30) == ms("9999-12-27T23:00:00Z")
    assert Plan(Every(DAY_MS, 0), jitter_ms=DAY_MS).upcoming(LAST_MS - DAY_MS + 2, 5) == []


def test_the_nominal_time_of_a_fire_time_is_known():
    plan = Plan(Every(HOUR_MS, MONDAY), window=WORKING_HOURS, jitter_ms=5, not_before_ms=MONDAY)
    assert plan.nominal(MONDAY + 9 * HOUR_MS) == MONDAY + 8 * HOUR_MS
    assert plan.nominal(MONDAY + 9 * HOUR_MS + 5) == MONDAY + 9 * HOUR_MS


# Small plans against all their fire times, listed one by one. The night is one on which the clock goes back.
FROM, UNTIL = ms("2026-10-22T00:00:00Z"), ms("2026-10-29T00:00:00Z")
windows = st.none() | st.builds(
    lambda ends, days: (ends, days),
    st.tuples(st.integers(0, 23), st.integers(0, 24)).filter(lambda ends: ends[0] != ends[1]),
    st.sets(st.integers(0, 6), min_size=1),
)
shifts = st.integers(0, 7 * DAY_MS) | st.integers(0, 7 * 24).map(lambda hours: hours * HOUR_MS)
recurrences = st.one_of(
    shifts.map(lambda shift: ("at", shift)),
    st.tuples(
        st.just("every"),
        st.sampled_from([7 * MINUTE_MS, 20 * MINUTE_MS, HOUR_MS, 5 * HOUR_MS, DAY_MS, 25 * HOUR_MS]),
        shifts,
        st.booleans(),
    ),
    st.tuples(
        st.just("cron"), st.sampled_from([{0}, {30}, {0, 15}]), st.sets(st.integers(0, 23), min_size=1, max_size=5)
    ),
)


def _nominal_times(spec) -> tuple[At | Every | Cron, list[int]]:
    """The recurrence, and its nominal times in the week around the night and a bit more."""
    if spec[0] == "at":
        return At(FROM + spec[1]), [FROM + spec[1]]
    if spec[0] == "every":
        _, interval, shift, from_anchor = spec
        first = FROM + shift if from_anchor else FROM + shift + interval
        return Every(interval, FROM + shift, from_anchor=from_anchor), list(range(first, UNTIL + 15 * DAY_MS, interval))
    _, minutes, hours = spec
    paris = WORKING_HOURS.zone
    cron = Cron.parse(f"{','.join(map(str, minutes))} {','.join(map(str, hours))} * * *", "Europe/Paris")
    day = wall(FROM, paris).replace(hour=0, minute=0, second=0) - timedelta(days=8)
    matches: list[datetime] = [
        day + timedelta(days=n, hours=hour, minutes=minute) for n in range(32) for hour in hours for minute in minutes
    ]
    return cron, fire_times(matches, paris, FROM - 8 * DAY_MS, UNTIL + 15 * DAY_MS, rhythm=False)


@untimed
@given(
    spec=recurrences,
    window=windows,
    jitter_ms=st.sampled_from([0, 1, 90_000, 5 * HOUR_MS]),
    bounds=st.tuples(shifts, st.none() | shifts, st.none() | shifts),
    asks=st.lists(shifts, min_size=1, max_size=8),
)
def test_a_plan_is_the_list_of_its_fire_times(spec, window, jitter_ms, bounds, asks):
    recurrence, nominal = _nominal_times(spec)
    not_before_ms, starts_ms, ends_ms = (None if bound is None else FROM + bound for bound in bounds)
    paris = WORKING_HOURS.zone
    opened, parsed = None, None
    if window is not None:
        (from_, to), days = window
        names = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
        parsed = Window.parse(f"{from_:02d}:00", f"{to:02d}:00", [names[day] for day in sorted(days)], "Europe/Paris")
        first = wall(FROM, paris).date() - timedelta(days=20)
        ends = timedelta(hours=from_), timedelta(hours=to)
        opened = openings(*ends, days, set(), paris, first, first + timedelta(days=70))
    plan = Plan(recurrence, parsed, jitter_ms, not_before_ms, starts_ms, ends_ms)

    fires = set()
    for time in nominal:
        if plan.repeats and (time < starts_ms if starts_ms is not None else time <= not_before_ms):
            continue
        due = time + jitter_ms
        if opened is not None:
            due = next(max(due, opening[0]) for opening in opened if opening[1] > due)
        if ends_ms is None or due <= ends_ms:
            fires.add(due)
    expected = sorted(fires)

    assert plan.first() == (expected[0] if expected else None)
    for shift in asks:
        at_ms = FROM + shift
        later = [time for time in expected if time > at_ms]
        assert plan.after(at_ms) == (later[0] if later else None)
        assert plan.latest(at_ms) == max((time for time in expected if time <= at_ms), default=None)
        assert plan.upcoming(at_ms, 3) == [time for time in expected if time >= at_ms][:3]
        for other in (FROM + asks[0], UNTIL):
            inside = sum(at_ms <= time < other for time in expected)
            assert plan.count(at_ms, other, 10_000) == inside
            assert plan.count(at_ms, other, 5) == min(inside, 5)


@pytest.mark.parametrize("expression", ["30 2 * * *", "*/20 * * * *", "0 0 * * *"])
def test_one_fire_time_leads_to_the_next_and_back(expression):
    plan = Plan(Cron.parse(expression, "Europe/Paris"), not_before_ms=FROM)
    times = plan.upcoming(FROM, 300)
    assert times == sorted(set(times))
    assert [plan.latest(time) for time in times] == times
    assert [plan.latest(time - 1) for time in times[1:]] == times[:-1]
