"""What is no delivery? Anybody may write to a topic, and the executors that read it must not stop for that."""

import msgspec
import pytest

from lightsched.executor.outcomes import Reporting
from lightsched.executor.over_rest import _all_taken, _Delivery
from lightsched.executor.taken import Taken
from tests.unit.executor.make import taken


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ce_id", b"\xff"),
        ("ce_type", b"\xff"),
        ("ls_report", b"\xff"),
        *((name, odd) for name in ("ls_timeout", "ls_partition", "ls_attempt", "ls_due") for odd in (b"", b"x", b"-1")),
        *((name, b"9" * 400) for name in ("ls_timeout", "ls_partition", "ls_attempt", "ls_due")),
        ("ls_timeout", "٣".encode()),
        ("ls_due", b"253402300800000"),
    ],
)
def test_what_an_executor_goes_by_has_to_make_sense(name, value):
    with pytest.raises(ValueError, match=r"decode|is no number"):
        Taken(("t", 0), 0, b"", b"", {name: value})


def test_what_is_not_there_is_as_it_would_be():
    plain = Taken(("t", 0), 0, b"", b"", {})
    assert (plain.name, plain.token, plain.due_ms, plain.attempt, plain.timeout_ms, plain.home) == ("", "", 0, 1, 0, 0)


def test_a_wish_for_a_reply_that_is_nested_without_end_is_somebody_elses():
    asked = taken(timeout_ms=1_000, **{"reply-to": '{"event":{"a":' + "[" * 100_000})
    assert msgspec.json.decode(Reporting("me").success(asked, 1))["result"] == 1


def test_over_http_a_delivery_that_makes_no_sense_is_passed_over():
    shown = {"delivery": "d", "partition": 0, "offset": 1, "key": "", "tenant": "", "id": "", "type": "t", "attempt": 1}
    shown |= {"due": "2026-01-01T00:00:00Z", "headers": {}, "token": ""}
    odd = shown | {"timeout": "2932896d23h59m59s999ms"}
    found = _all_taken("t", msgspec.convert([odd, shown], list[_Delivery]))
    assert [each.timeout_ms for each in found] == [0]
