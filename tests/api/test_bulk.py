import pytest

from tests.api.conftest import ON_BOTH_LOGS, eventually, fields_of, is_problem

pytestmark = ON_BOTH_LOGS


@pytest.fixture
def many(api, name):
    """Six hundred events of a tenant of their own, over all partitions: more than are found at once."""
    events = [
        {"id": f"job-{n:03d}", "every": "1h", "labels": {"parity": "odd" if n % 2 else "even"}} for n in range(600)
    ]
    assert api.post("/events", json=events, params={"tenant": name}).status_code == 201
    return name


def statuses(api, tenant):
    events = api.get("/events", params={"tenant": tenant, "limit": 1000}).json()["events"]
    return {event["id"]: event["status"] for event in events}


def test_a_bulk_command_reaches_what_matches_and_nothing_else(api, many):
    chosen = {"tenant": many, "label": "parity=odd"}
    response = api.post("/events/bulk", json={"action": "pause", "filter": chosen, "reason": "moving house"})
    assert response.json() == {
        "matched": 300,
        "outcomes": {"PAUSED": 300},
        "unknown": 0,
        "dry_run": False,
        "cursor": None,
    }
    for id, status in statuses(api, many).items():
        assert status == ("PAUSED" if int(id[-3:]) % 2 else "NOT_STARTED")
    reasons = api.get("/events/job-001/explain", params={"tenant": many}).json()["reasons"]
    assert any("moving house" in reason["text"] for reason in reasons)
    resumed = api.post("/events/bulk", json={"action": "resume", "filter": {"tenant": many, "status": "PAUSED"}})
    assert resumed.json()["outcomes"] == {"RESUMED": 300}


def test_a_dry_run_only_counts(api, many):
    response = api.post("/events/bulk", json={"action": "cancel", "filter": {"tenant": many}, "dry_run": True})
    assert response.json() == {"matched": 600, "outcomes": {}, "unknown": 0, "dry_run": True, "cursor": None}
    assert set(statuses(api, many).values()) == {"NOT_STARTED"}


def test_what_is_over_is_left_alone_unless_it_is_asked_for(api, name):
    api.post("/events", json=[{"id": "gone", "in": "1ms"}, {"id": "here", "in": "1h"}], params={"tenant": name})
    eventually(lambda: statuses(api, name)["gone"] == "SUCCESS")
    cancel = {"action": "cancel", "filter": {"tenant": name}}
    assert api.post("/events/bulk", json=cancel).json()["outcomes"] == {"CANCELLED": 1}
    cancel["filter"]["status"] = ["SUCCESS"]
    assert api.post("/events/bulk", json=cancel).json()["outcomes"] == {"TOO_LATE": 1}


def test_events_under_keys_are_reached_too(api, name):
    api.post("/events", json=[{"id": "x", "key": f"k{n}", "every": "1h"} for n in range(9)], params={"tenant": name})
    assert api.post("/events/bulk", json={"action": "trigger", "filter": {"tenant": name, "prefix": "x"}}).json()[
        "outcomes"
    ] == {"TRIGGERED": 9}


def test_a_cursor_goes_on(api, many):
    page = api.get("/events", params={"tenant": many, "limit": 500}).json()
    rest = {"action": "pause", "filter": {"tenant": many}, "cursor": page["cursor"]}
    assert api.post("/events/bulk", json=rest).json()["outcomes"] == {"PAUSED": 100}


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"action": "explode", "filter": {}}, "action"),
        ({"action": "pause"}, "filter"),
        ({"filter": {}}, "action"),
        ({"action": "pause", "filter": {"colour": "red"}}, "filter.colour"),
        ({"action": "pause", "filter": {"tenant": "NOT OK"}}, "tenant"),
        ({"action": "pause", "filter": {"label": "red"}}, "label"),
        ({"action": "pause", "filter": {}, "reason": "x" * 2000}, "reason"),
        ({"action": "pause", "filter": {}, "cursor": "x"}, "cursor"),
    ],
)
def test_a_bulk_command_that_makes_no_sense_is_refused(api, body, field):
    assert fields_of(is_problem(api.post("/events/bulk", json=body), 400)) == {field}


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"\xff"])
def test_a_body_that_is_no_bulk_command_is_refused(api, body):
    is_problem(api.post("/events/bulk", content=body), 400)


def test_a_label_may_be_written_with_a_colon(api, many):
    listed = api.get("/events", params={"tenant": many, "label": "parity:odd", "limit": 1000}).json()
    assert len(listed["events"]) == 300


def test_the_tenant_of_the_request_is_the_one_whose_events_are_meant(api, name):
    other = f"{name}-other"
    for tenant in (name, other):
        assert api.post("/events", json={"id": "same", "in": "1h"}, params={"tenant": tenant}).status_code == 201
    cancel = {"action": "cancel", "filter": {"prefix": "same"}}
    answer = api.post("/events/bulk", json=cancel, params={"tenant": name})
    assert answer.json()["outcomes"] == {"CANCELLED": 1}
    assert statuses(api, name) == {"same": "CANCELLED"}
    assert statuses(api, other) == {"same": "NOT_STARTED"}
    for tenant in (other, "*"):
        cancel["filter"]["tenant"] = tenant
        problem = is_problem(api.post("/events/bulk", json=cancel, params={"tenant": name}), 400)
        assert fields_of(problem) == {"filter.tenant"}
    assert statuses(api, other) == {"same": "NOT_STARTED"}


def test_a_parameter_that_a_bulk_command_does_not_know_is_refused(api):
    cancel = {"action": "cancel", "filter": {}, "dry_run": True}
    assert fields_of(is_problem(api.post("/events/bulk", json=cancel, params={"tenamt": "x"}), 400)) == {"tenamt"}


def test_a_filter_by_labels_is_told_what_it_is_called(api):
    body = {"action": "pause", "filter": {"labels": {"team": "blue"}}}
    (error,) = is_problem(api.post("/events/bulk", json=body), 400)["errors"]
    assert error["field"] == "filter.labels"
    assert "did you mean `label`" in error["message"]
