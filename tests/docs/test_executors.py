"""Is the page about executors true? Every example is run, against a real server."""

import asyncio
from pathlib import Path

import pytest

from lightsched.testing import Scheduler
from tests.api.conftest import started
from tests.docs.running import fences, run

ROOT = Path(__file__).parents[2]
PAGE, README = ((ROOT / name).read_text(encoding="utf-8") for name in ("docs/executors.md", "README.md"))
ADDRESS = "http://127.0.0.1:8080"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with started(tmp_path_factory.mktemp("server")) as (_, address):
        yield address


async def test_the_page_is_true(server):
    names = {}
    async with asyncio.timeout(120):
        for fence in fences(PAGE):
            await run(fence.replace(ADDRESS, server), names)
    client = names["client"]
    (run_,) = [run async for run in client.runs("pay-7")]
    assert (run_.result, len(run_.attempts)) == ("paid", 2)
    assert (await client.get("ship-7")).status == "NOT_STARTED"
    assert (await client.get("welcome-ada")).status == "SUCCESS"
    assert "order.pay" in names["took"]
    await client.close()

    def on_a_clock():
        with Scheduler() as scheduler:
            names["test_an_order_is_shipped_two_days_after_it_was_paid"](scheduler)

    await asyncio.to_thread(on_a_clock)


async def test_the_readme_is_true(server):
    from lightsched import Client  # noqa: PLC0415

    (fence,) = [fence for fence in fences(README) if "Executor(" in fence]
    names = {}
    await run(fence.replace(ADDRESS, server).replace("executor.main()", ""), names)
    working = asyncio.create_task(names["executor"].run())
    async with Client(server) as client, asyncio.timeout(60):
        await client.schedule(id="greet", type="greet", in_="1ms", payload={"name": "Ada"}, track=True)
        while True:
            if (await client.get("greet")).status == "SUCCESS":
                break
            await asyncio.sleep(0.02)
        (done,) = [run async for run in client.runs("greet")]
    names["executor"].stop()
    await working
    assert done.result == "Hello Ada"
