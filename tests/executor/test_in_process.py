"""Does an executor work where lightsched runs in the same process?"""

import asyncio

import msgspec

import lightsched
from lightsched import Client, Executor, Retry
from lightsched.node.settings import Settings
from tests.executor.conftest import Place, running


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


async def test_a_report_that_the_server_could_not_take_is_sent_again(tmp_path):
    """As when a partition changes its owner, or the server stops: it is asked again, and others are not held up."""
    refused, calls = [], []
    async with lightsched.asgi(Settings.load(data=tmp_path, log="embedded")) as app:

        async def unwilling(scope, receive, send):
            """Answers the first reports as a server that cannot take one of them."""
            if scope["type"] != "http" or not scope["path"].endswith("/reports") or len(refused) == 2:
                await app(scope, receive, send)
                return
            body = b""
            while (message := await receive())["type"] == "http.request":
                body += message.get("body", b"")
                if not message.get("more_body"):
                    break
            refused.append(body)
            answer = {"results": [{"status": 503, "error": "not now"} for _ in msgspec.json.decode(body)]}
            headers = [(b"content-type", b"application/json")]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await send({"type": "http.response.body", "body": msgspec.json.encode(answer)})

        executor = Executor(unwilling)

        @executor.on("*")
        async def work(n: int):
            calls.append(n)

        async with Client(app) as node, running(executor):
            await node.schedule(id="a", in_="1ms", payload=7, timeout="10m")
            await asyncio.wait_for(Place(app, "deliveries", node).until("a"), 30)
    assert (calls, len(refused)) == ([7], 2)
