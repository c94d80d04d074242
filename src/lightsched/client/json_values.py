"""Where does one JSON value end, and the next begin? Found in a stream, without holding more than one of them.

A value is looked for in a piece of the stream that grows until it is whole. Whatever is not ASCII stands in strings, so
where a value ends does not depend on what it means.
"""

import json
import re
from collections.abc import Iterator
from typing import BinaryIO

from lightsched.client.errors import Invalid

_BLOCK = 65_536
_SPACE = b" \t\r\n"
_scan = json.JSONDecoder(parse_int=float).raw_decode  # finds where a value ends; what it makes of it is not used
_not_space = re.compile(rb"[^ \t\r\n]")


def elements(stream: BinaryIO, begin: bytes, most: int) -> Iterator[tuple[int, bytes]]:
    """The elements of the array that a file holds, each with its line. `begin`: what was read of it already."""
    window = _Window(stream, begin, most)
    window.take(b"[")
    if window.next() == b"]":
        window.take(b"]")
    else:
        while True:
            yield window.value()
            mark = window.next()
            if mark == b"]":
                window.take(mark)
                break
            if mark != b",":
                raise Invalid(
                    f"line {window.line}: is not JSON: {'a comma is missing' if mark else 'the list has no end'}."
                )
            window.take(mark)
    if window.next():
        raise Invalid(f"line {window.line}: after the end of the list there is more: send one list.")


def values(stream: BinaryIO, begin: bytes, most: int) -> Iterator[tuple[int, bytes]]:
    """The values of a file, one after the other."""
    window = _Window(stream, begin, most)
    while window.next():
        yield window.value()


class _Window:
    """A place in a stream, and what was read from there on."""

    def __init__(self, stream: BinaryIO, begin: bytes, most: int) -> None:
        self._stream = stream
        self._read = begin
        self._at = 0
        self._counted = 0
        self._size = 0  # of the last value: the next one is probably like it
        self._most = most
        self.line = 1

    def next(self) -> bytes:
        """The next character that is no space; nothing at the end."""
        while (found := _not_space.search(self._read, self._at)) is None:
            self._at = len(self._read)
            if not self._more():
                return b""
        self._at = found.start()
        self.line += self._read.count(b"\n", self._counted, self._at)
        self._counted = self._at
        return self._read[self._at : self._at + 1]

    def take(self, mark: bytes) -> None:
        assert self.next() == mark
        self._at += 1

    def value(self) -> tuple[int, bytes]:
        """The value that begins here, and its line."""
        self.next()
        room = max(2 * self._size, 4_096)
        while True:
            whole = True
            while whole and len(self._read) - self._at < room:
                whole = self._more()
            piece = self._read[self._at : self._at + room].decode("latin-1")
            ends = not whole and len(piece) < room  # with the stream
            try:
                _, size = _scan(piece)
            except RecursionError:
                raise Invalid(f"line {self.line}: is not JSON: it is nested too deeply.") from None
            except json.JSONDecodeError as error:
                if ends:
                    raise Invalid(f"line {self.line + error.lineno - 1}: is not JSON: {error.msg}.") from None
            else:
                if size < len(piece) or ends:  # a number goes on as long as there are digits
                    self._size = size
                    found = self._read[self._at : self._at + size]
                    self._at += size
                    return self.line, found
            if room > self._most:
                raise Invalid(f"line {self.line}: an event is longer than {self._most:,} bytes, or is not JSON.")
            room *= 2

    def _more(self) -> bool:
        block = self._stream.read(_BLOCK)
        if not block:
            return False
        self.line += self._read.count(b"\n", self._counted, self._at)
        self._read = self._read[self._at :] + block
        self._at = self._counted = 0
        return True
