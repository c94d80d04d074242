"""How long does it take to get well? Until what is due is delivered again, as a consumer sees it."""

import asyncio
import contextlib
import time
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable
from statistics import median
from typing import NamedTuple

_LATELY_MS = 1_000


class _Wound(NamedTuple):
    fault: str
    partition: int
    since_ms: int


class Recovery:
    """Deliveries seen, and since when partitions were waited for."""

    def __init__(self, partitions: int) -> None:
        self.partitions = partitions
        self._seen: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        self._wounds: list[_Wound] = []

    def saw(self, partition: int, due_ms: int, now_ms: int) -> None:
        """A delivery, when it could be read."""
        self._seen[partition].append((now_ms, due_ms))

    async def breathe(self, within_s: float) -> None:
        """Wait until all partitions deliver, but not for longer than this."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                while not self._well(time.time_ns() // 1_000_000 - _LATELY_MS):  # noqa: ASYNC110
                    await asyncio.sleep(0.1)

    def _well(self, since_ms: int) -> bool:
        last = [seen[-1][0] for seen in self._seen.values()]
        return len(last) == self.partitions and min(last) >= since_ms

    def expect(self, fault: str, partitions: Iterable[int], since_ms: int) -> None:
        """A fault has hit these partitions: they should deliver again."""
        self._wounds += [_Wound(fault, partition, since_ms) for partition in partitions]

    def times_s(self) -> dict[str, list[float]]:
        """By fault: for each partition the time until something was delivered that was due since then."""
        times: defaultdict[str, list[float]] = defaultdict(list)
        for wound in self._wounds:
            seen = self._seen[wound.partition]
            later = seen[bisect_left(seen, (wound.since_ms, 0)) :]
            first_ms = next((now_ms for now_ms, due_ms in later if due_ms >= wound.since_ms), None)
            if first_ms is not None:
                times[wound.fault].append((first_ms - wound.since_ms) / 1000)
        return dict(times)


def in_words(times_s: dict[str, list[float]]) -> str:
    """One line for each fault."""
    lines = [
        f"    {fault:34} p50 {median(times):6.2f} s, max {max(times):6.2f} s ({len(times)} partitions)"
        for fault, times in sorted(times_s.items())
    ]
    return "\n".join(lines)
