"""What injects on one's own machine? The injectors that are installed, beside the server and in its process.

They are found by the entry points of the group `lightsched.injectors`: functions that are given a directory and the
server's address, and inject what is dropped there until they are cancelled. Over HTTP, like any other injector.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from lightsched.errors import LightschedError

log = logging.getLogger(__name__)

GROUP = "lightsched.injectors"
USUAL = Path("inbox")
Injector = Callable[[Path, str], Awaitable[None]]


class NoInjector(LightschedError):
    """Nothing that is installed watches {directory}: install lightsched-files, or leave out --inbox."""


def injectors(directory: Path | None) -> list[EntryPoint]:
    """Those that are installed; a directory that was asked for needs one, and is made if it is not there."""
    found = sorted(entry_points(group=GROUP), key=lambda entry: entry.name)
    if directory is not None:
        if not found:
            raise NoInjector(directory=directory)
        directory.mkdir(parents=True, exist_ok=True)
    return found


@asynccontextmanager
async def injecting(directory: Path, found: list[EntryPoint], address: str) -> AsyncIterator[None]:
    """Inject what is dropped, while the block runs."""
    tasks = [asyncio.create_task(_run(entry, directory, address), name=entry.name) for entry in found]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _run(entry: EntryPoint, directory: Path, address: str) -> None:
    injector: Injector = await asyncio.to_thread(entry.load)
    try:
        await injector(directory, address)
    except LightschedError as error:
        log.error("%s is not watched: %s", directory, error)  # noqa: TRY400 - for people
