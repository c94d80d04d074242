"""How do nodes talk to each other? Over their own HTTP interface: commands for the owner of a partition, and reads."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from lightsched.engine.step import Answer
from lightsched.errors import LightschedError
from lightsched.event.record import Record
from lightsched.log.peer import Peer

if TYPE_CHECKING:
    import httpx

HOP = "x-lightsched-hop"
"""Header of a request from one node to another: whoever gets it answers for itself alone."""
SUBMIT = "/api/v1/internal/submit"
WRONG_NODE = 421
_TIMEOUT_S = 30.0
_CONNECT_S = 2.0
_KEEP_ALIVE_S = 2.0  # less than the server's 5 s: no request meets a connection that is being closed


class Submitted(msgspec.Struct, array_like=True):
    """Commands or reports for partitions of one node."""

    topic: str
    placed: list[tuple[int, Record]]


class NotSent(LightschedError):
    """The node {peer} was not reached: nothing has happened."""


class PeerFailed(LightschedError):
    """The node {peer} did not answer as it should: {why}."""


encode = msgspec.msgpack.Encoder().encode
decode_submitted = msgspec.msgpack.Decoder(Submitted).decode
_decode_answers = msgspec.msgpack.Decoder(list[Answer]).decode


class Peers:
    """The other nodes, reached over HTTP. The client is made when there is one to talk to: importing it takes long."""

    def __init__(self) -> None:
        self._made: httpx.AsyncClient | None = None

    @property
    def _client(self) -> "httpx.AsyncClient":
        if self._made is None:
            import httpx  # noqa: PLC0415

            self._made = httpx.AsyncClient(
                timeout=httpx.Timeout(_TIMEOUT_S, connect=_CONNECT_S),
                limits=httpx.Limits(keepalive_expiry=_KEEP_ALIVE_S),
                headers={HOP: "1"},
                trust_env=False,
            )
        return self._made

    async def submit(self, peer: Peer, topic: str, placed: Sequence[tuple[int, Record]]) -> list[Answer]:
        """The outcomes of commands for partitions of another node. `NotSent`: it knows nothing of them."""
        import httpx  # noqa: PLC0415

        try:
            response = await self._client.post(peer.url + SUBMIT, content=encode(Submitted(topic, list(placed))))
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.UnsupportedProtocol) as error:
            raise NotSent(peer=peer.id) from error
        except httpx.HTTPError as error:
            raise PeerFailed(peer=peer.id, why=repr(error)) from error
        if response.status_code == WRONG_NODE:
            raise NotSent(peer=peer.id)
        if response.status_code != 200:
            raise PeerFailed(peer=peer.id, why=f"{response.status_code} {response.text[:200]}")
        answers: list[Answer] = _decode_answers(response.content)
        return answers

    async def get(self, peer: Peer, path: str) -> "httpx.Response":
        """What another node answers to a read, for itself alone."""
        import httpx  # noqa: PLC0415

        try:
            return await self._client.get(peer.url + path)
        except httpx.HTTPError as error:
            raise PeerFailed(peer=peer.id, why=repr(error)) from error

    async def close(self) -> None:
        """Let go of the connections."""
        if self._made is not None:
            await self._made.aclose()
