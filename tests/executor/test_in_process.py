"""Does an executor work where lightsched runs in the same process?"""

import asyncio

import lightsched
from lightsched import Client, Executor, Retry
from lightsched.node.settings import Settings
from tests.executor.conftest import running


async def test_nothing_goes_over_the_network(tmp_path):
    done = asyncio.Event()
    async with lightsched.asgi(Settings.load(data=tmp_path, log="embedded")) as app:
        executor = Executor(app)
        tried = []

        @executor.on("*")
        async def work(n: int):
            tried.append(n)
            if len(tried) == 1:
                raise Retry(in_="1ms")
            done.set()

        node = Client(app)
        await node.schedule(in_="1ms", payload=7, retry={"attempts": 2, "delay": "1m"})
        async with running(executor):
            await asyncio.wait_for(done.wait(), 30)
        await node.close()
    assert tried == [7, 7]
