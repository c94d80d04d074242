"""A server in a process of its own, as a user runs it."""

import contextlib
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import psutil


class Server:
    """`lightsched dev` in a process."""

    def __init__(self, data: Path) -> None:
        self.data = data
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        self.url = f"http://127.0.0.1:{self.port}"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and wait until it is ready."""
        command = [sys.executable, "-m", "lightsched", "dev", "--data", str(self.data), "--port", str(self.port)]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ)
        wait_until_ready(self.url, self.process)

    def rss_mb(self) -> float:
        """Resident memory."""
        assert self.process is not None
        return psutil.Process(self.process.pid).memory_info().rss / 1e6

    def kill(self) -> None:
        """kill -9."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        """SIGTERM."""
        assert self.process is not None
        self.process.terminate()
        self.process.wait()


def wait_until_ready(url: str, process: subprocess.Popen[bytes]) -> None:
    """Wait until a server answers."""
    while True:
        if process.poll() is not None:
            message = f"the server ended with {process.returncode}"
            raise RuntimeError(message)
        with contextlib.suppress(httpx.TransportError):
            if httpx.get(f"{url}/readyz", timeout=5).status_code == 200:
                return
        time.sleep(0.01)
