"""What does the clock on the wall show, and when does it jump?

The time of a zone is a row of spans with a constant offset from UTC; between two spans the clock jumps forward (a gap:
local times that never are) or back (local times that come twice). Everything in `timing` that depends on local time
goes through three questions about these spans:

- `span_at`: which offset holds at this instant, from when to when?
- `to_utc`: at which instant is this local time? One in a gap: right after the gap. One that comes twice: the first.
- `shown_before`: which local times have had their instant by now? It is the inverse of `to_utc`, and like it never goes
  back, which is what makes `after` and `before` agree on every night of the year.

Local times are integers too: the milliseconds since 1970-01-01T00:00 as the wall shows it.
"""

from bisect import bisect_right
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import NamedTuple
from zoneinfo import ZoneInfo

from lightsched.timing.limits import DAY_MS, HOUR_MS, LAST_MS

# Spans are found by looking at the clock every two days. Two changes of one zone have never been less than six days
# apart since 1970; a test reads the whole database to see that it stays so.
_LOOK_EVERY_S = 2 * 86_400
_BLOCK_BITS = 35  # 398 days at a time
# Offsets lie between -12 and +14 hours. No clock has been put back by more than seven hours since 1970.
_FURTHEST_EAST_MS = 16 * HOUR_MS
_LONGEST_REPEAT_MS = DAY_MS

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_S, _LAST_S = -10 * 366 * 86_400, LAST_MS // 1000 - 86_400  # what is further out is never asked for in earnest


class Span(NamedTuple):
    """From `start_ms` until before `end_ms`, local time is UTC plus `offset_ms`; its neighbours may have the same."""

    start_ms: int
    end_ms: int
    offset_ms: int


def span_at(zone: ZoneInfo, ms: int) -> Span:
    starts, spans = _block(zone, ms >> _BLOCK_BITS)
    return spans[bisect_right(starts, ms) - 1]


def to_utc(zone: ZoneInfo, local_ms: int) -> int:
    """The one instant of a local time."""
    span = span_at(zone, local_ms - _FURTHEST_EAST_MS)
    while local_ms >= span[1] + span[2]:
        span = span_at(zone, span[1])
    return max(local_ms - span[2], span[0])


def shown_before(zone: ZoneInfo, ms: int) -> int:
    """The bound below which all local times, and no others, have their instant (`to_utc`) at or before `ms`."""
    span = span_at(zone, ms)
    bound = ms + span[2] + 1
    while span[0] > ms - _LONGEST_REPEAT_MS:
        span = span_at(zone, span[0] - 1)
        bound = max(bound, span[1] + span[2])
    return bound


def is_repeated(zone: ZoneInfo, ms: int) -> bool:
    """Does the clock show the local time of this instant twice?"""
    span = span_at(zone, ms)
    local_ms = ms + span[2]
    return to_utc(zone, local_ms) != ms or _last_instant(zone, local_ms) != ms


def gap_ending_at(zone: ZoneInfo, ms: int) -> tuple[int, int] | None:
    """The local times that were skipped when the clock jumped forward at this instant: from, and until before."""
    before, after = span_at(zone, ms - 1)[2], span_at(zone, ms)[2]
    return (ms + before, ms + after) if before < after else None


def _last_instant(zone: ZoneInfo, local_ms: int) -> int:
    span = span_at(zone, local_ms + _FURTHEST_EAST_MS)
    while local_ms < span[0] + span[2]:
        span = span_at(zone, span[0] - 1)
    return min(local_ms - span[2], span[1])


@lru_cache(maxsize=4096)
def _block(zone: ZoneInfo, number: int) -> tuple[tuple[int, ...], tuple[Span, ...]]:
    start_s, end_s = (number << _BLOCK_BITS) // 1000, ((number + 1) << _BLOCK_BITS) // 1000
    starts, offsets = [number << _BLOCK_BITS], [_offset_s(zone, start_s)]
    seen_s = start_s
    while seen_s < end_s:
        look_s = min(seen_s + _LOOK_EVERY_S, end_s)
        offset = _offset_s(zone, look_s)
        if offset != offsets[-1]:
            starts.append(_change_between(zone, seen_s, look_s) * 1000)
            offsets.append(offset)
        seen_s = look_s
    ends = [*starts[1:], (number + 1) << _BLOCK_BITS]
    spans = (Span(*span) for span in zip(starts, ends, (offset * 1000 for offset in offsets), strict=True))
    return tuple(starts), tuple(spans)


def _change_between(zone: ZoneInfo, before_s: int, after_s: int) -> int:
    """The first second with the new offset."""
    old = _offset_s(zone, before_s)
    while after_s - before_s > 1:
        middle_s = (before_s + after_s) // 2
        if _offset_s(zone, middle_s) == old:
            before_s = middle_s
        else:
            after_s = middle_s
    return after_s


def _offset_s(zone: ZoneInfo, second: int) -> int:
    local = (_EPOCH + timedelta(seconds=max(_FIRST_S, min(second, _LAST_S)))).astimezone(zone)
    offset = local.utcoffset()
    assert offset is not None
    return offset.days * 86_400 + offset.seconds
