"""What is a chain? Stages, each with an event, and which of them must be done before which.

A stage without `after` follows the one before it in the list, so a plain list is a sequence; `"after": []` begins at
once. A stage without `event` waits until it is resumed from outside. `{"$result": "stage/path"}` anywhere in an event's
payload stands for (a part of) the result of an earlier stage.
"""

import re
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from lightsched.errors import LightschedError
from lightsched.injector import problems_of
from lightsched.timing import TimingError, parse_duration

MOST_STAGES = 40
RESULT = "$result"
WEEK = "7d"

_NAME = re.compile(r"[A-Za-z0-9_-]{1,40}")
_NOT_FOR_STAGES = ("op", "id", "tenant", "cron", "every", "on_conflict", "if_revision", "until", "track", "overlap")


class BadChain(LightschedError):
    """The chain makes no sense: {why}."""


class Stage(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """One step of a chain."""

    name: str
    event: dict[str, Any] | None = None  # none: it waits to be resumed
    after: tuple[str, ...] | UnsetType = UNSET
    timeout: str | None = None
    on_timeout: Literal["fail", "continue"] = "fail"


class Chain(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """The payload of `chain.run`."""

    stages: tuple[Stage, ...]
    timeout: str = WEEK


def planned(chain: Chain, now_ms: int) -> Chain:
    """The same chain with every `after` filled in. Raises `BadChain`."""
    if not 1 <= len(chain.stages) <= MOST_STAGES:
        raise BadChain(why=f"it has {len(chain.stages)} stages, 1 to {MOST_STAGES} are allowed")
    _duration("timeout", chain.timeout)
    names = [stage.name for stage in chain.stages]
    for name in names:
        if not _NAME.fullmatch(name):
            raise BadChain(why=f"{name[:60]!r} is no name of a stage: use letters, digits, `_` and `-`, at most 40")
    if twice := {name for name in names if names.count(name) > 1}:
        raise BadChain(why=f"two stages have the name {min(twice)!r}")
    stages = tuple(
        msgspec.structs.replace(stage, after=tuple(names[max(n - 1, 0) : n]) if stage.after is UNSET else stage.after)
        for n, stage in enumerate(chain.stages)
    )
    before = _before(stages)
    for stage in stages:
        _check_stage(stage, before[stage.name], now_ms)
    return msgspec.structs.replace(chain, stages=stages)


def _before(stages: tuple[Stage, ...]) -> dict[str, set[str]]:
    """All stages that are done before each, near and far."""
    after = {stage.name: set(stage.after) for stage in stages if stage.after is not UNSET}
    for name, needed in after.items():
        if unknown := sorted(needed - after.keys()):
            raise BadChain(why=f"stage {name!r} comes after {unknown[0]!r}, which is no stage")
    try:
        order = list(TopologicalSorter(after).static_order())
    except CycleError as error:
        raise BadChain(why=f"these stages wait for each other: {' → '.join(error.args[1])}") from None
    before: dict[str, set[str]] = {}
    for name in order:
        before[name] = after[name].union(*(before[each] for each in after[name]))
    return before


def _check_stage(stage: Stage, before: set[str], now_ms: int) -> None:
    where = f"stage {stage.name!r}"
    if stage.timeout is not None:
        _duration(f"{where}: timeout", stage.timeout)
    if stage.event is None:
        return
    if wrong := [name for name in _NOT_FOR_STAGES if name in stage.event]:
        raise BadChain(why=f"{where}: `{wrong[0]}` is not for the event of a stage")
    for reference in references(stage.event.get("payload")):
        if reference.split("/")[0] not in before:
            raise BadChain(why=f"{where}: {RESULT} {reference!r} is no stage that comes before it")
    event = {"in": "1ms", **stage.event, "id": "x"} if "at" not in stage.event else {**stage.event, "id": "x"}
    if problems := problems_of(msgspec.json.encode(event), now_ms=now_ms):
        raise BadChain(why=f"{where}: {'; '.join(map(str, problems))}")


def _duration(what: str, text: str) -> None:
    try:
        parse_duration(text)
    except TimingError as error:
        raise BadChain(why=f"{what}: {error}") from None


def references(value: Any) -> Iterator[str]:
    """The results that a payload asks for."""
    if isinstance(value, dict):
        if value.keys() == {RESULT} and isinstance(value[RESULT], str):
            yield value[RESULT]
        else:
            for inner in value.values():
                yield from references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from references(inner)


def filled_in(value: Any, results: dict[str, Any]) -> Any:
    """A payload with the results in their places. Raises `BadChain`."""
    if isinstance(value, dict):
        if value.keys() == {RESULT} and isinstance(value[RESULT], str):
            return _found(value[RESULT], results)
        return {name: filled_in(inner, results) for name, inner in value.items()}
    return [filled_in(inner, results) for inner in value] if isinstance(value, list) else value


def _found(reference: str, results: dict[str, Any]) -> Any:
    stage, *path = reference.split("/")
    found = results[stage]
    for step in path:
        try:
            found = found[int(step)] if isinstance(found, list) else found[step]
        except (KeyError, IndexError, ValueError, TypeError):
            raise BadChain(why=f"{RESULT} {reference!r}: the result of {stage!r} has no {step!r}") from None
    return found
