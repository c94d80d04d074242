"""How is a node set up? `lightsched.yml`, overridden by `LIGHTSCHED_…` variables, overridden by flags.

Unknown settings are errors. Durations and sizes are written as people write them: `7d`, `256KiB`.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails
from pydantic_settings import BaseSettings, InitSettingsSource, PydanticBaseSettingsSource, SettingsConfigDict

from lightsched.engine.rules import Rules, accept
from lightsched.errors import LightschedError
from lightsched.event.delivery import Delivery
from lightsched.event.limits import Limits
from lightsched.event.topics import Topics
from lightsched.timing import TimingError, parse_duration

_SIZE = re.compile(r"(\d+)\s*(B|KiB|MiB|GiB|KB|MB|GB)?")
_UNITS = {"B": 1, "KiB": 1024, "MiB": 1024**2, "GiB": 1024**3, "KB": 1000, "MB": 1000**2, "GB": 1000**3}


class BadSettings(LightschedError):
    """The settings are wrong: {problems}."""


def _milliseconds(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return parse_duration(value)
    except TimingError as error:
        raise ValueError(str(error)) from None


def _bytes(value: object) -> object:
    if not isinstance(value, str):
        return value
    match = _SIZE.fullmatch(value.strip())
    if match is None:
        msg = f"{value!r} is no size: write `256KiB` or a number of bytes"
        raise ValueError(msg)
    return int(match[1]) * _UNITS[match[2] or "B"]


DurationMs = Annotated[int, BeforeValidator(_milliseconds), Field(gt=0)]
Bytes = Annotated[int, BeforeValidator(_bytes), Field(gt=0)]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class HttpSettings(_Section):
    """Where the API listens."""

    host: str = "127.0.0.1"
    port: int = Field(8080, ge=0, le=65535)
    hosts: tuple[str, ...] = ()  # names it is reached by, besides localhost: others are refused then


class NodeSettings(_Section):
    """Who this node is."""

    id: str = "node-1"
    url: str = ""


class EmbeddedSettings(_Section):
    """The embedded log."""

    partitions: int = Field(1, ge=1, le=1024)
    prefix: str = "lightsched."
    retention: DurationMs = 7 * 86_400_000  # of deliveries, audit and dead letters, read or not


class LimitSettings(_Section):
    """How much is too much."""

    payload: Bytes = 256 * 1024
    batch: int = Field(10_000, ge=1)
    body: Bytes = 64 * 1024 * 1024  # of one request
    horizon: DurationMs = 3650 * 86_400_000
    in_flight: int | None = Field(None, ge=1)


class HistorySettings(_Section):
    """How long finished events and runs are kept."""

    keep: DurationMs = 7 * 86_400_000


def _read(file: Path) -> dict[str, Any]:
    if not file.is_file():
        raise BadSettings(problems=f"there is no file {file}")
    try:
        content = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise BadSettings(problems=f"{file} is not YAML: {error}") from None
    if content is None:
        return {}
    if not isinstance(content, dict) or not all(isinstance(name, str) for name in content):
        raise BadSettings(problems=f"{file} must hold settings by name, as in `http: {{port: 8080}}`")
    return content


def _in_words(problem: ErrorDetails) -> str:
    where = ".".join(map(str, problem["loc"]))
    if problem["type"] == "extra_forbidden":
        return f"{where}: is not a known setting, check the spelling"
    return f"{where}: {problem['msg'].removeprefix('Value error, ')}"


class Settings(BaseSettings):
    """All settings of a node."""

    model_config = SettingsConfigDict(
        env_prefix="LIGHTSCHED_",
        env_nested_delimiter="__",
        extra="forbid",
        frozen=True,
        nested_model_default_partial_update=True,
    )

    log: Literal["embedded"] = "embedded"
    data: Path = Path(".lightsched")
    http: HttpSettings = HttpSettings()
    node: NodeSettings = NodeSettings()
    embedded: EmbeddedSettings = EmbeddedSettings()
    limits: LimitSettings = LimitSettings()
    history: HistorySettings = HistorySettings()

    @classmethod
    def load(cls, file: Path | None = None, **flags: Any) -> "Settings":
        """Settings from a file, the environment and flags, the later the stronger."""
        content = {} if file is None else _read(file)

        class FromFile(cls):  # type: ignore[misc, valid-type]
            @classmethod
            def settings_customise_sources(
                cls,
                settings_cls: type[BaseSettings],
                init_settings: PydanticBaseSettingsSource,
                env_settings: PydanticBaseSettingsSource,
                **_others: PydanticBaseSettingsSource,
            ) -> tuple[PydanticBaseSettingsSource, ...]:
                return init_settings, env_settings, InitSettingsSource(settings_cls, init_kwargs=content)

        try:
            return FromFile(**flags)
        except ValidationError as error:
            raise BadSettings(problems="; ".join(map(_in_words, error.errors()))) from None

    def event_limits(self) -> Limits:
        """The limits that hold for events."""
        return Limits(
            payload=self.limits.payload,
            horizon_ms=self.limits.horizon,
            keep_ms=self.history.keep,
            record=max(1024 * 1024, self.limits.payload * 2 + 64 * 1024),
            names=Topics(self.embedded.prefix),
        )

    def rules(self, partition: int, partitions: int, refuse: Callable[[Delivery], str] = accept) -> Rules:
        """What the engine of a partition goes by."""
        return Rules(
            partition=partition,
            partitions=partitions,
            limits=self.event_limits(),
            in_flight=self.limits.in_flight,
            refuse=refuse,
        )
