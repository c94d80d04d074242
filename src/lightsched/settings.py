"""Where do settings come from? A file, overridden by variables of the environment, overridden by flags.

Unknown settings are errors. Durations and sizes are written as people write them: `7d`, `256KiB`.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self, TypeVar

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails
from pydantic_settings import BaseSettings, InitSettingsSource, PydanticBaseSettingsSource, SettingsConfigDict

from lightsched.errors import LightschedError
from lightsched.timing import TimingError, parse_duration

__all__ = ["BadSettings", "Bytes", "DurationMs", "Layered", "Section", "parse_size"]

_SIZE = re.compile(r"(\d{1,18})\s*(B|KiB|MiB|GiB|KB|MB|GB)?")
_UNITS = {"B": 1, "KiB": 1024, "MiB": 1024**2, "GiB": 1024**3, "KB": 1000, "MB": 1000**2, "GB": 1000**3}
_QUOTED = re.compile(r"""'[^']*'|"[^"]*\"""")
_SYMBOL = re.compile(r"""'<[a-z ]+>'|['"].['"]""")


class BadSettings(LightschedError):
    """The settings are wrong: {problems}."""


def _milliseconds(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return parse_duration(value)
    except TimingError as error:
        raise ValueError(str(error)) from None


def parse_size(text: str) -> int:
    """Bytes, from `256KiB` and the like. Raises `ValueError`."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        msg = f"{text[:80]!r} is no size: write `256KiB` or a number of bytes"
        raise ValueError(msg)
    return int(match[1]) * _UNITS[match[2] or "B"]


def _bytes(value: object) -> object:
    return parse_size(value) if isinstance(value, str) else value


DurationMs = Annotated[int, BeforeValidator(_milliseconds), Field(gt=0)]
Bytes = Annotated[int, BeforeValidator(_bytes), Field(gt=0)]


class Section(BaseModel):
    """Settings that belong together."""

    model_config = ConfigDict(extra="forbid", frozen=True)


S = TypeVar("S", bound=Section)


class Layered(BaseSettings):
    """Settings of a program; `env_prefix` says which variables are its own."""

    model_config = SettingsConfigDict(
        env_nested_delimiter="__",
        extra="forbid",
        frozen=True,
        nested_model_default_partial_update=True,
    )
    elsewhere: ClassVar[tuple[str, ...]] = ()
    """Variables that have the same prefix, but are for others; with `_` at the end, all that begin so."""

    @classmethod
    def load(cls, file: Path | None = None, **flags: Any) -> Self:
        """Settings from a file, the environment and flags, the later the stronger."""
        content = {} if file is None else _read(file)
        _refuse_unknown_variables(cls)

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


def checked(section: type[S], given: Mapping[str, Any], where: str) -> S:
    """A section from what was given; `where` says which, if something is wrong with it."""
    try:
        return section(**given)
    except ValidationError as error:
        problems = (_in_words({**problem, "loc": (where, *problem["loc"])}) for problem in error.errors())
        raise BadSettings(problems="; ".join(problems)) from None


def _read(file: Path) -> dict[str, Any]:
    if not file.is_file():
        raise BadSettings(problems=f"there is no file {file}")
    try:
        content = yaml.safe_load(file.read_text(encoding="utf-8"))
    except yaml.MarkedYAMLError as error:
        raise BadSettings(problems=f"{file} is not YAML: {_without_content(error)}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise BadSettings(problems=f"{file} is not YAML: {error}") from None
    if content is None:
        return {}
    if not isinstance(content, dict) or not all(isinstance(name, str) for name in content):
        raise BadSettings(problems=f"{file} must hold settings by name, as in `http: {{port: 8080}}`")
    return content


def _without_content(error: yaml.MarkedYAMLError) -> str:
    """What is wrong and where, but not what stands there: it may be a password."""
    problem = _QUOTED.sub(lambda found: found[0] if _SYMBOL.fullmatch(found[0]) else "…", error.problem or "")
    mark = error.problem_mark
    return problem if mark is None else f"{problem} (line {mark.line + 1}, column {mark.column + 1})"


def _refuse_unknown_variables(settings: type[Layered]) -> None:
    """Pydantic finds a misspelt part of a known section, and passes over what begins with an unknown one."""
    prefix = settings.model_config["env_prefix"]
    others = tuple(name for name in settings.elsewhere if name.endswith("_"))
    unknown = [
        name
        for name in os.environ
        if name.startswith(prefix)
        and not name.startswith(others)
        and name not in settings.elsewhere
        and name.removeprefix(prefix).lower().partition("__")[0] not in settings.model_fields
    ]
    if unknown:
        found = ", ".join(sorted(unknown))
        raise BadSettings(problems=f"the environment has {found}: not a known setting, check the spelling")


def _in_words(problem: ErrorDetails) -> str:
    where = ".".join(map(str, problem["loc"]))
    if problem["type"] == "extra_forbidden":
        return f"{where}: is not a known setting, check the spelling"
    return f"{where}: {problem['msg'].removeprefix('Value error, ')}"
