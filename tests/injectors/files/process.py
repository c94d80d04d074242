"""The watcher as a process of its own, to be killed and started again."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import contextmanager
from pathlib import Path

WITHIN_S = 120


class WatcherProcess:
    """`lightsched-files`, with a file of settings; `under`: a command that starts it in other surroundings."""

    def __init__(self, folder: Path, settings: dict, under: Sequence[str] = ()) -> None:
        self._under = under
        self._config = folder / "service.yml"
        self._config.write_text(json.dumps(settings))
        self._said = folder / "watcher.log"
        self._process: subprocess.Popen | None = None

    def start(self, *arguments: str) -> None:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("LIGHTSCHED_")}
        command = [*self._under, sys.executable, "-m", "lightsched_files", "--config", str(self._config), *arguments]
        with self._said.open("ab") as sink:
            self._process = subprocess.Popen(command, stdout=sink, stderr=sink, env=environment)

    @property
    def said(self) -> str:
        return self._said.read_text()

    @property
    def pid(self) -> int:
        return self._process.pid

    def wait_until(self, holds, within_s: float = WITHIN_S) -> None:
        deadline = time.monotonic() + within_s
        while not holds():
            assert self._process.poll() is None, f"it has ended by itself:\n{self.said[-4000:]}"
            assert time.monotonic() < deadline, f"not within {within_s} s; it said:\n{self.said[-4000:]}"
            time.sleep(0.02)

    def wait_for(self, words: str, times: int = 1) -> None:
        self.wait_until(lambda: self.said.count(words) >= times)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def ends(self) -> int:
        """Wait for its end; the exit code."""
        return self._process.wait(WITHIN_S)

    def stop(self) -> None:
        self._process.send_signal(signal.SIGTERM)
        assert self.ends() == 0, self.said[-4000:]
        assert "Traceback" not in self.said, self.said[-4000:]


@contextmanager
def watching(folder: Path, settings: dict, *arguments: str, under: Sequence[str] = ()):
    """Started, and stopped at the end."""
    process = WatcherProcess(folder, settings, under)
    process.start(*arguments)
    try:
        yield process
        if process._process.poll() is None:
            process.stop()
    finally:
        process.kill()
