"""How does a directory live? It is locked, what is under way is finished, then what is dropped is injected.

Whatever fails (no disk space, no broker, the directory is gone) is said, and after a pause it begins anew, as after a
crash; nothing is forgotten meanwhile, since all that counts is in the directory itself.
"""

import asyncio
import heapq
import logging
import os
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path
from time import monotonic, time, time_ns

from watchfiles import Change, awatch

from lightsched.client import ClientError
from lightsched_files.folder import Dropped, Folder, NotOurs
from lightsched_files.injecting import Injecting
from lightsched_files.journal import Entry, Journal
from lightsched_files.naming import shown
from lightsched_files.sending import Sender
from lightsched_files.settings import LimitSettings, WatchSettings
from lightsched_files.settling import Settling
from lightsched_files.taken import Taken

log = logging.getLogger("lightsched.files")

MOST_TAKEN = 100
"""Files that are under way at once."""
_SHORTEST_PAUSE_S, _LONGEST_PAUSE_S = 1.0, 30.0


class Watcher:
    """Watches one directory; several rules say what to do with which names, the first that matches holds."""

    def __init__(
        self,
        rules: Sequence[WatchSettings],
        sender: Callable[[], Sender],
        limits: LimitSettings,
        *,
        rescan_ms: int = 10_000,
        prefix: str = "lightsched.",
    ) -> None:
        self.path: Path = rules[0].directory
        self.counts: Counter[str] = Counter()
        self._rules = [(rule, Settling(rule.settle)) for rule in rules]
        self._make_sender = sender
        self._sender: Sender | None = None
        self._limits = limits
        self._rescan_s = rescan_ms / 1000
        self._prefix = prefix
        self._left: set[str] = set()  # what could not be taken
        self._stop = asyncio.Event()
        self._halt = threading.Event()
        self._told = asyncio.Event()  # something has changed in the directory

    def stop(self) -> None:
        """End, once the chunk that is on its way is through."""
        self._stop.set()
        self._halt.set()
        self._told.set()

    async def run(self, *, once: bool = False) -> None:
        """Until it is stopped; `once`: until what is there now is injected."""
        pause_s = _SHORTEST_PAUSE_S
        while not self._stop.is_set():
            began_s = monotonic()
            try:
                await self._wait_for_directory()
                await self._live(once=once)
            except (OSError, ClientError) as error:
                pause_s = _SHORTEST_PAUSE_S if monotonic() - began_s > _LONGEST_PAUSE_S else pause_s
                why = _in_words(error)
                log.error("%s: %s (again in %.0f s)", self.path, why, pause_s)  # noqa: TRY400 - for people
                await self._rest(pause_s)
                pause_s = min(pause_s * 2, _LONGEST_PAUSE_S)
            else:
                return

    async def _wait_for_directory(self) -> None:
        if not self.path.is_dir():
            log.info("%s is not there: waiting for it", self.path)
        while not self.path.is_dir() and not self._stop.is_set():
            await self._rest(self._rescan_s)

    async def _rest(self, seconds: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._stop.wait(), seconds)

    async def _live(self, *, once: bool) -> None:
        """From the lock to the end.

        1. Lock the directory.
        2. Finish what the journal says is under way.
        3. Take what is complete, and inject it; wait for more.
        """
        if self._stop.is_set():
            return
        folder = await asyncio.to_thread(Folder, self.path)
        with folder:
            log.info("watching %s", self.path)
            journal = await asyncio.to_thread(Journal.load, folder)
            self._tell_strange(folder, journal)
            listening = asyncio.create_task(self._listen())
            try:
                await self._inject(folder, journal)
                while not self._stop.is_set():
                    self._told.clear()
                    if await self._take(folder, journal):
                        await self._inject(folder, journal)
                    elif once and self._next_s() is None:
                        return
                    else:
                        with suppress(TimeoutError):
                            await asyncio.wait_for(self._told.wait(), self._next_s() or self._rescan_s)
            finally:
                listening.cancel()
                await asyncio.wait({listening})
                await self._disconnect()

    def _tell_strange(self, folder: Folder, journal: Journal) -> None:
        known = {entry.number for entry in journal.taken}
        if strange := [str(number) for number in folder.numbers() if number not in known]:
            where, which = folder.journal.parent, ", ".join(strange[:10])
            log.warning("%s holds %s, which no journal knows: look at it, and drop it again", where, which)

    async def _take(self, folder: Folder, journal: Journal) -> int:
        """Take what is complete, oldest first; how many."""
        return await asyncio.to_thread(self._take_some, folder, journal)

    def _take_some(self, folder: Folder, journal: Journal) -> int:
        folder.check()
        complete = self._complete(folder)
        self._left &= {found.name for found in complete}
        ready = heapq.nsmallest(MOST_TAKEN, complete, key=self._turn)
        if not ready:
            return 0
        seen_ms = time_ns() // 1_000_000
        taken = [_entry(journal.next + n, found, seen_ms) for n, found in enumerate(ready)]
        journal.next += len(taken)
        journal.taken += taken
        journal.save(folder)
        for entry in taken:
            if not self._takes(folder, entry):
                journal.taken.remove(entry)
        folder.sync()
        return len(journal.taken)

    def _takes(self, folder: Folder, entry: Entry) -> bool:
        name = os.fsdecode(entry.name)
        try:
            return folder.take(name, entry.number)
        except NotOurs as error:
            if name not in self._left:
                log.warning("%s: %s cannot be taken: %s; it is left there", self.path, shown(name), error)
            self._left.add(name)
            return False

    def _turn(self, found: Dropped) -> tuple[bool, int, str]:
        """Oldest first, but what could not be taken holds up nothing else."""
        return found.name in self._left, found.modified_ns, found.name

    def _complete(self, folder: Folder) -> list[Dropped]:
        by_rule: list[list[Dropped]] = [[] for _ in self._rules]
        for found in folder.dropped():
            for number, (rule, _) in enumerate(self._rules):
                if fnmatchcase(found.name, rule.pattern):
                    by_rule[number].append(found)
                    break
        wall_s, now_s = time(), monotonic()
        return [
            found
            for (_, settling), some in zip(self._rules, by_rule, strict=True)
            for found in settling.complete(some, wall_s, now_s)
        ]

    def _next_s(self) -> float | None:
        """How long until a file may be complete; None: none is on its way."""
        waits = [settling.wait_s for _, settling in self._rules if settling.wait_s is not None]
        return min(waits, default=None)

    async def _inject(self, folder: Folder, journal: Journal) -> None:
        files = [taken for entry in journal.taken if (taken := self._taken(folder, entry)) is not None]
        journal.taken = [taken.entry for taken in files]
        if not files:
            return
        try:
            sender = self._sender
            if sender is None:
                sender = self._sender = self._make_sender()
                journal.sent = max(journal.sent, await sender.open(journal.id))
            injecting = Injecting(folder, journal, sender, files)
            try:
                await injecting.run(self._stop)
            finally:
                self.counts += injecting.counts
        finally:
            for taken in files:
                taken.close()

    def _taken(self, folder: Folder, entry: Entry) -> Taken | None:
        name = os.fsdecode(entry.name)
        if not folder.holds(entry.number):  # it was put away, or never taken
            return None
        rule = next((rule for rule, _ in self._rules if fnmatchcase(name, rule.pattern)), None)
        if rule is None:
            log.warning("%s matches no pattern any more: it is left where it was dropped", shown(name))
            folder.put_back(entry.number, name)
            return None
        return Taken(folder, entry, rule, limits=self._limits, prefix=self._prefix, halt=self._halt)

    async def _disconnect(self) -> None:
        sender, self._sender = self._sender, None
        if sender is not None:
            await sender.close()

    async def _listen(self) -> None:
        """Be told of changes; where nobody tells, looking now and then has to do."""
        try:
            async for changes in awatch(self.path, recursive=False, watch_filter=None):
                if any(change is not Change.deleted for change, _ in changes):
                    self._told.set()
        except OSError as error:
            log.warning("%s: no news of changes (%s), looking every %.0f s", self.path, error, self._rescan_s)
        except RuntimeError as error:  # what watchfiles raises if the loop ends first
            log.debug("%s", error)


def _entry(number: int, found: Dropped, seen_ms: int) -> Entry:
    _, size, modified_ns = found.signature
    return Entry(number, os.fsencode(found.name), seen_ms, size, modified_ns)


def _in_words(error: Exception) -> str:
    if not isinstance(error, OSError) or error.strerror is None:
        return str(error)
    return f"{shown(os.fsdecode(error.filename))}: {error.strerror}" if error.filename else error.strerror
