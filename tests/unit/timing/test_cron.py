import contextlib
import pickle
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightsched.timing import LAST_MS, Cron, TimingError, format_local, format_utc, zone
from tests.unit.timing.oracle import fire_times, ms, untimed, wall


def local_times(expression: str, timezone: str, after: str, n: int) -> list[str]:
    cron = Cron.parse(expression, timezone)
    times: list[str] = []
    found = cron.after(ms(after))
    while found is not None and len(times) < n:
        times.append(format_local(found, cron.zone).replace(".000", ""))
        found = cron.after(found)
    return times


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("* * * * *", ["2026-11-16T09:01:00", "2026-11-16T09:02:00"]),
        ("30 9 * * mon-fri", ["2026-11-16T09:30:00", "2026-11-17T09:30:00"]),
        ("30 9 * * MON-FRI", ["2026-11-16T09:30:00", "2026-11-17T09:30:00"]),
        ("  30   9\t* * 1-5 ", ["2026-11-16T09:30:00", "2026-11-17T09:30:00"]),
        ("*/10 * * * * *", ["2026-11-16T09:00:10", "2026-11-16T09:00:20"]),
        ("15 30 9 * * *", ["2026-11-16T09:30:15", "2026-11-17T09:30:15"]),
        ("@yearly", ["2027-01-01T00:00:00", "2028-01-01T00:00:00"]),
        ("@annually", ["2027-01-01T00:00:00", "2028-01-01T00:00:00"]),
        ("@monthly", ["2026-12-01T00:00:00", "2027-01-01T00:00:00"]),
        ("@weekly", ["2026-11-22T00:00:00", "2026-11-29T00:00:00"]),
        ("@daily", ["2026-11-17T00:00:00", "2026-11-18T00:00:00"]),
        ("@Midnight", ["2026-11-17T00:00:00", "2026-11-18T00:00:00"]),
        ("@hourly", ["2026-11-16T10:00:00", "2026-11-16T11:00:00"]),
        ("0 0 L * *", ["2026-11-30T00:00:00", "2026-12-31T00:00:00"]),
        ("0 0 LW * *", ["2026-11-30T00:00:00", "2026-12-31T00:00:00", "2027-01-29T00:00:00"]),
        ("0 0 1,L feb *", ["2027-02-01T00:00:00", "2027-02-28T00:00:00"]),
        ("0 9 * * mon#2", ["2026-12-14T09:00:00", "2027-01-11T09:00:00"]),
        ("0 9 * * 5L", ["2026-11-27T09:00:00", "2026-12-25T09:00:00"]),
        ("0 0 * * 7", ["2026-11-22T00:00:00", "2026-11-29T00:00:00"]),
        ("0 0 29 2 *", ["2028-02-29T00:00:00", "2032-02-29T00:00:00"]),
        ("0 0 13 * fri", ["2026-11-20T00:00:00", "2026-11-27T00:00:00", "2026-12-04T00:00:00"]),  # either day
        ("0 0 */2 * fri", ["2026-11-27T00:00:00", "2026-12-11T00:00:00"]),  # both, because of the star
        ("0 0 31 * *", ["2026-12-31T00:00:00", "2027-01-31T00:00:00"]),
        ("5/20 9 * * *", ["2026-11-16T09:05:00", "2026-11-16T09:25:00", "2026-11-16T09:45:00"]),
        ("*/60 */24 * * *", ["2026-11-17T00:00:00", "2026-11-18T00:00:00"]),
    ],
)
def test_fields_names_and_aliases_mean_what_cron_users_expect(expression, expected):
    found = local_times(expression, "UTC", "2026-11-16T09:00:00Z", len(expected))
    assert found == [f"{time}+00:00" for time in expected]


