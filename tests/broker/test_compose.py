"""Would `docker compose up` work? As far as that can be said without an engine."""

import json
import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from lightsched.node.settings import Settings
from tests.broker.container import image
from tests.broker.process import BrokerProcess, free_port
from tests.broker.settings import as_environment, broker_settings
from tests.programs import COMPOSE

ROOT = Path(__file__).parents[2]
FILE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, dict[str, Any]] = FILE["services"]
KAFKA: dict[str, str] = SERVICES["kafka"]["environment"]
NODES = {name: service for name, service in SERVICES.items() if name != "kafka"}
DOCKERFILE = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
FINAL_STAGE = DOCKERFILE.rpartition("\nFROM ")[2]
SETTINGS_FILE = "/etc/lightsched/lightsched.yml"


def _ports(service: dict[str, Any]) -> list[tuple[str, int, int]]:
    """As (address, port there, port in the container)."""
    split = [port.split(":") for port in service["ports"]]
    return [(address, int(outside), int(inside)) for address, outside, inside in split]


def _listeners(variable: str) -> dict[str, tuple[str, int]]:
    found = re.findall(r"(\w+)://([^:,]*):(\d+)", KAFKA[variable])
    return {name: (host, int(port)) for name, host, port in found}


@pytest.fixture(params=NODES)
def node(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def settings(node: str, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """What a node in its container makes of the file in the image and of its variables."""
    for name in [name for name in os.environ if name.startswith("LIGHTSCHED_")]:
        monkeypatch.delenv(name)
    for name, value in NODES[node]["environment"].items():
        monkeypatch.setenv(name, value)
    return Settings.load(ROOT / "deploy" / "lightsched.yml")


# The broker


def test_kafka_is_the_version_that_is_tested():
    assert SERVICES["kafka"]["image"] == image()


def test_kafka_is_set_up_as_the_broker_of_the_tests():
    ours = as_environment(broker_settings(1))
    where = (
        "PROCESS_ROLES NODE_ID CONTROLLER_QUORUM_VOTERS LISTENERS ADVERTISED_LISTENERS LISTENER_SECURITY_PROTOCOL_MAP "
        "CONTROLLER_LISTENER_NAMES INTER_BROKER_LISTENER_NAME LOG_DIRS"
    )
    assert KAFKA.keys() - ours.keys() == {f"KAFKA_{name}" for name in where.split()}
    assert {name: KAFKA.get(name) for name in ours} == ours


def test_every_listener_is_reached_where_it_says():
    listening, advertised = _listeners("KAFKA_LISTENERS"), _listeners("KAFKA_ADVERTISED_LISTENERS")
    assert advertised == {
        "INSIDE": ("kafka", listening["INSIDE"][1]),
        "OUTSIDE": ("localhost", listening["OUTSIDE"][1]),
    }
    outside = listening["OUTSIDE"][1]
    assert _ports(SERVICES["kafka"]) == [("127.0.0.1", outside, outside)]
    assert KAFKA["KAFKA_CONTROLLER_QUORUM_VOTERS"] == f"1@localhost:{listening['CONTROLLER'][1]}"


@pytest.mark.skipif(shutil.which("java") is None, reason="Kafka reads its settings in Java")
def test_kafka_accepts_its_settings(tmp_path):
    properties = {name.removeprefix("KAFKA_").lower().replace("_", "."): value for name, value in KAFKA.items()}
    properties["log.dirs"] = str(tmp_path / "data")
    BrokerProcess(1, tmp_path, free_port(), java=()).format("lightsched-compose-tes", "", properties)
    assert (tmp_path / "data" / "meta.properties").exists()


# The nodes


def test_there_are_two_nodes_that_differ_only_in_who_they_are():
    assert list(NODES) == ["node-1", "node-2"]
    assert len({port for service in SERVICES.values() for _, port, _ in _ports(service)}) == 3
    for name in ("build", "image", "depends_on", "stop_grace_period"):
        assert NODES["node-1"][name] == NODES["node-2"][name]


def test_a_node_knows_its_broker_and_itself(node, settings):
    host, port = _listeners("KAFKA_ADVERTISED_LISTENERS")["INSIDE"]
    assert settings.log == "kafka"
    assert settings.kafka.bootstrap == f"{host}:{port}"
    assert settings.kafka.replication == 1
    assert settings.node.id == node
    assert settings.node.url == f"http://{node}:{settings.http.port}"


def test_a_node_is_reached_from_outside_its_container(node, settings):
    assert settings.http.host == "0.0.0.0"
    assert [inside for _, _, inside in _ports(NODES[node])] == [settings.http.port]
    assert f"EXPOSE {settings.http.port}\n" in FINAL_STAGE
    assert f"http://127.0.0.1:{settings.http.port}/readyz" in FINAL_STAGE


def test_everything_that_is_kept_is_on_a_volume_of_its_own(node, settings):
    assert NODES[node]["volumes"] == [f"{node}:{settings.data}"]
    assert f"VOLUME {settings.data}\n" in FINAL_STAGE
    assert SERVICES["kafka"]["volumes"] == [f"kafka:{KAFKA['KAFKA_LOG_DIRS']}"]
    assert set(FILE["volumes"]) == set(SERVICES)


def test_a_node_waits_for_a_broker_that_can_say_that_it_is_there(node):
    assert NODES[node]["depends_on"] == {"kafka": {"condition": "service_healthy"}}
    assert f"localhost:{_listeners('KAFKA_LISTENERS')['INSIDE'][1]}" in SERVICES["kafka"]["healthcheck"]["test"]


# The image


def test_the_image_starts_lightsched_on_its_settings_and_not_as_root():
    assert re.findall(r"^USER (.*)$", FINAL_STAGE, re.MULTILINE) == ["lightsched"]
    assert f"COPY deploy/lightsched.yml {SETTINGS_FILE}\n" in FINAL_STAGE
    command = re.search(r"^CMD (.*)$", FINAL_STAGE, re.MULTILINE)
    assert command
    assert json.loads(command[1]) == ["lightsched", "serve", "--config", SETTINGS_FILE]


def test_the_image_is_made_with_the_tools_of_the_makefile():
    makefile = re.search(r"^UV_VERSION := (.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert makefile
    assert f"ARG UV_VERSION={makefile[1]}\n" in DOCKERFILE
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"].removeprefix(">=")
    assert set(re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE)) == {f"python:{needed}-slim"}


def test_all_that_the_image_copies_is_there_and_is_not_ignored():
    let_through = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    copied = [
        path
        for sources in re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE, re.MULTILINE)
        for path in sources.split()
    ]
    assert {Path(path).parts[0] for path in copied} == let_through
    assert all((ROOT / path).exists() for path in copied)


def _compose() -> list[str]:
    """Docker's own plugin, or the program of its own, as Debian has it. Neither needs an engine to check a file."""
    plugin = [shutil.which("docker") or "docker", "compose"]
    try:
        there = subprocess.run([*plugin, "version"], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        there = False
    return plugin if there else [COMPOSE.find()]


def test_docker_compose_accepts_the_file():
    done = subprocess.run([*_compose(), "config", "--quiet"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
