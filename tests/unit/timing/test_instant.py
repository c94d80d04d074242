import contextlib
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightsched.timing import LAST_MS, TimingError, format_local, format_utc, parse_instant, zone
from tests.unit.timing.oracle import ms, untimed


@pytest.mark.parametrize(
    ("value", "timezone", "expected"),
    [
        ("2026-11-16T09:00:00Z", None, "2026-11-16T09:00:00.000Z"),
        ("2026-11-16t09:00:00z", None, "2026-11-16T09:00:00.000Z"),
        ("2026-11-16 09:00:00z", None, "2026-11-16T09:00:00.000Z"),
        ("2026-11-16T09:00Z", None, "2026-11-16T09:00:00.000Z"),
        ("2026-11-16T10:00:00+01:00", None, "2026-11-16T09:00:00.000Z"),
        ("2026-11-16T03:30:00-05:30", None, "2026-11-16T09:00:00.000Z"),
        ("2026-11-16T09:00:00.1Z", None, "2026-11-16T09:00:00.100Z"),
        ("2026-11-16T09:00:00.123999999Z", None, "2026-11-16T09:00:00.123Z"),
        ("2026-11-16T10:00:00", "Europe/Paris", "2026-11-16T09:00:00.000Z"),
        ("2026-11-16T10:00:00+01:00", "Asia/Tokyo", "2026-11-16T09:00:00.000Z"),
        (1_794_819_600_000, None, "2026-11-16T09:00:00.000Z"),
        ("1794819600000", None, "2026-11-16T09:00:00.000Z"),
        (0, None, "1970-01-01T00:00:00.000Z"),
        ("9999-12-31T23:59:59.999Z", None, "9999-12-31T23:59:59.999Z"),
        # Clocks go forward from 02:00 to 03:00, and back from 03:00 to 02:00.
        ("2026-03-29T02:30:00", "Europe/Paris", "2026-03-29T01:00:00.000Z"),
        ("2026-10-25T02:30:00", "Europe/Paris", "2026-10-25T00:30:00.000Z"),
        ("2026-10-25T03:00:00", "Europe/Paris", "2026-10-25T02:00:00.000Z"),
        ("2011-12-30T12:00:00", "Pacific/Apia", "2011-12-30T10:00:00.000Z"),
        ("2026-10-04T02:10:00", "Australia/Lord_Howe", "2026-10-03T15:30:00.000Z"),
    ],
)
def test_an_instant_is_read(value, timezone, expected):
    assert format_utc(parse_instant(value, timezone)) == expected


@pytest.mark.parametrize(
    ("value", "timezone", "says"),
    [
        ("2026-11-16T09:00:00", None, "has no offset: append Z or an offset such as .01:00, or set 'timezone'"),
        ("2026-11-16", None, "day without a time of day, write for example 2026-11-16T09:00:00Z"),
        ("20261116T090000Z", None, "is not a time"),
        ("2026-W47-1T09:00:00Z", None, "is not a time"),
        ("2026-11-16T24:00:00Z", None, "is not a time"),
        ("2026-11-16T09:00:00,5Z", None, "is not a time"),
        ("2026-11-16T09:00:00+0100", None, "is not a time"),
        ("2026-11-16T09:00:00.Z", None, "is not a time"),
        ("tomorrow", None, "is not a time: write for example"),
        ("", None, "is not a time"),
        ("1794819600", None, "is not a time"),
        ("٢٠٢٦-11-16T09:00:00Z", None, "is not a time"),
        ("2026-02-30T09:00:00Z", None, "does not exist"),
        ("2026-11-16T09:00:60Z", None, "does not exist"),
        ("0000-01-01T00:00:00Z", None, "does not exist"),
        ("1969-12-31T23:59:59Z", None, "out of range: it must lie in the years 1970 to 9999"),
        ("1969-12-31T23:59:59", "America/New_York", "out of range"),
        ("1970-01-01T00:00:00", "Asia/Tokyo", "out of range"),
        ("9999-12-31T23:59:59-01:00", None, "out of range"),
        ("9999-12-31T23:59:59", "America/New_York", "out of range"),
        (-1, None, "out of range"),
        (10**30, None, "out of range"),
        (True, None, "is not a time"),
        (1.5, None, "is not a time"),
        ("2026-11-16T09:00:00", "Europe/Pari", "did you mean Europe/Paris"),
    ],
)
def test_what_is_no_instant_is_refused_with_the_reason(value, timezone, says):
    with pytest.raises(TimingError, match=says):
        parse_instant(value, timezone)


@untimed
@given(st.integers(0, LAST_MS), st.integers(-23 * 60, 23 * 60))
def test_any_instant_in_any_offset_is_read_back(instant_ms, offset_minutes):
    utc = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=instant_ms)
    try:
        text = utc.astimezone(timezone(timedelta(minutes=offset_minutes))).isoformat()
    except OverflowError:
        text = format_utc(instant_ms)
    assert parse_instant(text) == instant_ms
    assert parse_instant(format_utc(instant_ms)) == instant_ms
    assert format_utc(instant_ms) == utc.isoformat(timespec="milliseconds").replace("+00:00", "Z")


@pytest.mark.parametrize(
    ("instant", "name", "expected"),
    [
        ("2026-11-16T09:00:00Z", "Europe/Paris", "2026-11-16T10:00:00.000+01:00"),
        ("2026-07-16T09:00:00.250Z", "America/St_Johns", "2026-07-16T06:30:00.250-02:30"),
        ("2026-07-16T09:00:00Z", "UTC", "2026-07-16T09:00:00.000+00:00"),
        ("1971-01-01T00:44:30Z", "Africa/Monrovia", "1971-01-01T00:00:00.000-00:44:30"),
        ("9999-12-31T23:00:00Z", "Asia/Tokyo", "9999-12-31T23:00:00.000+00:00"),
    ],
)
def test_local_time_is_shown_with_its_offset(instant, name, expected):
    assert format_local(ms(instant), zone(name)) == expected


@untimed
@given(st.text(max_size=40) | st.from_regex(r"\A[0-9]{1,5}-[0-9]{2}-[0-9]{2}[T ][0-9:.]{2,12}[Z+0-9:-]{0,6}\Z"))
def test_any_text_is_an_instant_or_a_timing_error(text):
    for timezone_name in (None, "Europe/Paris"):
        with contextlib.suppress(TimingError):
            assert 0 <= parse_instant(text, timezone_name) <= LAST_MS
