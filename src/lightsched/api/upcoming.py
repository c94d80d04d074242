"""What fires next? The events of all tenants, soonest first."""

from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import Field

from lightsched.api.documents import described, refusals
from lightsched.api.face import Face, Running
from lightsched.api.parameters import BASE, Parameters
from lightsched.api.shapes import NextDue, Upcoming, answer
from lightsched.api.shown import words_of
from lightsched.api.turns import Turns
from lightsched.engine.view import Entry
from lightsched.event.identity import Identity, parts
from lightsched.event.model import decoder
from lightsched.event.schedule import plan_of
from lightsched.store.store import Store
from lightsched.timing import LAST_MS, format_utc

router = APIRouter(prefix=BASE, tags=["planning"])

_FIRST_SPAN_MS = 1_000
_SEEN = 500
"""Entries of one partition that are looked at together."""


class UpcomingParameters(Parameters):
    """How many."""

    limit: Annotated[int, Field(description="At most so many", ge=1, le=200)] = 50


@router.get(
    "/upcoming",
    operation_id="upcoming",
    summary="What fires next?",
    responses={**described(200, "Soonest first", Upcoming), **refusals(400, 403, 503)},
)
async def get_upcoming(face: Running, asked: Annotated[UpcomingParameters, Query()]) -> Response:
    """The events of all tenants that fire next, soonest first."""
    turns = Turns()
    entries: list[tuple[Entry, Store]] = []
    for store in face.node.stores:
        entries += [(entry, store) for entry in await _soonest(face, store, asked.limit, turns)]
    entries.sort(key=lambda found: _by_due(found[0]))
    events: list[NextDue] = []
    for entry, store in entries[: asked.limit]:
        if (shown := _next_due(store, entry)) is not None:
            events.append(shown)
        if turns.over():
            await turns.rest()
    return answer(Upcoming(events))


async def _soonest(face: Face, store: Store, limit: int, turns: Turns) -> list[Entry]:
    """The first entries by due.

    The index is ordered by priority first, so it is asked for all that is due within a span. The span grows until there
    are enough in it; where there are too many to see them all, it shrinks again.
    """
    now_ms = face.now_ms
    too_short_ms, span_ms = 0, _FIRST_SPAN_MS
    while len(found := store.due(now_ms + span_ms, _SEEN)) < limit and now_ms + span_ms < LAST_MS:
        too_short_ms, span_ms = span_ms, min(span_ms * 4, LAST_MS - now_ms)
        if turns.over():
            await turns.rest()
    while len(found) == _SEEN and span_ms - too_short_ms > 1:
        middle_ms = (too_short_ms + span_ms) // 2
        fewer = store.due(now_ms + middle_ms, _SEEN)
        if len(fewer) < limit:
            too_short_ms = middle_ms
        else:
            found, span_ms = fewer, middle_ms
        if turns.over():
            await turns.rest()
    return sorted(found, key=_by_due)[:limit]


def _by_due(entry: Entry) -> tuple[int, int, int]:
    return entry.due_ms, entry.priority, entry.seq


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
