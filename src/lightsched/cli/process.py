"""How does a server's process live? The node runs first; the HTTP interface joins it, then what is to run beside it.

Importing the interface takes longer than opening a store with a million events: what is due fires meanwhile.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from lightsched.cli.inbox import USUAL, injecting, injectors
from lightsched.node.listening import bind
from lightsched.node.node import Node
from lightsched.node.settings import Settings

EXECUTING = "lightsched.cli.executing"


@dataclass(frozen=True)
class Company:
    """What runs beside the server, in the same process: of what is installed, found by entry point."""

    executors: bool = True
    inbox: Path | None = None  # none: `./inbox`, if there is one


async def serve(settings: Settings, announce: Callable[[str], None], company: Company | None = None) -> None:
    """Run a node and its HTTP interface until a signal comes.

    1. Bind the port, open the log: both may fail, and say why.
    2. Run the workers.
    3. Import the interface in a thread, then serve (`lightsched.api.server`).
    """
    with bind(settings.http) as listening:
        node = await Node.open(settings)
        running = asyncio.create_task(node.run(), name="node")
        try:
            server = await asyncio.to_thread(import_module, "lightsched.api.server")
            beside = server.nothing if company is None else await asyncio.to_thread(_beside, company)
            await server.serve(node, running, listening, announce, beside)
        finally:
            node.stop()
            await asyncio.wait({running})


def _beside(company: Company) -> Any:
    executing = import_module(EXECUTING).executing if company.executors else None
    found = injectors(company.inbox)

    @asynccontextmanager
    async def run(face: Any, address: str) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            if executing is not None:
                await stack.enter_async_context(executing(face, address))
            if found:
                face.node.roles.append("injector")
            await stack.enter_async_context(injecting(company.inbox or USUAL, found, address))
            yield

    return run
