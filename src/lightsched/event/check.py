"""Does an event make sense? Every problem is found, and each says which field it is about and what to do.

What the types already refuse (unknown field, wrong type, unknown word) is translated from the decoder's words in
`lightsched.event.command`; this file is about values.
"""

import binascii
import re
from base64 import b64decode
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from msgspec import UNSET

from lightsched.event.errors import InvalidEvent, Problem
from lightsched.event.limits import Limits
from lightsched.event.model import Event, Op
from lightsched.event.part import wrong_in_retry, wrong_in_window
from lightsched.event.schedule import backoff_of, window_of
from lightsched.event.topics import KAFKAS_OWN, NAME
from lightsched.timing import Cron, TimingError, parse_delay, parse_duration, parse_instant, zone

P = ParamSpec("P")
T = TypeVar("T")

MAX_NAME = 200
AUTO = "auto:"
UNREACHABLE = (".", "..")
"""Ids that no address can name: HTTP clients take `/events/..` for `/`, before they send it."""
TENANT = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")
_TYPE = re.compile(r"[\x21-\x7e]{1,200}")
_HEADER = re.compile(r"[\x21-\x7e]{1,200}")
_ONLY_FOR_RECURRENCES = ("starts_at", "ends_at", "max_runs", "until")
_SCHEDULES = "`at`, `in`, `cron`, `every`"


def check(event: Event, limits: Limits, appended_ms: int, *, trusted_id: bool = False) -> None:
    """Raise `InvalidEvent` with all problems. `trusted_id`: the id may be one that lightsched assigned itself."""
    problems: list[Problem] = []
    _check_names(event, problems, trusted_id=trusted_id)
    if event.op is Op.SCHEDULE:
        if event.at is None or not is_plain(event):
            _check_schedule(event, limits, appended_ms, problems)
            _check_policies(event, problems)
            _check_content(event, limits, problems)
        else:
            _check_at(event, limits, appended_ms, problems)
            _check_payload(event, limits, problems)
    if problems:
        raise InvalidEvent(problems)


def is_plain(event: Event) -> bool:
    """Is it a one-shot that asks for nothing but payload and time? Most are, and one look replaces twenty."""
    return (
        event.in_ is None
        and event.cron is None
        and event.every is None
        and event.timezone is None
        and event.starts_at is None
        and event.ends_at is None
        and event.max_runs is None
        and event.jitter is None
        and event.window is None
        and event.retry is None
        and event.timeout is None
        and event.overlap is None
        and event.until is None
        and event.expires_in is None
        and event.track is None
        and event.payload_base64 is None
        and not event.topics
        and not event.headers
        and not event.labels
        and event.priority == 5
        and event.type == "event"
        and event.look_back == "60m"
    )


def _check_names(event: Event, problems: list[Problem], *, trusted_id: bool) -> None:
    id_ = event.id
    _check_name("id", id_, problems)
    if event.key != id_:
        _check_name("key", event.key, problems)
    if id_ in UNREACHABLE and event.op is Op.SCHEDULE:
        problems.append(
            Problem("id", f"`{id_}` means a folder in the address of an event, so nobody could ask for it: use another")
        )
    if not trusted_id and id_.startswith(AUTO) and event.op is Op.SCHEDULE:
        problems.append(Problem("id", f"the prefix `{AUTO}` is reserved for ids that lightsched assigns: use another"))
    if event.tenant != "default" and not TENANT.fullmatch(event.tenant):
        problems.append(
            Problem("tenant", "must be lower-case letters, digits and `._-`, at most 63, letter or digit first")
        )
    if event.if_revision is not None and event.if_revision < 0:
        problems.append(Problem("if_revision", "must be 0 (there is no such event yet) or more"))
    if len(event.reason) > 1000:
        problems.append(Problem("reason", "is longer than 1000 characters: shorten it"))


def _check_name(field: str, name: str, problems: list[Problem]) -> None:
    if not name:
        problems.append(Problem(field, "is missing: say which event is meant"))
    elif len(name) > MAX_NAME:
        problems.append(Problem(field, f"has {len(name)} characters: at most {MAX_NAME} are allowed"))
    elif not name.isprintable():
        problems.append(Problem(field, "holds a control or other unprintable character: use printable ones only"))


