"""How is an answer sent? In one piece, where it is there in one piece.

uvicorn writes the head and the body of an answer apart, and looks at each header several times: that takes longer than
to schedule an event.
"""

from http import HTTPStatus
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

_WITHOUT_BODY = (204, 304)
_STATUS_LINES = {status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus}


async def answer_whole(cycle: Any, app: ASGIApp, scope: Scope, receive: Receive, _send: Send) -> None:
    """Answer a request; where the answer is there as a whole, it is written as a whole."""
    await app(scope, receive, Whole(cycle).send)


class Whole:
    """Keeps the beginning of an answer until the rest is there, too."""

    __slots__ = ("_begin", "_cycle")

    def __init__(self, cycle: Any) -> None:
        self._cycle = cycle
        self._begin: Message | None = None

    async def send(self, message: Message) -> None:
        """As in ASGI."""
        begin, cycle = self._begin, self._cycle
        if begin is None:
            if message["type"] == "http.response.start" and not cycle.response_started:
                self._begin = message
            else:
                await cycle.send(message)
            return
        self._begin = None
        if message.get("more_body") or cycle.flow.write_paused or cycle.scope["method"] == "HEAD":
            await cycle.send(begin)
            await cycle.send(message)
        elif not cycle.disconnected:
            self._write(begin, message.get("body", b""))

    def _write(self, begin: Message, body: bytes) -> None:
        cycle, status = self._cycle, begin["status"]
        headers = [*cycle.default_headers, *begin["headers"]]
        if not cycle.keep_alive:
            headers.append((b"connection", b"close"))
        lines = b"".join([b"%b: %b\r\n" % header for header in headers])
        assert lines.count(b"\n") == lines.count(b"\r") == len(headers), "a header has one line"
        if b"content-length: " not in lines and status not in _WITHOUT_BODY:
            lines += b"content-length: %d\r\n" % len(body)
        cycle.response_started = cycle.response_complete = True
        cycle.waiting_for_100_continue = False
        cycle.transport.write(_STATUS_LINES[status] + lines + b"\r\n" + body)
        cycle.message_event.set()
        if not cycle.keep_alive:
            cycle.transport.close()
        cycle.on_response()
