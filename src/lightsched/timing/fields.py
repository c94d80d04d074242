"""What do the five or six fields of a cron expression say?

    second (optional, first) · minute · hour · day of month · month · day of week

cronsim reads the fields; here they get their aliases, and errors that name the field, the reason and the remedy. What
cronsim lets pass although nobody can mean it (`*/90`, `L/2`) is refused. As in Debian's cron the two day fields must
both match when one of them starts with a star; otherwise one of them is enough.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from functools import lru_cache

from cronsim import CronSim, CronSimError

from lightsched.timing.errors import TimingError, shown

ALIASES = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
LAST = -1  # the n of `5L`, as 2 is the n of `5#2`
_LONGEST = 500
_SAMPLE = datetime(2000, 1, 1)  # noqa: DTZ001 -- cronsim wants a start, and only its fields are used


@dataclass(frozen=True, slots=True)
class _Field:
    name: str
    low: int
    high: int
    most_step: int
    names: tuple[str, ...] = ()

    @property
    def allowed(self) -> str:
        names = f" or {self.names[0].lower()} to {self.names[-1].lower()}" if self.names else ""
        return f"{self.low} to {self.high}{names}"


_FIELDS = (
    _Field("second", 0, 59, 60),
    _Field("minute", 0, 59, 60),
    _Field("hour", 0, 23, 24),
    _Field("day of month", 1, 31, 31),
    _Field("month", 1, 12, 12, ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")),
    _Field("day of week", 0, 7, 7, ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")),
)
_DAY_OF_MONTH, _DAY_OF_WEEK = _FIELDS[3], _FIELDS[5]


@dataclass(frozen=True, slots=True)
class Fields:
    """The fields of one expression, as sorted values."""

    seconds: tuple[int, ...]
    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: tuple[int, ...]
    last_day: bool
    last_weekday: bool
    months: tuple[int, ...]
    weekdays: tuple[int, ...]  # 0 is Sunday
    nth_weekdays: tuple[tuple[int, int], ...]  # (weekday, which one of the month)
    texts: tuple[str, ...]  # all six, in capitals
    has_seconds: bool

    @property
    def follows_elapsed_time(self) -> bool:
        """Debian's rule: a star at the start of minute or hour means a rhythm, anything else a time of day."""
        return self.texts[1].startswith("*") or self.texts[2].startswith("*")

    @property
    def both_day_fields(self) -> bool:
        return self.texts[3].startswith("*") or self.texts[5].startswith("*")


def parse_fields(expression: str) -> Fields:
    texts = _split(expression)
    as_sent = expression.split()
    for number, (field, text) in enumerate(zip(_FIELDS, texts, strict=True), start=len(as_sent) - len(_FIELDS)):
        reason = next(filter(None, (_what_is_wrong(field, term) for term in text.split(","))), None)
        if reason:
            raise TimingError(f"the {field.name} {shown(as_sent[number])} of the cron {shown(expression)}: {reason}")
    try:
        cron = CronSim(" ".join(texts), _SAMPLE)
    except CronSimError:
        # The fields are good one by one, so it is the day that none of the months has.
        raise TimingError(
            f"the cron {shown(expression)} never fires: no month in {shown(texts[4])} has a day {texts[3]}"
        ) from None
    return Fields(
        seconds=tuple(sorted(cron.seconds)),
        minutes=tuple(sorted(cron.minutes)),
        hours=tuple(sorted(cron.hours)),
        days=tuple(sorted(day for day in cron.days if day > 0)),
        last_day=CronSim.LAST in cron.days,
        last_weekday=CronSim.LAST_WEEKDAY in cron.days,
        months=tuple(sorted(cron.months)),
        weekdays=tuple(sorted({item % 7 for item in cron.weekdays if isinstance(item, int)})),
        nth_weekdays=tuple(
            sorted(
                (item[0] % 7, LAST if item[1] == CronSim.LAST else item[1])
                for item in cron.weekdays
                if not isinstance(item, int)
            )
        ),
        texts=texts,
        has_seconds=len(expression.split()) == 6,
    )


