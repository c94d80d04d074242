"""Does the published schema say what the decoder does?"""

from pathlib import Path

import jsonschema_rs
import msgspec
import pytest
from hypothesis import given

from lightsched.event.command import Command
from lightsched.event.delivery import Emitter
from lightsched.event.identity import identity
from lightsched.event.limits import DEFAULT_LIMITS
from lightsched.event.model import Event
from lightsched.event.report import decode_report
from lightsched.event.schema import SCHEDULES, delivery_schema, event_schema, file_schema, report_schema, schemas
from tests.unit.engine.test_garbage import EVENTS_ALMOST
from tests.unit.event.reading import NOW, read
from tests.unit.event.test_check import BAD
from tests.unit.event.test_definition import EVENTS
from tests.unit.event.test_fuzz import REPORTS, SAMPLES

FOLDER = Path(__file__).parents[3] / "docs" / "schema"
MADE = {"event": event_schema, "file": file_schema, "report": report_schema, "delivery": delivery_schema}
VALID_EVENT = jsonschema_rs.validator_for(event_schema())
VALID_REPORT = jsonschema_rs.validator_for(report_schema())
VALID_DELIVERY = jsonschema_rs.validator_for(delivery_schema())


@pytest.mark.parametrize("name", MADE)
def test_what_is_published_is_current(name):
    published = (FOLDER / f"{name}.json").read_bytes()
    assert msgspec.json.decode(published) == msgspec.json.decode(msgspec.json.encode(MADE[name]())), "run `make schema`"
    assert jsonschema_rs.meta.is_valid(MADE[name]())


def accepted(event):
    return isinstance(read(event), Command)


@pytest.mark.parametrize("event", SAMPLES, ids=str)
def test_samples_are_valid_for_both(event):
    assert accepted(event)
    assert VALID_EVENT.is_valid(event)


@given(EVENTS | EVENTS_ALMOST)
def test_what_can_be_scheduled_is_valid(event):
    if accepted(event) and event.get("op", "schedule") == "schedule":
        assert VALID_EVENT.is_valid(event), list(map(str, VALID_EVENT.iter_errors(event)))


# What only the decoder can know: whether a text means something, how much is too much in bytes, and that 1.0 is no 1.
NEEDS_UNDERSTANDING = {
    *("at", "in", "cron", "every", "timezone", "starts_at", "ends_at", "jitter", "look_back", "timeout", "expires_in"),
    *("window", "retry", "track", "payload", "payload_base64", "headers", "labels", "id", "key", "tenant", "topics"),
    *("max_runs", "until", "priority"),
}


@pytest.mark.parametrize(("event", "field", "_remedy"), BAD, ids=lambda value: str(value)[:60])
def test_what_the_schema_refuses_the_decoder_refuses_too(event, field, _remedy):
    if VALID_EVENT.is_valid(event):
        assert field.partition(".")[0] in NEEDS_UNDERSTANDING, f"the schema should know about {field}"


@pytest.mark.parametrize(
    "event",
    [
        {},
        {"at": NOW, "in": "1m"},
        {"cron": "* * * * *", "every": "1m"},
        {"at": None},
        {"op": "cancel"},
        {"op": "explode", "id": "e"},
        {"at": NOW, "bogus": 1},
        {"at": NOW, "priority": 10},
        {"at": NOW, "tenant": "Acme"},
        {"at": NOW, "id": "x" * 201},
        {"at": NOW, "id": ".."},
        {"at": NOW, "topics": ["a", "a"]},
        {"in": "0"},
        {"every": 5},
        {"cron": "@daily", "max_runs": 0},
        {"at": NOW, "window": {"form": "09:00"}},
        {"at": NOW, "retry": {"delays": []}},
        {"at": NOW, "retry": {"attempts": 2, "factor": 0.5}},
    ],
    ids=str,
)
def test_the_schema_refuses_what_it_can(event):
    assert not VALID_EVENT.is_valid(event)
    assert not accepted(event)


@pytest.mark.parametrize("name", SCHEDULES)
def test_a_schedule_that_is_null_is_not_given(name):
    event = {other: None for other in SCHEDULES if other != name}
    event[name] = {"at": NOW, "in": "1m", "cron": "@daily", "every": "1m"}[name]
    assert VALID_EVENT.is_valid(event)
    assert accepted(event)


@pytest.mark.parametrize("report", REPORTS, ids=str)
def test_reports_are_valid_for_both(report):
    assert decode_report(msgspec.json.encode(report), DEFAULT_LIMITS)
    assert VALID_REPORT.is_valid(report)


@pytest.mark.parametrize("change", [{"status": "DONE"}, {"bogus": 1}, {"then": [{}]}, {"then": {}}, {"token": None}])
def test_the_schema_of_reports_refuses_what_it_can(change):
    assert not VALID_REPORT.is_valid(REPORTS[0] | change)


@pytest.mark.parametrize("event", [Event(at=0), Event(at=0, payload=msgspec.Raw(b"1"), headers={"x": "y"})])
def test_a_delivery_is_as_described(event):
    headers = Emitter(3, b"").emit(identity("acme", "k", "é"), 2, NOW, 4, event, ("t",), 5_000).record.headers
    assert VALID_DELIVERY.is_valid({name: value.decode() for name, value in headers})
    described = delivery_schema()["properties"].keys() - ({"content-type"} if event.payload is msgspec.UNSET else set())
    assert {name for name, _ in headers} - {"x"} == described


def test_every_field_says_what_it_means():
    for name, schema in schemas().items():
        for field, said in schema.get("properties", {}).items():
            assert said.get("description"), f"{name}.{field}"


def test_references_can_point_elsewhere():
    made = schemas("#/components/schemas/{name}")
    assert made["Report"]["properties"]["then"]["items"] == {"$ref": "#/components/schemas/Event"}
