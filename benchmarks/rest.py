"""How fast is the API? POST one by one over a few connections, and NDJSON, beside what bounds them.

The client speaks HTTP over plain sockets, with requests made before the clock starts: a real client library costs more
than the server does, and the machine has two cores for both.
"""

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks.load import batches, events
from benchmarks.server import Server, wait_until_ready
from lightsched.event.model import decoder

CONNECTIONS = 16
NDJSON_LINES = 5_000
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


class Rates(NamedTuple):
    """Per second."""

    empty: float  # POSTs to an empty FastAPI handler
    single: float  # POSTs of one event
    ndjson: float  # events, 5,000 a request
    decode: float  # events decoded from NDJSON, nothing else


def measure(path: Path, singles: int, lines: int) -> Rates:
    """All rates; the bounds in the same run."""
    server = Server(path)
    empty = subprocess.Popen([sys.executable, "-c", EMPTY, str(server.port)])
    try:
        wait_until_ready(server.url, empty)
        limit = _single(server.port, singles)
    finally:
        empty.terminate()
        empty.wait()
    server.start()
    single = _single(server.port, singles)
    bodies = [b"\n".join(batch) for batch in batches(_events("n", lines), NDJSON_LINES)]
    began = time.perf_counter()
    asyncio.run(_post_all(server.port, [[_request(body, "application/x-ndjson")] for body in bodies], at_once=2))
    ndjson = lines / (time.perf_counter() - began)
    server.stop()
    began = time.perf_counter()
    for body in bodies:
        for line in body.split(b"\n"):
            decoder.decode(line)
    return Rates(limit, single, ndjson, lines / (time.perf_counter() - began))


def _single(port: int, count: int) -> float:
    requests = [_request(line, "application/json") for line in _events("s", count)]
    began = time.perf_counter()
    asyncio.run(_post_all(port, [requests[start::CONNECTIONS] for start in range(CONNECTIONS)], CONNECTIONS))
    return count / (time.perf_counter() - began)


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
