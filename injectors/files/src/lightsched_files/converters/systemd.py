"""Which events does a timer unit of systemd hold? One for each of its triggers; what they start is the timer's unit.

| setting | event |
|---|---|
| `OnCalendar` | `cron` in the expression's zone or the machine's |
| `OnUnitActiveSec` | `every`; `OnBootSec`, `OnStartupSec` and `OnActiveSec` beside it only start it off |
| `RandomizedDelaySec` | `jitter`; the offset stays the same for an event, as with `FixedRandomDelay` |
| `Persistent` | `catch_up`: `latest`, however old, otherwise `none` |
| `Unit` | `systemctl start UNIT`, or its own command with `run: command` |
| `AccuracySec`, `RemainAfterElapse` | nothing is lost: events fire on time, and are kept |

A unit that is still active is not started again: `overlap: skip`. Everything else that would change when it runs is a
problem, unless it is in `accept`.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Literal

from lightsched.client import Invalid
from lightsched_files.converters.calendar_cron import equivalent
from lightsched_files.converters.local_zone import local_zone
from lightsched_files.converters.on_calendar import parse_calendar
from lightsched_files.converters.options import Options, options_of, without_equivalent
from lightsched_files.converters.service import command_of
from lightsched_files.converters.time_span import duration, time_span_ms
from lightsched_files.converters.unit_file import Setting, drop_ins, settings, unit_named
from lightsched_files.converting import Converted, EventLine, Problem, Source

_HOWEVER_OLD = "10y"
_STARTS = ("OnBootSec", "OnStartupSec", "OnActiveSec")
_REPEATS = ("OnUnitActiveSec", "OnUnitInactiveSec")
_TRIGGERS = ("OnCalendar", *_REPEATS, *_STARTS)
_ON_EVENTS = ("OnClockChange", "OnTimezoneChange")
_FIRES_ON_TIME = ("AccuracySec", "RemainAfterElapse", "DeferReactivation")
_SPREAD = ("RandomizedDelaySec", "FixedRandomDelay", "RandomizedOffsetSec")
_KNOWN = {*_TRIGGERS, *_ON_EVENTS, *_FIRES_ON_TIME, *_SPREAD, "Persistent", "WakeSystem", "Unit"}


class TimerOptions(Options, frozen=True, kw_only=True):
    """What a timer's converter takes besides."""

    instances: tuple[str, ...] = ()  # of a template: what stands between @ and .timer
    units: tuple[str, ...] = ()  # directories in which drop-ins and services are
    run: Literal["unit", "command"] = "unit"


def systemd_timer(lines: Iterable[str], source: Source) -> Iterator[Converted]:
    """A timer unit, such as those in /lib/systemd/system."""
    options = options_of(source, TimerOptions)
    if options.run == "command" and not options.units:
        raise Invalid("`run: command` needs `units`: the directories in which the services are.")
    unit = source.name.removesuffix(".systemd-timer")  # as a file may be called so that it gets here
    name = unit if unit.endswith(".timer") else f"{unit}.timer"
    timer = _Timer([*settings(lines), *drop_ins(name, options.units)], options)
    problems = list(timer.problems())
    yield from problems
    if problems:
        return
    if not name.endswith("@.timer"):
        yield from timer.events(name)
        return
    if not options.instances:
        yield Problem(1, "is a template: say of what there is one, with `instances: [NAME, …]`")
    for instance in options.instances:
        yield from timer.events(name.replace("@.timer", f"@{instance}.timer"))


