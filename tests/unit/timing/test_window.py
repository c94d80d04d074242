from bisect import bisect_right
from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightsched.timing import LAST_MS, TimingError, Window, format_local, zone
from tests.unit.timing.oracle import ms, openings, untimed, wall

WORKDAYS = ["mon", "tue", "wed", "thu", "fri"]


def shown(window: Window, instant_ms: int) -> str:
    return format_local(instant_ms, window.zone)[:23]


# 2026-11-16 is a Monday.
@pytest.mark.parametrize(
    ("at", "inside", "opens", "last"),
    [
        ("2026-11-16T08:59:59.999", False, "2026-11-16T09:00:00.000", "2026-11-13T16:59:59.999"),
        ("2026-11-16T09:00:00.000", True, "2026-11-16T09:00:00.000", "2026-11-16T09:00:00.000"),
        ("2026-11-16T12:34:56.789", True, "2026-11-16T12:34:56.789", "2026-11-16T12:34:56.789"),
        ("2026-11-16T16:59:59.999", True, "2026-11-16T16:59:59.999", "2026-11-16T16:59:59.999"),
        ("2026-11-16T17:00:00.000", False, "2026-11-17T09:00:00.000", "2026-11-16T16:59:59.999"),
        ("2026-11-21T12:00:00.000", False, "2026-11-23T09:00:00.000", "2026-11-20T16:59:59.999"),
        ("2026-12-24T18:00:00.000", False, "2026-12-28T09:00:00.000", "2026-12-24T16:59:59.999"),
    ],
)
def test_working_hours_open_on_workdays_except_the_excluded(at, inside, opens, last):
    window = Window.parse("09:00", "17:00", WORKDAYS, "Europe/Paris", ["2026-12-25"])
    at_ms = ms(f"{at}+01:00")
    assert window.contains(at_ms) is inside
    assert shown(window, window.open_at(at_ms)) == opens
    assert shown(window, window.last_open_before(at_ms)) == last


def test_a_window_over_midnight_belongs_to_the_day_on_which_it_opens():
    window = Window.parse("22:00", "06:00", ["fri"], "UTC", ["2026-11-20"])
    assert window.contains(ms("2026-11-28T05:59:59.999Z"))  # Saturday morning
    assert not window.contains(ms("2026-11-28T06:00:00Z"))
    assert not window.contains(ms("2026-11-21T01:00:00Z"))  # the night of an excluded Friday
    assert window.open_at(ms("2026-11-28T06:00:00Z")) == ms("2026-12-04T22:00:00Z")


def test_a_window_to_midnight_ends_with_the_day():
    for to in ("24:00", "00:00"):
        window = Window.parse("09:00", to, ["mon"])
        assert window.contains(ms("2026-11-16T23:59:59.999Z"))
        assert not window.contains(ms("2026-11-17T00:00:00Z"))


def test_whole_days_one_after_the_other_are_open_without_a_break():
    window = Window.parse(days=["Monday", "TUESDAY", "tue"])
    assert window.open_at(ms("2026-11-17T00:00:00Z")) == ms("2026-11-17T00:00:00Z")
    assert window.last_open_before(ms("2026-11-17T00:00:00Z")) == ms("2026-11-17T00:00:00Z")
    assert window.last_open_before(ms("2026-11-20T00:00:00Z")) == ms("2026-11-17T23:59:59.999Z")


def test_one_end_may_be_left_out():
    assert Window.parse("18:00") == Window.parse("18:00", "24:00")
    assert Window.parse(to="06:00") == Window.parse("00:00", "06:00")
    assert Window.parse(exclude=["2026-12-25"]) == Window.parse("00:00", "24:00", None, "UTC", ["2026-12-25"])
    assert hash(Window.parse("18:00")) == hash(Window.parse("18:00", "24:00"))
    assert Window.parse("18:00") != Window.parse("18:00", timezone="Europe/Paris")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({}, "always open: give 'from' and 'to', 'days' or 'exclude'"),
        ({"exclude": []}, "always open"),
        ({"from_": "09:00", "to": "09:00"}, "opens and closes at 09:00: for the whole day write from 00:00 to 24:00"),
        ({"to": "00:00"}, "opens and closes at 00:00"),
        ({"from_": "24:00", "to": "06:00"}, "'from' '24:00' is not a time of day: write 00:00 to 23:59"),
        ({"from_": "9:00"}, "is not a time of day"),
        ({"from_": "09:60"}, "is not a time of day"),
        ({"from_": "09:00:00"}, "is not a time of day"),
        ({"to": "25:00"}, "'to' '25:00' is not a time of day: write 00:00 to 24:00"),
        ({"to": ""}, "is not a time of day"),
        ({"days": []}, "never opens, since 'days' is empty"),
        ({"days": ["mo"]}, "'mo' among the window's 'days' is not a day: write mon tue"),
        ({"exclude": ["2026-02-30"]}, "'2026-02-30' among the window's 'exclude' is not a date"),
        ({"exclude": ["20261225"]}, "is not a date: write for example 2026-12-25"),
        ({"exclude": ["2026-W01-1"]}, "is not a date"),
        ({"exclude": ["2026-12-25"] * 1001}, "excludes 1,001 days: at most 1,000"),
        ({"days": ["mon"], "timezone": "Nowhere"}, "unknown timezone"),
    ],
)
def test_a_wrong_window_is_refused_with_the_remedy(arguments, says):
    with pytest.raises(TimingError, match=says):
        Window.parse(**arguments)


