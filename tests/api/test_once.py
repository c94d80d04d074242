"""Is a request that is sent again carried out once?"""

import httpx
import pytest

from tests.api.conftest import ON_BOTH_LOGS, eventually, fields_of, is_problem, started

FAR = "2027-01-01T00:00:00Z"


def post(api, body, key, **headers):
    return api.post("/events", json=body, headers={"Idempotency-Key": key, **headers})


@ON_BOTH_LOGS
@pytest.mark.parametrize("body", [{"in": "1h"}, {"in": "1h", "id": "{name}"}, {"at": FAR, "key": "{name}"}], ids=str)
def test_the_same_request_is_answered_the_same_and_done_once(api, name, body):
    body = {field: value.format(name=name) for field, value in body.items()}
    first, *again = [post(api, body, name) for _ in range(3)]
    assert (first.status_code, first.json()["outcome"]) == (201, "SCHEDULED")
    for each in again:
        assert (each.status_code, each.json()) == (201, first.json())
    assert api.get(f"/events/{first.json()['id']}").json()["revision"] == 1


@ON_BOTH_LOGS
def test_the_same_key_for_something_else_is_422(api, name):
    for body in ({"in": "1h"}, {"in": "1h", "id": f"{name}x"}):
        first = post(api, body, name).json()
        is_problem(post(api, body | {"in": "2h"}, name), 422)
        assert api.get(f"/events/{first['id']}").json()["next_execution"] == first["next_execution"]


@ON_BOTH_LOGS
def test_the_key_belongs_to_its_tenant(api, name):
    ids = {
        api.post("/events", json={"in": "1h"}, params={"tenant": t}, headers={"Idempotency-Key": name}).json()["id"]
        for t in (f"{name}-1", f"{name}-2")
    }
    assert len(ids) == 2


@ON_BOTH_LOGS
def test_what_was_done_since_is_not_undone(api, name):
    body = {"id": name, "in": "1h"}
    post(api, body, name)
    api.delete(f"/events/{name}")
    assert post(api, body, name).json()["status"] == "CANCELLED"
    assert api.get(f"/events/{name}").json()["status"] == "CANCELLED"


@ON_BOTH_LOGS
def test_many_are_done_once_too(api, name):
    many = [{"in": "1h"}, {"in": "-1h"}, *({"in": "1h", "key": f"k{n}"} for n in range(20))]
    first, again = (post(api, many, name) for _ in range(2))
    assert (first.status_code, again.status_code) == (207, 207)
    assert again.json() == first.json()
    assert {result["outcome"] for result in first.json()["results"]} == {"SCHEDULED", "INVALID"}
    is_problem(post(api, [*many, {"id": f"{name}-new", "in": "1h"}], name), 422)
    is_problem(api.get(f"/events/{name}-new"), 404)


@ON_BOTH_LOGS
def test_a_trigger_is_done_once(api, name):
    api.post("/events", json={"id": name, "every": "1h", "timeout": "1h"})
    for _ in range(3):
        assert post(api, {"op": "trigger", "id": name}, name).json()["outcome"] == "TRIGGERED"
    assert len(api.get(f"/events/{name}/runs").json()["runs"]) == 1


@ON_BOTH_LOGS
def test_one_event_gets_no_more_commands_under_a_key_than_it_remembers(api, name):
    api.post("/events", json={"id": name, "every": "1h", "timeout": "1h", "overlap": "allow"})
    triggers = [{"op": "trigger", "id": name}] * 9
    for _ in range(2):
        results = post(api, triggers, name).json()["results"]
        assert [result["outcome"] for result in results] == ["TRIGGERED"] * 8 + ["INVALID"]
    assert "another key" in results[-1]["error"]
    assert len(api.get(f"/events/{name}/runs").json()["runs"]) == 8


@ON_BOTH_LOGS
def test_a_key_that_is_too_long_is_refused(api, name):
    assert fields_of(is_problem(post(api, {"in": "1h"}, "x" * 300), 400)) == {"Idempotency-Key"}


def test_a_key_is_remembered_over_a_restart(tmp_path):
    answers = []
    for _ in range(2):
        with started(tmp_path) as (_, address):
            request = {"json": {"in": "1h"}, "headers": {"Idempotency-Key": "k"}}
            answers.append(httpx.post(f"{address}/api/v1/events", **request).json())
    assert answers[0] == answers[1]


@ON_BOTH_LOGS
def test_whoever_does_not_want_to_wait_is_told_where_to_look(api, name):
    response = post(api, {"in": "1h"}, name, Prefer="respond-async")
    assert (response.status_code, response.headers["preference-applied"]) == (202, "respond-async")
    id = response.json()["id"]
    assert response.headers["location"] == f"/api/v1/events/{id}"


def test_commands_about_one_event_under_one_key_are_all_carried_out(api, name):
    body = [{"id": name, "in": "1h"}, {"op": "pause", "id": name}, {"op": "resume", "id": name}]
    for _ in range(2):
        outcomes = [result["outcome"] for result in post(api, body, name).json()["results"]]
        assert outcomes == ["SCHEDULED", "PAUSED", "RESUMED"]


@ON_BOTH_LOGS
def test_a_trigger_with_a_key_runs_an_event_once(api, name):
    api.post("/events", json={"id": name, "every": "1h"})
    trigger = f"/events/{name}/trigger"
    first, again = [api.post(trigger, headers={"Idempotency-Key": "now"}) for _ in range(2)]
    assert [(each.status_code, each.json()["outcome"]) for each in (first, again)] == [(200, "TRIGGERED")] * 2
    is_problem(api.post(trigger, headers={"Idempotency-Key": "now"}, json={"reason": "another"}), 422)
    is_problem(api.post(f"/events/{name}/pause", headers={"Idempotency-Key": "now"}), 422)
    api.post(trigger)
    eventually(lambda: len(api.get(f"/events/{name}/runs").json()["runs"]) == 2)
