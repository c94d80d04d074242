"""A program among the examples: started as a reader would, listened to, and ended softly or hard."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Self

from tests.broker import tether

EXAMPLES = Path(__file__).parents[2] / "examples"
WITHIN_S = 90


class Program:
    """`python examples/NAME.py ARGUMENTS`, with these variables; it ends with the test."""

    def __init__(self, name: str, variables: Mapping[str, str], *arguments: str, said: Path) -> None:
        others = {key: value for key, value in os.environ.items() if not key.startswith("LIGHTSCHED_")}
        command = [sys.executable, str(EXAMPLES / name), *arguments]
        self._said = said
        self._complaints = said.with_suffix(".err")
        with said.open("ab") as sink, self._complaints.open("ab") as complaints:
            self._process = subprocess.Popen(
                [sys.executable, "-I", tether.__file__, str(os.getpid()), *command],
                env={**others, **variables, "PYTHONUNBUFFERED": "1"},
                stdout=sink,
                stderr=complaints,
                start_new_session=True,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.kill()

    @property
    def said(self) -> str:
        return self._said.read_text(encoding="utf-8")

    @property
    def all(self) -> str:
        """Also what it wrote to stderr."""
        return f"{self.said}\n{self._complaints.read_text(encoding='utf-8')}"

    def says(self, what: str) -> None:
        """Wait until it has said this."""
        deadline = time.monotonic() + WITHIN_S
        while what not in self.said:
            assert self._process.poll() is None, f"it ended with {self._process.returncode}:\n{self.all}"
            assert time.monotonic() < deadline, f"it does not say {what!r}:\n{self.all}"
            time.sleep(0.01)

    def send(self, what: signal.Signals) -> None:
        self._process.send_signal(what)

    def ends(self) -> int:
        """Wait until it has ended; its exit code."""
        return self._process.wait(WITHIN_S)

    def kill(self) -> None:
        """kill -9, with all that it has started."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
