"""Who else is there? The other nodes of a cluster, as far as they have said so lately."""

import msgspec


class Peer(msgspec.Struct, frozen=True, kw_only=True):
    """What a node says of itself."""

    id: str
    url: str  # where the other nodes reach it; empty: nowhere
    version: str
    partitions: tuple[int, ...]  # that it runs
    started_ms: int
    heard_ms: int = 0  # when it was last heard of, by the log's clock
