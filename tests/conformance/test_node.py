"""A node on a real log: what a bad delivery, a failed worker and a clock that was put back must not do."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from lightsched.engine.engine import Engine
from lightsched.engine.rules import Rules
from lightsched.event.record import Record
from lightsched.event.status import Outcome
from lightsched.log.embedded import catalogue
from lightsched.log.embedded.log import EmbeddedLog
from lightsched.node.node import Node
from lightsched.node.settings import Settings

EVENTS, DELIVERIES, DEAD = "lightsched.events", "lightsched.deliveries", "lightsched.dead-letter"
DAY_MS = 86_400_000
START = 1_800_000_000_000


def command(**fields: object) -> Record:
    return Record(None, msgspec.json.encode(fields))


async def test_more_topics_than_there_is_room_for_stop_nobody_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalogue, "MAX_TOPICS", 8)
    node = await Node.open(Settings.load(data=tmp_path))
    running = asyncio.create_task(node.run())
    await node.wait_ready()
    many = [command(id=f"many-{n}", **{"in": "1ms"}, topics=[f"topic-{n}"]) for n in range(20)]
    answers = await node.submit(EVENTS, [(0, record) for record in many])
    assert {answer.outcome for answer in answers} == {Outcome.SCHEDULED}
    await node.submit(EVENTS, [(0, command(id="innocent", **{"in": "50ms"}))])
    (delivered,) = await node.log.fetch(DELIVERIES, {}, 10, 30)
    assert delivered.record.key == b"innocent"
    dead = await node.log.fetch(DEAD, {}, 100, 30)
    assert {dict(letter.record.headers)["ls_reason"] for letter in dead} == {b"UNDELIVERABLE"}
    made = [name for name in node.log.catalogue.names if name.startswith("topic-")]
    assert len(dead) + len(made) == 20
    totals = node.workers[0].partition.store.meta.totals
    assert (totals.dead, totals.difference) == (len(dead), 0)
    node.stop()
    await running


async def test_after_a_retake_nothing_fires_before_a_cancel_that_was_already_there(tmp_path: Path) -> None:
    now_ms = START
    log = await EmbeddedLog.open(tmp_path, partitions=1, clock_ms=lambda: now_ms)
    partition = await log.take(0)
    engine = Engine(Rules())
    await log.append(EVENTS, 0, [command(id="x", **{"in": "1s"})])
    await partition.commit(engine.step(partition.store, await partition.read(10, 0), now_ms))
    await log.append(EVENTS, 0, [command(id="y", **{"in": "1h"})])
    await partition.read(10, 0)  # and it fails before it commits
    await partition.close()
    await log.append(EVENTS, 0, [command(op="cancel", id="x")])
    now_ms += 5_000
    partition = await log.take(0)
    turns = 0
    while partition.behind:
        inputs = await partition.read(10, 0)
        step = engine.step(partition.store, inputs, now_ms, firing=not partition.behind)
        await partition.commit(step)
        assert step.deliveries == []
        turns += 1
    assert turns, "there was a backlog"
    await log.append(EVENTS, 0, [command(id="later", **{"in": "1h"})])
    assert not partition.behind, "what comes after the take does not keep it from firing"
    await log.close()


async def test_a_clock_that_was_put_back_does_not_make_fresh_records_old(tmp_path: Path) -> None:
    now_ms = START
    log = await EmbeddedLog.open(tmp_path, partitions=1, clock_ms=lambda: now_ms, retention_ms=7 * DAY_MS)
    partition = await log.take(0)
    engine = Engine(Rules())

    async def fire(id_: str) -> None:
        await log.append(EVENTS, 0, [command(id=id_, at=now_ms)])
        await partition.commit(engine.step(partition.store, await partition.read(10, 0), now_ms))

    await fire("fresh")
    now_ms = START - 8 * DAY_MS
    await fire("while it was wrong")
    now_ms = START + 120_000
    for turn in range(10):
        await fire(f"right again {turn}")
    kept = [record.record.key for record in await log.fetch(DELIVERIES, {}, 100, 0)]
    assert kept[:2] == [b"fresh", b"while it was wrong"]
    await log.close()
