"""A contestant's process: started, awaited, weighed and stopped. It ends with the measurement, however that ends."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil

from tests.broker import tether

READY_WITHIN_S = 60
STOPS_WITHIN_S = 30


class ProgramFailed(RuntimeError):
    """A contestant ended, or did not get ready; the end of what it said is in the message."""


class Program:
    """One process; what it says goes to a file."""

    def __init__(self, name: str, command: Sequence[str], folder: Path, variables: Mapping[str, str]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.name = name
        self._said = folder / f"{name}.log"
        others = {key: value for key, value in os.environ.items() if not key.startswith("LIGHTSCHED_")}
        with self._said.open("wb") as said:
            self._process = subprocess.Popen(
                [sys.executable, "-I", tether.__file__, str(os.getpid()), *command],
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                cwd=folder,
                env={**others, **variables},
                start_new_session=True,
            )

    async def says(self, word: str) -> None:
        """Wait until it has said this."""
        deadline = time.monotonic() + READY_WITHIN_S
        while word not in self._said.read_text(errors="replace"):
            self.check()
            if time.monotonic() > deadline:
                raise ProgramFailed(f"{self.name} is not ready after {READY_WITHIN_S} s:\n{self.last_words()}")
            await asyncio.sleep(0.05)

    def check(self) -> None:
        """Raise if it has ended."""
        if self._process.poll() is not None:
            raise ProgramFailed(f"{self.name} ended with {self._process.returncode}:\n{self.last_words()}")

    def rss_mb(self) -> float:
        return psutil.Process(self._process.pid).memory_info().rss / 1e6

    def cpu_s(self) -> float:
        """What it has used so far: unlike the time that passed, hardly different on a busy machine."""
        used = psutil.Process(self._process.pid).cpu_times()
        return used.user + used.system

    def stop(self) -> None:
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(STOPS_WITHIN_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()

    def kill(self) -> None:
        """As a power cut would."""
        self._process.kill()
        self._process.wait()

    def last_words(self) -> str:
        return self._said.read_text(errors="replace")[-3000:]
