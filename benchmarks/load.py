"""What does the load look like? 1 KB one-shots with random dues, the same for every measurement."""

import os
import random
from base64 import b64encode
from collections.abc import Iterator

import msgspec

EVENT_BYTES = 1_000
_encode = msgspec.json.encode


def events(count: int, first_due_ms: int, spread_ms: int, *, name: str = "e", seed: int = 1) -> Iterator[bytes]:
    """JSON events of about 1 KB, due at random within the spread. Payloads do not compress."""
    rng = random.Random(seed)
    payloads = [b64encode(os.urandom(660)).decode() for _ in range(64)]
    for index in range(count):
        due_ms = first_due_ms + rng.randrange(spread_ms)
        yield _encode({"id": f"{name}-{index:09d}", "at": due_ms, "payload": {"data": payloads[index % 64]}})


def batches(lines: Iterator[bytes], size: int) -> Iterator[list[bytes]]:
    """The lines, so many at a time."""
    batch: list[bytes] = []
    for line in lines:
        batch.append(line)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch


def percentile(values: list[float], share: float) -> float:
    """The value below which this share of the values lies."""
    ordered = sorted(values)
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)]
