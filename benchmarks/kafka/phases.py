"""Where does a node's time go on Kafka? The phases of steps as a partition's worker makes them, without a broker.

python -m benchmarks.kafka.phases [EVENTS]     # µs of CPU per event, ingest and fire

Reading from the sockets, writing to them and aiokafka's requests are not in it: what they take is the difference to the
CPU time of a node under load (`make bench-kafka`).
"""

import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from time import thread_time

from aiokafka.producer.message_accumulator import BatchBuilder

from benchmarks.load import events
from lightsched.engine.engine import Engine
from lightsched.engine.rules import Rules
from lightsched.event.record import Appended, Record
from lightsched.event.topics import DEFAULT as TOPICS
from lightsched.log.kafka.changelog import to_records
from lightsched.log.kafka.clients import BATCH_BYTES
from lightsched.log.records import by_topic, others
from lightsched.node.garbage import collect_seldom
from lightsched.node.metrics import Metrics
from lightsched.store.families import STORE_FAMILIES
from lightsched.store.rocks import Memory, Rocks, new_batch
from lightsched.store.store import Store

STEP = 1_000
PARTITIONS = 12
NOW_MS = 1_900_000_000_000
SPREAD_MS = 60_000
LZ4 = 3


class Watch:
    """Takes the time of what has happened since the last look."""

    def __init__(self) -> None:
        self.spent: Counter[str] = Counter()
        self._began = thread_time()

    def restart(self) -> None:
        self._began = thread_time()

    def look(self, phase: str) -> None:
        now = thread_time()
        self.spent[phase] += now - self._began  # type: ignore[assignment]
        self._began = thread_time()


class Bench:
    """One partition, as on Kafka, and its steps."""

    def __init__(self, path: Path) -> None:
        self._rocks = Rocks(path, STORE_FAMILIES, Memory().divided(PARTITIONS))
        self._store = Store(self._rocks, 0)
        self._engine = Engine(Rules())
        self._metrics = Metrics()

    def close(self) -> None:
        self._rocks.close()

    def step(self, watch: Watch, inputs: Sequence[Appended], now_ms: int) -> tuple[int, bool]:
        """One step with all that belongs to it; how many deliveries, and whether more is due."""
        store = self._store
        watch.restart()
        step = self._engine.step(store, inputs, now_ms)
        watch.look("engine, with its reads")
        changes = store.changes(step)
        deliveries = by_topic(step.deliveries)
        rest = [record for _, _, record in others(step, 0, TOPICS)]
        watch.look("records: changelog, audit")
        for records in deliveries.values():
            _build(records)
        watch.look("batches: deliveries")
        _build(to_records(changes))
        _build(rest)
        watch.look("batches: changelog, audit")
        batch = new_batch()
        store.apply(batch, step, changes)
        watch.look("store: put into a batch")
        self._rocks.write(batch)
        watch.look("store: RocksDB writes")
        self._metrics._count_answers(step)  # noqa: SLF001
        self._metrics._count_deliveries(step, now_ms)  # noqa: SLF001
        watch.look("metrics")
        return len(step.deliveries), step.more


def _build(records: Iterable[Record]) -> None:
    """Record batches, as they are sent."""
    batch = _batch()
    for record in records:
        headers = list(record.headers)
        if batch.append(timestamp=NOW_MS, key=record.key, value=record.value, headers=headers) is None:
            batch._build()  # noqa: SLF001
            batch = _batch()
            batch.append(timestamp=NOW_MS, key=record.key, value=record.value, headers=headers)
    batch._build()  # noqa: SLF001


def _batch() -> BatchBuilder:
    return BatchBuilder(BATCH_BYTES, LZ4, is_transactional=1)


def main() -> None:
    """Ingest, fire, print."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    collect_seldom()
    ingest, fire = Watch(), Watch()
    with tempfile.TemporaryDirectory(prefix="lightsched-bench-") as folder:
        bench = Bench(Path(folder) / "store")
        lines = list(events(count, NOW_MS + 1, SPREAD_MS))
        for first in range(0, count, STEP):
            some = enumerate(lines[first : first + STEP], first)
            inputs = [Appended(TOPICS.events, 0, at, NOW_MS, Record(b"%d" % at, line)) for at, line in some]
            bench.step(ingest, inputs, NOW_MS)
        now_ms, fired = NOW_MS, 0
        while fired < count:
            now_ms += SPREAD_MS * STEP // count
            more = True
            while more:
                deliveries, more = bench.step(fire, [], now_ms)
                fired += deliveries
        bench.close()
    print("| phase | ingest | fire |\n|---|---|---|")
    for phase in ingest.spent:
        cells = (f"{watch.spent[phase] / count * 1e6:.1f}" for watch in (ingest, fire))
        print(f"| {phase} | {' | '.join(cells)} |")
    totals = (f"**{sum(watch.spent.values()) / count * 1e6:.1f}**" for watch in (ingest, fire))
    print(f"| **all** | {' | '.join(totals)} |")


if __name__ == "__main__":
    main()
