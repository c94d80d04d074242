"""What is stored of an event: the definition and its fingerprint."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightsched.event.command import definition_of
from lightsched.event.model import Event, decoder
from tests.unit.event.reading import NOW, accepted

FIELDS = {
    "type": st.sampled_from(["event", "a", "b"]),
    "timezone": st.sampled_from(["UTC", "Europe/Paris"]),
    "jitter": st.sampled_from(["1s", "2s"]),
    "window": st.sampled_from([{"from": "09:00"}, {"days": ["mon"]}]),
    "look_back": st.sampled_from(["60m", "1h"]),
    "catch_up": st.sampled_from(["latest", "all"]),
    "overlap": st.sampled_from(["allow", "skip"]),
    "retry": st.sampled_from([{"attempts": 2}, {"delays": ["1m"]}]),
    "expires_in": st.sampled_from(["1h", "2h"]),
    "topics": st.sampled_from([[], ["a"], ["a", "b"]]),
    "priority": st.integers(0, 9),
    "headers": st.dictionaries(st.sampled_from("abc"), st.sampled_from("xy")),
    "labels": st.dictionaries(st.sampled_from("abc"), st.sampled_from("xy")),
    "payload": st.one_of(st.none(), st.integers(), st.text(), st.dictionaries(st.text(), st.integers())),
}
EVENTS = st.builds(
    lambda schedule, more: {"id": "e", **schedule, **more},
    st.sampled_from([{"at": NOW}, {"in": "1m"}, {"cron": "@daily"}, {"every": "1h"}]),
    st.fixed_dictionaries({}, optional=FIELDS),
)
DEFAULTS = {"type": "event", "look_back": "60m", "catch_up": "latest", "topics": [], "priority": 5}
DEFAULTS |= {"headers": {}, "labels": {}}


def defined(event):
    return definition_of(accepted(event).event, NOW)


def meaning(event):
    """What a person would compare: fields that differ from their default, `in` resolved."""
    said = {name: value for name, value in event.items() if name not in DEFAULTS or DEFAULTS[name] != value}
    if "in" in said:
        said["at"] = NOW + 60_000
        del said["in"]
    return said


@given(EVENTS, EVENTS)
def test_fingerprints_are_equal_if_and_only_if_definitions_are(one, other):
    assert (defined(one)[1] == defined(other)[1]) == (meaning(one) == meaning(other))


@given(EVENTS, st.randoms())
def test_the_order_of_fields_does_not_matter(event, chance):
    names = list(event)
    chance.shuffle(names)
    assert defined({name: event[name] for name in names}) == defined(event)


@given(EVENTS)
def test_a_definition_can_be_read_back_and_is_the_same_again(event):
    definition, fingerprint = defined(event)
    assert definition_of(decoder.decode(definition), NOW) == (definition, fingerprint)


@pytest.mark.parametrize("payload", [b'{ "b" : 1 ,"a":[ ]}', b'"\\u0041"', b"1e2", b"null"])
def test_the_payload_stays_as_it_was_sent(payload):
    command = accepted(b'{"in":"1m","id":"e","payload":%s}' % payload)
    definition, _ = definition_of(command.event, NOW)
    assert b'"payload":' + payload in definition
    assert bytes(decoder.decode(definition).payload) == payload


def test_what_belongs_to_the_command_is_left_out():
    bare = defined({"at": NOW, "id": "e"})
    assert bare[0] == b'{"at":%d}' % NOW
    for more in ({"key": "k"}, {"tenant": "t"}, {"on_conflict": "keep"}, {"reason": "r"}, {"op": "schedule"}):
        assert defined({"at": NOW, "id": "e", **more}) == bare


def test_a_fingerprint_is_short():
    assert len(defined({"at": NOW, "id": "e"})[1]) == 12


@pytest.mark.parametrize(
    ("event", "tracked"),
    [
        ({}, False),
        ({"track": True}, True),
        ({"retry": {"attempts": 1}}, True),
        ({"timeout": "1m"}, True),
        ({"overlap": "allow"}, True),
        ({"until": "success"}, True),
        ({"track": False, "overlap": "allow"}, False),
        ({"expires_in": "1m"}, False),
    ],
)
def test_what_is_tracked(event, tracked):
    assert msgspec.convert(event, Event).tracked is tracked


@pytest.mark.parametrize(("event", "repeats"), [({"at": 1}, False), ({"cron": "x"}, True), ({"every": "x"}, True)])
def test_what_repeats(event, repeats):
    assert msgspec.convert(event, Event).repeats is repeats
