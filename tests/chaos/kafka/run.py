"""make chaos: nodes on Kafka, a load, faults, and a checker that looks at everything afterwards.

python -m tests.chaos.kafka.run --seconds 60 --seed 1 [--nodes 3] [--partitions 6] [--brokers 1] [--keep DIR]
"""

import argparse
import asyncio
import contextlib
import logging
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Coroutine, Sequence
from pathlib import Path

from tests.broker.local import LocalCluster
from tests.broker.rights import WITH_RIGHTS
from tests.chaos.kafka.broker_faults import BrokerFaults
from tests.chaos.kafka.checker import check
from tests.chaos.kafka.cluster import Cluster
from tests.chaos.kafka.faults import Faults
from tests.chaos.kafka.load import KEYS, Load
from tests.chaos.kafka.patience import MAX_POLL_S
from tests.chaos.kafka.rebuilt import compare_rebuilt
from tests.chaos.kafka.recovery import Recovery
from tests.chaos.kafka.report import Report
from tests.chaos.kafka.rest import RestLoad
from tests.chaos.kafka.topics import create_topics

AFTER_QUIET_S = 3.0


def say(text: str) -> None:
    """Progress."""
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


class Run:
    """One run: nodes, a load on them, and faults."""

    def __init__(
        self,
        bootstrap: str,
        folder: Path,
        *,
        seed: int,
        prefix: str,
        partitions: int = 6,
        brokers: LocalCluster | None = None,
    ) -> None:
        """`brokers`: those that may be hurt."""
        self.bootstrap = bootstrap
        self.folder = folder
        self.prefix = prefix
        self.partitions = partitions
        self.replication = 1 if brokers is None else len(brokers.brokers)
        self.seed = seed
        self.brokers = brokers
        self.recovery = Recovery(partitions)
        self.cluster = Cluster(bootstrap, folder, prefix, partitions, self.replication)
        self.left_out: list[str] = []
        self.faults: Counter[str] = Counter()
        self.wrong: list[str] = []

    async def run(self, seconds: float, nodes: int = 3, *, first: Sequence[str] = (), quiet: bool = True) -> Report:
        """Faults for so long, rest, a quiet spell, some more load, rest; then look at everything.

        `first`: the faults to begin with, whatever the seed says.
        """
        refusing = await create_topics(self.bootstrap, self.prefix, self.partitions, self.replication)
        if self.cluster.no_networks:
            self.left_out.append(f"network cuts by namespaces: {self.cluster.no_networks}")
        if len(refusing) == 1:
            self.left_out.append("denied topics: the brokers do not look at rights")
        if self.brokers is None:
            self.left_out.append("faults of brokers: there is only one, or it is not ours")
        load = Load(self.bootstrap, self.prefix, refusing, self.recovery, self.seed)
        executing: asyncio.Task[None] | None = None
        try:
            await self.cluster.start(nodes)
            say(f"{nodes} nodes run {self.partitions} partitions, seed {self.seed}")
            keys = [f"key-{number}" for number in range(KEYS)]
            rest = RestLoad([node.url for node in self.cluster.nodes], keys, random.Random(self.seed))
            executing = asyncio.create_task(load.execute())
            await self._load(load, rest, self._hurt(seconds, first))
            if quiet:
                await self._quiet()
                await self._load(load, rest, asyncio.sleep(AFTER_QUIET_S))
            executing.cancel()
            return await self._look(load, rest)
        finally:
            if executing is not None:
                executing.cancel()
                await asyncio.gather(executing, return_exceptions=True)
            await self.cluster.close()

    async def _hurt(self, seconds: float, first: Sequence[str]) -> None:
        brokers = None
        if self.brokers is not None:
            proxies = [node.proxy for node in self.cluster.nodes]
            brokers = BrokerFaults(self.brokers, proxies, random.Random(self.seed))
        faults = Faults(self.cluster.nodes, brokers, self.recovery, self.seed)
        await faults.run(seconds, first)
        self.faults.update(faults.done)
        say(f"{self.faults.total()} faults are over")

    async def _load(self, load: Load, rest: RestLoad, meanwhile: Coroutine[None, None, None]) -> None:
        """Clients send as long as something else goes on; then everything comes to rest."""
        load.stopping.clear()
        sending = [asyncio.create_task(load.send()), asyncio.create_task(rest.run(load.stopping))]
        try:
            await meanwhile
            load.stopping.set()
            await asyncio.gather(*sending)
        finally:
            for task in sending:
                task.cancel()
        await self.cluster.read_all()  # or a pause that takes a detour comes after its resume
        await load.resume()
        say(f"at rest after {await self.cluster.drain():.1f} s")

    async def _quiet(self) -> None:
        """Nothing is sent and nothing is due for longer than members may be silent: nobody is expelled for it."""
        before = self.cluster.hit()
        await asyncio.sleep(MAX_POLL_S + 2)
        self.faults["quiet spell"] += 1
        more = self.cluster.hit() - before
        if more["assigned"] and more["heartbeat missed"]:
            self.left_out.append("judging the quiet spell: the machine was too busy for heartbeats")
        elif more["assigned"]:
            self.wrong.append(f"partitions were assigned {more['assigned']} times while all was quiet")

    async def _look(self, load: Load, rest: RestLoad) -> Report:
        hit = self.cluster.hit()
        difference = sum(node.metric("lightsched_reconciliation_difference") for node in self.cluster.nodes)
        await self.cluster.stop()
        verdict = await check(self.bootstrap, self.prefix, self.partitions, rest.told)
        verdict.wrong += self.wrong + rest.wrong
        if difference:
            verdict.wrong.append(f"the totals do not reconcile: {difference}")
        rebuilt: set[int] = set()
        for node in self.cluster.nodes:
            scratch = self.folder / f"{node.name}-rebuilt"
            compared, differences = await compare_rebuilt(self.cluster.settings, node.data, scratch)
            rebuilt |= compared
            verdict.wrong += differences
        if len(rebuilt) != self.partitions:
            verdict.wrong.append(f"only the stores of partitions {sorted(rebuilt)} could be compared with rebuilt ones")
        return Report(
            seed=self.seed,
            verdict=verdict,
            faults=self.faults,
            hit=hit,
            sent=load.sent,
            answers=rest.answers,
            recovery_s=self.recovery.times_s(),
            rebuilt=len(rebuilt),
            left_out=self.left_out,
        )


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=1, help="so many runs, with consecutive seeds")
    parser.add_argument("--nodes", type=int, default=3)
    parser.add_argument("--partitions", type=int, default=6)
    parser.add_argument("--brokers", type=int, default=1, help="3: brokers are killed as well")
    parser.add_argument("--bootstrap", help="a broker that runs already; it is not hurt")
    parser.add_argument("--keep", type=Path, help="leave logs and stores here")
    options = parser.parse_args()
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
    total: Counter[str] = Counter()
    good = True
    with contextlib.ExitStack() as stack:
        base = options.keep or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="lightsched-chaos-")))
        brokers = None
        if options.bootstrap is None:
            brokers = LocalCluster(base / "brokers", options.brokers, more=WITH_RIGHTS)
            stack.callback(brokers.close)
        for seed in range(options.seed, options.seed + options.seeds):
            folder = base / f"seed-{seed}"
            folder.mkdir(parents=True, exist_ok=True)
            run = Run(
                options.bootstrap or brokers.bootstrap,
                folder,
                seed=seed,
                prefix=f"chaos-{seed}-{int(time.time())}.",
                partitions=options.partitions,
                brokers=brokers if options.brokers > 1 else None,
            )
            report = asyncio.run(run.run(options.seconds, options.nodes))
            total.update(report.faults)
            good = good and report.verdict.good
            print(report, flush=True)
    print(f"{'all well' if good else 'NOT WELL'}: {total.total()} faults {dict(total)}")
    sys.exit(not good)


if __name__ == "__main__":
    main()
