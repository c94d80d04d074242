"""How does a broker run in a container?

Kafka's own image, set up by variables as in docker-compose.yml, through testcontainers, which also removes it when
this process is killed. (Its KafkaContainer only knows Confluent's images.) A broker must know its address from outside
before it starts, so the port is chosen here.
"""

import contextlib
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from tests.broker.download import kafka_version
from tests.broker.metadata import known_brokers
from tests.broker.process import READY_WITHIN_S, BrokerFailed, free_port
from tests.broker.settings import as_environment, broker_settings

if TYPE_CHECKING:
    from testcontainers.core.container import DockerContainer

PORT = 9092


def engine_answers() -> bool:
    """Is there a Docker engine, and does it run?

    Asked in a process of its own: where there is none, the client leaves sockets open, about which Python warns.
    """
    ping = "import docker; docker.from_env(timeout=5).ping()"
    return subprocess.run([sys.executable, "-c", ping], capture_output=True, check=False).returncode == 0


class ContainerBroker:
    """One broker in a container."""

    def __init__(self) -> None:
        from testcontainers.core.container import DockerContainer  # noqa: PLC0415 -- takes a moment, and few runs need it
        from testcontainers.core.docker_client import DockerClient  # noqa: PLC0415

        self.host, self.port = DockerClient().host(), free_port()
        self._container = DockerContainer(image()).with_bind_ports(PORT, self.port)
        for name, value in self._environment().items():
            self._container.with_env(name, value)
        try:
            self._container.start()
            self._wait(self._container)
        except BaseException:
            self.close()
            raise

    @property
    def bootstrap(self) -> str:
        return f"{self.host}:{self.port}"

    def close(self) -> None:
        self._container.stop()

    def _environment(self) -> dict[str, str]:
        where = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": "1@localhost:9093",
            "listeners": f"PLAINTEXT://:{PORT},CONTROLLER://:9093",
            "advertised.listeners": f"PLAINTEXT://{self.bootstrap}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "controller.listener.names": "CONTROLLER",
            "inter.broker.listener.name": "PLAINTEXT",
            "log.dirs": "/var/lib/kafka/data",
        }
        return as_environment(where | broker_settings(1))

    def _wait(self, container: "DockerContainer") -> None:
        deadline = time.monotonic() + READY_WITHIN_S
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError):
                if known_brokers(self.host, self.port):
                    return
            time.sleep(0.1)
        output, errors = container.get_logs()
        last_words = (output + errors).decode(errors="replace")[-4000:]
        raise BrokerFailed(f"the container's broker is not there after {READY_WITHIN_S} s:\n{last_words}")


def image() -> str:
    """Kafka's image, in the version that the pom asks for."""
    return f"apache/kafka:{kafka_version()}"
