import pytest

from tests.api.conftest import ON_BOTH_LOGS, eventually, fields_of, is_problem

pytestmark = ON_BOTH_LOGS


def test_cancel_pause_resume_and_trigger_answer_their_outcome(api, name):
    api.post("/events", json={"id": name, "every": "1h"})
    for command, outcome in (("pause", "PAUSED"), ("resume", "RESUMED"), ("trigger", "TRIGGERED")):
        response = api.post(f"/events/{name}/{command}", json={"reason": "because"})
        assert (response.status_code, response.json()["outcome"]) == (200, outcome)
        assert response.json()["id"] == name
    response = api.delete(f"/events/{name}", params={"reason": "no longer wanted"})
    assert (response.status_code, response.json()["outcome"]) == (200, "CANCELLED")
    assert api.get(f"/events/{name}").json()["status"] == "CANCELLED"
    texts = [line["text"] for line in api.get(f"/events/{name}/explain").json()["reasons"]]
    assert any("no longer wanted" in text for text in texts)
    assert any("because" in text for text in texts)


@pytest.mark.parametrize("command", ["pause", "resume", "trigger"])
def test_a_command_needs_no_body(api, name, command):
    api.post("/events", json={"id": name, "every": "1h"})
    assert api.post(f"/events/{name}/{command}").status_code == 200


def test_an_unknown_event_is_404(api, name):
    is_problem(api.delete(f"/events/{name}"), 404, outcome="NOT_FOUND")
    for command in ("pause", "resume", "trigger"):
        is_problem(api.post(f"/events/{name}/{command}"), 404, outcome="NOT_FOUND")


def test_too_late_is_409(api, name):
    api.post("/events", json={"id": name, "in": "1ms"})
    eventually(lambda: api.get(f"/events/{name}").json()["status"] == "SUCCESS")
    is_problem(api.delete(f"/events/{name}"), 409, outcome="TOO_LATE")
    for command in ("pause", "resume", "trigger"):
        is_problem(api.post(f"/events/{name}/{command}"), 409, outcome="TOO_LATE")


@pytest.mark.parametrize("body", [b"{", b"[]", b'"x"', b"\xff", b'{"reason": 1}', b'{"why": "x"}'])
def test_a_body_that_makes_no_sense_is_refused(api, name, body):
    api.post("/events", json={"id": name, "every": "1h"})
    is_problem(api.post(f"/events/{name}/pause", content=body), 400)
    assert api.get(f"/events/{name}").json()["status"] == "NOT_STARTED"


def test_too_long_a_reason_is_refused(api, name):
    api.post("/events", json={"id": name, "every": "1h"})
    problem = is_problem(api.post(f"/events/{name}/pause", json={"reason": "x" * 2000}), 400)
    assert fields_of(problem) == {"reason"}
    is_problem(api.post(f"/events/{name}/pause", content=b"x" * 20_000), 413)
    assert fields_of(is_problem(api.delete(f"/events/{name}", params={"reason": "x" * 2000}), 400)) == {"reason"}


def test_triggering_too_often_at_once_is_429(api, name):
    """At most 1,000 runs of an event may be unfinished."""
    api.post("/events", json={"id": name, "every": "1h", "timeout": "1h"})
    many = api.post("/events", json=[{"op": "trigger", "id": name}] * 1001)
    assert many.status_code == 207
    assert {result["outcome"] for result in many.json()["results"]} == {"TRIGGERED", "QUOTA"}
    is_problem(api.post(f"/events/{name}/trigger"), 429, outcome="QUOTA")


@pytest.mark.parametrize("command", ["pause", "resume", "trigger"])
def test_a_command_about_another_revision_is_412_and_changes_nothing(api, name, command):
    api.post("/events", json={"id": name, "every": "1h"})
    is_problem(api.post(f"/events/{name}/{command}", headers={"If-Match": '"7"'}), 412)
    assert api.get(f"/events/{name}").json()["status"] == "NOT_STARTED"
    assert api.get(f"/events/{name}/runs").json()["runs"] == []
    assert api.post(f"/events/{name}/{command}", headers={"If-Match": '"1"'}).status_code == 200
