"""How does an executor without Kafka get its deliveries? It polls as a group, and acknowledges what it has dealt with.

A group stands at a position in each partition of a topic. `GET` answers what lies from there on, and waits for the
first if there is nothing; `ack` moves the group to the cursor of an answer. What is not acknowledged comes again, but
not to a reader that names the cursor of its last answer: it reads on, and acknowledges when it is done. A new group
begins with the oldest delivery that is kept. A group has one reader at a time: a second poll waits until the first is
answered, or for as long as it may; readers that give their names keep the group between their polls.

Whoever names no group only looks on: at what comes from now on, or after the cursor of the last answer.
"""

import asyncio
import re
from collections.abc import Coroutine, Iterable
from typing import Annotated, Any, TypeVar

import msgspec
from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import Field

from lightsched.api.body import read_body
from lightsched.api.cursor import read_cursor, write_cursor
from lightsched.api.delivered import show_delivery
from lightsched.api.documents import ACK_BODY, described, refusals
from lightsched.api.face import Face, Running
from lightsched.api.lengthy import lengthy_answer
from lightsched.api.parameters import BASE, Parameters
from lightsched.api.problem import FORBIDDEN, UNAVAILABLE, Refusal, invalid_field
from lightsched.api.shapes import Ack, Deliveries, DeliveryShown
from lightsched.api.turns import Turns
from lightsched.event.record import Appended
from lightsched.event.topics import KAFKAS_OWN, NAME
from lightsched.event.words import refused
from lightsched.timing import TimingError, parse_delay

router = APIRouter(prefix=BASE + "/deliveries/{topic}", tags=["deliveries"])

GROUP = re.compile(r"[A-Za-z0-9._-]{1,200}")
LONGEST_WAIT_MS = 60_000
MOST_BYTES = 8 * 1024 * 1024
"""Of one answer, roughly; a larger delivery comes alone."""
_FETCHED_AT_ONCE = 25
_CURSOR = "d"
_ack = msgspec.json.Decoder(Ack)

T = TypeVar("T")
Positions = dict[int, int]
Topic = Annotated[
    str, Path(description="A delivery topic, with or without the prefix", examples=["lightsched.deliveries"])
]


class PollParameters(Parameters):
    """Who asks, for how many, and for how long."""

    group: Annotated[
        str | None,
        Field(description="The group of readers; none: only to look", examples=["demo"]),
    ] = None
    cursor: Annotated[
        str | None, Field(description="The `cursor` of the answer before: what follows it, acknowledged or not")
    ] = None
    reader: Annotated[
        str | None,
        Field(description="Who reads for the group: no other does while this one is there", examples=["mailer-1"]),
    ] = None
    max: Annotated[int, Field(description="At most so many; 0: a `reader` stays, and wants none", ge=0, le=1_000)] = 100
    wait: Annotated[str, Field(description="How long to wait for the first, at most 60s", examples=["30s"])] = "0s"


@router.get(
    "",
    operation_id="poll",
    summary="Receive deliveries",
    responses={
        **described(200, "What is not acknowledged yet, oldest first; none if the wait is over", Deliveries),
        **refusals(400, 403, 503),
    },
)
async def poll(topic: Topic, face: Running, asked: Annotated[PollParameters, Query()], request: Request) -> Response:
    """From the group's acknowledged position on. Deliveries that are not acknowledged come again.

    A group has one reader at a time: while one poll waits, another of the same group waits for it to be answered. A new
    group begins with the oldest delivery that is kept. Without a group it is only looked at: what comes from now on, or
    after the `cursor` of the answer before.
    """
    name = _readable(face, topic)
    wait_s = _wait_s(asked.wait)
    if asked.group is None:
        if not asked.max:
            raise invalid_field("max", "must be at least 1")
        positions = await _seen(face, name, asked.cursor)
        with face.audience.polls((name, "")):
            found = await _unless_over(face, request, _fetch(face, name, positions, asked.max, wait_s)) or []
    else:
        group = _name("group", asked.group)
        ahead = {} if asked.cursor is None else _read_cursor(name, asked.cursor)
        reader = None if asked.reader is None else _name("reader", asked.reader)
        if not asked.max and reader is None:
            raise invalid_field("max", "must be at least 1: only a `reader` may ask for nothing, to keep its group")
        polling = _poll(face, (name, group), reader, ahead, asked.max, wait_s)
        with face.audience.polls((name, group)):
            read = await _unless_over(face, request, polling)
        if reader is not None:
            (face.lending.gone if read is None else face.lending.answered)((name, group), reader)
        found = read or []
        positions = _further(await face.node.log.positions(name, group), ahead)
    for appended in found:
        positions[appended.partition] = max(positions.get(appended.partition, 0), appended.offset + 1)
    more = {"cursor": write_cursor(_CURSOR, (name, positions))}
    async with face.deliveries.turns() as turns:
        shown = await _shown(found, turns)
        return await lengthy_answer(turns, "deliveries", shown, more=more)


