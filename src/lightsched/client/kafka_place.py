"""Where is Kafka? Only data: naming a broker takes no Kafka client."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import parse_qs, urlsplit

from lightsched.client.errors import Invalid

_SECURITY = "LIGHTSCHED_KAFKA__SECURITY__"


@dataclass(frozen=True)
class Kafka:
    """Where the brokers are: `Client(Kafka("b1:9092,b2:9092"))`, or in short `Client("kafka://b1:9092,b2:9092")`;
    other topics than `lightsched.…` with `?prefix=…` at its end.

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
        given = parse_qs(parts.query, keep_blank_values=True)
        prefix = given.pop("prefix", [cls.prefix])[-1]
        if given or parts.path.strip("/"):
            raise Invalid(f"{url!r} is no address of Kafka: write kafka://host:port,… and at most ?prefix=….")
        return cls(parts.netloc, prefix)

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
