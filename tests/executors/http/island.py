"""A machine of its own for a program: a network that leads nowhere, and a name server that the test plays.

The kernel's namespaces make it, as they make containers: a network with nothing but a loopback, which may have any
address there since no packet can leave, and mounts of its own, with another `/etc/resolv.conf`. A process inside opens
sockets there and hands them out; whatever needs no other network than those sockets may then stay outside.
"""

import array
import asyncio
import json
import os
import socket
import subprocess
import sys
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

import pytest

from tests.broker import tether
from tests.programs import IP, NSENTER, UNSHARE, Missing

ROOT = Path(__file__).parents[3]
STARTS_WITHIN_S = 30
FILES = {
    "resolv.conf": "nameserver 127.0.0.1\nsearch .\noptions timeout:30 attempts:1\n",
    "nsswitch.conf": "hosts: dns\n",
    "hosts": "",
}
"""Only the name server is asked, and it is asked once."""
IMPOSSIBLE = (
    "Requests to names are tested in a network of their own, and none can be made here: the kernel must allow "
    "namespaces to root (in a container: `--cap-add SYS_ADMIN --cap-add NET_ADMIN`) or to every user "
    "(`kernel.unprivileged_userns_clone=1`). It said:"
)
AS_ROOT = ["--net", "--mount"]
AS_ANYBODY = ["--user", *AS_ROOT]


class Island:
    """What a test does there."""

    def __init__(self, pid, inside):
        self._pid = pid
        self._inside = inside

    def open(self, kind, host, port=0):
        """A socket there, bound; one of the kind `tcp` listens."""
        self._inside.sendall(json.dumps([kind, host, port]).encode())
        said, found, *_ = socket.recv_fds(self._inside, 4096, 1)
        assert found, f"no {kind} socket at {host}:{port}: {said.decode()}"
        return socket.socket(fileno=found[0])

    @asynccontextmanager
    async def program(self, *command, **options):
        """A program that runs there, stopped at the end."""
        enter = [NSENTER.find(), "--target", str(self._pid), *_who(["--preserve-credentials"])]
        tethered = [sys.executable, "-I", tether.__file__, str(os.getpid())]
        process = await asyncio.create_subprocess_exec(*tethered, *enter, *command, **options)
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                process.terminate()
            try:
                await asyncio.wait_for(process.wait(), STARTS_WITHIN_S)
            finally:
                if process.returncode is None:
                    process.kill()

    @asynccontextmanager
    async def bridge(self, host, port):
        """An address there that leads to one outside."""

        async def pipe(reader, writer):
            with suppress(ConnectionError):
                while some := await reader.read(65_536):
                    writer.write(some)
                    await writer.drain()
            writer.close()

        async def serve(reader, writer):
            with suppress(ConnectionError):
                out_reader, out_writer = await asyncio.open_connection(host, port)
                await asyncio.gather(pipe(reader, out_writer), pipe(out_reader, writer))

        listening = await asyncio.start_server(serve, sock=self.open("tcp", "127.0.0.1"))
        try:
            yield listening.sockets[0].getsockname()[1]
        finally:
            listening.close()


@contextmanager
def island(folder, *addresses):
    """An island whose loopback has these addresses too."""
    try:
        unshare, ip, _ = UNSHARE.find(), IP.find(), NSENTER.find()
    except Missing as missing:
        pytest.fail(str(missing))
    for name, text in FILES.items():
        (folder / name).write_text(text)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.settimeout(STARTS_WITHIN_S)
    command = [unshare, *_who(["--map-root-user"]), sys.executable, "-m", __name__, ip, str(folder), *addresses]
    said = folder / "said"
    with ours, said.open("wb") as sink, _started(command, theirs, sink) as inside:
        theirs.close()
        try:
            if ours.recv(64) != b"ready":
                inside.wait(STARTS_WITHIN_S)
                pytest.fail(f"{IMPOSSIBLE}\n{said.read_text()}")
            yield Island(inside.pid, ours)
        finally:
            ours.close()  # it ends when nobody talks to it any more


def _started(command, stdin, sink):
    return subprocess.Popen(command, cwd=ROOT, stdin=stdin, stdout=sink, stderr=sink)


def _who(not_root):
    return AS_ROOT if os.geteuid() == 0 else [*AS_ANYBODY, *not_root]


def _inhabit(ip, folder, *addresses):
    """Make the island a place to live in, then open the sockets that are asked for."""
    outside = socket.socket(fileno=os.dup(sys.stdin.fileno()))
    subprocess.run([ip, "link", "set", "lo", "up"], check=True)
    for address in addresses:
        width = "/128 nodad" if ":" in address else "/32"
        subprocess.run([ip, "address", "add", *f"{address}{width} dev lo".split()], check=True)
    for name in FILES:
        if Path("/etc", name).exists():
            subprocess.run(["mount", "--bind", str(Path(folder, name)), f"/etc/{name}"], check=True)
    outside.send(b"ready")
    while asked := outside.recv(4096):
        kind, host, port = json.loads(asked)
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        with socket.socket(family, socket.SOCK_STREAM if kind == "tcp" else socket.SOCK_DGRAM) as opened:
            try:
                opened.bind((host, port))
                if kind == "tcp":
                    opened.listen(100)
                found = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [opened.fileno()]))]
                outside.sendmsg([b"here"], found)
            except OSError as error:
                outside.send(str(error).encode())


if __name__ == "__main__":
    _inhabit(*sys.argv[1:])
