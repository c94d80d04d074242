"""An engine on a real log: what a worker that failed must not do."""

from lightsched.engine.engine import Engine
from lightsched.engine.rules import Rules
from lightsched.event.limits import Limits
from tests.conformance.make import LONG_S, TOPICS, command


async def test_after_a_retake_nothing_fires_before_a_cancel_that_was_already_there(adapter):
    log = await adapter.open(partitions=1)
    partition = await log.take(0)
    now_ms = adapter.now_ms
    engine = Engine(Rules(limits=Limits(names=log.topics)))
    await log.append(TOPICS.events, 0, [command(id="x", **{"in": "1s"})])
    await partition.commit(engine.step(partition.store, await partition.read(10, LONG_S), now_ms))
    await log.append(TOPICS.events, 0, [command(id="y", **{"in": "1h"})])
    assert await partition.read(10, LONG_S)  # and it fails before it commits
    await partition.close()
    await log.append(TOPICS.events, 0, [command(op="cancel", id="x")])
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
    await log.append(TOPICS.events, 0, [command(id="later", **{"in": "1h"})])
    assert not partition.behind, "what comes after the take does not keep it from firing"
