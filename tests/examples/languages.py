"""How is an example in another language built and run? By its own files, with the tools of its language."""

import hashlib
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.programs import CURL, GO, JAVAC, JQ, MAVEN, NODE, NPM
from tests.programs import Program as Needed

FOLDER = Path(__file__).parents[2] / "examples" / "languages"
CLASSPATH = "target/classes:target/dependency/*"
ENDS_WITHIN_S = 30


@dataclass(frozen=True)
class Language:
    """An example: what it needs, how it is built, and its two programs."""

    name: str
    needs: tuple[Needed, ...]
    schedule: tuple[str, ...]
    execute: tuple[str, ...]
    build: tuple[str, ...] = ()
    made: str = ""
    """The folder that building makes; git ignores it."""
    stops: bool = True
    """Does the executor end by itself when it is asked to?"""

    @property
    def folder(self) -> Path:
        return FOLDER / self.name

    def ready(self) -> None:
        """Build it, unless that was done from just these files."""
        for tool in self.needs:
            tool.find()
        if not self.build:
            return
        marker = self.folder / self.made / ".made-from"
        if not marker.exists() or marker.read_text() != self._source():
            done = subprocess.run(self.build, cwd=self.folder, capture_output=True, text=True, check=False)
            assert done.returncode == 0, f"{' '.join(self.build)}\n{done.stdout}\n{done.stderr}"
            marker.write_text(self._source())

    def _source(self) -> str:
        files = (path for path in sorted(self.folder.rglob("*")) if path.is_file())
        sources = (path for path in files if self.made not in path.relative_to(self.folder).parts)
        return hashlib.sha256(b"\0".join(path.read_bytes() for path in sources)).hexdigest()

    def say(self, variables: Mapping[str, str], *arguments: str) -> str:
        """Run the program that schedules; what it said."""
        command = [*self.schedule, *arguments]
        done = subprocess.run(
            command, cwd=self.folder, env={**os.environ, **variables}, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    @contextmanager
    def executing(self, variables: Mapping[str, str], said: Path) -> Iterator[None]:
        """Its executor runs meanwhile; what it says goes to the file."""
        with said.open("wb") as sink:
            process = subprocess.Popen(
                self.execute,
                cwd=self.folder,
                env={**os.environ, **variables},
                stdout=sink,
                stderr=sink,
                start_new_session=True,
            )
        try:
            yield
            assert process.poll() is None, f"it ended:\n{said.read_text()}"
            if self.stops:
                process.terminate()
                process.wait(ENDS_WITHIN_S)
                assert said.read_text().splitlines()[-1] == "stopped", said.read_text()
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


LANGUAGES = (
    Language(
        "java",
        needs=(JAVAC, MAVEN),
        build=("mvn", "-q", "-B", "compile"),
        made="target",
        schedule=("java", "-cp", CLASSPATH, "mail.Schedule"),
        execute=("java", "-cp", CLASSPATH, "mail.Execute"),
    ),
    Language(
        "go",
        needs=(GO,),
        build=("go", "build", "-o", "bin/", "./..."),
        made="bin",
        schedule=("bin/schedule",),
        execute=("bin/execute",),
    ),
    Language(
        "node",
        needs=(NODE, NPM),
        build=("npm", "ci", "--no-audit", "--no-fund"),
        made="node_modules",
        schedule=("node", "schedule.js"),
        execute=("node", "execute.js"),
    ),
    Language(
        "curl",
        needs=(CURL, JQ),
        schedule=("./schedule.sh",),
        execute=("./execute.sh",),
        stops=False,
    ),
)
