"""How do many small requests cost little? Commands that arrive in the same turn of the event loop go in together.

Each of them would be a write of its own to the log; together they are one, and have one wait for their outcomes.
"""

import asyncio

from lightsched.engine.step import Answer
from lightsched.event.record import Record
from lightsched.node.node import Node

_Waiting = list[tuple[Record, asyncio.Future[Answer]]]


class Together:
    """Hands single commands to a node, in the order in which they come."""

    def __init__(self, node: Node, topic: str) -> None:
        self._node = node
        self._topic = topic
        self._waiting: dict[int, _Waiting] = {}
        self._sending: set[asyncio.Task[None]] = set()

    def submit(self, partition: int, record: Record) -> asyncio.Future[Answer]:
        """The outcome of one command."""
        loop = asyncio.get_running_loop()
        outcome: asyncio.Future[Answer] = loop.create_future()
        if not self._waiting:
            loop.call_soon(self._send_all)
        self._waiting.setdefault(partition, []).append((record, outcome))
        return outcome

    def _send_all(self) -> None:
        waiting, self._waiting = self._waiting, {}
        for partition, some in waiting.items():
            sending = asyncio.create_task(self._send(partition, some))
            self._sending.add(sending)  # the loop itself would let go of it
            sending.add_done_callback(self._sending.discard)

    async def _send(self, partition: int, some: _Waiting) -> None:
        try:
            answers = await self._node.commands.submit(self._topic, [(partition, record) for record, _ in some])
        except Exception as error:  # noqa: BLE001 - whatever it was, those who wait are told
            for _, outcome in some:
                if not outcome.done():
                    outcome.set_exception(error)
            return
        for (_, outcome), answer in zip(some, answers, strict=True):
            if not outcome.done():
                outcome.set_result(answer)
