"""Servers for the client: one on the embedded log, one node on Kafka, and a way to them that loses answers."""

import asyncio
import uuid
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import pytest

from lightsched.client import Client, Kafka
from tests.api.conftest import name, started

__all__ = ["name"]


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    with started(tmp_path_factory.mktemp("server")) as (_, address):
        yield address


@pytest.fixture(scope="session")
def on_kafka(kafka, tmp_path_factory):
    """The address of a node on Kafka, and where its topics are."""
    prefix = f"client-{uuid.uuid4().hex[:8]}."
    settings = {
        "LIGHTSCHED_LOG": "kafka",
        "LIGHTSCHED_KAFKA__BOOTSTRAP": kafka,
        "LIGHTSCHED_KAFKA__PREFIX": prefix,
        "LIGHTSCHED_KAFKA__GROUP": prefix + "group",
        "LIGHTSCHED_KAFKA__PARTITIONS": "3",
    }
    with started(tmp_path_factory.mktemp("node"), command="serve", **settings) as (_, address):
        yield address, Kafka(kafka, prefix)


@pytest.fixture
async def client(server):
    async with Client(server) as client:
        yield client


@asynccontextmanager
async def lossy(server, *losses):
    """An address that leads to the server; the first connections each suffer a loss, those after them none.

    `lost`: the server gets the request and answers, the answer is thrown away. A function: so too, and it is called
    then. `refused`: the connection is cut at once. Bytes: they are the answer, and the server is not asked.
    """
    place = urlsplit(server)
    left = list(losses)

    async def serve(reader, writer):
        loss = left.pop(0) if left else None
        try:
            if loss == "refused":
                return
            request = await _message(reader)
            if isinstance(loss, bytes):
                writer.write(loss)
                return
            to_reader, to_writer = await asyncio.open_connection(place.hostname, place.port)
            to_writer.write(request)
            answer = await _message(to_reader)
            to_writer.close()
            if callable(loss):
                await loss()
            elif loss != "lost":
                writer.write(answer.replace(b"\r\n", b"\r\nconnection: close\r\n", 1))
        finally:
            writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with listening:
        yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"


async def _message(reader):
    """One request or answer, by its length."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    return head + (await reader.readexactly(int(length[0].partition(b":")[2])) if length else b"")
