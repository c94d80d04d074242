"""How is Kafka reached? What all clients of a node have in common. Only data: settings need it without a client."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Group:
    """How the nodes of one lightsched share its partitions."""

    name: str = "lightsched"
    session_timeout_ms: int = 10_000
    max_poll_interval_ms: int = 300_000
    instance: str | None = None  # static membership


@dataclass(frozen=True, slots=True)
class Connection:
    """Where the brokers are, and how to talk to them. `client`, `producer`, `consumer`: settings of aiokafka as they
    are called there, for whatever has no setting of its own.
    """

    bootstrap: str
    client_id: str = "lightsched"
    request_timeout_ms: int = 10_000
    transaction_timeout_ms: int = 10_000
    compression: str | None = "lz4"
    client: Mapping[str, Any] = field(default_factory=dict)
    producer: Mapping[str, Any] = field(default_factory=dict)
    consumer: Mapping[str, Any] = field(default_factory=dict)
