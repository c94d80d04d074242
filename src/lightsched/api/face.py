"""What do the endpoints share? The node, its rules, and what is kept between requests."""

import asyncio
from random import getrandbits
from typing import TYPE_CHECKING, Annotated
from weakref import WeakValueDictionary

from fastapi import Depends, Request

from lightsched.api.audience import Audience
from lightsched.api.lending import Lending
from lightsched.api.problem import UNAVAILABLE, Refusal
from lightsched.api.together import Together
from lightsched.api.turns import LongWork
from lightsched.event.ids import Ids
from lightsched.event.model import Event
from lightsched.event.tenant import home
from lightsched.node.node import Node
from lightsched.store.store import Store

if TYPE_CHECKING:
    from lightsched.api.unhandled import Unhandled

MOST_KEYS = 100
"""Keys that are named where an id has several."""


class Face:
    """A node as the endpoints see it."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.settings = node.settings
        self.rules = node.settings.rules(0, node.log.partitions, tenants=node.tenants)
        self.limits = self.rules.limits
        self.names = self.limits.names
        self.ids = Ids(getrandbits)
        self.commands = Together(node, self.names.events)
        self.reports = Together(node, self.names.reports)
        self.started_ms = node.clock.wall_ms()
        self.stopping = asyncio.Event()
        self.forecasting = asyncio.Lock()
        self.long_work = LongWork(node.settings.http.searches)
        self.deliveries = LongWork(node.settings.http.polls)  # whoever searches does not keep them waiting
        self.polls = 0  # that wait at present
        self.unhandled: Unhandled | None = None  # where executors run beside the server
        self.lending = Lending()
        self.audience = Audience()
        # topic and group → held by whoever polls, forgotten when nobody does
        self.readers: WeakValueDictionary[tuple[str, str], asyncio.Lock] = WeakValueDictionary()

    @property
    def now_ms(self) -> int:
        """The present, by the node's clock."""
        return self.node.now_ms

    def home(self, event: Event) -> int:
        """The partition that an event lives in."""
        return home(self.rules.tenant(event.tenant), event, self.node.log.partitions)

    def keys_of(self, tenant: str, id: str) -> set[str]:
        """The keys under which this node has an event with this id; not all, if there are very many."""
        return {key for store in self.node.stores for key in store.keys_of(tenant, id, MOST_KEYS)}

    def store_of(self, partition: int) -> Store | None:
        """The store of a partition, if it is this node's."""
        worker = self.node.workers.get(partition)
        return None if worker is None else worker.partition.store


async def running(request: Request) -> Face:
    """The face, while it is known who owns what; otherwise the request is refused."""
    return running_now(request)


def running_now(request: Request) -> Face:
    """As `running`, for endpoints where every microsecond counts."""
    face: Face = request.app.state.face
    if not face.node.reachable:
        detail = "This node is starting or stopping, or has lost touch with the brokers: try again in a moment."
        raise Refusal(UNAVAILABLE, detail)
    return face


Running = Annotated[Face, Depends(running)]
