"""Which programs do the tests need that no Python package brings, and where are they?

`make test` installs those that are missing where it may: `python -m tests.programs`, on Debian, as root. Elsewhere the
tests that need one fail, and say how to get it: skipped would look like passed.
"""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path


class Missing(Exception):
    """Says how to get it."""


@dataclass(frozen=True)
class Program:
    """What tests start. `names`: as it may be called; `folders`: where it may be besides the PATH, as globs."""

    names: tuple[str, ...]
    package: str
    what_for: str
    variable: str
    folders: tuple[str, ...] = ()

    def find(self) -> str:
        """Its path."""
        if named := os.environ.get(self.variable):
            return named
        path = os.pathsep.join([os.environ.get("PATH", ""), *(self._beside())])
        for name in self.names:
            if found := shutil.which(name, path=path):
                return found
        raise Missing(
            f"There is no {self.names[0]} on this machine, and {self.what_for} need one.\n\n"
            f"  Debian      apt install {self.package} (`make test` does that itself when it runs as root)\n"
            f"  elsewhere   install it, or name one: {self.variable}=/path/to/{self.names[0]} make test\n\n"
            f"Looked on the PATH for: {', '.join(self.names)}."
        )

    def _beside(self) -> list[str]:
        return [str(folder) for pattern in self.folders for folder in sorted(Path("/").glob(pattern.lstrip("/")))]


CHROMIUM = Program(
    ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"),
    package="chromium",
    what_for="the tests of the pages",
    variable="LIGHTSCHED_TEST_BROWSER",
)
KCAT = Program(("kcat",), package="kcat", what_for="the tests of Kafka alone", variable="LIGHTSCHED_TEST_KCAT")
OPENSSL = Program(
    ("openssl",),
    package="openssl",
    what_for="the tests of brokers that are secured",
    variable="LIGHTSCHED_TEST_OPENSSL",
)

INITDB = Program(
    ("initdb",),
    package="postgresql",
    what_for="the examples with a database",
    variable="LIGHTSCHED_TEST_INITDB",
    folders=("/usr/lib/postgresql/*/bin",),
)
"""Beside it are the other programs of PostgreSQL."""
COMPOSE = Program(
    ("docker-compose",),
    package="docker-compose",
    what_for="the checks of docker-compose.yml",
    variable="LIGHTSCHED_TEST_COMPOSE",
)


def _part(name: str, package: str) -> Program:
    what_for = "the tests of requests to names, in a network of their own,"
    return Program((name,), package, what_for, f"LIGHTSCHED_TEST_{name.upper()}", folders=("/usr/sbin", "/sbin"))


UNSHARE = _part("unshare", "util-linux")
NSENTER = _part("nsenter", "util-linux")
IP = _part("ip", "iproute2")


def _tool(name: str, package: str, language: str) -> Program:
    return Program((name,), package, f"the examples {language}", f"LIGHTSCHED_TEST_{name.upper()}")


JAVAC = _tool("javac", "default-jdk-headless", "in Java")
MAVEN = _tool("mvn", "maven", "in Java")
GO = _tool("go", "golang-go", "in Go")
NODE = _tool("node", "nodejs", "for Node")
NPM = _tool("npm", "npm", "for Node")
CURL = _tool("curl", "curl", "with curl")
JQ = _tool("jq", "jq", "with curl")

ALL = (CHROMIUM, KCAT, OPENSSL, INITDB, COMPOSE, UNSHARE, NSENTER, IP, JAVAC, MAVEN, GO, NODE, NPM, CURL, JQ)


def _is_there(program: Program) -> bool:
    try:
        return bool(program.find())
    except Missing:
        return False


def _may_install() -> bool:
    release = Path("/etc/os-release")
    return os.geteuid() == 0 and release.exists() and "\nID=debian" in f"\n{release.read_text()}"


def install_missing() -> None:
    """With the machine's own means, where that is allowed; what cannot be had is told by the tests that need it."""
    packages = sorted({program.package for program in ALL if not _is_there(program)})
    if not packages or not _may_install():
        return
    print(f"Installing {', '.join(packages)} …", file=sys.stderr)
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    for arguments in (["update"], ["install", "--yes", "--no-install-recommends", *packages]):
        subprocess.run(["apt-get", "-qq", *arguments], env=environment, stdout=subprocess.DEVNULL, check=False)


if __name__ == "__main__":
    install_missing()
