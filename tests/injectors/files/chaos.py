"""What survives kill -9 of the watcher? Every task is scheduled once, and nothing is left between folders.

`python -m tests.injectors.files.chaos [--files 200] [--tasks 100000]` (`make chaos-files`) drops files while the
watcher is killed at random points: once through REST, and once through Kafka, whose broker is killed too. Each time a
node delivers what is due, and the deliveries are counted; on Kafka, the records on the events topic as well.

Each file has tasks of every kind that could go wrong twice: without an id and `in` (sent again, it means another time),
with an id, and a recurrence with a trigger (sent again, it fires again).
"""

import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from uuid import uuid4

import httpx
from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition

from lightsched.event.topics import Topics
from tests.api.conftest import address_of, started
from tests.broker.local import LocalCluster
from tests.injectors.files.process import WatcherProcess

PARTITIONS = 3
DRAINED_WITHIN_S = 600
BETWEEN_KILLS_S = 3.0
"""About: so files are dropped as long as there are kills."""
LIVES_S = (0.5, 4.0)
"""Half of the kills come soon, when there is most to do: all that was dropped meanwhile."""
QUIET_S = 3.0
"""So long is waited for what comes twice."""


def content(number: int, tasks: int) -> bytes:
    """A file; what makes a task's deliveries one task is in its payload."""
    lines = [{"id": f"rare-{number}", "cron": "0 0 29 2 *", "payload": f"{number}-trigger"}]
    lines += [{"op": "trigger", "id": f"rare-{number}"}]
    for n in range(tasks - 1):
        when = {"in": "1s"} if n % 2 else {"id": f"mine-{number}-{n}", "at": int(time.time() * 1000) + 1000}
        lines.append({**when, "payload": f"{number}-{n}"})
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


class Drop(threading.Thread):
    """Writes files elsewhere and renames them in, one after the other."""

    def __init__(self, inbox: Path, files: int, tasks: int, pause_s: float) -> None:
        super().__init__()
        self.contents = {f"f{number:04d}.ndjson": content(number, tasks) for number in range(files)}
        self._inbox = inbox
        self._pause_s = pause_s

    def run(self) -> None:
        for name, written in self.contents.items():
            aside = self._inbox.parent / name
            aside.write_bytes(written)
            aside.rename(self._inbox / name)
            time.sleep(self._pause_s)


