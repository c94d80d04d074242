"""Where do the tests get a Kafka broker from?

The first that applies:

1. `LIGHTSCHED_TEST_KAFKA=host:port` names one that runs.
2. A Docker engine runs: Kafka's image.
3. Java and Maven are there: Kafka's jars.

None of them is an error that says how to get one. The Kafka tests are never skipped: a machine that cannot run them
has not tested lightsched.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Protocol

from tests.broker.container import ContainerBroker, engine_answers
from tests.broker.local import LocalCluster
from tests.broker.metadata import known_brokers

VARIABLE = "LIGHTSCHED_TEST_KAFKA"
JAVA_NEEDED = 17


class NoBroker(RuntimeError):
    """The tests have no Kafka broker; the message says how to get one."""


class Broker(Protocol):
    """A broker, whoever runs it."""

    @property
    def bootstrap(self) -> str: ...

    def close(self) -> None: ...


class NamedBroker:
    """One that was there before, and will be there afterwards."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap

    def close(self) -> None:
        """Not ours to end."""


def find_broker(folder: Path) -> Broker:
    """A broker that answers; what runs on this machine keeps its files in the folder."""
    if named := os.environ.get(VARIABLE):
        _must_answer(named)
        return NamedBroker(named)
    if engine_answers():
        return ContainerBroker()
    if missing := _missing_for_local():
        raise NoBroker(
            f"The Kafka tests need a broker, and there is none: {VARIABLE} is not set, no Docker engine answers, and "
            f"{missing}. Do one of these: name a running broker ({VARIABLE}=host:port), start Docker, or install "
            f"Java {JAVA_NEEDED} or newer and Maven (Debian, Ubuntu: apt install default-jre-headless maven)."
        )
    return LocalCluster(folder)


def _must_answer(bootstrap: str) -> None:
    host, _, port = bootstrap.partition(",")[0].rpartition(":")
    if not host or not port.isdecimal():
        raise NoBroker(f"{VARIABLE}={bootstrap} is no address: write host:port, as in 127.0.0.1:9092.")
    try:
        known_brokers(host, int(port), timeout_s=5)
    except OSError as error:
        raise NoBroker(f"{VARIABLE} names a broker on {bootstrap}, but it does not answer: {error}.") from None


def _missing_for_local() -> str:
    """What keeps this machine from running Kafka's jars; nothing if it can."""
    lacking = [program for program in ("java", "mvn") if shutil.which(program) is None]
    if lacking:
        return f"there is no {' and no '.join(lacking)} on the PATH"
    said = subprocess.run(["java", "-version"], capture_output=True, text=True, check=False).stderr
    version = re.search(r'version "(\d+)', said)
    if version is None or int(version[1]) < JAVA_NEEDED:
        return f"Kafka needs Java {JAVA_NEEDED}, while this is {said.strip().splitlines()[0] if said else 'none'}"
    return ""
