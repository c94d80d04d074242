"""What is under way? From the moment a delivery is taken until what came of it is reported.

Three loops: one takes deliveries while there is room, one says what came of them, in batches as large as they get while
the batch before is on its way, and one sends heartbeats. In between the crew calls the functions.
"""

import asyncio
import logging
from collections.abc import Callable, Collection

from lightsched.executor.crew import Crew
from lightsched.executor.heartbeats import Heartbeats
from lightsched.executor.lanes import Lanes
from lightsched.executor.outcomes import Fatal, Reporting, Retry
from lightsched.executor.routes import Routes
from lightsched.executor.source import Said, Source
from lightsched.executor.taken import Place, Taken

log = logging.getLogger(__name__)

TAKEN_PER_RUNNING = 2
"""So many may be here for each that may run: the next are at hand when one is done."""
MOST_UNSAID = 5_000
HAND_OVER_S = 10.0
"""A place that goes to another executor is waited for so long."""


class Work:
    """All deliveries that an executor has taken."""

    def __init__(self, source: Source, routes: Routes, name: str, concurrency: int, tenant: str | None) -> None:
        self._source = source
        self._routes = routes
        self._tenant = None if tenant is None else tenant.encode()
        self._most = concurrency * TAKEN_PER_RUNNING
        self._lanes = Lanes()
        self._crew = Crew(self._lanes, concurrency, self._execute)
        self._reporting = Reporting(name)
        self._heartbeats = Heartbeats(self._beat_now)
        self._here: set[Taken] = set()  # taken and not done
        self._unsaid: list[Said] = []
        self._saying = 0
        self._to_say = asyncio.Event()
        self._all_said = asyncio.Event()
        self._changed = asyncio.Event()  # there is room, or it has become empty
        self._unknown: set[bytes] = set()
        self._closing = False

    async def run(self, stopping: asyncio.Event, grace_s: float) -> None:
        """Work until it is time to stop. What was taken by then is finished, if it takes no longer than the grace."""
        await self._source.start(self.hand_over)
        tasks = [
            asyncio.create_task(self._take(), name="executor takes"),
            asyncio.create_task(self._say(), name="executor says"),
            asyncio.create_task(self._heartbeats.run(self._here), name="executor heartbeats"),
        ]
        end = asyncio.create_task(stopping.wait())
        try:
            await asyncio.wait([end, *tasks], return_when=asyncio.FIRST_COMPLETED)
            if not any(task.done() for task in tasks):
                tasks[0].cancel()
                await self._drain(grace_s)
            for ended in tasks:
                if ended.done() and not ended.cancelled():
                    ended.result()
        finally:
            self._closing = True
            for task in (end, *tasks):
                task.cancel()
            await asyncio.gather(end, *tasks, return_exceptions=True)
            await self._crew.dismiss()
            await self._source.close()

    async def _take(self) -> None:
        while True:
            while (room := min(self._most - len(self._here), MOST_UNSAID - len(self._unsaid))) <= 0:
                self._changed.clear()
                await self._changed.wait()
            for taken in await self._source.take(room):
                self._admit(taken)
            if self._lanes.ready:
                self._crew.call()

    def _admit(self, taken: Taken) -> None:
        type_ = taken.headers.get("ce_type", b"")
        if self._routes.find(type_) is None or (self._tenant and taken.headers.get("ls_tenant") != self._tenant):
            if type_ not in self._unknown and len(self._unknown) < 1_000:
                self._unknown.add(type_)
                log.info(
                    "nobody executes deliveries of the type %r here: left to others", type_.decode(errors="replace")
                )
            self._done(taken, None)
            return
        self._here.add(taken)
        if taken.timeout_ms:
            self._heartbeats.watch(taken)
        self._lanes.put(taken)

    async def _execute(self, taken: Taken) -> None:
        """Call the function for a delivery, and note what came of it."""
        call = self._routes.find(taken.headers.get("ce_type", b""))
        assert call is not None, "it was admitted"
        taken.running = True
        tracked = taken.timeout_ms
        try:
            returned = await call(taken, self._beat)
            report = self._reporting.success(taken, returned) if tracked else None
        except Exception as error:  # noqa: BLE001 - whatever it is, it is what came of it
            report = self._reporting.failure(taken, error) if tracked else None
            self._log(taken, error)
        except asyncio.CancelledError as error:
            if self._crew.dismissed:
                self._let_go(taken)
                raise
            report = self._reporting.failure(taken, error) if tracked else None  # something of its own was cancelled
            self._log(taken, error)
        self._here.discard(taken)
        self._lanes.done(taken)
        self._done(taken, report)

    def _log(self, taken: Taken, error: BaseException) -> None:
        if isinstance(error, Retry | Fatal):
            log.info("%s: %s: %s", taken.name, type(error).__name__, error)
        else:
            log.error("%s failed", taken.name, exc_info=error)

    def _done(self, taken: Taken, report: bytes | None) -> None:
        taken.settled = True
        self._unsaid.append(Said(taken, report))
        self._to_say.set()
        self._changed.set()

    def _let_go(self, taken: Taken) -> None:
        """It will not be done here: its place brings it back; or, if it is carried by its lease, what is said of it."""
        self._here.discard(taken)
        if taken.timeout_ms and taken.leased:
            self._unsaid.append(Said(taken, self._reporting.stopped(taken)))

    async def _beat(self, taken: Taken) -> None:
        """A function says that it is at work."""
        if taken.timeout_ms:
            self._heartbeats.beat(taken)

    def _beat_now(self, taken: Taken) -> None:
        taken.leased = True
        self._unsaid.append(Said(taken, self._reporting.heartbeat(taken)))
        self._to_say.set()

    async def _say(self) -> None:
        """Say what there is to say, together; what comes meanwhile is next."""
        while True:
            await self._to_say.wait()
            self._to_say.clear()
            said, self._unsaid = self._unsaid, []
            if said:
                self._saying = len(said)
                self._lose(await self._source.say(said))
                self._saying = 0
                self._changed.set()

    def _lose(self, lost: Collection[Taken]) -> None:
        """Others have the place of these: no more heartbeats, and what has not begun need not."""
        for taken in lost:
            if taken in self._here:
                taken.timeout_ms = 0
                taken.leased = True
        for taken in self._lanes.drop(lambda taken: taken in lost) if lost else ():
            self._here.discard(taken)
            self._done(taken, None)

    async def hand_over(self, places: Collection[Place]) -> None:
        """Some places go to another executor.

        1. What was taken from them is finished, for as long as others can wait.
        2. What has not begun by then is let go of: it comes to the other one. Unless it has had a heartbeat: then its
           lease is what counts, not its place, and it stays here.
        3. What runs, and somebody waits for, has a heartbeat: its lease is what counts from here on; it goes on here.
        4. All that is said is on its way before the places are given up.
        """
        mine = {taken for taken in self._here if taken.place in places}
        await self._until(lambda: not (mine & self._here), HAND_OVER_S)
        for taken in self._lanes.drop(lambda taken: taken.place in places and not taken.leased):
            self._here.discard(taken)
        for taken in mine & self._here:
            if taken.timeout_ms and not taken.leased:
                self._beat_now(taken)
        await self._until(self._nothing_to_say, HAND_OVER_S)

    async def _drain(self, grace_s: float) -> None:
        """Finish what was taken, as long as there is time; cancel the rest; say what came of it."""
        self._crew.call()
        if not await self._until(lambda: not self._here, grace_s):
            for taken in self._lanes.drop(lambda _: True):
                self._let_go(taken)
            running = [taken.name for taken in self._here]
            log.warning("stopped before %d deliveries were done: %s", len(running), ", ".join(running[:5]))
            await self._crew.dismiss()
        self._to_say.set()
        await self._until(self._nothing_to_say, HAND_OVER_S)

    def _nothing_to_say(self) -> bool:
        return not self._unsaid and not self._saying

    async def _until(self, holds: Callable[[], bool], within_s: float) -> bool:
        try:
            async with asyncio.timeout(within_s):
                while not holds():
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            return False
        return True
