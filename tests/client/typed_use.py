"""What does a user's type checker see? This is checked by `make lint` and never run.

A line that must be refused has an `ignore`; mypy complains about an `ignore` that is not needed.
"""

from collections.abc import AsyncGenerator, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, assert_type

from lightsched import Client, SyncClient
from lightsched.client import Delivery, Outcome, Preview, Result, ScheduledEvent, Transaction


async def with_asyncio(client: Client) -> None:
    result = await client.schedule(id="a", in_=timedelta(minutes=5), retry={"attempts": 3, "delay": "1m"}, payload=b"x")
    assert_type(result, Result)
    assert_type(result.outcome, Outcome | None)
    assert_type(await client.schedule_many([{"id": "a", "in": "5m"}]), list[Result])
    assert_type(client.list(status="PAUSED"), AsyncGenerator[ScheduledEvent, None])
    assert_type((await client.get("a")).next_execution, datetime | None)
    async with client.transaction() as together:
        assert_type(together, Transaction)
        assert_type(together.schedule(at=datetime.now(UTC)), str)
    await client.schedule(ide="a")  # type: ignore[call-arg]
    await client.schedule(id="a", priority="high")  # type: ignore[arg-type]
    await client.schedule(id="a", in_="5m", overlap="never")  # type: ignore[arg-type]
    await client.change("a", id="b")  # type: ignore[misc]
    await client.report("a", "DONE")  # type: ignore[arg-type]


def without_asyncio(client: SyncClient) -> None:
    assert_type(client.schedule(id="a", in_="5m"), Result)
    assert_type(client.list(labels={"team": "blue"}), Iterator[ScheduledEvent])
    assert_type(client.preview("@daily", n=3), Preview)
    for delivery in client.deliveries("jobs", group="workers"):
        assert_type(delivery, Delivery)
        payload: Any = delivery.payload
        client.report(delivery, "SUCCESS", result=payload)
    with client.transaction() as together:
        together.cancel("a")
    client.schedule(ide="a")  # type: ignore[call-arg]
    client.get("a", key=1)  # type: ignore[arg-type]
    client.deliveries("jobs")  # type: ignore[call-arg]
