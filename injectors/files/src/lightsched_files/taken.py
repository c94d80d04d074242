"""What is in a file that was taken? It is read twice: to see whether all of it makes sense, then to send it.

The first reading also makes the mark of its content, which the ids are made from. Neither holds more than one event.
What is wrong is noted, as far as somebody would read it; that a file changes meanwhile is noticed.
"""

import os
from collections.abc import Iterator
from hashlib import sha256
from io import BufferedReader, FileIO
from pathlib import PurePath
from threading import Event
from typing import Any, BinaryIO

import msgspec

from lightsched.client import Invalid
from lightsched.injector import (
    SUFFIXES,
    InvalidEvent,
    Limits,
    Prepared,
    Read,
    Source,
    Stamp,
    Topics,
    converter_named,
    converting,
    reading,
    short,
)
from lightsched_files.folder import Folder, NotAFile
from lightsched_files.journal import Entry
from lightsched_files.naming import events_are, shown
from lightsched_files.settings import LimitSettings, WatchSettings

MOST_NOTED = 1_000
"""Bad lines that are named; the others are counted."""
MOST_PASSED_OVER = 1_000_000
"""With more bad lines than that, nothing of a file is sent, whatever the policy."""


class Good(msgspec.Struct, gc=False):
    """An event that makes sense: its file, its line, and its place among all."""

    taken: "Taken"
    line: int
    place: int
    event: Prepared


class Interrupted(BaseException):
    """Somebody wants an end; nobody on the way may take it for an error of his own."""


class Taken:
    """A file that was taken."""

    def __init__(
        self, folder: Folder, entry: Entry, rule: WatchSettings, *, limits: LimitSettings, prefix: str, halt: Event
    ) -> None:
        """`prefix`: of lightsched's own topics. `halt`: set when reading is to stop."""
        self.entry = entry
        self.name = os.fsdecode(entry.name)
        self.rule = rule
        self.problems: list[tuple[int, str]] = []
        self.bad = self.good = self.size = 0
        self._bad_places: set[int] = set()
        self.changed = False  # while it was injected
        self.still_written = False  # it was not complete
        self._halt = halt
        self._limits = limits
        self._events = Limits(payload=limits.payload, horizon_ms=limits.horizon, names=Topics(prefix))
        self._mark = ""
        self._fd: int | None = None
        self._signature: tuple[int, int] | None = None
        try:
            self._fd = folder.open(entry.number)
        except NotAFile as error:
            self._note(0, str(error))

    def close(self) -> None:
        """Let go of the file."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    @property
    def rejected(self) -> bool:
        """Nothing of it is sent."""
        if self.bad == 0:
            return False
        return self.good == 0 or self.rule.on_error == "reject" or self.bad > MOST_PASSED_OVER

    @property
    def failed(self) -> bool:
        """It is not as it should be, and belongs into `failed`."""
        refusals = self.entry.refusals
        return (
            self.rejected
            or self.changed
            or (refusals > 0 and (self.rule.on_error == "reject" or refusals == self.good))
        )

    def in_words(self) -> str:
        """What became of it, for the log."""
        scheduled = 0 if self.rejected else self.good - self.entry.refusals
        wrong = self.bad + self.entry.refusals
        return f"{events_are(scheduled)} scheduled" + (f", {wrong:,} problem{'s' * (wrong > 1)}" if wrong else "")

    def examine(self, *, begun: bool) -> None:
        """See whether it makes sense, and is complete. `begun`: some of it is sent already."""
        if self._fd is None:
            return
        found = os.fstat(self._fd)
        self.size, self._signature = found.st_size, (found.st_size, found.st_mtime_ns)
        if self.entry.size >= 0 and self._signature != (self.entry.size, self.entry.modified_ns):
            self.changed, self.still_written = begun, not begun
            return
        if self.size > self._limits.file:
            self._note(0, f"has {self.size:,} bytes, the limit is {self._limits.file:,}: split it")
            return
        hashed = _Hashed(self._fd, self._halt)
        check, good = self._stamp("0" * 16).check, 0
        try:
            for place, line in enumerate(self._read()(_buffered(hashed)), start=1):
                if line.problem:
                    self._note(line.number, line.problem, place)
                    continue
                try:
                    check(line.body)
                except InvalidEvent as error:
                    self._note(line.number, "; ".join(map(str, error.problems)), place)
                else:
                    good += 1
            self.good = good
        except Invalid as error:
            self._cannot_be_read(str(error))
        self._mark = hashed.mark()
        if self._changes():
            self.changed, self.still_written = begun, not begun

    def events(self, after: int) -> Iterator[Good]:
        """The events that make sense, from behind a place on."""
        if self.rejected or self.still_written or self.changed or self._fd is None:
            return
        prepare = self._stamp(self._mark).prepare
        bad = self._bad_places
        for place, line in enumerate(self._read()(_buffered(_Again(self._fd, self._halt))), start=1):
            if place > after and place not in bad:
                yield Good(self, line.number, place, prepare(line.body, place))
        self.changed = self._changes()

    def _read(self) -> Read:
        rule = self.rule
        if rule.converter is not None:
            assert self._signature is not None
            source = Source(shown(self.name), self._signature[1] // 1_000_000, rule.options)
            return converting(converter_named(rule.converter), source, self._limits.line)
        form = rule.format or SUFFIXES.get(PurePath(self.name).suffix.lower())
        if form is None:
            known = " ".join(SUFFIXES)
            raise Invalid(f"its form is not known: name it with one of {known}, or set `format` or `converter`.")
        return reading(form, self._limits.line)

    def _stamp(self, mark: str) -> Stamp:
        return Stamp(mark, self.entry.seen_ms, self.rule.tenant, self._events)

    def _changes(self) -> bool:
        assert self._fd is not None
        found = os.fstat(self._fd)
        return self._signature != (found.st_size, found.st_mtime_ns)

    def _note(self, line: int, problem: str, place: int = 0) -> None:
        self.bad += 1
        if self.bad <= MOST_PASSED_OVER:
            self._bad_places.add(place)
        if len(self.problems) < MOST_NOTED:
            self.problems.append((line, problem))

    def _cannot_be_read(self, why: str) -> None:
        """Of a file that breaks off nothing is sent, whatever the policy: it may not be whole."""
        number = why.removeprefix("line ").partition(":")[0]
        is_numbered = why.startswith("line ") and number.isdigit()
        self._note(int(number) if is_numbered else 0, why.partition(": ")[2] if is_numbered else why)


def _buffered(raw: FileIO) -> BinaryIO:
    """Blocks are read by whoever takes them apart: a second buffer would only copy them."""
    return BufferedReader(raw, 64 * 1024)


class _Again(FileIO):
    """A descriptor, read from the beginning and left open."""

    def __init__(self, fd: int, halt: Event) -> None:
        super().__init__(fd, closefd=False)
        self.seek(0)
        self._halt = halt

    def readinto(self, buffer: Any, /) -> int | None:
        if self._halt.is_set():
            raise Interrupted
        return super().readinto(buffer)


class _Hashed(_Again):
    """The same, and what was read is hashed."""

    def __init__(self, fd: int, halt: Event) -> None:
        super().__init__(fd, halt)
        self._hash = sha256()

    def readinto(self, buffer: Any, /) -> int | None:
        size = super().readinto(buffer)
        self._hash.update(memoryview(buffer)[:size])
        return size

    def mark(self) -> str:
        """What the content is known by, once it was read to the end."""
        return short(self._hash.hexdigest())
