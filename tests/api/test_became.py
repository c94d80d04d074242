"""What became of a delivery, if somebody makes up its id, or another node does not say?"""

import asyncio
from types import SimpleNamespace

import httpx
import pytest

import lightsched
from lightsched.api import became
from lightsched.node.peers import PeerFailed
from lightsched.node.settings import Settings

PEER = SimpleNamespace(id="b", url="http://b")


@pytest.mark.parametrize("made_up", ["99999999999/0#1", "-1/0#1", f"1/{10**23}#1", f"1/0#{10**23}"])
async def test_a_delivery_that_was_made_up_is_not_known(tmp_path, made_up):
    app = lightsched.asgi(Settings.load(data=tmp_path / "data", log="embedded"))
    async with app, httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://a/api/v1") as client:
        assert (await client.post("/events", json={"id": "e", "in": "1h"})).status_code == 201
        answer = await client.get("/internal/became", params={"delivery": f"0:default//e/{made_up}"})
    assert (answer.status_code, answer.json()) == (200, {})


async def _hangs():
    await asyncio.Event().wait()


async def _fails():
    raise PeerFailed(peer="b", why="it is gone")


async def _is_newer():
    return httpx.Response(200, json={"d": "PARKED"})


@pytest.mark.parametrize("answer", [_hangs, _fails, _is_newer])
async def test_what_another_node_does_not_say_is_not_known(answer, monkeypatch):
    monkeypatch.setattr(became, "_ANSWERS_WITHIN_S", 0.05)
    face = SimpleNamespace(node=SimpleNamespace(peers=SimpleNamespace(get=lambda *_: answer())))
    async with asyncio.timeout(20):
        assert await became._ask(face, PEER, ["d"]) == {}
