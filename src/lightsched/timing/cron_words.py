"""What does a cron say, in words?

From the values that the fields allow, not from how they are written: `*/15`, `0-59/15` and `0,15,30,45` read the same.
"""

from collections.abc import Sequence

from lightsched.timing.fields import LAST, Fields

WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
_NTH = {1: "first", 2: "second", 3: "third", 4: "fourth", 5: "fifth", LAST: "last"}
_MOST_TIMES = 6  # more times of day than that are said by fields


def cron_words(fields: Fields) -> str:
    return f"{_time(fields)} {_date(fields)}".strip()


def _time(fields: Fields) -> str:
    seconds, minutes, hours = fields.seconds, fields.minutes, fields.hours
    times = len(seconds) * len(minutes) * len(hours)
    if times <= _MOST_TIMES and len(hours) < 24:
        clocks = [_clock(hour, minute, second) for hour in hours for minute in minutes for second in seconds]
        return f"at {_list(clocks)}"
    if seconds == (0,):
        return _minutes(minutes, hours)
    step = _step(seconds, 60)
    if step:
        rhythm = "every second" if step == 1 else f"every {step} seconds"
        return rhythm if _step(minutes, 60) == 1 and len(hours) == 24 else f"{rhythm}, {_minutes(minutes, hours)}"
    return f"at second {_values(seconds)}, {_minutes(minutes, hours)}"


def _minutes(minutes: tuple[int, ...], hours: tuple[int, ...]) -> str:
    step = _step(minutes, 60)
    if step:
        rhythm = "every minute" if step == 1 else f"every {step} minutes"
        return f"{rhythm}{_between(minutes, hours)}"
    if minutes == (0,):
        step = _step(hours, 24)
        if step:
            return "every hour" if step == 1 else f"every {step} hours"
        if len(hours) > 2 and _is_range(hours):
            return f"every hour from {_clock(hours[0], 0)} to {_clock(hours[-1], 0)}"
    if len(hours) == 24:
        return f"at minute {_values(minutes)} of every hour"
    return f"at minute {_values(minutes)} of {_hours(hours)}"


def _between(minutes: tuple[int, ...], hours: tuple[int, ...]) -> str:
    """In which hours a rhythm of minutes goes: ` from 09:00 to 17:59`."""
    if len(hours) == 24:
        return ""
    if _is_range(hours):
        return f" from {_clock(hours[0], minutes[0])} to {_clock(hours[-1], 59)}"
    return f" of {_hours(hours)}"


def _hours(hours: tuple[int, ...]) -> str:
    step = _step(hours, 24)
    if step:
        return f"every {_ordinal(step)} hour"
    return f"hour {_values(hours)}" if len(hours) == 1 else f"hours {_values(hours)}"


def _date(fields: Fields) -> str:
    has_days, has_weekdays = fields.texts[3] != "*", fields.texts[5] != "*"
    if len(fields.weekdays) == 7 and fields.both_day_fields:
        has_weekdays = False
    if fields.days == tuple(range(1, 32)) and fields.both_day_fields:
        has_days = False
    every_month = len(fields.months) == 12
    if has_days and not has_weekdays and _is_one_date(fields):
        return f"on {fields.days[0]} {MONTHS[fields.months[0] - 1]}"
    parts: list[str] = []
    if has_days and has_weekdays:
        link = "if that is" if fields.both_day_fields else "or on"
        parts.append(f"on {_days(fields)} {link} {_weekdays(fields)}")
    elif has_days:
        parts.append(f"on {_days(fields)}")
    elif has_weekdays:
        parts.append(f"on {_weekdays(fields)}")
    if not every_month:
        parts.append(f"in {_ranges([MONTHS[month - 1] for month in fields.months], fields.months)}")
    if not parts and _happens_once_a_day(fields):
        return "every day"
    return " ".join(parts)


def _is_one_date(fields: Fields) -> bool:
    return len(fields.days) == len(fields.months) == 1 and not fields.last_day and not fields.last_weekday


def _happens_once_a_day(fields: Fields) -> bool:
    return len(fields.seconds) * len(fields.minutes) * len(fields.hours) <= _MOST_TIMES and len(fields.hours) < 24


def _days(fields: Fields) -> str:
    parts: list[str] = []
    if fields.days:
        step = _step(tuple(day - 1 for day in fields.days), 31)
        if step and step > 1:
            parts.append(f"every {_ordinal(step)} day of the month from the first")
        else:
            parts.append(f"day{'' if len(fields.days) == 1 else 's'} {_values(fields.days)} of the month")
    if fields.last_day:
        parts.append("the last day of the month")
    if fields.last_weekday:
        parts.append("the last weekday of the month")
    return _list(parts)


def _weekdays(fields: Fields) -> str:
    parts: list[str] = []
    from_monday = sorted(fields.weekdays, key=lambda day: (day - 1) % 7)
    if fields.weekdays == (1, 2, 3, 4, 5):
        parts.append("weekdays")
    elif from_monday:
        parts.append(_ranges([WEEKDAYS[day] for day in from_monday], [(day - 1) % 7 for day in from_monday]))
    parts += [f"the {_NTH[nth]} {WEEKDAYS[day]} of the month" for day, nth in fields.nth_weekdays]
    return _list(parts)


def _clock(hour: int, minute: int, second: int = 0) -> str:
    return f"{hour:02d}:{minute:02d}" + (f":{second:02d}" if second else "")


def _step(values: tuple[int, ...], size: int) -> int | None:
    """The step of values that go evenly through the whole field; it divides hours, minutes and seconds evenly."""
    if len(values) < 2 or values[0] != 0:
        return None
    step = values[1]
    if values != tuple(range(0, size, step)):
        return None
    return step if size % step == 0 or size == 31 else None


def _is_range(values: Sequence[int]) -> bool:
    return values[-1] - values[0] == len(values) - 1


def _values(values: Sequence[int]) -> str:
    """`5, 10 and 20 to 25`."""
    return _ranges([str(value) for value in values], values)


def _ranges(names: Sequence[str], numbers: Sequence[int]) -> str:
    """Names with runs of three or more as `first to last`."""
    parts: list[str] = []
    start = 0
    for at in range(1, len(numbers) + 1):
        if at < len(numbers) and numbers[at] == numbers[at - 1] + 1:
            continue
        parts += [f"{names[start]} to {names[at - 1]}"] if at - start > 2 else names[start:at]
        start = at
    return _list(parts)


def _list(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _ordinal(number: int) -> str:
    suffix = "th" if number in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{suffix}"
