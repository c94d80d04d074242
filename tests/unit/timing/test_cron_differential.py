"""Do croniter and lightsched agree, and where they do not, is it for a reason that docs/cron.md gives?

Around every clock change of ten years in many zones, twice:

1. croniter without a timezone says which local times match; the rule for clock changes, applied to them by brute force,
   must give exactly our fire times.
2. croniter with the timezone says itself when it would fire. Every fire time that only one of the two has must belong
   to one of the differences below.
"""

import random
import re
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from croniter import croniter

from lightsched.timing import Cron
from tests.unit.timing.oracle import fire_times, instants, ms, wall

FROM, UNTIL = ms("2018-01-01T00:00:00Z"), ms("2028-01-01T00:00:00Z")
HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
A_DAY = datetime(2020, 1, 1)  # noqa: DTZ001 -- local time, before it has a zone

ZONES = [
    *("Europe/Paris", "Europe/Dublin", "Europe/Chisinau", "America/New_York", "America/St_Johns", "America/Havana"),
    *("America/Santiago", "America/Asuncion", "America/Nuuk", "Atlantic/Azores", "Africa/Cairo", "Africa/Casablanca"),
    *("Asia/Beirut", "Asia/Gaza", "Asia/Jerusalem", "Asia/Tehran", "Australia/Lord_Howe", "Australia/Sydney"),
    *("Pacific/Chatham", "Pacific/Apia", "Pacific/Norfolk", "Antarctica/Troll", "Antarctica/Casey"),
    *("Asia/Pyongyang", "America/Caracas", "Asia/Kolkata", "UTC"),
]
# Rarities outside of the ten years: the day that Samoa skipped, and half an hour in Venezuela.
MORE_CHANGES = {"Pacific/Apia": ["2011-12-30T10:00:00Z"], "America/Caracas": ["2016-05-01T07:00:00Z"]}

# With how many hours on both sides of a change are looked at.
EXPRESSIONS = {
    "* * * * *": 0.6,
    "*/5 * * * *": 1.5,
    "*/15 * * * *": 3,
    "7/20 * * * *": 3,
    "30 * * * *": 8,
    "0 * * * *": 8,
    "@hourly": 4,
    "0 */2 * * *": 14,
    "15 */6 * * *": 26,
    "*/20 1-3 * * *": 14,
    "*/10 0,23 * * *": 8,
    "* 2 * * *": 3,
    "30 2 * * *": 40,
    "0 3 * * *": 40,
    "30 1 * * *": 40,
    "15,45 1,2 * * *": 26,
    "0 0 * * *": 40,
    "@daily": 14,
    "30 0 * * *": 40,
    "59 23 * * *": 40,
    "10-50/20 0-3 * * *": 14,
    "0-59/10 1 * * *": 14,
    "0 1-23/2 * * *": 14,
    "0 9 * * 1-5": 60,
    "5 0 * * 0": 200,
    "45 23 * * 6": 200,
    "30 2 * 3,4,9,10,11 0": 200,
    "0 12 1 * *": 800,
    "0 0 1,15 * *": 400,
    "0 4 8-14 * 6": 200,
    "0 2 */3 * 0": 400,
    "0 0 L * *": 800,
    "0 3 * * 0#2": 800,
    "0 1 * * sun#1,sat#4": 400,
    "0 0 29 2 *": 800,
    "0 30 2 * * *": 40,
    "30 0 3 * * 0": 200,
    "*/20 30 1 * * *": 14,
    "*/30 59 23 * * *": 14,
    "15 */10 * * * *": 1.5,
}

# The differences, by the names that docs/cron.md gives them.
TWICE = "fires twice"
SECONDS_KEPT = "keeps the seconds"
RHYTHM_MOVED = "moves a rhythm"
RHYTHM_LOST = "loses a rhythm"


