"""How does a Kafka cluster run on this machine, to be killed and started again?

Plain Java processes on loopback ports, which they keep over a restart. A cluster lives in one folder, a broker in a
folder of it. It ends with the process that made it, however that one ends.
"""

import signal
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from shutil import rmtree
from types import MappingProxyType

from tests.broker.class_data import class_archive
from tests.broker.process import COMPILE_LITTLE, HOST, BrokerProcess, SecurityProtocol, free_port
from tests.broker.settings import broker_settings


class LocalCluster:
    """Kafka brokers 1 … n on this machine."""

    def __init__(
        self,
        folder: Path,
        brokers: int = 1,
        port: int | None = None,
        *,
        for_load: bool = False,
        more: Mapping[str, str] = MappingProxyType({}),
        secured: Mapping[SecurityProtocol, str] = MappingProxyType({}),
        users: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Set up and start all of them.

        `port` is where the first one listens, any free one if not given. `for_load` is for measuring: they take longer
        to start, and then do more per second. `more`: settings besides those that all brokers have. `secured`: how they
        listen besides in the clear (see `bootstrap_of`), and the host that they say they are then. `users`: their
        passwords, for SCRAM-SHA-512.
        """
        self._settings = {**broker_settings(brokers), **more}
        java = (f"-XX:SharedArchiveFile={class_archive()}", *(() if for_load else (COMPILE_LITTLE,)))
        numbers = range(1, brokers + 1)
        ports = [port or free_port(), *(free_port() for _ in numbers[1:])]
        self.brokers = {n: BrokerProcess(n, folder / str(n), ports[n - 1], java, secured) for n in numbers}
        try:
            self._format(users)
            for broker in self.brokers.values():
                broker.launch()
            for broker in self.brokers.values():
                broker.wait(knowing=set(numbers))
        except BaseException:
            self.close()
            raise

    @property
    def bootstrap(self) -> str:
        return ",".join(f"{HOST}:{broker.port}" for broker in self.brokers.values())

    def bootstrap_of(self, protocol: SecurityProtocol) -> str:
        """Where they listen in this way."""
        return ",".join(f"{HOST}:{broker.secured_ports[protocol]}" for broker in self.brokers.values())

    def start(self, n: int = 1) -> None:
        """Start a broker that was killed or stopped, and wait until it and the running others know each other."""
        self.brokers[n].launch()
        running = {n for n, broker in self.brokers.items() if broker.pid and not broker.paused}
        for each in running:
            self.brokers[each].wait(knowing=running)

    def kill(self, n: int = 1) -> None:
        """End a broker as a power cut would."""
        self.brokers[n].end(signal.SIGKILL)

    def stop(self, n: int = 1) -> None:
        """Let a broker shut down in order."""
        self.brokers[n].end(signal.SIGTERM)

    def pause(self, n: int = 1) -> None:
        """Freeze a broker: its connections stay open, nothing is answered."""
        self.brokers[n].pause()

    def resume(self, n: int = 1) -> None:
        self.brokers[n].resume()

    def close(self) -> None:
        """End all brokers and throw their data away; the logs stay."""
        for broker in self.brokers.values():
            broker.end(signal.SIGKILL)
            rmtree(broker.data, ignore_errors=True)

    def _format(self, users: Mapping[str, str]) -> None:
        cluster_id = new_cluster_id()
        known = [f"--add-scram=SCRAM-SHA-512=[name={name},password={word}]" for name, word in users.items()]
        voters = ",".join(broker.voter for broker in self.brokers.values())
        with ThreadPoolExecutor(len(self.brokers)) as pool:
            list(
                pool.map(
                    lambda broker: broker.format(cluster_id, voters, self._settings, *known), self.brokers.values()
                )
            )


def new_cluster_id() -> str:
    """As Kafka's own tool makes them; one in 64 begins with a dash."""
    return urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
