import base64
import threading

import httpx
import pytest

from tests.api.conftest import ON_BOTH_LOGS, eventually, fields_of, is_problem

pytestmark = ON_BOTH_LOGS


@pytest.fixture
def deliver(api, name, topic):
    """Let events fire to a topic of their own; returns its name."""

    def fire(*events):
        sent = [{"id": f"{name}-{i}", "in": "1ms", "topics": [topic], **event} for i, event in enumerate(events)]
        assert api.post("/events", json=sent).status_code == 201
        return topic

    return fire


def poll(api, topic, group="g", **parameters):
    response = api.get(f"/deliveries/{topic}", params={"group": group, "wait": "20s", **parameters})
    assert response.status_code == 200, response.text
    return response.json()


def ack(api, topic, cursor, group="g"):
    return api.post(f"/deliveries/{topic}/ack", json={"group": group, "cursor": cursor})


def all_of(api, topic, count, group="g"):
    return eventually(lambda: len((page := poll(api, topic, group))["deliveries"]) == count and page)


def test_a_delivery_has_everything_an_executor_needs(api, name, deliver):
    topic = deliver({"type": "tea", "payload": {"z": 1.0, "a": None}, "headers": {"x-trace": "é"}, "key": "kettle"})
    (delivery,) = poll(api, topic)["deliveries"]
    due, at = delivery.pop("due"), delivery.pop("delivered_at")
    assert due <= at
    assert delivery.pop("delivery").endswith("#1")
    assert len(delivery.pop("token")) == 32
    headers = delivery.pop("headers")
    assert headers.pop("traceparent").startswith("00-")
    assert headers == {"content-type": "application/json", "x-trace": "é"}
    assert delivery.pop("partition") in range(3)
    assert delivery == {
        "topic": topic,
        "offset": 0,
        "key": "kettle",
        "tenant": "default",
        "id": f"{name}-0",
        "type": "tea",
        "attempt": 1,
        "payload": {"z": 1.0, "a": None},
        "timeout": None,
    }


def test_a_payload_comes_byte_for_byte(api, name, topic):
    raw = b'{"id": "%s", "in": "1ms", "topics": ["%s"], "payload": {"b":1.50 , "a":"\\u00e9"}}' % (
        name.encode(),
        topic.encode(),
    )
    assert api.post("/events", content=raw).status_code == 201
    response = api.get(f"/deliveries/{topic}", params={"group": "g", "wait": "20s"})
    assert b'"payload":{"b":1.50 , "a":"\\u00e9"}' in response.content


@pytest.mark.parametrize(
    ("event", "payload", "encoded"),
    [
        ({"payload": None}, None, None),
        ({}, None, None),
        ({"payload": "text"}, "text", None),
        ({"payload_base64": base64.b64encode(b"\x00\xff").decode()}, None, b"\x00\xff"),
        ({"payload_base64": base64.b64encode(b"{}").decode(), "headers": {"content-type": "text/plain"}}, None, b"{}"),
        ({"payload_base64": "e30=", "headers": {"content-type": "application/vnd.x+json; v=1"}}, {}, None),
        ({"payload_base64": "/w==", "headers": {"content-type": "application/json"}}, None, b"\xff"),
    ],
)
def test_payloads_of_all_kinds(api, deliver, event, payload, encoded):
    (delivery,) = poll(api, deliver(event))["deliveries"]
    assert delivery.get("payload") == payload
    shown = delivery.get("payload_base64")
    assert (None if shown is None else base64.b64decode(shown)) == encoded


def test_what_is_not_acknowledged_comes_again(api, deliver):
    topic = deliver({"payload": 1}, {"payload": 2}, {"payload": 3}, {"payload": 4})
    first = all_of(api, topic, 4)
    again = poll(api, topic)
    assert again["deliveries"] == first["deliveries"]
    assert ack(api, topic, first["cursor"]).status_code == 204
    assert poll(api, topic, wait="0s")["deliveries"] == []
    assert len(poll(api, topic, group="another")["deliveries"]) == 4


