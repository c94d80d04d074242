"""make bench: measure, each figure beside its limit in the same run, and print the table of benchmarks/README.md.

python -m benchmarks.run                 # everything: about half an hour, needs 40 GB of disk for a while
python -m benchmarks.run --quick         # a tenth of it
python -m benchmarks.run --only heart lateness
"""

import argparse
import asyncio
import platform
import sys
import tempfile
from collections.abc import Coroutine
from pathlib import Path
from typing import TypeVar

import uvloop

from benchmarks import bare, heart, history, lateness, pending, rest
from lightsched.node.garbage import collect_seldom

T = TypeVar("T")

PARTS = ("heart", "lateness", "pending", "rest", "history")


def _run(measured: Coroutine[object, object, T]) -> T:
    """As `lightsched dev` runs it."""
    collect_seldom()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(measured)


def say(text: str) -> None:
    """Progress."""
    print(f"  {text}", file=sys.stderr, flush=True)


def main() -> None:
    """Measure what was asked for and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer events")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, help="these parts only")
    options = parser.parse_args()
    scale = 10 if options.quick else 1
    rows: list[tuple[str, str, str, str]] = []
    with tempfile.TemporaryDirectory(prefix="lightsched-bench-") as name:
        folder = Path(name)
        fire = 20_000.0
        if "heart" in options.only or "lateness" in options.only:
            fire = _heart(folder, 300_000 // scale, rows)
        if "lateness" in options.only:
            _lateness(folder, fire / 2, 20 if scale == 1 else 5, rows)
        if "rest" in options.only:
            _rest(folder, 20_000 // scale, 300_000 // scale, rows)
        if "history" in options.only:
            _history(folder, 1_000_000 // scale, 100_000 // scale, rows)
        if "pending" in options.only:
            _pending(folder, [1_000_000 // scale, 10_000_000 // scale], rows)
    print(f"Python {platform.python_version()}, {platform.machine()}, {platform.system()}\n")
    print("| what | measured | limit in the same run | share |\n|---|---|---|---|")
    for row in rows:
        print(f"| {' | '.join(row)} |")


def _heart(folder: Path, count: int, rows: list[tuple[str, str, str, str]]) -> float:
    say(f"bare RocksDB, {count:,} events")
    limit_in, limit_out = bare.measure(folder / "bare", count)
    same_in, same_out = bare.measure_same_writes(folder / "same", count)
    ingest, fire = _run(heart.measure(folder / "heart", count, say))
    rows += [
        (
            "ingest, 1 KB events",
            f"{ingest:,.0f}/s",
            f"{same_in:,.0f}/s: RocksDB alone, the same batches",
            f"{ingest / same_in:.0%}",
        ),
        ("", "", f"{limit_in:,.0f}/s: RocksDB alone, one 1 KB put each", f"{ingest / limit_in:.0%}"),
        (
            "fire, burst",
            f"{fire:,.0f}/s",
            f"{same_out:,.0f}/s: RocksDB alone, the same reads and batches",
            f"{fire / same_out:.0%}",
        ),
        ("", "", f"{limit_out:,.0f}/s: RocksDB alone, get, put, delete each", f"{fire / limit_out:.0%}"),
    ]
    return fire


def _lateness(folder: Path, rate: float, seconds: int, rows: list[tuple[str, str, str, str]]) -> None:
    say(f"lateness at {rate:,.0f}/s")
    p50, p99, early = _run(lateness.measure(folder / "lateness", rate, seconds))
    bare_p50, bare_p99 = bare.measure_lateness(folder / "bare-lateness", rate, seconds)
    rows.append(
        (
            f"lateness at {rate:,.0f}/s (half of fire), early: {early}",
            f"p50 {p50:.1f} ms, p99 {p99:.1f} ms",
            f"p50 {bare_p50:.1f} ms, p99 {bare_p99:.1f} ms: RocksDB alone, written and synced as it becomes due",
            "",
        )
    )


def _rest(folder: Path, singles: int, lines: int, rows: list[tuple[str, str, str, str]]) -> None:
    say("REST")
    rates = rest.measure(folder / "rest", singles, lines)
    by_cpu = rates.empty.cpu_us / rates.single.cpu_us
    rows += [
        (
            "POST, one event each",
            f"{rates.single.per_second:,.0f}/s, {rates.single.cpu_us:.0f} µs of CPU",
            f"{rates.empty.per_second:,.0f}/s, {rates.empty.cpu_us:.0f} µs: empty FastAPI handler",
            f"{rates.single.per_second / rates.empty.per_second:.0%}, by CPU {by_cpu:.0%}",
        ),
        (
            "POST, NDJSON",
            f"{rates.ndjson.per_second:,.0f} events/s, {rates.ndjson.cpu_us:.0f} µs of CPU",
            f"{rates.decode.per_second:,.0f} events/s: bare decode",
            f"{rates.ndjson.per_second / rates.decode.per_second:.0%}",
        ),
    ]


def _history(folder: Path, count: int, runs: int, rows: list[tuple[str, str, str, str]]) -> None:
    found = history.measure(folder / "history", count, runs, 2_000, say)
    bare = "RocksDB alone, the same reads"
    rows += [
        (f"GET by id, {count:,} events", f"{found.get}", f"{found.bare_get}: {bare}", ""),
        ("", "", f"{found.empty}: empty FastAPI handler", f"{found.get.p99 / found.empty.p99:.1f} ×"),
        (f"list page of {history.PAGE}", f"{found.page}", f"{found.bare_page}: {bare}", ""),
        ("search that finds nothing, one request", f"{found.search}", "", ""),
        (f"runs, page of {history.PAGE}, {runs:,} runs of one event", f"{found.runs}", "", ""),
        ("resident memory after that", f"{found.memory_mb:.0f} MB", "500 MB", ""),
    ]


def _pending(folder: Path, counts: list[int], rows: list[tuple[str, str, str, str]]) -> None:
    memory, restart = pending.measure(folder / "pending", counts, say)
    rows += [
        (f"resident memory, {count:,} pending", f"{megabytes:.0f} MB", "500 MB", "") for count, megabytes in memory
    ]
    fired, read = restart
    rows += [
        (f"restart after kill -9, {counts[0]:,} pending", f"{fired:.2f} s to the first fire", "2 s", ""),
        ("", f"{read:.2f} s until it is read over HTTP", "", ""),
    ]


if __name__ == "__main__":
    main()
