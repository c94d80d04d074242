"""What is the limit? RocksDB alone, opened as lightsched opens it, doing the least that the work needs.

ingest: one put of 1 KB an event, under a random key, 1,000 in a batch, each batch synced.
fire:   one get of 1 KB, one put of 1 KB and one delete an event, 1,000 in a batch, each batch synced.
"""

import os
import random
from pathlib import Path
from time import perf_counter

from lightsched.store.families import Tuning
from lightsched.store.rocks import Rocks, new_batch

BATCH = 1_000


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
