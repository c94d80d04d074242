"""What executes on one's own machine? The executors that are installed, beside the server and in its process.

They are found by the entry points of the group `lightsched.executors`, and set up by their own variables, such as
`LIGHTSCHED_EXECUTOR_HTTP_ALLOW`. Over HTTP, like any other executor: nothing here is a short cut.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.metadata import entry_points
from typing import Any

from lightsched.api.face import Face
from lightsched.api.unhandled import Handled, Unhandled
from lightsched.executor.configured import GROUP, Program
from lightsched.executor.executor import Executor

log = logging.getLogger(__name__)

GRACE_MS = 5_000
"""So long a stop waits for what runs: on one's own machine, one waits in front of it."""


@asynccontextmanager
async def executing(face: Face, address: str) -> AsyncIterator[None]:
    """Run the executors while the block runs; then let them finish what they have begun."""
    logging.getLogger("lightsched.executor.work").setLevel(logging.WARNING)  # types are told of once, by `Unhandled`
    programs = await asyncio.to_thread(installed)
    async with AsyncExitStack() as stack:
        executors = [
            await stack.enter_async_context(program.executor(program.settings.load(server=address, grace=GRACE_MS)))
            for program in programs
        ]
        executors = [executor for executor in executors if executor.routes.types]
        face.unhandled = Unhandled(face, [each for executor in executors for each in _handled(face, executor)])
        tasks = [asyncio.create_task(executor.run(), name=executor.name) for executor in executors]
        watching = asyncio.create_task(face.unhandled.watch(), name="unhandled")
        for task in (*tasks, watching):
            task.add_done_callback(_tell)
        if executors:
            face.node.roles.append("executor")
        log.info("executing %s", ", ".join(sorted(type for executor in executors for type in executor.routes.types)))
        try:
            yield
        finally:
            watching.cancel()
            for executor in executors:
                executor.stop()
            await asyncio.gather(watching, *tasks, return_exceptions=True)


def installed() -> list[Program[Any]]:
    """The executors that are installed."""
    return [entry.load() for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name)]


def _handled(face: Face, executor: Executor) -> list[Handled]:
    topics = (face.names.deliveries if topic == "deliveries" else topic for topic in executor.topics)
    return [Handled(topic, executor.group, frozenset(executor.routes.types)) for topic in topics]


def _tell(task: "asyncio.Task[None]") -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        log.error("%s has ended: it is started again with the server", task.get_name(), exc_info=error)
