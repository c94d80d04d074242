"""Where is Kafka? Only data: naming a broker takes no Kafka client."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import parse_qs, urlsplit

_SECURITY = "LIGHTSCHED_KAFKA__SECURITY__"


@dataclass(frozen=True)
class Kafka:
    """Where the brokers are: `Client(Kafka("b1:9092,b2:9092"))`, or in short `Client("kafka://b1:9092,b2:9092")`.

    `settings` are aiokafka's own, by the names they have there, such as `security_protocol`. An address in short takes
    them from LIGHTSCHED_KAFKA__SECURITY__PROTOCOL and the like.
    """

    bootstrap: str
    prefix: str = "lightsched."
    settings: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def parse(cls, url: str) -> "Kafka":
        """From `kafka://b1:9092,b2:9092?prefix=lightsched.`."""
        parts = urlsplit(url)
        return cls(parts.netloc, parse_qs(parts.query).get("prefix", [cls.prefix])[0])

    @classmethod
    def found(cls, url: str) -> "Kafka":
        """As `parse`, with TLS and SASL as the environment says: LIGHTSCHED_KAFKA__SECURITY__…, as for a node."""
        place = cls.parse(url)
        given = {name[len(_SECURITY) :].lower(): value for name, value in os.environ.items() if _is_ours(name)}
        if not given:
            return place
        from lightsched.security import SecuritySettings  # noqa: PLC0415 - who needs none does not wait for pydantic
        from lightsched.settings import checked  # noqa: PLC0415

        return replace(place, settings=checked(SecuritySettings, given, "security").options())


def _is_ours(variable: str) -> bool:
    return variable.upper().startswith(_SECURITY)
