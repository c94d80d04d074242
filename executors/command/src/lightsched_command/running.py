"""How is a program run? Without a shell, in a clean environment, for so long and no longer, with all that it starts."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from lightsched_command.keeper import NOT_STARTED
from lightsched_command.output import Kept, drain

KEEPER = str(Path(__file__).with_name("keeper.py"))


@dataclass(frozen=True, slots=True)
class Command:
    """What to run: the path of a program and its arguments, the whole of its environment, and where."""

    line: Sequence[str]
    environment: Mapping[str, str]
    folder: Path = Path("/")


@dataclass(frozen=True, slots=True)
class Ended:
    """How it ended."""

    code: int
    """As a shell says it: 128 and the signal, where one killed it; 126 where it could not be started."""
    output: Kept
    errors: Kept
    timed_out: bool

    @property
    def started(self) -> bool:
        """Could it be started at all?"""
        return self.code != NOT_STARTED


@dataclass(frozen=True, slots=True)
class Limits:
    """How long it may take, and how much of what it says is kept at either end."""

    timeout_s: float
    grace_s: float
    output: int


async def run(command: Command, stdin: bytes, limits: Limits) -> Ended:
    """Run a program to its end.

    1. It starts below its keeper, as the leader of a session of its own.
    2. Its input is written, and its output read, at the same time: it may do either first.
    3. At the timeout it is asked to end; after the grace it is killed, with all that it has started.
    4. However this ends, also by being cancelled: the keeper goes last, and by then there is nobody left.
    """
    async with _kept(command) as (process, control):
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        ending = asyncio.gather(
            process.wait(),
            drain(process.stdout, limits.output),
            drain(process.stderr, limits.output),
            _feed(process.stdin, stdin),
        )
        try:
            done, _ = await asyncio.wait([ending], timeout=limits.timeout_s)
            if not done:
                control.ask_to_end()
                await asyncio.wait([ending], timeout=limits.grace_s)
                control.close()
            code, output, errors, _ = await ending
        finally:
            ending.cancel()
        return Ended(code, output, errors, timed_out=not done)


@asynccontextmanager
async def _kept(command: Command) -> AsyncIterator[tuple[asyncio.subprocess.Process, "_Control"]]:
    ours, theirs = os.pipe()[::-1]
    control = _Control(ours)
    try:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-S", KEEPER, str(theirs), *command.line),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=command.folder,
            env=dict(command.environment),
            pass_fds=(theirs,),
            start_new_session=True,
        )
    except BaseException:
        control.close()
        raise
    finally:
        os.close(theirs)
    try:
        yield process, control
    finally:
        control.close()
        await asyncio.shield(process.wait())


async def _feed(pipe: asyncio.StreamWriter, stdin: bytes) -> None:
    with suppress(BrokenPipeError, ConnectionResetError):  # it need not read what it is given
        if not pipe.is_closing():  # it may be over already: uvloop takes nothing for it then, not even nothing
            pipe.write(stdin)
            await pipe.drain()
    pipe.close()
    with suppress(BrokenPipeError, ConnectionResetError):
        await pipe.wait_closed()


class _Control:
    """The end of the pipe whose closing means: kill it all."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor: int | None = descriptor

    def ask_to_end(self) -> None:
        """SIGTERM."""
        assert self._descriptor is not None
        with suppress(BrokenPipeError):
            os.write(self._descriptor, b"T")

    def close(self) -> None:
        """SIGKILL, to all of them."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
