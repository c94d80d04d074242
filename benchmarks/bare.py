"""What is the limit? RocksDB alone, opened as lightsched opens it, doing the least that the work needs.

ingest: one put of 1 KB an event, under a random key, 1,000 in a batch, each batch synced.
fire:   one get of 1 KB, one put of 1 KB and one delete an event, 1,000 in a batch, each batch synced.
"""

import os
import random
from pathlib import Path
from time import perf_counter, sleep

from benchmarks.load import percentile
from lightsched.store.families import Tuning
from lightsched.store.rocks import Rocks, new_batch

BATCH = 1_000
CHUNK = 50  # records that lie together in a topic


def measure(path: Path, count: int) -> tuple[float, float]:
    """Events a second: ingest, fire."""
    rocks = Rocks(path, {"in": Tuning(buffer_mb=16, bloom=True), "out": Tuning(buffer_mb=16)})
    incoming, outgoing = rocks.handles["in"], rocks.handles["out"]
    values = [os.urandom(1_000) for _ in range(64)]
    rng = random.Random(1)
    keys = [b"%016d" % rng.randrange(10**15) for _ in range(count)]
    began = perf_counter()
    for first in range(0, count, BATCH):
        batch = new_batch()
        for index in range(first, min(first + BATCH, count)):
            batch.put(keys[index], values[index % 64], incoming)
        rocks.write(batch)
        rocks.sync()
    ingest = count / (perf_counter() - began)
    rng.shuffle(keys)
    family = rocks.families["in"]
    began = perf_counter()
    for first in range(0, count, BATCH):
        batch = new_batch()
        chunk = keys[first : first + BATCH]
        for index, (key, value) in enumerate(zip(chunk, family.get(chunk), strict=True)):
            batch.put(b"%016d" % (first + index), value, outgoing)
            batch.delete(key, incoming)
        rocks.write(batch)
        rocks.sync()
    fire = count / (perf_counter() - began)
    rocks.close()
    return ingest, fire


def measure_lateness(path: Path, rate: float, seconds: int) -> tuple[float, float]:
    """Lateness in ms, p50 and p99: what has become due since the last batch, 1 KB each, is written and synced."""
    rocks = Rocks(path, {"out": Tuning(buffer_mb=16)})
    values = [os.urandom(1_000) for _ in range(64)]
    lateness: list[float] = []
    count = int(rate * seconds)
    began = perf_counter()
    while len(lateness) < count:
        done = len(lateness)
        due = min(int((perf_counter() - began) * rate), count)
        if due == done:
            sleep(0.001)
            continue
        batch = new_batch()
        for index in range(done, due):
            batch.put(b"%016d" % index, values[index % 64], rocks.handles["out"])
        rocks.write(batch)
        rocks.sync()
        now = perf_counter() - began
        lateness += [(now - index / rate) * 1_000 for index in range(done, due)]
    rocks.close()
    return percentile(lateness, 0.5), percentile(lateness, 0.99)


def measure_same_writes(path: Path, count: int) -> tuple[float, float]:
    """Events a second, with all that lightsched reads and writes for them and none of its thinking.

    ingest: the definition, the state, the due entry, 150 bytes of audit.
    fire:   get state and definition; put delivery, audit, state and the time to forget it; delete the due entry.
    """
    names = ("definitions", "states", "due", "leases", "deliveries", "audit")
    rocks = Rocks(path, {name: Tuning(buffer_mb=16, bloom=name == "states") for name in names})
    definitions, states, due, leases, deliveries, audit = (rocks.handles[name] for name in names)
    values = [os.urandom(1_000) for _ in range(64)]
    rng = random.Random(1)
    keys = [b"%016d" % rng.randrange(10**15) for _ in range(count)]
    began = perf_counter()
    for first in range(0, count, BATCH):
        batch = new_batch()
        chunk = range(first, min(first + BATCH, count))
        for index in chunk:
            batch.put(b"%016d" % index, values[index % 64], definitions)
            batch.put(keys[index], values[index % 64][:60], states)
            batch.put(keys[index][::-1], keys[index], due)
        batch.put(b"%016d" % first, _lines(values, len(chunk)), audit)
        rocks.write(batch)
        rocks.sync()
    ingest = count / (perf_counter() - began)
    order = list(range(count))
    rng.shuffle(order)
    began = perf_counter()
    for first in range(0, count, BATCH):
        batch = new_batch()
        chunk_ = order[first : first + BATCH]
        rocks.families["states"].get([keys[index] for index in chunk_])
        found = rocks.families["definitions"].get([b"%016d" % index for index in chunk_])
        for start in range(0, len(found), CHUNK):
            batch.put(b"%016d" % (first + start), b"".join(found[start : start + CHUNK]), deliveries)  # type: ignore[arg-type]
        for number, index in enumerate(chunk_, first):
            batch.put(keys[index], values[index % 64][:60], states)
            batch.put(b"%016d" % number, keys[index], leases)
            batch.delete(keys[index][::-1], due)
        batch.put(b"%016d" % (count + first), _lines(values, len(chunk_)), audit)
        rocks.write(batch)
        rocks.sync()
    fire = count / (perf_counter() - began)
    rocks.close()
    return ingest, fire


def _lines(values: list[bytes], count: int) -> bytes:
    """The audit of a batch."""
    return b"".join(values[index % 64][:150] for index in range(count))
