"""How are deliveries executed? `command.run` by its payload, other types by the program that the settings name."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from msgspec import UNSET

from lightsched import Context, Executor, Fatal, Retry
from lightsched.executor.configured import Program
from lightsched.settings import BadSettings
from lightsched.timing import TimingError, format_utc, parse_duration
from lightsched_command.running import Command, Ended, Limits, run
from lightsched_command.settings import Allowed, CommandSettings

TYPE = "command.run"
CLEAN = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}
MOST_ARGUMENT_BYTES = 64 * 1024
SAID_IN_ERROR = 1_500


class Asked(msgspec.Struct, forbid_unknown_fields=True):
    """The payload of `command.run`. The first of `argv` is a name of the settings, never a path."""

    argv: tuple[str, ...]
    stdin: Any = UNSET
    env: dict[str, str] = {}
    timeout: str | None = None


class Commands:
    """Runs the programs that the settings allow."""

    def __init__(self, settings: CommandSettings) -> None:
        self._programs = settings.programs
        self._output = settings.output

    async def run(self, asked: Asked, context: Context) -> dict[str, Any]:
        """Execute `command.run`."""
        if not asked.argv:
            raise Fatal("`argv` is empty: its first entry names the program")
        name, *arguments = asked.argv
        allowed = self._allowed(name)
        _check(name, allowed, arguments, asked.env)
        timeout_ms = allowed.timeout if asked.timeout is None else min(allowed.timeout, _duration(asked.timeout))
        environment = {**asked.env, **_about(context)}
        return await self._run(name, arguments, _input(asked.stdin), environment, timeout_ms)

    def of(self, name: str) -> Callable[[bytes, Context], Awaitable[dict[str, Any]]]:
        """Execute a type that has a program: the payload is its input."""

        async def start(payload: bytes, context: Context) -> dict[str, Any]:
            return await self._run(name, (), payload, _about(context), self._programs[name].timeout)

        return start

    def _allowed(self, name: str) -> Allowed:
        if name not in self._programs:
            known = ", ".join(sorted(self._programs)) or "none"
            raise Fatal(f"{name[:100]!r} is no program that may be run (there are: {known}): allow it under `programs`")
        return self._programs[name]

    async def _run(
        self, name: str, arguments: Sequence[str], stdin: bytes, environment: Mapping[str, str], timeout_ms: int
    ) -> dict[str, Any]:
        allowed = self._programs[name]
        command = Command(
            (str(allowed.path), *allowed.arguments, *arguments),
            {**CLEAN, **allowed.environment, **environment},
            allowed.folder,
        )
        ended = await run(command, stdin, Limits(timeout_ms / 1000, allowed.grace / 1000, self._output))
        return _judged(name, allowed, ended, timeout_ms)


def _judged(name: str, allowed: Allowed, ended: Ended, timeout_ms: int) -> dict[str, Any]:
    if ended.timed_out:
        raise Retry(_with_errors(f"{name} was killed: it took longer than {timeout_ms / 1000:g} s", ended))
    if ended.code in allowed.success:
        result = {"code": ended.code, "stdout": ended.output.text(), "stderr": ended.errors.text()}
        cut = {"stdout": ended.output.cut, "stderr": ended.errors.cut}
        return {**result, "cut": cut} if any(cut.values()) else result
    said = _with_errors(f"{name} ended with {ended.code}", ended)
    # One that was killed from outside (memory, a machine that stops) did not decide anything itself.
    if ended.code in allowed.retry or ended.code > 128:
        raise Retry(said)
    raise Fatal(said)


def _with_errors(said: str, ended: Ended) -> str:
    errors = ended.errors.tail.decode(errors="replace").strip()
    if len(errors) > SAID_IN_ERROR:
        errors = f"… {errors[-SAID_IN_ERROR:]}"
    return f"{said}: {errors}" if errors else said


def _check(name: str, allowed: Allowed, arguments: Sequence[str], env: Mapping[str, str]) -> None:
    for text in (*arguments, *env.values()):
        if "\0" in text:
            raise Fatal(f"an argument or variable for {name} has a NUL in it")
    if sum(map(len, arguments)) + sum(map(len, env.values())) > MOST_ARGUMENT_BYTES:
        raise Fatal(f"arguments and variables are more than {MOST_ARGUMENT_BYTES} bytes: send them as `stdin`")
    if allowed.accepts is not None:
        for argument in arguments:
            if not allowed.accepts.fullmatch(argument):
                raise Fatal(f"{name} does not accept the argument {argument[:100]!r}")
    if refused := sorted(env.keys() - allowed.env):
        raise Fatal(f"{name} does not let a payload set {', '.join(refused)[:200]}: allow it under `env`")


def _duration(text: str) -> int:
    try:
        return parse_duration(text)
    except TimingError as error:
        raise Fatal(f"timeout: {error}") from None


def _input(stdin: Any) -> bytes:
    """Text as it is, anything else as JSON."""
    if stdin is UNSET:
        return b""
    return stdin.encode() if isinstance(stdin, str) else msgspec.json.encode(stdin)


def _about(context: Context) -> dict[str, str]:
    """What a program may want to know about its run."""
    return {
        "LIGHTSCHED_DELIVERY": context.delivery,
        "LIGHTSCHED_RUN": context.run,
        "LIGHTSCHED_ID": context.id,
        "LIGHTSCHED_TENANT": context.tenant,
        "LIGHTSCHED_DUE": format_utc(int(context.due.timestamp() * 1000)),
        "LIGHTSCHED_ATTEMPT": str(context.attempt),
        "TRACEPARENT": context.traceparent,
    }


@asynccontextmanager
async def executor(settings: CommandSettings) -> AsyncIterator[Executor]:
    """An executor as the settings describe it."""
    commands = Commands(settings)
    made = settings.made()
    made.on(TYPE)(commands.run)
    for type_, name in settings.types.items():
        if name not in settings.programs:
            raise BadSettings(problems=f"types.{type_}: there is no program {name!r} under `programs`")
        made.on(type_)(commands.of(name))
    yield made


program = Program(
    name="command",
    about="Executes `command.run` deliveries: runs the programs that the settings name, and no others.",
    settings=CommandSettings,
    executor=executor,
)
