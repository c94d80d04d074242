"""In which timezone does this machine run its cron jobs and timers?

As the C library finds it: `TZ`, else where `/etc/localtime` points to; there is none on machines that run in UTC.
"""

import os
from pathlib import Path

from lightsched.client import Invalid

_LOCALTIME, _TIMEZONE = Path("/etc/localtime"), Path("/etc/timezone")
_FOLDER = "zoneinfo/"


def local_zone(localtime: Path = _LOCALTIME, timezone: Path = _TIMEZONE) -> str:
    """The IANA name of the machine's zone."""
    name = os.environ.get("TZ", "").lstrip(":")
    if not name and localtime.is_symlink():
        _, found, name = str(localtime.resolve()).partition(_FOLDER)
        name = name if found else ""
    elif not name and not localtime.exists():
        name = "UTC"
    if not name and timezone.is_file():
        name = timezone.read_text(encoding="utf-8").strip()
    name = name.removeprefix("posix/")
    if not name or name.startswith("/"):
        raise Invalid("This machine does not say in which timezone it is: give `options: {timezone: …}`.")
    return "UTC" if name in ("Etc/UTC", "UCT", "Zulu") else name
