"""What survives kill -9? Everything that was acknowledged, exactly once, and nothing after an acknowledged cancel."""

import os
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from tests.chaos.server import Server

KILLS = int(os.environ.get("LIGHTSCHED_TEST_CRASH_KILLS", "20"))
SEED = int(os.environ.get("LIGHTSCHED_TEST_CRASH_SEED", "1"))
BATCH = 50
PAUSE_S = 0.02
GROUP = "checker"
DRAINED_WITHIN_S = 120


@dataclass
class Load:
    """What clients asked for, and what they were told."""

    url: str
    sent: dict[str, int] = field(default_factory=dict)  # id → due in ms
    scheduled: set[str] = field(default_factory=set)
    cancelled: set[str] = field(default_factory=set)
    doubtful: set[str] = field(default_factory=set)  # the answer to their cancel was lost: either is right
    answers: Counter[str] = field(default_factory=Counter)
    stopping: threading.Event = field(default_factory=threading.Event)

    def run(self, seed: int) -> None:
        """Schedule and cancel until told to stop; a server that is gone is tried again."""
        rng = random.Random(seed)
        number = 0
        with httpx.Client(base_url=self.url, timeout=10) as client:
            while not self.stopping.is_set():
                batch = []
                for _ in range(BATCH):
                    number += 1
                    due_ms = int(time.time() * 1000) + rng.randrange(-200, 3_000)
                    batch.append({"id": f"c{seed}-{number}", "at": due_ms, "payload": {"n": number}})
                self.sent.update((event["id"], event["at"]) for event in batch)
                try:
                    self._schedule(client, batch)
                    self._cancel(client, rng.choice(batch)["id"])
                    time.sleep(PAUSE_S)
                except httpx.TransportError:
                    self.answers["connection lost"] += 1
                    time.sleep(0.05)

    def _schedule(self, client: httpx.Client, batch: list[dict[str, object]]) -> None:
        response = client.post("/api/v1/events", json=batch)
        if response.status_code == 503:
            self.answers["503"] += 1
            return
        assert response.status_code == 201, response.text
        for result in response.json()["results"]:
            self.answers[result["outcome"]] += 1
            assert result["outcome"] == "SCHEDULED", result
            self.scheduled.add(result["id"])

    def _cancel(self, client: httpx.Client, id_: str) -> None:
        self.doubtful.add(id_)
        response = client.delete(f"/api/v1/events/{id_}")
        if response.status_code != 503:
            self.doubtful.remove(id_)
        self.answers[f"cancel {response.status_code}"] += 1
        if response.status_code == 200:
            self.cancelled.add(id_)


def read_all(url: str, expected: set[str]) -> list[dict[str, object]]:
    """All deliveries from the beginning, until those expected are there."""
    found: list[dict[str, object]] = []
    missing = set(expected)
    deadline = time.monotonic() + DRAINED_WITHIN_S
    with httpx.Client(base_url=url, timeout=30) as client:
        while time.monotonic() < deadline:
            page = client.get(
                "/api/v1/deliveries/lightsched.deliveries", params={"group": GROUP, "max": 1000, "wait": "1s"}
            ).json()
            found += page["deliveries"]
            missing -= {str(delivery["id"]) for delivery in page["deliveries"]}
            if page["deliveries"]:
                acked = client.post(
                    "/api/v1/deliveries/lightsched.deliveries/ack", json={"group": GROUP, "cursor": page["cursor"]}
                )
                assert acked.status_code == 204, acked.text
            elif not missing:
                break
    return found


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    made = Server(tmp_path / "data")
    yield made
    made.kill()


def test_acknowledged_events_are_delivered_exactly_once_whatever_is_killed(server: Server) -> None:
    rng = random.Random(SEED)
    server.start()
    load = Load(server.url)
    clients = [threading.Thread(target=load.run, args=(number,)) for number in range(2)]
    for client in clients:
        client.start()
    try:
        for _ in range(KILLS):
            time.sleep(rng.uniform(0.05, 1.5))
            server.kill()
            server.start()
    finally:
        load.stopping.set()
        for client in clients:
            client.join()
    due = load.scheduled - load.cancelled - load.doubtful
    found = read_all(server.url, due)
    metrics = httpx.get(f"{server.url}/metrics").text
    assert server.stop() == 0

    delivered = Counter(str(delivery["id"]) for delivery in found)
    ids = Counter(str(delivery["delivery"]) for delivery in found)
    early = [d for d in found if str(d["delivered_at"]) < str(d["due"])]
    lost = due - set(delivered)
    print(f"kills {KILLS}, sent {len(load.sent)}, acknowledged {len(load.scheduled)}, delivered {len(found)}")
    print(load.answers)
    assert load.scheduled, "no load"
    assert lost == set()
    assert [id_ for id_, times in delivered.items() if times > 1] == []
    assert [id_ for id_, times in ids.items() if times > 1] == []
    assert early == []
    assert load.cancelled & set(delivered) == set()
    assert set(delivered) <= set(load.sent)
    assert 'lightsched_reconciliation_difference{partition="0"} 0.0' in metrics
