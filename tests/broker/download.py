"""Where do the broker's jars come from?

From whatever repository Maven is set up to use, once, into .tools/kafka/<version>. A marker that names the pom they
were fetched for says that they are complete; a lock lets parallel test workers wait for the one that fetches.
"""

import fcntl
import hashlib
import re
import shutil
import subprocess
from pathlib import Path

POM = Path(__file__).parent / "jars" / "pom.xml"
TOOLS = Path(__file__).parents[2] / ".tools" / "kafka"


class JarsUnavailable(RuntimeError):
    """The broker's jars could not be fetched."""


def kafka_version() -> str:
    """The version that the pom asks for."""
    found = re.search(r"<kafka\.version>(.+?)</kafka\.version>", POM.read_text())
    assert found, f"{POM} names no kafka.version"
    return found[1]


def jars() -> Path:
    """The folder with all jars of a broker, fetched if need be."""
    folder = TOOLS / kafka_version()
    complete = folder / ".complete"
    wanted = hashlib.sha256(POM.read_bytes()).hexdigest()
    TOOLS.mkdir(parents=True, exist_ok=True)
    with (TOOLS / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not complete.exists() or complete.read_text() != wanted:
            shutil.rmtree(folder, ignore_errors=True)
            _fetch(folder)
            complete.write_text(wanted)
    return folder


def _fetch(folder: Path) -> None:
    command = ["mvn", "-q", "-B", "-f", str(POM), "dependency:copy-dependencies"]
    command += ["-DincludeScope=runtime", f"-DoutputDirectory={folder}"]
    if shutil.which("mvn") is None:
        raise JarsUnavailable("Kafka's jars are fetched by Maven, and there is no mvn on the PATH: install it.")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise JarsUnavailable(
            f"Maven could not fetch Kafka {kafka_version()}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
        )
