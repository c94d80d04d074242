"""Several lightsched nodes on one Kafka, to be killed, stopped, starved and started again."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import httpx

from tests.broker import tether
from tests.chaos.kafka.proxy import Proxy
from tests.chaos.server import free_port

HITS = {
    "assigned": r"partitions assigned",
    "heartbeat missed": r"member_id was not recognized|[Ss]ession (timeout )?expired|[Mm]arking the coordinator dead",
    "taken": r"partition \d+: taken in",
    "restored": r"partition \d+: restored [1-9]",
    "rebuilt": r"the store is rebuilt",
    "retaken": r"failed, taking it again",
    "fenced": r"lightsched\.log\.errors\.Fenced",
    "outcome unknown": r"errors\.OutcomeUnknown",
    "store broken": r"errors\.StoreBroken",
    "went to another": r"errors\.NotMine",
    "step made again": r"has to be made again",
}
ALONE = {"x-lightsched-hop": "1"}
"""A node that is asked so answers for itself alone."""


class FaultyNode:
    """One node: a process, its directory and its faults."""

    def __init__(
        self,
        name: str,
        folder: Path,
        settings: dict[str, str],
        proxy: Proxy,
        *,
        host: str = "127.0.0.1",
        inside: Sequence[str] = (),
        link: Callable[[str], None] | None = None,
    ) -> None:
        """`host`: where it listens. `inside`: what starts a command in its network. `link`: takes that up and down."""
        self.name = name
        self.proxy = proxy
        self.link = link
        self.data = folder / name
        self.log = folder / f"{name}.log"
        self.faults = folder / f"{name}.faults"
        self.port = free_port()
        self.host = host
        self.url = f"http://{host}:{self.port}"
        self._settings = settings
        self._inside = inside
        self.process: subprocess.Popen[bytes] | None = None
        self.paused = False
        self.ended = 0
        self._wanted = False

    def start(self) -> None:
        """Start it; it may take its time."""
        self._wanted = True
        self.set()
        own = {"LIGHTSCHED_NODE__ID": self.name, "LIGHTSCHED_NODE__URL": self.url}
        tethered = [sys.executable, "-I", tether.__file__, str(os.getpid())]
        command = [*self._inside, sys.executable, "-m", "tests.chaos.kafka.faulty", str(self.faults), "serve"]
        where = ["--data", str(self.data), "--host", self.host, "--port", str(self.port)]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*tethered, *command, *where],
                stdout=log,
                stderr=log,
                env={**os.environ, **self._settings, **own},
            )

    def set(self, **faults: float) -> None:
        """These faults hold from now on, and no others."""
        self.faults.write_text(json.dumps(faults))

    def send(self, what: signal.Signals) -> None:
        """A signal."""
        assert self.process is not None
        self.process.send_signal(what)
        self.paused = what == signal.SIGSTOP or (self.paused and what != signal.SIGCONT)

    def tend(self) -> None:
        """Start it again if it has ended by itself, as one does that finds no broker when it starts."""
        if self._wanted and self.process is not None and self.process.poll() is not None:
            self.ended += 1
            self.start()

    def kill(self) -> None:
        """kill -9."""
        self._wanted = False
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process, self.paused = None, False

    def stop(self) -> None:
        """SIGTERM, and -9 if it takes too long."""
        self._wanted = False
        if self.process is not None:
            if self.paused:
                self.send(signal.SIGCONT)
            self.process.terminate()
            try:
                self.process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                self.kill()
            self.process = None

    def lose_store(self) -> None:
        """Its disk is gone."""
        shutil.rmtree(self.data, ignore_errors=True)

    def partitions(self) -> list[dict]:
        """What it says about its partitions; nothing, if it does not answer."""
        try:
            answer = httpx.get(f"{self.url}/api/v1/partitions", headers=ALONE, timeout=2, trust_env=False)
        except httpx.TransportError:
            return []
        if answer.status_code != 200:
            return []
        found: list[dict] = answer.json()["partitions"]
        return found

    def hit(self) -> Counter[str]:
        """What its faults have led to, by its log."""
        text = self.log.read_text(errors="replace")
        return Counter({what: len(re.findall(words, text)) for what, words in HITS.items()})

    def metric(self, name: str) -> float:
        """The sum of a metric over its labels."""
        try:
            text = httpx.get(f"{self.url}/metrics", timeout=2, trust_env=False).text
        except httpx.TransportError:
            return 0.0
        lines = [line for line in text.splitlines() if line.startswith((f"{name}{{", f"{name} "))]
        return sum(float(line.rsplit(" ", 1)[1]) for line in lines)
