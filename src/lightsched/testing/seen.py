"""What does a test get to see? Deliveries as an executor gets them, events and runs as the API shows them."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import msgspec

from lightsched.client.any_json import read_any
from lightsched.engine import state as kept
from lightsched.engine.explain import explain
from lightsched.errors import LightschedError
from lightsched.event.identity import Identity, identity, parts
from lightsched.event.model import decoder
from lightsched.event.record import Appended, Record
from lightsched.event.schedule import plan_of, words_of
from lightsched.event.status import Status
from lightsched.store.store import Store
from lightsched.testing.times import maybe_time_of, shown_time, time_of

_SEEN_AT_ONCE = 1_000
_OURS = ("ce_", "ls_")


class NoSuchEvent(LightschedError):
    """The tenant {tenant!r} has no event {id!r}: it was never scheduled, or it ended so long ago that it is forgotten.
    There are: {known}.
    """


class SeveralEvents(LightschedError):
    """Several events have the id {id!r}, under the keys {keys}: add `key=`."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """One attempt of one run, as it lies on a topic."""

    id: str
    type: str
    due: datetime
    attempt: int
    delivered_at: datetime
    payload: Any = field(compare=False)  # the JSON that was sent, or bytes
    headers: dict[str, str] = field(compare=False)  # the event's own, and `traceparent`, `content-type`
    key: str
    tenant: str
    topic: str
    delivery: str = field(repr=False)  # its id: the same attempt always has the same
    token: str = field(repr=False)  # what a report on it must carry
    record: Record = field(repr=False, compare=False)  # as it lies on the topic


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A record that could not be understood, or a delivery that could not be made."""

    reason: str
    detail: str
    value: bytes


@dataclass(frozen=True, slots=True)
class Event:
    """An event, and how far it is."""

    id: str
    tenant: str
    key: str
    type: str
    status: Status
    revision: int
    created_at: datetime
    last_executed: datetime | None
    next_execution: datetime | None
    schedule_text: str
    runs: int
    failures: int


@dataclass(frozen=True, slots=True)
class Attempt:
    """One delivery of a run, and what came of it."""

    attempt: int
    delivered_at: datetime
    status: Status
    executor: str
    error: str


@dataclass(frozen=True, slots=True)
class Run:
    """One occurrence of an event; `finished_at` is None while it is not over."""

    due: datetime
    revision: int
    status: Status
    attempts: tuple[Attempt, ...]
    finished_at: datetime | None
    result: Any
    error: str


def seen_delivery(appended: Appended) -> Delivery:
    """The delivery in a record."""
    headers = {name: value.decode() for name, value in appended.record.headers}
    value = appended.record.value or b""
    is_json = headers.get("content-type") == "application/json" and value
    return Delivery(
        id=headers["ls_id"],
        type=headers["ce_type"],
        due=time_of(int(headers["ls_due"])),
        attempt=int(headers["ls_attempt"]),
        delivered_at=time_of(appended.timestamp_ms),
        payload=read_any(value) if is_json else value,
        headers={name: text for name, text in headers.items() if not name.startswith(_OURS)},
        key=(appended.record.key or b"").decode(),
        tenant=headers["ls_tenant"],
        topic=appended.topic,
        delivery=headers["ce_id"],
        token=headers["ls_report"],
        record=appended.record,
    )


def seen_dead_letter(appended: Appended) -> DeadLetter:
    """The dead letter in a record."""
    headers = dict(appended.record.headers)
    return DeadLetter(headers["ls_reason"].decode(), headers["ls_detail"].decode(), appended.record.value or b"")


def name_of(store: Store, id: str, tenant: str, key: str | None) -> Identity:
    """The identity of the event that is meant; without a key: of the one there is."""
    keys = [key] if key is not None else store.keys_of(tenant, id) or [id]
    if len(keys) > 1:
        raise SeveralEvents(id=id, keys=", ".join(map(repr, keys)))
    return identity(tenant, keys[0], id)


def seen_event(store: Store, name: Identity) -> Event:
    """An event as it is now."""
    tenant, key, id_ = parts(name)
    state, definition = _found(store, name)
    event = decoder.decode(definition)
    return Event(
        id=id_,
        tenant=tenant,
        key=key,
        type=event.type,
        status=state.status,
        revision=state.revision,
        created_at=time_of(state.created_ms),
        last_executed=maybe_time_of(state.last_ms),
        next_execution=maybe_time_of(kept.next_ms(state)),
        schedule_text=words_of(event, plan_of(event, name, state.appended_ms)),
        runs=state.fired,
        failures=state.failures,
    )


def seen_events(store: Store) -> Iterator[Event]:
    """All events, in the order of tenant, key and id."""
    after: Identity | None = None
    while some := store.scan(None, after, _SEEN_AT_ONCE):
        for name, _ in some:
            yield seen_event(store, name)
        after = some[-1][0]


def seen_runs(store: Store, name: Identity) -> list[Run]:
    """All runs of an event that history holds, and those that are not over, in the order of their dues."""
    state, _ = _found(store, name)
    runs = [
        Run(time_of(run.due_ms), run.revision, run.status, _attempts(run.attempts), None, None, "")
        for run in state.runs
    ]
    before: tuple[int, int] | None = None
    while some := store.runs_of(name, before, _SEEN_AT_ONCE):
        for (_, due_ms, revision), run in some:
            before = due_ms, revision
            result = read_any(run.result) if run.result else None
            over = time_of(run.finished_ms)
            runs.append(Run(time_of(due_ms), revision, run.status, _attempts(run.attempts), over, result, run.error))
    return sorted(runs, key=lambda run: (run.due, run.revision))


def seen_story(store: Store, name: Identity) -> list[str]:
    """The decisions about an event in words, oldest first."""
    state, definition = _found(store, name)
    event = decoder.decode(definition)
    runs = [(due_ms, run) for (_, due_ms, _), run in store.runs_of(name, None, _SEEN_AT_ONCE)]
    reasons = explain(state, event, runs, words_of(event, plan_of(event, name, state.appended_ms)))
    return [reason.text if reason.at is None else f"{reason.at} {reason.text}" for reason in reasons]


def _found(store: Store, name: Identity) -> tuple[kept.State, bytes]:
    state, definition = store.state(name), store.definition(name)
    if state is None or definition is None:
        tenant, _, id_ = parts(name)
        known = ", ".join(repr(parts(other)[2]) for other, _ in store.scan(tenant, None, 10))
        raise NoSuchEvent(tenant=tenant, id=id_, known=known or "none at all")
    return state, definition


def _attempts(attempts: tuple[kept.Attempt, ...]) -> tuple[Attempt, ...]:
    return tuple(
        Attempt(each.attempt, time_of(each.delivered_ms), each.status, each.executor, each.error) for each in attempts
    )


def shown_delivery(delivery: Delivery) -> str:
    """In one line."""
    nth = f" attempt {delivery.attempt}" if delivery.attempt > 1 else ""
    payload = delivery.payload if isinstance(delivery.payload, bytes) else msgspec.json.encode(delivery.payload)
    text = payload.decode(errors="replace")
    return f"{shown_time(delivery.delivered_at)} {delivery.type} id={delivery.id!r}{nth} {text[:80]}".rstrip()