def _check_schedule(event: Event, limits: Limits, appended_ms: int, problems: list[Problem]) -> None:
    given = [
        name
        for name, value in (("at", event.at), ("in", event.in_), ("cron", event.cron), ("every", event.every))
        if value is not None
    ]
    if len(given) != 1:
        what = f"has {' and '.join(f'`{name}`' for name in given)}" if given else "has no schedule"
        problems.append(Problem(given[1] if given else "at", f"the event {what}: give exactly one of {_SCHEDULES}"))
    if event.timezone is not None:
        _try(problems, "timezone", zone, event.timezone)
    if event.at is not None:
        _check_at(event, limits, appended_ms, problems)
    if event.in_ is not None:
        in_ms = _try(problems, "in", parse_delay, event.in_)
        if in_ms is not None:
            _check_horizon("in", appended_ms + in_ms, limits, appended_ms, problems)
    if event.cron is not None and not any(p.field == "timezone" for p in problems):
        _try(problems, "cron", Cron.parse, event.cron, event.timezone or "UTC")
    if event.every is not None:
        every_ms = _try(problems, "every", parse_duration, event.every)
        if every_ms is not None and every_ms < limits.min_every_ms:
            problems.append(
                Problem("every", f"is shorter than {limits.min_every_ms}ms, the shortest interval: lengthen it")
            )
        if every_ms is not None and every_ms > limits.horizon_ms:
            problems.append(Problem("every", "is longer than the horizon of this server: shorten it"))
    if not event.repeats and any(getattr(event, name) is not None for name in _ONLY_FOR_RECURRENCES):
        problems.extend(
            Problem(name, "belongs to a recurrence: give `cron` or `every`, or leave it out")
            for name in _ONLY_FOR_RECURRENCES
            if getattr(event, name) is not None
        )
    _check_bounds(event, limits, appended_ms, problems)


def _check_at(event: Event, limits: Limits, appended_ms: int, problems: list[Problem]) -> None:
    assert event.at is not None
    try:
        at_ms = parse_instant(event.at, event.timezone)
    except TimingError as error:
        problems.append(Problem("at", str(error)))
    else:
        _check_horizon("at", at_ms, limits, appended_ms, problems)


def _check_horizon(field: str, at_ms: int, limits: Limits, appended_ms: int, problems: list[Problem]) -> None:
    if at_ms - appended_ms > limits.horizon_ms:
        days = limits.horizon_ms // 86_400_000
        problems.append(
            Problem(field, f"lies more than {days} days ahead, the horizon of this server: choose an earlier time")
        )


def _check_bounds(event: Event, limits: Limits, appended_ms: int, problems: list[Problem]) -> None:
    starts_ms = ends_ms = None
    if event.starts_at is not None:
        starts_ms = _try(problems, "starts_at", parse_instant, event.starts_at, event.timezone)
        if starts_ms is not None:
            _check_horizon("starts_at", starts_ms, limits, appended_ms, problems)
    if event.ends_at is not None:
        ends_ms = _try(problems, "ends_at", parse_instant, event.ends_at, event.timezone)
    if starts_ms is not None and ends_ms is not None and ends_ms < starts_ms:
        problems.append(Problem("ends_at", "is before `starts_at`: swap or correct them"))
    if event.max_runs is not None and not 1 <= event.max_runs <= 1_000_000_000:
        problems.append(Problem("max_runs", "must be 1 or more (and at most 1,000,000,000)"))


def _check_policies(event: Event, problems: list[Problem]) -> None:
    for name, duration in (
        ("jitter", event.jitter),
        ("look_back", event.look_back),
        ("timeout", event.timeout),
        ("expires_in", event.expires_in),
    ):
        if duration is not None and duration != "60m":
            _try(problems, name, parse_duration, duration)
    if event.window is not None and not any(p.field == "timezone" for p in problems):
        try:
            window_of(event.window, event.timezone)
        except TimingError as error:
            problems.append(Problem(wrong_in_window(event.window, error), str(error)))
    if event.retry is not None:
        try:
            backoff_of(event.retry)
        except TimingError as error:
            problems.append(Problem(wrong_in_retry(event.retry, error), str(error)))
    if not 0 <= event.priority <= 9:
        problems.append(Problem("priority", "must be from 0 (first) to 9"))
    if event.track is False and (event.retry or event.timeout or event.until or event.overlap in ("skip", "queue")):
        why = "is false, but `retry`, `timeout`, `until` and `overlap` need reports: drop one or the other"
        problems.append(Problem("track", why))


