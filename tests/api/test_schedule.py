import json
import re
import socket

import pytest

from tests.api.conftest import BATCH, ON_BOTH_LOGS, fields_of, is_problem

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")

pytestmark = ON_BOTH_LOGS


def ndjson(api, lines, **parameters):
    content = b"\n".join(line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines)
    return api.post("/events", content=content, params=parameters, headers={"Content-Type": "application/x-ndjson"})


def test_an_event_is_accepted_with_its_outcome(api, name):
    response = api.post("/events", json={"id": name, "at": "2027-01-01T09:00:00+01:00", "payload": {"text": "hi"}})
    assert response.status_code == 201
    assert response.json() == {
        "id": name,
        "tenant": "default",
        "outcome": "SCHEDULED",
        "status": "NOT_STARTED",
        "next_execution": "2027-01-01T08:00:00.000Z",
    }


def test_the_same_event_again_changes_nothing(api, name):
    event = {"id": name, "at": "2027-01-01T00:00:00Z"}
    assert api.post("/events", json=event).status_code == 201
    again = api.post("/events", json=event)
    assert (again.status_code, again.json()["outcome"]) == (200, "UNCHANGED")
    other = api.post("/events", json=event | {"at": "2027-01-02T00:00:00Z"})
    assert (other.status_code, other.json()["outcome"]) == (201, "REPLACED")


def test_a_conflict_that_is_not_wanted_is_409(api, name):
    api.post("/events", json={"id": name, "at": "2027-01-01T00:00:00Z"})
    refused = api.post("/events", json={"id": name, "at": "2027-01-02T00:00:00Z", "on_conflict": "reject"})
    is_problem(refused, 409, outcome="REJECTED")


def test_without_an_id_it_gets_one_that_sorts_by_time(api):
    ids = [api.post("/events", json={"in": "1h"}).json()["id"] for _ in range(5)]
    assert ids == sorted(ids)
    assert len(set(ids)) == 5
    many = api.post("/events", json=[{"in": "1h"}] * 50).json()["results"]
    assert [result["id"] for result in many] == sorted({result["id"] for result in many})


@pytest.mark.parametrize(
    ("event", "field"),
    [
        ({"in": "1h", "cron": "* * * * *"}, "cron"),
        ({}, "at"),
        ({"in": "-1h"}, "in"),
        ({"cron": "0 0 31 2 *"}, "cron"),
        ({"at": "2027-01-01T00:00:00"}, "at"),
        ({"at": "2027-01-01T00:00:00Z", "timezone": "Mars/Olympus"}, "timezone"),
        ({"in": "1h", "colour": "red"}, "colour"),
        ({"in": "1h", "id": "a\u0000b"}, "id"),
        ({"in": "1h", "id": "auto:1"}, "id"),
        ({"in": "1h", "tenant": "NOT OK"}, "tenant"),
        ({"in": 5}, "in"),
        ({"op": "cancel"}, "id"),
    ],
)
def test_an_event_that_makes_no_sense_is_refused_by_field(api, event, field):
    problem = is_problem(api.post("/events", json=event), 400, outcome="INVALID")
    assert fields_of(problem) == {field}


@pytest.mark.parametrize(
    "body", [b"", b"   ", b"{", b"[", b"nonsense", b"\xff\xfe", b"{}{}", b'"text"', b"[" * 100_000]
)
def test_a_body_that_is_no_event_is_refused(api, body):
    is_problem(api.post("/events", content=body), 400)


def test_an_odd_body_is_never_a_server_error(api):
    for body in (b"null", b"7", b"[null]", b"[[]]", b'{"id": 1}', b'{"payload":' + b"[" * 50_000, b'{"in": "\\ud800"}'):
        assert api.post("/events", content=body).status_code in {207, 400}


def test_too_large_a_payload_is_413(api, name):
    problem = is_problem(api.post("/events", json={"id": name, "in": "1h", "payload": "x" * 300_000}), 413)
    assert fields_of(problem) == {"payload"}
    is_problem(api.post("/events", json={"id": name, "in": "1h", "payload": "x" * 2_000_000}), 413)
    assert api.post("/events", json={"id": name, "in": "1h", "payload": "x" * 200_000}).status_code == 201


