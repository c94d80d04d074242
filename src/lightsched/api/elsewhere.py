"""What if the event is another node's? Then that one is asked, and its answer is passed on.

A request that came from a node (its header is `x-lightsched-hop`) is answered from what is here and goes no further.
"""

import asyncio
from collections.abc import Collection
from contextvars import ContextVar
from typing import Any

import msgspec
from fastapi import Request, Response
from starlette.types import Scope

from lightsched.api.face import Face
from lightsched.api.problem import MEDIA_TYPE, UNAVAILABLE, Refusal, passed_on
from lightsched.log.peer import Peer
from lightsched.node.peers import HOP, PeerFailed

_HOP = HOP.encode()
_from_a_node: ContextVar[bool] = ContextVar("from_a_node", default=False)
_here: ContextVar[frozenset[int]] = ContextVar("here", default=frozenset())
_root: ContextVar[str] = ContextVar("root", default="")
_PASSED_ON = ("content-type", "etag")
COVERED = "x-lightsched-partitions"
"""Header of an answer to a node: the partitions that it is about."""


class Elsewhere(Exception):
    """The event lives on another node: ask there."""

    def __init__(self, peer: Peer) -> None:
        super().__init__(peer.id)
        self.peer = peer


def note_where_from(scope: Scope, here: frozenset[int]) -> None:
    """Remember, for this request, whether a node has sent it, and which partitions were here when it came."""
    if root := scope.get("root_path"):
        _root.set(root)
    _here.set(here)
    _from_a_node.set(any(name == _HOP for name, _ in scope["headers"]))


def root_path() -> str:
    """Where the application is mounted, for this request."""
    return _root.get()


def others(face: Face) -> list[Peer]:
    """The nodes to ask besides this one: none, if a node has asked."""
    if _from_a_node.get():
        return []
    return [peer for peer in face.node.log.peers if peer.url and peer.partitions]


def send_elsewhere(face: Face, partition: int) -> Exception:
    """What to raise for a partition that is not here."""
    peer = None if _from_a_node.get() else face.node.commands.owner_of(partition)
    if peer is None:
        return _not_running(str(partition))
    return Elsewhere(peer)


def _not_running(partitions: str) -> Refusal:
    """It moves to another node, is restored, or has failed and is taken again: who asks cannot tell."""
    words = f"No node runs partition {partitions} at the moment, it is being taken: try again in a moment."
    return Refusal(UNAVAILABLE, f"{words} If it stays so, the nodes' logs say why.")


async def ask_elsewhere(request: Request, error: Elsewhere) -> Response:
    """Pass a read on, and its answer back."""
    face: Face = request.app.state.face
    query = f"?{request.url.query}" if request.url.query else ""
    path = (request.scope.get("raw_path") or b"").partition(b"?")[0].decode("latin-1") or request.url.path
    path = path.removeprefix(root_path())
    try:
        found = await face.node.peers.get(error.peer, path + query)
    except PeerFailed as failed:
        return Refusal(UNAVAILABLE, str(failed)).response()
    headers = {name: found.headers[name] for name in _PASSED_ON if name in found.headers}
    return Response(found.content, found.status_code, headers)


async def ask_owner(face: Face, partition: int, path: str) -> bytes:
    """What the owner of a partition that is not here answers to a read; what it refuses is refused."""
    peer = None if _from_a_node.get() else face.node.commands.owner_of(partition)
    if peer is None:
        raise _not_running(str(partition))
    found = await face.node.peers.get(peer, path)
    if found.status_code == 200:
        return found.content
    if found.headers.get("content-type") == MEDIA_TYPE:
        raise passed_on(found.content)
    raise PeerFailed(peer=peer.id, why=f"{found.status_code} {found.text[:200]}")


async def read_everywhere(face: Face, path: str, shape: Any = Any) -> list[Any]:
    """What all other nodes answer to a read. Refused if a partition is missing: nothing would seem to be there.

    What users have sent is to be `Raw` in the shape: it is passed on byte for byte, and may hold any number.
    """
    if _from_a_node.get():
        return []
    covered = set(_here.get().intersection(face.node.workers))
    peers = others(face)
    responses = await asyncio.gather(*(face.node.peers.get(peer, path) for peer in peers))
    found = []
    for peer, response in zip(peers, responses, strict=True):
        if response.status_code != 200:
            raise PeerFailed(peer=peer.id, why=f"{response.status_code} {response.text[:200]}")
        covered.update(int(number) for number in response.headers.get(COVERED, "").split(",") if number)
        found.append(msgspec.json.decode(response.content, type=shape))
    missing = set(range(face.node.log.partitions)) - covered
    if missing:
        raise _not_running(", ".join(map(str, sorted(missing)[:10])))
    return found


def covered_header(now: Collection[int]) -> list[tuple[bytes, bytes]]:
    """What an answer is about, if a node has asked: the partitions that were here all the time."""
    if not _from_a_node.get():
        return []
    return [(COVERED.encode(), ",".join(map(str, sorted(_here.get().intersection(now)))).encode())]
