"""Where do the rivals come from? Built by Maven from benchmarks/streams, once, into .tools/streams/<Kafka version>."""

import fcntl
import hashlib
import shutil
import subprocess
from pathlib import Path

from tests.broker.download import kafka_version

SOURCE = Path(__file__).parents[1] / "streams"
TOOLS = Path(__file__).parents[2] / ".tools" / "streams"
JAVA = ("java", "-Xmx2g", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn")
PLAINEST = "lightsched.StreamsScheduler"
SAME_WORK = "lightsched.FullScheduler"


def command(main: str, bootstrap: str, prefix: str, folder: Path) -> list[str]:
    """How one of them is started."""
    built = build()
    classpath = f"{built / 'target' / 'classes'}:{built}/*"
    return [*JAVA, "-cp", classpath, main, bootstrap, prefix, str(folder)]


def group(prefix: str) -> str:
    """Its consumer group, which Streams names after the application."""
    return f"{prefix}streams"


def build() -> Path:
    """The folder with their classes and jars, built if need be, with the version of the broker."""
    folder = TOOLS / kafka_version()
    complete = folder / ".complete"
    TOOLS.mkdir(parents=True, exist_ok=True)
    with (TOOLS / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not complete.exists() or complete.read_text() != _wanted():
            shutil.rmtree(folder, ignore_errors=True)
            _build(folder)
            complete.write_text(_wanted())
    return folder


def _wanted() -> str:
    """What they are built from."""
    sources = sorted(path for path in SOURCE.rglob("*") if path.suffix in {".java", ".xml"})
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in sources)).hexdigest()


def _build(folder: Path) -> None:
    maven = ["mvn", "-q", "-B", "-f", str(SOURCE / "pom.xml"), "compile", "dependency:copy-dependencies"]
    maven += [f"-Dkafka.version={kafka_version()}", f"-Dtarget={folder / 'target'}"]
    maven += ["-DincludeScope=runtime", f"-DoutputDirectory={folder}"]
    done = subprocess.run(maven, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"Maven could not build {SOURCE}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
