"""What does a unit file of systemd set? Settings with their lines, and drop-ins over them (systemd.syntax(7))."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from lightsched.client import Invalid

_SECTION = re.compile(r"\[([^\]]+)\]")
_YES = frozenset({"1", "yes", "y", "true", "t", "on"})
_LARGEST = 1 << 20  # bytes of a unit or drop-in beside the one that is converted


class Setting(NamedTuple):
    """One assignment. The line is that of the unit, or 0 where a drop-in or another unit says it."""

    line: int
    section: str
    name: str
    value: str

    @property
    def is_yes(self) -> bool:
        return self.value.lower() in _YES


def settings(lines: Iterable[str]) -> Iterator[Setting]:
    """In their order. A line that is none has the section and no name."""
    section = ""
    for number, line in _joined(lines):
        if not line or line[0] in "#;":
            continue
        if heading := _SECTION.fullmatch(line):
            section = heading[1]
            continue
        name, equals, value = line.partition("=")
        yield Setting(number, section, name.strip() if equals and section else "", value.strip() if equals else line)


def drop_ins(unit: str, directories: Iterable[str]) -> Iterator[Setting]:
    """What `UNIT.d/*.conf` in these directories set over it; of files with one name the first counts."""
    found: dict[str, Path] = {}
    for directory in directories:
        for path in Path(directory, f"{unit}.d").glob("*.conf"):
            found.setdefault(path.name, path)
    for _, path in sorted(found.items()):
        yield from _elsewhere(path)


def unit_named(unit: str, directories: Iterable[str]) -> list[Setting] | None:
    """All that another unit sets; nothing if it is not there."""
    directories = list(directories)
    paths = [path for directory in directories if (path := Path(directory, unit)).is_file()]
    return [*_elsewhere(paths[0]), *drop_ins(unit, directories)] if paths else None


def _elsewhere(path: Path) -> Iterator[Setting]:
    if path.stat().st_size > _LARGEST:
        raise Invalid(f"{path} is no unit: it has more than {_LARGEST} bytes.")
    for setting in settings(path.read_text(encoding="utf-8", errors="replace").splitlines()):
        yield setting._replace(line=0)


def _joined(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """With what a backslash at the end of a line continues; comments in between are no part of it."""
    start, parts = 0, list[str]()
    for number, text in enumerate(lines, start=1):
        line = text.strip()
        if parts and line[:1] in ("#", ";"):
            continue
        start = start if parts else number
        parts.append(line.removesuffix("\\"))
        if not line.endswith("\\") or line[:1] in ("#", ";"):
            yield start, " ".join(parts).strip()
            parts = []
    if parts:
        yield start, " ".join(parts).strip()
