"""What could not be understood or delivered? The dead letters: to look at, and to send again.

A dead letter is named by where it lies, `partition-offset`, and stays there: sending it again puts the record that it
holds back where it came from, or for a delivery, on the topics that it was for. An event among them keeps its identity,
also one whose sender gave none: sending it twice makes one event. A delivery keeps its id, by which executors know it.
A `then` event is scheduled as the report would have; what is wrong with it may have been a limit.
"""

import re
from base64 import b64encode
from hashlib import sha256
from heapq import merge
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response
from msgspec import UNSET
from pydantic import Field

from lightsched.api.cursor import read_cursor, write_cursor
from lightsched.api.delivered import as_json
from lightsched.api.documents import described, refusals
from lightsched.api.face import Face, Running
from lightsched.api.parameters import BASE, Parameters
from lightsched.api.prepare import REST
from lightsched.api.problem import CONFLICT, NOT_FOUND, Refusal, invalid_field
from lightsched.api.shapes import DeadLetters, DeadLetterShown, Redriven, answer
from lightsched.engine.reports import INVALID_THEN, THEN, follow_up, read_report
from lightsched.event.check import AUTO
from lightsched.event.command import ASSIGNED, HOPS, ONCE, WHO, Refused, read_command
from lightsched.event.delivery import parse_delivery_id
from lightsched.event.errors import InvalidEvent
from lightsched.event.identity import parts
from lightsched.event.murmur2 import murmur2
from lightsched.event.record import Appended, Headers, Record
from lightsched.event.status import Outcome
from lightsched.event.topics import KAFKAS_OWN
from lightsched.log.records import CUT, DEAD_HEADERS
from lightsched.timing import format_utc

router = APIRouter(prefix=BASE + "/dead-letters", tags=["operations"])

_ID = re.compile(r"([0-9]{1,5})-([0-9]{1,18})")
_CURSOR = "d"
_MOST_DIGITS = 18
_LOOKED_AT = 200
"""Dead letters of one partition that one request looks at."""

Bounds = dict[int, tuple[int, int]]
"""Partition → the first offset, and the one after the last."""

LetterId = Annotated[
    str,
    Path(
        description="Its partition and offset",
        examples=["0-17"],
        json_schema_extra={"pattern": f"^{_ID.pattern}$"},  # said here, and checked below, in words
    ),
]


class LetterParameters(Parameters):
    """Which dead letters."""

    reason: Annotated[str | None, Field(description="Only those put aside for this reason", examples=["INVALID"])] = (
        None
    )
    limit: Annotated[int, Field(description="At most so many", ge=1, le=_LOOKED_AT)] = 50
    cursor: Annotated[str | None, Field(description="The `cursor` of the page before")] = None


@router.get(
    "",
    operation_id="list_dead_letters",
    summary="What was put aside?",
    responses={**described(200, "Newest first", DeadLetters), **refusals(400, 403, 503)},
)
async def list_dead_letters(face: Running, asked: Annotated[LetterParameters, Query()]) -> Response:
    """Records that made no sense, deliveries that could not be made: with the reason, newest first.

    They are kept as long as the topic keeps them. A page may be short and still have a cursor: go on until it is null.
    """
    bounds = await face.node.log.ends(face.names.dead_letter)
    upto = {number: end for number, (_, end) in bounds.items()}
    if asked.cursor is not None:
        places = read_cursor(_CURSOR, asked.cursor, dict[int, int])
        upto = {number: min(max(places.get(number, 0), first), end) for number, (first, end) in bounds.items()}
    low = {number: max(first, upto[number] - _LOOKED_AT) for number, (first, _) in bounds.items()}
    seen = []
    async with face.long_work.turns() as turns:
        for number in bounds:
            seen.append(await _newest_first(face, bounds, number, low[number], upto[number]))
            if turns.over():
                await turns.rest()
    last = {letters[-1].partition: letters[-1] for letters in seen if letters}
    found: list[DeadLetterShown] = []
    for letter in merge(*seen, key=lambda each: (each.timestamp_ms, -each.partition), reverse=True):
        if len(found) == asked.limit:
            break
        number = letter.partition
        upto[number] = letter.offset
        shown = _shown(letter)
        if asked.reason in (None, shown.reason):
            found.append(shown)
        if letter is last.get(number) and low[number] > bounds[number][0]:
            upto[number] = low[number]
            break  # what is older there may be newer than what comes here
    else:
        upto = low
    more = any(upto[number] > first for number, (first, _) in bounds.items())
    return answer(DeadLetters(found, write_cursor(_CURSOR, upto) if more else None))


