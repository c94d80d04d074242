"""Is the README true? Its `curl` lines are executed, in order, against a real server."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

README = Path(__file__).parents[2] / "README.md"
FENCE = re.compile(r"^```bash\n(.*?)^```$", re.DOTALL | re.MULTILINE)
ADDRESS = "http://127.0.0.1:8080"
STARTS_WITHIN_S = 30
STOPS_WITHIN_S = 20


def curl_fences(markdown):
    return [fence for fence in FENCE.findall(markdown) if "curl" in fence]


def run(fence, address):
    """Execute one fence as a person would, with the address of our server in the place of the usual one."""
    script = fence.replace(ADDRESS, address)
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script], capture_output=True, text=True, timeout=60, check=False
    )


@contextmanager
def server(folder):
    """`lightsched dev` on a free port, until it answers that it is ready; stopped as by Ctrl-C."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("LIGHTSCHED_")}
    command = [sys.executable, "-m", "lightsched", "dev", "--data", str(folder / "data"), "--port", str(port)]
    output = folder / "output"
    with output.open("wb") as sink, subprocess.Popen(command, env=environment, stdout=sink, stderr=sink) as process:
        try:
            wait_until_ready(process, f"http://127.0.0.1:{port}", output)
            yield f"http://127.0.0.1:{port}"
            process.send_signal(signal.SIGINT)
            process.wait(STOPS_WITHIN_S)
        finally:
            process.kill()


def wait_until_ready(process, address, output):
    deadline = time.monotonic() + STARTS_WITHIN_S
    while process.poll() is None and time.monotonic() < deadline:
        try:
            if httpx.get(f"{address}/readyz", timeout=2).is_success:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.05)
    pytest.fail(f"the server did not become ready (exit code {process.poll()}); it said:\n{output.read_text()}")


def test_the_readme_shows_what_to_do():
    text = "".join(curl_fences(README.read_text(encoding="utf-8")))
    for step in ("/api/v1/events", "/api/v1/deliveries/", "/ack", "/api/v1/preview", "/pause", "/resume", "-X DELETE"):
        assert step in text
    assert len(re.findall(r"\bcurl\b", text)) == text.count("curl -sS --fail-with-body"), (
        "every curl must say --fail-with-body, or a refusal would pass for a success"
    )


def test_the_curl_lines_work(tmp_path):
    answers = []
    with server(tmp_path) as address:
        for number, fence in enumerate(curl_fences(README.read_text(encoding="utf-8")), start=1):
            done = run(fence, address)
            said = f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
            assert done.returncode == 0, f"fence {number} of the README failed:\n{fence}\n{said}"
            answers.append(done.stdout)
    assert "Your tea is ready" in "".join(answers[2:]), f"the delivery was never seen: {answers}"


def test_a_refused_curl_line_is_noticed(tmp_path):
    """The check itself: nobody listens here, so the line must fail."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        done = run(
            f"curl -sS --fail-with-body {ADDRESS}/healthz\necho unreached", f"http://127.0.0.1:{taken.getsockname()[1]}"
        )
    assert done.returncode != 0
    assert "unreached" not in done.stdout
