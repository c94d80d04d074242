"""How many may come at once, and how long may one keep us waiting? A limit on everything that a connection can hold.

A connection that waits is in a phase, for no longer than the settings say:

| phase | it waits for | then |
|---|---|---|
| `HEAD` | the head of a request, from its first byte, or from the connection on | 408 |
| `BODY` | the rest of a request | 408 |
| `IDLE` | the next request | closed |
| `DRAINING` | the end of a request that was answered before it was complete | closed |
| `SENDING` | the client to read its answer | cut off |

When there are too many connections, the one that has kept us waiting longest gives way, idle ones first. So whoever
holds connections without using them cannot keep the others out. What bodies and unread answers hold in memory is
bounded in the same way. A request that is being worked on always gets its answer.

Requests begin some at a time in each turn of the event loop: the workers share it, and have theirs in between.
"""

import asyncio
import logging
from collections import Counter, deque
from collections.abc import Callable
from enum import IntEnum
from time import monotonic
from typing import Protocol

from lightsched.api.problem import TIMEOUT, UNAVAILABLE, Kind
from lightsched.node.settings import HttpSettings

log = logging.getLogger(__name__)

BEGIN_AT_ONCE = 12
"""Requests that begin in one turn of the event loop: a few milliseconds."""
_DRAIN_S = 2.0
_SAY_EVERY_S = 10.0
_RESERVED_FILES = 256
"""For the store, the log and everything else that is not a connection; or half of all, where there are few."""


class Phase(IntEnum):
    """What a connection waits for."""

    IDLE = 0
    HEAD = 1
    BODY = 2
    DRAINING = 3
    SENDING = 4


_LATE = {Phase.HEAD: "the head of a request", Phase.BODY: "the rest of a request"}

_GIVES_WAY = (Phase.IDLE, Phase.DRAINING, Phase.HEAD, Phase.BODY, Phase.SENDING)


class Connection(Protocol):
    """One of the crowd."""

    phase: Phase | None
    held: int

    def dismiss(self, kind: Kind, detail: str) -> None:
        """Say why, where that is still possible, and close."""

    def cut_off(self) -> None:
        """Close at once."""


class Crowd:
    """All connections of a server."""

    def __init__(self, http: HttpSettings, files: int, count: Callable[[str], None]) -> None:
        """`files`: how many the process may have open; `count` is told the reason when one is turned away."""
        self.most = min(http.connections, files - min(_RESERVED_FILES, files // 2))
        if self.most < http.connections:
            log.warning(
                "at most %d connections at a time instead of %d: only %d files may be open (ulimit -n)",
                self.most,
                http.connections,
                files,
            )
        self.most_head = http.head
        self._count = count
        self._most_bodies, self._most_unsent = http.bodies, http.unsent
        self._connections = 0
        self._bodies = self._unsent = 0
        self._waiting: dict[Phase, dict[Connection, float]] = {phase: {} for phase in Phase}
        self._patience_s = {
            Phase.HEAD: http.head_timeout / 1000,
            Phase.BODY: http.body_timeout / 1000,
            Phase.IDLE: http.keep_alive / 1000,
            Phase.SENDING: http.send_timeout / 1000,
            Phase.DRAINING: _DRAIN_S,
        }
        self._begun = 0
        self._to_begin: deque[Callable[[], None]] = deque()
        self._turned_away: Counter[str] = Counter()
        self._said_at = 0.0

    @property
    def size(self) -> int:
        """How many connections there are."""
        return self._connections

    def join(self, connection: Connection) -> bool:
        """A new connection; false: there is no room, and none that could be made."""
        if self._connections >= self.most and not self._make_room():
            self._turn_away("connections")
            return False
        self._connections += 1
        self.wait(connection, Phase.HEAD)
        return True

    def leave(self, connection: Connection) -> None:
        """A connection that had joined is closed."""
        self._connections -= 1
        self.wait(connection, None)
        self.let_go(connection)

    def wait(self, connection: Connection, phase: Phase | None) -> None:
        """A connection waits for something else from now on; None: for us."""
        if connection.phase is not None:
            self._waiting[connection.phase].pop(connection, None)
        connection.phase = phase
        if phase is not None:
            self._waiting[phase][connection] = monotonic()

    def hold(self, connection: Connection, size: int) -> bool:
        """So many bytes more of a body are in memory; false: there is no room."""
        connection.held += size
        self._bodies += size
        while self._bodies > self._most_bodies:
            slowest = next((each for each in self._waiting[Phase.BODY] if each.held and each is not connection), None)
            self._turn_away("bodies")
            if slowest is None:
                return False
            self.wait(slowest, None)
            self.let_go(slowest)
            slowest.dismiss(UNAVAILABLE, "Too much is being sent at once: try again in a moment.")
        return True

    def let_go(self, connection: Connection) -> None:
        """The bodies of a connection are done with."""
        self._bodies -= connection.held
        connection.held = 0

    def unsent(self, connection: Connection, size: int) -> None:
        """So much of an answer has not been read yet."""
        self.wait(connection, Phase.SENDING)
        sending = self._waiting[Phase.SENDING]
        self._unsent += size
        if self._unsent > self._most_unsent:
            self._turn_away("unsent")
            slowest = next(iter(sending))
            self.wait(slowest, None)
            slowest.cut_off()

    def sent(self, size: int) -> None:
        """So much that was unsent is not any more."""
        self._unsent -= size

    def begin(self, start: Callable[[], None]) -> None:
        """Start a request: now, or in one of the next turns of the event loop."""
        if not self._begun:
            asyncio.get_running_loop().call_soon(self._next_turn)
        self._begun += 1
        if self._begun <= BEGIN_AT_ONCE:
            start()
        else:
            self._to_begin.append(start)

    def _next_turn(self) -> None:
        self._begun = 0
        for _ in range(min(len(self._to_begin), BEGIN_AT_ONCE)):
            self.begin(self._to_begin.popleft())

    def look(self) -> None:
        """Let go of those who have waited for too long. To be called every second."""
        now = monotonic()
        for phase, waiting in self._waiting.items():
            until = now - self._patience_s[phase]
            late = []
            for connection, since in waiting.items():
                if since > until:
                    break
                late.append(connection)
            for connection in late:
                self.wait(connection, None)
                if phase in _LATE:
                    self._turn_away("slow")
                    seconds = self._patience_s[phase]
                    connection.dismiss(TIMEOUT, f"We have waited {seconds:g} s for {_LATE[phase]}: send it faster.")
                else:
                    if phase is Phase.SENDING:
                        self._turn_away("slow")
                    connection.cut_off()
        if self._turned_away and now - self._said_at >= _SAY_EVERY_S:
            self._said_at = now
            said = ", ".join(f"{number} ({reason})" for reason, number in sorted(self._turned_away.items()))
            log.warning("connections turned away: %s; %d are open", said, self._connections)
            self._turned_away.clear()

    def _make_room(self) -> bool:
        """The connection that waits longest gives way."""
        for phase in _GIVES_WAY:
            if longest := next(iter(self._waiting[phase]), None):
                self._turn_away("connections")
                self.wait(longest, None)
                longest.cut_off()
                return True
        return False

    def _turn_away(self, reason: str) -> None:
        self._turned_away[reason] += 1
        self._count(reason)
