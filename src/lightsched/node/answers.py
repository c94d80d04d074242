"""Who waits for which outcome? A batch of commands lies at consecutive offsets; its answers come in that order."""

import asyncio
from collections import defaultdict, deque
from collections.abc import Iterable

from lightsched.engine.step import Answer

_Place = tuple[str, int]
"""Topic and partition."""


class _Batch:
    def __init__(self, first: int, count: int) -> None:
        self.end = first + count
        self.answers: list[Answer] = []
        self.count = count
        self.done: asyncio.Future[list[Answer]] = asyncio.get_running_loop().create_future()


class Answers:
    """The batches that are waited for. One future a batch, however large."""

    def __init__(self) -> None:
        self._waiting: defaultdict[_Place, deque[_Batch]] = defaultdict(deque)

    def expect(self, topic: str, partition: int, first: int, count: int) -> asyncio.Future[list[Answer]]:
        """The answers to the records at these offsets. Call it before the worker can have read them."""
        batch = _Batch(first, count)
        self._waiting[topic, partition].append(batch)
        return batch.done

    def resolve(self, partition: int, answers: Iterable[Answer]) -> None:
        """Hand out what a step has answered."""
        for answer in answers:
            waiting = self._waiting[answer.topic, partition]
            while waiting and waiting[0].end <= answer.offset:
                waiting.popleft()
            if waiting and waiting[0].end - waiting[0].count <= answer.offset:
                batch = waiting[0]
                batch.answers.append(answer)
                if len(batch.answers) == batch.count:
                    waiting.popleft()
                    if not batch.done.done():
                        batch.done.set_result(batch.answers)

    def fail(self, partition: int, error: Exception) -> None:
        """The worker is gone: what its commands came to is not known here."""
        for (_, number), waiting in self._waiting.items():
            if number == partition:
                for batch in waiting:
                    if not batch.done.done():
                        batch.done.set_exception(error)
                waiting.clear()
