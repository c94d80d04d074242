"""How does an executor get its work, and say what became of it?"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from datetime import timedelta
from typing import Any, Literal

from lightsched.client.connected import Connected
from lightsched.client.encoding import encoded, invalid
from lightsched.client.fields import Duration, EventFields, as_json, plain
from lightsched.client.results import Delivery
from lightsched.client.transport import Reading
from lightsched.event.report import ReportStatus
from lightsched.timing import TimingError, parse_duration

WATCHED_AT_ONCE = 100


class Receiving(Connected):
    """What a client does for executors."""

    async def deliveries(
        self,
        topic: str = "deliveries",
        *,
        group: str,
        max: int = 100,
        limit: int | None = None,
        idle: Duration | None = None,
    ) -> AsyncGenerator[Delivery]:
        """What was delivered to a topic, for one group of readers; waits for more.

        Example:
            async for delivery in client.deliveries("deliveries", group="printer", idle="100ms"):
                print(delivery.type, delivery.payload)

        They come `max` at a time, and are acknowledged together when the loop asks for what follows them. What is not
        acknowledged, because the loop or the process ended, comes again: `delivery.delivery` is then the same. The loop
        ends by itself after `limit` of them, or when none came for `idle`. A server that goes away is waited for, once
        it has answered.
        """
        async for delivery in self._deliveries(topic, group, max, limit, idle):
            yield delivery

    async def watch(
        self, topic: str = "deliveries", *, limit: int | None = None, idle: Duration | None = None
    ) -> AsyncGenerator[Delivery]:
        """What is delivered to a topic from now on, only to look at: no group is moved, nothing is acknowledged.

        Example:
            async for delivery in client.watch("deliveries", idle="100ms"):
                print(delivery.due, delivery.id, delivery.payload)
        """
        async for delivery in self._deliveries(topic, None, WATCHED_AT_ONCE, limit, idle):
            yield delivery

    async def _deliveries(
        self, topic: str, group: str | None, at_once: int, limit: int | None, idle: Duration | None
    ) -> AsyncGenerator[Delivery]:
        idle_s = None if idle is None else _seconds("idle", idle)
        async for some in self._transport.deliveries(Reading(topic, group, at_once, limit, idle_s)):
            for delivery in some:
                yield delivery

    async def report(
        self,
        delivery: Delivery | str,
        status: ReportStatus | Literal["CLAIMED", "PROCESSING", "SUCCESS", "RETRIABLE_FAILURE", "FATAL_FAILURE"],
        *,
        token: str | None = None,
        executor: str = "",
        result: Any = None,
        error: str = "",
        retry_in: Duration | None = None,
        then: Sequence[EventFields | Mapping[str, Any]] = (),
    ) -> None:
        """Say what became of a delivery; `then` are events to schedule in the same moment.

        Example:
            async for delivery in client.deliveries("deliveries", group="worker", idle="100ms"):
                await client.report(delivery, "SUCCESS", result={"sent": True})

        Where only its id is at hand, the delivery's `token` is needed too. `ReportIgnored` if it came too late.
        """
        if not isinstance(delivery, str | Delivery):
            raise invalid("delivery", f"{delivery!r:.80} is none: report on it as it came, or by its id")
        name, given = (delivery, "") if isinstance(delivery, str) else (delivery.delivery, delivery.token)
        said: dict[str, Any] = {"delivery": name, "token": token or given, "status": status}
        more = {"executor": executor, "error": error, "retry_in": plain(retry_in), "result": result}
        said.update({field: value for field, value in more.items() if value not in ("", None)})
        if then:
            said["then"] = [_event(event) for event in then]
        await self._transport.report(name, encoded(said))


def _event(fields: Any) -> dict[str, Any]:
    if not isinstance(fields, Mapping):
        raise invalid("then", f"{fields!r:.80} is no event: write a dict with its fields")
    return as_json(fields)


def _seconds(field: str, duration: Duration) -> float:
    if not isinstance(duration, timedelta | str):
        raise invalid(field, f"{duration!r:.80} is no duration: write a timedelta, or a text such as 10s")
    try:
        return parse_duration(plain(duration)) / 1000
    except TimingError as error:
        raise invalid(field, str(error)) from None
