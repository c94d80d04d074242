"""What was sent? The body of a request, read no further than its limit, and the items in it."""

from collections.abc import Iterator
from typing import Final

import msgspec
from starlette.requests import ClientDisconnect, Request

from lightsched.api.problem import INVALID, TOO_LARGE, Refusal

NDJSON: Final = "application/x-ndjson"
_NDJSON_TYPES = frozenset({NDJSON, "application/ndjson", "application/jsonl", "application/x-jsonlines"})
_WHITESPACE = b" \t\r\n"
_MOST_DIGITS = 20
_array = msgspec.json.Decoder(list[msgspec.Raw])
_any = msgspec.json.Decoder(msgspec.Raw)


def header(request: Request, name: bytes) -> bytes:
    """A header's value, empty if it is not there. The name in lower case."""
    for given, value in request.scope["headers"]:
        if given == name:
            found: bytes = value
            return found
    return b""


async def read_body(request: Request, most: int) -> bytes:
    """The whole body; more than `most` bytes are refused, as soon as that is known."""
    length = header(request, b"content-length")
    if length.isdigit() and int(length[:_MOST_DIGITS]) > most:
        raise _too_large(most)
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


def elements(body: bytes) -> list[msgspec.Raw]:
    """The elements of a JSON array, not yet decoded: one fast pass."""
    try:
        return _array.decode(body)
    except msgspec.DecodeError as error:
        raise Refusal(INVALID, f"The body is not valid JSON: {error}. Send an array of events.") from None
    except RecursionError:
        raise Refusal(INVALID, "The body is nested too deeply: flatten the payloads.") from None


def lines(body: bytes) -> Iterator[bytes]:
    """The lines of a body, one at a time; blank ones are empty."""
    start = 0
    while start < len(body):
        end = body.find(b"\n", start)
        end = len(body) if end < 0 else end
        yield body[start:end].strip(_WHITESPACE)
        start = end + 1