@pytest.mark.parametrize(
    ("from_", "to", "day", "opens", "closes"),
    [
        # Paris, 02:00 becomes 03:00.
        ("02:30", "05:00", "2026-03-29", "2026-03-29T01:00:00Z", "2026-03-29T03:00:00Z"),
        ("01:00", "02:30", "2026-03-29", "2026-03-29T00:00:00Z", "2026-03-29T01:00:00Z"),
        ("01:00", "04:00", "2026-03-29", "2026-03-29T00:00:00Z", "2026-03-29T02:00:00Z"),
        # Paris, 03:00 becomes 02:00.
        ("02:00", "03:00", "2026-10-25", "2026-10-25T00:00:00Z", "2026-10-25T02:00:00Z"),
        ("02:30", "05:00", "2026-10-25", "2026-10-25T00:30:00Z", "2026-10-25T04:00:00Z"),
        ("01:00", "02:30", "2026-10-25", "2026-10-24T23:00:00Z", "2026-10-25T00:30:00Z"),
    ],
)
def test_both_ends_of_a_window_follow_the_rule_for_clock_changes(from_, to, day, opens, closes):
    window = Window.parse(from_, to, None, "Europe/Paris")
    midnight = ms(f"{day}T00:00:00Z") - 2 * 3600_000
    assert window.open_at(midnight) == ms(opens)
    assert window.close_after(ms(opens)) == ms(closes)


def test_a_window_within_the_gap_does_not_open_that_day():
    window = Window.parse("02:10", "02:50", None, "Europe/Paris")
    assert window.open_at(ms("2026-03-28T12:00:00Z")) == ms("2026-03-30T00:10:00Z")


def test_a_day_that_never_was_has_no_window():
    window = Window.parse("00:00", "24:00", ["fri"], "Pacific/Apia")
    assert window.open_at(ms("2011-12-29T12:00:00Z")) == ms("2012-01-05T10:00:00Z")
    assert window.last_open_before(ms("2012-01-01T00:00:00Z")) == ms("2011-12-24T09:59:59.999Z")


def test_windows_end_with_the_year_9999():
    window = Window.parse("09:00", "17:00", ["mon"])
    assert window.opening_from(LAST_MS) is None
    assert not window.contains(LAST_MS)
    with pytest.raises(TimingError, match="does not open again before the year 10000"):
        window.open_at(LAST_MS)
    assert window.last_open_before(LAST_MS) == ms("9999-12-27T16:59:59.999Z")
    assert window.last_open_before(0) is None
    assert window.open_at(0) == ms("1970-01-05T09:00:00Z")


NIGHTS = [
    *(("Europe/Paris", "2026-03-29T01:00:00Z"), ("Europe/Paris", "2026-10-25T01:00:00Z")),
    *(("Australia/Lord_Howe", "2026-10-03T15:30:00Z"), ("Australia/Lord_Howe", "2026-04-04T15:00:00Z")),
    *(("America/Santiago", "2026-09-06T04:00:00Z"), ("America/Santiago", "2026-04-05T03:00:00Z")),
    *(("America/Havana", "2026-03-08T05:00:00Z"), ("America/Havana", "2026-11-01T05:00:00Z")),
    *(("Antarctica/Troll", "2026-03-29T01:00:00Z"), ("Antarctica/Troll", "2026-10-25T01:00:00Z")),
    *(("Pacific/Apia", "2011-12-30T10:00:00Z"), ("Pacific/Apia", "2011-12-31T10:00:00Z")),
    *(("UTC", "2026-03-29T01:00:00Z"), ("Asia/Kolkata", "2026-03-29T01:00:00Z")),
]
clocks = st.one_of(
    st.integers(0, 24 * 60 - 1), st.sampled_from([0, 30, 60, 90, 120, 150, 180, 210, 23 * 60, 23 * 60 + 30])
)


def clock(minutes: int) -> str:
    return f"{minutes // 60:02d}:{minutes % 60:02d}"


@untimed
@given(
    night=st.sampled_from(NIGHTS),
    ends=st.tuples(clocks, clocks | st.just(24 * 60)).filter(lambda ends: ends[0] != ends[1]),
    days=st.sets(st.integers(0, 6), min_size=1),
    excluded=st.sets(st.integers(-3, 3)),
    shifts_ms=st.lists(st.integers(-60 * 3600_000, 60 * 3600_000), min_size=1, max_size=12),
)
def test_a_window_around_a_clock_change_is_open_exactly_when_the_rule_says(night, ends, days, excluded, shifts_ms):
    name, change = night
    change_ms, middle = ms(change), wall(ms(change), zone(name)).date()
    exclude = {middle + timedelta(days=shift) for shift in excluded}
    names = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
    window = Window.parse(
        clock(ends[0]), clock(ends[1]), [names[day] for day in sorted(days)], name, sorted(map(date.isoformat, exclude))
    )
    reach = timedelta(days=40)
    expected = openings(
        timedelta(minutes=ends[0]),
        timedelta(minutes=ends[1]),
        days,
        exclude,
        zone(name),
        middle - reach,
        middle + reach,
    )
    edges = [edge - change_ms for opening in expected for edge in opening if abs(edge - change_ms) < 60 * 3600_000]
    for shift_ms in [*shifts_ms, *edges, *(edge - 1 for edge in edges)]:
        at_ms = change_ms + shift_ms
        before = bisect_right(expected, (at_ms, LAST_MS)) - 1
        inside = expected[before][0] <= at_ms < expected[before][1]
        assert window.contains(at_ms) is inside
        assert window.open_at(at_ms) == (at_ms if inside else expected[before + 1][0])
        assert window.last_open_before(at_ms) == (at_ms if inside else expected[before][1] - 1)
