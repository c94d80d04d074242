"""What watches `./inbox` in `lightsched dev`? The same watcher, in the server's process, through REST."""

import asyncio
from pathlib import Path

from lightsched_files.rest import Rest
from lightsched_files.settings import LimitSettings, RestSettings, WatchSettings
from lightsched_files.watcher import Watcher

SETTLE_MS = 500
RESCAN_MS = 2_000
"""Shorter than in production: somebody is waiting in front of it."""


async def companion(directory: Path, server: str) -> None:
    """Inject what is dropped into a directory, until it is cancelled; one that is not there yet is waited for."""
    rest = RestSettings(url=server)
    rules = [WatchSettings(directory=directory, on_error="accept", settle=SETTLE_MS)]
    watcher = Watcher(rules, lambda: Rest(rest), LimitSettings(), rescan_ms=RESCAN_MS)
    running = asyncio.create_task(watcher.run())
    try:
        await asyncio.shield(running)
    except asyncio.CancelledError:
        watcher.stop()
        await running
        raise
