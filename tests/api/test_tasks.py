import json
import socket

import pytest

from tests.api.conftest import ON_BOTH_LOGS, eventually, fields_of, is_problem

pytestmark = ON_BOTH_LOGS


def task(user, schedule, *, recurring=False, **more):
    return {"user_id": user, "task_blob": {"do": "it"}, "schedule": schedule, "is_recurring": recurring, **more}


@pytest.mark.parametrize(
    ("schedule", "recurring", "field"),
    [
        ("2027-01-01T00:00:00Z", False, "at"),
        ("2h", False, "at"),
        ("2h", True, "every"),
        ("PT2H", True, "every"),
        ("30 9 * * *", True, "cron"),
        ("@daily", True, "cron"),
    ],
)
def test_a_task_is_an_event_of_its_user(api, name, schedule, recurring, field):
    response = api.post("/schedule", json=task(name, schedule, recurring=recurring))
    assert response.status_code == 201, response.text
    (id,) = response.json().values()
    event = api.get(f"/events/{id}", params={"tenant": name}).json()
    assert event["payload"] == {"do": "it"}
    assert field in event
    shown = api.get("/", params={"task": id, "user_id": name}).json()
    assert shown == {
        "task_id": id,
        "task_status": "NOT_STARTED",
        "last_executed": None,
        "next_execution": event["next_execution"],
    }


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (task("u", "30 9 * * *"), "is_recurring"),
        (task("u", "2027-01-01T00:00:00Z", recurring=True), "schedule"),
        (task("u", "whenever"), "schedule"),
        (task("u", "1 2 3 4 x", recurring=True), "schedule"),
        (task("NOT OK", "2h"), "user_id"),
        (task("u", "2h", colour="red"), "colour"),
        ({"user_id": "u", "schedule": "2h"}, "task_blob"),
        (task("u", ["2h"]), "schedule"),
        (task("u", 5), "schedule"),
        (task("u", 1798761600000), "schedule"),
    ],
)
def test_a_task_that_makes_no_sense_is_refused(api, body, field):
    assert fields_of(is_problem(api.post("/schedule", json=body), 400)) == {field}


def test_a_number_is_no_schedule_of_a_task(api):
    detail = is_problem(api.post("/schedule", json=task("u", 5)), 400)["detail"]
    assert detail.startswith("schedule: must be text, not a whole number: give a time (RFC 3339), a duration")


@pytest.mark.parametrize(("theirs", "ours"), {"payload": "task_blob", "cron": "schedule", "tenant": "user_id"}.items())
def test_a_field_of_events_is_told_what_it_is_called_in_a_task(api, theirs, ours):
    body = {"user_id": "u", "task_blob": 1, "schedule": "2h", theirs: "x"}
    assert f"did you mean `{ours}`?" in is_problem(api.post("/schedule", json=body), 400)["detail"]


def test_a_task_is_cancelled_once_and_for_all(api, name):
    id = api.post("/schedule", json=task(name, "2h")).json()["task_id"]
    which = {"task": id, "user_id": name}
    assert api.delete("/", params=which).json() == {
        "task_id": id,
        "task_status": "CANCELLED",
        "outcome": "CANCELLED",
    }
    assert api.get("/", params=which).json()["task_status"] == "CANCELLED"
    is_problem(api.delete("/", params=which | {"task": "another"}), 404)
    is_problem(api.get("/", params=which | {"user_id": "somebody"}), 404)


def test_a_task_in_progress_is_409(api, name):
    api.post("/events", json={"id": "busy", "in": "1ms", "timeout": "1h"}, params={"tenant": name})
    which = {"task": "busy", "user_id": name}
    eventually(lambda: api.get("/", params=which).json()["last_executed"])
    is_problem(api.delete("/", params=which), 409, outcome="TOO_LATE")


def test_a_recurring_task_in_progress_is_409_and_says_what_to_do(api, name):
    api.post("/events", json={"id": "busy", "every": "1h", "timeout": "1h"}, params={"tenant": name})
    which = {"task": "busy", "user_id": name}
    assert api.post("/events/busy/trigger", params={"tenant": name}).status_code == 200
    eventually(lambda: api.get("/", params=which).json()["last_executed"])
    problem = is_problem(api.delete("/", params=which), 409, outcome="TOO_LATE")
    assert problem["detail"].startswith("The task is in progress: wait until its run is over, or cancel the event")
    assert api.get("/", params=which).json()["next_execution"] is not None
    assert f"`DELETE /api/v1/events/busy?tenant={name}`" in problem["detail"]
    assert api.delete("/events/busy", params={"tenant": name}).json()["outcome"] == "CANCELLED"


@pytest.mark.parametrize("method", ["GET", "LIST"])
def test_tasks_are_listed_in_pages(api, name, method):
    ids = [api.post("/schedule", json=task(name, "2h")).json()["task_id"] for _ in range(5)]
    found, parameters = [], {"user_id": name, "limit": 2}
    while True:
        page = api.request(method, "/tasks", params=parameters)
        assert page.status_code == 200, page.text
        found += [each["task_id"] for each in page.json()["tasks"]]
        if page.json()["cursor"] is None:
            break
        parameters["cursor"] = page.json()["cursor"]
    assert found == sorted(ids)


def test_list_is_understood_between_other_requests_on_one_connection(server, name):
    """And only where a request begins: what is in a body stays what it is."""
    host, port = server.removeprefix("http://").split(":")
    body = json.dumps({"id": name, "in": "1h", "payload": "LIST /"}).encode()
    post = b"POST /api/v1/events HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body)
    listing = b"LIST /api/v1/tasks HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        for request, status in ((listing, b"200"), (post, None), (body, b"201"), (listing, b"200")):
            connection.sendall(request)
            if status is not None:
                answer = connection.recv(100_000)
                assert answer.startswith(b"HTTP/1.1 " + status), answer
                while b"\r\n\r\n" not in answer or not answer.rstrip().endswith(b"}"):
                    answer += connection.recv(100_000)
