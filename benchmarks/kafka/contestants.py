"""Who takes part? lightsched in one or two processes, Kafka Streams twice, and bare aiokafka, which is the limit."""

import asyncio
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Protocol

from aiokafka import TopicPartition
from aiokafka.admin import AIOKafkaAdminClient

from benchmarks.kafka import bare, streams
from benchmarks.kafka.loader import Loader
from benchmarks.kafka.nodes import Node
from benchmarks.kafka.program import READY_WITHIN_S, Program, ProgramFailed

PARTITIONS = 12


class Contestant(Protocol):
    """A scheduler, running."""

    @property
    def programs(self) -> Sequence[Program]: ...

    async def start(self) -> None:
        """Until it would take a load at once."""

    async def has_stored(self, load: Loader) -> bool:
        """Has it taken all that was loaded, durably?"""

    async def stop(self) -> None: ...


class Lightsched:
    """Nodes of one cluster."""

    def __init__(self, count: int, bootstrap: str, prefix: str, folder: Path, *, static: bool = False) -> None:
        names = [f"lightsched-{number}" for number in range(1, count + 1)]
        self.nodes = [Node(name, bootstrap, prefix, folder, static=static) for name in names]

    @property
    def programs(self) -> list[Program]:
        return [node.running for node in self.nodes]

    async def start(self) -> None:
        for node in self.nodes:
            node.start()
        await self.settled()

    async def settled(self) -> None:
        """Wait until all partitions run, evenly shared."""
        deadline = time.monotonic() + READY_WITHIN_S
        settled = 0
        while settled < 5:  # looks in a row: while one joins, partitions move
            for program in self.programs:
                program.check()
            if time.monotonic() > deadline:
                words = "\n".join(program.last_words() for program in self.programs)
                raise ProgramFailed(f"lightsched does not own all partitions after {READY_WITHIN_S} s:\n{words}")
            shares = [len(await node.partitions()) for node in self.nodes]
            even = sum(shares) == PARTITIONS and max(shares) - min(shares) <= 1
            settled = settled + 1 if even else 0
            await asyncio.sleep(0.1)

    async def has_stored(self, load: Loader) -> bool:
        found = [one["totals"]["accepted"] for node in self.nodes for one in await node.partitions()]
        return len(found) == PARTITIONS and sum(found) >= load.total

    async def stop(self) -> None:
        for node in self.nodes:
            await node.close()


class Committing:
    """A program that says READY, and commits the offsets of what it has stored to a group."""

    def __init__(self, name: str, command: list[str], bootstrap: str, group: str, folder: Path) -> None:
        self.programs: list[Program] = []
        self._start: Callable[[], Program] = lambda: Program(name, command, folder, {"PYTHONPATH": str(_root())})
        self._group = group
        self._admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)

    async def start(self) -> None:
        await self._admin.start()
        self.programs.append(self._start())
        await self.programs[0].says("READY")

    async def has_stored(self, load: Loader) -> bool:
        committed = await self._admin.list_consumer_group_offsets(self._group)
        offsets = {place: found.offset for place, found in committed.items()}
        return all(offsets.get(TopicPartition(load.topic, partition), 0) >= end for partition, end in load.ends.items())

    async def stop(self) -> None:
        for program in self.programs:
            program.stop()
        await self._admin.close()


def _root() -> Path:
    return Path(__file__).parents[2]


def kafka_streams(main: str, bootstrap: str, prefix: str, folder: Path) -> Committing:
    """A rival."""
    command = streams.command(main, bootstrap, prefix, folder / "state")
    return Committing("streams", command, bootstrap, streams.group(prefix), folder)


def bare_aiokafka(bootstrap: str, prefix: str, folder: Path) -> Committing:
    """The limit."""
    command = [sys.executable, "-m", bare.__name__, bootstrap, prefix, str(PARTITIONS)]
    return Committing("bare", command, bootstrap, bare.group(prefix), folder)


CONTESTANTS: dict[str, Callable[[str, str, Path], Contestant]] = {
    "bare": bare_aiokafka,
    "streams": partial(kafka_streams, streams.PLAINEST),
    "streams-full": partial(kafka_streams, streams.SAME_WORK),
    "lightsched": lambda bootstrap, prefix, folder: Lightsched(1, bootstrap, prefix, folder),
    "lightsched-2": lambda bootstrap, prefix, folder: Lightsched(2, bootstrap, prefix, folder),
}
