"""Where is Kafka? Only data: naming a broker takes no Kafka client."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import parse_qs, urlsplit

from lightsched.client.errors import Invalid

_KAFKA = "LIGHTSCHED_KAFKA"
_SECURITY = "LIGHTSCHED_KAFKA__SECURITY"
_PART = "LIGHTSCHED_KAFKA__SECURITY__"


@dataclass(frozen=True)
class Kafka:
    """Where the brokers are: `Client(Kafka("b1:9092,b2:9092"))`, or in short `Client("kafka://b1:9092,b2:9092")`;
    other topics than `lightsched.…` with `?prefix=…` at its end.

    `settings` are aiokafka's own, by the names they have there, such as `security_protocol`. An address in short takes
    them from LIGHTSCHED_KAFKA__SECURITY__PROTOCOL and the like, or from LIGHTSCHED_KAFKA__SECURITY as JSON.
    """

    bootstrap: str
    prefix: str = "lightsched."
    settings: Mapping[str, Any] = field(default_factory=dict, repr=False)  # a password may be among them

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
        given = _given()
        if not given:
            return place
        from lightsched.security import SecuritySettings  # noqa: PLC0415 - who needs none does not wait for pydantic
        from lightsched.settings import checked  # noqa: PLC0415

        return replace(place, settings=checked(SecuritySettings, given, "security").options())


def _given() -> dict[str, Any]:
    """What the environment says of security, in parts or in JSON, as a node takes it: the parts are stronger."""
    variables = {name.upper(): value for name, value in os.environ.items()}
    kafka = _object(_KAFKA, _parsed(variables.get(_KAFKA)))
    return {
        **_object(f"security in {_KAFKA}", kafka.get("security")),
        **_object(_SECURITY, _parsed(variables.get(_SECURITY))),
        **{name[len(_PART) :].lower(): value for name, value in variables.items() if name.startswith(_PART)},
    }


def _parsed(text: str | None) -> Any:
    try:
        return json.loads(text) if text else None
    except (ValueError, RecursionError):
        return text


def _object(name: str, found: Any) -> dict[str, Any]:
    if found is None:
        return {}
    if not isinstance(found, dict):
        from lightsched.settings import BadSettings  # noqa: PLC0415

        raise BadSettings(problems=f"{name} must be a JSON object: write that, or set {_PART}PROTOCOL and the like")
    return found
