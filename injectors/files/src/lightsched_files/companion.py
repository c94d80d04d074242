"""What watches `./inbox` in `lightsched dev`? The same watcher, in the server's process, through REST.

There is no `service.yml`: names say what a file is. One that ends in a converter's name is for that converter, such as
`mine.crontab` or `web.system-crontab`; all others hold events.
"""

import asyncio
import logging
from pathlib import Path

from pydantic import ValidationError

from lightsched.injector import converter_names
from lightsched_files.rest import Rest
from lightsched_files.settings import LimitSettings, RestSettings, WatchSettings
from lightsched_files.watcher import Watcher

log = logging.getLogger("lightsched.files")

SETTLE_MS = 500
RESCAN_MS = 2_000
"""Shorter than in production: somebody is waiting in front of it."""


async def companion(directory: Path, server: str) -> None:
    """Inject what is dropped into a directory, until it is cancelled; one that is not there yet is waited for."""
    rest = RestSettings(url=server)
    watcher = Watcher(rules_for(directory), lambda: Rest(rest), LimitSettings(), rescan_ms=RESCAN_MS)
    running = asyncio.create_task(watcher.run())
    try:
        await asyncio.shield(running)
    except asyncio.CancelledError:
        watcher.stop()
        await running
        raise


def rules_for(directory: Path) -> list[WatchSettings]:
    """One for each converter that is installed and works, and one for files of events."""
    rules = []
    for name in converter_names():
        try:
            rules.append(_rule(directory, pattern=f"*.{name}", converter=name))
        except ValidationError as error:
            log.warning("%s: files *.%s are not converted: %s", directory, name, error.errors()[0]["msg"])
    return [*rules, _rule(directory)]


def _rule(directory: Path, **more: str) -> WatchSettings:
    return WatchSettings(directory=directory, on_error="accept", settle=SETTLE_MS, **more)
