"""Where is Kafka? Only data: naming a broker takes no Kafka client."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit


@dataclass(frozen=True)
class Kafka:
    """Where the brokers are: `Client(Kafka("b1:9092,b2:9092"))`, or in short `Client("kafka://b1:9092,b2:9092")`.

    `settings` are aiokafka's own, by the names they have there, such as `security_protocol`.
    """

    bootstrap: str
    prefix: str = "lightsched."
    settings: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def parse(cls, url: str) -> "Kafka":
        """From `kafka://b1:9092,b2:9092?prefix=lightsched.`."""
        parts = urlsplit(url)
        return cls(parts.netloc, parse_qs(parts.query).get("prefix", [cls.prefix])[0])
