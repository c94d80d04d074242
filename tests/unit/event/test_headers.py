"""Header mode: the fields in `ls_…` headers, the value is the payload."""

import msgspec
import pytest

from lightsched.event.command import FIELDS, definition_of
from lightsched.event.delivery import Emitter
from lightsched.event.identity import identity
from tests.unit.event.reading import NOW, accepted, problems

IN = ("ls_in", b"1m")


@pytest.mark.parametrize(
    "header",
    [("ls_at", b"2026-03-02T12:00:00Z"), ("ls_in", b"5m"), ("ls_cron", b"* * * * *"), ("ls_every", b"1h")],
)
def test_any_schedule_header_makes_the_value_the_payload(header):
    event = accepted(b"\xff\x00 any bytes", headers=(header, ("ls_id", b"e"))).event
    delivery = Emitter(0, b"").emit(identity("default", "e", "e"), 1, NOW, 1, event, ("t",))
    assert delivery.record.value == b"\xff\x00 any bytes"


def test_a_command_may_come_in_headers():
    command = accepted(None, headers=(("ls_op", b"cancel"), ("ls_id", b"e")), key=b"k")
    assert (command.op, command.identity) == ("cancel", b"default\0k\0e")


def test_all_fields_may_come_in_headers():
    headers = {
        "id": b"i",
        "tenant": b"t",
        "key": b"k",
        "type": b"y",
        "cron": b"* * * * *",
        "timezone": b"Europe/Paris",
        "starts_at": b"1772445600000",
        "ends_at": b"2026-03-02T12:00:00Z",
        "max_runs": b"3",
        "jitter": b"1s",
        "window": b'{"from":"09:00"}',
        "catch_up": b"all",
        "look_back": b"2h",
        "overlap": b"queue",
        "retry": b'{"attempts":2}',
        "timeout": b"1m",
        "until": b"success",
        "expires_in": b"1h",
        "topics": b'["a"]',
        "priority": b"0",
        "headers": b'{"a":"b"}',
        "labels": b'{"c":"d"}',
        "on_conflict": b"keep",
        "if_revision": b"7",
        "track": b"true",
        "op": b"schedule",
        "reason": b"r",
    }
    command = accepted(b"{}", headers=tuple((f"ls_{name}", value) for name, value in headers.items()))
    event = command.event
    assert set(headers) == set(FIELDS) - {"at", "in", "every", "payload", "payload_base64"}
    assert (event.max_runs, event.priority, event.track, event.if_revision) == (3, 0, True, 7)
    assert (event.window.from_, event.retry.attempts, event.topics) == ("09:00", 2, ("a",))
    assert (event.headers, event.labels) == ({"a": "b"}, {"c": "d"})


def test_milliseconds_are_read_from_text():
    assert accepted(b"", headers=(("ls_at", b"1772449200000"),)).event.at == "1772449200000"


@pytest.mark.parametrize(
    ("headers", "field", "why"),
    [
        ([("ls_in", b"\xff")], "header ls_in", "is not UTF-8"),
        ([IN, ("ls_bogus", b"1")], "bogus", "is not a known field"),
        ([IN, ("ls_payload", b"1")], "payload", "leave this header out"),
        ([IN, ("ls_payload_base64", b"1")], "payload_base64", "leave this header out"),
        ([IN, ("ls_window", b"09:00")], "window", "must hold JSON"),
        ([IN, ("ls_labels", b"[" * 100_000)], "labels", "nested too deeply"),
        ([IN, ("ls_labels", b'{"a":1}')], "labels.a", "must be text"),
        ([IN, ("ls_priority", b"high")], "priority", "must be a whole number"),
        ([IN, ("ls_max_runs", b"9" * 5000)], "max_runs", "too large a number"),
        ([("ls_at", b"9" * 5000)], "at", "is not a time"),
        ([("ls_at", b"1772449200")], "at", "write for example"),
        ([("ls_op", b"explode")], "op", "use one of"),
        ([("ls_op", b"cancel")], "id", "say which event is meant"),
        ([IN, ("ls_cron", b"* * * * *")], "cron", "give exactly one of"),
        ([IN, ("bad name", b"x")], "headers", "use visible ASCII characters"),
    ],
    ids=lambda value: str(value)[:50],
)
def test_what_makes_no_sense_is_refused(headers, field, why):
    assert why in problems(b"x", headers=tuple(headers))[field]


def test_a_payload_that_is_too_large_is_refused():
    assert "the limit is 262144" in problems(bytes(262_145), headers=(IN,))["payload"]


def test_the_records_other_headers_travel_with_the_delivery_but_for_reserved_ones():
    event = accepted(b"", headers=(IN, ("traceparent", b"t"), ("ce_id", b"x"), ("content-type", b"text/plain"))).event
    assert event.headers == {"traceparent": "t", "content-type": "text/plain"}


def test_without_such_a_header_the_value_is_the_event():
    command = accepted({"in": "1m", "id": "e"}, headers=(("ls_who", b"anna"), ("ls_id", b"ignored"), ("x", b"\xff")))
    assert command.event.id == "e"
    assert command.event.headers == {}


def test_the_same_event_from_headers_and_from_json_is_the_same_definition():
    from_headers = accepted(b"\x00", headers=(IN, ("ls_id", b"e"), ("ls_priority", b"3"), ("x", b"y"))).event
    from_json = accepted({"in": "1m", "id": "e", "priority": 3, "headers": {"x": "y"}, "payload_base64": "AA=="}).event
    assert definition_of(from_headers, NOW) == definition_of(from_json, NOW)
    assert msgspec.json.decode(definition_of(from_json, NOW)[0])["at"] == NOW + 60_000
