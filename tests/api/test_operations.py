import re

import httpx
import pytest

from lightsched import __version__
from tests.api.conftest import is_problem


def test_it_lives_and_is_ready(http):
    assert http.get("/healthz").json() == {"status": "ok", "version": __version__}
    assert http.get("/readyz").json() == {"status": "ready", "version": __version__}


def test_metrics_are_in_the_format_of_prometheus(http, api, name):
    api.post("/events", json={"in": "1h"}, params={"tenant": name})
    response = http.get("/metrics")
    assert response.headers["content-type"].startswith("text/plain; version=")
    assert f'lightsched_commands_total{{outcome="SCHEDULED",tenant="{name}"}} 1.0' in response.text
    assert "lightsched_reconciliation_difference" in response.text


def test_partitions_say_who_owns_them_and_how_far_they_are(api, name):
    before = sum(partition["pending"] for partition in api.get("/partitions").json()["partitions"])
    api.post("/events", json=[{"in": "1h"}] * 30, params={"tenant": name})
    partitions = api.get("/partitions").json()["partitions"]
    assert [partition["partition"] for partition in partitions] == [0, 1, 2]
    assert sum(partition["pending"] for partition in partitions) >= before + 30 - 5
    for partition in partitions:
        totals = partition["totals"]
        assert totals.pop("accepted") == sum(totals.values())
        assert partition["owner"] == "node-1"
        assert partition["clock_trusted"]
        assert partition["lag"] == 0


def test_nodes_are_this_one(api):
    (node,) = api.get("/nodes").json()["nodes"]
    assert (node["id"], node["version"], node["partitions"], node["log"]) == (
        "node-1",
        __version__,
        [0, 1, 2],
        "embedded",
    )
    assert node["started_at"] <= node["heartbeat"]


@pytest.mark.parametrize("path", ["/", "/docs"])
def test_pages_load_only_what_is_here(http, path):
    response = http.get(path)
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    assert "script-src 'self'" in response.headers["content-security-policy"]
    assert "unsafe" not in response.headers["content-security-policy"]
    assert not re.search(r"(src|href)=\"(https?:)?//", response.text)
    assert not re.search(r"<script(?![^>]*src)|style=|\son\w+=", response.text)
    for found in re.findall(r'(?:src|href)="(page/[^"]+)"', response.text):
        loaded = http.get(f"/{found}")
        assert loaded.status_code == 200
        assert loaded.headers["x-content-type-options"] == "nosniff"
        assert "innerHTML" not in loaded.text


@pytest.mark.parametrize("path", ["/page/../app.py", "/page/%2e%2e%2fapp.py", "/page/app.py", "/page/", "/page/%00"])
def test_only_the_files_of_the_pages_are_served(server, path):
    with httpx.Client(base_url=server) as raw:
        is_problem(raw.get(path), 404)


@pytest.mark.parametrize("path", ["/nothing", "/api/v1", "/api/v1/", "/api/v1/nothing", "/api/v1/events/", "/%00"])
def test_an_address_that_leads_nowhere_is_a_problem(http, path):
    is_problem(http.get(path), 404)


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [("PUT", "/events", "GET, POST"), ("PATCH", "/events/x", "DELETE, GET"), ("GET", "/reports", "POST")],
)
def test_a_method_that_is_not_for_it_is_a_problem(api, method, path, allowed):
    response = api.request(method, path)
    is_problem(response, 405)
    assert response.headers["allow"] == allowed


def test_head_is_get_without_the_body(http):
    for path in ("/", "/healthz", "/api/v1/events"):
        response = http.head(path)
        assert (response.status_code, response.content) == (200, b"")


def test_the_document_says_what_there_is(http):
    document = http.get("/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    assert "422" not in str(document["paths"])
    for path, item in document["paths"].items():
        for method, operation in item.items():
            assert operation["summary"], (method, path)
            assert operation["operationId"], (method, path)
            for status, answer in operation["responses"].items():
                assert answer["description"], (method, path, status)
    event = document["components"]["schemas"]["Event"]
    assert set(event["properties"]) >= {"id", "in", "at", "cron", "every", "payload", "on_conflict"}
    assert event["additionalProperties"] is False
    assert set(re.findall(r"#/components/schemas/(\w+)", str(document))) <= document["components"]["schemas"].keys()
