"""How does a broker start in half the time? With the classes that an earlier one loaded, parsed and checked.

Java keeps them in an archive (class data sharing; Kafka's container image does the same), recorded once beside the jars
by a broker that is started and stopped for it. A Java that cannot use the archive goes on without.
"""

import fcntl
import signal
import tempfile
from pathlib import Path

from tests.broker.download import jars
from tests.broker.process import BrokerProcess, free_port
from tests.broker.settings import broker_settings

CLUSTER_ID = "lightsched-class-data-"


def class_archive() -> Path:
    """The archive, recorded if need be."""
    archive = jars() / "classes.jsa"
    with (jars() / ".recording").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not archive.exists():
            _record(archive)
    return archive


def _record(archive: Path) -> None:
    with tempfile.TemporaryDirectory(dir=archive.parent) as folder:
        recorded = Path(folder) / archive.name
        broker = BrokerProcess(1, Path(folder), free_port(), java=())
        try:
            broker.format(CLUSTER_ID, broker.voter, broker_settings(1))
            broker.java = (f"-XX:ArchiveClassesAtExit={recorded}",)
            broker.launch()
            broker.wait(knowing={1})
            broker.end(signal.SIGTERM)
        finally:
            broker.end(signal.SIGKILL)
        recorded.rename(archive)