@router.post(
    "/ack",
    operation_id="acknowledge",
    summary="Acknowledge deliveries",
    status_code=204,
    response_class=Response,
    responses={204: {"description": "They will not come again"}, **refusals(400, 403, 413, 503)},
    openapi_extra={"requestBody": ACK_BODY},
)
async def acknowledge(topic: Topic, face: Running, request: Request) -> Response:
    """Everything up to the cursor of an answer. An older cursor than the last one changes nothing."""
    name = _readable(face, topic)
    ack = _decode_ack(await read_body(request, 64 * 1024))
    group = _name("group", ack.group)
    positions = _read_cursor(name, ack.cursor)
    face.audience.came((name, group))
    if not positions:
        return Response(status_code=204)
    ends = await face.node.log.ends(name)
    for partition, offset in positions.items():
        if partition not in ends or not 0 <= offset <= ends[partition][1]:
            raise invalid_field("cursor", "points beyond the end of the topic: send the `cursor` of an answer")
    now_at = await face.node.log.positions(name, group)
    forward = {number: offset for number, offset in positions.items() if offset > now_at.get(number, 0)}
    if forward:
        await face.node.log.acknowledge(name, group, forward)
    return Response(status_code=204)


class LeaveParameters(Parameters):
    """Who leaves."""

    group: Annotated[str, Field(description="The group of readers", examples=["demo"])]
    reader: Annotated[str, Field(description="The one who read for it", examples=["mailer-1"])]


@router.delete(
    "",
    operation_id="leave",
    summary="Read no more for a group",
    status_code=204,
    response_class=Response,
    responses={204: {"description": "Another reader may have it now"}, **refusals(400, 403, 503)},
)
async def leave(topic: Topic, face: Running, asked: Annotated[LeaveParameters, Query()]) -> Response:
    """A reader that says goodbye is not waited for. What it has not acknowledged comes to the next one."""
    face.lending.gone((_readable(face, topic), _name("group", asked.group)), _name("reader", asked.reader))
    return Response(status_code=204)


async def _seen(face: Face, topic: str, cursor: str | None) -> Positions:
    """How far one who only looks has seen: up to the cursor, or everything so far."""
    if cursor is not None:
        return _read_cursor(topic, cursor)
    return {number: end for number, (_, end) in (await face.node.log.ends(topic)).items()}


def _read_cursor(topic: str, cursor: str) -> Positions:
    of_topic: str
    positions: Positions
    of_topic, positions = read_cursor(_CURSOR, cursor, tuple[str, Positions])
    if of_topic != topic:
        raise invalid_field("cursor", f"belongs to another topic than `{topic}`: send it there")
    return positions


def delivery_topics(face: Face) -> list[str]:
    """All topics that something was delivered to."""
    return [name for name in face.node.log.known_topics if name not in face.names.own]