async def _newest_first(face: Face, bounds: Bounds, number: int, low: int, upto: int) -> list[Appended]:
    """The dead letters of one partition from `low` up to, not including, `upto`."""
    positions = {each: end for each, (_, end) in bounds.items()} | {number: low}
    found: list[Appended] = []
    while positions[number] < upto:
        some = await face.node.log.fetch(face.names.dead_letter, positions, upto - positions[number], 0)
        if not some:
            break
        positions |= {each.partition: each.offset + 1 for each in some}  # also where more has come meanwhile
        found += [each for each in some if each.partition == number and each.offset < upto]
    return found[::-1]


@router.get(
    "/{id}",
    operation_id="get_dead_letter",
    summary="Look at a dead letter",
    responses={**described(200, "It, and why it was put aside", DeadLetterShown), **refusals(400, 403, 404, 503)},
)
async def get_dead_letter(id: LetterId, face: Running) -> Response:
    """The record as it was, with the reason and where it came from."""
    return answer(_shown(await _letter(face, id)))


@router.post(
    "/{id}/redrive",
    operation_id="redrive",
    summary="Send a dead letter again",
    responses={
        **described(200, "It was put where it came from, or where it was to go", Redriven),
        **refusals(400, 403, 404, 409, 413, 503),
    },
)
async def redrive(id: LetterId, face: Running) -> Response:
    """At least once: if the answer is lost, send it again. An event is scheduled once, however often it is sent."""
    letter = await _letter(face, id)
    shown, record = _shown(letter), _original(letter)
    if shown.cut_from is not UNSET:
        kept = f"Of its {shown.cut_from:,} bytes only the beginning was kept"
        raise Refusal(CONFLICT, f"{kept}: send the whole from where it came, in smaller pieces.")
    if shown.reason == INVALID_THEN:
        return await _chain(face, shown, record)
    if shown.topic in (face.names.events, face.names.reports):
        return await _take_in(face, shown, record)
    topics = [topic for topic in shown.topic.split(",") if topic]
    if not topics:
        raise Refusal(CONFLICT, "It is not known where this was to go: schedule the event again.")
    if taboo := [topic for topic in topics if topic.startswith(KAFKAS_OWN) or topic in face.names.own]:
        raise Refusal(
            CONFLICT, f"{taboo[0]!r} is a topic that Kafka or lightsched keeps for itself: schedule it again."
        )
    for topic in topics:
        count = len(await face.node.log.ends(topic))
        if not count:
            raise Refusal(CONFLICT, f"There is no topic {topic!r}: create it first.")
        same = count == face.node.log.partitions
        number = shown.partition if same else (murmur2(record.key or b"") & 0x7FFFFFFF) % count
        await face.node.log.append(topic, number, [record])
    return answer(Redriven(id=shown.id, topics=topics, outcome=None, error=""))


async def _take_in(face: Face, shown: DeadLetterShown, record: Record) -> Response:
    """A command or a report: its worker says what came of it."""
    extra = {WHO: REST[0][1], ASSIGNED: f"{AUTO}dead-{shown.id}".encode(), ONCE: _once(shown.id)}
    headers = tuple(header for header in record.headers if header[0] not in (HOPS, ONCE))
    present = {name for name, _ in headers}
    if shown.topic == face.names.events:
        headers += tuple((name, value) for name, value in extra.items() if name not in present)
    number = shown.partition % face.node.log.partitions
    again = Record(record.key, record.value, headers)
    if shown.reason == Outcome.INVALID:
        _check(face, Appended(shown.topic, number, shown.offset, face.now_ms, again))
    (result,) = await face.node.commands.submit(shown.topic, [(number, again)])
    if result.outcome is Outcome.INVALID:
        detail = f"It makes no sense this time either, and was put aside again: {result.error}."
        raise Refusal(CONFLICT, detail, outcome=Outcome.INVALID)
    error = result.error or result.ignored
    return answer(Redriven(id=shown.id, topics=[shown.topic], outcome=result.outcome, error=error))


