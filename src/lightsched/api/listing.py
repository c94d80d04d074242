"""Which events match? A walk over the stores in the order of tenant, key and id, some events at a time.

One request looks at a bounded number of events; if few of them match, its page is short and has a cursor: the identity
up to which it has looked. So cursors stay good while events come and go, and the pages of several nodes can be merged.
"""

from collections.abc import Callable, Iterator
from heapq import merge
from typing import Annotated, Any, Final
from urllib.parse import urlencode

import msgspec
from msgspec import Struct
from pydantic import BeforeValidator, Field

from lightsched.api.cursor import read_cursor, write_cursor
from lightsched.api.face import Face
from lightsched.api.parameters import Parameters
from lightsched.api.problem import invalid_field
from lightsched.engine.state import State, next_ms
from lightsched.event.check import TENANT
from lightsched.event.identity import Identity, parts
from lightsched.event.marks import may_have, wanted_marks
from lightsched.event.status import Status
from lightsched.store.store import Store
from lightsched.timing import TimingError, parse_instant

ALL_TENANTS: Final = "*"
MOST_LISTED = 1_000
MOST_BYTES = 4 * 1024 * 1024  # of what is shown on one page, roughly
MOST_SCANNED = 20_000
"""Events that one request looks at."""
_SCANNED_AT_ONCE = 200
_CURSOR = "e"

Some = BeforeValidator(lambda value: [value] if isinstance(value, str) else value)
"""One may stand for a list of one."""


class Filter(Parameters):
    """Which events."""

    tenant: Annotated[str, Field(description=f"The tenant; `{ALL_TENANTS}`: all", examples=["default"])] = "default"
    status: Annotated[tuple[Status, ...], Some, Field(description="Only events in one of these", max_length=20)] = ()
    type: Annotated[str | None, Field(description="Only events of this type", examples=["reminder"])] = None
    label: Annotated[
        tuple[str, ...],
        Some,
        Field(
            description="Only events with this label, as `name=value` or `name:value`; several: all of them",
            max_length=64,
            examples=[["team=blue"]],
        ),
    ] = ()
    prefix: Annotated[str, Field(description="Only events whose id begins with this")] = ""
    due_from: Annotated[
        str | None,
        Field(description="Only events that fire next at or after this time", examples=["2026-11-16T09:00:00Z"]),
    ] = None
    due_to: Annotated[
        str | None,
        Field(description="Only events that fire next before this time", examples=["2036-11-16T17:00:00Z"]),
    ] = None


class Listed(Filter):
    """What to list."""

    limit: Annotated[int, Field(description="At most so many", ge=1, le=MOST_LISTED)] = 100
    cursor: Annotated[str | None, Field(description="The `cursor` of the page before")] = None

    def query(self) -> str:
        """As it stands in an address."""
        return urlencode(self.model_dump(exclude_none=True), doseq=True)


class Page(Struct):
    """What matches, by identity, up to where it was looked; None: to the end."""

    items: dict[Identity, Any]
    upto: Identity | None = None

    @property
    def cursor(self) -> str | None:
        """Where the next page begins."""
        return None if self.upto is None else write_cursor(_CURSOR, self.upto)


Show = Callable[[Identity, State, Store], tuple[Any, int] | None]
"""What is to stand on a page for an event, and its size; None: it is gone."""


