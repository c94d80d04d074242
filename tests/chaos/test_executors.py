"""What survives when executors and nodes are killed? A short run of `make chaos-executors`."""

import os
from pathlib import Path

from tests.chaos.executors.run import Run

EVENTS = int(os.environ.get("LIGHTSCHED_TEST_CHAOS_EVENTS", "500"))
SECONDS = float(os.environ.get("LIGHTSCHED_TEST_CHAOS_SECONDS", "15"))


async def test_every_run_ends_once_whoever_is_killed(kafka: str, tmp_path: Path):
    verdict = await Run(kafka, tmp_path, f"{tmp_path.name[:60]}.", seed=1).run(EVENTS, SECONDS)
    print(verdict)
    assert not verdict.wrong, str(verdict)
    assert verdict.counts["executors killed"] > 0
    assert verdict.counts["SUCCESS"] > EVENTS / 2
