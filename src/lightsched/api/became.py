"""What became of a delivery? The status of its attempt, from the store of the partition that it came from.

Partitions of other nodes are asked for there, all deliveries of one node at once. It is for a person to look at: what a
node does not answer, or has forgotten, is not known.
"""

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from typing import Annotated
from urllib.parse import urlencode

import msgspec
from fastapi import APIRouter, Query, Response
from pydantic import Field

from lightsched.api.elsewhere import others
from lightsched.api.face import Face, Running
from lightsched.api.parameters import BASE, Parameters
from lightsched.api.shapes import answer
from lightsched.engine.state import told_run
from lightsched.event.delivery import DeliveryName, parse_delivery_id
from lightsched.event.status import Status
from lightsched.log.peer import Peer
from lightsched.node.peers import PeerFailed
from lightsched.store.store import Store

for_nodes = APIRouter(prefix=BASE + "/internal", include_in_schema=False)

Statuses = dict[str, Status]
"""By the id of the delivery."""
_MOST = 200
_MOST_CHARACTERS = 30_000
"""Of an address: the head of a request has a limit."""
_ANSWERS_WITHIN_S = 2.0
_decode = msgspec.json.Decoder(Statuses).decode


class BecameParameters(Parameters):
    """Which deliveries."""

    delivery: Annotated[list[str], Field(max_length=_MOST)]


@for_nodes.get("/became")
async def became_here(face: Running, asked: Annotated[BecameParameters, Query()]) -> Response:
    """What is known here."""
    return answer(_here(face, asked.delivery))


async def became(face: Face, deliveries: Sequence[str]) -> Statuses:
    """What is known of these deliveries, on all nodes."""
    found = _here(face, deliveries)
    owners = {number: peer for peer in others(face) for number in peer.partitions}
    elsewhere: defaultdict[Peer, list[str]] = defaultdict(list)
    for id in deliveries:
        name = None if id in found else parse_delivery_id(id)
        if name is not None and name.partition in owners:
            elsewhere[owners[name.partition]].append(id)
    for answered in await asyncio.gather(*(_ask(face, peer, ids) for peer, ids in elsewhere.items())):
        found |= answered
    return found


async def _ask(face: Face, peer: Peer, ids: list[str]) -> Statuses:
    query = urlencode({"delivery": ids[:_MOST]}, doseq=True)
    if len(query) > _MOST_CHARACTERS:
        return await _ask(face, peer, ids[: len(ids) // 2])
    try:
        async with asyncio.timeout(_ANSWERS_WITHIN_S):
            response = await face.node.peers.get(peer, f"{BASE}/internal/became?{query}")
        return _decode(response.content) if response.status_code == 200 else {}
    except (PeerFailed, TimeoutError, msgspec.DecodeError):  # a newer node may have statuses that are not known here
        return {}


def _here(face: Face, deliveries: Sequence[str]) -> Statuses:
    found: Statuses = {}
    for id in deliveries:
        name = parse_delivery_id(id)
        store = None if name is None else face.store_of(name.partition)
        if name is not None and store is not None and (status := status_of(store, name)) is not None:
            found[id] = status
    return found


def status_of(store: Store, name: DeliveryName) -> Status | None:
    """How one attempt of a run stands, or ended; None: it is forgotten."""
    state = store.state(name.identity)
    if state is None:
        return None
    for run in state.runs:
        if (run.due_ms, run.revision) == (name.due_ms, name.revision):
            return next((each.status for each in run.attempts if each.attempt == name.attempt), None)
    told = told_run(state)
    if told is not None and (told[0], state.revision) == (name.due_ms, name.revision):
        finished = told[1]
    else:
        written = store.run(name.identity, name.due_ms, name.revision)
        if written is None:
            return None
        finished = written
    return next((each.status for each in finished.attempts if each.attempt == name.attempt), None)
