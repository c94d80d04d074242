"""What may `options` in `service.yml` say to a converter, and what does every converter do with it?

| option | meaning |
|---|---|
| `timezone` | the zone of times that name none |
| `prefix` | stands before every id: files of one name from several machines stay apart |
| `event` | fields that every event gets, over those of the converter; `labels` and `headers` are added to its own |
| `accept` | settings without equivalent that may be left out; each problem says what it can be named |
"""

from hashlib import sha256
from typing import Any, TypeVar

import msgspec

from lightsched.client import Invalid
from lightsched_files.converting import Source

_NAME = 100  # characters of a file's name that an id holds
_MERGED = ("labels", "headers")


class Options(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """What all converters take."""

    timezone: str | None = None
    prefix: str = ""
    event: dict[str, Any] = {}
    accept: frozenset[str] = frozenset()

    def apply(self, fields: dict[str, Any]) -> dict[str, Any]:
        """The event as the user wants it."""
        merged = {name: {**fields.get(name, {}), **self.event[name]} for name in _MERGED if name in self.event}
        return {**fields, **self.event, **merged, "id": self.prefix + fields["id"]}


T = TypeVar("T", bound=Options)


def options_of(source: Source, kind: type[T]) -> T:
    try:
        return msgspec.convert(dict(source.options), kind)
    except msgspec.ValidationError as error:
        known = ", ".join(field.name for field in msgspec.structs.fields(kind))
        raise Invalid(f"The options of the converter for {source.name!r}: {error}. Known are {known}.") from None


def without_equivalent(name: str, why: str, remedy: str, instead: str = "leave it out") -> str:
    """A message that says what is missing, what to do, and how to do without."""
    setting, _, _ = name.partition("=")
    return f"{name} has no equivalent: {why}. {remedy}, or {instead} with `accept: [{setting}]`"


def id_from(name: str, *content: str) -> str:
    """The same for the same content of a file of this name, whatever else changes in it."""
    shown = "".join(character if character.isprintable() else "?" for character in name[:_NAME])
    digest = sha256("\0".join((name, *content)).encode("utf-8", "surrogatepass")).hexdigest()
    return f"{shown}:{digest[:12]}"
