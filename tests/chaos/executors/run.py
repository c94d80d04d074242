"""make chaos-executors: kill -9 executors and nodes during tracked runs with retries, on Kafka, and look at every one.

python -m tests.chaos.executors.run --events 10000 --seed 1

Every run ends SUCCESS or FATAL_FAILURE, once; every side effect belongs to a delivery; attempts of one run overlap only
where a lease ran out.
"""

import argparse
import asyncio
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from lightsched.client import Client, Kafka
from tests.broker import tether
from tests.broker.local import LocalCluster
from tests.chaos.executors.checker import Verdict, check, read_audit
from tests.chaos.kafka.cluster import Cluster

PARTITIONS = 6
NODES, EXECUTORS = 2, 3
TIMEOUT = "9s"
RETRY = {"attempts": 40, "delay": "500ms", "jitter": 0.5}
AGAIN_S = (0.2, 2.0)
BETWEEN_S = (3.0, 9.0)  # the others take over meanwhile, and get to work


class Killed:
    """An executor that is killed and started again, each time under another name."""

    def __init__(self, number: int, bootstrap: str, prefix: str, folder: Path, killed: dict[str, float]) -> None:
        self._number = number
        self._settings = (bootstrap, prefix)
        self._folder = folder
        self._killed = killed
        self._starts = 0
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self._starts += 1
        self.name = f"executor-{self._number}.{self._starts}"
        tethered = [sys.executable, "-I", tether.__file__, str(os.getpid())]
        command = [sys.executable, "-m", "tests.chaos.executors.program", *self._settings, self.name]
        with (self._folder / f"executor-{self._number}.log").open("ab") as log:
            self._process = subprocess.Popen(
                [*tethered, *command, str(self._folder / "effects")], stdout=log, stderr=log
            )

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()
        self._killed[self.name] = time.time()

    def stop(self) -> None:
        assert self._process is not None
        self._process.terminate()
        self._process.wait(30)
        self._killed.setdefault(self.name, time.time())


class Run:
    """Nodes, executors, a load, and faults."""

    def __init__(self, bootstrap: str, folder: Path, prefix: str, seed: int) -> None:
        self._bootstrap = bootstrap
        self._folder = folder
        self._prefix = prefix
        self._random = random.Random(seed)
        self._kills = {"executors": 0, "nodes": 0}
        self.killed: dict[str, float] = {}

    async def run(self, events: int, seconds: float) -> Verdict:
        """Schedule so many over so many seconds, and kill all the while."""
        cluster = Cluster(self._bootstrap, self._folder, self._prefix, PARTITIONS, 1)
        executors = [Killed(n, self._bootstrap, self._prefix, self._folder, self.killed) for n in range(EXECUTORS)]
        try:
            await cluster.start(NODES)
            for executor in executors:
                executor.start()
            killing = asyncio.create_task(self._kill(cluster, executors))
            ids = await self._load(events, seconds)
            killing.cancel()
            await asyncio.gather(killing, return_exceptions=True)
            await cluster.drain()
            for executor in executors:
                await asyncio.to_thread(executor.stop)
            await cluster.stop()
            audit = await read_audit(self._bootstrap, self._prefix, PARTITIONS)
            verdict = check(audit, ids, self._folder / "effects", self.killed)
            verdict.counts.update({f"{who} killed": count for who, count in self._kills.items()})
            return verdict
        finally:
            for executor in executors:
                if executor._process is not None and executor._process.poll() is None:
                    executor.kill()
            await cluster.close()

    async def _load(self, events: int, seconds: float) -> set[str]:
        ids = {f"job-{n:06d}" for n in range(events)}
        began = time.monotonic()
        async with Client(Kafka(self._bootstrap, self._prefix)) as client:
            slices = max(int(seconds), 1)
            ordered = sorted(ids)
            for part in range(slices):
                some = ordered[part * events // slices : (part + 1) * events // slices]
                await client.schedule_many(
                    {"id": id_, "key": f"k{hash(id_) % 997}", "type": "job", "in": "1s", "payload": n}
                    | {"timeout": TIMEOUT, "retry": RETRY}
                    for n, id_ in enumerate(some)
                )
                await asyncio.sleep(max(began + (part + 1) * seconds / slices - time.monotonic(), 0))
        return ids

    async def _kill(self, cluster: Cluster, executors: list[Killed]) -> None:
        while True:
            await asyncio.sleep(self._random.uniform(*BETWEEN_S))
            pause_s = self._random.uniform(*AGAIN_S)
            victim = self._random.choice([*executors, *executors, *cluster.nodes] if self.killed else executors)
            self._kills["executors" if isinstance(victim, Killed) else "nodes"] += 1
            victim.kill()
            try:
                await asyncio.sleep(pause_s)
            finally:
                victim.start()


async def _main(events: int, seconds: float, seed: int) -> bool:
    with tempfile.TemporaryDirectory(prefix="lightsched-chaos-") as name:
        folder = Path(name)
        broker = LocalCluster(folder / "kafka")
        try:
            began = time.monotonic()
            verdict = await Run(broker.bootstrap, folder, "chaos.", seed).run(events, seconds)
            print(f"seed {seed}, {time.monotonic() - began:.0f} s: {verdict}", flush=True)
        finally:
            broker.close()
        if verdict.wrong:
            print((folder / "executor-0.log").read_text(errors="replace")[-3000:])
    return not verdict.wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    good = asyncio.run(_main(options.events, options.seconds, options.seed))
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
