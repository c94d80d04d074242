"""Which events does a list of birthdays hold? One a year for each line such as `24 Dec Ada`."""

from collections.abc import Iterable, Iterator

from lightsched_files.converting import Converted, EventLine, Problem, Source


def birthdays(lines: Iterable[str], source: Source) -> Iterator[Converted]:
    zone = source.options.get("timezone", "UTC")
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.startswith("#"):
            continue
        match line.split(maxsplit=2):
            case [day, month, name]:
                fields = {"id": f"birthday-{name}", "cron": f"0 9 {day} {month} *", "timezone": zone}
                yield EventLine(number, {**fields, "type": "mail.send", "payload": {"to": name}})
            case _:
                yield Problem(number, "is no birthday: write day, month and name, as in `24 Dec Ada`")
