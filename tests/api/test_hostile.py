"""Those who ask for more than is their due: each is turned away in good time, and nobody else notices."""

import socket
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from urllib.parse import urlsplit

import httpx
import psutil
import pytest

from benchmarks.hostile import measure
from lightsched.api.crowd import Crowd
from lightsched.api.protocol import MOST_PIPELINED
from lightsched.node.settings import HttpSettings
from tests.api.conftest import eventually, started

HOST = b"host: 127.0.0.1\r\n"
POST = b"POST /api/v1/events HTTP/1.1\r\n" + HOST
SOON = {
    "LIGHTSCHED_HTTP__HEAD_TIMEOUT": "1s",
    "LIGHTSCHED_HTTP__BODY_TIMEOUT": "1s",
    "LIGHTSCHED_HTTP__SEND_TIMEOUT": "1s",
    "LIGHTSCHED_HTTP__KEEP_ALIVE": "1s",
}


@pytest.fixture(scope="module")
def hasty(tmp_path_factory):
    """A server that is not patient."""
    with started(tmp_path_factory.mktemp("hasty"), **SOON) as (_, address):
        yield address


@contextmanager
def connected(address, *sent):
    place = urlsplit(address)
    with socket.create_connection((place.hostname, place.port), timeout=60) as connection:
        for data in sent:
            connection.sendall(data)
        yield connection


def answer_of(connection):
    """Everything that comes, until the other side closes."""
    came = b""
    try:
        while data := connection.recv(65_536):
            came += data
    except ConnectionError:
        pass
    return came


def status_of(came):
    return int(came.split(b" ", 2)[1]) if came else None


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"\r\n\r\n\r\n", id="blank lines"),
        pytest.param(b"GET /api/v1/events HTTP/1.1\r\nx-slow: ", id="half a head"),
        pytest.param(POST + b"content-length: 100\r\n\r\n{", id="half a body"),
        pytest.param(POST + b"transfer-encoding: chunked\r\n\r\n5\r\n     \r\n", id="half of the chunks"),
    ],
)
def test_a_request_that_does_not_come_is_not_waited_for(hasty, sent):
    with connected(hasty, sent) as connection:
        came = answer_of(connection)
    assert status_of(came) == 408
    assert b"application/problem+json" in came


def test_what_comes_byte_by_byte_is_too_slow(hasty):
    with connected(hasty, POST + b"content-length: 1000\r\n\r\n") as connection:
        connection.settimeout(0.05)
        came, until = b"", time.monotonic() + 60
        while not came and time.monotonic() < until:
            connection.sendall(b" ")
            try:
                came = connection.recv(100)
            except TimeoutError:
                continue
    assert status_of(came) == 408


def test_an_idle_connection_is_closed(hasty):
    with connected(hasty, b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n") as connection:
        assert status_of(answer_of(connection)) == 200


def test_a_head_without_end_is_refused(server):
    with connected(server, b"GET / HTTP/1.1\r\n") as connection:
        try:
            for number in range(100):
                connection.sendall(b"x-%d: %s\r\n" % (number, b"a" * 4_000))
        except ConnectionError:
            pass
        assert status_of(answer_of(connection)) == 431


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        pytest.param(b"\x16\x03\x01\x02\x00\x01\x00\x01", 400, id="TLS"),
        pytest.param(b"HELLO\r\n\r\n", 400, id="no HTTP"),
        pytest.param(POST + b"content-length: 5\r\ncontent-length: 6\r\n\r\n", 400, id="two lengths"),
        pytest.param(POST + b"content-length: 99999999999\r\n\r\n" + b" " * 100_000, 413, id="too large"),
        pytest.param(
            POST + b"transfer-encoding: chunked\r\n\r\n" + (b"100000\r\n" + b" " * 0x100000 + b"\r\n") * 33,
            413,
            id="too many chunks",
        ),
        pytest.param(
            POST + b"connection: close\r\ncontent-encoding: gzip\r\ncontent-length: 2\r\n\r\n{}", 400, id="compressed"
        ),
        pytest.param(
            POST + b"connection: close\r\ncontent-length: 200024\r\n\r\n"
            b'{"in": "1h", "payload": ' + b"[" * 100_000 + b"]" * 100_000,
            400,
            id="nested",
        ),
    ],
)
def test_what_makes_no_sense_is_told_so(hasty, sent, status):
    with connected(hasty) as connection:
        with suppress(ConnectionError):  # it need not hear all of it
            connection.sendall(sent)
        came = answer_of(connection)
    assert status_of(came) == status
    assert b"500 Internal" not in came


def test_requests_that_follow_each_other_are_all_answered(server):
    ask = b"GET /healthz HTTP/1.1\r\n" + HOST
    with connected(server, (ask + b"\r\n") * 49 + ask + b"connection: close\r\n\r\n") as connection:
        assert answer_of(connection).count(b"HTTP/1.1 200 OK") == 50


def test_of_very_many_that_follow_each_other_the_first_are_answered(server):
    ask = b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n"
    with connected(server, ask * 1_000) as connection:
        assert MOST_PIPELINED <= answer_of(connection).count(b"HTTP/1.1 200 OK") < 1_000


