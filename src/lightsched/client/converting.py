"""How do other formats become events? A converter: a function that reads lines of text, and yields events or problems.

Example:
    def reminders(lines: Iterable[str], source: Source) -> Iterator[Converted]:
        for number, line in enumerate(lines, start=1):
            when, _, text = line.partition(" ")
            if not text:
                yield Problem(number, "has no text: write `TIME TEXT`")
            else:
                yield EventLine(number, {"at": when, "payload": text})

It is found by its name among the entry points of the group `lightsched.converters`, or as `module:function`. It never
has to think of ids: an event without one gets it from the file's content and its place, so that a file which is
injected twice schedules once. Where a time depends on "now", it takes `source.modified_ms`, which is the same when the
file is read again.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, NamedTuple

from lightsched.client.errors import Invalid

GROUP = "lightsched.converters"
"""The group of entry points."""


@dataclass(frozen=True)
class Source:
    """What is converted: the file's name, when it was last written, and what `service.yml` says under `options`."""

    name: str  # without its directory
    modified_ms: int
    options: Mapping[str, Any] = field(default_factory=dict)


class EventLine(NamedTuple):
    """An event, and the line it comes from: its first, if there are several."""

    line: int
    fields: dict[str, Any]  # as in the contract; `payload` may be any JSON


class Problem(NamedTuple):
    """What has no equivalent, or makes no sense, and what to do about it."""

    line: int
    message: str


Converted = EventLine | Problem
Converter = Callable[[Iterable[str], Source], Iterator[Converted]]
"""`lines`: the file's lines as text, without their line ends, read as they are asked for."""


def converter_names() -> list[str]:
    """The converters that are installed."""
    return sorted(entry_points(group=GROUP).names)


def converter_named(name: str) -> Converter:
    """The converter of this name, or `module:function`."""
    module, colon, function = name.partition(":")
    if not colon:
        found = entry_points(group=GROUP, name=name)
        if not found:
            known = ", ".join(converter_names()) or "none"
            raise Invalid(f"There is no converter {name!r}: installed are {known}; or write module:function.")
        module, _, function = next(iter(found)).value.partition(":")
    try:
        converter: Converter = getattr(import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise Invalid(f"The converter {name!r} cannot be loaded: {error}.") from None
    return converter
