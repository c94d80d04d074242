"""Who waits for which outcome? A batch of commands lies at consecutive offsets; its answers come in that order."""

import asyncio
from bisect import bisect_left
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import groupby
from operator import attrgetter

from lightsched.engine.step import Answer
from lightsched.errors import LightschedError

_Place = tuple[str, int]
"""Topic and partition."""
_topic, _offset = attrgetter("topic"), attrgetter("offset")


class NotAnswered(LightschedError):
    """The outcome was not heard: ask for the event to see what became of it."""


class _Batch:
    def __init__(self, first: int, count: int) -> None:
        self.first = first
        self.end = first + count
        self.answers: list[Answer] = []
        self.count = count
        self.done: asyncio.Future[list[Answer]] = asyncio.get_running_loop().create_future()


class Answers:
    """The batches that are waited for. One future a batch, however large."""

    def __init__(self) -> None:
        self._waiting: defaultdict[_Place, deque[_Batch]] = defaultdict(deque)
        self._appending: defaultdict[_Place, dict[object, int]] = defaultdict(dict)
        self._early: defaultdict[_Place, deque[Answer]] = defaultdict(deque)
        self._dropped: Counter[_Place] = Counter()  # early answers that nobody can be waiting for any more

    @contextmanager
    def appending(self, topic: str, partition: int) -> Iterator[None]:
        """Records are being appended: a worker may answer them before their offsets are known here.

        Answers are kept from the begin of the oldest append that is under way, and no longer.
        """
        place, token = (topic, partition), object()
        under_way, early = self._appending[place], self._early[place]
        under_way[token] = self._dropped[place] + len(early)
        try:
            yield
        finally:
            del under_way[token]
            oldest = min(under_way.values(), default=self._dropped[place] + len(early))
            while self._dropped[place] < oldest:
                early.popleft()
                self._dropped[place] += 1

    def expect(self, topic: str, partition: int, first: int, count: int) -> asyncio.Future[list[Answer]]:
        """The answers to the records at these offsets."""
        batch = _Batch(first, count)
        place = topic, partition
        batch.answers += [answer for answer in self._early.get(place, ()) if first <= answer.offset < batch.end]
        if len(batch.answers) == count:
            batch.done.set_result(batch.answers)
        else:
            waiting = self._waiting[place]
            waiting.append(batch)
            if len(waiting) > 1 and waiting[-2].end > first:  # appended first, answered by the broker later
                self._waiting[place] = deque(sorted(waiting, key=lambda each: each.end))
        return batch.done

    def resolve(self, partition: int, answers: Iterable[Answer]) -> None:
        """Hand out what a step has answered: of each topic in the order of its offsets."""
        for topic, some in groupby(answers, _topic):
            self._hand_out((topic, partition), list(some))

    def _hand_out(self, place: _Place, answers: list[Answer]) -> None:
        waiting = self._waiting[place]
        if self._appending.get(place):
            self._early[place].extend(answers)
        at = 0
        while waiting and at < len(answers):
            batch = waiting[0]
            start = bisect_left(answers, batch.first, at, key=_offset)
            at = bisect_left(answers, batch.end, start, key=_offset)
            batch.answers += answers[start:at]
            whole = len(batch.answers) == batch.count
            if not whole and at == len(answers):
                return  # the rest of it comes with the next step
            waiting.popleft()
            if batch.done.done():
                continue
            if whole:
                batch.done.set_result(batch.answers)
            else:
                batch.done.set_exception(NotAnswered())

    def fail(self, partition: int, error: Exception) -> None:
        """The worker is gone: what its commands came to is not known here."""
        for (_, number), waiting in self._waiting.items():
            if number == partition:
                for batch in waiting:
                    if not batch.done.done():
                        batch.done.set_exception(error)
                waiting.clear()
