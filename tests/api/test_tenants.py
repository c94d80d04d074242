import httpx
import pytest

from tests.api.conftest import ON_BOTH_LOGS, eventually, fields_of, is_problem, started

RULES = {
    "rule": "round_robin",
    "topics": ["acme.work"],
    "limits": {"in_flight": 7, "pending": 1000},
    "weight": 3,
    "window": {"from": "09:00", "to": "17:00"},
    "defaults": {"timezone": "Europe/Paris", "retry": {"attempts": 2}, "labels": {"owner": "acme"}},
}


@ON_BOTH_LOGS
def test_a_tenant_without_rules_has_the_defaults(api, name):
    assert api.get(f"/tenants/{name}").json() == {
        "name": name,
        "rule": "key",
        "topics": [],
        "limits": {},
        "weight": 1,
        "window": None,
        "defaults": {},
    }
    assert name not in {each["name"] for each in api.get("/tenants").json()["tenants"]}


@ON_BOTH_LOGS
def test_rules_are_shown_as_they_were_given(api, name):
    response = api.put(f"/tenants/{name}", json=RULES)
    assert (response.status_code, response.json()) == (200, {"name": name, **RULES})
    assert api.get(f"/tenants/{name}").json() == response.json()
    assert response.json() in api.get("/tenants").json()["tenants"]
    assert api.put(f"/tenants/{name}", json={}).json()["rule"] == "key"


@ON_BOTH_LOGS
def test_a_size_is_written_as_in_the_settings_and_shown_in_bytes(api, name):
    for written, size in (("1KiB", 1024), ("2 KB", 2000), ("77", 77), (78, 78)):
        response = api.put(f"/tenants/{name}", json={"limits": {"payload": written}})
        assert response.json()["limits"] == {"payload": size}, response.text
        assert api.get(f"/tenants/{name}").json()["limits"] == {"payload": size}


@ON_BOTH_LOGS
def test_an_event_gets_what_it_does_not_say_itself(api, name):
    """On every node: the events are spread over all partitions."""
    api.put(f"/tenants/{name}", json={**RULES, "rule": "key"})

    def shown(n):
        api.post(
            "/events", json={"id": f"e{n}", "cron": "0 12 * * *", "labels": {"n": str(n)}}, params={"tenant": name}
        )
        return api.get(f"/events/e{n}", params={"tenant": name}).json()

    for n in range(6):
        event = eventually(lambda n=n: (found := shown(n)).get("window") and found)
        assert event["timezone"] == "Europe/Paris"
        assert (event["window"], event["retry"]) == (RULES["window"], {"attempts": 2})
        assert event["labels"] == {"owner": "acme", "n": str(n)}
    own = {"id": "own", "cron": "0 12 * * *", "timezone": "Asia/Tokyo", "window": {"days": ["mon"]}}
    api.post("/events", json=own, params={"tenant": name})
    event = api.get("/events/own", params={"tenant": name}).json()
    assert (event["timezone"], event["window"]) == ("Asia/Tokyo", {"days": ["mon"]})


@ON_BOTH_LOGS
def test_a_zone_of_the_tenant_makes_a_local_time_a_time(api, name):
    event = {"id": "e", "at": "2027-01-01T12:00:00"}
    assert fields_of(is_problem(api.post("/events", json=event, params={"tenant": name}), 400)) == {"at"}
    api.put(f"/tenants/{name}", json={"defaults": {"timezone": "Europe/Paris"}})
    accepted = eventually(
        lambda: (found := api.post("/events", json=event, params={"tenant": name})).status_code == 201 and found
    )
    assert accepted.json()["next_execution"] == "2027-01-01T11:00:00.000Z"