def chaos(folder: Path, inject: dict, *, files: int, tasks: int, kills: int, seed: int, fault=None) -> dict[str, bytes]:
    """Drop files and kill; what was dropped, once all of it is put away. `fault`: something else that goes wrong."""
    rng = random.Random(seed)
    inbox = folder / "inbox"
    inbox.mkdir()
    settings = {"watch": [{"directory": str(inbox), "settle": "200ms"}], "inject": inject, "rescan": "1s"}
    watcher = WatcherProcess(folder, settings)
    dropping = Drop(inbox, files, tasks // files, pause_s=kills * BETWEEN_KILLS_S / files)
    dropping.start()
    try:
        for number in range(kills):
            watcher.start()
            watcher.wait_for("watching", times=number + 1)
            time.sleep(rng.uniform(0.0, rng.choice(LIVES_S)))
            watcher.kill()
            if fault is not None and number % 3 == 2:
                fault()
        dropping.join()
        watcher.start()
        watcher.wait_for("watching", times=kills + 1)
        watcher.wait_until(lambda: len(list((inbox / "done").iterdir())) == files, within_s=DRAINED_WITHIN_S)
        watcher.wait_until(lambda: not any(name.name.isdigit() for name in (inbox / ".lightsched").iterdir()))
        watcher.stop()
    finally:
        watcher.kill()
        dropping.join()
    check_folders(inbox, dropping.contents)
    return dropping.contents


def check_folders(inbox: Path, dropped: dict[str, bytes]) -> None:
    """Each file is in `done` as it was dropped, and nothing else is anywhere."""
    for where, expected in (
        (inbox, [".lightsched", "done", "failed"]),
        (inbox / ".lightsched", ["journal.json", "lock"]),
    ):
        found = sorted(entry.name for entry in where.iterdir())
        assert found == expected, found
    assert list((inbox / "failed").iterdir()) == []
    assert {entry.name: entry.read_bytes() for entry in (inbox / "done").iterdir()} == dropped


def check_once(found: Counter[str], files: int, tasks: int) -> None:
    expected = {f"{number}-{n}" for number in range(files) for n in [*range(tasks // files - 1), "trigger"]}
    assert set(found) == expected, f"{len(expected - set(found))} are missing, {len(set(found) - expected)} are strange"
    twice = [name for name, times in found.items() if times > 1]
    assert twice == [], f"{len(twice)} came twice, such as {twice[:3]}"


def through_rest(folder: Path, *, files: int, tasks: int, kills: int, seed: int) -> Counter[str]:
    """What was delivered, of each task."""
    with started(folder) as (_, address):
        chaos(folder, {"rest": {"url": address}}, files=files, tasks=tasks, kills=kills, seed=seed)
        found = delivered(address, tasks)
    check_once(found, files, tasks)
    return found


def delivered(address: str, expected: int) -> Counter[str]:
    found: Counter[str] = Counter()
    deadline = time.monotonic() + DRAINED_WITHIN_S
    topic = f"{address}/api/v1/deliveries/lightsched.deliveries"
    with httpx.Client(timeout=60, verify=False) as client:
        while time.monotonic() < deadline:
            page = client.get(topic, params={"group": "checker", "max": 1000, "wait": "3s"}).json()
            if not page["deliveries"] and found.total() >= expected:
                return found
            found.update(delivery["payload"] for delivery in page["deliveries"])
            if page["deliveries"]:
                client.post(f"{topic}/ack", json={"group": "checker", "cursor": page["cursor"]}).raise_for_status()
    return found


def through_kafka(
    folder: Path, bootstrap: str, *, files: int, tasks: int, kills: int, seed: int, fault=None, over=None
) -> Counter[str]:
    """What was delivered, of each task; on the events topic it is once, too. `over`: waits for the end of faults."""
    prefix = f"files-{uuid4().hex[:8]}."
    topics = Topics(prefix)
    place = {"kafka": {"bootstrap": bootstrap, "prefix": prefix, "request_timeout": "5s"}}
    with node_on(bootstrap, prefix, folder):
        chaos(folder, place, files=files, tasks=tasks, kills=kills, seed=seed, fault=fault)
        if over is not None:
            over()
        sent = asyncio.run(appended(bootstrap, topics.events))
        check_once(sent, files, tasks)
        found = asyncio.run(received(bootstrap, topics.deliveries, tasks))
    check_once(found, files, tasks)
    return found


@contextmanager
def node_on(bootstrap: str, prefix: str, folder: Path):
    """A node that delivers, whatever becomes of its broker meanwhile."""
    settings = {name: value for name, value in os.environ.items() if not name.startswith("LIGHTSCHED_")}
    settings |= {
        "LIGHTSCHED_LOG": "kafka",
        "LIGHTSCHED_KAFKA__BOOTSTRAP": bootstrap,
        "LIGHTSCHED_KAFKA__PREFIX": prefix,
        "LIGHTSCHED_KAFKA__GROUP": f"{prefix}group",
        "LIGHTSCHED_KAFKA__PARTITIONS": str(PARTITIONS),
    }
    command = [sys.executable, "-m", "lightsched", "serve", "--data", str(folder / "node"), "--port", "0"]
    said = folder / "node.log"
    with said.open("wb") as sink, subprocess.Popen(command, env=settings, stdout=sink, stderr=sink) as process:
        try:
            address_of(process, said)
            yield
            assert process.poll() is None, f"the node has ended:\n{said.read_text()[-4000:]}"
        finally:
            process.kill()


async def appended(bootstrap: str, topic: str) -> Counter[str]:
    """The tasks whose events, or whose trigger, are on the topic."""
    found: Counter[str] = Counter()
    triggers: Counter[str] = Counter()
    async with reading(bootstrap, topic) as (consumer, places):
        for record in await up_to_the_end(consumer, places):
            event = json.loads(record.value)
            if event.get("op") == "trigger":
                triggers[event["id"]] += 1
            else:
                found[event["payload"]] += 1
    assert triggers == {f"rare-{number}": 1 for number in range(len(triggers))}
    return found


async def received(bootstrap: str, topic: str, expected: int) -> Counter[str]:
    """The tasks that are delivered, when there are enough, and a while later."""
    found: Counter[str] = Counter()
    deadline = time.monotonic() + DRAINED_WITHIN_S
    async with reading(bootstrap, topic) as (consumer, places):
        while found.total() < expected and time.monotonic() < deadline:
            found.update(json.loads(record.value) for record in await up_to_the_end(consumer, places))
            await asyncio.sleep(0.2)
        await asyncio.sleep(QUIET_S)
        found.update(json.loads(record.value) for record in await up_to_the_end(consumer, places))
    return found


@asynccontextmanager
async def reading(bootstrap: str, topic: str):
    consumer = AIOKafkaConsumer(
        bootstrap_servers=bootstrap,
        isolation_level="read_committed",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    )
    await consumer.start()
    try:
        places = [TopicPartition(topic, number) for number in range(PARTITIONS)]
        consumer.assign(places)
        yield consumer, places
    finally:
        await consumer.stop()


async def up_to_the_end(consumer: AIOKafkaConsumer, places: list[TopicPartition]) -> list[ConsumerRecord]:
    found = []
    ends = await consumer.end_offsets(places)
    while any([await consumer.position(place) < ends[place] for place in places]):
        for records in (await consumer.getmany(timeout_ms=1000)).values():
            found += records
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.injectors.files.chaos", description=__doc__)
    parser.add_argument("--files", type=int, default=200)
    parser.add_argument("--tasks", type=int, default=100_000, help="in all files together")
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--through", choices=["rest", "kafka", "both"], default="both")
    options = parser.parse_args()
    load = {name: getattr(options, name) for name in ("files", "tasks", "kills", "seed")}
    if options.through != "kafka":
        with tempfile.TemporaryDirectory() as folder:
            began_s = time.monotonic()
            found = through_rest(Path(folder), **load)
            print(f"REST: {found.total():,} tasks of {options.files} files delivered once each,", end=" ")
            print(f"{options.kills} kills, {time.monotonic() - began_s:.0f} s", flush=True)
    if options.through != "rest":
        with tempfile.TemporaryDirectory() as folder:
            began_s = time.monotonic()
            cluster = LocalCluster(Path(folder) / "kafka")
            restarts: list[threading.Timer] = []

            def restart() -> None:
                for earlier in restarts[-1:]:
                    earlier.join()
                (cluster.stop if len(restarts) % 2 else cluster.kill)()
                restarts.append(threading.Timer(random.Random(len(restarts)).uniform(0.5, 3), cluster.start))
                restarts[-1].start()

            def over() -> None:
                for each in restarts:
                    each.join()

            try:
                found = through_kafka(Path(folder), cluster.bootstrap, **load, fault=restart, over=over)
            finally:
                over()
                cluster.close()
            print(f"Kafka: {found.total():,} tasks of {options.files} files delivered once each,", end=" ")
            print(
                f"{options.kills} kills, {len(restarts)} broker restarts, {time.monotonic() - began_s:.0f} s",
                flush=True,
            )


if __name__ == "__main__":
    sys.exit(main())
