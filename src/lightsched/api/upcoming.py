"""What fires next? The events of all tenants, soonest first.

All that share a millisecond have their order too: priority, partition, arrival. So a page can end anywhere, and the
next one goes on behind it.
"""

from typing import Annotated

from fastapi import APIRouter, Query, Response
from msgspec import Meta, convert
from pydantic import Field

from lightsched.api.cursor import read_cursor, write_cursor
from lightsched.api.documents import described, refusals
from lightsched.api.elsewhere import read_everywhere
from lightsched.api.face import Face, Running
from lightsched.api.parameters import BASE, Parameters
from lightsched.api.shapes import NextDue, Upcoming, answer
from lightsched.engine.view import Entry
from lightsched.event.identity import Identity, parts
from lightsched.event.model import decoder
from lightsched.event.schedule import plan_of, words_of
from lightsched.store.keys import FIRST_PRIORITY, LAST_PRIORITY
from lightsched.store.store import Store
from lightsched.timing import LAST_MS, format_utc

router = APIRouter(prefix=BASE, tags=["planning"])
internal = APIRouter(prefix=BASE + "/internal", include_in_schema=False)

_CURSOR = "n"
Place = tuple[
    Annotated[int, Meta(ge=0, le=LAST_MS)],
    Annotated[int, Meta(ge=FIRST_PRIORITY, le=LAST_PRIORITY)],
    Annotated[int, Meta(ge=0, lt=2**16)],
    Annotated[int, Meta(ge=0, le=2**62)],
]
"""Due, priority, partition, arrival: the order over all partitions."""
Found = list[tuple[Place, NextDue | None]]
"""None: it has gone while the others were read."""


class UpcomingParameters(Parameters):
    """How many, and from where on."""

    limit: Annotated[int, Field(description="At most so many", ge=1, le=200)] = 50
    cursor: Annotated[str | None, Field(description="The `cursor` of the page before")] = None


@router.get(
    "/upcoming",
    operation_id="upcoming",
    summary="What fires next?",
    responses={**described(200, "Soonest first", Upcoming), **refusals(400, 403, 503)},
)
async def get_upcoming(face: Running, asked: Annotated[UpcomingParameters, Query()]) -> Response:
    """The events of all tenants that fire next, soonest first. Go on with the cursor until it is null."""
    found = dict(await _soonest_here(face, asked))
    query = f"limit={asked.limit}" + (f"&cursor={asked.cursor}" if asked.cursor else "")
    for elsewhere in await read_everywhere(face, f"{BASE}/internal/upcoming?{query}"):
        found.update(convert(elsewhere, Found))  # once each, also where a partition moves while it is read
    page = sorted(found)[: asked.limit]
    cursor = write_cursor(_CURSOR, page[-1]) if len(page) == asked.limit else None
    return answer(Upcoming([shown for place in page if (shown := found[place]) is not None], cursor))


@internal.get("/upcoming")
async def get_upcoming_here(face: Running, asked: Annotated[UpcomingParameters, Query()]) -> Response:
    """For another node: the first ones of this one, each with its place."""
    return answer(await _soonest_here(face, asked))


async def _soonest_here(face: Face, asked: UpcomingParameters) -> Found:
    after = None if asked.cursor is None else read_cursor(_CURSOR, asked.cursor, Place)
    entries: list[tuple[Place, Entry, Store]] = []
    shown: Found = []
    async with face.long_work.turns() as turns:
        for store in face.node.stores:
            number = store.partition
            some = store.soonest(_start(after, number), asked.limit)
            entries += [((entry.due_ms, entry.priority, number, entry.seq), entry, store) for entry in some]
            if turns.over():
                await turns.rest()
        entries.sort(key=lambda found: found[0])
        for place, entry, store in entries[: asked.limit]:
            shown.append((place, _next_due(store, entry)))
            if turns.over():
                await turns.rest()
    return shown


def _start(after: Place | None, partition: int) -> tuple[int, int, int]:
    """Where a partition goes on behind a place, which may be in another partition."""
    if after is None:
        return 0, 0, 0
    due_ms, priority, last, seq = after
    if partition < last:
        return due_ms, priority + 1, 0
    return due_ms, priority, seq + 1 if partition == last else 0


def _next_due(store: Store, entry: Entry) -> NextDue | None:
    name = Identity(entry.identity)
    state, definition = store.state(name), store.definition(name)
    if state is None or definition is None:
        return None
    tenant, key, id_ = parts(name)
    event = decoder.decode(definition)
    return NextDue(
        tenant=tenant,
        key=key,
        id=id_,
        type=event.type,
        status=state.status,
        due=format_utc(entry.due_ms),
        schedule_text=words_of(event, plan_of(event, name, state.appended_ms)),
    )