async def page_of(face: Face, asked: Listed, show: Show) -> Page:
    """One page of this node's events, merged from all partitions.

    1. Each store is read some events at a time, in the order of their identities; the stores are merged.
    2. What matches is shown, until the page is full or enough was looked at.
    """
    if asked.tenant != ALL_TENANTS and not TENANT.fullmatch(asked.tenant):
        raise invalid_field("tenant", "must be lower-case letters, digits and `._-`, at most 63, or `*` for all")
    tenant = None if asked.tenant == ALL_TENANTS else asked.tenant
    after = position(asked.cursor)
    matches = _matching(asked)
    page = Page({})
    size, last = 0, Identity(b"")
    stores = face.node.stores
    share = 2 * asked.limit // max(len(stores), 1) + 8
    merged_stores = merge(
        *(_scan(store, tenant, after, share, asked.prefix) for store in stores), key=lambda found: found[0]
    )
    async with face.long_work.turns() as turns:
        for scanned, (name, state, store) in enumerate(merged_stores):
            if len(page.items) == asked.limit or scanned == MOST_SCANNED or size >= MOST_BYTES:
                page.upto = last
                break
            last = name
            if matches(name, state, store) and (shown := show(name, state, store)) is not None:
                page.items[name] = shown[0]
                size += shown[1]
            if turns.over():
                await turns.rest()
    return page


def merged(pages: list[Page], limit: int) -> Page:
    """One page of several nodes' pages: as far as all of them have looked, in one order."""
    upto = min((page.upto for page in pages if page.upto is not None), default=None)
    items = {name: item for page in pages for name, item in page.items.items()}  # once, also where a partition moves
    names = [name for name in sorted(items) if upto is None or name <= upto]
    if len(names) > limit:
        names = names[:limit]
        upto = names[-1]
    return Page({name: items[name] for name in names}, upto)


def position(cursor: str | None) -> Identity | None:
    """Where a cursor stands."""
    return None if cursor is None else Identity(read_cursor(_CURSOR, cursor, bytes))


def _scan(
    store: Store, tenant: str | None, after: Identity | None, share: int, prefix: str
) -> Iterator[tuple[Identity, State, Store]]:
    """Some at a time: first what a store will have on the page, then more, because few seem to match.

    Where the ids that begin with a prefix are their own keys, they lie together; the others need not be looked at.
    """
    begins = "" if tenant is None or not prefix or store.has_keyed(tenant, prefix) else prefix
    count = min(share, _SCANNED_AT_ONCE)
    while some := store.scan(tenant, after, count, begins):
        for name, state in some:
            yield name, state, store
        after, count = some[-1][0], min(2 * count, _SCANNED_AT_ONCE)


class _Searched(Struct):
    """What can be searched of a definition, without reading the rest."""

    type: str = "event"
    labels: dict[str, str] = {}


search = msgspec.json.Decoder(_Searched).decode


def _matching(asked: Filter) -> Callable[[Identity, State, Store], bool]:
    statuses = frozenset(asked.status)
    from_ms, to_ms = instant("due_from", asked.due_from), instant("due_to", asked.due_to)
    labels = [_label(text) for text in asked.label]
    wanted = wanted_marks(asked.type, labels)

    def matches(name: Identity, state: State, store: Store) -> bool:
        if statuses and state.status not in statuses:
            return False
        if asked.prefix and not parts(name)[2].startswith(asked.prefix):
            return False
        if from_ms is not None or to_ms is not None:
            due_ms = next_ms(state)
            if due_ms is None or due_ms < (from_ms or 0) or (to_ms is not None and due_ms >= to_ms):
                return False
        if not (labels or asked.type is not None):
            return True
        return may_have(state.marks, wanted) and _has(store.definition_of(state), asked.type, labels)

    return matches


def _has(definition: bytes | None, type_: str | None, labels: list[tuple[str, str]]) -> bool:
    if definition is None:
        return False
    found = search(definition)
    return type_ in (None, found.type) and all(found.labels.get(name) == value for name, value in labels)


def instant(field: str, text: str | None) -> int | None:
    """An instant in a parameter."""
    if text is None:
        return None
    try:
        return parse_instant(text)
    except TimingError as error:
        raise invalid_field(field, str(error)) from None


def _label(text: str) -> tuple[str, str]:
    for separator in "=:":
        name, found, value = text.partition(separator)
        if found:
            return name, value
    raise invalid_field("label", "must be written as `name=value`")
