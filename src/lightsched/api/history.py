"""What ran lately? The finished runs of all events, the last first.

Each partition has two sources: the runs that have a record of their own, by the time they ended, and the events whose
state tells their only run, by the time they are forgotten (`lightsched.store.finished`). All are merged by time; a
request looks at a bounded number of entries, and the cursor is where it stopped.
"""

from collections.abc import Iterator
from heapq import merge
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Response
from msgspec import Meta, Raw, Struct
from pydantic import Field

from lightsched.api.cursor import read_cursor, write_cursor
from lightsched.api.documents import described, refusals
from lightsched.api.elsewhere import read_everywhere
from lightsched.api.face import Face, Running
from lightsched.api.listing import ALL_TENANTS, MOST_BYTES, MOST_LISTED, MOST_SCANNED, Some, instant, search
from lightsched.api.parameters import BASE, Parameters
from lightsched.api.problem import invalid_field
from lightsched.api.runs import run_fields
from lightsched.api.shapes import EventRun, EventRuns, answer
from lightsched.engine.state import told_run
from lightsched.engine.step import RunKey
from lightsched.event.check import TENANT
from lightsched.event.identity import Identity, parts, tenant_of
from lightsched.event.marks import may_have, wanted_marks
from lightsched.event.status import Status
from lightsched.store.finished import Place
from lightsched.store.store import Store
from lightsched.timing import LAST_MS

router = APIRouter(prefix=BASE, tags=["events"])
for_nodes = APIRouter(prefix=BASE + "/internal", include_in_schema=False)

_READ_AT_ONCE = 100
_CURSOR = "h"
_Instant = Annotated[int, Meta(ge=0, le=LAST_MS)]
_Number = Annotated[int, Meta(ge=0, le=65_535)]
_Tie = Annotated[bytes, Meta(max_length=1_000)]

Where = tuple[_Instant, _Number, bool, _Tie]
"""Time, partition, told by a state, order among those of the same time: where a run stands among all."""
_Found = tuple[Where, Store, RunKey | Identity | None]
"""A run, the event whose state tells it, or something else that stands there."""


class HistoryParameters(Parameters):
    """Which runs."""

    tenant: Annotated[str, Field(description=f"The tenant; `{ALL_TENANTS}`: all", examples=["default"])] = "default"
    status: Annotated[
        tuple[Status, ...], Some, Field(description="Only runs that ended so", max_length=20, examples=[["SUCCESS"]])
    ] = ()
    type: Annotated[str | None, Field(description="Only runs of events of this type", examples=["reminder"])] = None
    from_: Annotated[
        str | None,
        Field(
            alias="from", description="Only runs that ended at or after this time", examples=["2026-01-01T00:00:00Z"]
        ),
    ] = None
    to: Annotated[
        str | None, Field(description="Only runs that ended before this time", examples=["2036-01-01T00:00:00Z"])
    ] = None
    limit: Annotated[int, Field(description="At most so many", ge=1, le=MOST_LISTED)] = 100
    cursor: Annotated[str | None, Field(description="The `cursor` of the page before")] = None


class _Page(Struct):
    runs: dict[Where, Any]
    upto: Where | None = None

    @property
    def cursor(self) -> str | None:
        return None if self.upto is None else write_cursor(_CURSOR, self.upto)


@router.get(
    "/runs",
    operation_id="list_all_runs",
    summary="The runs of all events",
    responses={**described(200, "Finished runs, the last first", EventRuns), **refusals(400, 403, 503)},
)
async def list_all_runs(face: Running, asked: Annotated[HistoryParameters, Query()]) -> Response:
    """Those that ended, while history is kept (`history.keep`). A page may be short and still have a cursor."""
    page = await _page(face, asked)
    query = urlencode(asked.model_dump(exclude_none=True, by_alias=True), doseq=True)
    if others := await read_everywhere(face, f"{BASE}/internal/runs?{query}", _Elsewhere):
        page = _merged([page, *map(_from_node, others)], asked.limit)
    return answer(EventRuns(list(page.runs.values()), page.cursor))


@for_nodes.get("/runs")
async def list_runs_here(face: Running, asked: Annotated[HistoryParameters, Query()]) -> Response:
    """The runs of this node's events, each with where it stands among all."""
    page = await _page(face, asked)
    placed = [(write_cursor(_CURSOR, where), run) for where, run in page.runs.items()]
    return answer({"runs": placed, "cursor": page.cursor})