def _check(face: Face, appended: Appended) -> None:
    """Refuse here what its worker would put aside once more."""
    rules = face.rules
    is_report = appended.topic == face.names.reports
    read = (
        read_report(appended, rules.limits)
        if is_report
        else read_command(appended, rules.limits, rules.tenants, rules.partitions)
    )
    if isinstance(read, Refused):
        raise _still_invalid("; ".join(map(str, read.problems)), "/reports" if is_report else "/events")


async def _chain(face: Face, shown: DeadLetterShown, record: Record) -> Response:
    """A `then` event: scheduled as its report would have, if it makes sense by now; a duration counts from now on."""
    index, _, delivery = dict(record.headers).get(THEN, b"").decode(errors="replace").partition(" ")
    parent = parse_delivery_id(delivery)
    if parent is None:
        raise Refusal(CONFLICT, "It was put aside by an earlier version: schedule the event it holds (`POST /events`).")
    tenant, _, _ = parts(parent.identity)
    try:
        command, number = follow_up(
            face.rules, record.value or b"", face.now_ms, tenant=tenant, mark=f"{delivery}/{index}/"
        )
    except InvalidEvent as error:
        raise _still_invalid(str(error)) from None
    headers = (*command.headers, *REST, (ONCE, _once(shown.id)))
    placed = [(number, Record(command.key, command.value, headers))]
    (result,) = await face.node.commands.submit(face.names.events, placed)
    if result.outcome is Outcome.INVALID:
        raise _still_invalid(result.error)
    return answer(Redriven(id=shown.id, topics=[face.names.events], outcome=result.outcome, error=result.error))


def _still_invalid(why: str, path: str = "/events") -> Refusal:
    detail = f"It makes no sense this time either: {why}. Correct it and send it yourself (`POST {path}`)."
    return Refusal(CONFLICT, detail, outcome=Outcome.INVALID)


def _once(id: str) -> bytes:
    return sha256(f"dead letter {id}".encode()).digest()[:16]


async def _letter(face: Face, id: str) -> Appended:
    named = _ID.fullmatch(id)
    if named is None:
        raise invalid_field("id", "is no dead letter's: that is a partition and an offset, as in `0-17`")
    number, offset = int(named[1]), int(named[2])
    bounds = await face.node.log.ends(face.names.dead_letter)
    first, end = bounds.get(number, (0, 0))
    found = await _newest_first(face, bounds, number, offset, offset + 1) if first <= offset < end else []
    if not found:
        raise Refusal(NOT_FOUND, f"There is no dead letter {id}: it never was there, or the topic has dropped it.")
    return found[0]


def _shown(letter: Appended) -> DeadLetterShown:
    record = letter.record
    headers, added = _apart(record)
    said = {name: value.decode(errors="replace") for name, value in added}
    value = record.value or b""
    shown = as_json("application/json", value)
    return DeadLetterShown(
        id=f"{letter.partition}-{letter.offset}",
        at=format_utc(letter.timestamp_ms),
        reason=said.get("ls_reason", ""),
        detail=said.get("ls_detail", ""),
        topic=said.get("ls_topic", ""),
        partition=_number(said.get("ls_partition", "")),
        offset=_number(said.get("ls_offset", "")),
        key=(record.key or b"").decode(errors="replace"),
        headers={name: text.decode(errors="replace") for name, text in headers},
        cut_from=_number(said[CUT]) if CUT in said else UNSET,
        value=shown,
        value_base64=b64encode(value).decode() if shown is UNSET else UNSET,
    )


def _original(letter: Appended) -> Record:
    """The record without what was added when it was put aside."""
    record = letter.record
    return Record(record.key, record.value, _apart(record)[0])


def _apart(record: Record) -> tuple[Headers, Headers]:
    """The headers that it had, and those that were added when it was put aside."""
    cut = tuple(header for header in record.headers if header[0] == CUT)
    headers = tuple(header for header in record.headers if header[0] != CUT)
    return headers[:-DEAD_HEADERS], headers[-DEAD_HEADERS:] + cut


def _number(text: str) -> int:
    return int(text) if len(text) <= _MOST_DIGITS and text.isdecimal() else -1
