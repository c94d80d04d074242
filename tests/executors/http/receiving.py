"""A web server that notes what it gets, and answers as it is told."""

import asyncio
from contextlib import asynccontextmanager, suppress
from typing import NamedTuple


class Got(NamedTuple):
    line: str
    headers: dict[str, str]
    body: bytes


class Receiver:
    """Answers by path: `/status/429`, `/silent`, `/endless`, `/cut`, `/gate` when that is open, else 200 with JSON."""

    def __init__(self):
        self.connections = 0
        self.got: list[Got] = []
        self.answers: dict[str, bytes] = {}
        self.port = 0
        self.serving: set[asyncio.Task] = set()
        self.left = asyncio.Event()
        self.asked, self.gate = asyncio.Event(), asyncio.Event()

    async def serve(self, reader, writer):
        self.connections += 1
        self.serving.add(asyncio.current_task())
        try:
            while head := (await reader.readuntil(b"\r\n\r\n")).decode():
                line, *lines = head.strip().split("\r\n")
                headers = {each.partition(":")[0].lower(): each.partition(":")[2].strip() for each in lines}
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                self.got.append(Got(line, headers, body))
                await self.answer(line.split()[1], writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.left.set()
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    async def end(self):
        """Leave everybody who is still connected, and wait until that is done: a loop must not close before."""
        for each in self.serving:
            each.cancel()
        await asyncio.gather(*self.serving, return_exceptions=True)

    async def answer(self, path, writer):
        if path in self.answers:
            writer.write(self.answers[path])
        elif path.startswith("/status/"):
            writer.write(f"HTTP/1.1 {path[8:]} said\r\ncontent-length: 4\r\n\r\noops".encode())
        elif path == "/silent":
            await asyncio.Event().wait()
        elif path == "/endless":
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n")
            while True:
                writer.write(b"x" * 65_536)
                await writer.drain()
        elif path == "/cut":
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf")
            await writer.drain()
            writer.close()
        else:
            if path == "/gate":
                self.asked.set()
                await self.gate.wait()
            writer.write(
                b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nset-cookie: s=1\r\ncontent-length: 11\r\n\r\n"
                b'{"ok":true}'
            )
        await writer.drain()


@asynccontextmanager
async def receiver(*hosts, port=0, ssl=None, island=None):
    """One that listens on some addresses, at the same port; here, or on an island."""
    receiver = Receiver()
    servers = []
    try:
        for host in hosts or ("127.0.0.1",):
            at = receiver.port or port
            where = {"host": host, "port": at} if island is None else {"sock": island.open("tcp", host, at)}
            listening = await asyncio.start_server(receiver.serve, ssl=ssl, **where)
            receiver.port = receiver.port or listening.sockets[0].getsockname()[1]
            servers.append(listening)
        yield receiver
    finally:
        for listening in servers:
            listening.close()
        await receiver.end()
