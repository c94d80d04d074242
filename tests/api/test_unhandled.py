"""Whose deliveries does nobody handle? Nobody's who is read over REST, in whatever way."""

import asyncio
from contextlib import asynccontextmanager

import httpx
import pytest

import lightsched
from lightsched.api import audience, unhandled
from lightsched.api.app import face_of
from lightsched.api.unhandled import Handled, Unhandled
from lightsched.node.settings import Settings

WITHIN_S = 20


@asynccontextmanager
async def watching_in(folder):
    settings = Settings.load(data=folder, log="embedded", embedded={"partitions": 1})
    async with lightsched.asgi(settings) as app:
        face = face_of(await app.start())
        found = Unhandled(face, [Handled("lightsched.deliveries", "own", frozenset({"http.*"}))])
        watching = asyncio.create_task(found.watch())
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://a/api/v1") as client:
            yield client, found
        watching.cancel()


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(unhandled, "LOOK_EVERY_S", 0.01)
    monkeypatch.setattr(unhandled, "GRACE_S", 0.3)


@pytest.fixture
async def watched(tmp_path, quick):
    """A client of a node in this process, and what it finds unhandled."""
    async with watching_in(tmp_path) as both:
        yield both


async def fire(client, type):
    await client.post("/events", json={"in": "1ms", "type": type})


async def named(found, *types):
    async with asyncio.timeout(WITHIN_S):
        while found.types != list(types):  # noqa: ASYNC110 -- nobody tells
            await asyncio.sleep(0.01)


READS = {
    "in a group": {"group": "curl"},
    "waiting": {"group": "curl", "wait": "50ms"},
    "looking on": {},
}


@pytest.mark.parametrize("how", READS.values(), ids=READS)
async def test_what_a_client_comes_for_now_and_then_is_handled(watched, caplog, how):
    client, found = watched
    await client.get("/deliveries/deliveries", params=how)
    await fire(client, "mine")
    await asyncio.sleep(0.1)
    await client.get("/deliveries/deliveries", params=how)
    await asyncio.sleep(0.6)
    assert found.types == []
    assert "nobody handles" not in caplog.text


async def test_whoever_comes_in_a_moment_is_in_time(watched, caplog):
    client, found = watched
    await fire(client, "mine")
    await asyncio.sleep(0.1)
    page = (await client.get("/deliveries/deliveries", params={"group": "curl", "wait": "5s"})).json()
    assert [each["type"] for each in page["deliveries"]] == ["mine"]
    await asyncio.sleep(0.6)
    assert found.types == []
    assert "nobody handles" not in caplog.text


async def test_what_nobody_reads_is_named_once_until_somebody_does(watched, caplog, monkeypatch):
    client, found = watched
    await fire(client, "lost")
    await fire(client, "http.request")
    await client.get("/deliveries/deliveries", params={"group": "own"})
    await named(found, "lost")
    await fire(client, "lost")
    await client.get("/deliveries/deliveries", params={"group": "other"})
    await asyncio.sleep(0.1)
    monkeypatch.setattr(audience, "LATELY_S", 0.0)
    assert found.types == [], "they have been read"
    await fire(client, "lost")
    await named(found, "lost")
    assert caplog.text.count("nobody handles") == 1


async def test_what_a_group_has_read_before_a_restart_is_not_named_after_it(tmp_path, quick, caplog):
    async with watching_in(tmp_path) as (client, _):
        for topic in ("a", "lightsched.deliveries", "z"):
            await client.post("/events", json={"in": "1ms", "type": "invoice", "topics": [topic]})
            page = (await client.get(f"/deliveries/{topic}", params={"group": "billing", "wait": "5s"})).json()
            assert len(page["deliveries"]) == 1
            await client.post(f"/deliveries/{topic}/ack", json={"group": "billing", "cursor": page["cursor"]})
    async with watching_in(tmp_path) as (client, found):
        await asyncio.sleep(0.6)
        assert found.types == []
        assert "nobody handles" not in caplog.text
        await client.post("/events", json={"in": "1ms", "type": "lost", "topics": ["new"]})
        await named(found, "lost")


async def test_types_that_somebody_makes_up_are_not_kept_for_ever(watched, monkeypatch):
    monkeypatch.setattr(unhandled, "MOST_TYPES", 2)
    client, found = watched
    await fire(client, "a")
    await fire(client, "b")
    await named(found, "a", "b")
    await client.get("/deliveries/deliveries", params={"group": "other"})
    async with asyncio.timeout(WITHIN_S):
        while any(found._said.values()):  # noqa: ASYNC110 -- nobody tells
            await asyncio.sleep(0.01)
