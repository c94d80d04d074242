"""Who means it badly? Clients of many kinds, each of which asks for more than is its due.

    python -m benchmarks.enemies PORT CLIENTS SECONDS

Whoever is turned away comes back a little later.
"""

import asyncio
import contextlib
import gzip
import os
import random
import socket
import struct
import sys
from collections.abc import Awaitable, Callable
from urllib.parse import urlencode

import uvloop

Reader, Writer = asyncio.StreamReader, asyncio.StreamWriter
Enemy = Callable[[Reader, Writer, random.Random], Awaitable[None]]

ENEMIES: list[Enemy] = []
_HOST = b"host: 127.0.0.1\r\n"
_JSON = _HOST + b"content-type: application/json\r\n"
_COMES_BACK_S = (1.0, 20.0)


def enemy(behaves: Enemy) -> Enemy:
    """One kind."""
    ENEMIES.append(behaves)
    return behaves


@enemy
async def says_nothing(reader: Reader, _writer: Writer, _rng: random.Random) -> None:
    """Connects, and that is all."""
    await reader.read()


@enemy
async def drips_its_head(_reader: Reader, writer: Writer, _rng: random.Random) -> None:
    """A byte a second."""
    writer.write(b"GET /api/v1/events HTTP/1.1\r\nx-slow: ")
    await _drip(writer)


@enemy
async def drips_its_body(_reader: Reader, writer: Writer, _rng: random.Random) -> None:
    """A byte a second, of a body that it says is large."""
    writer.write(b"POST /api/v1/events HTTP/1.1\r\n" + _JSON + b'content-length: 1000000\r\n\r\n{"id": "')
    await _drip(writer)


@enemy
async def has_an_endless_head(_reader: Reader, writer: Writer, rng: random.Random) -> None:
    """One header after the other."""
    writer.write(b"GET /api/v1/events HTTP/1.1\r\n" + _HOST)
    while True:
        writer.write(b"x-%x: %s\r\n" % (rng.getrandbits(64), b"a" * 8_000))
        await writer.drain()
        await asyncio.sleep(0.01)


@enemy
async def has_an_endless_body(_reader: Reader, writer: Writer, _rng: random.Random) -> None:
    """One chunk after the other."""
    writer.write(b"POST /api/v1/events HTTP/1.1\r\n" + _JSON + b"transfer-encoding: chunked\r\n\r\n")
    while True:
        writer.write(b"4000\r\n" + b" " * 0x4000 + b"\r\n")
        await writer.drain()
        await asyncio.sleep(0.1)


@enemy
async def holds_a_large_body(reader: Reader, writer: Writer, _rng: random.Random) -> None:
    """Sends megabytes, and not the last byte."""
    writer.write(b"POST /api/v1/events HTTP/1.1\r\n" + _JSON + b"content-length: 3000001\r\n\r\n[")
    for _ in range(30):
        writer.write(b" " * 100_000)
        await writer.drain()
        await asyncio.sleep(0.1)
    await reader.read()


@enemy
async def has_too_large_a_body(reader: Reader, writer: Writer, _rng: random.Random) -> None:
    """Says so, and sends it although it is refused."""
    writer.write(b"POST /api/v1/events HTTP/1.1\r\n" + _JSON + b"content-length: 9999999999\r\n\r\n" + b" " * 100_000)
    await reader.read()


@enemy
async def speaks_something_else(reader: Reader, writer: Writer, _rng: random.Random) -> None:
    """Bytes that mean nothing."""
    writer.write(os.urandom(200))
    await reader.read()


@enemy
async def asks_all_at_once(reader: Reader, writer: Writer, _rng: random.Random) -> None:
    """A thousand requests, one behind the other, without waiting for an answer."""
    writer.write((b"GET /api/v1/events/none HTTP/1.1\r\n" + _HOST + b"\r\n") * 1_000)
    await reader.read(100)
    await asyncio.sleep(5)


@enemy
async def leaves_half_way(reader: Reader, writer: Writer, _rng: random.Random) -> None:
    """Half a request, then its half of the connection is closed."""
    writer.write(b"POST /api/v1/events HTTP/1.1\r\n" + _JSON + b'content-length: 50\r\n\r\n{"id":')
    writer.write_eof()
    await reader.read()


@enemy
async def slams_the_door(_reader: Reader, writer: Writer, _rng: random.Random) -> None:
    """Half a request, then a reset."""
    writer.write(b"POST /api/v1/events HTTP/1.1\r\n" + _JSON + b'content-length: 50\r\n\r\n{"id":')
    await writer.drain()
    connection = writer.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


