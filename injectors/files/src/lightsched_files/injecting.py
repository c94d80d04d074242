"""How do files that were taken get in? In their order, in chunks; while one chunk is on its way, the next is made.

A chunk may end in the middle of a file, and small files share one. Once it is sent, the files that end in it are put
away: the journal says first what they will be called, then a report is written, then they are moved. Whatever fails on
the way is tried again from the journal, as after a crash.
"""

import asyncio
import logging
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from time import monotonic
from typing import Any, NamedTuple

from lightsched_files.folder import Folder
from lightsched_files.journal import Journal, Position
from lightsched_files.naming import shown
from lightsched_files.reporting import report_of
from lightsched_files.sending import Sender
from lightsched_files.taken import MOST_NOTED, Good, Interrupted, Taken

log = logging.getLogger("lightsched.files")

MOST_ABOUT_ONE = 8
"""So many commands about one event a server takes under one name."""
_SPEAK_S = 5.0


class Chunk(NamedTuple):
    """What is sent together, and the files of which nothing is left then."""

    events: list[Good]
    packed: Any
    ended: list[Taken]

    @property
    def until(self) -> Position:
        """The last event that is in it."""
        last = self.events[-1]
        return Position(last.taken.entry.number, last.place)


class Injecting:
    """Injects the files that a journal names."""

    def __init__(self, folder: Folder, journal: Journal, sender: Sender, files: Sequence[Taken]) -> None:
        self._folder = folder
        self._journal = journal
        self._sender = sender
        self._files = files
        self._found = self._read(journal.sent, max(journal.sent, journal.sending or journal.sent))
        self._spoke_s = monotonic()
        self.counts: Counter[str] = Counter()

    async def run(self, stop: asyncio.Event) -> None:
        """Until all is sent and put away, or, between two chunks, until it is to stop."""
        making = self._make(self._journal.sending)
        try:
            while (chunk := await making) is not None:
                making = self._make(None)
                if chunk.events:
                    await self._send(chunk)
                await asyncio.to_thread(self._put_away, chunk)
                if stop.is_set():
                    break
            await asyncio.to_thread(self._journal.save, self._folder)
        except Interrupted:
            return
        finally:
            await asyncio.gather(making, return_exceptions=True)

    def _make(self, limit: Position | None) -> "asyncio.Task[Chunk | None]":
        return asyncio.create_task(asyncio.to_thread(self._next_chunk, limit))

    def _read(self, sent: Position, maybe: Position) -> Iterator[Good | Taken]:
        """The events of all files that are not sent yet; where a file ends, the file. `maybe`: so far may be sent."""
        for taken in self._files:
            number = taken.entry.number
            taken.examine(begun=number <= maybe.number)
            if number >= sent.number:
                yield from taken.events(after=sent.place if number == sent.number else 0)
            yield taken

    def _next_chunk(self, limit: Position | None) -> Chunk | None:
        """As much as may be sent together; after a crash, what was sent together then."""
        sender = self._sender
        most_events, most_bytes, announces = sender.most_events, sender.most_bytes, sender.announces
        events: list[Good] = []
        ended: list[Taken] = []
        about: Counter[tuple[str, str | None, str]] = Counter()
        size = 0
        for found in self._found:
            if isinstance(found, Taken):
                ended.append(found)
                continue
            event = found.event
            if announces:
                about[event.tenant, event.key, event.id] += 1
            events.append(found)
            size += len(event.body)
            if size >= most_bytes or len(events) >= most_events:
                break
            if announces and (about[event.tenant, event.key, event.id] == MOST_ABOUT_ONE or _is(limit, found)):
                break
        if not events and not ended:
            return None
        return Chunk(events, sender.pack(events), ended)

    async def _send(self, chunk: Chunk) -> None:
        journal = self._journal
        if self._sender.announces:
            journal.sending = chunk.until
            await asyncio.to_thread(journal.save, self._folder)
        for index, why in await self._sender.send(chunk.packed, chunk.until):
            good = chunk.events[index]
            entry = good.taken.entry
            entry.refusals += 1
            if len(entry.refused) < MOST_NOTED:
                entry.refused.append((good.line, why))
        journal.sent, journal.sending = chunk.until, None
        self.counts["events"] += len(chunk.events)
        if monotonic() - self._spoke_s > _SPEAK_S:
            self._spoke_s = monotonic()
            last = chunk.events[-1]
            log.info("%s: %s of %s events are sent", shown(last.taken.name), f"{last.place:,}", f"{last.taken.good:,}")

    def _put_away(self, chunk: Chunk) -> None:
        """Where what has ended belongs.

        1. The journal says how far it is sent, and what the files will be called.
        2. The report is written.
        3. The file is moved. After a crash, 2 and 3 are done again.
        """
        folder, journal = self._folder, self._journal
        ended = [taken for taken in chunk.ended if not taken.still_written]
        for taken in ended:
            taken.entry.failed = taken.failed
            if not taken.entry.target:
                self._name(taken)
        journal.save(folder)
        for taken in ended:
            if report := report_of(taken):
                folder.report(os.fsdecode(taken.entry.target), report)
            while not folder.put(taken.entry.number, self._place_of(taken), os.fsdecode(taken.entry.target)):
                self._name(taken)  # somebody was quicker
                journal.save(folder)
            self._tell(taken)
        for taken in chunk.ended:
            if taken.still_written:
                folder.put_back(taken.entry.number, taken.name)
                log.info("%s is still being written: it is left until it is complete", shown(taken.name))
            journal.taken.remove(taken.entry)
            taken.close()

    def _name(self, taken: Taken) -> None:
        others = frozenset(os.fsdecode(entry.target) for entry in self._journal.taken)
        taken.entry.target = os.fsencode(self._folder.free_name(taken.name, others))

    def _place_of(self, taken: Taken) -> int:
        return self._folder.failed if taken.failed else self._folder.done

    def _tell(self, taken: Taken) -> None:
        where = "failed" if taken.failed else "done"
        self.counts[where] += 1
        told = log.warning if taken.failed or taken.bad or taken.entry.refusals else log.info
        target = shown(os.fsdecode(taken.entry.target))
        told("%s: %s; it is in %s/%s", shown(taken.name), taken.in_words(), where, target)


def _is(position: Position | None, good: Good) -> bool:
    return position == (good.taken.entry.number, good.place)
