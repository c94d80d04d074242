"""What can be looked at? Events, their runs and their story; what is to come; nodes and partitions."""

import builtins
from collections.abc import AsyncGenerator, Collection
from typing import Unpack

from lightsched.client.connected import Connected, path_of
from lightsched.client.encoding import encoded
from lightsched.client.fields import Duration, Filter, Time, Window, Zone, as_json, plain, query_of
from lightsched.client.results import (
    EventRun,
    EventRuns,
    Events,
    Explanation,
    Forecast,
    Health,
    Minute,
    Node,
    Nodes,
    Partition,
    Partitions,
    Preview,
    Run,
    Runs,
    ScheduledEvent,
)
from lightsched.event.status import Status

PAGE = 200


class Looking(Connected):
    """What a client can see."""

    async def get(self, id: str, *, tenant: str | None = None, key: str | None = None) -> ScheduledEvent:
        """Look at an event: its definition, its status, when it fires next.

        Example:
            event = await client.get("stand-up")
            print(event.schedule_text, event.next_execution)
        """
        return await self._transport.ask(path_of(id), ScheduledEvent, self._which(tenant, key))

    async def list(self, **which: Unpack[Filter]) -> AsyncGenerator[ScheduledEvent]:
        """The events that match, read page by page as they are asked for. The tenant `*` means all.

        Example:
            async for event in client.list(labels={"team": "blue"}, status="NOT_STARTED"):
                print(event.id, event.next_execution)
        """
        query = {**query_of(which, self.tenant), "limit": PAGE}
        cursor: str | None = ""
        while cursor is not None:
            page = await self._transport.ask("/events", Events, {**query, "cursor": cursor or None})
            for event in page.events:
                yield event
            cursor = page.cursor

    async def runs(self, id: str, *, tenant: str | None = None, key: str | None = None) -> AsyncGenerator[Run]:
        """The runs of an event, newest first, unfinished ones included.

        Example:
            async for run in client.runs("stand-up"):
                print(run.due, run.status, run.error)
        """
        cursor: str | None = ""
        while cursor is not None:
            query = {**self._which(tenant, key), "limit": PAGE, "cursor": cursor or None}
            page = await self._transport.ask(f"{path_of(id)}/runs", Runs, query)
            for run in page.runs:
                yield run
            cursor = page.cursor

    async def all_runs(
        self,
        *,
        tenant: str | None = None,
        status: Status | str | Collection[Status | str] = (),
        type: str | None = None,
        from_: Time | None = None,
        to: Time | None = None,
    ) -> AsyncGenerator[EventRun]:
        """The finished runs of all events, those that ended last first. The tenant `*` means all.

        Example:
            async for run in client.all_runs(status="FATAL_FAILURE"):
                print(run.id, run.due, run.error)
        """
        query = {
            **query_of({"tenant": tenant or self.tenant, "status": status, "type": type}, self.tenant),
            "from": plain(from_),
            "to": plain(to),
            "limit": PAGE,
        }
        cursor: str | None = ""
        while cursor is not None:
            page = await self._transport.ask("/runs", EventRuns, {**query, "cursor": cursor or None})
            for run in page.runs:
                yield run
            cursor = page.cursor

    async def explain(self, id: str, *, tenant: str | None = None, key: str | None = None) -> Explanation:
        """Why it fired, or did not, in words.

        Example:
            for reason in (await client.explain("stand-up")).reasons:
                print(reason.at, reason.text)
        """
        return await self._transport.ask(f"{path_of(id)}/explain", Explanation, self._which(tenant, key))

    async def preview(
        self,
        cron: str | None = None,
        *,
        every: Duration | None = None,
        timezone: Zone = "UTC",
        window: Window | None = None,
        from_: Time | None = None,
        n: int = 10,
    ) -> Preview:
        """When a schedule would fire, before relying on it.

        Example:
            preview = await client.preview("30 9 * * mon-fri", timezone="Europe/Paris", n=3)
            print(preview.text, [time.local for time in preview.times])
        """
        query = as_json({"cron": cron, "every": every, "timezone": timezone, "from": from_, "n": n})
        if window is not None:
            query["window"] = encoded(plain(window)).decode()
        return await self._transport.ask("/preview", Preview, query)

    async def forecast(self, minutes: int = 60) -> builtins.list[Minute]:
        """How many events are due in each of the coming minutes.

        Example:
            busiest = max(await client.forecast(60), key=lambda minute: minute.pending)
        """
        return (await self._transport.ask("/forecast", Forecast, {"minutes": minutes})).minutes

    async def nodes(self) -> builtins.list[Node]:
        """The nodes of the cluster.

        Example:
            print([node.id for node in await client.nodes()])
        """
        return (await self._transport.ask("/nodes", Nodes)).nodes

    async def partitions(self) -> builtins.list[Partition]:
        """The partitions: who owns them, and how far they are.

        Example:
            pending = sum(partition.pending for partition in await client.partitions())
        """
        return (await self._transport.ask("/partitions", Partitions)).partitions

    async def health(self) -> Health:
        """Is the server ready? `Unavailable` if it is not.

        Example:
            print((await client.health()).version)
        """
        return await self._transport.ask("/readyz", Health)
