"""How does a test write a time? As in an event (`2026-03-02T09:00:00Z`, `5m`), or with what `datetime` offers."""

from datetime import UTC, datetime, timedelta

from lightsched.timing import format_utc, parse_duration, parse_instant

Instant = datetime | str | int
"""An aware datetime, RFC 3339, or milliseconds since 1970."""
Duration = timedelta | str
"""A timedelta, or as in an event: `90s`, `1h30m`, `PT5M`."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MS = timedelta(milliseconds=1)


def instant_ms(instant: Instant) -> int:
    """Milliseconds since 1970."""
    if not isinstance(instant, datetime):
        return parse_instant(instant)
    if instant.tzinfo is None:
        raise ValueError(f"{instant!r} has no timezone: write datetime(…, tzinfo=UTC), or add to `scheduler.now`")
    return (instant - _EPOCH) // _MS


def duration_ms(duration: Duration) -> int:
    """Milliseconds."""
    return duration // _MS if isinstance(duration, timedelta) else parse_duration(duration)


def time_of(ms: int) -> datetime:
    """The instant, in UTC."""
    return _EPOCH + ms * _MS


def maybe_time_of(ms: int | None) -> datetime | None:
    """An instant that may not be there."""
    return None if ms is None else time_of(ms)


def shown_time(time: datetime | None) -> str:
    """As everywhere: `2026-11-16T09:00:00.000Z`."""
    return "never" if time is None else format_utc(instant_ms(time))
