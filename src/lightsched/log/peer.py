"""Who else is there? The other nodes of a cluster, as far as they have said so lately."""

import msgspec


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """How much a node has to do: as it stands now, and over the last seconds."""

    pending: int  # events of its partitions that will fire
    lag: int  # inputs that are still to be read
    in_flight: int  # runs that are delivered and unreported
    fired_per_s: float
    cpu: float  # cores that its process keeps busy: 1.0 is all that one event loop can use
    seconds: float  # over which the last two were measured


class Peer(msgspec.Struct, frozen=True, kw_only=True):
    """What a node says of itself."""

    id: str
    url: str  # where the other nodes reach it; empty: nowhere
    version: str
    partitions: tuple[int, ...]  # that it runs
    started_ms: int
    roles: tuple[str, ...] = ()  # what its process does: `scheduler`, `api`, …; nothing: it is older than this field
    load: Load | None = None
    heard_ms: int = 0  # when it was last heard of, by the log's clock