@pytest.mark.parametrize(
    ("expression", "says"),
    [
        ("", "is empty: write five fields"),
        ("   ", "is empty"),
        ("* * * *", "has 4 fields"),
        ("*", "has 1 field:"),
        ("* * * * * * *", "has 7 fields"),
        ("*/0 * * * *", "the minute './0' .* a step of 0 never moves on"),
        ("* */00 * * *", "the hour .* a step of 0"),
        ("*/90 * * * *", "the minute .* a step of 90 is longer than the field.* use 'every'"),
        ("1/ * * * *", "the minute .* is not a number"),
        ("60 * * * *", "the minute '60' .* write 0 to 59"),
        ("61 * * * * *", "the second '61' .* write 0 to 59"),
        ("* 24 * * *", "the hour '24' .* write 0 to 23"),
        ("* * 0 * *", "the day of month '0' .* write 1 to 31"),
        ("* * * 13 *", "the month '13' .* write 1 to 12 or jan to dec"),
        ("* * * foo *", "the month 'foo'"),
        ("* * * * 8", "the day of week '8' .* write 0 to 7 or sun to sat"),
        ("* * * * monday", "the day of week 'monday' .* sun to sat"),
        ("* * * * mon#6", "which one of the month, 1 to 5"),
        ("* * * * mon#", "which one of the month, 1 to 5"),
        ("* * * * 1-3#2", "the day of week"),
        ("* * * * L", "write 5L for the last Friday"),
        ("* * * * L5", "write 5L for the last Friday"),
        ("* * 15W * *", "only known as LW"),
        ("* * L/2 * *", "L is one day, and takes no step"),
        ("* * L-3 * *", "the day of month"),
        ("* * ? * *", "write . instead of ?"),
        ("50-10 * * * *", "the minute .* goes backwards"),
        ("* * * * fri-sun", "goes backwards.* 7 for Sunday"),
        ("1,,2 * * * *", "missing beside a comma"),
        ("1, 2 * * *", "missing beside a comma"),
        ("-1 * * * *", "the minute '-1'"),
        ("1-2-3 * * * *", "the minute"),
        ("1.5 * * * *", "the minute"),
        ("0 0 31 2 *", "never fires: no month in '2' has a day 31"),
        ("0 0 30 feb *", "never fires"),
        ("0 0 31 4,6,9,11 *", "never fires"),
        ("0 0 */31 2 mon#5", "never fires: no day matches"),
        ("@reboot", "alias '@reboot' is unknown"),
        ("@every 5m", "use 'every'"),
        ("@daily extra", "is unknown"),
        ("fr\u0131 * * * *", "is not plain text"),
        ("* " * 400, "is not plain text of at most 500"),
        ("9" * 400 + " * * * *", "the minute"),
    ],
)
def test_a_wrong_cron_is_refused_naming_the_field_and_the_reason(expression, says):
    with pytest.raises(TimingError, match=says):
        Cron.parse(expression)


def test_an_unknown_timezone_is_refused():
    with pytest.raises(TimingError, match="did you mean Europe/Paris"):
        Cron.parse("* * * * *", "Europe/Pari")


# In Paris the clock goes from 02:00 to 03:00 on 29 March 2026, and from 03:00 to 02:00 on 25 October.
FORWARD, BACK = "2026-03-28T12:00:00Z", "2026-10-24T12:00:00Z"


@pytest.mark.parametrize(
    ("expression", "after", "expected"),
    [
        ("30 2 * * *", FORWARD, ["2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00"]),
        ("0 30 2 * * *", FORWARD, ["2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00"]),
        ("15 30 2 * * *", FORWARD, ["2026-03-29T03:00:00+02:00", "2026-03-30T02:30:15+02:00"]),
        ("*/20 30 2 * * *", FORWARD, ["2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00"]),
        ("10,30 2 * * *", FORWARD, ["2026-03-29T03:00:00+02:00", "2026-03-30T02:10:00+02:00"]),
        ("0,30 2,3 * * *", FORWARD, ["2026-03-29T03:00:00+02:00", "2026-03-29T03:30:00+02:00"]),
        ("30 1 * * *", FORWARD, ["2026-03-29T01:30:00+01:00", "2026-03-30T01:30:00+02:00"]),
        ("30 2 29 * *", FORWARD, ["2026-03-29T03:00:00+02:00", "2026-04-29T02:30:00+02:00"]),
        ("30 * * * *", "2026-03-29T00:00:00Z", ["2026-03-29T01:30:00+01:00", "2026-03-29T03:30:00+02:00"]),
        ("*/30 2 * * *", FORWARD, ["2026-03-30T02:00:00+02:00"]),
        ("0 */2 * * *", "2026-03-28T23:00:00Z", ["2026-03-29T04:00:00+02:00"]),
        ("30 2 * * *", BACK, ["2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"]),
        ("0 30 2 * * *", BACK, ["2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"]),
        ("0 3 * * *", BACK, ["2026-10-25T03:00:00+01:00", "2026-10-26T03:00:00+01:00"]),
        ("30 * * * *", "2026-10-24T23:45:00Z", [f"2026-10-25T{t}:00" for t in ("02:30", "02:30", "03:30")]),
        ("*/30 2 * * *", BACK, [f"2026-10-25T{t}:00" for t in ("02:00", "02:30", "02:00", "02:30")]),
        ("0 */2 * * *", "2026-10-24T23:00:00Z", [f"2026-10-25T{t}:00" for t in ("02:00", "02:00", "04:00")]),
        ("0-59/30 0-23 * * *", "2026-10-25T00:15:00Z", ["2026-10-25T02:30:00+02:00", "2026-10-25T03:00:00+01:00"]),
    ],
)
def test_a_fixed_time_fires_once_and_a_rhythm_follows_elapsed_time(expression, after, expected):
    found = local_times(expression, "Europe/Paris", after, len(expected))
    assert [time[: len(text)] for time, text in zip(found, expected, strict=True)] == expected


