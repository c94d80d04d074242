"""How fast does a file get in? From the file to the events topic, beside a producer that does nothing but write.

The bare producer writes the same bytes, to the same partitions, in record batches of the same size with the same
compression: what is left is reading the file twice, checking every event, and giving it an id. Then a file of a
gigabyte, and how much memory that takes.

`python -m benchmarks.files [--tasks N] [--bytes N] [--large BYTES]` needs a broker: it takes the tests' one.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from uuid import uuid4

import psutil
import uvloop
from aiokafka import AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from lightsched.event.murmur2 import murmur2
from lightsched.event.topics import Topics
from lightsched.log.kafka.clients import BATCH_BYTES
from tests.broker.ladder import find_broker

PARTITIONS = 12
UNDER_WAY = 32
FIRST_MS = (int(time.time()) + 30 * 86_400) * 1000


def line(number: int, size: int) -> bytes:
    """An event of so many bytes, with its end of line."""
    event = {
        "at": FIRST_MS + number,
        "payload": {"n": number},
    }
    event["payload"]["text"] = "x" * (size - len(json.dumps(event, separators=(",", ":"))) - 11)
    return json.dumps(event, separators=(",", ":")).encode() + b"\n"


def write(path: Path, tasks: int, size: int) -> None:
    with path.open("wb") as file:
        for start in range(0, tasks, 10_000):
            file.write(b"".join(line(number, size) for number in range(start, min(start + 10_000, tasks))))


async def bare(bootstrap: str, topic: str, path: Path) -> float:
    """Write the lines of a file, and nothing else; seconds."""
    producer = AIOKafkaProducer(
        bootstrap_servers=bootstrap, enable_idempotence=True, compression_type="lz4", max_batch_size=BATCH_BYTES
    )
    await producer.start()
    began_s = time.perf_counter()
    filling = {partition: producer.create_batch() for partition in range(PARTITIONS)}
    sent: set[asyncio.Future] = set()

    async def send(partition: int) -> None:
        nonlocal sent
        filling[partition].close()
        if len(sent) >= UNDER_WAY:
            _, sent = await asyncio.wait(sent, return_when=asyncio.FIRST_COMPLETED)
        sent.add(await producer.send_batch(filling[partition], topic, partition=partition))
        filling[partition] = producer.create_batch()

    with path.open("rb") as file:
        for number, value in enumerate(file, start=1):
            key = b"%016x-%d" % (0, number)
            partition = (murmur2(key) & 0x7FFFFFFF) % PARTITIONS
            if filling[partition].append(timestamp=None, key=key, value=value) is None:
                await send(partition)
                filling[partition].append(timestamp=None, key=key, value=value)
    for partition in range(PARTITIONS):
        await send(partition)
    await asyncio.gather(*sent)
    took_s = time.perf_counter() - began_s
    await producer.stop()
    return took_s


def watch(bootstrap: str, prefix: str, inbox: Path) -> tuple[float, float]:
    """Inject what lies there, with a process of its own; seconds from the first look to the end, and MB resident."""
    config = inbox.parent / "service.yml"
    config.write_text(
        json.dumps(
            {
                "watch": [{"directory": str(inbox), "settle": "1ms"}],
                "inject": {"kafka": {"bootstrap": bootstrap, "prefix": prefix}},
            }
        )
    )
    command = [sys.executable, "-m", "lightsched_files", "--once", "--config", str(config)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    most = 0

    def look() -> None:
        nonlocal most
        while process.poll() is None:
            try:
                most = max(most, psutil.Process(process.pid).memory_info().rss)
            except psutil.NoSuchProcess:
                return
            time.sleep(0.05)

    looking = threading.Thread(target=look)
    looking.start()
    began_s = 0.0
    told = []
    for words in process.stderr:
        told.append(words)
        if "watching" in words:
            began_s = time.perf_counter()
    took_s = time.perf_counter() - began_s
    looking.join()
    if process.wait() or not (inbox / "done" / "events.ndjson").exists():
        sys.exit("".join(told))
    return took_s, most / 1e6


async def topic_for(bootstrap: str) -> str:
    prefix = f"bench-files-{uuid4().hex[:8]}."
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    await admin.create_topics([NewTopic(Topics(prefix).events, PARTITIONS, 1)])
    await admin.close()
    return prefix


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.files", description=__doc__)
    parser.add_argument("--tasks", type=int, default=500_000)
    parser.add_argument("--bytes", type=int, default=300, help="of one task")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--large", type=int, default=1_000_000_000, help="bytes of the large file; 0: none")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        broker = find_broker(Path(folder))
        try:
            measure(broker.bootstrap, Path(folder), options)
        finally:
            broker.close()


def measure(bootstrap: str, folder: Path, options: argparse.Namespace) -> None:
    inbox = folder / "inbox"
    inbox.mkdir()
    source = folder / "source.ndjson"
    write(source, options.tasks, options.bytes)
    prefix = asyncio.run(topic_for(bootstrap))
    rates = {"bare": [], "files": []}
    for number in range(options.rounds):
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            bare_s = runner.run(bare(bootstrap, Topics(prefix).events, source))
        os.link(source, inbox / "source")
        (inbox / "source").rename(inbox / "events.ndjson")
        source.unlink()
        files_s, resident = watch(bootstrap, prefix, inbox)
        (inbox / "done" / "events.ndjson").rename(source)
        rates["bare"].append(options.tasks / bare_s)
        rates["files"].append(options.tasks / files_s)
        print(
            f"round {number + 1}: bare {options.tasks / bare_s:,.0f}/s, files {options.tasks / files_s:,.0f}/s "
            f"({bare_s / files_s:.0%}), {resident:.0f} MB resident",
            flush=True,
        )
    ratio = max(rates["files"]) / max(rates["bare"])
    print(f"best of each: bare {max(rates['bare']):,.0f}/s, files {max(rates['files']):,.0f}/s, {ratio:.0%}")
    if options.large:
        tasks = options.large // options.bytes
        write(inbox / "events.ndjson", tasks, options.bytes)
        took_s, resident = watch(bootstrap, prefix, inbox)
        print(f"a file of {options.large / 1e6:,.0f} MB: {tasks / took_s:,.0f}/s, {resident:.0f} MB resident")


if __name__ == "__main__":
    main()
