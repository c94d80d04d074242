"""Signature, request and answer: each by itself."""

from base64 import b64encode
from datetime import UTC, datetime

import pytest
from msgspec import convert

from lightsched_http.answer import Verdict, Verdicts, kept_body, kept_headers, retry_after_s
from lightsched_http.request import REFUSED, Asked, BadRequest, requested
from lightsched_http.signature import message_id, secret, signed

NOW = datetime(2026, 11, 16, 9, tzinfo=UTC)
GIVEN = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def test_the_signature_is_that_of_the_standard():
    headers = signed("msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}', [secret(GIVEN)])
    assert headers == {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }


def test_while_secrets_are_exchanged_there_is_a_signature_for_each():
    other = "whsec_" + b64encode(bytes(32)).decode()
    alone = [signed("m", 1, b"x", [secret(each)])["webhook-signature"] for each in (GIVEN, other)]
    assert signed("m", 1, b"x", [secret(GIVEN), secret(other)])["webhook-signature"] == " ".join(alone)


@pytest.mark.parametrize(
    "text", ["", "whsec_", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_c2hvcnQ=", "whsec_!!!!", "whsec_é"]
)
def test_a_bad_secret_is_refused(text):
    with pytest.raises(ValueError, match="a secret is"):
        secret(text)


def test_the_id_of_a_message_is_that_of_the_run_and_has_no_dot():
    assert message_id("3:acme/k/a.b/1/1700") == "3:acme/k/a%2Eb/1/1700"


@pytest.mark.parametrize(
    ("payload", "method", "body", "content_type"),
    [
        ({}, "GET", b"", None),
        ({"body": {"a": [1]}}, "POST", b'{"a":[1]}', "application/json"),
        ({"body": None}, "POST", b"null", "application/json"),
        ({"body": "é"}, "POST", "é".encode(), "text/plain; charset=utf-8"),
        ({"body": "<a/>", "headers": {"Content-Type": "text/xml"}, "method": "put"}, "PUT", b"<a/>", "text/xml"),
        ({"body_base64": "AAE="}, "POST", b"\0\1", "application/octet-stream"),
    ],
)
def test_a_payload_is_a_request(payload, method, body, content_type):
    made = requested(convert({"url": "http://example.com/", **payload}, Asked))
    assert (made.method, made.body, made.headers.get("content-type")) == (method, body, content_type)


@pytest.mark.parametrize(
    "change",
    [
        *({"headers": {name: "x"}} for name in (*sorted(REFUSED), "Host", "Transfer-Encoding")),
        *({"headers": {name: "x"}} for name in ("", "a b", "a:", "a\r\nb", "é", "a\0")),
        *({"headers": {"x": value}} for value in ("a\r\nb: c", "a\n", "\r", "a\0", " a", "a ", "é", "\x7f")),
        {"headers": {f"h{n}": "x" for n in range(65)}},
        *({"method": method} for method in ("CONNECT", "TRACE", "GET / HTTP/1.1\r\nx: y", "GE T", "é")),
        {"body": "a", "body_base64": "AAE="},
        {"body_base64": "?"},
    ],
)
def test_what_could_smuggle_something_in_is_refused(change):
    with pytest.raises(BadRequest):
        requested(convert({"url": "http://example.com/", **change}, Asked))


def test_a_single_status_counts_more_than_a_hundred():
    verdict = Verdicts(success=["2xx", "404"], retry=["5xx", "4xx", "204"])
    found = {status: verdict(status) for status in (200, 204, 302, 404, 410, 503, 101)}
    assert found == {
        200: Verdict.SUCCESS,
        204: Verdict.RETRY,
        302: Verdict.FATAL,
        404: Verdict.SUCCESS,
        410: Verdict.RETRY,
        503: Verdict.RETRY,
        101: Verdict.FATAL,
    }


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("120", 120),
        (" 0 ", 0),
        ("99999999999999999999", 3600),
        ("Mon, 16 Nov 2026 09:02:00 GMT", 120),
        ("Mon, 16 Nov 2026 08:00:00 GMT", 0),
        ("Monday, 16-Nov-26 09:00:30 GMT", 30),
        ("Sat, 01 Jan 2050 00:00:00 GMT", 3600),
        *((text, None) for text in ("", "soon", "-1", "1.5", "²", "Mon, 99 Nov 2026 09:02:00 GMT")),
    ],
)
def test_retry_after_is_seconds_or_a_date(value, seconds):
    assert retry_after_s(value, NOW, most_s=3600) == seconds


@pytest.mark.parametrize(
    ("body", "content_type", "whole", "kept"),
    [
        (b"", "", True, {}),
        (b'{"a":1}', "application/json; charset=utf-8", True, {"body": {"a": 1}}),
        (b'{"a":1}', "application/problem+json", True, {"body": {"a": 1}}),
        (b'{"a":', "application/json", False, {"body": '{"a":', "truncated": True}),
        (b'{"a":', "application/json", True, {"body": '{"a":'}),
        (b"hello", "text/plain", True, {"body": "hello"}),
        ("é".encode()[:1], "text/plain", False, {"body": "", "truncated": True}),
        (b"\xff\x00", "image/png", True, {"body_base64": "/wA="}),
    ],
)
def test_a_body_is_kept_as_what_it_is(body, content_type, whole, kept):
    assert kept_body(body, content_type, whole=whole) == kept


def test_headers_are_kept_without_secrets_and_not_without_end():
    kept = kept_headers([(b"Vary", b"a"), (b"vary", b"b"), (b"Set-Cookie", b"s=1"), (b"x", b"y" * 9000), (b"z", b"z")])
    assert kept == {"vary": "a, b"}