class _Timer:
    """The settings of a timer, as far as they count: later ones replace earlier ones, an empty trigger all triggers."""

    def __init__(self, found: list[Setting], options: TimerOptions) -> None:
        self._options = options
        self._all = found
        self._triggers: list[Setting] = []
        self._last = {setting.name: setting for setting in found if setting.section == "Timer"}
        for setting in found:
            if setting.section == "Timer" and setting.name in _TRIGGERS:
                self._triggers = [*self._triggers, setting] if setting.value else []

    def problems(self) -> Iterator[Problem]:
        """What keeps the whole timer from being converted."""
        for setting in self._all:
            if not setting.name:
                yield Problem(setting.line, f"{setting.value!r} is no `Name=value` in a [Section]")
            elif setting.section == "Timer" and setting.name not in _KNOWN:
                yield Problem(setting.line, f"{setting.name} is no setting of a timer: correct or remove it")
            elif setting.section == "Unit" and setting.name.startswith(("Condition", "Assert")) and setting.value:
                yield from self._missing(
                    setting,
                    "it asks something of the machine, and an event belongs to none",
                    "Ask it in the command or the service",
                )
        if wake := self._yes("WakeSystem"):
            yield from self._missing(wake, "a sleeping machine is not woken", "Leave this timer to systemd")
        for name in _ON_EVENTS:
            if changed := self._yes(name):
                yield from self._missing(changed, "events follow the clock, not its changes", "Leave it to systemd")
        if not self._triggers:
            yield Problem(1, f"has no trigger: a [Timer] needs one of {', '.join(_TRIGGERS)}")

    def events(self, name: str) -> Iterator[Converted]:
        """One for each trigger; the first has the timer's name, the others a number."""
        try:
            common = self._common(name)
        except ValueError as error:
            yield Problem(1, str(error))
            return
        number = 0
        for trigger in self._triggers:
            try:
                schedule = self._schedule(trigger)
            except ValueError as error:  # a CalendarError, too
                yield Problem(trigger.line, f"{trigger.name}={trigger.value}: {error}")
                continue
            if isinstance(schedule, Problem):
                yield schedule
            elif schedule:
                number += 1
                id_ = name if number == 1 else f"{name}#{number}"
                yield EventLine(trigger.line, self._options.apply({"id": id_, **schedule, **common}))

    def _schedule(self, trigger: Setting) -> dict[str, Any] | Problem:
        """The fields that say when; nothing if others say it all."""
        if trigger.name == "OnCalendar":
            return self._calendar(trigger.value)
        span = time_span_ms(trigger.value)
        if trigger.name == "OnUnitActiveSec":
            return {"every": duration(span)}
        if trigger.name == "OnUnitInactiveSec":
            every = duration(span)
            why = f"it counts from the end of a run, `every: {every}` from one start to the next"
            remedy = "Let the executor's report schedule the next run with `then`"
            return next(self._missing(trigger, why, remedy, "take the latter"), None) or {"every": every}
        if any(other.name in _REPEATS for other in self._triggers):
            return {}
        once = f"schedule it once with `in: {duration(span)}`" if span else "schedule it once"
        why = "events follow the clock, and no clock says when a machine or a timer starts"
        return next(self._missing(trigger, why, f"Leave it to systemd, or {once}"), None) or {}

    def _calendar(self, expression: str) -> dict[str, Any]:
        calendar = parse_calendar(expression)
        found = equivalent(calendar)
        fields = {
            "cron": found.cron,
            "timezone": calendar.timezone or self._options.timezone or local_zone(),
            "catch_up": "latest" if self._yes("Persistent") else "none",
        }
        if fields["catch_up"] == "latest":
            fields["look_back"] = _HOWEVER_OLD
        if found.first_year:
            fields["starts_at"] = f"{found.first_year}-01-01T00:00:00"
        if found.last_year:
            fields["ends_at"] = f"{found.last_year}-12-31T23:59:59"
        return fields

    def _common(self, name: str) -> dict[str, Any]:
        """The fields that all its events share."""
        unit = self._unit(name)
        fields: dict[str, Any] = {
            "type": "command.run",
            "overlap": "skip",
            "labels": {"source": name, "unit": unit},
            "payload": {"argv": ["systemctl", "start", unit]},
        }
        for setting in self._all:
            if setting.section == "Unit" and setting.name == "Description":
                fields["labels"]["description"] = setting.value
        for jitter in ("RandomizedDelaySec", "RandomizedOffsetSec"):
            if jitter in self._last and (span := time_span_ms(self._last[jitter].value or "0")):
                fields["jitter"] = duration(span)
        if self._options.run == "command":
            service = unit_named(unit, self._options.units)
            if service is None:
                raise ValueError(f"{unit} is not in {', '.join(self._options.units)}: add its directory to `units`")
            fields["payload"], user = command_of(unit, service, self._options.accept)
            if user:
                fields["labels"]["user"] = user
                fields["headers"] = {"user": user}
        return fields

    def _unit(self, name: str) -> str:
        default = f"{name.removesuffix('.timer')}.service"
        unit = self._last["Unit"].value if "Unit" in self._last else default
        _, _, instance = name.removesuffix(".timer").partition("@")
        return unit.replace("%i", instance) or default

    def _yes(self, name: str) -> Setting | None:
        setting = self._last.get(name)
        return setting if setting and setting.is_yes else None

    def _missing(self, setting: Setting, why: str, remedy: str, instead: str = "leave it out") -> Iterator[Problem]:
        if setting.name not in self._options.accept:
            yield Problem(setting.line, without_equivalent(f"{setting.name}={setting.value}", why, remedy, instead))