@enemy
async def polls_and_hangs_up(_reader: Reader, writer: Writer, rng: random.Random) -> None:
    """A long poll that nobody waits for."""
    writer.write(b"GET /api/v1/deliveries/none?group=g%d&wait=60s HTTP/1.1\r\n" % rng.randrange(50) + _HOST + b"\r\n")
    await writer.drain()
    await asyncio.sleep(rng.random())


@enemy
async def polls(reader: Reader, writer: Writer, _rng: random.Random) -> None:
    """A long poll, of what is delivered to everybody."""
    writer.write(b"GET /api/v1/deliveries/lightsched.deliveries?wait=60s HTTP/1.1\r\n" + _HOST + b"\r\n")
    await reader.read(10_000)


@enemy
async def does_not_read(reader: Reader, writer: Writer, _rng: random.Random) -> None:
    """Asks for much and reads nothing of it."""
    reader._transport.pause_reading()  # type: ignore[attr-defined]  # noqa: SLF001
    for path in (b"/openapi.json", b"/api/v1/events?limit=1000", b"/api/v1/runs?limit=1000", b"/docs"):
        writer.write((b"GET " + path + b" HTTP/1.1\r\n" + _HOST + b"\r\n") * 5)
    await writer.drain()
    await asyncio.sleep(20)


@enemy
async def asks_what_is_expensive(reader: Reader, writer: Writer, rng: random.Random) -> None:
    """Searches that find nothing, previews that go far."""
    window = '{"from":"03:00","to":"03:01","days":["sun"]}'
    asked = rng.choice(
        [
            "events?" + urlencode({"label": "no=one", "limit": 1_000}),
            "events?" + urlencode({"tenant": "*", "type": "none", "due_from": "2000-01-01T00:00:00Z"}),
            "events?" + urlencode({"prefix": "\x7f", "due_to": "9999-01-01T00:00:00Z"}),
            "runs?" + urlencode({"tenant": "*", "type": "none", "limit": 1_000}),
            "preview?" + urlencode({"cron": "59 59 2 29 2 *", "timezone": "America/New_York", "n": 1_000}),
            "preview?" + urlencode({"cron": "* * * * * *", "window": window, "timezone": "Asia/Kathmandu", "n": 1_000}),
            "preview?" + urlencode({"cron": "0 0 * * *", "n": 10_000}),
            "forecast?minutes=1440",
            "upcoming?limit=200",
        ]
    )
    writer.write(b"GET /api/v1/" + asked.encode() + b" HTTP/1.1\r\n" + _HOST + b"connection: close\r\n\r\n")
    await reader.read()


@enemy
async def nests_deeply(reader: Reader, writer: Writer, _rng: random.Random) -> None:
    """A payload of brackets."""
    await _post(reader, writer, b'{"in": "1h", "payload": ' + b"[" * 100_000 + b"]" * 100_000 + b"}")


@enemy
async def sends_a_bomb(reader: Reader, writer: Writer, _rng: random.Random) -> None:
    """Little that would be much if it were unpacked."""
    await _post(reader, writer, _BOMB, b"content-encoding: gzip\r\n")


@enemy
async def sends_nonsense_in_lines(reader: Reader, writer: Writer, _rng: random.Random) -> None:
    """Thousands of events that are none."""
    await _post(reader, writer, b'{"id": 1}\n' * 5_000, b"content-type: application/x-ndjson\r\n")


_BOMB = gzip.compress(b" " * 50_000_000)


async def _post(reader: Reader, writer: Writer, body: bytes, headers: bytes = b"") -> None:
    head = b"POST /api/v1/events HTTP/1.1\r\n" + _HOST + headers + b"connection: close\r\ncontent-length: %d\r\n\r\n"
    writer.write(head % len(body) + body)
    await reader.read()


async def _drip(writer: Writer) -> None:
    while True:
        writer.write(b"a")
        await writer.drain()
        await asyncio.sleep(1)


async def _live(port: int, number: int) -> None:
    """One client, again and again."""
    rng = random.Random(number)
    behaves = ENEMIES[number % len(ENEMIES)]
    own = f"127.0.{1 + number % 200}.1"  # more addresses than one: ports would run out
    while True:
        await asyncio.sleep(rng.uniform(*_COMES_BACK_S))
        with contextlib.suppress(OSError, RuntimeError):  # uvloop's word for a connection that has gone
            reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(own, 0))
            try:
                await behaves(reader, writer, rng)
            finally:
                writer.transport.abort() if behaves is does_not_read else writer.close()


async def attack(port: int, clients: int, seconds: float) -> None:
    """All of them, for a while."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds), asyncio.TaskGroup() as group:
            for number in range(clients):
                group.create_task(_live(port, number))


if __name__ == "__main__":
    uvloop.run(attack(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])))
