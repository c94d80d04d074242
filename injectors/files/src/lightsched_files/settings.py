"""How is the watcher set up? `service.yml`, overridden by `LIGHTSCHED_FILES_…` variables.

watch:
  - directory: /var/spool/lightsched/in
    pattern: "*.crontab"
    converter: lightsched_files.converters:crontab
inject: {kafka: {bootstrap: "b1:9092"}}      # or {rest: {url: "http://127.0.0.1:8080"}}
"""

from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, SecretStr, field_validator, model_validator
from pydantic_settings import SettingsConfigDict

from lightsched.client import Invalid
from lightsched.injector import DEFAULT_LIMITS, MOST_BYTES, TENANT, converter_named
from lightsched.security import SecuritySettings
from lightsched.settings import Bytes, DurationMs, Layered, Section


class WatchSettings(Section):
    """One directory."""

    directory: Path
    pattern: str = "*"  # of the names that are meant; others are left alone
    converter: str | None = None  # none: the standard format, as the name's suffix says
    format: Literal["ndjson", "json", "yaml", "csv"] | None = None
    options: dict[str, Any] = Field(default_factory=dict)  # for the converter
    tenant: str = Field("default", pattern=f"^{TENANT.pattern}$")  # of events that name none
    on_error: Literal["reject", "accept"] = "reject"  # one bad line: the whole file, or only that line
    settle: DurationMs = 2_000  # unchanged for so long is complete

    @field_validator("converter")
    @classmethod
    def _is_there(cls, name: str | None) -> str | None:
        if name is not None:
            try:
                converter_named(name)
            except Invalid as error:
                raise ValueError(str(error)) from None
        return name


class KafkaSettings(Section):
    """Through the events topic."""

    bootstrap: str = "127.0.0.1:9092"
    prefix: str = "lightsched."
    transaction_timeout: DurationMs = 60_000
    request_timeout: DurationMs = 30_000
    security: SecuritySettings = SecuritySettings()
    client: dict[str, Any] = Field(default_factory=dict)  # further settings of aiokafka, by their names there


class RestSettings(Section):
    """Through the REST interface of a node."""

    url: str = "http://127.0.0.1:8080"
    token: SecretStr | None = None  # else LIGHTSCHED_TOKEN


class InjectSettings(Section):
    """Where to; a node on this machine, if nothing is said."""

    kafka: KafkaSettings | None = None
    rest: RestSettings | None = None

    @model_validator(mode="after")
    def _one_of_them(self) -> Self:
        if self.kafka is not None and self.rest is not None:
            msg = "give one of `kafka` and `rest`, not both"
            raise ValueError(msg)
        return self


class LimitSettings(Section):
    """How much is too much. What an event may have is as on the server: there nobody answers over Kafka."""

    file: Bytes = 10 * 1024**3
    line: Bytes = Field(MOST_BYTES, le=16 * MOST_BYTES)
    payload: Bytes = DEFAULT_LIMITS.payload
    horizon: DurationMs = DEFAULT_LIMITS.horizon_ms


class Settings(Layered):
    """All settings of the watcher."""

    model_config = SettingsConfigDict(env_prefix="LIGHTSCHED_FILES_")

    watch: tuple[WatchSettings, ...] = Field(min_length=1)
    inject: InjectSettings = InjectSettings()
    limits: LimitSettings = LimitSettings()
    rescan: DurationMs = 10_000  # looks without being told: network mounts do not tell
