"""make bench-kafka: measure on Kafka, beside Kafka Streams and bare aiokafka in the same run, and print a table.

python -m benchmarks.kafka.run                              # everything: about twenty minutes, 6 GB of disk
python -m benchmarks.kafka.run --quick                      # a fifteenth of the events
python -m benchmarks.kafka.run --only lightsched streams    # these contestants
python -m benchmarks.kafka.run --rounds 3                   # the median of three
"""

import argparse
import asyncio
import platform
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import uvloop

from benchmarks.kafka.contestants import CONTESTANTS
from benchmarks.kafka.measure import Figures, Plan, measure
from lightsched.node.garbage import collect_seldom
from tests.broker.download import kafka_version

FULL = Plan(warm_up=60_000, warm_up_s=40, count=300_000, rate=10_000, seconds=20)
QUICK = Plan(warm_up=20_000, warm_up_s=20, count=20_000, rate=10_000, seconds=2)
OURS = {"lightsched": "1 process", "lightsched-2": "2 processes"}
OTHERS = {"streams": "{:.2f}", "streams-full": "{:.2f}", "bare": "{:.0%}"}  # and how ours ÷ theirs is written
HEAD = """\
| what | lightsched | Kafka Streams, plainest | × | Kafka Streams, same work | × | bare aiokafka | share |
|---|---|---|---|---|---|---|---|"""


def say(text: str) -> None:
    """Progress."""
    print(f"  {text}", file=sys.stderr, flush=True)


def main() -> None:
    """Measure what was asked for and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer events")
    parser.add_argument("--only", nargs="+", choices=CONTESTANTS, default=list(CONTESTANTS), help="these only")
    parser.add_argument("--rounds", type=int, default=1, help="measure so many times, show the medians")
    options = parser.parse_args()
    plan = QUICK if options.quick else FULL
    measured: dict[str, list[Figures]] = {name: [] for name in options.only}
    failed = False
    collect_seldom()
    for number in range(1, options.rounds + 1):
        for name in options.only:  # in turns, so that a noisy quarter of an hour is noisy for all
            say(f"{name}, round {number} of {options.rounds}")
            try:
                measured[name].append(_measure(name, plan))
            except RuntimeError as error:  # the others' figures are worth having all the same
                failed = True
                say(f"{name}: no figures. {error}")
    print(f"Kafka {kafka_version()}, Python {platform.python_version()}, {platform.machine()}, {platform.system()}\n")
    print(HEAD)
    for row in _rows(plan, {name: _median(each) for name, each in measured.items() if each}):
        print(f"| {' | '.join(row)} |")
    sys.exit(failed)


def _measure(name: str, plan: Plan) -> Figures:
    with (
        tempfile.TemporaryDirectory(prefix="lightsched-bench-") as folder,
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
    ):
        return runner.run(measure(name, plan, Path(folder), say))


def _median(each: list[Figures]) -> Figures:
    return Figures(*(statistics.median(getattr(one, name) for one in each) for name in Figures.__slots__))


def _rows(plan: Plan, measured: dict[str, Figures]) -> list[tuple[str, ...]]:
    """Every figure of lightsched beside the rivals' and the limit's."""
    late = f"lateness at {plan.rate:,}/s"
    shown: list[tuple[str, Callable[[Figures], str], Callable[[Figures], float] | None]] = [
        ("ingest", lambda one: f"{one.ingest:,.0f}/s", lambda one: one.ingest),
        ("fire, burst", lambda one: f"{one.burst:,.0f}/s", lambda one: one.burst),
        (late, lambda one: f"p50 {one.p50_ms:.0f} ms, p99 {one.p99_ms:.0f} ms", None),
        ("resident memory", lambda one: f"{one.rss_mb:,.0f} MB", None),
    ]
    rows: list[tuple[str, ...]] = []
    for what, text, value in shown:
        for name, processes in OURS.items():
            ours = measured.get(name)
            cells = [f"{what}, {processes}", text(ours) if ours else "–"]
            for other, ratio in OTHERS.items():
                theirs = measured.get(other)
                cells.append(text(theirs) if theirs else "–")
                cells.append(ratio.format(value(ours) / value(theirs)) if value and ours and theirs else "")
            rows.append(tuple(cells))
    return rows


if __name__ == "__main__":
    main()