@cache
def changes(name: str) -> list[tuple[int, int]]:
    """Instant of each clock change in the ten years, and by how many ms the clock jumps; zoneinfo's word only."""
    zone = ZoneInfo(name)
    days = [*range(FROM, UNTIL, DAY_MS), *(ms(text) - HOUR_MS for text in MORE_CHANGES.get(name, []))]
    found = []
    for start_ms in days:
        before, after = _offset(zone, start_ms), _offset(zone, start_ms + DAY_MS)
        if before != after:
            minutes = range(start_ms, start_ms + DAY_MS + 1, 60_000)
            found.append((next(minute for minute in minutes if _offset(zone, minute) != before), after - before))
    return found


def _offset(zone: ZoneInfo, instant_ms: int) -> int:
    return round((wall(instant_ms, zone) - wall(instant_ms, ZoneInfo("UTC"))).total_seconds() * 1000)


def ours(expression: str, name: str, from_ms: int, until_ms: int) -> list[int]:
    cron = Cron.parse(expression, name)
    times: list[int] = []
    found = cron.after(from_ms - 1)
    while found is not None and found <= until_ms:
        times.append(found)
        found = cron.after(found)
    return times


@cache
def second_opinion(expression: str) -> croniter:
    return croniter(expression, A_DAY, second_at_beginning=True, implement_cron_bug=True)


@cache
def within_hour(expression: str, hour: int) -> list[timedelta]:
    """What croniter finds in an hour of the day for a dense expression, which is the same on all days."""
    start = A_DAY.replace(hour=hour)
    cron = second_opinion(expression)
    found = cron.get_next(datetime, start_time=start - timedelta(seconds=1))
    times = []
    while found < start + timedelta(hours=1):
        times.append(found - start)
        found = cron.get_next(datetime)
    return times


def by_the_rule(expression: str, name: str, from_ms: int, until_ms: int) -> list[int]:
    zone = ZoneInfo(name)
    # What was skipped is moved by as much as the clock jumps, and what is repeated was shown as long before.
    margin = timedelta(milliseconds=max(4 * HOUR_MS, *(abs(jump) for _, jump in changes(name)), 0))
    hour = wall(from_ms, zone).replace(minute=0, second=0) - margin
    last = wall(until_ms, zone) + margin
    matches: list[datetime] = []
    if _is_dense(expression):
        while hour <= last:
            matches += [hour + time for time in within_hour(expression, hour.hour)]
            hour += timedelta(hours=1)
    else:
        cron = second_opinion(expression)
        found = cron.get_next(datetime, start_time=hour - timedelta(seconds=1))
        while found <= last:
            matches.append(found)
            found = cron.get_next(datetime)
    return fire_times(matches, zone, from_ms, until_ms, rhythm=_is_rhythm(expression))


