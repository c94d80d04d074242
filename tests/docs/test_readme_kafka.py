"""Is the README's part on Kafka true? Its lines are executed: two nodes, and nothing but kcat to use them."""

import os
import re
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager
from uuid import uuid4

import pytest

from tests.docs.test_readme import README, wait_until_ready
from tests.programs import KCAT

FENCE = re.compile(r"^```sh\n(.*?)^```$", re.DOTALL | re.MULTILINE)
ENDS_WITHIN_S = 60


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def script(text, environment, output):
    """Run lines of the shell, and what they leave in the background; stopped as by Ctrl-C."""
    with output.open("wb") as sink:
        shell = subprocess.Popen(
            ["bash", "-euo", "pipefail", "-c", f"{text}\nwait"],
            env=environment,
            stdout=sink,
            stderr=sink,
            start_new_session=True,
        )
        try:
            yield shell
        finally:
            for number in (signal.SIGTERM, signal.SIGKILL):
                try:
                    os.killpg(shell.pid, number)
                    shell.wait(ENDS_WITHIN_S)
                except (ProcessLookupError, subprocess.TimeoutExpired):
                    continue


@pytest.fixture
def kcat_on_the_path(tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "kcat").symlink_to(KCAT.find())
    return f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"


def test_two_nodes_and_kcat_are_enough(kafka, kcat_on_the_path, tmp_path):
    section = README.read_text(encoding="utf-8").partition("\n## On Kafka\n")[2].partition("\n## ")[0]
    nodes, commands = FENCE.findall(section)
    ports = {"8080": str(free_port()), "8081": str(free_port())}
    prefix = f"readme-{uuid4().hex}."

    def here(text):
        """With the broker, ports, folders and topics of this test in the place of the usual ones."""
        text = text.replace("127.0.0.1:9092", kafka).replace(".venv/bin/lightsched", f"{sys.executable} -m lightsched")
        text = text.replace(" .lightsched/", f" {tmp_path}/").replace("lightsched.", prefix)
        return re.sub(r"\b808[01]\b", lambda found: ports[found[0]], text)

    environment = {name: value for name, value in os.environ.items() if not name.startswith("LIGHTSCHED_")}
    environment |= {"LIGHTSCHED_KAFKA__PREFIX": prefix, "PATH": kcat_on_the_path}
    said = tmp_path / "nodes.log"
    with script(here(nodes), environment, said) as shell:
        for port in ports.values():
            wait_until_ready(shell, f"http://127.0.0.1:{port}", said)
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", here(commands)],
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
            timeout=ENDS_WITHIN_S,
            check=True,
        )
    tea, headers = done.stdout.splitlines()
    assert tea == 'tea {"text": "Your tea is ready"}'
    for header in ("ce_id=", "ce_type=event", "ls_id=tea", "ls_attempt=1", "ls_partition=", "ls_due="):
        assert header in headers