def test_a_group_goes_through_a_topic_in_small_steps(api, deliver):
    topic = deliver(*({"payload": number} for number in range(25)))
    all_of(api, topic, 25, group="watcher")
    seen = []
    while page := poll(api, topic, max=4, wait="0s")["deliveries"] and poll(api, topic, max=4, wait="0s"):
        seen += [delivery["payload"] for delivery in page["deliveries"]]
        assert ack(api, topic, page["cursor"]).status_code == 204
    assert sorted(seen) == list(range(25))


def test_an_older_cursor_takes_nothing_back(api, deliver):
    topic = deliver({}, {}, {}, {}, {}, {})
    everything = all_of(api, topic, 6)
    some = poll(api, topic, max=2)
    assert ack(api, topic, everything["cursor"]).status_code == 204
    assert ack(api, topic, some["cursor"]).status_code == 204
    assert poll(api, topic, wait="0s")["deliveries"] == []


@pytest.mark.parametrize("cursor", ["", "x", "garbage", "d", "dgoGgAQ", "e", "d" + "A" * 50, "d" * 30_000, "d\0", "é"])
def test_a_cursor_that_is_none_is_refused(api, deliver, cursor):
    topic = deliver({})
    poll(api, topic)
    assert fields_of(is_problem(ack(api, topic, cursor), 400)) == {"cursor"}
    assert len(poll(api, topic)["deliveries"]) == 1


def test_a_cursor_of_another_topic_or_from_the_future_is_refused(api, deliver, name):
    from lightsched.api.cursor import write_cursor  # noqa: PLC0415 - what somebody might forge

    topic = deliver({})
    page = poll(api, topic)
    other = f"{name}.other"
    is_problem(ack(api, other, page["cursor"]), 400)
    for positions in ({0: 10**6}, {99: 0}, {-1: 0}, {0: -5}):
        is_problem(ack(api, topic, write_cursor("d", (topic, positions))), 400)
    is_problem(ack(api, other, write_cursor("d", (other, {0: 1}))), 400)
    assert len(poll(api, topic)["deliveries"]) == 1


def test_the_default_topic_has_a_short_name(api, name, prefix):
    api.post("/events", json={"id": name, "in": "1ms"})
    eventually(lambda: api.get(f"/events/{name}").json()["status"] == "SUCCESS")
    short, full = (poll(api, topic, group=name)["deliveries"] for topic in ("deliveries", f"{prefix}deliveries"))
    assert short
    assert {delivery["topic"] for delivery in short + full} == {f"{prefix}deliveries"}


@pytest.mark.parametrize("own", ["events", "reports", "audit", "dead-letter", "nodes", "changelog"])
def test_own_topics_are_not_for_reading(api, own, prefix):
    for topic in (own, f"{prefix}{own}"):
        is_problem(api.get(f"/deliveries/{topic}", params={"group": "g"}), 403)
        is_problem(ack(api, topic, "d"), 403)


def test_a_topic_that_nothing_was_delivered_to_is_waited_for_and_not_made(api, make_topic, name):
    page = poll(api, name, wait="0s")
    assert page["deliveries"] == []
    assert ack(api, name, page["cursor"]).status_code == 204
    received = []
    reader = threading.Thread(target=lambda: received.append(poll(api, name, wait="20s")))
    reader.start()
    make_topic(name)
    with httpx.Client(base_url=api.base_url) as other:
        other.post("/events", json={"id": name, "in": "300ms", "topics": [name]})
    reader.join(30)
    assert [delivery["id"] for delivery in received[0]["deliveries"]] == [name]


@pytest.mark.parametrize(
    ("parameters", "field"),
    [
        ({"group": ""}, "group"),
        ({"group": "a b"}, "group"),
        ({"group": "\0"}, "group"),
        ({"group": "g", "max": 0}, "max"),
        ({"group": "g", "max": 1001}, "max"),
        ({"group": "g", "wait": "long"}, "wait"),
        ({"group": "g", "wait": "61s"}, "wait"),
        ({"group": "g", "from": "0"}, "from"),
    ],
)
def test_a_parameter_that_makes_no_sense_is_refused(api, parameters, field):
    assert fields_of(is_problem(api.get("/deliveries/deliveries", params=parameters), 400)) == {field}


