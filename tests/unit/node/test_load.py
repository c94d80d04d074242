"""How much does a node have to do?"""

import asyncio
from types import SimpleNamespace

from lightsched.event.record import Record
from lightsched.node.load import Burden
from lightsched.node.node import Node
from lightsched.node.settings import Settings


def worker(pending=0, lag=0, in_flight=0):
    store = SimpleNamespace(pending=lambda: pending, in_flight_runs=in_flight)
    return SimpleNamespace(partition=SimpleNamespace(store=store, lag=lag))


def test_the_load_is_what_its_partitions_hold_and_what_it_did_since_the_last_look():
    workers, clock = {}, SimpleNamespace(now=100.0, cpu=5.0, fired=10)
    burden = Burden(workers, lambda: clock.fired, lambda: clock.now, lambda: clock.cpu)
    assert burden.load().seconds == 0
    workers |= {0: worker(pending=7, lag=1), 1: worker(pending=3, in_flight=2)}
    clock.now += 2
    load = burden.load()
    assert (load.pending, load.lag, load.in_flight) == (10, 1, 2)
    assert load.fired_per_s == 0, "it was before"
    clock.now, clock.cpu, clock.fired = clock.now + 4, clock.cpu + 1, clock.fired + 10
    load = burden.load()
    assert (load.fired_per_s, load.cpu, load.seconds) == (2.5, 0.25, 4.0)


def test_looks_that_follow_each_other_at_once_do_not_measure_anew():
    clock = SimpleNamespace(now=0.0, cpu=0.0, fired=0)
    burden = Burden({0: worker()}, lambda: clock.fired, lambda: clock.now, lambda: clock.cpu)
    clock.now, clock.fired = 2.0, 8
    first = burden.load()
    clock.now, clock.fired = 2.1, 1_000
    assert burden.load() == first
    assert first.fired_per_s == 4


async def test_each_run_of_a_recurrence_counts(tmp_path):
    node = await Node.open(Settings.load(data=tmp_path / "data"))
    running = asyncio.create_task(node.run())
    await node.wait_ready()
    (answer,) = await node.commands.submit(node.log.topics.events, [(0, Record(None, b'{"id":"e","every":"100ms"}'))])
    assert answer.outcome == "SCHEDULED", answer
    try:
        async with asyncio.timeout(20):
            while not node.burden.load().fired_per_s:  # noqa: ASYNC110 -- nobody tells
                await asyncio.sleep(0.1)
    finally:
        node.stop()
        await running
