import re

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from lightsched import __version__
from tests.api.conftest import ON_BOTH_LOGS, eventually, is_problem
from tests.unit.node.test_metrics import CONTRACT, PER_PARTITION

pytestmark = ON_BOTH_LOGS


def test_it_lives_and_is_ready(http):
    assert http.get("/healthz").json() == {"status": "ok", "version": __version__}
    assert http.get("/readyz").json() == {"status": "ready", "version": __version__}


def metrics_of(api):
    """Name → samples, of all nodes."""
    found = {}
    for node in api.get("/nodes").json()["nodes"]:
        response = httpx.get(f"{node['url'] or str(api.base_url).partition('/api')[0]}/metrics")
        assert response.headers["content-type"].startswith("text/plain; version=")
        for family in text_string_to_metric_families(response.text):
            name = family.name + ("_total" if family.type == "counter" else "")
            found.setdefault(name.removeprefix("lightsched_"), []).extend(family.samples)
    return found


def test_the_metrics_of_the_contract_are_there(api, name):
    """Those of a partition for each of them, whoever owns it; and what was done is counted once."""
    api.post("/events", json=[{"in": "1h"}, {"id": name, "in": "1ms"}], params={"tenant": name})
    eventually(lambda: api.get(f"/events/{name}", params={"tenant": name}).json()["status"] == "SUCCESS")
    found = eventually(lambda: _counted(metrics_of(api), "deliveries_total", name) == 1 and metrics_of(api))
    assert CONTRACT.keys() <= found.keys()
    for metric in PER_PARTITION:
        samples = [sample for sample in found[metric] if metric != "partition_owner" or sample.value == 1]
        assert {sample.labels["partition"] for sample in samples} == {"0", "1", "2"}, metric
    assert _counted(found, "commands_total", name) == 2
    assert {sample.value for sample in found["reconciliation_difference"]} == {0}
    for metric in ("lateness_seconds", "round_trip_seconds", "step_seconds", "step_events"):
        assert sum(sample.value for sample in found[metric] if sample.name.endswith("_count")) > 0, metric


def test_commands_that_make_no_sense_are_counted_too(api):
    def refused():
        return sum(each.value for each in metrics_of(api)["commands_total"] if each.labels.get("outcome") == "INVALID")

    before = refused()
    api.post("/events", json={"in": "soon"})
    api.post("/events", json=[{"in": "soon"}, {"at": 1.5}])
    assert refused() >= before + 3


def _counted(found, metric, tenant):
    samples = [sample for sample in found[metric] if sample.name.endswith("_total")]
    return sum(sample.value for sample in samples if sample.labels["tenant"] == tenant)


def test_partitions_say_who_owns_them_and_how_far_they_are(api, name):
    before = sum(partition["pending"] for partition in api.get("/partitions").json()["partitions"])
    api.post("/events", json=[{"in": "1h"}] * 30, params={"tenant": name})
    partitions = api.get("/partitions").json()["partitions"]
    assert [partition["partition"] for partition in partitions] == [0, 1, 2]
    assert sum(partition["pending"] for partition in partitions) >= before + 30 - 5
    for partition in partitions:
        totals = partition["totals"]
        assert totals.pop("accepted") == sum(totals.values())
        assert partition["owner"] in {"node-1", "node-2"}
        assert partition["clock_trusted"]
        assert partition["lag"] == 0


def test_nodes_share_the_partitions(api, on_kafka):
    nodes = api.get("/nodes").json()["nodes"]
    assert [node["id"] for node in nodes] == (["node-1", "node-2"] if on_kafka else ["node-1"])
    assert sorted(number for node in nodes for number in node["partitions"]) == [0, 1, 2]
    for node in nodes:
        assert (node["version"], node["log"]) == (__version__, "kafka" if on_kafka else "embedded")
        assert node["started_at"] <= node["heartbeat"]


def test_nodes_say_what_they_do_and_how_much(api, name):
    api.post("/events", json=[{"in": "1h"}] * 30, params={"tenant": name})

    def shown():
        nodes = api.get("/nodes").json()["nodes"]
        assert {tuple(node["roles"][:2]) for node in nodes} == {("scheduler", "api")}
        return nodes if sum(node["load"]["pending"] for node in nodes) >= 30 else None

    for node in eventually(shown):
        assert node["load"].keys() == {"pending", "lag", "in_flight", "fired_per_s", "cpu", "seconds"}
        assert min(node["load"].values()) >= 0


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


@pytest.mark.parametrize("path", ["/nothing", "/api/v1", "/api/v1/nothing", "/api/v1/events/", "/%00"])
def test_an_address_that_leads_nowhere_is_a_problem(http, path):
    is_problem(http.get(path), 404)


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [("PUT", "/events", "GET, POST"), ("PUT", "/events/x", "DELETE, GET, PATCH"), ("GET", "/reports", "POST")],
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
    assert "HTTPValidationError" not in str(document["paths"])
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
