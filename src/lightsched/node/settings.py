"""How is a node set up? `lightsched.yml`, overridden by `LIGHTSCHED_…` variables, overridden by flags.

Unknown settings are errors. Durations and sizes are written as people write them: `7d`, `256KiB`.
"""

import socket
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from lightsched.engine.rules import Rules, accept
from lightsched.event.delivery import Delivery
from lightsched.event.limits import DEFAULT_LIMITS, Limits
from lightsched.event.tenant import Tenant
from lightsched.event.topics import Topics
from lightsched.log.kafka.connection import Connection, Group
from lightsched.security import SecuritySettings
from lightsched.settings import BadSettings, Bytes, DurationMs, Layered, Section

__all__ = ["BadSettings", "Settings"]


class HttpSettings(Section):
    """Where the API listens, and how much it puts up with: see docs/rest.md."""

    host: str = "127.0.0.1"
    port: int = Field(8080, ge=0, le=65535)
    hosts: tuple[str, ...] = ()  # names it is reached by, besides localhost: others are refused then
    connections: int = Field(4_000, ge=1)  # at a time; beyond that, those give way that keep us waiting longest
    polls: int = Field(1_000, ge=1)  # long polls that wait at a time
    searches: int = Field(8, ge=1)  # lists, previews and batches that are worked on at a time; others wait
    head: Bytes = 64 * 1024  # of a request: its first line and headers
    bodies: Bytes = 64 * 1024 * 1024  # all that are in memory at a time
    unsent: Bytes = 32 * 1024 * 1024  # answers that wait to be read, all at a time
    head_timeout: DurationMs = 10_000
    body_timeout: DurationMs = 60_000
    send_timeout: DurationMs = 30_000
    keep_alive: DurationMs = 30_000  # how long a connection may be idle


class NodeSettings(Section):
    """Who this node is."""

    id: str = ""  # empty: `node-1`, in a cluster the machine's name and the port
    url: str = ""  # where the other nodes reach it; empty: where it listens


class EmbeddedSettings(Section):
    """The embedded log."""

    partitions: int = Field(1, ge=1, le=1024)
    prefix: str = "lightsched."
    retention: DurationMs = 7 * 86_400_000  # of deliveries, audit and dead letters, read or not


class KafkaSettings(Section):
    """The log on Kafka."""

    bootstrap: str = "127.0.0.1:9092"
    prefix: str = "lightsched."
    partitions: int = Field(12, ge=1, le=1024)
    replication: int = Field(1, ge=1)
    retention: DurationMs = 7 * 86_400_000  # of the topics that lightsched creates
    create_topics: bool = True
    on_lost_input: Literal["stop", "continue"] = "stop"  # inputs or state are gone: see docs/exactly-once.md
    group: str = ""  # empty: as the prefix, `lightsched`; nodes of one group share the partitions of one prefix
    instance: str | None = None  # static membership: a quick restart is no rebalance, a stop is no handover
    session_timeout: DurationMs = 10_000
    transaction_timeout: DurationMs = 10_000
    request_timeout: DurationMs = 10_000
    max_poll_interval: DurationMs = 300_000
    compression: Literal["none", "gzip", "snappy", "lz4", "zstd"] = "lz4"
    security: SecuritySettings = SecuritySettings()
    client: dict[str, Any] = Field({})  # further settings of aiokafka's clients, by the names they have there
    producer: dict[str, Any] = Field({})
    consumer: dict[str, Any] = Field({})

    def connection(self, node: str) -> Connection:
        """How the clients of this node connect."""
        return Connection(
            bootstrap=self.bootstrap,
            client_id=f"lightsched-{node}",
            request_timeout_ms=self.request_timeout,
            transaction_timeout_ms=self.transaction_timeout,
            compression=None if self.compression == "none" else self.compression,
            client={**self.security.options(), **self.client},
            producer=self.producer,
            consumer=self.consumer,
        )

    def names(self) -> Topics:
        """What the topics are called."""
        return Topics(self.prefix)

    def membership(self) -> Group:
        """This node's place in the group."""
        return Group(
            name=self.group or self.prefix.rstrip(".-_") or "lightsched",
            session_timeout_ms=self.session_timeout,
            max_poll_interval_ms=self.max_poll_interval,
            instance=self.instance,
        )


class LimitSettings(Section):
    """How much is too much."""

    payload: Bytes = 256 * 1024
    batch: int = Field(10_000, ge=1)
    body: Bytes = 32 * 1024 * 1024  # of one request
    horizon: DurationMs = DEFAULT_LIMITS.horizon_ms
    in_flight: int | None = Field(None, ge=1)


class HistorySettings(Section):
    """How long finished events and runs are kept."""

    keep: DurationMs = 7 * 86_400_000


class Settings(Layered):
    """All settings of a node."""

    model_config = SettingsConfigDict(env_prefix="LIGHTSCHED_")
    elsewhere = (
        *("LIGHTSCHED_TEST_", "LIGHTSCHED_EXECUTOR_", "LIGHTSCHED_FILES_"),
        *("LIGHTSCHED_SERVER", "LIGHTSCHED_TOKEN"),
    )

    log: Literal["embedded", "kafka"] = "embedded"
    data: Path = Path(".lightsched")
    http: HttpSettings = HttpSettings()
    node: NodeSettings = NodeSettings()
    embedded: EmbeddedSettings = EmbeddedSettings()
    kafka: KafkaSettings = KafkaSettings()
    limits: LimitSettings = LimitSettings()
    history: HistorySettings = HistorySettings()

    @property
    def node_id(self) -> str:
        """What this node is called; no two of a cluster may have the same name."""
        alone = self.log == "embedded"
        return self.node.id or ("node-1" if alone else f"{socket.gethostname()}-{self.http.port}")

    @property
    def node_url(self) -> str:
        """Where the other nodes reach this one; empty: nowhere that it knows of."""
        if self.node.url or self.http.host in {"0.0.0.0", "::"} or not self.http.port:  # noqa: S104 -- compared
            return self.node.url
        return f"http://{self.http.host}:{self.http.port}"

    def event_limits(self) -> Limits:
        """The limits that hold for events."""
        return Limits(
            payload=self.limits.payload,
            horizon_ms=self.limits.horizon,
            keep_ms=self.history.keep,
            record=max(1024 * 1024, self.limits.payload * 2 + 64 * 1024),
            names=Topics(self.kafka.prefix if self.log == "kafka" else self.embedded.prefix),
        )

    def rules(
        self,
        partition: int,
        partitions: int,
        refuse: Callable[[Delivery], str] = accept,
        tenants: Mapping[str, Tenant] | None = None,
    ) -> Rules:
        """What the engine of a partition goes by."""
        return Rules(
            partition=partition,
            partitions=partitions,
            limits=self.event_limits(),
            tenants={} if tenants is None else tenants,
            in_flight=self.limits.in_flight,
            refuse=refuse,
        )
