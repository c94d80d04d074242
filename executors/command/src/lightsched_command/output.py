"""How much of a program's output is kept? Its beginning and its end; what lies between is read and let go of."""

import asyncio
from collections import deque


class Kept:
    """The first and the last bytes of a stream, each up to a limit."""

    def __init__(self, each: int) -> None:
        self._each = each
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        self.cut = 0
        """So many bytes are missing in between."""

    def add(self, chunk: bytes) -> None:
        """More has come."""
        room = self._each - len(self._head)
        self._head += chunk[:room]
        rest = chunk[room:]
        if not rest:
            return
        self._tail.append(rest)
        self._tail_size += len(rest)
        while self._tail_size > self._each:
            first = self._tail.popleft()
            over = min(self._tail_size - self._each, len(first))
            self.cut += over
            self._tail_size -= over
            if over < len(first):
                self._tail.appendleft(first[over:])

    @property
    def tail(self) -> bytes:
        """The end of it."""
        return b"".join(self._tail) or bytes(self._head)

    def text(self) -> str:
        """All that is kept; it says where something was cut."""
        head, tail = bytes(self._head), b"".join(self._tail)
        if not self.cut:
            return (head + tail).decode(errors="replace")
        between = f"\n… {self.cut} bytes were cut here …\n"
        return head.decode(errors="replace") + between + tail.decode(errors="replace")


async def drain(stream: asyncio.StreamReader, each: int) -> Kept:
    """Read a stream to its end."""
    kept = Kept(each)
    while chunk := await stream.read(65_536):
        kept.add(chunk)
    return kept
