"""The commands, run as by typing them; most in this process, for speed."""

import os
import subprocess
import sys
from dataclasses import dataclass

import pytest

from lightsched.cli import main
from tests.api.conftest import name
from tests.client.conftest import on_kafka, server

__all__ = ["name", "on_kafka", "server"]


@dataclass
class Done:
    code: int
    out: str
    err: str

    @property
    def lines(self):
        return self.out.splitlines()


@pytest.fixture
def type_in(capsys, monkeypatch):
    """Run `lightsched ARGUMENTS`."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["lightsched", *map(str, arguments)])
        with pytest.raises(SystemExit) as left:
            main()
        out, err = capsys.readouterr()
        return Done(left.value.code or 0, out, err)

    return run


@pytest.fixture
def cli(type_in, server):
    """Run a command on the server of the tests."""
    return lambda *arguments: type_in("--server", server, *arguments)


def program(*arguments, **environment):
    """Run it as a process of its own."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("LIGHTSCHED_")}
    command = [sys.executable, "-m", "lightsched", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=60, env={**clean, **environment}
    )
