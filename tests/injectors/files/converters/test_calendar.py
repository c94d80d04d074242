"""Does the cron of a calendar expression fire when systemd says that the expression elapses?"""

import json
from datetime import UTC, datetime

import pytest

from lightsched.timing import Cron, TimingError
from lightsched_files.converters.calendar_cron import equivalent
from lightsched_files.converters.on_calendar import CalendarError, parse_calendar
from tests.injectors.files.converters import calendars

RECORDED = json.loads(calendars.RECORDED.read_text(encoding="utf-8"))
PARIS_CHANGES = (  # docs/converters.md says so; systemd 252
    ("02:30 Europe/Paris", "2026-03-29 00:20:00", ["2026-03-30 00:30:00"], ["2026-03-29 01:00:00"]),
    (
        "*:0/30 Europe/Paris",
        "2026-10-24 23:40:00",
        ["2026-10-25 00:00:00", "2026-10-25 00:30:00", "2026-10-25 02:00:00"],
        ["2026-10-25 00:00:00", "2026-10-25 00:30:00", "2026-10-25 01:00:00"],
    ),
)
NO_CRON = ("to match together", "months of different lengths", "its years have gaps", "has a fraction")
NEVER = "never fires"


def fire_times(expression):
    """As systemd would list them; None for what is refused, a sentence for what has no equivalent."""
    try:
        calendar = parse_calendar(expression)
        found = equivalent(calendar)
        cron = Cron.parse(found.cron, calendar.timezone or "UTC")
    except CalendarError as error:
        return str(error) if any(words in str(error) for words in NO_CRON) else None
    except TimingError as error:
        return str(error)
    times, ms = [], int(datetime(max(2026, found.first_year or 0), 1, 1, tzinfo=UTC).timestamp() * 1000)
    ms -= (found.first_year or 0) > 2026
    while len(times) < calendars.TIMES and (ms := cron.after(ms)) is not None:
        at = datetime.fromtimestamp(ms / 1000, UTC)
        if at.year > (found.last_year or at.year):
            break
        if at.year >= (found.first_year or at.year):
            times.append(f"{at:%Y-%m-%d %H:%M:%S}")
    return times


def compare(expression, theirs):
    ours = fire_times(expression)
    if isinstance(ours, str) and NEVER in ours:
        assert theirs == []
    elif isinstance(ours, str):
        assert theirs is not None, "systemd refuses it, too"
    else:
        assert ours == theirs


@pytest.mark.parametrize("expression", RECORDED)
def test_it_fires_when_systemd_said(expression):
    compare(expression, RECORDED[expression])


def test_what_is_recorded_is_what_is_asked_for():
    assert {*calendars.expressions(calendars.WRITTEN), *calendars.expressions(calendars.NO_EQUIVALENT)} <= set(RECORDED)
    converted = [expression for expression in RECORDED if isinstance(fire_times(expression), list)]
    assert len(converted) > 200
    assert sum(times is None for times in RECORDED.values()) > 40


@pytest.mark.parametrize("expression", calendars.expressions(calendars.NO_EQUIVALENT))
def test_what_has_no_cron_says_why(expression):
    assert RECORDED[expression], "systemd takes it"
    with pytest.raises(CalendarError, match="|".join(NO_CRON)):
        equivalent(parse_calendar(expression))


@pytest.mark.parametrize("expression", calendars.expressions(calendars.WRITTEN))
def test_what_is_written_out_has_an_equivalent_or_is_refused_by_systemd_too(expression):
    ours = fire_times(expression)
    assert (ours is None) == (RECORDED[expression] is None)
    assert ours is None or isinstance(ours, list)


@pytest.mark.skipif(calendars.PROGRAM is None, reason="no systemd-analyze here: only what is recorded was compared")
@pytest.mark.parametrize("seed", range(1000, 1060))
def test_it_fires_when_this_machines_systemd_says(seed):
    expression = calendars.drawn(seed)
    compare(expression, calendars.ask(expression))


@pytest.mark.parametrize(("expression", "base", "theirs", "ours"), PARIS_CHANGES)
def test_clock_changes_differ_as_documented(expression, base, theirs, ours):
    if calendars.PROGRAM:
        assert calendars.ask(expression, f"{base} UTC")[: len(theirs)] == theirs
    calendar = parse_calendar(expression)
    cron = Cron.parse(equivalent(calendar).cron, calendar.timezone)
    ms = int(datetime.fromisoformat(f"{base}+00:00").timestamp() * 1000)
    for expected in ours:
        ms = cron.after(ms)
        assert f"{datetime.fromtimestamp(ms / 1000, UTC):%Y-%m-%d %H:%M:%S}" == expected
