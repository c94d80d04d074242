"""How does a client talk to a server? REST; what was lost on the way is asked again, if that cannot do anything twice.

A command has an `Idempotency-Key`: sent again, it is answered again and does nothing, whatever others have done to its
event meanwhile. Of many, a key is only sent with those that need it, since each event would have to remember it: the
others are answered UNCHANGED, as their ids were fixed before. What cannot have a key and would do something twice, such
as a change with `in`, is sent again only where it is certain that nothing has arrived; otherwise `OutcomeUnknown` says
so.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from functools import partial
from itertools import count
from typing import Any, Literal, NamedTuple, TypeVar
from uuid import uuid4

import httpx
import msgspec

from lightsched.client.any_json import NOT_JSON, read_as
from lightsched.client.connected import path_of
from lightsched.client.encoding import encoded, quoted
from lightsched.client.errors import CLOSED, ClientError, Invalid, OutcomeUnknown, ServerFailed, Unreachable, refusal
from lightsched.client.fields import Prepared
from lightsched.client.patience import Patience, Told
from lightsched.client.results import Deliveries, Delivery, ReportAnswer, ReportAnswers, Result, Results
from lightsched.client.retrying import pause_s
from lightsched.client.transport import Reading
from lightsched.event.model import Op

T = TypeVar("T")
App = Callable[[Any, Any, Any], Awaitable[None]]
Body = Literal["application/json", "application/x-ndjson"]

BASE = "/api/v1"
CHUNK = 1_000
"""Events that are sent in one request."""
CHUNK_BYTES = 4 * 1024 * 1024
MOST_UNDER_A_KEY = 8
"""Commands for one event in a request: more of them it does not remember."""
_LONGEST_WAIT_S = 30.0
_TO_CONNECT_S = 5.0
_AGAIN = frozenset({502, 503, 504})
_WITHOUT_BASE = frozenset({"/healthz", "/readyz"})
_HAD_ARRIVED = frozenset({"repeated", "finished"})
"""Why a report changes nothing if it was taken before."""


class Rest:
    """A client's way to a server."""

    def __init__(self, server: str, token: str, timeout_s: float, retries: int, app: App | None = None) -> None:
        """`app`: the server, where it is an ASGI app in this process: then nothing goes over the network."""
        self._server = server.rstrip("/").removesuffix(BASE).rstrip("/")  # some copy it with where the API begins
        self._retries = retries
        self._timeout_s = timeout_s
        self.told: Told = _nobody  # who wants to know when a server that is listened to goes away and comes back
        self.shapes: Mapping[type, type] = {}  # in which answers are read, where not in the one that was asked for
        if not (token.isascii() and token.isprintable()):
            raise Invalid("The token has characters that a request cannot carry: take it as it was given to you.")
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        secure = self._server.startswith("https:")  # reading the authorities takes long, and http has no use for them
        self._http = httpx.AsyncClient(
            headers=headers,
            verify=secure,
            timeout=httpx.Timeout(timeout_s, connect=_TO_CONNECT_S),
            transport=None if app is None else httpx.ASGITransport(app),
        )

    async def command(self, command: Prepared) -> Result:
        """Send one command."""
        if command.op is Op.SCHEDULE:
            answer = await self._post([command], command.body, always=True)
            return self._read(answer, Result)
        query = {"tenant": command.tenant, "key": command.key}
        path = path_of(command.id)
        why: str = msgspec.json.decode(command.body).get("reason", "")
        if command.op is Op.CANCEL:
            answer = await self._ask("DELETE", path, {**query, "reason": why or None})
        else:
            reason = encoded({"reason": why}) if why else b""
            answer = await self._ask(
                "POST", f"{path}/{command.op}", query, reason, headers={"Idempotency-Key": uuid4().hex}
            )
        return self._read(answer, Result)

    async def send(self, commands: Sequence[Prepared], once: str = "") -> list[Result]:
        """Send many, in as many requests as it takes."""
        results: list[Result] = []
        for chunk in _chunks(commands):
            name = once and f"{once}-{len(results)}"
            some = await self._send_chunk(chunk, name)
            some = await (self._repeat(chunk, some, name) if name else self._ask_again(chunk, some))
            results += [_placed(result, len(results) + place) for place, result in enumerate(some)]
        return results

    async def _send_chunk(self, chunk: Sequence[Prepared], once: str = "") -> list[Result]:
        body = b"\n".join(command.body for command in chunk)
        answer = await self._post(chunk, body, content_type="application/x-ndjson", once=once)
        return self._read(answer, Results).results

    async def _repeat(self, chunk: Sequence[Prepared], results: list[Result], once: str) -> list[Result]:
        """Send all of it again under its name, where some could not be heard of."""
        for tries in range(1, self._retries + 1):
            if all(result.outcome or not result.error for result in results):
                break
            await asyncio.sleep(pause_s(tries) or 0)
            results = await self._send_chunk(chunk, once)
        return results

    async def _ask_again(self, chunk: Sequence[Prepared], results: list[Result]) -> list[Result]:
        """Send again what could not be heard of: what is repeatable, and not overtaken by another about its event."""
        named = Counter((command.tenant, command.key, command.id) for command in chunk)
        alone = [command.repeatable and named[command.tenant, command.key, command.id] == 1 for command in chunk]
        for tries in range(1, self._retries + 1):
            lost = [n for n, result in enumerate(results) if result.outcome is None and result.error and alone[n]]
            if not lost:
                break
            await asyncio.sleep(pause_s(tries) or 0)
            for n, result in zip(lost, await self._send_chunk([chunk[n] for n in lost]), strict=True):
                results[n] = result
        return results

    async def send_together(self, commands: Sequence[Prepared]) -> list[Result]:
        """Send all in one request."""
        body = b"[" + b",".join(command.body for command in commands) + b"]"
        answer = await self._post(commands, body, {"atomic": "true"}, always=True)
        return self._read(answer, Results).results

    async def _post(
        self,
        commands: Sequence[Prepared],
        body: bytes,
        query: Mapping[str, Any] | None = None,
        content_type: Body = "application/json",
        once: str = "",
        *,
        always: bool = False,
    ) -> bytes:
        """`once`: under this key. Otherwise under one of its own, `always` or where it is needed."""
        repeatable = all(command.repeatable for command in commands)
        if not once and (always or not repeatable) and _can_be_remembered(commands):
            once = uuid4().hex
        headers = {"Idempotency-Key": once} if once else {}
        return await self._ask(
            "POST", "/events", query, body, content_type, headers=headers, repeatable=repeatable or bool(once)
        )

    async def deliveries(self, reading: Reading) -> AsyncGenerator[list[Delivery]]:
        """Poll, and acknowledge; without a group, go on from where the last answer ended."""
        group, patience = reading.group, Patience(reading.idle_s, _LONGEST_WAIT_S, self.told)
        seen, cursor = 0, None

        async def poll() -> Deliveries:
            wait_s = patience.wait_s
            query = {"group": group, "max": most, "wait": f"{int(wait_s * 1000)}ms", "cursor": cursor}
            return await self.poll(reading.topic, Deliveries, query, wait_s)

        while not patience.ends and (most := reading.next_most(seen)):
            try:
                page = await patience.ask(poll)
            except ClientError:
                if patience.ends:  # nothing has come for so long, whyever
                    return
                raise
            patience.heard(something=bool(page.deliveries))
            seen += len(page.deliveries)
            if page.deliveries:
                yield page.deliveries
            if group is None:
                cursor = page.cursor
            elif page.deliveries:
                await patience.ask(partial(self.acknowledge, reading.topic, group, page.cursor))

    async def poll(self, topic: str, shape: type[T], query: Mapping[str, Any], wait_s: float) -> T:
        """One long poll."""
        return self._read(await self._ask("GET", _deliveries(topic), query, wait_s=wait_s), shape)

    async def acknowledge(self, topic: str, group: str, cursor: str) -> None:
        """A group is done with everything up to a cursor."""
        await self._ask("POST", f"{_deliveries(topic)}/ack", body=encoded({"group": group, "cursor": cursor}))

    async def leave(self, topic: str, group: str, reader: str) -> None:
        """A reader of a group is gone."""
        await self._ask("DELETE", _deliveries(topic), {"group": group, "reader": reader})

    async def report(self, delivery: str, body: bytes) -> None:  # noqa: ARG002 - the body names it too
        """Say what became of a delivery."""
        await self._ask("POST", "/reports", body=body)

    async def report_many(self, bodies: Sequence[bytes]) -> "list[ReportAnswer]":
        """Say what became of many deliveries, in one request; one answer each, in their order."""
        # An array, not lines: a payload in `then` is passed on as it is, and may have more than one.
        answer = await self._ask("POST", "/reports", body=b"[" + b",".join(bodies) + b"]")
        return self._read(answer, ReportAnswers).results

    async def ask(
        self,
        path: str,
        shape: type[T],
        query: Mapping[str, Any] | None = None,
        *,
        method: str = "GET",
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
        repeatable: bool = True,
    ) -> T:
        """Ask for something."""
        answer = await self._ask(method, path, query, body, headers=headers, repeatable=repeatable)
        return self._read(answer, shape)

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def _ask(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any] | None = None,
        body: bytes = b"",
        content_type: Body = "application/json",
        *,
        headers: Mapping[str, str] | None = None,
        repeatable: bool = True,
        wait_s: float = 0.0,
    ) -> bytes:
        """The body of the answer; asked again where the way was the problem."""
        try:
            request = self._http.build_request(
                method,
                self._server + (path if path in _WITHOUT_BASE else BASE + path),
                params={name: value for name, value in (query or {}).items() if value is not None},
                content=body,
                headers={**({"Content-Type": content_type} if body else {}), **(headers or {})},
                timeout=httpx.Timeout(self._timeout_s + wait_s, connect=_TO_CONNECT_S),
            )
        except (TypeError, ValueError, httpx.InvalidURL) as error:
            raise Invalid(f"{method} {path} cannot be asked for ({error}): correct what was given.") from None
        unsure = False
        for tries in count(1):
            answer = await self._try(request)
            if isinstance(answer, bytes):
                return answer
            if unsure and answer.error.reason in _HAD_ARRIVED:
                return b""  # the report that was thought to be lost
            if answer.again and answer.arrived and not repeatable:
                raise _unknown(answer.error) from answer.error
            pause = pause_s(tries, answer.retry_after) if answer.again and tries <= self._retries else None
            if pause is None:
                raise answer.error
            unsure = unsure or answer.arrived
            await asyncio.sleep(pause)
        raise AssertionError("the last try returns or raises")

    async def _try(self, request: httpx.Request) -> "bytes | _Failed":
        if self._http.is_closed:
            raise Invalid(CLOSED)
        try:
            response = await self._http.send(request)
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout) as error:
            return _Failed(_unreachable(self._server, error), again=True, arrived=False)
        except httpx.TransportError as error:
            return _Failed(_unreachable(self._server, error), again=True, arrived=True)
        if response.is_success:
            return response.content
        status, retry_after = response.status_code, response.headers.get("Retry-After", "")
        refused = refusal(status, response.content, str(request.url))
        if status == 429:  # nothing was done; when it will be, only the server knows
            return _Failed(refused, again=bool(retry_after), arrived=False, retry_after=retry_after)
        return _Failed(refused, again=status in _AGAIN, arrived=True, retry_after=retry_after)

    def _read(self, answer: bytes, shape: type[T]) -> T:
        try:
            return read_as(answer, self.shapes.get(shape, shape))
        except NOT_JSON as error:
            said = answer[:200].decode(errors="replace")
            raise ServerFailed(f"The answer is not lightsched's ({error}): {said}. Is it the right address?") from None


