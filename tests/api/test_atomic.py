"""All or none?"""

import pytest

from tests.api.conftest import ON_BOTH_LOGS, eventually, fields_of, is_problem

pytestmark = ON_BOTH_LOGS


def atomic(api, name, events, **headers):
    return api.post("/events", json=events, params={"tenant": name, "atomic": "true"}, headers=headers)


def ids(api, name):
    return [event["id"] for event in api.get("/events", params={"tenant": name}).json()["events"]]


def test_all_are_carried_out_over_all_partitions(api, name):
    events = [{"id": f"e{n:02d}", "in": "1h"} for n in range(20)]
    response = atomic(api, name, events)
    assert response.status_code in {201, 202}, response.text
    results = response.json()["results"]
    assert [result["id"] for result in results] == [event["id"] for event in events]
    assert {result["outcome"] for result in results} <= {"SCHEDULED", "FORWARDED"}
    assert "SCHEDULED" in {result["outcome"] for result in results}
    eventually(lambda: ids(api, name) == [event["id"] for event in events])


@pytest.mark.parametrize(
    ("bad", "field"),
    [
        ({"id": "bad", "in": "-1h"}, "[2].in"),
        ({"id": "bad", "in": "1h", "on_conflict": "reject"}, "[2]"),
        ({"id": "bad", "in": "1h", "if_revision": 1}, "[2]"),
    ],
)
def test_one_that_makes_no_sense_stops_all(api, name, bad, field):
    response = atomic(api, name, [{"id": "a", "in": "1h"}, {"id": "b", "in": "1h"}, bad])
    assert fields_of(is_problem(response, 400, outcome="INVALID")) == {field}
    assert ids(api, name) == []


def test_commands_may_be_among_them_and_have_their_own_outcome(api, name):
    api.post("/events", json={"id": "old", "in": "1h"}, params={"tenant": name})
    response = atomic(api, name, [{"op": "cancel", "id": "old"}, {"id": "new", "in": "1h"}])
    assert response.status_code in {201, 202}, response.text
    shown = {"params": {"tenant": name}}
    eventually(lambda: api.get("/events/old", **shown).json()["status"] == "CANCELLED")
    eventually(lambda: api.get("/events/new", **shown).json().get("status") == "NOT_STARTED")


def test_nobody_has_to_wait(api, name):
    response = atomic(api, name, [{"id": f"e{n}", "in": "1h"} for n in range(5)], Prefer="respond-async")
    assert (response.status_code, response.headers["preference-applied"]) == (202, "respond-async")
    eventually(lambda: len(ids(api, name)) == 5)


def test_none_is_all(api, name):
    assert atomic(api, name, []).json() == {"results": []}
    later = atomic(api, name, [], Prefer="respond-async")
    assert (later.status_code, later.json()) == (202, {"results": []})


def test_too_much_for_one_write_is_413_and_nothing_happens(api, name):
    """Kafka takes one batch a partition; the embedded log takes what a request may have."""
    events = [{"id": f"e{n}", "key": "k", "in": "1h", "payload": "x" * 100_000} for n in range(8)]
    response = atomic(api, name, events)
    if response.status_code == 413:
        is_problem(response, 413)
        assert ids(api, name) == []
    else:
        assert response.status_code == 201
        assert len(ids(api, name)) == 8


def test_sent_again_under_its_key_it_is_done_once(api, name):
    events = [{"id": f"e{n}", "in": "1h"} for n in range(6)]
    key = {"Idempotency-Key": name}
    atomic(api, name, events, **key)
    eventually(lambda: len(ids(api, name)) == 6)
    before = api.get("/events", params={"tenant": name}).json()
    assert atomic(api, name, events, **key).status_code in {201, 202}
    assert atomic(api, name, [{"id": "e0", "in": "2h"}, *events[1:]], **key).status_code in {202, 422}
    api.post("/events", json={"id": "last", "in": "1h"}, params={"tenant": name})
    assert api.get("/events", params={"tenant": name, "prefix": "e"}).json() == before


def test_it_is_true_or_false(api):
    refused = api.post("/events", json=[], params={"atomic": "perhaps"})
    assert fields_of(is_problem(refused, 400)) == {"atomic"}
