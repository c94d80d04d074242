r"""Which events does a crontab hold? Each line that runs a command becomes a `command.run` on the same schedule.

`crontab` reads what `crontab -e` edits, `system_crontab` what lies in /etc/crontab and /etc/cron.d, with a user
before the command. Lines are read as Debian's cron reads them, with `dialect: cronie` as cronie does: the two differ in
`\\` and in what CRON_TZ and RANDOM_DELAY mean. As under cron what was missed stays missed, and runs may overlap.

An id is made from the file's name and the command: a line whose schedule or surroundings change replaces its event.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Literal

from lightsched_files.converters.local_zone import local_zone
from lightsched_files.converters.options import Options, id_from, options_of, without_equivalent
from lightsched_files.converting import Converted, EventLine, Problem, Source

_SETTING = re.compile(r"""("[^"=]*"|'[^'=]*'|[^\s=]+)\s*=\s*("[^"]*"|'[^']*'|[^"'].*?|)\s*""")
_ENTRY = re.compile(r"(@\S+|(?:\S+[ \t]+){4}\S+)[ \t]+(\S.*)")
_USER = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*\$?")
_ANACRON = re.compile(r"(?:\d+|@\w+)\s+\d+\s+(?!(?:L|LW)\s)[A-Za-z][\w.-]*\s")
_UP_TO_PERCENT = re.compile(r"(?:[^\\%]|\\.|\\$)*")
_RANDOM = re.compile(r"(\d*)~(\d*)")
_BOUNDS = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 6))
_ESCAPED = {"debian": "%\\", "cronie": "%"}
_ONLY_CRONIE = ("CRON_TZ", "RANDOM_DELAY")
_AS_CRON = {"SHELL": "/bin/sh", "PATH": "/usr/bin:/bin"}
_REBOOT = without_equivalent(
    "@reboot",
    "events follow the clock, and no clock says when a machine starts",
    "Leave the line to cron, or start the command from a systemd unit",
)


class CrontabOptions(Options, frozen=True, kw_only=True):
    """What a crontab's converter takes besides."""

    dialect: Literal["debian", "cronie"] = "debian"


def crontab(lines: Iterable[str], source: Source) -> Iterator[Converted]:
    """A user's crontab: five fields or an alias, and the command."""
    return _Reader(source, with_user=False).read(lines)


def system_crontab(lines: Iterable[str], source: Source) -> Iterator[Converted]:
    """/etc/crontab, /etc/cron.d: five fields or an alias, the user, and the command."""
    return _Reader(source, with_user=True).read(lines)


@dataclass
class _Reader:
    """What the lines so far have set for those that follow."""

    source: Source
    with_user: bool
    environment: dict[str, str] = field(default_factory=lambda: dict(_AS_CRON))
    seen: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.options = options_of(self.source, CrontabOptions)

    def read(self, lines: Iterable[str]) -> Iterator[Converted]:
        for number, text in enumerate(lines, start=1):
            line = text.lstrip(" \t")
            if line and not line.startswith("#"):
                yield from self._line(number, line)

    def _line(self, number: int, line: str) -> Iterator[Converted]:
        if setting := _SETTING.fullmatch(line):
            name, value = (_unquoted(text) for text in setting.groups())
            self.environment[name] = value
            if name in _ONLY_CRONIE and self.options.dialect != "cronie" and name not in self.options.accept:
                yield Problem(
                    number,
                    f"{name} means something to cronie, and nothing to Debian's cron: say whose crontab it is with "
                    f"`dialect: cronie` or `accept: [{name}]`",
                )
            return
        entry = _ENTRY.fullmatch(line.removeprefix("-"))
        if not entry:
            yield Problem(number, "is neither `NAME=value` nor a schedule of five fields (or @daily, …) and a command")
        elif _ANACRON.match(line):
            yield Problem(
                number,
                "looks like a line of an anacrontab (days, delay, name, command), which counts days since the last "
                "run: write five fields, or an event with `every` and `catch_up: latest`",
            )
        elif line.endswith("\\"):
            yield Problem(number, "ends with a backslash, but cron joins no lines: put the command on one line")
        else:
            yield from self._entry(number, *entry.groups())

    def _entry(self, number: int, schedule: str, command: str) -> Iterator[Converted]:
        user = ""
        if self.with_user:
            user, _, command = command.replace("\t", " ", 1).partition(" ")
            command = command.lstrip(" \t")
            if not _USER.fullmatch(user):
                yield Problem(number, f"{user!r} is no user name: a crontab without users is for `crontab`")
                return
            if not command:
                yield Problem(number, "has a schedule and a user, but no command")
                return
        elif re.match(r"root[ \t]", command):
            yield Problem(number, "has the user root before its command: such a crontab is for `system_crontab`")
            return
        if schedule.lower() == "@reboot":
            if "@reboot" not in self.options.accept:
                yield Problem(number, _REBOOT)
            return
        name = id_from(self.source.name, user, command)
        self.seen[name] += 1
        if self.seen[name] > 1:
            name = f"{name}#{self.seen[name]}"
        if "~" in schedule and re.search(r"~\d*/", schedule):
            yield Problem(number, f"{schedule!r}: a random start of a step is not known: choose it, as in 7-59/10")
            return
        yield EventLine(number, self.options.apply(self._event(name, _chosen(schedule, name), user, command)))

    def _event(self, name: str, schedule: str, user: str, command: str) -> dict[str, Any]:
        cronie = self.options.dialect == "cronie"
        script, standard_input = _parts(command, _ESCAPED[self.options.dialect])
        payload: dict[str, Any] = {"argv": [self.environment["SHELL"], "-c", script], "env": dict(self.environment)}
        labels = {"source": self.source.name}
        if standard_input:
            payload["stdin"] = standard_input
        if user:
            payload["env"]["LOGNAME"] = labels["user"] = user
        zone = (cronie and self.environment.get("CRON_TZ")) or self.options.timezone or local_zone()
        fields = {
            "id": name,
            "type": "command.run",
            "cron": schedule,
            "timezone": zone,
            "catch_up": "none",
            "track": True,
            "labels": labels,
            "payload": payload,
        }
        if user:
            fields["headers"] = {"user": user}
        if cronie and self.environment.get("RANDOM_DELAY", "0") != "0":
            fields["jitter"] = f"{self.environment['RANDOM_DELAY']}m"
        return fields


def _parts(command: str, escaped: str) -> tuple[str, str]:
    """The command up to the first percent sign, and what follows as its standard input, a line for each percent."""
    found = _UP_TO_PERCENT.match(command)
    end = found.end() if found else 0
    script = re.sub(r"\\(.)", lambda pair: pair[1] if pair[1] in escaped else pair[0], command[:end])
    lines = re.sub(r"\\?%", lambda percent: "%" if len(percent[0]) == 2 else "\n", command[end + 1 :])
    return script, lines if not lines or lines.endswith("\n") else lines + "\n"


def _chosen(schedule: str, seed: str) -> str:
    """With a number for each random range (`0~59`), the same one every time for the same event."""
    if "~" not in schedule:
        return schedule

    def choose(text: str, low: int, high: int) -> str:
        found = _RANDOM.fullmatch(text)
        if not found:
            return text
        first, last = int(found[1] or low), int(found[2] or high)
        drawn = int.from_bytes(sha256(f"{seed}{low}{high}".encode()).digest()[:8], "big")
        return str(first + drawn % (last - first + 1)) if low <= first <= last <= high else text

    return " ".join(
        ",".join(choose(term, low, high) for term in text.split(","))
        for text, (low, high) in zip(schedule.split(), _BOUNDS, strict=True)
    )


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text