@lru_cache(maxsize=4096)
def day_rule(day_of_month: str, month: str, day_of_week: str) -> tuple[frozenset[int], Callable[[date], bool]]:
    """The months, and whether a day in one of them matches both day fields, or either (cronsim's judgement)."""
    cron = CronSim(f"0 0 {day_of_month} {month} {day_of_week}", _SAMPLE)
    return frozenset(cron.months), cron.match_day


def _split(expression: str) -> tuple[str, ...]:
    if not expression.strip():
        raise TimingError("the cron is empty: write five fields, as in '30 9 * * mon-fri', or an alias such as @daily")
    if len(expression) > _LONGEST or not expression.isascii():
        raise TimingError(f"the cron {shown(expression)} is not plain text of at most {_LONGEST} characters")
    text = expression.strip()
    if text.startswith("@"):
        if text.lower() not in ALIASES:
            remedy = "use 'every'" if text.lower().startswith("@every") else f"known are {' '.join(ALIASES)}"
            raise TimingError(f"the cron alias {shown(text)} is unknown: {remedy}")
        text = ALIASES[text.lower()]
    texts = tuple(text.upper().split())
    if len(texts) == 5:
        return ("0", *texts)
    if len(texts) == 6:
        return texts
    raise TimingError(
        f"the cron {shown(expression)} has {len(texts)} field{'' if len(texts) == 1 else 's'}: write five (minute, "
        "hour, day of month, month, day of week), or six with the second first"
    )


def _what_is_wrong(field: _Field, term: str) -> str:
    """Why this term of a list cannot stand in this field, or nothing."""
    if not term:
        return "a value is missing beside a comma"
    if "?" in term:
        return "write * instead of ?"
    if field is _DAY_OF_MONTH and term in ("L", "LW"):
        return ""
    if field is _DAY_OF_MONTH and term != "LW" and "W" in term:
        return "W (nearest weekday) is only known as LW, the last weekday of the month"
    if field is _DAY_OF_WEEK and "#" in term:
        day, _, nth = term.partition("#")
        if not re.fullmatch("[1-5]", nth):
            return "what follows # says which one of the month, 1 to 5, as in mon#2"
        return _wrong_value(field, day)
    if field is _DAY_OF_WEEK and "L" in term:
        return "" if re.fullmatch("[0-7]L", term) else "write 5L for the last Friday of the month, 0L to 7L"
    base, slash, step = term.partition("/")
    if slash:
        reason = _wrong_step(field, step)
        if reason:
            return reason
    if base == "*":
        return ""
    if field is _DAY_OF_MONTH and base in ("L", "LW"):
        return f"{base} is one day, and takes no step"
    first, dash, last = base.partition("-")
    reason = _wrong_value(field, first) or (dash and _wrong_value(field, last))
    if reason or not dash:
        return reason
    if _number(field, first) > _number(field, last):
        return f"the range {base.lower()} goes backwards: write two, separated by a comma" + (
            ", or 7 for Sunday at its end" if field is _DAY_OF_WEEK else ""
        )
    return ""


def _wrong_step(field: _Field, step: str) -> str:
    if not re.fullmatch("[0-9]{1,9}", step):
        return f"the step {shown(step.lower())} is not a number"
    if int(step) == 0:
        return "a step of 0 never moves on: write 1 or more"
    if int(step) > field.most_step:
        return (
            f"a step of {int(step)} is longer than the field, which starts anew at {field.low}: "
            f"write at most {field.most_step}, or use 'every' for longer intervals"
        )
    return ""


def _wrong_value(field: _Field, value: str) -> str:
    if value in field.names:
        return ""
    if not re.fullmatch("[0-9]{1,9}", value):
        return f"{shown(value.lower())} is not known here: write {field.allowed}"
    if not field.low <= int(value) <= field.high:
        return f"{int(value)} is out of range: write {field.allowed}"
    return ""


def _number(field: _Field, value: str) -> int:
    return field.names.index(value) + field.low if value in field.names else int(value)
