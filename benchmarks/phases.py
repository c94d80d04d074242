"""Where does the time go? Ingest and burst as in `heart.py`, with a watch on each phase of a step.

python -m benchmarks.phases [EVENTS]     # µs per event; a phase holds those that are indented below it
"""

import asyncio
import sys
import tempfile
from collections import Counter
from pathlib import Path
from time import perf_counter
from typing import Any

import uvloop

from benchmarks import heart
from lightsched.engine.engine import Engine
from lightsched.log.embedded.partition import EmbeddedPartition
from lightsched.log.embedded.topic import TopicPartition
from lightsched.node.garbage import collect_seldom
from lightsched.node.metrics import Metrics
from lightsched.store.rocks import Rocks
from lightsched.store.store import Store

PHASES: tuple[tuple[type, str, str], ...] = (
    (TopicPartition, "hold", "hold the inputs"),
    (EmbeddedPartition, "_read", "read the inputs"),
    (Engine, "step", "engine"),
    (Store, "due", "  read: what is due"),
    (Store, "states", "  read: states"),
    (Store, "definitions", "  read: definitions"),
    (EmbeddedPartition, "write", "write the step"),
    (Store, "apply", "  put the step into a batch"),
    (TopicPartition, "seal", "  put the records into a batch"),
    (Rocks, "write", "  RocksDB writes (appends too)"),
    (Metrics, "count", "metrics"),
    (TopicPartition, "fetch", "the subscriber of the benchmark"),
)


def watch(spent: "Counter[str]") -> None:
    """Put a watch on each phase."""
    for where, name, phase in PHASES:
        setattr(where, name, _watched(getattr(where, name), phase, spent))


def _watched(function: Any, phase: str, spent: "Counter[str]") -> Any:
    if asyncio.iscoroutinefunction(function):

        async def watched_async(*args: Any, **options: Any) -> Any:
            began = perf_counter()
            try:
                return await function(*args, **options)
            finally:
                spent[phase] += perf_counter() - began  # type: ignore[assignment]

        return watched_async

    def watched(*args: Any, **options: Any) -> Any:
        began = perf_counter()
        try:
            return function(*args, **options)
        finally:
            spent[phase] += perf_counter() - began  # type: ignore[assignment]

    return watched


def main() -> None:
    """Run it and print a table for each half."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
    spent: Counter[str] = Counter()
    watch(spent)

    def show(rate: str) -> None:
        print(f"{rate}: {1e6 / float(rate.split()[1].rstrip('/s').replace(',', '')):.1f} µs per event")
        for _, _, phase in PHASES:
            if spent[phase]:
                print(f"  {phase:32} {spent[phase] / count * 1e6:6.1f}")
        spent.clear()

    collect_seldom()
    with tempfile.TemporaryDirectory(prefix="lightsched-phases-") as folder:
        uvloop.run(heart.measure(Path(folder) / "heart", count, show))


if __name__ == "__main__":
    main()