def test_a_body_beyond_the_limit_is_413(api):
    def endless():
        for _ in range(70):
            yield b"x" * 1024 * 1024

    is_problem(api.post("/events", content=endless()), 413)


def test_a_length_beyond_the_limit_is_refused_before_anything_is_sent(server):
    host, port = server.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        connection.sendall(b"POST /api/v1/events HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000000\r\n\r\n")
        assert connection.recv(1000).startswith(b"HTTP/1.1 413 ")


def test_the_tenant_comes_from_the_request_or_the_event(api, name):
    assert api.post("/events", json={"in": "1h"}, params={"tenant": name}).json()["tenant"] == name
    assert api.post("/events", json={"in": "1h", "tenant": name}).json()["tenant"] == name
    both = api.post("/events", json={"in": "1h", "tenant": name}, params={"tenant": name})
    assert both.json()["tenant"] == name
    conflict = api.post("/events", json={"in": "1h", "tenant": name}, params={"tenant": "other"})
    assert fields_of(is_problem(conflict, 400)) == {"tenant"}
    assert fields_of(is_problem(api.post("/events", json={"in": "1h"}, params={"tenant": "\0"}), 400)) == {"tenant"}


def test_unknown_parameters_are_refused(api):
    problem = is_problem(api.post("/events", json={"in": "1h"}, params={"colour": "red"}), 400)
    assert fields_of(problem) == {"colour"}


def test_an_array_is_answered_in_order(api, name):
    events = [{"id": f"{name}-{i}", "at": "2027-01-01T00:00:00Z"} for i in range(600)]
    response = api.post("/events", json=events)
    assert response.status_code == 201
    assert [result["id"] for result in response.json()["results"]] == [event["id"] for event in events]


def test_bad_ones_among_many_do_not_spoil_the_others(api, name):
    sent = [{"id": f"{name}-0", "in": "1h"}, {"id": f"{name}-1"}, "nonsense", {"id": f"{name}-3", "in": "1h"}]
    response = api.post("/events", json=sent)
    assert response.status_code == 207
    good, bad, worse, last = response.json()["results"]
    assert (good["outcome"], last["outcome"]) == ("SCHEDULED", "SCHEDULED")
    assert (bad["index"], bad["outcome"], worse["index"], worse["outcome"]) == (1, "INVALID", 2, "INVALID")
    assert "give exactly one of" in bad["error"]
    assert api.get(f"/events/{name}-3").status_code == 200
    assert api.get(f"/events/{name}-1").status_code == 404


def test_nothing_is_also_an_answer(api):
    assert api.post("/events", json=[]).json() == {"results": []}


def test_ten_thousand_lines_with_bad_ones_in_the_middle(api, name):
    lines = [{"id": f"{name}-{i}", "at": "2027-01-01T00:00:00Z", "payload": i} for i in range(BATCH)]
    bad = {4_999: b"{not json", 5_000: {"id": "x", "at": "yesterday"}, 5_001: b"[1, 2]"}
    for index, line in bad.items():
        lines[index] = line
    response = ndjson(api, lines, tenant=name)
    assert response.status_code == 207
    results = response.json()["results"]
    assert len(results) == BATCH
    assert {result["index"] for result in results if result["outcome"] == "INVALID"} == bad.keys()
    for index, result in enumerate(results):
        if index not in bad:
            assert result["id"] == f"{name}-{index}"
            assert result["outcome"] == "SCHEDULED"
    assert api.get(f"/events/{name}-{BATCH - 1}", params={"tenant": name}).json()["payload"] == BATCH - 1
    listed, cursor = 0, None
    while True:
        page = api.get(
            "/events", params={"tenant": name, "limit": 1000, **({"cursor": cursor} if cursor else {})}
        ).json()
        listed, cursor = listed + len(page["events"]), page["cursor"]
        if cursor is None:
            break
    assert listed == BATCH - len(bad)


def test_ten_thousand_events_of_a_kilobyte_go_through_in_one_array(api, name):
    events = [{"id": f"{name}-{i}", "at": "2027-01-01T00:00:00Z", "payload": "x" * 1_000} for i in range(BATCH)]
    response = api.post("/events", json=events, params={"tenant": name})
    assert response.status_code == 201, response.text[:500]
    assert [result["id"] for result in response.json()["results"]] == [event["id"] for event in events]


