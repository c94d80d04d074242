"""What do clients over REST do meanwhile? They ask random nodes, and remember what they were told.

What was acknowledged must hold; an answer that is not definite, or did not come, means that it may have happened.
"""

import asyncio
import random
import time
from collections import Counter
from dataclasses import dataclass, field

import httpx

PAUSE_S = 0.1
CLIENTS = 10
TIMEOUT = httpx.Timeout(8.0, connect=2.0)


@dataclass
class Told:
    """What a client was told about its event: the definite answers, and whether there were others."""

    scheduled: bool = False
    cancelled: bool = False
    too_late: bool = False
    maybe_cancelled: bool = False


@dataclass
class RestLoad:
    """Clients that schedule events and cancel some of them."""

    urls: list[str]
    keys: list[str]
    random: random.Random
    told: dict[str, Told] = field(default_factory=dict)
    answers: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    async def run(self, stopping: asyncio.Event) -> None:
        async with httpx.AsyncClient(timeout=TIMEOUT, trust_env=False) as http:
            await asyncio.gather(*(self._client(http, stopping) for _ in range(CLIENTS)))

    async def _client(self, http: httpx.AsyncClient, stopping: asyncio.Event) -> None:
        while not stopping.is_set():
            id_ = f"r{len(self.told)}"
            key = self.random.choice(self.keys)
            told = self.told[id_] = Told()
            at = int(time.time() * 1000) + self.random.randrange(300, 6_000)
            if self.random.random() < 0.05:
                at += 10_000  # far enough that a cancel after a takeover is not too late
            status, outcome = await self._ask(http, {"id": id_, "key": key, "at": at, "payload": id_})
            if status == 201 and outcome == "SCHEDULED":
                told.scheduled = True
            elif 0 < status < 500 and status != 202:
                self.wrong.append(f"REST: scheduling {id_}: {status} {outcome}")
            if self.random.random() < 0.3:
                await self._cancel(http, id_, key, told)
            await asyncio.sleep(PAUSE_S)

    async def _cancel(self, http: httpx.AsyncClient, id_: str, key: str, told: Told) -> None:
        status, outcome = await self._ask(http, {"op": "cancel", "id": id_, "key": key})
        if outcome == "CANCELLED":
            told.cancelled = True
        elif outcome == "TOO_LATE":
            told.too_late = True
        elif status == 404:
            if told.scheduled:
                self.wrong.append(f"REST: {id_} was acknowledged, and then there is no such event")
            told.maybe_cancelled = True  # or scheduled only afterwards
        else:
            told.maybe_cancelled = True

    async def _ask(self, http: httpx.AsyncClient, event: dict) -> tuple[int, str]:
        """Any node; the status and the outcome of its answer, (0, "") if there is none."""
        try:
            response = await http.post(f"{self.random.choice(self.urls)}/api/v1/events", json=event)
        except httpx.HTTPError:
            self.answers["none"] += 1
            return 0, ""
        self.answers[str(response.status_code)] += 1
        return response.status_code, response.json().get("outcome", "")