def by_croniter(expression: str, name: str, from_ms: int, until_ms: int) -> list[int]:
    cron = second_opinion(expression)
    found = cron.get_next(start_time=datetime.fromtimestamp((from_ms - 1000) // 1000, ZoneInfo(name)))
    times: list[int] = []
    while found * 1000 <= until_ms:
        times.append(round(found * 1000))
        found = cron.get_next()
    return [time for time in times if time >= from_ms]


def _is_rhythm(expression: str) -> bool:
    fields = expression.replace("@hourly", "0 * * * *").replace("@daily", "0 0 * * *").split()
    return fields[-5].startswith("*") or fields[-4].startswith("*")


def _is_dense(expression: str) -> bool:
    """So many fire times that only some hours are looked at."""
    return EXPRESSIONS[expression] <= 4


def difference(expression: str, zone: ZoneInfo, time: int, only_ours: bool, change: tuple[int, int]) -> str | None:
    """Which of the documented differences this is."""
    change_ms, jump_ms = change
    both = instants(wall(time, zone), zone)
    in_second_pass = jump_ms < 0 and time >= change_ms and len(both) == 2 and both[1] == time
    if _is_rhythm(expression):
        if not only_ours and jump_ms > 0 and time == change_ms:
            return RHYTHM_MOVED
        if only_ours and in_second_pass:
            return RHYTHM_LOST
    else:
        if not only_ours and in_second_pass:
            return TWICE
        if jump_ms > 0 and len(expression.split()) == 6:
            at_the_end = time == change_ms if only_ours else 0 < time - change_ms < 60_000
            return SECONDS_KEPT if at_the_end else None
    return None


def test_the_ground_covered_is_what_the_name_promises():
    assert len([name for name in ZONES if changes(name)]) >= 20
    assert len(EXPRESSIONS) >= 30
    assert sum(len(changes(name)) for name in ZONES) > 350
    assert {jump for name in ZONES for _, jump in changes(name)} >= {
        jump * 60_000 for jump in (-180, -120, -60, -30, 30, 60, 120, 1440)
    }


@pytest.mark.parametrize("name", ZONES)
def test_around_clock_changes_we_follow_the_rule_and_differ_from_croniter_only_as_documented(name):
    zone = ZoneInfo(name)
    for change in changes(name):
        for expression, hours in EXPRESSIONS.items():
            bounds = change[0] - round(hours * HOUR_MS), change[0] + round(hours * HOUR_MS)
            mine = ours(expression, name, *bounds)
            assert mine == by_the_rule(expression, name, *bounds), (expression, change)
            if abs(change[1]) > 3 * HOUR_MS and _is_dense(expression):
                continue  # croniter walks through a day that never was minute by minute, for each of them
            theirs = by_croniter(expression, name, *bounds)
            for time in set(mine) ^ set(theirs):
                # A wide look reaches other changes of the zone, too: the difference belongs to the nearest.
                nearest = min(changes(name), key=lambda other: abs(other[0] - time))
                kind = difference(expression, zone, time, time in mine, nearest)
                assert kind is not None, (expression, wall(time, zone), time in mine)


@pytest.mark.parametrize("name", ZONES)
def test_on_ordinary_days_croniter_and_we_agree_exactly(name):
    chance = random.Random(name)
    for expression, hours in EXPRESSIONS.items():
        reach_ms = round(hours * HOUR_MS / 2)
        for _ in range(4):
            middle = chance.randrange(FROM, UNTIL)
            bounds = middle - reach_ms, middle + reach_ms
            if any(bounds[0] - 30 * HOUR_MS < change_ms < bounds[1] + 30 * HOUR_MS for change_ms, _ in changes(name)):
                continue
            assert ours(expression, name, *bounds) == by_croniter(expression, name, *bounds), expression


def test_each_documented_difference_is_real():
    page = (Path(__file__).parents[3] / "docs" / "cron.md").read_text()
    documented = set(re.findall(r"^\| \*\*(.+?)\*\*", page, flags=re.MULTILINE))
    assert documented == {TWICE, SECONDS_KEPT, RHYTHM_MOVED, RHYTHM_LOST}
    paris, chatham = "Europe/Paris", "Pacific/Chatham"
    examples = [
        (TWICE, "30 2 * * *", paris, "2026-10-25T01:00:00Z"),
        (SECONDS_KEPT, "15 30 2 * * *", paris, "2026-03-29T01:00:00Z"),
        (RHYTHM_MOVED, "0 */2 * * *", paris, "2026-03-29T01:00:00Z"),
        (RHYTHM_LOST, "* 2 * * *", chatham, "2026-04-04T14:00:00Z"),
    ]
    for kind, expression, name, instant in examples:
        change = next(change for change in changes(name) if change[0] == ms(instant))
        bounds = change[0] - 2 * HOUR_MS, change[0] + 2 * HOUR_MS
        mine, theirs = ours(expression, name, *bounds), by_croniter(expression, name, *bounds)
        differing = set(mine) ^ set(theirs)
        assert {difference(expression, ZoneInfo(name), time, time in mine, change) for time in differing} == {kind}
