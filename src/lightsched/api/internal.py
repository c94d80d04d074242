"""What do the nodes ask each other? Commands for a partition that is here, and which keys an id has here.

Not part of the contract: it changes with any version, so all nodes of a cluster should have the same one.
"""

from typing import Annotated

import msgspec
from fastapi import APIRouter, Query, Request, Response

from lightsched.api.body import read_body
from lightsched.api.face import Running
from lightsched.api.parameters import BASE, Parameters
from lightsched.api.patch import definition_of
from lightsched.api.problem import FORBIDDEN, INVALID, WRONG_NODE, Refusal
from lightsched.api.shapes import answer
from lightsched.api.target import Target
from lightsched.node.peers import decode_submitted, encode

router = APIRouter(prefix=BASE + "/internal", include_in_schema=False)


class KeysParameters(Parameters):
    """Which id."""

    tenant: str
    id: str


class EventParameters(KeysParameters):
    """Which event."""

    key: str


@router.post("/submit")
async def submit(face: Running, request: Request) -> Response:
    """Carry out commands for partitions that are this node's; none of them, if one is not."""
    try:
        submitted = decode_submitted(await read_body(request, face.settings.limits.body))
    except msgspec.DecodeError as error:
        raise Refusal(INVALID, f"This is for lightsched's own nodes, all of the same version: {error}.") from None
    if submitted.topic not in (face.names.events, face.names.reports):
        raise Refusal(FORBIDDEN, "Only commands and reports are taken here.")
    if any(partition not in face.node.workers for partition, _ in submitted.placed):
        raise Refusal(WRONG_NODE, "The partition is not this node's.")
    return Response(encode(await face.node.commands.submit(submitted.topic, submitted.placed)))


@router.get("/definition")
async def definition(face: Running, asked: Annotated[EventParameters, Query()]) -> Response:
    """The definition of an event of this node, and its revision."""
    return answer(await definition_of(face, Target(asked.tenant, asked.key, asked.id)))


@router.get("/keys")
async def keys(face: Running, asked: Annotated[KeysParameters, Query()]) -> Response:
    """The keys under which this node has an event with this id."""
    return Response(msgspec.json.encode(face.keys_of(asked.tenant, asked.id)), media_type="application/json")