@pytest.mark.parametrize(
    ("timezone", "expression", "after", "expected"),
    [
        # Half an hour: 02:00 becomes 02:30, and 02:00 becomes 01:30.
        ("Australia/Lord_Howe", "15 2 * * *", "2026-10-02T20:00:00Z", "2026-10-04T02:30:00+11:00"),
        ("Australia/Lord_Howe", "45 2 * * *", "2026-10-02T20:00:00Z", "2026-10-04T02:45:00+11:00"),
        ("Australia/Lord_Howe", "* 3 * * *", "2026-10-03T15:00:00Z", "2026-10-04T03:00:00+11:00"),
        ("Australia/Lord_Howe", "45 1 * * *", "2026-04-04T14:40:00Z", "2026-04-05T01:45:00+11:00"),
        ("Australia/Lord_Howe", "45 1 * * *", "2026-04-04T14:45:00Z", "2026-04-06T01:45:00+10:30"),
        # At midnight: 00:00 becomes 01:00, so the day begins at 01:00.
        ("America/Santiago", "0 0 * * *", "2026-09-05T12:00:00Z", "2026-09-06T01:00:00-03:00"),
        ("America/Santiago", "30 0 * * sun", "2026-09-05T12:00:00Z", "2026-09-06T01:00:00-03:00"),
        ("America/Santiago", "*/15 0 * * *", "2026-09-05T12:00:00Z", "2026-09-07T00:00:00-03:00"),
        ("Asia/Beirut", "0 0 * * *", "2026-03-28T12:00:00Z", "2026-03-29T01:00:00+03:00"),
        ("Africa/Cairo", "30 0 * * *", "2026-04-23T12:00:00Z", "2026-04-24T01:00:00+03:00"),
        # Back across midnight: 24:00 becomes 23:00 of the day that was over.
        ("America/Santiago", "30 23 * * *", "2026-04-05T02:45:00Z", "2026-04-05T23:30:00-04:00"),
        ("America/Santiago", "0 0 * * *", "2026-04-05T02:45:00Z", "2026-04-05T00:00:00-04:00"),
        # A whole day that never was.
        ("Pacific/Apia", "0 12 30 12 *", "2011-12-01T00:00:00Z", "2011-12-31T00:00:00+14:00"),
        ("Pacific/Apia", "0 12 * * *", "2011-12-30T00:00:00Z", "2011-12-31T00:00:00+14:00"),
        ("Pacific/Apia", "* * 30 12 *", "2011-12-01T00:00:00Z", "2012-12-30T00:00:00+14:00"),
        # An offset with seconds.
        ("Africa/Monrovia", "0 12 * * *", "1971-06-01T00:00:00Z", "1971-06-01T12:00:00-00:44:30"),
    ],
)
def test_odd_clock_changes_follow_the_same_rule(timezone, expression, after, expected):
    assert Cron.parse(expression, timezone).after(ms(after)) == ms(expected)


