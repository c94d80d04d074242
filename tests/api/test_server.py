"""The process as a person starts and stops it."""

import os
import signal
import socket
import subprocess
import sys
import threading

import httpx
import psutil
import pytest

from lightsched import __version__
from lightsched.cli.process import serve
from lightsched.log.errors import LogLost
from lightsched.node.node import Node
from lightsched.node.settings import Settings
from tests.api.conftest import STOPS_WITHIN_S, eventually, started


def lightsched(*arguments, cwd=None, **environment):
    settings = {name: value for name, value in os.environ.items() if not name.startswith("LIGHTSCHED_")}
    return subprocess.run(
        [sys.executable, "-m", "lightsched", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=cwd,
        env=settings | environment,
    )


def test_the_version_and_the_help():
    assert lightsched("--version").stdout == f"lightsched {__version__}\n"
    told = lightsched("--help")
    assert (told.returncode, "dev" in told.stdout, "serve" in told.stdout) == (0, True, True)
    for command in ("dev", "serve"):
        told = lightsched(command, "--help")
        assert (told.returncode, "--port" in told.stdout) == (0, True)


@pytest.mark.parametrize("arguments", [["fly"], ["dev", "--wings"], ["dev", "--port", "x"], ["dev", "--port", "99999"]])
def test_wrong_usage_is_2(arguments):
    done = lightsched(*arguments)
    assert done.returncode == 2
    assert done.stderr


def test_wrong_settings_are_2_and_say_which(tmp_path):
    (tmp_path / "lightsched.yml").write_text("colour: red\nhttp: {port: many}\n")
    done = lightsched("serve", cwd=tmp_path)
    assert done.returncode == 2
    assert "colour" in done.stderr
    assert "http.port" in done.stderr
    assert "Traceback" not in done.stderr
    done = lightsched("serve", "--config", tmp_path / "none.yml")
    assert (done.returncode, "none.yml" in done.stderr) == (2, True)


def test_a_port_in_use_is_said_in_one_line(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = lightsched("dev", "--data", tmp_path / "data", "--port", port)
    assert done.returncode == 1
    assert str(port) in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "data").exists()


def test_a_data_directory_in_use_is_said_in_one_line(tmp_path):
    with started(tmp_path) as (_, _address):
        done = lightsched("dev", "--data", tmp_path / "data", "--port", 0, LIGHTSCHED_EMBEDDED__PARTITIONS="3")
    assert done.returncode == 1
    assert str(tmp_path / "data") in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_it_in_good_order(tmp_path, how):
    with started(tmp_path) as (process, address):
        assert httpx.post(f"{address}/api/v1/events", json={"id": "tea", "in": "1h"}).status_code == 201
        process.send_signal(how)
        assert process.wait(STOPS_WITHIN_S) == 0
    with started(tmp_path) as (process, address):
        assert httpx.get(f"{address}/api/v1/events/tea").json()["status"] == "NOT_STARTED"


def test_long_polls_end_when_it_stops(tmp_path):
    """One is answered, with nothing, long before its time; and an idle connection holds nothing up."""
    with started(tmp_path) as (process, address), httpx.Client(base_url=f"{address}/api/v1", timeout=60) as client:
        assert client.get("/nodes").status_code == 200
        answers = []

        def wait(group):
            response = httpx.get(f"{address}/api/v1/deliveries/deliveries?group={group}&wait=60s", timeout=90)
            answers.append((response.status_code, response.json()["deliveries"]))

        readers = [threading.Thread(target=wait, args=(f"g{number // 2}",)) for number in range(4)]
        for reader in readers:
            reader.start()
        eventually(lambda: polls_under_way(process) >= len(readers))
        process.send_signal(signal.SIGTERM)
        assert process.wait(STOPS_WITHIN_S) == 0
        for reader in readers:
            reader.join(10)
        assert answers == [(200, [])] * len(readers)


def polls_under_way(process):
    """Connections to the server, less the idle one."""
    return sum(found.status == psutil.CONN_ESTABLISHED for found in psutil.Process(process.pid).net_connections()) - 1


def test_a_second_signal_stops_it_at_once(tmp_path):
    """Although a client has not sent all of its request yet, which the first one waits for."""
    with started(tmp_path, expect_exit=128 + signal.SIGINT) as (process, address):
        host, port = address.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as slow:
            slow.sendall(b"POST /api/v1/events HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
            eventually(lambda: polls_under_way(process) >= 0)
            assert httpx.get(f"{address}/healthz").status_code == 200
            process.send_signal(signal.SIGINT)
            eventually(lambda: "stopping" in (tmp_path / "said").read_text())
            process.send_signal(signal.SIGINT)
            assert process.wait(STOPS_WITHIN_S) == 128 + signal.SIGINT


async def test_a_log_that_is_lost_ends_it_with_the_reason(tmp_path, monkeypatch):
    async def run(_node):
        raise LogLost(path=tmp_path, why="the disk is full")

    monkeypatch.setattr(Node, "run", run)
    with pytest.raises(LogLost, match="the disk is full"):
        await serve(Settings.load(data=tmp_path, http={"port": 0}), print)


def test_settings_come_from_file_environment_and_flags(tmp_path):
    (tmp_path / "lightsched.yml").write_text("node: {id: from-file}\nembedded: {partitions: 2}\nhttp: {port: 1}\n")
    settings = {name: value for name, value in os.environ.items() if not name.startswith("LIGHTSCHED_")}
    settings |= {"LIGHTSCHED_NODE__URL": "http://from-environment"}
    command = [sys.executable, "-m", "lightsched", "serve", "--port", "0", "--data", "here"]
    with subprocess.Popen(command, cwd=tmp_path, env=settings, stdout=subprocess.PIPE, text=True) as process:
        try:
            address = next(line.split()[1] for line in process.stdout if line.strip().startswith("API"))
            (node,) = httpx.get(f"{address}/nodes").json()["nodes"]
            assert (node["id"], node["url"], node["partitions"]) == ("from-file", "http://from-environment", [0, 1])
            assert (tmp_path / "here").is_dir()
            process.send_signal(signal.SIGINT)
            assert process.wait(STOPS_WITHIN_S) == 0
        finally:
            process.kill()


def test_dev_is_on_the_embedded_log_whatever_the_environment_says(tmp_path):
    with started(tmp_path, LIGHTSCHED_LOG="kafka") as (_, address):
        assert httpx.get(f"{address}/api/v1/nodes").json()["nodes"][0]["log"] == "embedded"
