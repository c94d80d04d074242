"""How are deliveries executed? `http.request` by its payload, other types by the URL that the settings have."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import httpcore
from pydantic import SecretStr

from lightsched import Context, Executor, Fatal, Retry
from lightsched.executor.configured import Program
from lightsched_http.address import BadUrl
from lightsched_http.answer import Verdict, Verdicts, kept_body, kept_headers, retry_after_s
from lightsched_http.guard import NotAllowed, NotResolved
from lightsched_http.request import Asked, BadRequest, Request, request, requested
from lightsched_http.sender import Answer, Sender
from lightsched_http.settings import Endpoint, HttpSettings
from lightsched_http.signature import message_id, secret, signed

TYPE = "http.request"


class Requests:
    """Sends what deliveries ask for, and judges the answers."""

    def __init__(self, sender: Sender, settings: HttpSettings) -> None:
        self._sender = sender
        self._settings = settings
        self._verdict = Verdicts(settings.success, settings.retry)
        self._secrets = _keys(settings.secrets)

    async def ask(self, asked: Asked, context: Context) -> dict[str, Any]:
        """Execute `http.request`."""
        return await self._send(lambda: requested(asked), self._secrets, context)

    def to(self, endpoint: Endpoint) -> Callable[[bytes, Context], Awaitable[dict[str, Any]]]:
        """Execute a type that has a URL: the payload goes there as it is."""
        secrets = self._secrets if endpoint.secrets is None else _keys(endpoint.secrets)

        async def post(payload: bytes, context: Context) -> dict[str, Any]:
            content_type = context.headers.get("content-type", "")
            return await self._send(
                lambda: request(endpoint.url, endpoint.method, endpoint.headers, payload, content_type),
                secrets,
                context,
            )

        return post

    async def _send(self, make: Callable[[], Request], secrets: Sequence[bytes], context: Context) -> dict[str, Any]:
        timeout_s = self._settings.timeout / 1000
        if context.timeout is not None:
            timeout_s = min(timeout_s, context.timeout.total_seconds())
        try:
            made = make()
            ready = made._replace(headers={**self._own(context, made.body, secrets), **made.headers})
            answer = await self._sender.send(ready, timeout_s)
        except (BadUrl, BadRequest, NotAllowed) as error:
            raise Fatal(str(error)) from None
        except NotResolved as error:
            raise Retry(str(error)) from None
        except TimeoutError:
            raise Retry(f"{made.url.authority} took longer than {timeout_s:g} s") from None
        except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException) as error:
            raise Retry(f"{made.url.authority}: {_in_words(error)}") from None
        return self._judged(answer, made)

    def _own(self, context: Context, body: bytes, secrets: Sequence[bytes]) -> Mapping[str, str]:
        own = {"user-agent": self._settings.user_agent, "traceparent": context.traceparent}
        message = message_id(context.run)
        return own | (signed(message, int(time.time()), body, secrets) if secrets else {"webhook-id": message})

    def _judged(self, answer: Answer, made: Request) -> dict[str, Any]:
        verdict = self._verdict(answer.status)
        if verdict is Verdict.SUCCESS:
            body = kept_body(answer.body, answer.header(b"content-type"), whole=answer.whole)
            return {"status": answer.status, "headers": kept_headers(answer.headers), **body}
        said = f"{made.method} {made.url.authority}: {answer.status} {_extract(answer.body)}".rstrip()
        if verdict is Verdict.RETRY:
            most_s = self._settings.retry_after / 1000
            wait_s = retry_after_s(answer.header(b"retry-after"), datetime.now(UTC), most_s)
            raise Retry(said, in_=timedelta(seconds=max(wait_s, 0.001)) if wait_s is not None else None)
        if 300 <= answer.status < 400:
            raise Fatal(f"{said} (redirects are not followed: ask {answer.header(b'location')[:500]!r} itself)")
        raise Fatal(said)


@asynccontextmanager
async def executor(settings: HttpSettings) -> AsyncIterator[Executor]:
    """An executor as the settings describe it."""
    async with Sender(settings) as sender:
        requests = Requests(sender, settings)
        made = settings.made()
        made.on(TYPE)(requests.ask)
        for type_, endpoint in settings.types.items():
            made.on(type_)(requests.to(endpoint))
        yield made


program = Program(
    name="http",
    about="Executes `http.request` deliveries, and sends those of other types to the URL that the settings have.",
    settings=HttpSettings,
    executor=executor,
)


def _keys(secrets: Sequence[SecretStr]) -> list[bytes]:
    return [secret(each.get_secret_value()) for each in secrets]


def _in_words(error: Exception) -> str:
    return str(error) or f"the connection failed ({type(error).__name__})"


def _extract(body: bytes) -> str:
    """The beginning of an answer, in one line: often it says what was wrong."""
    return " ".join(body[:300].decode(errors="replace").split())[:200]