def _check_content(event: Event, limits: Limits, problems: list[Problem]) -> None:
    if event.payload is not UNSET and event.payload_base64 is not None:
        problems.append(Problem("payload_base64", "the event has `payload` too: give one of them"))
    _check_payload(event, limits, problems)
    if event.payload_base64 is not None:
        size = len(event.payload_base64) * 3 // 4 - event.payload_base64[-2:].count("=")
        if size > limits.payload:
            problems.append(_too_large("payload_base64", size, limits))
        else:
            try:
                b64decode(event.payload_base64, validate=True)
            except (binascii.Error, ValueError):
                problems.append(
                    Problem("payload_base64", "is not base64 (RFC 4648, with padding): encode the bytes again")
                )
    if not _TYPE.fullmatch(event.type):
        problems.append(Problem("type", "must be 1 to 200 visible ASCII characters, such as `email.send`"))
    if event.topics:
        _check_topics(event, limits, problems)
    if event.headers:
        _check_headers(event, limits, problems)
    if event.labels:
        _check_sizes("labels", event.labels, limits.labels, limits.label_bytes, problems)


def _check_payload(event: Event, limits: Limits, problems: list[Problem]) -> None:
    payload = event.payload
    if payload is not UNSET and (size := len(memoryview(payload))) > limits.payload:
        problems.append(_too_large("payload", size, limits))


def _too_large(field: str, size: int, limits: Limits) -> Problem:
    return Problem(field, f"has {size} bytes, the limit is {limits.payload}: store it elsewhere and send a reference")


def _check_topics(event: Event, limits: Limits, problems: list[Problem]) -> None:
    if len(event.topics) > limits.topics:
        problems.append(Problem("topics", f"names {len(event.topics)} topics: at most {limits.topics} are allowed"))
        return  # not a problem for each of a million
    if len(set(event.topics)) != len(event.topics):
        problems.append(Problem("topics", "names a topic twice: name each once"))
    for topic in event.topics:
        if not NAME.fullmatch(topic) or topic in (".", ".."):
            problems.append(
                Problem("topics", f"{topic[:80]!r} is no topic name: use letters, digits and `._-`, at most 249")
            )
        elif topic.startswith(KAFKAS_OWN):
            problems.append(Problem("topics", f"`{topic}` begins as Kafka's own topics do: deliver to another"))
        elif topic in limits.names.own:
            problems.append(Problem("topics", f"`{topic}` is lightsched's own topic: deliver to another"))


def _check_headers(event: Event, limits: Limits, problems: list[Problem]) -> None:
    for name in event.headers if len(event.headers) <= limits.headers else ():
        if not _HEADER.fullmatch(name):
            problems.append(Problem("headers", f"{name[:80]!r} is no header name: use visible ASCII characters"))
        elif name.lower().startswith(("ls_", "ce_")):
            problems.append(
                Problem("headers", f"`{name}`: the prefixes `ls_` and `ce_` are reserved: use another name")
            )
    _check_sizes("headers", event.headers, limits.headers, limits.header_bytes, problems)


def _check_sizes(field: str, values: dict[str, str], most: int, most_bytes: int, problems: list[Problem]) -> None:
    if len(values) > most:
        problems.append(Problem(field, f"has {len(values)} entries: at most {most} are allowed"))
    if any("\0" in text for pair in values.items() for text in pair):
        problems.append(Problem(field, "holds a NUL character: remove it"))
    if sum(len(name.encode()) + len(value.encode()) for name, value in values.items()) > most_bytes:
        problems.append(Problem(field, f"is larger than {most_bytes} bytes: shorten it"))


def _try(problems: list[Problem], field: str, parse: Callable[P, T], *values: P.args, **named: P.kwargs) -> T | None:
    try:
        return parse(*values, **named)
    except TimingError as error:
        problems.append(Problem(field, str(error)))
        return None
