"""One Kafka broker as a Java process: how is it set up, started, asked and ended?

It is broker and controller at once (KRaft), and lives in a folder that outlives it: server.properties, data/ and
broker.log.
"""

import contextlib
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from tests.broker import tether
from tests.broker.download import jars
from tests.broker.metadata import known_brokers

HOST = "127.0.0.1"
READY_WITHIN_S = 90
ENDS_WITHIN_S = 30
# Below the ports that systems hand out to clients: nobody takes a broker's port while it is down.
PORTS = range(20_000, 30_000)
JAVA = ("java", "-Xmx512m", "-XX:+UseSerialGC", "-Dlog4j2.level=INFO")
# Half the time to start, for a broker that never gets as fast as one under load should be.
COMPILE_LITTLE = "-XX:TieredStopAtLevel=1"
SecurityProtocol = Literal["SSL", "SASL_PLAINTEXT", "SASL_SSL"]

# A tethered process ends with the thread that started it (see tether.py), so all are started by one that stays.
_starter = ThreadPoolExecutor(1, thread_name_prefix="starts-brokers")


class BrokerFailed(RuntimeError):
    """A broker did not do what it was told; the end of its log is in the message."""


def free_port() -> int:
    """A port that nobody listens on, and that no client will be given."""
    for port in random.sample(PORTS, 100):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind((HOST, port))
            return port
    raise BrokerFailed(f"no free port between {PORTS.start} and {PORTS.stop}")


class BrokerProcess:
    """A broker that runs, or the folder of one that does not at the moment."""

    def __init__(
        self,
        n: int,
        folder: Path,
        port: int,
        java: tuple[str, ...],
        secured: Mapping[SecurityProtocol, str] = MappingProxyType({}),
    ) -> None:
        self.n = n
        self.folder = folder
        self.port = port
        self.secured = secured
        self.secured_ports = {protocol: free_port() for protocol in secured}
        self.controller_port = free_port()
        self.java = java
        self.paused = False
        self.data = folder / "data"
        self.properties = folder / "server.properties"
        self.log = folder / "broker.log"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    @property
    def voter(self) -> str:
        """How the others find its controller."""
        return f"{self.n}@{HOST}:{self.controller_port}"

    def format(self, cluster_id: str, voters: str, settings: dict[str, str], *more: str) -> None:
        """Write the properties, and what a data folder must hold before its first start. `more`: for the tool."""
        self.folder.mkdir(parents=True, exist_ok=True)
        ports = {"PLAINTEXT": self.port, **self.secured_ports}
        hosts = {"PLAINTEXT": HOST, **self.secured}
        listeners = ",".join(f"{protocol}://{HOST}:{port}" for protocol, port in ports.items())
        advertised = ",".join(f"{protocol}://{host}:{ports[protocol]}" for protocol, host in hosts.items())
        where = {
            "process.roles": "broker,controller",
            "node.id": str(self.n),
            "controller.quorum.voters": voters,
            "listeners": f"{listeners},CONTROLLER://{HOST}:{self.controller_port}",
            "advertised.listeners": advertised,
            "controller.listener.names": "CONTROLLER",
            "inter.broker.listener.name": "PLAINTEXT",
            "log.dirs": str(self.data),
        }
        self.properties.write_text("".join(f"{name}={value}\n" for name, value in (where | settings).items()))
        tool = ("kafka.tools.StorageTool", "format", f"--cluster-id={cluster_id}", "-c", str(self.properties))
        if self._run(COMPILE_LITTLE, *tool, *more).wait():
            raise BrokerFailed(f"broker {self.n} could not be formatted:\n{self._last_words()}")

    def launch(self) -> None:
        """Start the process; `wait` says when it is there."""
        assert self._process is None, f"broker {self.n} runs"
        self._process = self._run("kafka.Kafka", str(self.properties))

    def wait(self, knowing: set[int]) -> None:
        """Until it answers and knows these brokers."""
        assert self._process, f"broker {self.n} does not run"
        deadline = time.monotonic() + READY_WITHIN_S
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                self._process = None
                raise BrokerFailed(f"broker {self.n} ended:\n{self._last_words()}")
            with contextlib.suppress(OSError):
                if knowing <= known_brokers(HOST, self.port):
                    return
            time.sleep(0.05)
        raise BrokerFailed(f"broker {self.n} is not there after {READY_WITHIN_S} s:\n{self._last_words()}")

    def pause(self) -> None:
        assert self._process, f"broker {self.n} does not run"
        self._process.send_signal(signal.SIGSTOP)
        while not _stands_still(self._process.pid):
            time.sleep(0.01)
        self.paused = True

    def resume(self) -> None:
        assert self._process, f"broker {self.n} does not run"
        self._process.send_signal(signal.SIGCONT)
        self.paused = False

    def end(self, number: signal.Signals) -> None:
        """By this signal, and wait until it is gone; nothing to do if it does not run."""
        if self._process is None:
            return
        self._process.send_signal(number)
        if self.paused and number != signal.SIGKILL:
            self.resume()  # or it would never see the signal
        try:
            self._process.wait(ENDS_WITHIN_S)
        except subprocess.TimeoutExpired:
            raise BrokerFailed(f"broker {self.n} did not end in {ENDS_WITHIN_S} s:\n{self._last_words()}") from None
        self._process, self.paused = None, False

    def _run(self, *arguments: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-I", tether.__file__, str(os.getpid())]
        command += [*JAVA, *self.java, "-cp", f"{jars()}/*", *arguments]

        def start() -> subprocess.Popen[bytes]:
            with self.log.open("ab") as log:
                # Its own session: a Ctrl-C in the terminal is for the program that uses the broker.
                return subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder, start_new_session=True
                )

        return _starter.submit(start).result()

    def _last_words(self) -> str:
        return self.log.read_text(errors="replace")[-4000:]


def _stands_still(pid: int) -> bool:
    """Every thread of it does: on a busy machine a signal takes its time, and a thread may still answer."""
    try:
        states = [stat.read_text().rpartition(")")[2].split()[0] for stat in Path(f"/proc/{pid}/task").glob("*/stat")]
    except (FileNotFoundError, ProcessLookupError):  # a thread has ended meanwhile
        return False
    return all(state in "TtZX" for state in states)
