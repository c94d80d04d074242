"""Odd JSON: refused with a reason, or read as it stands; never anything else."""

import msgspec
import pytest

from lightsched.event.model import Op
from tests.unit.event.reading import NOW, accepted, problems

DEEP = 100_000


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (None, "the record has no value"),
        (b"", "is not valid JSON"),
        (b"   ", "is not valid JSON"),
        (b"null", "must be an object, not null"),
        (b"[]", "must be an object, not a list"),
        (b'[{"in":"1m"}]', "must be an object, not a list"),
        (b'"in 5 minutes"', "must be an object, not text"),
        (b"7", "must be an object, not a whole number"),
        (b"true", "must be an object, not true or false"),
        (b"{", "is not valid JSON"),
        (b'{"in":"1m"', "is not valid JSON"),
        (b'{"in":"1m"}}', "is not valid JSON"),
        (b'{"in":"1m"}{"in":"1m"}', "is not valid JSON"),
        (b'{"in":"1m",}', "is not valid JSON"),
        (b"{'in':'1m'}", "is not valid JSON"),
        (b'{"in":"1m","payload":NaN}', "is not valid JSON"),
        (b'{"in":"1m","payload":Infinity}', "is not valid JSON"),
        (b'{"in":"1m","payload":[1,]}', "is not valid JSON"),
        (b'{"in":"1m","payload":01}', "is not valid JSON"),
        (b'{"in":"1m","payload":"\x01"}', "is not valid JSON"),
        (b'{"in":"1m","payload":"\xff"}', "is not UTF-8 (byte 22)"),
        (b"\xff\xfe{\x00", "is not UTF-8 (byte 0)"),
        (b'\xef\xbb\xbf{"in":"1m"}', "is not valid JSON"),
        (b'{"in":"1m","id":"\\ud800"}', "is not valid JSON"),
        (b'{"in":"1m","id":"\\udc00\\ud800"}', "is not valid JSON"),
        (b"\x00", "is not valid JSON"),
    ],
)
def test_what_is_not_an_event_is_refused(value, why):
    found = problems(value)
    assert list(found) == [""]
    assert why in found[""]


@pytest.mark.parametrize(
    ("value", "field", "why"),
    [
        (b'{"at":%s}' % (b"9" * 5000), "at", "too large a number"),
        (b'{"at":1e400}', "at", "too large a number"),
        (b'{"in":"1m","retry":{"attempts":2,"factor":1e999}}', "retry.factor", "too large a number"),
        (b'{"in":"1m","priority":%s}' % (b"9" * 400), "priority", "from 0 (first) to 9"),
        (b'{"in":"1m","id":"\\u0000"}', "id", "printable"),
        (b'{"in":"1m","payload":%s%s}' % (b"[" * DEEP, b"]" * DEEP), "payload", "nested too deeply"),
        (b'{"in":"1m","payload":%s1%s}' % (b'{"a":' * DEEP, b"}" * DEEP), "payload", "nested too deeply"),
        (b'{"in":"1m","a":%s%s}' % (b"[" * DEEP, b"]" * DEEP), "a", "is not a known field"),
        (b'{"in":"1m","`, got `":1}', "`, got `", "is not a known field"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_odd_values_are_refused_by_field(value, field, why):
    assert why in problems(value)[field]


def test_of_duplicate_fields_the_last_counts():
    assert accepted(b'{"in":"1m","in":"2m","id":"a","id":"b"}').event.in_ == "2m"


def test_names_may_be_escaped():
    assert accepted(rb'{"\u0069n":"1m","id":"\u00e9\ud83c\udf75"}').event.id == "é🍵"


@pytest.mark.parametrize(
    "payload",
    [b'{ "a" : 1.0e0 }', b'"\\u0041\xc3\xa4"', b"null", b"-0", b"1" * 100, b'{"a":1,"a":2}', b"[[[[]]]]", b'"a\\/b"'],
)
def test_a_payload_is_kept_byte_for_byte(payload):
    assert bytes(accepted(b'{"in":"1m","payload": %s }' % payload).event.payload) == payload


def test_defaults_of_identity():
    command = accepted({"in": "1m"})
    assert command.identity == f"default\0auto:3-7-{NOW}\0auto:3-7-{NOW}".encode()
    assert accepted({"in": "1m", "id": "e"}).identity == b"default\0e\0e"
    assert accepted({"in": "1m", "id": "e"}, key=b"k").identity == b"default\0k\0e"
    assert accepted({"in": "1m", "id": "e", "key": "own"}, key=b"k").identity == b"default\0own\0e"
    assert accepted({"in": "1m", "id": "e", "tenant": "t"}, key=b"").identity == b"t\0e\0e"


def test_a_key_that_is_not_text_is_refused_unless_the_event_has_its_own():
    assert "is not UTF-8" in problems({"in": "1m", "id": "e"}, key=b"\xff")["key"]
    assert accepted({"in": "1m", "id": "e", "key": "k"}, key=b"\xff").identity == b"default\0k\0e"
    assert "printable" in problems({"in": "1m", "id": "e"}, key=b"a\0b")["key"]


def test_a_command_carries_who_asked_and_why():
    command = accepted({"op": "cancel", "id": "e", "reason": "wrong"}, headers=(("ls_who", b"anna\xff" + b"x" * 300),))
    assert (command.op, command.reason) == (Op.CANCEL, "wrong")
    assert command.who.startswith("anna\ufffdx")
    assert len(command.who) == 200


def test_an_id_that_lightsched_assigned_comes_back_in_a_forwarded_command():
    accepted({"in": "1m", "id": "auto:1-2-3"}, headers=(("ls_assigned", b"1"),))


def test_every_field_of_the_contract_is_read():
    event = {
        "op": "schedule",
        "id": "i",
        "tenant": "t",
        "key": "k",
        "type": "y",
        "cron": "* * * * *",
        "timezone": "UTC",
        "starts_at": 1,
        "ends_at": "2026-03-02T12:00:00Z",
        "max_runs": 3,
        "jitter": "1s",
        "catch_up": "all",
        "window": {"from": "09:00", "to": "17:00", "days": ["mon"], "timezone": "UTC", "exclude": ["2026-12-25"]},
        "look_back": "2h",
        "overlap": "queue",
        "retry": {"attempts": 5, "delay": "1m", "factor": 2, "max": "1h"},
        "timeout": "1m",
        "until": "success",
        "expires_in": "1h",
        "topics": ["a"],
        "priority": 0,
        "track": True,
        "headers": {"a": "b"},
        "labels": {"c": "d"},
        "payload": {"e": 1},
        "on_conflict": "keep",
        "reason": "r",
    }
    assert msgspec.json.decode(msgspec.json.encode(accepted(event).event)) == {
        name: value for name, value in event.items() if name != "op"
    }


@pytest.mark.parametrize("text", [b"[" * 199 + b"]" * 199, b"[[]," * 150 + b"1" + b"]" * 150, b'"%s"' % (b"[" * 5000)])
def test_a_payload_may_be_nested_as_deep_as_anybody_needs(text):
    assert bytes(accepted(b'{"in":"1m","payload":%s}' % text).event.payload) == text


@pytest.mark.parametrize("depth", [200, 500, 900, 990, 994])
def test_how_deep_a_payload_may_be_nested_does_not_depend_on_who_reads_it(depth):
    """What is accepted here is read again elsewhere, where less of the stack is left."""
    text = b'{"in":"1m","payload":["\\"[",%s%s]}' % (b"[" * depth, b"]" * depth)
    assert "nested too deeply" in problems(text)["payload"]
