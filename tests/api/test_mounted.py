"""Does it work inside another application?"""

import asyncio
from contextlib import asynccontextmanager

import httpx
import pytest
from fastapi import FastAPI

import lightsched
from lightsched.api import mounted
from lightsched.errors import LightschedError
from lightsched.log.embedded.log import EmbeddedLog
from lightsched.node import node
from lightsched.node.settings import Settings
from lightsched.node.submitting import NodeStopped
from tests.api.conftest import is_problem


@pytest.fixture
def settings(tmp_path):
    return Settings.load(data=tmp_path / "data", log="embedded")


@asynccontextmanager
async def client_of(app):
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://shop.example") as client:
        yield client


async def test_it_starts_with_the_first_request_and_knows_where_it_is(settings):
    scheduler = lightsched.asgi(settings)
    app = FastAPI()
    app.mount("/scheduler", scheduler)
    app.get("/own")(lambda: "mine")
    async with client_of(app) as client:
        try:
            assert (await client.get("/own")).json() == "mine"
            base = "/scheduler/api/v1/events"
            assert (await client.post(base, json={"id": "a/b", "in": "1h"})).status_code == 201
            assert (await client.get(f"{base}/a%2Fb")).json()["id"] == "a/b"
            later = await client.post(base, json={"id": "c", "in": "1h"}, headers={"Prefer": "respond-async"})
            assert later.headers["location"] == f"{base}/c"
            assert (await client.get(later.headers["location"])).status_code == 200
            is_problem(await client.get("/scheduler/api/v1/nothing"), 404)
            document = (await client.get("/scheduler/openapi.json")).json()
            assert document["servers"] == [{"url": "/scheduler"}]
            assert "lightsched" in (await client.get("/scheduler/")).text
        finally:
            await scheduler.stop()


async def test_it_lives_as_long_as_the_outer_application(settings):
    scheduler = lightsched.asgi(settings)

    @asynccontextmanager
    async def lifespan(_app):
        async with scheduler:
            yield

    app = FastAPI(lifespan=lifespan)
    app.mount("/scheduler", scheduler)
    for _ in range(2):  # it lets go of its data at the end
        async with app.router.lifespan_context(app), client_of(app) as client:
            assert (await client.get("/scheduler/readyz")).json()["status"] == "ready"


async def test_it_can_be_the_whole_application(settings):
    """A server says when to start and to end."""
    scheduler = lightsched.asgi(settings)
    said = []
    messages = iter([{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}])

    async def receive():
        if said:
            async with client_of(scheduler) as client:
                assert (await client.get("/readyz")).status_code == 200
        return next(messages)

    async def send(message):
        said.append(message["type"])

    await scheduler({"type": "lifespan", "asgi": {"version": "3.0"}}, receive, send)
    assert said == ["lifespan.startup.complete", "lifespan.shutdown.complete"]


async def test_what_stops_it_from_starting_is_said(settings):
    async with lightsched.asgi(settings):
        second = lightsched.asgi(settings)
        with pytest.raises(LightschedError, match="in use"):
            await second.start()


async def test_while_it_cannot_start_requests_are_told_why_and_the_log_in_a_line(settings, caplog):
    async with lightsched.asgi(settings), client_of(lightsched.asgi(settings)) as client:
        problem = is_problem(await client.get("/api/v1/events"), 503)
        assert "in use" in problem["detail"]
        is_problem(await client.post("/api/v1/events", json={"in": "1h"}), 503)
    said = [record for record in caplog.records if record.name == mounted.__name__]
    assert [record.exc_info for record in said] == [None, None]
    assert "in use" in said[0].getMessage()


@pytest.mark.parametrize("wrong", ["x", {"data": "x"}])
def test_what_are_no_settings_is_refused_at_once(wrong):
    with pytest.raises(TypeError, match=r"asgi takes Settings, not \w+: write"):
        lightsched.asgi(wrong)


def test_settings_are_part_of_the_public_face():
    assert lightsched.Settings is Settings


async def test_names_are_checked_where_they_are_set(settings, tmp_path):
    named = Settings.load(data=tmp_path / "data", log="embedded", http={"hosts": ["other.example"]})
    async with lightsched.asgi(named) as scheduler, client_of(scheduler) as client:
        is_problem(await client.get("/healthz"), 403)


@pytest.fixture
def hold(monkeypatch):
    """A method of the log waits: until `reached` is set by it, until `go_on` is set by the test."""
    monkeypatch.setattr(node, "_WATCH_EVERY_S", 0.02)

    def hold_at(name):
        reached, go_on, method = asyncio.Event(), asyncio.Event(), getattr(EmbeddedLog, name)

        async def held(self, *arguments):
            reached.set()
            await go_on.wait()
            return await method(self, *arguments)

        monkeypatch.setattr(EmbeddedLog, name, held)
        return reached, go_on

    return hold_at


async def test_whoever_gives_up_waiting_for_the_start_does_not_spoil_it(settings, hold):
    scheduler = lightsched.asgi(settings)
    reached, go_on = hold("announce")
    starting = asyncio.create_task(scheduler.start())
    await reached.wait()
    starting.cancel()
    await asyncio.wait({starting})
    go_on.set()
    async with client_of(scheduler) as client:
        assert (await client.get("/readyz")).status_code == 200
    await scheduler.stop()
    async with lightsched.asgi(settings):
        pass  # it has let go of its data


async def test_a_start_that_does_not_end_can_be_stopped(settings, hold):
    scheduler = lightsched.asgi(settings)
    reached, _ = hold("announce")
    starting = asyncio.create_task(scheduler.start())
    await reached.wait()
    await scheduler.stop()
    with pytest.raises(NodeStopped):
        await starting


async def test_a_start_that_has_hardly_begun_can_be_stopped(settings):
    scheduler = lightsched.asgi(settings)
    starting = asyncio.create_task(scheduler.start())
    await asyncio.sleep(0)
    await scheduler.stop()
    with pytest.raises(NodeStopped):
        await starting


async def test_an_application_that_gives_up_starting_leaves_nothing_running(settings, hold):
    scheduler = lightsched.asgi(settings)
    reached, go_on = hold("announce")
    entering = asyncio.create_task(scheduler.__aenter__())
    await reached.wait()
    entering.cancel()
    await asyncio.wait({entering})
    go_on.set()
    async with lightsched.asgi(settings):
        pass  # the data is free


async def test_a_partition_that_cannot_be_taken_does_not_keep_the_others_from_answering(settings, hold, monkeypatch):
    monkeypatch.setattr(mounted, "_READY_S", 0.01)
    hold("take")
    async with lightsched.asgi(settings) as scheduler, client_of(scheduler) as client:
        assert (await client.get("/healthz")).status_code == 200
        is_problem(await client.get("/readyz"), 503)


async def test_a_node_that_fails_says_so_and_starts_again(settings, monkeypatch, caplog):
    failing = asyncio.Event()

    async def fail(_log):
        await failing.wait()
        failing.clear()
        raise LightschedError

    with monkeypatch.context() as patched:
        patched.setattr(EmbeddedLog, "changed", fail)
        scheduler = lightsched.asgi(settings)
        await scheduler.start()
        failing.set()
        while "starts it again" not in caplog.text:  # noqa: ASYNC110 -- nobody tells
            await asyncio.sleep(0.01)
    assert "ERROR" in caplog.text
    async with client_of(scheduler) as client:
        assert (await client.get("/readyz")).status_code == 200
    await scheduler.stop()