class _Elsewhere(Struct):
    """Another node's page."""

    runs: list[tuple[str, Raw]]
    cursor: str | None


def _from_node(other: _Elsewhere) -> _Page:
    placed = {_read(at): run for at, run in other.runs}
    return _Page(placed, None if other.cursor is None else _read(other.cursor))


def _read(cursor: str) -> Where:
    where: Where = read_cursor(_CURSOR, cursor, Where)
    return where


def _merged(pages: list[_Page], limit: int) -> _Page:
    """One page of several nodes' pages: as far as all of them have looked, in one order."""
    upto = max((page.upto for page in pages if page.upto is not None), default=None)
    runs = {where: run for page in pages for where, run in page.runs.items()}
    places = [where for where in sorted(runs, reverse=True) if upto is None or where >= upto]
    if len(places) > limit:
        places = places[:limit]
        upto = places[-1]
    return _Page({where: runs[where] for where in places}, upto)


async def _page(face: Face, asked: HistoryParameters) -> _Page:
    """One page of this node's runs."""
    if asked.tenant != ALL_TENANTS and not TENANT.fullmatch(asked.tenant):
        raise invalid_field("tenant", "must be lower-case letters, digits and `._-`, at most 63, or `*` for all")
    from_ms, to_ms = instant("from", asked.from_) or 0, instant("to", asked.to)
    after = None if asked.cursor is None else _read(asked.cursor)
    keep_ms = face.limits.keep_ms
    streams = [
        _stream(store, _start(after, to_ms, store.partition, told=told), keep_ms if told else None)
        for store in face.node.stores
        for told in (False, True)
    ]
    page, size, last = _Page({}), 0, None
    async with face.long_work.turns() as turns:
        for scanned, (where, store, key) in enumerate(merge(*streams, key=lambda found: found[0], reverse=True)):
            if where[0] < from_ms:
                break
            if len(page.runs) == asked.limit or scanned == MOST_SCANNED or size >= MOST_BYTES:
                page.upto = last
                break
            last = where
            if key is not None and (shown := _shown(store, key, asked)) is not None:
                page.runs[where] = shown
                size += 200 * (1 + len(shown.attempts)) + len(shown.error) + len(shown.result or b"")
            if turns.over():
                await turns.rest()
    return page


def _start(after: Where | None, to_ms: int | None, partition: int, *, told: bool) -> Place:
    """Where one source begins, if all of them together have come to `after`."""
    if after is None:
        return Place(LAST_MS + 1 if to_ms is None else to_ms, b"")
    ms, *source, tie = after
    if [partition, told] == source:
        return Place(ms, tie)
    return Place(ms + 1 if [partition, told] < source else ms, b"")


def _stream(store: Store, before: Place, keep_ms: int | None) -> Iterator[_Found]:
    """One source of a partition, the last first; `keep_ms`: of what states tell, which are kept so long."""
    if keep_ms is None:
        while runs := store.finished.runs_before(before, _READ_AT_ONCE):
            for place, run in runs:
                yield (place.ms, store.partition, False, place.tie), store, run
            before = place
        return
    before = Place(before.ms + keep_ms, before.tie)
    while events := store.finished.events_before(before, _READ_AT_ONCE):
        for place, name in events:
            yield (max(place.ms - keep_ms, 0), store.partition, True, place.tie), store, name
        before = place


def _shown(store: Store, key: RunKey | Identity, asked: HistoryParameters) -> EventRun | None:
    """The run, if it is one that was asked for."""
    name = key[0] if isinstance(key, tuple) else key
    if asked.tenant not in (ALL_TENANTS, tenant_of(name)):
        return None
    state = store.state(name)
    if state is None:
        return None
    if isinstance(key, tuple):
        run, (_, due_ms, revision) = store.run(*key), key
    else:
        due_ms, run = told_run(state) or (0, None)
        revision = state.revision
    if run is None or (asked.status and run.status not in asked.status):
        return None
    if asked.type is not None and not may_have(state.marks, wanted_marks(asked.type, ())):
        return None
    type_ = search(store.definition_of(state) or b"{}").type
    if asked.type not in (None, type_):
        return None
    tenant, name_key, id_ = parts(name)
    return EventRun(id=id_, tenant=tenant, key=name_key, type=type_, **run_fields(due_ms, revision, run))
