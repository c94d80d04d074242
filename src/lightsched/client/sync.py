"""How does a program without asyncio use lightsched? `SyncClient`: the methods of `Client`, called and waited for.

They run on an event loop in a thread of their own, so a SyncClient works wherever it is called: in several threads, in
a notebook, below a framework with a loop of its own. Each line in the class below is a method of `Client`, with its
arguments and its result; nothing is written twice.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from contextlib import AbstractContextManager
from functools import wraps
from threading import Thread
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from lightsched.client.client import Client
from lightsched.client.errors import CLOSED, Invalid
from lightsched.client.kafka_place import Kafka
from lightsched.client.transaction import Transaction

P = ParamSpec("P")
T = TypeVar("T")
Called = Callable[Concatenate["SyncClient", P], T]


def _waiting(method: Callable[Concatenate[Client, P], Coroutine[Any, Any, T]]) -> Called[P, T]:
    """The same method, which returns when it is done."""

    @wraps(method)
    def call(self: "SyncClient", /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._wait_for(method(self._client, *args, **kwargs))

    call.__doc__ = _without_await(method)
    return call


def _one_by_one(method: Callable[Concatenate[Client, P], AsyncGenerator[T]]) -> Called[P, Iterator[T]]:
    """The same method, whose results are iterated without `async`."""

    @wraps(method)
    def call(self: "SyncClient", /, *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        results = method(self._client, *args, **kwargs)
        try:
            while True:
                yield self._wait_for(results.__anext__())
        except StopAsyncIteration:
            return
        finally:
            if not self._loop.is_closed():
                self._wait_for(_end(results))

    call.__doc__ = _without_await(method)
    return call


async def _end(results: AsyncGenerator[object]) -> None:
    while getattr(results, "ag_running", False):  # noqa: ASYNC110 - it is being cancelled, and says nothing when it is
        await asyncio.sleep(0)
    await results.aclose()


def _without_await(method: Callable[..., object]) -> str:
    return (method.__doc__ or "").replace("await ", "").replace("async ", "")


class SyncClient:
    """A connection to lightsched, for programs without asyncio. Its arguments are those of `Client`.

    Example:
        with SyncClient("http://127.0.0.1:8080") as client:
            client.schedule(id="tea", in_="5m", payload={"text": "Your tea is ready"})
    """

    def __init__(
        self,
        server: str | Kafka | None = None,
        *,
        token: str | None = None,
        tenant: str = "default",
        timeout: float = 30.0,
        retries: int = 5,
    ) -> None:
        self._client = Client(server, token=token, tenant=tenant, timeout=timeout, retries=retries)
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, name="lightsched-client", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the connections; what was sent is sent."""
        if self._loop.is_closed():
            return
        self._wait_for(self._client.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    schedule = _waiting(Client.schedule)
    schedule_many = _waiting(Client.schedule_many)
    send = _waiting(Client.send)
    replace = _waiting(Client.replace)
    change = _waiting(Client.change)
    bulk = _waiting(Client.bulk)
    cancel = _waiting(Client.cancel)
    pause = _waiting(Client.pause)
    resume = _waiting(Client.resume)
    trigger = _waiting(Client.trigger)
    get = _waiting(Client.get)
    list = _one_by_one(Client.list)
    runs = _one_by_one(Client.runs)
    all_runs = _one_by_one(Client.all_runs)
    explain = _waiting(Client.explain)
    preview = _waiting(Client.preview)
    forecast = _waiting(Client.forecast)
    deliveries = _one_by_one(Client.deliveries)
    watch = _one_by_one(Client.watch)
    report = _waiting(Client.report)
    nodes = _waiting(Client.nodes)
    partitions = _waiting(Client.partitions)
    health = _waiting(Client.health)
    dead_letters = _one_by_one(Client.dead_letters)
    dead_letter = _waiting(Client.dead_letter)
    redrive = _waiting(Client.redrive)
    tenants = _waiting(Client.tenants)
    get_tenant = _waiting(Client.get_tenant)
    put_tenant = _waiting(Client.put_tenant)

    def transaction(self) -> AbstractContextManager[Transaction]:
        """All or none of what is asked for in the block; see `Client.transaction`."""
        return _Block(self)

    def _wait_for(self, work: Coroutine[Any, Any, T]) -> T:
        if self._loop.is_closed():
            work.close()  # it was never begun, and would say so
            raise Invalid(CLOSED)
        working = None
        try:
            working = asyncio.run_coroutine_threadsafe(work, self._loop)
            return working.result()
        except BaseException:
            if working is not None:
                working.cancel()  # such as Ctrl-C, in the middle of waiting
            raise


class _Block(AbstractContextManager[Transaction]):
    """Sends what was collected in it when it ends."""

    def __init__(self, client: SyncClient) -> None:
        self._client = client
        self._block = client._client.transaction()  # noqa: SLF001 - its other half

    def __enter__(self) -> Transaction:
        return self._client._wait_for(self._block.__aenter__())  # noqa: SLF001

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client._wait_for(self._block.__aexit__(kind, error, trace))  # noqa: SLF001
