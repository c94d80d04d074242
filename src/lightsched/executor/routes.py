"""Which function executes a type? The one for it, else the one for its longest prefix (`email.*`), else that for `*`.

A function takes the payload, and the context if it asks for it: by a parameter annotated `Context`, or named `context`.
"""

import functools
import inspect
from collections.abc import Awaitable, Callable
from typing import Any

from lightsched.errors import LightschedError
from lightsched.executor.context import Context
from lightsched.executor.payloads import Read, reader_of
from lightsched.executor.taken import Taken
from lightsched.executor.threads import Threads

Beat = Callable[[Taken], Awaitable[None]]
Call = Callable[[Taken, Beat], Awaitable[Any]]
Next = Callable[[], Awaitable[Any]]
Middleware = Callable[[Context, Next], Awaitable[Any]]

_threads = Threads()


class BadFunction(LightschedError):
    """{name} cannot execute deliveries: {why}."""


class TypeTaken(LightschedError):
    """{type!r} is already executed by {name}: give each type one function."""


class Routes:
    """The functions of an executor, by type."""

    def __init__(self) -> None:
        self.types: dict[str, Call] = {}
        self._names: dict[str, str] = {}
        self._middleware: list[Middleware] = []
        self._found: dict[bytes, Call | None] = {}

    def add(self, type: str, function: Callable[..., Any]) -> None:
        """Let a function execute a type."""
        name = getattr(function, "__qualname__", repr(function))
        if type in self.types:
            raise TypeTaken(type=type, name=self._names[type])
        if not type or "*" in type[:-1] or (type.endswith("*") and type != "*" and not type.endswith(".*")):
            raise BadFunction(name=name, why=f"{type!r} is no type: write `mail.send`, `mail.*` or `*`")
        self.types[type] = call_of(function, name)
        self._names[type] = name
        self._found.clear()

    def wrap(self, middleware: Middleware) -> None:
        """Let something happen around each function; what was added first is outermost."""
        self._middleware.append(middleware)
        self._found.clear()

    def find(self, type: bytes) -> Call | None:
        """What executes a type."""
        try:
            return self._found[type]
        except KeyError:
            if len(self._found) > 10_000:  # types are few, unless somebody makes them up
                self._found.clear()
            found = self._found[type] = self._look(type.decode(errors="replace"))
            return found

    def _look(self, type: str) -> Call | None:
        call = self.types.get(type)
        prefix = type
        while call is None and prefix:
            prefix = prefix.rpartition(".")[0]
            call = self.types.get(f"{prefix}.*" if prefix else "*")
        if call is not None:
            for middleware in reversed(self._middleware):
                call = _wrapped(middleware, call)
        return call


def _wrapped(middleware: Middleware, inner: Call) -> Call:
    def call(taken: Taken, beat: Beat) -> Awaitable[Any]:
        return middleware(Context(taken, beat), lambda: inner(taken, beat))

    return call


def call_of(function: Callable[..., Any], name: str) -> Call:
    """How a function is called for a delivery. One that is not `async` is called in a thread."""
    read, in_order = _parameters(function, name)
    if not _is_async(function):
        function = _threaded(function)
    if not in_order:
        return lambda _taken, _beat: function()
    if in_order == ("payload",):
        assert read is not None
        return _with_payload(function, read)
    return _with_context(function, read, in_order)


def _with_payload(function: Callable[..., Awaitable[Any]], read: Read) -> Call:
    async def call(taken: Taken, _beat: Beat) -> Any:
        return await function(read(taken))

    return call


def _with_context(function: Callable[..., Awaitable[Any]], read: Read | None, in_order: tuple[str, ...]) -> Call:
    async def call(taken: Taken, beat: Beat) -> Any:
        context = Context(taken, beat)
        if read is None:
            return await function(context)
        if in_order[0] == "context":
            return await function(context, read(taken))
        return await function(read(taken), context)

    return call


def _parameters(function: Callable[..., Any], name: str) -> tuple[Read | None, tuple[str, ...]]:
    """How to read the payload, if it is wanted, and what is passed, in the function's order."""
    try:
        parameters = inspect.signature(function, eval_str=True).parameters.values()
    except NameError as error:
        raise BadFunction(name=name, why=f"an annotation is not known ({error}): define it in its module") from None
    read: Read | None = None
    in_order: list[str] = []
    for each in parameters:
        if each.kind in (each.KEYWORD_ONLY, each.VAR_KEYWORD, each.VAR_POSITIONAL):
            if each.default is each.empty and each.kind is each.KEYWORD_ONLY:
                raise BadFunction(name=name, why=f"nobody passes {each.name!r}: it gets the payload and the context")
        elif each.annotation is Context or (each.name == "context" and each.annotation is each.empty):
            in_order.append("context")
        elif "payload" not in in_order:
            in_order.append("payload")
            try:
                read = reader_of(Any if each.annotation is each.empty else each.annotation)
            except (TypeError, NameError) as error:
                raise BadFunction(name=name, why=f"its payload cannot be {each.annotation!r}: {error}") from None
        elif each.default is each.empty:
            raise BadFunction(name=name, why=f"nobody passes {each.name!r}: it gets the payload and the context")
    return read, tuple(in_order)


def _is_async(function: Callable[..., Any]) -> bool:
    while isinstance(function, functools.partial):
        function = function.func
    called = getattr(function, "__call__", None)  # noqa: B004 - of an object with an async `__call__`
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(called)


def _threaded(function: Callable[..., Any]) -> Callable[..., Awaitable[Any]]:
    return functools.partial(_threads.call, function)