def _nobody(_error: ClientError | None) -> None:
    pass


def _can_be_remembered(commands: Sequence[Prepared]) -> bool:
    """Are there no more for any event than it remembers? The server refuses the others, under a key."""
    named = Counter((command.tenant, command.key or command.id, command.id) for command in commands)
    return max(named.values(), default=0) <= MOST_UNDER_A_KEY


def _deliveries(topic: str) -> str:
    return f"/deliveries/{quoted('topic', topic)}"


class _Failed(NamedTuple):
    """A try that failed: is it worth another one, and may the request have been carried out all the same?"""

    error: ClientError
    again: bool
    arrived: bool
    retry_after: str = ""


def _unreachable(server: str, error: Exception) -> Unreachable:
    why = str(error) or type(error).__name__
    return Unreachable(
        f"{server} does not answer ({why}): is lightsched running there? `lightsched dev` starts one here."
    )


def _unknown(error: ClientError) -> OutcomeUnknown:
    return OutcomeUnknown(
        f"{error} Whether it was carried out is not known, and asking again could do it twice: look at the event first."
    )


def _placed(result: Result, place: int) -> Result:
    """With its place among all that were sent, not only among those of its request."""
    return result if result.index is None else msgspec.structs.replace(result, index=place)


def _chunks(commands: Sequence[Prepared]) -> list[list[Prepared]]:
    chunks: list[list[Prepared]] = []
    size = 0
    for command in commands:
        size += len(command.body)
        if not chunks or len(chunks[-1]) == CHUNK or size > CHUNK_BYTES:
            chunks.append([])
            size = len(command.body)
        chunks[-1].append(command)
    return chunks
