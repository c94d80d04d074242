"""How is a lightsched node started, asked and ended, again and again? `lightsched serve` with the default settings."""

import asyncio
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import httpx

from benchmarks.kafka.program import Program
from lightsched.node.peers import HOP
from tests.broker.process import HOST, free_port

Shown = dict[str, Any]


class Node:
    """One node: a process, if it runs, and the directory that stays."""

    def __init__(self, name: str, bootstrap: str, prefix: str, folder: Path, *, static: bool = False) -> None:
        """`static`: its membership is."""
        self.name = name
        self.program: Program | None = None
        self.data = folder / name
        self._folder = folder
        self._starts = 0
        self._port = free_port()
        self._client = httpx.AsyncClient(base_url=f"http://{HOST}:{self._port}", timeout=10)
        self._variables = {
            "LIGHTSCHED_LOG": "kafka",
            "LIGHTSCHED_KAFKA__BOOTSTRAP": bootstrap,
            "LIGHTSCHED_KAFKA__PREFIX": prefix,
            "LIGHTSCHED_KAFKA__GROUP": f"{prefix}lightsched",
            "LIGHTSCHED_NODE__ID": name,
            "LIGHTSCHED_DATA": str(self.data),
            "LIGHTSCHED_HTTP__PORT": str(self._port),
            **({"LIGHTSCHED_KAFKA__INSTANCE": name} if static else {}),
        }

    def start(self) -> None:
        """Start it, for the first time or again."""
        self._starts += 1
        command = [sys.executable, "-m", "lightsched", "serve"]
        name = f"{self.name}-{self._starts}"
        self.program = Program(name, command, self._folder, self._variables)

    async def stop(self) -> None:
        """SIGTERM, until it has ended."""
        await asyncio.to_thread(self.running.stop)

    async def kill(self) -> None:
        """kill -9."""
        await asyncio.to_thread(self.running.kill)

    async def lose_store(self) -> None:
        """kill -9, and its disk is gone."""
        await self.kill()
        shutil.rmtree(self.data)

    async def close(self) -> None:
        """For good."""
        if self.program is not None:
            await self.stop()
        await self._client.aclose()

    @property
    def running(self) -> Program:
        """Its process."""
        assert self.program is not None, f"{self.name} was never started"
        return self.program

    async def ready(self) -> bool:
        """Does it run all partitions that are its own?"""
        answer = await self._get("/readyz")
        return answer is not None and answer.status_code == 200

    async def partitions(self) -> list[Shown]:
        """Those that run here; none while it does not answer."""
        answer = await self._get("/api/v1/partitions")
        return answer.json()["partitions"] if answer is not None and answer.status_code == 200 else []

    async def metric(self, name: str) -> list[float]:
        """A metric, once for each of its labels."""
        answer = await self._get("/metrics")
        assert answer is not None, f"{self.name} does not answer"
        return [float(value) for value in re.findall(rf"^lightsched_{name}\S* (\S+)$", answer.text, re.MULTILINE)]

    async def _get(self, path: str) -> httpx.Response | None:
        try:
            return await self._client.get(path, headers={HOP: "bench"})  # only what is here
        except httpx.TransportError:
            return None
