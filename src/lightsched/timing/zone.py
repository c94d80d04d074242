"""Which timezone is `Europe/Paris`?

Only names of the IANA database: `localtime` would differ between nodes, a path would read files, and `right/…` counts
leap seconds. The machine's own database is used where there is one, otherwise the `tzdata` package.
"""

import difflib
import re
from functools import lru_cache
from zoneinfo import ZoneInfo, available_timezones

from lightsched.timing.errors import TimingError, shown

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_+-]*(?:/[A-Za-z0-9_+-]+){0,2}", re.ASCII)
_NO_ZONES = frozenset({"localtime", "Factory", "posixrules"})


@lru_cache(maxsize=1)
def zone_names() -> frozenset[str]:
    return frozenset(available_timezones() - _NO_ZONES)


def zone(name: str) -> ZoneInfo:
    if not name:
        raise TimingError(f"{shown(name)} is not a timezone: write a name such as Europe/Paris or UTC")
    if len(name) > 64 or not _NAME.fullmatch(name):
        raise TimingError(
            f"the timezone {shown(name)} is not a name of the IANA database: write one such as Europe/Paris or UTC"
        )
    found, error = _found(name)
    if found is None:
        raise TimingError(error)
    return found


@lru_cache(maxsize=1024)
def _found(name: str) -> tuple[ZoneInfo | None, str]:
    """The zone, or why there is none: that takes milliseconds to find out, and comes by the thousand."""
    if name in zone_names():
        return ZoneInfo(name), ""
    return None, f"unknown timezone {shown(name)}: {_remedy(name)}"


def _remedy(name: str) -> str:
    by_lower = {known.lower(): known for known in sorted(zone_names())}
    by_city = {known.rpartition("/")[2].lower(): known for known in sorted(zone_names(), reverse=True)}
    wanted = name.lower()
    if wanted in by_lower:
        return f"did you mean {by_lower[wanted]}?"
    close = [by_lower[match] for match in difflib.get_close_matches(wanted, by_lower, n=3, cutoff=0.85)]
    close += [
        by_city[match] for match in difflib.get_close_matches(wanted.rpartition("/")[2], by_city, n=2, cutoff=0.8)
    ]
    suggestions = list(dict.fromkeys(close))[:3]
    if suggestions:
        return f"did you mean {' or '.join(suggestions)}?"
    return "write an IANA name such as Europe/Paris or UTC"
