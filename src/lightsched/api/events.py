"""Which events are there, and how is one of them?"""

from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Query, Response
from msgspec import Raw, Struct

from lightsched.api.documents import named, reference, refusals
from lightsched.api.elsewhere import read_everywhere
from lightsched.api.face import Face, Running
from lightsched.api.listing import Listed, Page, merged, page_of, position
from lightsched.api.parameters import BASE, EventId, Which
from lightsched.api.shapes import answer
from lightsched.api.shown import show
from lightsched.api.target import found, not_found
from lightsched.engine.state import State
from lightsched.event.identity import Identity, identity
from lightsched.store.store import Store

router = APIRouter(prefix=BASE + "/events", tags=["events"])
_text = msgspec.json.Decoder(str).decode


@router.get(
    "",
    operation_id="list_events",
    summary="List events",
    responses={
        **named(200, "A page of events, in the order of their identities", reference("Events")),
        **refusals(400, 403, 503),
    },
)
async def list_events(face: Running, asked: Annotated[Listed, Query()]) -> Response:
    """In the order of tenant, key and id. A page may be short and still have a cursor: go on until it is null."""
    page = await events_page(face, asked)
    return answer({"events": list(page.items.values()), "cursor": page.cursor})


async def events_page(face: Face, asked: Listed) -> Page:
    """A page of all nodes' events, as they are shown."""
    page = await page_of(face, asked, _shown)
    if others := await read_everywhere(face, f"{BASE}/events?{asked.query()}", _Elsewhere):
        return merged([page, *map(_page, others)], asked.limit)
    return page


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
    """As it was sent, with its status, its next fire times, and its schedule in words. `ETag` is its revision."""
    target, store, name, state = await found(face, id, which.tenant, which.key)
    definition = store.definition_of(state)
    if definition is None:
        raise not_found(target)
    return answer(show(name, state, definition), headers={"ETag": f'"{state.revision}"'})


def _shown(name: Identity, state: State, store: Store) -> tuple[dict[str, Any], int] | None:
    definition = store.definition_of(state)
    return None if definition is None else (show(name, state, definition), len(definition))


class _Elsewhere(Struct):
    """Another node's page."""

    events: list[dict[str, Raw]]
    cursor: str | None


def _page(other: _Elsewhere) -> Page:
    return Page({_name(event): event for event in other.events}, position(other.cursor))


def _name(event: dict[str, Raw]) -> Identity:
    return identity(*(_text(event[part]) for part in ("tenant", "key", "id")))
