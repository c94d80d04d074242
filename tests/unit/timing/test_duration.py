import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightsched.timing import TimingError, format_compact, format_duration, parse_duration
from tests.unit.timing.oracle import untimed

YEAR_MS = 365 * 86_400_000


@pytest.mark.parametrize(
    ("text", "expected_ms"),
    [
        ("1ms", 1),
        ("250ms", 250),
        ("30s", 30_000),
        ("5m", 300_000),
        ("2h", 7_200_000),
        ("1d", 86_400_000),
        ("1w", 7 * 86_400_000),
        ("10y", 10 * YEAR_MS),
        ("1h30m", 5_400_000),
        ("1m500ms", 60_500),
        ("1d2h3m4s5ms", 93_784_005),
        ("007m", 420_000),
        ("100y", 100 * YEAR_MS),
        ("PT5M", 300_000),
        ("P1DT2H", 93_600_000),
        ("P1W", 7 * 86_400_000),
        ("P1W1DT1S", 8 * 86_400_000 + 1000),
        ("PT0.25S", 250),
        ("PT1,5S", 1_500),
        ("PT0.0019S", 1),
        ("P0Y0M1D", 86_400_000),
    ],
)
def test_a_duration_is_read(text, expected_ms):
    assert parse_duration(text) == expected_ms


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "not a duration"),
        ("5", "has no unit: write 5ms or 5s"),
        ("5 m", "not a duration"),
        ("1.5h", "not a duration"),
        ("h", "not a duration"),
        ("5M", "not a duration"),
        ("five minutes", "not a duration"),
        ("\u0665m", "not a duration"),
        ("5x", "unknown unit 'x': use ms s m h d w y"),
        ("5min", "unknown unit 'min'"),
        ("30m1h", "from large to small"),
        ("1h1h", "from large to small"),
        ("1h30", "not a duration"),
        ("0s", "is zero: it must be at least 1ms"),
        ("PT0S", "is zero"),
        ("PT0.0001S", "is zero"),
        ("-5m", "is negative"),
        ("-PT5M", "is negative"),
        ("101y", "too long: at most 100y"),
        ("36501d", "too long: at most 100y"),
        ("9" * 50 + "ms", "too long: at most 100y"),
        ("9" * 5000 + "ms", "too long for a duration"),
        ("P", "not an ISO 8601 duration"),
        ("PT", "not an ISO 8601 duration"),
        ("P1DT", "not an ISO 8601 duration"),
        ("PT5m", "not an ISO 8601 duration"),
        ("P1.5D", "not an ISO 8601 duration"),
        ("P1Y", "no fixed length: count in days"),
        ("P2M", "no fixed length: count in days"),
    ],
)
def test_what_is_no_duration_is_refused_with_the_reason(text, says):
    with pytest.raises(TimingError, match=says):
        parse_duration(text)


@pytest.mark.parametrize(
    ("duration_ms", "words", "compact"),
    [
        (1, "1 ms", "1ms"),
        (250, "250 ms", "250ms"),
        (1_000, "1 second", "1s"),
        (300_000, "5 minutes", "5m"),
        (5_400_000, "1 hour 30 minutes", "1h30m"),
        (86_400_000, "1 day", "1d"),
        (10 * YEAR_MS, "3,650 days", "3650d"),
        (90_061_001, "1 day 1 hour 1 minute 1 second 1 ms", "1d1h1m1s1ms"),
        (0, "0 ms", "0ms"),
    ],
)
def test_a_duration_is_shown_in_words_and_short(duration_ms, words, compact):
    assert format_duration(duration_ms) == words
    assert format_compact(duration_ms) == compact


@untimed
@given(st.integers(min_value=1, max_value=100 * YEAR_MS))
def test_the_short_form_is_read_back(duration_ms):
    assert parse_duration(format_compact(duration_ms)) == duration_ms


@untimed
@given(st.text(max_size=80) | st.from_regex(r"\A[-P]?([0-9]{1,40}[a-zA-Z.T]{1,2}){0,5}\Z"))
def test_any_text_is_a_duration_or_a_timing_error(text):
    with contextlib.suppress(TimingError):
        assert 1 <= parse_duration(text) <= 100 * YEAR_MS
