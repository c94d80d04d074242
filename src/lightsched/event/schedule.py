"""When does an event fire? From the fields as sent to the plans of `lightsched.timing`, and to words.

Parsing is memoised by what was sent: thousands of events share a cron, a window or a retry policy.
"""

from dataclasses import replace
from functools import lru_cache

from lightsched.event.identity import Identity
from lightsched.event.model import Event, RetrySpec, WindowSpec
from lightsched.timing import (
    At,
    Backoff,
    Cron,
    Every,
    Plan,
    TimingError,
    Window,
    describe,
    parse_duration,
    parse_instant,
)
from lightsched.timing import offset as jitter_offset

DEFAULT_TIMEOUT_MS = 300_000
ONE_ATTEMPT = Backoff.parse(attempts=1)


@lru_cache(maxsize=512)  # each may hold a thousand days that are left out
def window_of(spec: WindowSpec, timezone: str | None) -> Window:
    """The window, in its own zone or else the event's."""
    return Window.parse(
        from_=spec.from_,
        to=spec.to,
        days=spec.days,
        timezone=spec.timezone or timezone or "UTC",
        exclude=spec.exclude,
    )


@lru_cache(maxsize=4096)
def backoff_of(spec: RetrySpec) -> Backoff:
    """The retry policy."""
    return Backoff.parse(
        attempts=spec.attempts,
        delay=spec.delay,
        factor=spec.factor,
        max=spec.max,
        jitter=spec.jitter,
        delays=spec.delays,
    )


def plan_of(event: Event, identity: Identity, appended_ms: int) -> Plan:
    """All fire times of an event whose present revision was appended then, also those before: see `first_due`."""
    starts_ms = None if event.starts_at is None else parse_instant(event.starts_at, event.timezone)
    ends_ms = None if event.ends_at is None else parse_instant(event.ends_at, event.timezone)
    recurrence: At | Cron | Every
    if event.at is not None:
        recurrence = At(parse_instant(event.at, event.timezone))
    elif event.cron is not None:
        recurrence = Cron.parse(event.cron, event.timezone or "UTC")
    elif event.every is not None:
        anchor_ms = appended_ms if starts_ms is None else starts_ms
        recurrence = Every(parse_duration(event.every), anchor_ms, from_anchor=starts_ms is not None)
    else:
        msg = "an event needs one of `at`, `in`, `cron`, `every`"
        raise TimingError(msg)
    return Plan(
        recurrence=recurrence,
        window=None if event.window is None else window_of(event.window, event.timezone),
        jitter_ms=0 if event.jitter is None else jitter_offset(identity.decode(), parse_duration(event.jitter)),
        starts_ms=starts_ms,
        ends_ms=ends_ms,
    )


def words_of(event: Event, plan: Plan) -> str:
    """The schedule in words."""
    return describe(
        plan.recurrence,
        timezone=event.timezone or "UTC",
        window=plan.window,
        starts_ms=plan.starts_ms,
        ends_ms=plan.ends_ms,
        max_runs=event.max_runs,
        jitter_ms=0 if event.jitter is None else parse_duration(event.jitter),
    )


def first_due(event: Event, identity: Identity, appended_ms: int) -> int | None:
    """When it fires first."""
    if event.at is not None and event.window is None and event.jitter is None:
        return parse_instant(event.at, event.timezone)
    return replace(plan_of(event, identity, appended_ms), not_before_ms=appended_ms).first()


def next_due(event: Event, identity: Identity, appended_ms: int, created_ms: int, old_due_ms: int | None) -> int | None:
    """When it fires first in place of another definition, which was due then.

    What was before that is settled, and is not run again, however early it `starts_at`. What the other one has yet to
    run (it is late, or waits for its window or its jitter) is run still, if this one has that time, too.
    """
    if not event.repeats:
        return first_due(event, identity, appended_ms)
    plan = plan_of(event, identity, appended_ms)
    if event.starts_at is not None:
        return plan.after(appended_ms if old_due_ms is None else min(appended_ms, old_due_ms - 1))
    first_ms = replace(plan, not_before_ms=appended_ms).first()
    if event.cron is None or old_due_ms is None or (first_ms is not None and first_ms <= old_due_ms):
        return first_ms
    since_created = replace(plan, not_before_ms=created_ms)
    return old_due_ms if since_created.after(old_due_ms - 1) == old_due_ms else first_ms


def retries_of(event: Event) -> Backoff:
    """The retry policy; without one there is a single attempt."""
    return ONE_ATTEMPT if event.retry is None else backoff_of(event.retry)


def timeout_of(event: Event) -> int:
    """How long a delivery may be silent, in ms."""
    return DEFAULT_TIMEOUT_MS if event.timeout is None else parse_duration(event.timeout)


def expiry_of(event: Event, due_ms: int) -> int:
    """When a run that was due then is worth nothing any more; 0: never."""
    return 0 if event.expires_in is None else due_ms + parse_duration(event.expires_in)
