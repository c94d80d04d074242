"""How is the executor set up? `command.yml`, then `LIGHTSCHED_EXECUTOR_COMMAND_…` variables, then flags."""

import os
import re
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field
from pydantic_settings import SettingsConfigDict

from lightsched.executor.configured import ExecutorSettings
from lightsched.settings import Bytes, DurationMs, Section

TEMPORARY = 75
"""What a program ends with that wants to be tried again (EX_TEMPFAIL of sysexits.h)."""

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def _executable(path: Path) -> Path:
    if not path.is_absolute():
        raise ValueError(f"{path} is no absolute path")
    if not path.is_file() or not os.access(path, os.X_OK):
        raise ValueError(f"{path} is not there, or may not be executed")
    return path


def _folder(path: Path) -> Path:
    if not path.is_dir():
        raise ValueError(f"there is no folder {path}")
    return path


def _variable(name: str) -> str:
    if not _VARIABLE.fullmatch(name):
        raise ValueError(f"{name!r} is no name of a variable")
    return name


Variable = Annotated[str, AfterValidator(_variable)]


class Allowed(Section):
    """A program that may be run."""

    path: Annotated[Path, AfterValidator(_executable)]
    arguments: tuple[str, ...] = ()  # always, before those of the payload
    accepts: re.Pattern[str] | None = None  # what each argument of a payload must look like; none: anything
    env: frozenset[Variable] = frozenset()  # variables that a payload may set
    environment: dict[Variable, str] = Field({})  # variables that it always has
    folder: Annotated[Path, AfterValidator(_folder)] = Path("/")
    timeout: DurationMs = 600_000
    grace: DurationMs = 5_000  # between being asked to end and being killed
    success: frozenset[int] = frozenset({0})
    retry: frozenset[int] = frozenset({TEMPORARY})


class CommandSettings(ExecutorSettings):
    """All settings of the executor."""

    model_config = SettingsConfigDict(env_prefix="LIGHTSCHED_EXECUTOR_COMMAND_")

    group: str = "command"
    concurrency: int = Field(4, ge=1)
    programs: dict[str, Allowed] = Field({})  # by the name that payloads call them
    types: dict[str, str] = Field({})  # types and the program for each: the payload is its input
    output: Bytes = 8 * 1024  # is kept of each of the two outputs, at its beginning and at its end
