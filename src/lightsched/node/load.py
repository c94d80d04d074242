"""How much does a node have to do? What its partitions hold, and how fast it fires and computes.

Rates are taken between two looks that are a second apart at least: with each heartbeat on Kafka, and whenever somebody
asks.
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
    fired: int


class Burden:
    """The load of one node."""

    def __init__(
        self,
        workers: Mapping[int, Worker],
        fired: Callable[[], int],
        now_s: Callable[[], float] = monotonic,
        cpu_s: Callable[[], float] = process_time,
    ) -> None:
        """`fired`: how many deliveries this process has made so far."""
        self._workers = workers
        self._fired = fired
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
            self._rates = (
                round((now.fired - before.fired) / passed_s, 1),
                round((now.cpu_s - before.cpu_s) / passed_s, 2),
                round(passed_s, 1),
            )
            self._last = now
        return self._rates

    def _look(self) -> _Look:
        return _Look(self._now_s(), self._cpu_s(), self._fired())