@ON_BOTH_LOGS
@pytest.mark.parametrize("rule", ["key", "round_robin", "tenant", "recurrence"])
def test_every_command_finds_its_event_whatever_the_rule(api, name, rule):
    assert api.put(f"/tenants/{name}", json={"rule": rule}).status_code == 200
    which = {"params": {"tenant": name}}
    events = [{"id": f"e{n}", "every": f"{n + 1}h"} for n in range(6)]
    results = api.post("/events", json=events, **which).json()["results"]
    assert {result["outcome"] for result in results} <= {"SCHEDULED", "FORWARDED"}
    for event in events:
        id = event["id"]
        eventually(lambda id=id: api.get(f"/events/{id}", **which).status_code == 200)
        assert api.post(f"/events/{id}/pause", **which).json()["outcome"] in {"PAUSED", "FORWARDED"}
        assert api.patch(f"/events/{id}", json={"priority": 1}, **which).json()["outcome"] in {"REPLACED", "FORWARDED"}
        key = api.get(f"/events/{id}", **which).json()["key"]
        assert key == (event["every"] if rule == "recurrence" else id)
    assert api.get("/events", **which).json()["events"]


@ON_BOTH_LOGS
def test_the_rule_stays_while_there_are_events(api, name):
    api.post("/events", json={"id": "e", "in": "1h"}, params={"tenant": name})
    for rule in ("round_robin", "tenant"):
        is_problem(api.put(f"/tenants/{name}", json={"rule": rule}), 409)
    assert api.put(f"/tenants/{name}", json={"rule": "recurrence"}).status_code == 200
    assert api.put(f"/tenants/{name}", json={"rule": "key", "weight": 2}).status_code == 200


@ON_BOTH_LOGS
@pytest.mark.parametrize(
    ("rules", "field"),
    [
        ({"rule": "dice"}, "rule"),
        ({"colour": "red"}, "colour"),
        ({"weight": 0}, "weight"),
        ({"limits": {"in_flight": 0}}, "limits.in_flight"),
        ({"topics": ["not ok"]}, "topics"),
        ({"window": {"from": "99:00"}}, "window.from"),
        ({"defaults": {"timezone": "Mars/Olympus"}}, "timezone"),
        ({"defaults": {"timeout": "soon"}}, "timeout"),
        ({"limits": {"payload": 10**9}}, "limits.payload"),
        ({"limits": {"payload": "1GiB"}}, "limits.payload"),
        ({"limits": {"payload": "0KiB"}}, "limits.payload"),
        ({"limits": {"payload": "a lot"}}, "limits.payload"),
        ({"limits": {"payload": "1" * 5000}}, "limits.payload"),
        ({"limits": {"payload": True}}, "limits.payload"),
        ({"limits": {"in_flight": "1KiB"}}, "limits.in_flight"),
    ],
)
def test_rules_that_make_no_sense_are_refused(api, name, rules, field):
    assert fields_of(is_problem(api.put(f"/tenants/{name}", json=rules), 400)) == {field}


@ON_BOTH_LOGS
@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"\xff"])
def test_a_body_that_is_none_is_refused(api, name, body):
    is_problem(api.put(f"/tenants/{name}", content=body), 400)


@ON_BOTH_LOGS
def test_a_name_that_is_none_is_refused(api):
    is_problem(api.put("/tenants/NOT%20OK", json={}), 400)


def test_rules_hold_after_a_restart(tmp_path):
    for first in (True, False):
        with started(tmp_path) as (_, address):
            base = f"{address}/api/v1/tenants/acme"
            if first:
                httpx.put(base, json=RULES)
            assert httpx.get(base).json() == {"name": "acme", **RULES}
            event = {"id": "e", "cron": "0 12 * * *", "tenant": "acme"}
            httpx.post(f"{address}/api/v1/events", json=event)
            assert httpx.get(f"{address}/api/v1/events/e?tenant=acme").json()["labels"] == {"owner": "acme"}


def test_a_name_that_is_none_is_told_so_in_words(api):
    detail = is_problem(api.get("/tenants/NOT-OK"), 400)["detail"]
    assert detail == "name: must be lower-case letters, digits and `._-`, at most 63, letter or digit first"