def test_lines_need_no_content_type_and_may_be_blank(api, name):
    body = f'\n{{"id": "{name}-0", "in": "1h"}}\r\n\n{{"id": "{name}-1", "in": "1h"}}\n\n'.encode()
    blank_first = api.post("/events", content=body, headers={"Content-Type": "application/x-ndjson"})
    assert [result["outcome"] for result in blank_first.json()["results"]] == ["SCHEDULED", "SCHEDULED"]
    guessed = api.post("/events", content=body.strip(), headers={"Content-Type": "text/plain"})
    assert len(guessed.json()["results"]) == 2
    pretty = json.dumps({"id": f"{name}-2", "in": "1h"}, indent=2).encode()
    assert api.post("/events", content=pretty).json()["id"] == f"{name}-2"


def test_more_than_a_batch_is_413_and_nothing_is_done(api, name):
    events = [{"id": f"{name}-{i}", "in": "1h"} for i in range(BATCH + 1)]
    is_problem(api.post("/events", json=events), 413)
    is_problem(ndjson(api, events), 413)
    is_problem(ndjson(api, [b""] * 50_000), 413)
    assert api.get(f"/events/{name}-0").status_code == 404


def test_respond_async_answers_once_durable(api, name):
    prefer = {"Prefer": "respond-async"}
    response = api.post("/events", json={"id": name, "in": "1h"}, headers=prefer)
    assert (response.status_code, response.json()) == (202, {"id": name, "tenant": "default"})
    assert response.headers["preference-applied"] == "respond-async"
    # Commands are carried out in their order, so this one finds it.
    assert api.delete(f"/events/{name}").json()["outcome"] == "CANCELLED"
    many = api.post("/events", json=[{"id": f"{name}-a", "in": "1h"}, {"id": "x"}], headers=prefer)
    assert many.status_code == 202
    assert many.json()["results"][1]["outcome"] == "INVALID"


def test_a_command_may_be_posted_too(api, name):
    api.post("/events", json={"id": name, "in": "1h"})
    paused = api.post("/events", json={"op": "pause", "id": name})
    assert (paused.status_code, paused.json()["outcome"]) == (200, "PAUSED")
    assert api.post("/events", json={"op": "cancel", "id": name}).json()["outcome"] == "CANCELLED"
    is_problem(api.post("/events", json={"op": "pause", "id": name}), 409, outcome="TOO_LATE")
    is_problem(api.post("/events", json={"op": "cancel", "id": f"{name}-x"}), 404, outcome="NOT_FOUND")
    several = api.post("/events", json=[{"op": "cancel", "id": name}, {"op": "cancel", "id": f"{name}-x"}])
    assert several.status_code == 207
    assert [result["outcome"] for result in several.json()["results"]] == ["CANCELLED", "NOT_FOUND"]


def test_times_are_utc_with_milliseconds(api, name):
    event = api.post("/events", json={"id": name, "every": "90s"}).json()
    assert TIME.fullmatch(event["next_execution"])


@pytest.mark.parametrize("text", [r"\ud800", r"\ud800 and more", r"\udc00 and more", r"\ud800\ud800", r"\\\udfff."])
def test_half_a_character_is_told_as_such(api, name, text):
    def told(response):
        return is_problem(response, 400)["detail"]

    event = f'{{"id":"{name}","in":"1h","payload":"{text}"}}'
    answers = [told(api.post("/events", content=event)), told(api.post("/events", content=f"[{event}]"))]
    api.post("/events", json={"id": name, "in": "1h"})
    answers.append(told(api.patch(f"/events/{name}", content=f'{{"payload":"{text}"}}')))
    task = f'{{"user_id":"{name}","schedule":"1h","task_blob":"{text}"}}'
    answers.append(told(api.post("/schedule", content=task)))
    answers.append(told(api.post("/reports", content=f'{{"delivery":"x","status":"SUCCESS","result":"{text}"}}')))
    for detail in answers:
        assert "is half of a character" in detail