def _readable(face: Face, topic: str) -> str:
    """The full name of a topic that may be read here."""
    if not NAME.fullmatch(topic) or topic in {".", ".."}:
        raise invalid_field("topic", "is no topic name: use letters, digits and `._-`, at most 249")
    if topic.startswith(KAFKAS_OWN):
        raise Refusal(FORBIDDEN, f"`{topic}` begins as Kafka's own topics do: nothing is delivered there.")
    name = face.names.deliveries if topic == "deliveries" else topic
    own = face.names.own
    if name in own or (face.names.prefix + name in own and name not in face.node.log.known_topics):
        raise Refusal(
            FORBIDDEN, f"`{topic}` is lightsched's own topic: deliveries are in `{face.names.deliveries}` or your own."
        )
    return name


def _name(field: str, text: str) -> str:
    if not GROUP.fullmatch(text):
        raise invalid_field(field, "must be 1 to 200 letters, digits and `._-`")
    return text


def _wait_s(text: str) -> float:
    try:
        wait_ms = 0 if text == "0" else parse_delay(text)
    except TimingError as error:
        raise invalid_field("wait", str(error)) from None
    if wait_ms > LONGEST_WAIT_MS:
        raise invalid_field("wait", f"is longer than {LONGEST_WAIT_MS // 1000}s: poll again after that")
    return wait_ms / 1000


def _decode_ack(body: bytes) -> Ack:
    try:
        body.decode()
        return _ack.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise refused(error, ("group", "cursor"), {}) from None


async def _unless_over(face: Face, request: Request, polling: Coroutine[Any, Any, T]) -> T | None:
    """Wait for it, but no longer once the client has left or the node stops."""
    if face.polls >= face.settings.http.polls:
        polling.close()
        raise Refusal(UNAVAILABLE, f"{face.polls} polls are waiting, no more can: try again in a moment.")
    face.polls += 1
    working = asyncio.create_task(polling)
    ends = [asyncio.create_task(face.stopping.wait()), asyncio.create_task(_gone(request))]
    try:
        await asyncio.wait([working, *ends], return_when=asyncio.FIRST_COMPLETED)
        return working.result() if working.done() else None
    finally:
        face.polls -= 1
        for task in (working, *ends):
            task.cancel()


async def _gone(request: Request) -> bool:
    while (await request.receive())["type"] != "http.disconnect":
        pass
    return True


def _further(positions: Positions, ahead: Positions) -> Positions:
    """In each partition the position that is further."""
    return positions | {number: offset for number, offset in ahead.items() if offset > positions.get(number, 0)}


async def _poll(  # noqa: PLR0917 -- what was asked for
    face: Face, place: tuple[str, str], reader: str | None, ahead: Positions, most: int, wait_s: float
) -> list[Appended]:
    """What a group has not acknowledged and its reader has not seen; waits for its turn and for the first."""
    topic, group = place
    loop = asyncio.get_running_loop()
    until = loop.time() + wait_s
    if (reader is not None and not await face.lending.borrow(place, reader, until)) or not most:
        return []
    turn = face.readers.setdefault((topic, group), asyncio.Lock())
    try:
        async with asyncio.timeout_at(until):
            await turn.acquire()
    except TimeoutError:
        return []
    try:
        positions = _further(await face.node.log.positions(topic, group), ahead)
        return await _fetch(face, topic, positions, most, until - loop.time())
    finally:
        turn.release()


async def _fetch(face: Face, topic: str, positions: Positions, most: int, wait_s: float) -> list[Appended]:
    """Some at a time, until there are enough or they are large enough."""
    found: list[Appended] = []
    size = 0
    while len(found) < most and size < MOST_BYTES:
        some = await face.node.log.fetch(topic, positions, min(_FETCHED_AT_ONCE, most - len(found)), wait_s)
        if not some:
            break
        found += some
        size += sum(len(appended.record.value or b"") for appended in some)
        positions = positions | {appended.partition: appended.offset + 1 for appended in some}
        wait_s = 0.0
        await asyncio.sleep(0)
    return found


async def _shown(found: Iterable[Appended], turns: Turns) -> list[DeliveryShown]:
    shown = []
    for appended in found:
        shown.append(show_delivery(appended))
        if turns.over():
            await turns.rest()
    return shown