def test_whoever_holds_connections_gives_way_to_those_who_use_them(tmp_path):
    with started(tmp_path, LIGHTSCHED_HTTP__CONNECTIONS="20") as (_, address), ExitStack() as held:
        silent = [held.enter_context(connected(address)) for _ in range(60)]
        for _ in range(10):
            assert httpx.post(f"{address}/api/v1/events", json={"in": "1h"}).status_code == 201
        assert answer_of(silent[0]) == b""  # it has been closed
        assert 'turned_away_total{reason="connections"}' in httpx.get(f"{address}/metrics").text


def test_where_all_connections_are_used_the_next_one_is_told_so(tmp_path):
    with started(tmp_path, LIGHTSCHED_HTTP__CONNECTIONS="3") as (process, address), ExitStack() as held:
        poll = b"GET /api/v1/deliveries/deliveries?wait=30s HTTP/1.1\r\n" + HOST + b"\r\n"
        for _ in range(3):
            held.enter_context(connected(address, poll))
        server = psutil.Process(process.pid)
        eventually(lambda: sum(each.status == "ESTABLISHED" for each in server.net_connections()) == 3)
        came = eventually(lambda: refused_by(address))
        assert b"too many connections" in came
        assert b"retry-after: 1" in came


def refused_by(address):
    with connected(address) as connection:
        connection.settimeout(5)
        came = answer_of(connection)
    return came if status_of(came) == 503 else None


def test_more_polls_than_may_wait_are_refused(tmp_path):
    with started(tmp_path, LIGHTSCHED_HTTP__POLLS="2") as (_, address), ThreadPoolExecutor(2) as threads:
        url = f"{address}/api/v1/deliveries/deliveries"
        waiting = [threads.submit(eventually, lambda: polled(url)) for _ in range(2)]
        refused = eventually(lambda: [each for each in [httpx.get(url, params={"wait": "1ms"})] if each.is_error])
        assert refused[0].status_code == 503
        assert httpx.post(f"{address}/api/v1/events", json={"in": "1ms"}).status_code == 201
        assert all(each.result() for each in waiting)


def polled(url):
    """Were there deliveries? None: it was refused, because the others waited already."""
    response = httpx.get(url, params={"wait": "30s"}, timeout=60)
    return response.json()["deliveries"] if response.is_success else None


def test_bodies_that_are_held_do_not_fill_the_memory(tmp_path):
    limits = {"LIGHTSCHED_HTTP__BODIES": "2MiB"}
    with started(tmp_path, **limits) as (_, address), ExitStack() as held:
        half = POST + b"content-length: 2000000\r\n\r\n" + b" " * 1_000_000
        first, *_ = [held.enter_context(connected(address, half)) for _ in range(5)]
        assert status_of(answer_of(first)) == 503
        assert httpx.post(f"{address}/api/v1/events", json={"in": "1h"}).status_code == 201


def test_answers_that_nobody_reads_do_not_fill_the_memory(tmp_path):
    limits = {"LIGHTSCHED_HTTP__UNSENT": "256KiB"}
    with started(tmp_path, **limits) as (process, address), ExitStack() as held:
        large = {"in": "1h", "payload": "x" * 200_000}
        assert httpx.post(f"{address}/api/v1/events", json=[large] * 15).status_code == 201
        before = psutil.Process(process.pid).memory_info().rss
        ask = b"GET /api/v1/events HTTP/1.1\r\n" + HOST + b"\r\n"
        for _ in range(60):
            held.enter_context(connected(address, ask * 5))
        eventually(lambda: 'turned_away_total{reason="unsent"}' in httpx.get(f"{address}/metrics").text)
        assert psutil.Process(process.pid).memory_info().rss - before < 100_000_000


def test_few_open_files_mean_few_connections_and_it_says_so(caplog):
    assert Crowd(HttpSettings(), 1_000, print).most == 744
    assert "only 1000 files may be open" in caplog.text


def test_it_goes_on_when_it_could_open_no_more_files(tmp_path):
    with started(tmp_path) as (process, address):
        server = psutil.Process(process.pid)
        server.rlimit(psutil.RLIMIT_NOFILE, (server.num_fds() + 10, server.rlimit(psutil.RLIMIT_NOFILE)[1]))
        with ExitStack() as held:
            for _ in range(100):
                held.enter_context(connected(address))
            eventually(lambda: "no more connections can be accepted" in (tmp_path / "said").read_text())
        assert httpx.post(f"{address}/api/v1/events", json={"in": "1h"}, timeout=60).status_code == 201


def test_hundreds_of_hostile_clients_keep_nobody_from_anything(tmp_path):
    with started(tmp_path, partitions=1) as (process, address):
        alone, beside = measure(Running(process, address), clients=200, seconds=2)
    assert beside.refused == alone.refused == []
    for seen in (alone, beside):
        assert len(seen.delivered) == seen.expected
        assert all(len(offsets) == 1 for offsets in seen.delivered.values())
    assert beside.rss_mb < 400


class Running:
    """A server as the benchmark sees it."""

    def __init__(self, process, address):
        self.url, self.port = address, urlsplit(address).port
        self._process = psutil.Process(process.pid)

    def rss_mb(self):
        return self._process.memory_info().rss / 1e6
