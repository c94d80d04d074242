"""How do connections come in? A few in each turn of the event loop: however many knock, the workers have their turns.

The loop's own server takes all that wait, in one go. When no more files can be opened, it says so, waits a moment and
goes on.
"""

import asyncio
import logging
import socket
from collections.abc import Callable
from time import monotonic

log = logging.getLogger(__name__)

AT_ONCE = 48
"""More would hold up what is due; fewer, and the kernel turns away those who wait, honest ones too."""
_PAUSE_S = 0.2
_SAY_EVERY_S = 10.0


class Accepting:
    """Takes the place of an `asyncio.Server` for one socket."""

    def __init__(self, listening: socket.socket, make: Callable[[], asyncio.Protocol]) -> None:
        self._loop = asyncio.get_running_loop()
        self._listening = listening
        self._make = make
        self._coming: set[asyncio.Task[object]] = set()
        self._pausing: asyncio.TimerHandle | None = None
        self._said_at = float("-inf")
        listening.setblocking(False)
        self._resume()

    def close(self) -> None:
        """Accept no more."""
        if self._pausing is not None:
            self._pausing.cancel()
        self._loop.remove_reader(self._listening)

    async def wait_closed(self) -> None:
        """Those that were accepted are connected."""
        if self._coming:
            await asyncio.wait(self._coming)

    def _resume(self) -> None:
        self._pausing = None
        self._loop.add_reader(self._listening, self._accept)

    def _accept(self) -> None:
        for _ in range(AT_ONCE):
            try:
                connection, _ = self._listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                self._pause(error)
                return
            connection.setblocking(False)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            coming = self._loop.create_task(self._connect(connection))
            self._coming.add(coming)
            coming.add_done_callback(self._coming.discard)

    async def _connect(self, connection: socket.socket) -> None:
        try:
            await self._loop.connect_accepted_socket(self._make, connection)
        except OSError:
            connection.close()  # it has gone already

    def _pause(self, error: OSError) -> None:
        if monotonic() - self._said_at >= _SAY_EVERY_S:
            self._said_at = monotonic()
            log.warning("no more connections can be accepted for now (%s): raise the limit (ulimit -n)", error.strerror)
        self._loop.remove_reader(self._listening)
        self._pausing = self._loop.call_later(_PAUSE_S, self._resume)
