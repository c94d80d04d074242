"""What becomes of functions that block, never end, or do not want to be stopped?"""

import asyncio
import logging
import sys
import threading
import time
from contextlib import suppress

import pytest

from lightsched.executor import crew
from tests.executor.conftest import running
from tests.executor.test_dying import says

PROGRAM = """
import sys, threading
from lightsched import Executor

at, topic = sys.argv[1:]
executor = Executor(at, group=topic, topics=[topic], grace="500ms")

@executor.on("*")
def work():
    print("begun", flush=True)
    threading.Event().wait()

executor.main()
print("ended", flush=True)
"""


async def test_functions_that_block_run_side_by_side_as_many_as_may(rest, name):
    executor = rest.executor(concurrency=40)
    meet = threading.Barrier(40)
    executor.on("*")(lambda: meet.wait(30))
    events = [{"id": f"{name}-{n}", "in": "1ms", "topics": [rest.topic], "track": True} for n in range(40)]
    await rest.client.schedule_many(events)
    async with running(executor):
        for n in range(40):
            assert (await rest.until(f"{name}-{n}", "SUCCESS", "FATAL_FAILURE")).status == "SUCCESS"


async def test_a_function_that_blocks_for_ever_does_not_keep_the_process(rest, name):
    command = [sys.executable, "-c", PROGRAM, rest.at, rest.topic]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    try:
        await rest.schedule(id=name)
        await says(process, b"begun")
        process.terminate()
        await says(process, b"ended")
        assert await asyncio.wait_for(process.wait(), 20) == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def test_a_function_that_does_not_heed_its_cancelling_is_left_behind(rest, name, monkeypatch):
    monkeypatch.setattr(crew, "DISMISS_S", 0.2)
    executor = rest.executor(grace="100ms")
    began, gate, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

    @executor.on("*")
    async def stay():
        began.set()
        while not gate.is_set():
            with suppress(asyncio.CancelledError):
                await gate.wait()
        ended.set()

    await rest.schedule(id=name)
    async with running(executor):
        await asyncio.wait_for(began.wait(), 30)
        stopped = time.monotonic()
    assert time.monotonic() - stopped < 10
    gate.set()
    await asyncio.wait_for(ended.wait(), 10)


async def test_what_waits_with_a_heartbeat_is_reported_when_the_executor_stops(place, name):
    """Its place is acknowledged already: otherwise only its timeout would bring it back."""
    executor = place.executor(concurrency=1, grace="100ms")
    began, retry = asyncio.Event(), {"attempts": 2, "delay": "1h"}

    @executor.on("*")
    async def never():
        began.set()
        await asyncio.Event().wait()

    for n in range(2):
        await place.schedule(id=f"{name}-{n}", key=name, timeout="6s", retry=retry)
    async with running(executor):
        await asyncio.wait_for(began.wait(), 60)
        await place.until(f"{name}-0", "PROCESSING")
        await place.until(f"{name}-1", "CLAIMED")
    for n in range(2):
        await asyncio.wait_for(place.until(f"{name}-{n}", "RETRIABLE_FAILURE"), 10)
        run = await place.last_run(f"{name}-{n}")
        assert run.attempts[0].error == "the executor was stopped before it was done"


@pytest.mark.parametrize("text", ["/data/\udcff", "\ud800"])
async def test_an_error_that_is_no_proper_text_is_reported_all_the_same(rest, name, text, caplog):
    caplog.set_level(logging.CRITICAL, "lightsched")  # what pytest has captured, xdist could not pass on
    executor = rest.executor()

    @executor.on("*")
    async def fails():
        raise FileNotFoundError(text)

    await rest.schedule(id=name)
    async with running(executor):
        await asyncio.wait_for(rest.until(name, "FATAL_FAILURE"), 20)
    assert "FileNotFoundError" in (await rest.last_run(name)).error
