"""What may a report say?"""

import msgspec
import pytest

from lightsched.event.errors import InvalidEvent
from lightsched.event.identity import identity
from lightsched.event.limits import DEFAULT_LIMITS
from lightsched.event.report import ReportStatus, decode_report

DEEP = 100_000
GOOD = {"delivery": "3:acme/k/e/2/1772445600000#4", "token": "t", "status": "SUCCESS"}


def read(report):
    return decode_report(report if isinstance(report, bytes | None) else msgspec.json.encode(report), DEFAULT_LIMITS)


def problem(report):
    with pytest.raises(InvalidEvent) as caught:
        read(report)
    (found,) = caught.value.problems
    return found.field, found.message


def test_a_report_says_which_delivery_it_is_about():
    report, name = read(GOOD)
    assert name == (3, identity("acme", "k", "e"), 2, 1772445600000, 4)
    assert (report.status, report.executor, report.error, report.then) == (ReportStatus.SUCCESS, "", "", ())
    assert report.result_bytes == b""


@pytest.mark.parametrize("status", ReportStatus)
def test_every_status_of_the_contract_is_read(status):
    assert read({**GOOD, "status": status})[0].status is status


def test_result_and_follow_ups_are_kept_as_they_were_sent():
    value = msgspec.json.encode(GOOD)[:-1] + b',"result": { "a" :1 } ,"then":[ {"in":"1m"}, 7, "x" ]}'
    report, _ = read(value)
    assert report.result_bytes == b'{ "a" :1 }'
    assert [bytes(raw) for raw in report.then] == [b'{"in":"1m"}', b"7", b'"x"']


def test_a_result_of_null_is_a_result():
    assert read({**GOOD, "result": None})[0].result_bytes == b"null"


@pytest.mark.parametrize(
    ("report", "field", "why"),
    [
        (None, "", "the record has no value"),
        (b"", "", "is not valid JSON"),
        (b"[]", "", "must be an object"),
        (b"\xff", "", "is not UTF-8"),
        (b"x" * 1_048_577, "", "the limit is 1048576"),
        ({}, "delivery", "is missing"),
        ({"delivery": "x", "token": "t"}, "status", "is missing"),
        ({"delivery": GOOD["delivery"], "status": "SUCCESS"}, "token", "is missing"),
        ({**GOOD, "status": "DONE"}, "status", "use one of `CLAIMED`, `PROCESSING`, `SUCCESS`"),
        ({**GOOD, "status": None}, "status", "must be text"),
        ({**GOOD, "token": 7}, "token", "must be text"),
        ({**GOOD, "delivery": "mine"}, "delivery", "send the `ce_id` of the delivery as it came"),
        ({**GOOD, "delivery": "x" * 100_000}, "delivery", "send the `ce_id`"),
        ({**GOOD, "retry_in": "soon"}, "retry_in", "is not a duration"),
        ({**GOOD, "retry_in": "-1s"}, "retry_in", "is negative"),
        ({**GOOD, "retry_in": 5}, "retry_in", "must be text"),
        ({**GOOD, "then": {}}, "then", "must be a list"),
        ({**GOOD, "executer": "x"}, "executer", "did you mean `executor`?"),
        (msgspec.json.encode(GOOD)[:-1] + b',"result":' + b"[" * DEEP + b"]" * DEEP + b"}", "result", "too deeply"),
    ],
    ids=lambda value: str(value)[:50],
)
def test_what_makes_no_sense_is_refused(report, field, why):
    found, message = problem(report)
    assert found == field
    assert why in message


def test_a_result_is_not_nested_deeper_than_can_be_read_again():
    text = b'{"delivery":"0:default//a/1/0#1","token":"","status":"SUCCESS","result":%s%s}' % (b"[" * 500, b"]" * 500)
    with pytest.raises(InvalidEvent, match="nested too deeply"):
        decode_report(text, DEFAULT_LIMITS)
