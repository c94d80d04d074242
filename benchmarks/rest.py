"""How fast is the API? POST one by one over a few connections, and NDJSON, beside what bounds them.

The client speaks HTTP over plain sockets, with requests made before the clock starts: a real client library costs more
than the server does, and the machine has two cores for both.
"""

import asyncio
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import psutil

from benchmarks.load import batches, events
from benchmarks.server import Server, wait_until_ready
from lightsched.event.model import decoder

CONNECTIONS = 16
NDJSON_LINES = 5_000
ROUNDS = 5
EMPTY = """
import sys, uvicorn
from fastapi import FastAPI, Request, Response
app = FastAPI()
@app.post("/api/v1/events")
async def empty(request: Request):
    await request.body()
    return Response(b"{}", status_code=201, media_type="application/json")
@app.get("/readyz")
async def ready():
    return {}
uvicorn.run(app, port=int(sys.argv[1]), log_level="error", loop="uvloop", http="httptools", access_log=False)
"""


class Rate(NamedTuple):
    """Of requests or events that a server has answered."""

    per_second: float
    cpu_us: float  # of the server's process, for each: this does not depend on what else runs on the machine


class Rates(NamedTuple):
    """All that is measured."""

    empty: Rate  # POSTs to an empty FastAPI handler
    single: Rate  # POSTs of one event
    ndjson: Rate  # events, 5,000 a request
    decode: Rate  # events decoded from NDJSON, nothing else


def measure(path: Path, singles: int, lines: int) -> Rates:
    """All rates: medians of rounds in which everybody has a turn, so that a noisy minute is noisy for all."""
    server, bound = Server(path), Server(path)
    empty = subprocess.Popen([sys.executable, "-c", EMPTY, str(bound.port)])
    rounds: list[Rates] = []
    try:
        wait_until_ready(bound.url, empty)
        server.start()
        assert server.process is not None
        pid = server.process.pid
        _single(bound.port, empty.pid, singles // ROUNDS)  # warm-up
        _single(server.port, pid, singles // ROUNDS)
        for _ in range(ROUNDS):
            limit = _single(bound.port, empty.pid, singles // ROUNDS)
            single = _single(server.port, pid, singles // ROUNDS)
            rounds.append(Rates(limit, single, *_ndjson(server.port, pid, lines // ROUNDS)))
    finally:
        empty.terminate()
        empty.wait()
        if server.process is not None:
            server.stop()
    return Rates(*(_median([each[which] for each in rounds]) for which in range(len(Rates._fields))))


def _median(rates: list[Rate]) -> Rate:
    return Rate(*(statistics.median(each) for each in zip(*rates, strict=True)))


def _ndjson(port: int, pid: int, count: int) -> tuple[Rate, Rate]:
    """The server's, and that of decoding the same lines."""
    bodies = [b"\n".join(batch) for batch in batches(_events("n", count), NDJSON_LINES)]
    requests = [[_request(body, "application/x-ndjson")] for body in bodies]
    posted = _rate(pid, count, lambda: asyncio.run(_post_all(port, requests, at_once=2)))
    return posted, _rate(os.getpid(), count, lambda: _decode_all(bodies))


def _single(port: int, pid: int, count: int) -> Rate:
    requests = [_request(line, "application/json") for line in _events("s", count)]
    connections = [requests[start::CONNECTIONS] for start in range(CONNECTIONS)]
    return _rate(pid, count, lambda: asyncio.run(_post_all(port, connections, CONNECTIONS)))


def _decode_all(bodies: list[bytes]) -> None:
    for body in bodies:
        for line in body.split(b"\n"):
            decoder.decode(line)


def _rate(pid: int, count: int, work: Callable[[], None]) -> Rate:
    server = psutil.Process(pid)
    before, began = server.cpu_times(), time.perf_counter()
    work()
    took_s, after = time.perf_counter() - began, server.cpu_times()
    cpu_s = after.user + after.system - before.user - before.system
    return Rate(count / took_s, cpu_s / count * 1e6)


def _events(name: str, count: int) -> Iterator[bytes]:
    return events(count, time.time_ns() // 1_000_000 + 3_600_000, 86_400_000, name=f"{name}{time.time_ns()}")


def _request(body: bytes, content_type: str) -> bytes:
    head = f"POST /api/v1/events HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: {content_type}\r\n"
    return f"{head}content-length: {len(body)}\r\n\r\n".encode() + body


async def _post_all(port: int, connections: list[list[bytes]], at_once: int) -> None:
    """Send the requests of each connection one after the other, so many connections at a time; all must succeed."""
    gate = asyncio.Semaphore(at_once)

    async def talk(requests: list[bytes]) -> None:
        async with gate:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            for request in requests:
                writer.write(request)
                head = await reader.readuntil(b"\r\n\r\n")
                assert head.startswith(b"HTTP/1.1 201 "), head
                length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r")[0])
                await reader.readexactly(length)
            writer.close()

    await asyncio.gather(*(talk(requests) for requests in connections))
