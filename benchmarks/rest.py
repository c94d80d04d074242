"""How fast is the API? POST one by one over a few connections, and NDJSON, beside an empty FastAPI handler."""

import asyncio
import subprocess
import sys
import time
from pathlib import Path

import httpx

from benchmarks.load import batches, events
from benchmarks.server import Server

CONNECTIONS = 16
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
uvicorn.run(app, port=int(sys.argv[1]), log_level="error")
"""


async def _single(url: str, count: int) -> float:
    lines = list(events(count, time.time_ns() // 1_000_000 + 3_600_000, 86_400_000, name=f"s{time.time_ns()}"))
    limits = httpx.Limits(max_connections=CONNECTIONS)
    async with httpx.AsyncClient(base_url=url, limits=limits, timeout=60) as client:

        async def post(mine: list[bytes]) -> None:
            for line in mine:
                response = await client.post(
                    "/api/v1/events", content=line, headers={"content-type": "application/json"}
                )
                assert response.status_code == 201, response.text

        began = time.perf_counter()
        await asyncio.gather(*(post(lines[start::CONNECTIONS]) for start in range(CONNECTIONS)))
        return count / (time.perf_counter() - began)


def _ndjson(url: str, count: int) -> float:
    lines = events(count, time.time_ns() // 1_000_000 + 3_600_000, 86_400_000, name=f"n{time.time_ns()}")
    bodies = [b"\n".join(batch) for batch in batches(lines, 5_000)]
    with httpx.Client(base_url=url, timeout=60) as client:
        began = time.perf_counter()
        for body in bodies:
            response = client.post("/api/v1/events", content=body, headers={"content-type": "application/x-ndjson"})
            assert response.status_code == 201, response.text
        return count / (time.perf_counter() - began)


def measure(path: Path, singles: int, lines: int) -> tuple[float, float, float]:
    """A second: single POSTs to an empty handler, single POSTs, NDJSON events."""
    server = Server(path)
    empty = subprocess.Popen([sys.executable, "-c", EMPTY, str(server.port)])
    try:
        _wait(server.url)
        limit = asyncio.run(_single(server.url, singles))
    finally:
        empty.terminate()
        empty.wait()
    server.start()
    single = asyncio.run(_single(server.url, singles))
    ndjson = _ndjson(server.url, lines)
    server.stop()
    return limit, single, ndjson


def _wait(url: str) -> None:
    for _ in range(500):
        try:
            httpx.get(f"{url}/readyz")
        except httpx.TransportError:
            time.sleep(0.02)
        else:
            return
    message = "the empty server did not start"
    raise RuntimeError(message)
