"""A real lightsched in a process of its own, to be killed and started again."""

import contextlib
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx

READY_WITHIN_S = 60


def free_port() -> int:
    """A port that nobody listens on at the moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Server:
    """`lightsched dev` on a directory that outlives it."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = data.with_suffix(".log")
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and wait until it is ready."""
        command = [sys.executable, "-m", "lightsched", "dev", "--data", str(self.data), "--port", str(self.port)]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        deadline = time.monotonic() + READY_WITHIN_S
        # One client, and without the authorities: reading them, as for every `httpx.get`, takes the server's time.
        with httpx.Client(timeout=1, verify=False) as client:
            while time.monotonic() < deadline:
                assert self._process.poll() is None, f"the server ended:\n{self.log.read_text()[-4000:]}"
                with contextlib.suppress(httpx.TransportError):
                    if client.get(f"{self.url}/readyz").status_code == 200:
                        return
                time.sleep(0.02)
        message = f"not ready after {READY_WITHIN_S} s:\n{self.log.read_text()[-4000:]}"
        raise AssertionError(message)

    def kill(self) -> None:
        """As hard as it gets, if it runs."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def stop(self) -> int:
        """Politely; the exit code."""
        if self._process is None:
            return 0
        self._process.terminate()
        code = self._process.wait(timeout=30)
        self._process = None
        return code
