import struct
from importlib.resources import files
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightsched.timing import zone, zone_names
from lightsched.timing.clock_change import gap_ending_at, is_repeated, shown_before, span_at, to_utc
from tests.unit.timing.oracle import instants, ms, one_instant, untimed, wall

ZONES = [
    *("Europe/Paris", "America/New_York", "America/Havana", "America/Santiago", "Asia/Beirut", "Africa/Cairo"),
    *("Africa/Casablanca", "Australia/Lord_Howe", "Pacific/Apia", "Pacific/Chatham", "Antarctica/Troll"),
    *("Antarctica/Casey", "Asia/Pyongyang", "America/Caracas", "UTC", "Asia/Kolkata"),
]


def changes_in(name: str) -> list[tuple[int, int, int]]:
    """Second, old and new offset of each clock change since 1970 that the database lists."""
    content = files("tzdata").joinpath("zoneinfo", *name.split("/")).read_bytes()
    # The file holds everything twice, first with 32 and then with 64 bits: RFC 9636.
    counts = struct.unpack(">6l", content[20:44])
    isutc, isstd, leap, times, types, chars = counts
    start = 44 + times * 5 + types * 6 + chars + leap * 8 + isstd + isutc
    isutc, isstd, leap, times, types, chars = struct.unpack(">6l", content[start + 20 : start + 44])
    start += 44
    seconds = struct.unpack(f">{times}q", content[start : start + times * 8])
    indices = content[start + times * 8 : start + times * 9]
    start += times * 9
    offsets = [struct.unpack(">l", content[start + n * 6 : start + n * 6 + 4])[0] for n in range(types)]
    found = []
    for number in range(1, times):
        old, new = offsets[indices[number - 1]], offsets[indices[number]]
        if old != new and seconds[number] >= 0:
            found.append((seconds[number], old, new))
    return found


def from_package(name: str) -> ZoneInfo:
    with files("tzdata").joinpath("zoneinfo", *name.split("/")).open("rb") as file:
        return ZoneInfo.from_file(file, name)


def packaged_names() -> list[str]:
    return files("tzdata").joinpath("zones").read_text().split()


def test_no_zone_changes_its_clock_twice_within_five_days():
    for name in packaged_names():
        seconds = [second for second, _, _ in changes_in(name)]
        assert all(later - earlier > 5 * 86_400 for earlier, later in pairwise(seconds)), name


def test_no_offset_and_no_change_is_larger_than_the_searches_assume():
    for name in packaged_names():
        for _, old, new in changes_in(name):
            assert -12 * 3600 <= new <= 14 * 3600, name
            assert old - new < 86_400, name


@pytest.mark.parametrize("name", ZONES)
def test_every_change_of_the_database_is_found_to_the_second(name):
    packaged = from_package(name)
    for second, old, new in changes_in(name):
        assert span_at(packaged, second * 1000 - 1).offset_ms == old * 1000
        assert span_at(packaged, second * 1000) == (
            second * 1000,
            span_at(packaged, second * 1000).end_ms,
            new * 1000,
        )


@untimed
@given(st.sampled_from(sorted(zone_names())), st.integers(0, ms("2090-01-01T00:00:00Z")))
def test_the_offset_is_the_zones(name, instant_ms):
    span = span_at(zone(name), instant_ms)
    local = wall(instant_ms, zone(name))
    assert (local - wall(instant_ms, zone("UTC"))).total_seconds() * 1000 == span.offset_ms
    assert span.start_ms <= instant_ms < span.end_ms


nights = st.sampled_from([(name, second) for name in ZONES for second, _, _ in changes_in(name)])


@untimed
@given(nights, st.integers(-30 * 3600, 30 * 3600))
def test_a_local_time_around_a_change_has_the_instant_of_the_rule(night, shift_s):
    name, second = night
    local = wall((second + shift_s) * 1000, zone("UTC"))
    assert to_utc(zone(name), (second + shift_s) * 1000) == one_instant(local, zone(name))


@untimed
@given(nights, st.integers(-30 * 3600_000, 30 * 3600_000))
def test_a_local_time_is_shown_before_an_instant_exactly_when_its_instant_is_not_later(night, shift_ms):
    name, second = night
    instant_ms = second * 1000 + shift_ms
    bound = shown_before(zone(name), instant_ms)
    assert to_utc(zone(name), bound - 1) <= instant_ms < to_utc(zone(name), bound)


@untimed
@given(nights, st.integers(-4 * 3600, 4 * 3600))
def test_a_repeated_time_is_one_that_the_clock_shows_twice(night, shift_s):
    name, second = night
    instant_ms = (second + shift_s) * 1000
    assert is_repeated(zone(name), instant_ms) == (len(instants(wall(instant_ms, zone(name)), zone(name))) == 2)


def test_a_gap_is_known_where_it_ends():
    paris = zone("Europe/Paris")
    assert gap_ending_at(paris, ms("2026-03-29T01:00:00Z")) == (ms("2026-03-29T02:00:00Z"), ms("2026-03-29T03:00:00Z"))
    assert gap_ending_at(paris, ms("2026-03-29T01:00:00.001Z")) is None
    assert gap_ending_at(paris, ms("2026-10-25T01:00:00Z")) is None
