"""Are requests sent as deliveries ask for them, and are the answers understood?"""

import hmac
from base64 import b64decode, b64encode
from hashlib import sha256

import pytest

from lightsched_http import program
from tests.executors.conftest import ended, running
from tests.executors.http.receiving import receiver

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
OTHER = "whsec_" + b64encode(bytes(range(32))).decode()


@pytest.fixture
async def target():
    async with receiver() as target:
        yield target


@pytest.fixture
async def ask(client, server, name, target):
    """Schedules a request for a path, and waits for the end of its run."""
    async with running(program, server=server, topics=[name], allow=["127.0.0.1"], timeout="10s", body="8B"):
        number = 0

        async def ask(path, retry=None, **payload):
            nonlocal number
            number += 1
            payload |= {"url": f"http://127.0.0.1:{target.port}{path}"}
            event = {
                "id": f"{name}-{number}",
                "type": "http.request",
                "in_": "1ms",
                "topics": [name],
                "payload": payload,
            }
            await client.schedule(**event, track=True, **({"retry": retry} if retry else {}))
            return await ended(client, f"{name}-{number}")

        yield ask


async def test_the_result_has_status_headers_and_body(ask, target):
    target.answers["/a?b=c"] = (
        b"HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nSet-Cookie: s=1\r\nContent-Length: 7\r\n\r\n[1,2,3]"
    )
    run = await ask("/a?b=c", method="PUT", headers={"X-Team": "blue"}, body={"n": 1})
    assert run.status == "SUCCESS"
    assert run.result == {
        "status": 201,
        "headers": {"content-type": "application/json", "content-length": "7"},
        "body": [1, 2, 3],
    }
    (got,) = target.got
    assert (got.line, got.body) == ("PUT /a?b=c HTTP/1.1", b'{"n":1}')
    assert got.headers["x-team"] == "blue"
    assert got.headers["content-type"] == "application/json"
    assert got.headers["host"] == f"127.0.0.1:{target.port}"
    assert got.headers["traceparent"].startswith("00-")
    assert "webhook-signature" not in got.headers


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 599])
async def test_what_may_pass_is_tried_again(ask, target, status):
    run = await ask(f"/status/{status}", retry={"delays": ["1ms"]})
    assert (run.status, run.attempt, len(target.got)) == ("FATAL_FAILURE", 2, 2)
    assert run.error == f"GET 127.0.0.1:{target.port}: {status} oops"
    assert len({got.headers["webhook-id"] for got in target.got}) == 1


@pytest.mark.parametrize("status", [304, 400, 401, 403, 404, 409, 410, 422, 451])
async def test_what_stays_is_final(ask, target, status):
    run = await ask(f"/status/{status}", retry={"delays": ["1ms"]})
    assert (run.status, run.attempt, len(target.got)) == ("FATAL_FAILURE", 1, 1)


async def test_retry_after_says_when(ask, target):
    target.answers["/busy"] = b"HTTP/1.1 429 Busy\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n"
    run = await ask("/busy", retry={"delays": ["1h"]})
    assert (run.status, run.attempt) == ("FATAL_FAILURE", 2)


async def test_an_answer_that_breaks_off_is_tried_again(ask, target):
    run = await ask("/cut", retry={"delays": ["1ms"]})
    assert (run.status, run.attempt, len(target.got)) == ("FATAL_FAILURE", 2, 2)


async def test_an_endless_answer_is_cut_and_its_connection_closed(ask, target):
    run = await ask("/endless")
    assert run.result["body"] == "xxxxxxxx"
    assert run.result["truncated"] is True
    await target.left.wait()


async def test_silence_ends_with_the_timeout(client, server, name, target):
    async with running(program, server=server, topics=[name], allow=["127.0.0.1"], timeout="100ms"):
        payload = {"url": f"http://127.0.0.1:{target.port}/silent"}
        await client.schedule(id=name, type="http.request", in_="1ms", topics=[name], track=True, payload=payload)
        run = await ended(client, name)
    assert run.error == f"127.0.0.1:{target.port} took longer than 0.1 s"


async def test_a_bad_payload_is_final_and_named(ask):
    run = await ask("/", retry={"delays": ["1ms"]}, headers={"x": "a\r\nhost: b"})
    assert (run.status, run.attempt) == ("FATAL_FAILURE", 1)
    assert "the value of the header 'x'" in run.error


async def test_deliveries_of_a_type_are_posted_as_they_are_and_signed(client, server, name, target):
    types = {
        f"{name}.paid": {"url": f"http://127.0.0.1:{target.port}/paid", "headers": {"x-team": "blue"}},
        f"{name}.*": {"url": f"http://127.0.0.1:{target.port}/others", "secrets": [OTHER, SECRET]},
    }
    settings = {"server": server, "topics": [name], "allow": ["127.0.0.1"], "types": types, "secrets": [SECRET]}
    async with running(program, **settings):
        await client.schedule(
            id=f"{name}-1", type=f"{name}.paid", in_="1ms", topics=[name], track=True, payload={"b": 1, "a": [2.50]}
        )
        await client.schedule(
            id=f"{name}-2", type=f"{name}.sent", in_="1ms", topics=[name], track=True, payload=b"\xff\0"
        )
        assert [(await ended(client, f"{name}-{n}")).status for n in (1, 2)] == ["SUCCESS", "SUCCESS"]
    paid, sent = sorted(target.got, key=lambda got: got.line, reverse=True)
    assert (paid.line, paid.body, paid.headers["x-team"]) == ("POST /paid HTTP/1.1", b'{"b":1,"a":[2.5]}', "blue")
    assert (sent.line, sent.body) == ("POST /others HTTP/1.1", b"\xff\0")
    assert sent.headers["content-type"] == "application/octet-stream"
    assert verified(paid, SECRET) == [True]
    assert verified(sent, OTHER) == [True, False]
    assert verified(sent, SECRET) == [False, True]


def verified(got, secret):
    """Which of its signatures were made with a secret, as a receiver finds out."""
    content = f"{got.headers['webhook-id']}.{got.headers['webhook-timestamp']}.".encode() + got.body
    wanted = hmac.digest(b64decode(secret.removeprefix("whsec_")), content, sha256)
    signatures = got.headers["webhook-signature"].split(" ")
    return [hmac.compare_digest(b64decode(each.removeprefix("v1,")), wanted) for each in signatures]
