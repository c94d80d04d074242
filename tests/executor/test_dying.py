"""What becomes of the work of an executor that dies, without a word or politely?"""

import asyncio
import os
import signal
import sys
from typing import Any

import pytest

from lightsched import Context
from lightsched.client import ReportIgnored
from tests.executor.conftest import running

PROGRAM = """
import asyncio, sys
from lightsched import Executor
from lightsched.client import Kafka

at, prefix, topic = sys.argv[1:]
executor = Executor(Kafka(at, prefix) if prefix else at, group=topic, topics=[topic], name="first", grace="30s")

@executor.on("*")
async def work(payload):
    print("begun", flush=True)
    await asyncio.sleep(payload)
    return "by the first"

executor.main()
print("ended", flush=True)
"""


async def started(place):
    """An executor in a process of its own."""
    where = (place.at, "") if isinstance(place.at, str) else (place.at.bootstrap, place.at.prefix)
    return await asyncio.create_subprocess_exec(
        sys.executable, "-c", PROGRAM, *where, place.topic, stdout=asyncio.subprocess.PIPE
    )


async def says(process, word):
    async with asyncio.timeout(60):
        while (line := (await process.stdout.readline()).strip()) != word:
            assert line, "it has ended"


@pytest.mark.parametrize(
    "timeout_s", [10, pytest.param(30, marks=[pytest.mark.slow, pytest.mark.timeout(180)])], ids=lambda s: f"{s}s"
)
async def test_the_runs_of_one_that_dies_silently_are_taken_over_and_its_late_report_is_ignored(place, name, timeout_s):
    silent = await started(place)
    again = {"attempts": 9, "delay": "1ms"}  # until the others know that it is their turn
    await place.schedule(id=name, payload=2 * timeout_s, timeout=f"{timeout_s}s", retry=again)
    await says(silent, b"begun")
    await place.until(name, "PROCESSING")  # a heartbeat has come, a third of the timeout after it was delivered
    os.kill(silent.pid, signal.SIGSTOP)
    second = place.executor(name="second")
    second.on("*")(lambda: "by the second")
    try:
        async with running(second):
            assert (await place.until(name, "SUCCESS", "FATAL_FAILURE")).status == "SUCCESS"
            os.kill(silent.pid, signal.SIGCONT)  # it wakes up, is done long since, and says so
            silent.terminate()
            await says(silent, b"ended")
    finally:
        if silent.returncode is None:
            silent.kill()
        await silent.wait()
    run = await place.last_run(name)
    assert (run.status, run.result) == ("SUCCESS", "by the second")
    first, *_, last = run.attempts
    assert (first.executor, first.status) == ("first", "RETRIABLE_FAILURE")
    assert "no report or heartbeat for" in first.error
    assert (last.executor, last.status) == ("second", "SUCCESS")
    assert (last.delivered_at - first.delivered_at).total_seconds() >= timeout_s
    async for delivery in place.client.deliveries(place.topic, group=f"{name}-look"):
        assert delivery.attempt == 1
        with pytest.raises(ReportIgnored) as ignored:
            await place.client.report(delivery, "SUCCESS", result="by the first")
        assert ignored.value.reason == "finished"
        break


async def test_sigterm_lets_what_runs_finish_and_reports_it(place, name):
    first = await started(place)
    await place.schedule(id=name, payload=1.5)
    await says(first, b"begun")
    first.terminate()
    await says(first, b"ended")
    assert await first.wait() == 0
    await place.until(name)
    assert (await place.last_run(name)).result == "by the first"


async def test_what_a_killed_one_had_taken_comes_again(place, name):
    first = await started(place)
    await place.schedule(id=name, payload=3600, timeout="5m")
    await says(first, b"begun")
    first.kill()
    await first.wait()
    second = place.executor()
    seen = []

    @second.on("*")
    async def work(payload: Any, context: Context):
        seen.append(context.attempt)

    async with running(second):
        await place.until(name)
    assert seen == [1]  # the same delivery: no attempt was lost
