"""No page of another origin gets in, whatever a browser sends."""

import asyncio
import socket

import httpx
import pytest
import uvicorn

from lightsched.api.gate import Gate, hosts_for
from tests.api.conftest import is_problem, started

CROSS_ORIGIN = [
    {"Origin": "http://evil.example"},
    {"Origin": "null"},
    {"Origin": "http://127.0.0.1:1"},
    {"Origin": "http://localhost"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Origin": "http://evil.example", "Content-Type": "text/plain"},
]


@pytest.mark.parametrize("headers", CROSS_ORIGIN)
def test_a_page_of_another_origin_changes_nothing(api, name, headers):
    is_problem(api.post("/events", json={"id": name, "in": "1h"}, headers=headers), 403)
    api.post("/events", json={"id": name, "in": "1h"})
    is_problem(api.delete(f"/events/{name}", headers=headers), 403)
    is_problem(api.post(f"/events/{name}/pause", headers=headers), 403)
    is_problem(api.post("/reports", json={}, headers=headers), 403)
    assert api.get(f"/events/{name}").json()["status"] == "NOT_STARTED"


def test_our_own_page_may(api, server, name):
    headers = {"Origin": server, "Sec-Fetch-Site": "same-origin"}
    assert api.post("/events", json={"id": name, "in": "1h"}, headers=headers).status_code == 201
    assert api.delete(f"/events/{name}", headers=headers).status_code == 200


def test_no_other_origin_is_told_that_it_may_read(http):
    response = http.get("/api/v1/events", headers={"Origin": "http://evil.example"})
    assert "access-control-allow-origin" not in response.headers
    assert response.headers["cross-origin-resource-policy"] == "same-origin"
    preflight = http.options(
        "/api/v1/events", headers={"Origin": "http://evil.example", "Access-Control-Request-Method": "POST"}
    )
    is_problem(preflight, 405)
    assert "access-control-allow-origin" not in preflight.headers


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8080", "127.0.0.1.evil.example", "localhost.evil", "[::2]", ""]
)
def test_a_foreign_name_for_this_machine_is_refused(http, host):
    is_problem(http.get("/api/v1/events", headers={"Host": host}), 403)


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:99", "127.0.0.1", "[::1]:8080"])
def test_its_own_names_are_known(http, host):
    assert http.get("/healthz", headers={"Host": host}).status_code == 200


def test_names_can_be_configured(tmp_path):
    with started(tmp_path, LIGHTSCHED_HTTP__HOSTS='["scheduler.internal"]') as (_, address):
        assert httpx.get(f"{address}/healthz", headers={"Host": "scheduler.internal:80"}).status_code == 200
        is_problem(httpx.get(f"{address}/healthz", headers={"Host": "evil.example"}), 403)


@pytest.mark.parametrize(
    ("bound_to", "configured", "names"),
    [
        ("127.0.0.1", [], {"localhost", "127.0.0.1", "[::1]"}),
        ("127.0.0.2", [], {"localhost", "127.0.0.1", "[::1]", "127.0.0.2"}),
        ("::1", [], {"localhost", "127.0.0.1", "[::1]"}),
        ("localhost", [], {"localhost", "127.0.0.1", "[::1]"}),
        ("0.0.0.0", [], None),
        ("10.0.0.1", [], None),
        ("0.0.0.0", ["A.example"], {"localhost", "127.0.0.1", "[::1]", "0.0.0.0", "a.example"}),
    ],
)
def test_names_are_checked_on_loopback_or_when_configured(bound_to, configured, names):
    assert hosts_for(bound_to, configured) == names


def test_every_answer_tells_the_browser_to_be_strict(http):
    for response in (http.get("/"), http.get("/nothing"), http.get("/healthz", headers={"Host": "evil"})):
        assert response.headers["x-content-type-options"] == "nosniff"
        assert "default-src 'none'" in response.headers["content-security-policy"]
        assert "frame-ancestors 'none'" in response.headers["content-security-policy"]


async def test_whoever_waits_when_the_server_cannot_wait_any_longer_is_told_so():
    waits = asyncio.Event()

    async def for_ever(scope, receive, send):
        waits.set()
        await asyncio.Event().wait()

    config = uvicorn.Config(Gate(for_ever, None), lifespan="off", log_config=None, timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    listening = socket.create_server(("127.0.0.1", 0))
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{listening.getsockname()[1]}", timeout=30) as client:
        asking = asyncio.create_task(client.post("/api/v1/events", json={"id": "a", "in": "1h"}))
        await waits.wait()
        server.should_exit = True
        assert "look again" in is_problem(await asking, 503)["detail"]
    await serving


@pytest.mark.parametrize("stops", [False, True])
async def test_whoever_is_cancelled_by_the_application_around_is_not_told_that_the_node_stops(stops):
    waits, sent = asyncio.Event(), []

    async def for_ever(scope, receive, send):
        waits.set()
        await asyncio.Event().wait()

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": "/", "raw_path": b"/", "headers": []}
    asking = asyncio.create_task(Gate(for_ever, None, stopping=lambda: stops)(scope, None, send))
    await waits.wait()
    asking.cancel()
    await asyncio.wait([asking])
    assert (asking.cancelled(), [message.get("status") for message in sent][:1]) == (not stops, [503] if stops else [])