def test_a_fixed_time_never_fires_before_the_instant_asked_about():
    # cronsim alone answers 01:50 of the first pass when asked at 01:45 of the second.
    cron = Cron.parse("50 1 * * *", "America/New_York")
    assert cron.after(ms("2026-11-01T06:45:00Z")) == ms("2026-11-02T06:50:00Z")
    assert cron.before(ms("2026-11-01T06:45:00Z")) == ms("2026-11-01T05:50:00Z")


def test_fire_times_end_with_the_year_9999_and_begin_with_1970():
    cron = Cron.parse("0 0 * * *", "Asia/Tokyo")
    assert cron.after(LAST_MS - 86_400_000) is None or cron.after(LAST_MS - 86_400_000) <= LAST_MS
    assert cron.after(LAST_MS) is None
    assert cron.after(10**30) is None
    assert cron.before(10**30) == cron.before(LAST_MS)
    assert cron.after(-(10**30)) == ms("1970-01-01T15:00:00Z")
    assert cron.before(0) is None
    assert cron.before(-1) is None


def test_a_rhythm_that_a_zone_always_skips_does_not_fire_any_more():
    # The second Sunday of March at two is when the clock goes forward in New York since 2007.
    cron = Cron.parse("* 2 8-14 3 */7", "America/New_York")
    assert cron.after(ms("2026-01-01T00:00:00Z")) is None
    assert format_utc(cron.before(ms("2026-01-01T00:00:00Z")) or 0) == "2006-03-12T07:59:00.000Z"
    assert cron.after(ms("2005-01-01T00:00:00Z")) == ms("2005-03-13T07:00:00Z")


def test_the_same_text_gives_the_same_object_and_equal_ones_are_equal():
    assert Cron.parse("0 9 * * *", "Europe/Paris") is Cron.parse("0 9 * * *", "Europe/Paris")
    assert Cron.parse("0 9 * * *") == Cron.parse("0  9 * * *")
    assert hash(Cron.parse("0 9 * * *")) == hash(Cron.parse("0  9 * * *"))
    assert Cron.parse("0 9 * * *") != Cron.parse("0 9 * * *", "Europe/Paris")
    assert repr(Cron.parse("0 9 * * *")) == "Cron('0 9 * * *', 'UTC')"


def test_a_timing_error_survives_pickling():
    with pytest.raises(TimingError) as caught:
        Cron.parse("*/0 * * * *")
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


NIGHTS = [
    *(("Europe/Paris", "2026-03-29T01:00:00Z"), ("Europe/Paris", "2026-10-25T01:00:00Z")),
    *(("America/New_York", "2026-03-08T07:00:00Z"), ("America/New_York", "2026-11-01T06:00:00Z")),
    *(("Australia/Lord_Howe", "2026-10-03T15:30:00Z"), ("Australia/Lord_Howe", "2026-04-04T15:00:00Z")),
    *(("America/Santiago", "2026-09-06T04:00:00Z"), ("America/Santiago", "2026-04-05T03:00:00Z")),
    *(("America/Havana", "2026-03-08T05:00:00Z"), ("America/Havana", "2026-11-01T05:00:00Z")),
    *(("Antarctica/Troll", "2026-03-29T01:00:00Z"), ("Antarctica/Troll", "2026-10-25T01:00:00Z")),
    *(("Pacific/Chatham", "2026-09-26T14:00:00Z"), ("Pacific/Chatham", "2026-04-04T14:00:00Z")),
    *(("Pacific/Apia", "2011-12-30T10:00:00Z"), ("UTC", "2026-03-29T01:00:00Z")),
]


def _fields(low, high):
    """A field as text, with the values that it allows."""
    everything = range(low, high + 1)
    return st.one_of(
        st.just(("*", set(everything))),
        st.integers(1, 30).map(lambda step: (f"*/{min(step, high)}", set(everything[:: min(step, high)]))),
        st.sets(st.integers(low, high), min_size=1, max_size=4).map(lambda s: (",".join(map(str, sorted(s))), s)),
        st.tuples(st.integers(low, high), st.integers(low, high)).map(
            lambda ends: (f"{min(ends)}-{max(ends)}", set(range(min(ends), max(ends) + 1)))
        ),
    )


