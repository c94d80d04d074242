"""Any bytes: a command, or the reasons why not; a report, or InvalidEvent. Nothing else."""

import contextlib

import msgspec
from hypothesis import example, given
from hypothesis import strategies as st

from lightsched.event.command import Command, Refused, definition_of, read_command
from lightsched.event.delivery import delivery_id
from lightsched.event.errors import InvalidEvent
from lightsched.event.limits import DEFAULT_LIMITS
from lightsched.event.record import Appended, Record
from lightsched.event.report import decode_report
from lightsched.event.schedule import first_due
from tests.unit.event.reading import NOW

SAMPLES = [
    {"id": "e", "at": "2026-03-02T12:00:00+01:00", "payload": {"a": [1, 2.5, None, "\u00e4"]}},
    {"in": "1h30m", "retry": {"attempts": 5, "delay": "1m", "factor": 2, "max": "1h", "jitter": 0.1}},
    {"cron": "*/5 9-17 * * mon-fri", "timezone": "Europe/Paris", "overlap": "queue", "max_runs": 3, "until": "success"},
    {"every": "PT15M", "starts_at": NOW, "ends_at": "2027-01-01T00:00:00Z", "jitter": "30s", "catch_up": "all"},
    {"at": NOW, "window": {"from": "22:00", "to": "06:00", "days": ["mon"], "exclude": ["2026-12-25"]}},
    {"at": NOW, "topics": ["a"], "headers": {"x": "y"}, "labels": {"l": "m"}, "payload_base64": "AAEC", "priority": 0},
    {"op": "cancel", "id": "e", "tenant": "acme", "key": "k", "reason": "why"},
]
REPORTS = [
    {"delivery": "0:default//e/1/5#1", "token": "t", "status": "SUCCESS", "result": [1], "then": [{"in": "1m"}]},
    {"delivery": "1:a/k%2F/%C3%A4/1/5#2", "token": "t", "status": "RETRIABLE_FAILURE", "retry_in": "5m", "error": "x"},
]


@st.composite
def mutated(draw, samples):
    """JSON that was good once: bytes changed, cut, doubled or put in."""
    data = bytearray(msgspec.json.encode(draw(st.sampled_from(samples))))
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, max(len(data) - 1, 0)))
        match draw(st.integers(0, 3)):
            case 0:
                data[at : at + 1] = bytes([draw(st.integers(0, 255))])
            case 1:
                del data[at : at + draw(st.integers(1, 10))]
            case 2:
                data[at:at] = data[at : at + draw(st.integers(1, 20))]
            case _:
                data[at:at] = draw(
                    st.sampled_from([b'"', b"{", b"]", b"null", b"-1", b"\\u0000", b"\\ud800", b"1e999"])
                )
    return bytes(data)


HEADERS = st.lists(
    st.tuples(
        st.sampled_from(["ls_at", "ls_in", "ls_cron", "ls_every", "ls_op", "ls_id", "ls_retry", "ls_topics", "ls_who"])
        | st.text(max_size=6),
        st.binary(max_size=20) | st.sampled_from([b"1m", b"* * * * *", b"cancel", b"[]", b'{"attempts":2}', b"null"]),
    ),
    max_size=5,
).map(tuple)


def understand(record):
    """Read it, and go on with it as the engine would."""
    read = read_command(Appended("lightsched.events", 0, 0, NOW, record), DEFAULT_LIMITS, {}, 4)
    if isinstance(read, Command):
        if read.op == "schedule":
            definition_of(read.event, NOW)
            first_due(read.event, read.identity, NOW)
    else:
        assert isinstance(read, Refused)
        assert read.problems
        assert all(problem.message for problem in read.problems)


@given(st.binary(), st.none() | st.binary(max_size=10))
@example(b"", None)
def test_any_bytes_are_a_command_or_refused(data, key):
    understand(Record(key, data))


@given(mutated(SAMPLES), HEADERS)
def test_broken_events_are_commands_or_refused(data, headers):
    understand(Record(None, data))
    understand(Record(None, data, headers))


@given(st.binary() | mutated(REPORTS))
def test_any_bytes_are_a_report_or_invalid(data):
    with contextlib.suppress(InvalidEvent):
        report, name = decode_report(data, DEFAULT_LIMITS)
        assert delivery_id(name) == report.delivery
