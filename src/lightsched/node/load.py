"""How much does a node have to do? What its partitions hold, and how fast it fires and computes.

Rates are taken between two looks that are a second apart at least: with each heartbeat on Kafka, and whenever somebody
asks. Nothing is counted for it, so nothing gets slower.
"""

from collections.abc import Callable, Mapping
from time import monotonic, process_time
from typing import NamedTuple

from lightsched.log.peer import Load
from lightsched.node.worker import Worker

SHORTEST_S = 1.0


class _Look(NamedTuple):
    at: float
    cpu_s: float
    fired: dict[int, int]  # by partition


class Burden:
    """The load of one node."""

    def __init__(
        self,
        workers: Mapping[int, Worker],
        now_s: Callable[[], float] = monotonic,
        cpu_s: Callable[[], float] = process_time,
    ) -> None:
        self._workers = workers
        self._now_s, self._cpu_s = now_s, cpu_s
        self._last = self._look()
        self._rates = (0.0, 0.0, 0.0)  # fired per second, cores, over so many seconds

    def load(self) -> Load:
        """As it is now."""
        partitions = [worker.partition for worker in self._workers.values()]
        fired_per_s, cpu, seconds = self._measured()
        return Load(
            pending=sum(partition.store.pending() for partition in partitions),
            lag=sum(partition.lag for partition in partitions),
            in_flight=sum(partition.store.in_flight_runs for partition in partitions),
            fired_per_s=fired_per_s,
            cpu=cpu,
            seconds=seconds,
        )

    def _measured(self) -> tuple[float, float, float]:
        before, now = self._last, self._look()
        passed_s = now.at - before.at
        if passed_s >= SHORTEST_S:
            # What a partition fired elsewhere is not this node's: only those count that were here before.
            fired = sum(max(now.fired[number] - before.fired[number], 0) for number in now.fired.keys() & before.fired)
            self._rates = (
                round(fired / passed_s, 1),
                round((now.cpu_s - before.cpu_s) / passed_s, 2),
                round(passed_s, 1),
            )
            self._last = now
        return self._rates

    def _look(self) -> _Look:
        fired = {number: worker.partition.store.meta.totals.fired for number, worker in self._workers.items()}
        return _Look(self._now_s(), self._cpu_s(), fired)
