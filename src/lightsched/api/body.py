"""What was sent? The body of a request, read no further than its limit, and the items in it."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Final, TypeVar

import msgspec
from pydantic import BaseModel, ValidationError
from starlette.requests import ClientDisconnect, Request

from lightsched.api.complaints import problems_of
from lightsched.api.problem import INVALID, TOO_LARGE, Refusal, invalid_field
from lightsched.event.words import why_not_json

Model = TypeVar("Model", bound=BaseModel)

NDJSON: Final = "application/x-ndjson"
_NDJSON_TYPES = frozenset({NDJSON, "application/ndjson", "application/jsonl", "application/x-jsonlines"})
MOST_SMALL_BYTES = 64 * 1024
ARRAY_AT_ONCE = 4 * 1024 * 1024
"""Bytes of an array that are taken apart in one go: 3 ms."""
LINES_AT_ONCE = 64 * 1024
"""Bytes of lines, likewise, and the rest of the last one: 4 ms if all are blank."""
Item = bytes | memoryview | msgspec.Raw
"""A JSON value as it was sent."""
_WHITESPACE = b" \t\r\n"
_MOST_DIGITS = 20
_array = msgspec.json.Decoder(list[msgspec.Raw])
_any = msgspec.json.Decoder(msgspec.Raw)
_scan = json.JSONDecoder(parse_int=float).raw_decode  # finds where a value ends; what it makes of it is not used
_space = re.compile(rb"[ \t\r\n]*")


async def read_body(request: Request, most: int) -> bytes:
    """The whole body; more than `most` bytes are refused, as soon as that is known."""
    for name, value in request.scope["headers"]:
        if name == b"content-length":
            if value.isdigit() and int(value[:_MOST_DIGITS]) > most:
                raise _too_large(most)
        elif name == b"content-encoding" and value.lower() != b"identity":
            raise invalid_field("Content-Encoding", "is not taken: send the body as it is, in parts if it is large")
    chunks: list[bytes] = []
    size = 0
    while True:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        chunk: bytes = message.get("body", b"")
        size += len(chunk)
        if size > most:
            raise _too_large(most)
        chunks.append(chunk)
        if not message.get("more_body", False):
            return chunks[0] if len(chunks) == 1 else b"".join(chunks)


async def read_model(request: Request, model: type[Model]) -> Model:
    """A small body, as what it must be; everything that is wrong with it is said."""
    body = await read_body(request, MOST_SMALL_BYTES)
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        problems = problems_of(error.errors(include_url=False, include_input=False), "field")
        raise Refusal(INVALID, "; ".join(map(str, problems)), problems) from None


def _too_large(most: int) -> Refusal:
    return Refusal(TOO_LARGE, f"The body has more than {most} bytes: send it in parts.")


def is_array(body: bytes) -> bool:
    """A JSON array, by its first character."""
    return body.lstrip(_WHITESPACE)[:1] == b"[" if body[:1] in b" \t\r\n" else body[:1] == b"["


def is_ndjson(body: bytes, content_type: bytes) -> bool:
    """One JSON value a line: said so, or several lines of which the first is complete."""
    if content_type.partition(b";")[0].strip().lower().decode("latin-1") in _NDJSON_TYPES:
        return True
    end = body.find(b"\n")
    if end < 0 or not body[end:].strip(_WHITESPACE):
        return False
    try:
        _any.decode(body[:end])
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


def elements(body: bytes, most_bytes: int) -> Iterator[Sequence[Item]]:
    """The elements of a JSON array, not yet decoded, some at a time. One fast pass cannot be interrupted, so a long
    array is taken apart one by one; an element of more than `most_bytes` is refused there.
    """
    try:
        if len(body) <= ARRAY_AT_ONCE:
            yield _array.decode(body)
        else:
            yield from _one_by_one(body, most_bytes)
    except msgspec.DecodeError as error:
        raise Refusal(
            INVALID, f"The body is not valid JSON: {why_not_json(error, body)}. Send an array of events."
        ) from None
    except RecursionError:
        raise Refusal(INVALID, "The body is nested too deeply: flatten the payloads.") from None


def _one_by_one(body: bytes, most_bytes: int) -> Iterator[tuple[Item]]:
    view = memoryview(body)
    at = _behind_space(body, _behind_space(body, 0) + 1)
    size, mark = 0, b","
    if body[at : at + 1] == b"]":
        at, mark = _behind_space(body, at + 1), b"]"
    while mark == b",":
        size = _size_of(body, at, size, most_bytes)
        yield (view[at : at + size],)
        at = _behind_space(body, at + size)
        mark = body[at : at + 1]
        at = _behind_space(body, at + 1)
    if mark != b"]" or at < len(body):
        raise msgspec.DecodeError(f"unexpected character (byte {at})")


def _behind_space(body: bytes, at: int) -> int:
    found = _space.match(body, at)
    return at if found is None else found.end()


def _size_of(body: bytes, at: int, guess: int, most_bytes: int) -> int:
    """How many bytes the value at a place has. It is looked for in a piece of the body that grows."""
    room = max(2 * guess, 4_096)
    while True:
        room = min(room, most_bytes)
        # Whatever is not ASCII stands in strings, so where it ends does not depend on what it means.
        piece = body[at : at + room].decode("latin-1")
        try:
            _, end = _scan(piece)
        except ValueError as error:
            if at + room >= len(body):
                raise msgspec.DecodeError(f"{error} (behind byte {at})") from None
        else:
            # A number goes on as long as there are digits.
            if end < len(piece) or at + room >= len(body):
                return end
        if room == most_bytes:
            detail = f"the one that begins at byte {at} is longer or not valid JSON"
            raise Refusal(TOO_LARGE, f"An event may have {most_bytes} bytes, and {detail}.")
        room *= 2


def lines(body: bytes) -> Iterator[Sequence[Item]]:
    """The lines of a body, some at a time; blank ones are empty."""
    start = 0
    while start < len(body):
        end = body.find(b"\n", start + LINES_AT_ONCE)
        end = len(body) if end < 0 else end
        yield [line.strip(_WHITESPACE) for line in body[start:end].split(b"\n")]
        start = end + 1
