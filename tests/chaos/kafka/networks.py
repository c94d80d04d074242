"""How does a node lose its network? It lives in a namespace of its own, and its link is taken down.

A bridge on this machine joins the namespaces; link-local addresses, nothing leaves the machine. It takes root and
Debian's iproute2: `why_not` says what is missing.
"""

import os
import random
import re
import shutil
import subprocess
from pathlib import Path

_SUBNETS = 250
_MARK = re.compile(r"ls(\d+)(-\d+)?$")
"""What a process, and each of its nodes, calls its own."""


def why_not() -> str:
    """Why this machine cannot do it; empty if it can."""
    if shutil.which("ip") is None:
        return "there is no `ip` (Debian, Ubuntu: apt install iproute2)"
    if os.geteuid() != 0:
        return "it takes root"
    name = f"ls{os.getpid()}t"
    try:
        _ip("netns", "add", name)
        try:
            _ip("link", "add", name, "type", "bridge")
            _ip("link", "del", name)
        finally:
            _ip("netns", "del", name)
    except OSError as error:
        return str(error)
    return ""


class Networks:
    """A network for each of so many nodes, joined by a bridge."""

    def __init__(self, nodes: int) -> None:
        self._mark = f"ls{os.getpid()}"
        self._nodes = range(nodes)
        self._subnet = f"169.254.{_free_subnet()}"
        self.host = f"{self._subnet}.1"
        _sweep()
        try:
            _ip("link", "add", self._mark, "type", "bridge")
            _ip("addr", "add", f"{self.host}/24", "dev", self._mark)
            _ip("link", "set", self._mark, "up")
            for node in self._nodes:
                self._add(node)
        except BaseException:
            self.close()
            raise

    def address(self, node: int) -> str:
        return f"{self._subnet}.{10 + node}"

    def inside(self, node: int) -> list[str]:
        """What a command has to begin with to run there."""
        return ["ip", "netns", "exec", self._name(node)]

    def link(self, node: int, state: str) -> None:
        """Its link is `up` or `down`."""
        _ip("link", "set", self._name(node), state)

    def close(self) -> None:
        for node in self._nodes:
            _ip("netns", "del", self._name(node), check=False)
        _ip("link", "del", self._mark, check=False)

    def _add(self, node: int) -> None:
        name = self._name(node)
        _ip("netns", "add", name)
        _ip("link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", name)
        _ip("link", "set", name, "master", self._mark)
        _ip("link", "set", name, "up")
        _ip("-n", name, "addr", "add", f"{self.address(node)}/24", "dev", "eth0")
        _ip("-n", name, "link", "set", "eth0", "up")
        _ip("-n", name, "link", "set", "lo", "up")

    def _name(self, node: int) -> str:
        return f"{self._mark}-{node}"


def _sweep() -> None:
    """Remove what processes have left that were killed."""
    left = [word for word in _ip("netns", "list").split() if _MARK.match(word)]
    left += [word for word in _ip("-o", "link", "show", "type", "bridge").replace(":", "").split() if _MARK.match(word)]
    for name in left:
        if not Path(f"/proc/{_MARK.match(name)[1]}").exists():
            _ip("netns" if "-" in name else "link", "del", name, check=False)


def _free_subnet() -> int:
    taken = _ip("-4", "addr", "show")
    return random.choice([number for number in range(1, _SUBNETS) if f"169.254.{number}." not in taken])


def _ip(*words: str, check: bool = True) -> str:
    done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    if check and done.returncode:
        raise OSError(f"`ip {' '.join(words)}`: {done.stderr.strip()}")
    return done.stdout
