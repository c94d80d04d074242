"""Which events are there, and how is one of them? Lists are read in slices, and never further than a request may."""

from collections.abc import Callable, Iterator
from heapq import merge
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from msgspec import Struct
from pydantic import Field

from lightsched.api.cursor import read_cursor, write_cursor
from lightsched.api.documents import named, reference, refusals
from lightsched.api.face import Face, Running
from lightsched.api.parameters import BASE, EventId, Parameters, Which
from lightsched.api.problem import invalid_field
from lightsched.api.shapes import answer
from lightsched.api.shown import show
from lightsched.api.target import found, not_found
from lightsched.api.turns import Turns
from lightsched.engine.state import State, next_ms
from lightsched.event.check import TENANT
from lightsched.event.identity import Identity, parts
from lightsched.event.model import Event, decoder
from lightsched.event.status import Status
from lightsched.store.store import Store
from lightsched.timing import TimingError, parse_instant

router = APIRouter(prefix=BASE + "/events", tags=["events"])

ALL_TENANTS = "*"
MOST_LISTED = 1_000
MOST_BYTES = 4 * 1024 * 1024  # of definitions on one page, roughly
MOST_SCANNED = 20_000
"""Events that one request looks at; if few of them match, the answer is short and has a cursor."""
_SCANNED_AT_ONCE = 200
_CURSOR = "e"


class ListParameters(Parameters):
    """What to list."""

    tenant: Annotated[str, Field(description=f"The tenant; `{ALL_TENANTS}`: all", examples=["default"])] = "default"
    status: Annotated[
        list[Status], Field(description="Only events in one of these", max_length=20, default_factory=list)
    ]
    type: Annotated[str | None, Field(description="Only events of this type")] = None
    label: Annotated[
        list[str],
        Field(
            description="Only events with this label, as `name=value`; several: all of them",
            max_length=64,
            default_factory=list,
        ),
    ]
    prefix: Annotated[str, Field(description="Only events whose id begins with this")] = ""
    due_from: Annotated[str | None, Field(description="Only events that fire next at or after this time")] = None
    due_to: Annotated[str | None, Field(description="Only events that fire next before this time")] = None
    limit: Annotated[int, Field(description="At most so many", ge=1, le=MOST_LISTED)] = 100
    cursor: Annotated[str | None, Field(description="The `cursor` of the page before")] = None


class Page(Struct):
    """A page of events."""

    events: list[dict[str, Any]]
    cursor: str | None


@router.get(
    "",
    operation_id="list_events",
    summary="List events",
    responses={
        **named(200, "A page of events, in the order of their identities", reference("Events")),
        **refusals(400, 403, 503),
    },
)
async def list_events(face: Running, asked: Annotated[ListParameters, Query()]) -> Response:
    """In the order of tenant, key and id. A page may be short and still have a cursor: go on until it is null."""
    return answer(await _page(face, asked))


@router.get(
    "/{id}",
    operation_id="get_event",
    summary="Look at an event",
    responses={
        **named(200, "The event, and what is known about it", reference("EventShown")),
        **refusals(400, 403, 404, 409, 503),
    },
)
async def get_event(id: EventId, face: Running, which: Annotated[Which, Query()]) -> Response:
    """As it was sent, with its status, its next fire times, and its schedule in words."""
    target, store, name, state = found(face, id, which.tenant, which.key)
    definition = store.definition(name)
    if definition is None:
        raise not_found(target)
    return answer(show(name, state, definition), headers={"ETag": f'"{state.revision}"'})


async def _page(face: Face, asked: ListParameters) -> Page:
    """One page, merged from all partitions.

    1. Each store is read some events at a time, in the order of their identities; the stores are merged.
    2. What matches is shown, until the page is full or enough was looked at.
    3. The cursor is the last identity that was looked at.
    """
    if asked.tenant != ALL_TENANTS and not TENANT.fullmatch(asked.tenant):
        raise invalid_field("tenant", "must be lower-case letters, digits and `._-`, at most 63, or `*` for all")
    tenant = None if asked.tenant == ALL_TENANTS else asked.tenant
    after = None if asked.cursor is None else Identity(read_cursor(_CURSOR, asked.cursor, bytes))
    matches = _filter(asked)
    turns = Turns()
    events: list[dict[str, Any]] = []
    last = b""
    size = 0
    merged = merge(*(_scan(store, tenant, after) for store in face.node.stores), key=_identity)
    for scanned, (name, state, store) in enumerate(merged):
        if len(events) == asked.limit or scanned == MOST_SCANNED or size >= MOST_BYTES:
            return Page(events, write_cursor(_CURSOR, last))
        last = name
        if matches(name, state, store):
            definition = store.definition(name)
            if definition is not None:
                size += len(definition)
                events.append(show(name, state, definition))
        if turns.over():
            await turns.rest()
    return Page(events, None)


_Scanned = tuple[Identity, State, Store]


def _identity(scanned: _Scanned) -> Identity:
    return scanned[0]


def _scan(store: Store, tenant: str | None, after: Identity | None) -> Iterator[_Scanned]:
    while some := store.scan(tenant, after, _SCANNED_AT_ONCE):
        for name, state in some:
            yield name, state, store
        after = some[-1][0]


def _filter(asked: ListParameters) -> Callable[[Identity, State, Store], bool]:
    statuses = frozenset(asked.status)
    from_ms, to_ms = _instant("due_from", asked.due_from), _instant("due_to", asked.due_to)
    labels = [_label(text) for text in asked.label]

    def matches(name: Identity, state: State, store: Store) -> bool:
        if statuses and state.status not in statuses:
            return False
        if asked.prefix and not parts(name)[2].startswith(asked.prefix):
            return False
        if from_ms is not None or to_ms is not None:
            due_ms = next_ms(state)
            if due_ms is None or due_ms < (from_ms or 0) or (to_ms is not None and due_ms >= to_ms):
                return False
        return not (labels or asked.type is not None) or _has(store.definition(name), asked.type, labels)

    return matches


def _has(definition: bytes | None, type_: str | None, labels: list[tuple[str, str]]) -> bool:
    if definition is None:
        return False
    event: Event = decoder.decode(definition)
    return type_ in (None, event.type) and all(event.labels.get(name) == value for name, value in labels)


def _instant(field: str, text: str | None) -> int | None:
    if text is None:
        return None
    try:
        return parse_instant(text)
    except TimingError as error:
        raise invalid_field(field, str(error)) from None


def _label(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise invalid_field("label", "must be written as `name=value`")
    return name, value
