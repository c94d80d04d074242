"""What is under way? The files that were taken, and how far the injecting has come: enough to go on after a crash.

Files have numbers in the order in which they were taken, and are injected in that order; so one position, the number of
a file and a place in it, says what has been sent and what has not. The journal is written whole, before what it says
comes true: before a file is taken, before a request is sent, before a file is put away.
"""

from secrets import token_hex
from typing import NamedTuple

import msgspec

from lightsched.errors import LightschedError
from lightsched_files.folder import Folder

VERSION = 1


class BadJournal(LightschedError):
    """The journal {path} cannot be read ({why}): move it away, and drop again what lies beside it under a number."""


class NewerJournal(LightschedError):
    """The journal in {path} was written by a newer version ({version}): use that one."""


class Position(NamedTuple):
    """Everything up to here, this included."""

    number: int = 0
    place: int = 0


class Entry(msgspec.Struct):
    """A file that was taken."""

    number: int
    name: bytes  # which may be no text
    seen_ms: int  # `in` counts from then
    size: int = -1  # as it was then; -1: not known
    modified_ns: int = 0  # likewise
    failed: bool = False
    target: bytes = b""  # what it is called where it is put; empty: it is being injected
    refused: list[tuple[int, str]] = []  # lines that the server did not want
    refusals: int = 0  # how many, all of them


class Journal(msgspec.Struct):
    """What is under way in one directory."""

    version: int = VERSION
    id: str = msgspec.field(default_factory=lambda: token_hex(8))  # of the directory
    next: int = 1
    taken: list[Entry] = []
    sent: Position = Position()
    sending: Position | None = None  # up to there a request may have been sent

    @classmethod
    def load(cls, folder: Folder) -> "Journal":
        """As it was left; a new one for a directory that has none. No number is given that something has."""
        content = folder.load()
        journal = cls._read(content, folder) if content else cls()
        journal.next = max([journal.next, *(number + 1 for number in folder.numbers())])
        if not content:
            journal.save(folder)
        return journal

    @classmethod
    def _read(cls, content: bytes, folder: Folder) -> "Journal":
        try:
            version = msgspec.json.decode(content, type=_Version).version
            if version != VERSION:
                raise NewerJournal(path=folder.path, version=version)
            return msgspec.json.decode(content, type=cls)
        except msgspec.DecodeError as error:
            raise BadJournal(path=folder.journal, why=error) from None

    def save(self, folder: Folder) -> None:
        """Make it durable."""
        folder.save(msgspec.json.encode(self))


class _Version(msgspec.Struct):
    """What every journal has, whichever version it is of."""

    version: int
