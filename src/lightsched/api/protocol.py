"""How does a request get in? uvicorn's connection, with patience that ends (`crowd`), and one method more.

The task API of the contract is asked for with `LIST /api/v1/tasks`, and the parser knows only methods of the RFCs: so
LIST is read as GET, here as everywhere.
"""

import asyncio
from functools import partial
from typing import Any

import msgspec

from lightsched.api.crowd import Crowd, Phase
from lightsched.api.problem import HEAD_TOO_LARGE, INVALID, MEDIA_TYPE, UNAVAILABLE, Kind, Refusal
from lightsched.api.whole import answer_whole

LIST = b"LIST "
MOST_PIPELINED = 64
"""Requests of one connection that wait for the answer to the one before."""
MOST_DRAINED = 8 * 1024 * 1024
"""Bytes of a request that are still read after it was answered."""
_UNREAD_BYTES = 32 * 1024
"""Of an answer, in memory: beyond that a client is waited for."""


def protocol(crowd: Crowd) -> Any:
    """The server's protocol; `auto`: the one there is takes any method, and has no limits."""
    try:
        import httptools  # noqa: PLC0415 - where it is installed
        from uvicorn.protocols.http.httptools_impl import (  # noqa: PLC0415
            HttpToolsProtocol,
            RequestResponseCycle,
        )
    except ImportError:
        return "auto"

    class Limited(HttpToolsProtocol):
        """A connection that is one of a crowd."""

        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            self.phase: Phase | None = None
            self.held = 0
            self._in_head = False
            self._head_bytes = self._drained = self._unsent = 0
            self._joined = self._dismissed = False
            self._under_way = False  # there is a cycle: the last request that came, answered or not
            self._working: RequestResponseCycle | None = None  # the one that is worked on: those behind it wait

        # what happens to a connection

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._joined = crowd.join(self)
            if self._joined:
                transport.set_write_buffer_limits(high=_UNREAD_BYTES)
            else:
                self._dismissed = True
                transport.write(_last_words(UNAVAILABLE, "There are too many connections: try again in a moment."))
                transport.close()

        def connection_lost(self, exc: Exception | None) -> None:
            if self._joined:
                self._joined = False
                crowd.leave(self)
            crowd.sent(self._unsent)
            self._unsent = 0
            self._hang_up()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            if self._dismissed:
                self._drain(data)
                return
            if data[:5] == LIST and self._between_requests():
                data = b"GET " + data[len(LIST) :]
            try:
                self.parser.feed_data(data)
            except httptools.HttpParserUpgrade:
                pass  # not offered: it is answered as the request that it also is
            except httptools.HttpParserError:
                if not self._dismissed:
                    self.dismiss(INVALID, "This is not an HTTP request that can be understood.")
                return
            if self._in_head:
                self._head_bytes += len(data)
                if self._head_bytes > crowd.most_head:
                    self.dismiss(HEAD_TOO_LARGE, f"The head of a request may have {crowd.most_head} bytes.")
                    return
            self._look_what_is_missing()
            if self.phase is Phase.DRAINING:
                self._drain(data)

        def _look_what_is_missing(self) -> None:
            """What this connection waits for now. Whoever waited for it before has not begun anew."""
            cycle, working = self.cycle, self._working
            phase: Phase | None
            if not self._under_way:
                phase = Phase.HEAD
            elif working is not None and not working.response_complete:
                phase = Phase.BODY if cycle.more_body else None
            elif cycle.more_body:
                phase = Phase.DRAINING
            else:
                phase = Phase.HEAD if self._in_head else Phase.IDLE
            if phase is not self.phase and self.phase is not Phase.SENDING:
                crowd.wait(self, phase)

        def _drain(self, data: bytes) -> None:
            self._drained += len(data)
            if self._drained > MOST_DRAINED:
                self.cut_off()

        def _between_requests(self) -> bool:
            return not self._in_head and (not self._under_way or not self.cycle.more_body)

        # what the parser finds

        def on_message_begin(self) -> None:
            self._in_head = True
            super().on_message_begin()

        def on_headers_complete(self) -> None:
            if len(self.pipeline) >= MOST_PIPELINED:
                self.cycle.keep_alive = False  # those are answered, and no more
                self._dismissed = True
            if self._dismissed:
                raise ConnectionAbortedError  # the parser stops
            self._in_head = False
            self._head_bytes = self._drained = 0
            super().on_headers_complete()
            self._under_way = True

        def on_body(self, body: bytes) -> None:
            super().on_body(body)
            if not self.cycle.response_complete and not crowd.hold(self, len(body)):
                self.dismiss(UNAVAILABLE, "Too much is being sent at once: try again in a moment.")
                raise ConnectionAbortedError

        def on_message_complete(self) -> None:
            super().on_message_complete()
            self.cycle.more_body = False  # also where it is answered already

        # what becomes of a request

        def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
            self._working = cycle
            crowd.begin(partial(self._begin, cycle, app))

        def _begin(self, cycle: RequestResponseCycle, app: Any) -> None:
            if not cycle.disconnected:
                super()._start_asgi_task(cycle, partial(answer_whole, cycle, app))

        def on_response_complete(self) -> None:
            self.server_state.total_requests += 1
            if self.transport.is_closing():
                return
            self.flow.resume_reading()
            if self.pipeline:
                self._start_asgi_task(*self.pipeline.pop())
            else:
                crowd.let_go(self)
            self._look_what_is_missing()

        def pause_writing(self) -> None:
            super().pause_writing()
            crowd.sent(self._unsent)
            self._unsent = self.transport.get_write_buffer_size()
            crowd.unsent(self, self._unsent)

        def resume_writing(self) -> None:
            super().resume_writing()
            crowd.sent(self._unsent)
            self._unsent = 0
            if self.phase is Phase.SENDING:
                crowd.wait(self, None)
                self._look_what_is_missing()

        # what becomes of those who ask too much

        def dismiss(self, kind: Kind, detail: str) -> None:
            """Say why, where that is still possible, and close. What comes then is read for a while: closing at once
            could take the answer away again.
            """
            if self._dismissed or self.transport.is_closing():
                return
            self._dismissed = True
            working = self._working
            answering = working is not None and working.response_started and not working.response_complete
            self._hang_up()
            if answering:
                self.transport.abort()
                return
            self.transport.write(_last_words(kind, detail))
            if self.transport.can_write_eof():
                self.transport.write_eof()
            self.flow.resume_reading()
            crowd.wait(self, Phase.DRAINING)

        def cut_off(self) -> None:
            self._dismissed = True
            self._hang_up()
            if self.transport.get_write_buffer_size():
                self.transport.abort()
            else:
                self.transport.close()

        def _hang_up(self) -> None:
            """Whoever works on a request of this connection hears that the client has gone."""
            self.pipeline.clear()
            working, self._working = self._working, None
            if working is not None and not working.response_complete:
                working.disconnected = True
                working.message_event.set()

    return Limited


def _last_words(kind: Kind, detail: str) -> bytes:
    body = msgspec.json.encode(Refusal(kind, detail).problem)
    head = (
        f"HTTP/1.1 {kind.status} {kind.title}\r\ncontent-type: {MEDIA_TYPE}\r\ncontent-length: {len(body)}\r\n"
        f"retry-after: 1\r\nconnection: close\r\n\r\n"
    )
    return head.encode() + body