@pytest.mark.parametrize("topic", ["%00", "a%20b", "..", "é", "a%2Fb", "x" * 300])
def test_a_topic_that_is_no_name_is_refused(api, topic):
    response = api.get(f"/deliveries/{topic}?group=g")
    assert response.status_code in {400, 404}


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"group": "g"}', b'{"group": 1, "cursor": "d"}', b"\xff"])
def test_an_ack_that_makes_no_sense_is_refused(api, body):
    is_problem(api.post("/deliveries/deliveries/ack", content=body), 400)


def test_what_fired_last_is_shown_newest_first(api, name):
    """Also when there was much before."""
    crowd = [{"id": f"crowd-{name}-{number}", "in": "1ms"} for number in range(700)]
    before = api.get("/recent").json()["total"]
    assert api.post("/events", json=crowd).status_code == 201
    eventually(lambda: api.get("/recent").json()["total"] >= before + 700)
    for number in range(3):
        api.post("/events", json={"id": f"{name}-{number}", "in": "1ms", "type": "tick", "payload": "12345"})
        eventually(lambda: f"{name}-{number}" in recent_ids(api))  # noqa: B023 - looked at before the next one
    recent = api.get("/recent", params={"limit": 200}).json()
    mine = [fired for fired in recent["deliveries"] if fired["id"].startswith(name)]
    assert [fired["id"] for fired in mine] == [f"{name}-{number}" for number in (2, 1, 0)]
    assert mine[0]["type"] == "tick"
    assert mine[0]["bytes"] == 7
    assert "token" not in mine[0]
    assert len(recent["deliveries"]) == 200


def test_what_fired_last_says_what_became_of_it(api, name, topic):
    """On whichever node it fired."""
    tracked = {"timeout": "1h", "retry": {"delays": ["1ms"]}, "topics": [topic]}
    events = [{"id": f"{name}-{number}", "key": f"{number}", "in": "1ms", **tracked} for number in range(6)]
    api.post("/events", json=[*events, {"id": f"{name}-plain", "in": "1ms", "topics": [topic]}])

    def fired():
        found = api.get("/recent", params={"limit": 200}).json()["deliveries"]
        return {
            (each["id"].removeprefix(f"{name}-"), each["attempt"]): each for each in found if each["topic"] == topic
        }

    eventually(lambda: len(fired()) == 7)
    assert fired()["plain", 1]["status"] == "SUCCESS"
    assert {fired()[f"{number}", 1]["status"] for number in range(6)} == {"NOT_STARTED"}
    page = api.get(f"/deliveries/{topic}", params={"group": name, "max": 100}).json()
    (first,) = [each for each in page["deliveries"] if each["id"] == f"{name}-0"]
    report = {"delivery": first["delivery"], "token": first["token"], "status": "RETRIABLE_FAILURE"}
    assert api.post("/reports", json=report).status_code == 204
    eventually(lambda: ("0", 2) in fired())
    assert (fired()["0", 1]["status"], fired()["0", 2]["status"]) == ("RETRIABLE_FAILURE", "NOT_STARTED")


def recent_ids(api):
    return [fired["id"] for fired in api.get("/recent").json()["deliveries"]]


def test_without_a_group_one_only_looks_on(api, name, deliver):
    topic = deliver({"payload": 1})
    poll(api, topic)
    look = {"wait": "20s"}
    before = api.get(f"/deliveries/{topic}").json()
    assert before["deliveries"] == []
    api.post("/events", json=[{"in": "1ms", "topics": [topic], "payload": n} for n in (2, 3)])
    seen, cursor = [], before["cursor"]
    while len(seen) < 2:
        page = api.get(f"/deliveries/{topic}", params={"cursor": cursor, **look}).json()
        seen += [delivery["payload"] for delivery in page["deliveries"]]
        cursor = page["cursor"]
    assert sorted(seen) == [2, 3]
    assert len(all_of(api, topic, 3)["deliveries"]) == 3
    assert fields_of(is_problem(api.get("/deliveries/other", params={"cursor": cursor}), 400)) == {"cursor"}