HOURS_OF_CHANGE = st.sampled_from([0, 1, 2, 3, 23])
near_hours = st.one_of(
    _fields(0, 23), st.sets(HOURS_OF_CHANGE, min_size=1).map(lambda s: (",".join(map(str, sorted(s))), s))
)
REACH = timedelta(hours=30)


@untimed
@given(
    night=st.sampled_from(NIGHTS),
    minute=_fields(0, 59),
    hour=near_hours,
    second=st.sampled_from([None, ("0", {0}), ("15,45", {15, 45})]),
    shifts_ms=st.lists(st.integers(-26 * 3600_000, 26 * 3600_000), min_size=1, max_size=10),
)
def test_after_before_and_count_agree_with_the_rule_read_aloud(night, minute, hour, second, shifts_ms):
    timezone, change = night
    change_ms = ms(change)
    text = " ".join(([second[0]] if second else []) + [minute[0], hour[0], "* * *"])
    cron = Cron.parse(text, timezone)
    middle = wall(change_ms, zone(timezone)).replace(second=0)
    first = middle - REACH - timedelta(hours=26)
    matches: list[datetime] = []
    for number in range(int((2 * REACH + timedelta(hours=52)) / timedelta(minutes=1))):
        local = first + timedelta(minutes=number)
        if local.hour in hour[1] and local.minute in minute[1]:
            matches += [local.replace(second=s) for s in sorted(second[1] if second else {0})]
    rhythm = "*" in minute[0] or "*" in hour[0]
    span_ms = int(REACH.total_seconds() * 1000)
    expected = fire_times(matches, zone(timezone), change_ms - span_ms, change_ms + span_ms, rhythm=rhythm)
    for shift_ms in [*shifts_ms, *(time - change_ms for time in expected[:3])]:
        at_ms = change_ms + shift_ms
        later, earlier = [t for t in expected if t > at_ms], [t for t in expected if t <= at_ms]
        if later:
            assert cron.after(at_ms) == later[0]
        if earlier:
            assert cron.before(at_ms) == earlier[-1]
        assert cron.count(at_ms, change_ms + span_ms) == sum(at_ms <= t < change_ms + span_ms for t in expected)


expressions = st.builds(
    lambda *fields: " ".join(field[0] for field in fields),
    _fields(0, 59),
    _fields(0, 23),
    _fields(1, 28),
    _fields(1, 12),
    _fields(0, 6),
)


@untimed
@given(expressions, st.sampled_from(NIGHTS), st.integers(0, ms("2100-01-01T00:00:00Z")))
def test_before_is_the_inverse_of_after_anywhere(expression, night, at_ms):
    cron = None
    with contextlib.suppress(TimingError):  # it never fires
        cron = Cron.parse(expression, night[0])
    found = cron and cron.after(at_ms)
    if found is None:
        return
    assert found > at_ms
    assert cron.before(found) == found
    previous = cron.before(found - 1)
    assert previous is None or previous <= at_ms
    assert previous is None or cron.after(previous) == found
    assert cron.count(at_ms + 1, found) == 0
    assert cron.count(at_ms + 1, found + 1) == 1


@untimed
@given(
    st.sampled_from(
        ["0 9 * * 1-5", "30 2 1,15,L * *", "*/20 0-3 * 3,10 0", "0 12 13 * 5", "5 0 * * mon#2", "0 0 31 * *"]
    ),
    st.sampled_from(NIGHTS),
    st.integers(ms("2024-01-01T00:00:00Z"), ms("2028-01-01T00:00:00Z")),
    st.integers(0, 120 * 24 * 3600_000) | st.integers(0, 120).map(lambda days: days * 24 * 3600_000),
)
def test_counting_is_the_same_as_going_from_one_to_the_next(expression, night, from_ms, length_ms):
    cron = Cron.parse(expression, night[0])
    steps = 0
    found = cron.after(from_ms - 1)
    while found < from_ms + length_ms:
        steps += 1
        found = cron.after(found)
    assert cron.count(from_ms, from_ms + length_ms) == steps


@untimed
@given(st.text(max_size=30) | st.lists(st.text("0123456789*/-,#LWmonja?@ ", max_size=6), max_size=7).map(" ".join))
def test_any_text_is_a_cron_that_fires_or_a_timing_error(text):
    with contextlib.suppress(TimingError):
        assert Cron.parse(text).after(0) is not None
