"""What survives faults on Kafka? A short run of `make chaos`: nothing is lost, doubled, early or after its cancel."""

import os
from pathlib import Path

from tests.chaos.kafka.run import Run

SECONDS = float(os.environ.get("LIGHTSCHED_TEST_CHAOS_SECONDS", "10"))
SEED = int(os.environ.get("LIGHTSCHED_TEST_CHAOS_SEED", "1"))
FIRST = (
    "answer to commit lost",
    "kill -9",
    "connections cut",
    "answer to commit lost, then cut",
    "link down, longer than session",
)


async def test_nothing_is_lost_or_doubled_whatever_happens_to_the_nodes(kafka: str, tmp_path: Path):
    run = Run(kafka, tmp_path, seed=SEED, prefix=f"{tmp_path.name[:80]}.")
    report = await run.run(SECONDS, first=FIRST, quiet=False)
    print(report)
    assert report.verdict.good, str(report)
    assert report.hit["answers to commits lost"] > 0
    assert report.hit["connections cut"] > 0
    assert report.verdict.counts["one_shots"] > 100
    assert report.verdict.counts["tracked"] > 10
    assert report.verdict.counts["rest_scheduled"] > 10
