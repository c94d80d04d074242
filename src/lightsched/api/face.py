"""What do the endpoints share? The node, its rules, and what is kept between requests."""

import asyncio
from typing import Annotated
from weakref import WeakValueDictionary

from fastapi import Depends, Request

from lightsched.api.ids import Ids
from lightsched.api.problem import UNAVAILABLE, Refusal
from lightsched.api.together import Together
from lightsched.event.identity import Identity, identity
from lightsched.event.model import Event
from lightsched.event.tenant import home
from lightsched.node.node import Node
from lightsched.store.store import Store


class Face:
    """A node as the endpoints see it."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.settings = node.settings
        self.rules = node.settings.rules(0, node.log.partitions)
        self.limits = self.rules.limits
        self.names = self.limits.names
        self.ids = Ids()
        self.commands = Together(node, self.names.events)
        self.reports = Together(node, self.names.reports)
        self.started_ms = node.clock.wall_ms()
        self.stopping = asyncio.Event()
        self.forecasting = asyncio.Lock()
        # topic and group → held by whoever polls, forgotten when nobody does
        self.readers: WeakValueDictionary[tuple[str, str], asyncio.Lock] = WeakValueDictionary()

    @property
    def now_ms(self) -> int:
        """The present, by the node's clock."""
        return self.node.now_ms

    def home(self, event: Event) -> int:
        """The partition that an event lives in."""
        return home(self.rules.tenant(event.tenant), event, self.node.log.partitions)

    def store_of(self, tenant: str, key: str, id: str) -> tuple[Store, Identity]:
        """The store that holds this event if there is one, and its name there."""
        partition = self.home(Event(id=id, key=key, tenant=tenant))
        return self.node.workers[partition].partition.store, identity(tenant, key, id)


async def running(request: Request) -> Face:
    """The face, while all partitions run; otherwise the request is refused."""
    return running_now(request)


def running_now(request: Request) -> Face:
    """As `running`, for endpoints where every microsecond counts."""
    face: Face = request.app.state.face
    if not face.node.ready:
        raise Refusal(UNAVAILABLE, "This node is starting or stopping: try again in a moment.")
    return face


Running = Annotated[Face, Depends(running)]
