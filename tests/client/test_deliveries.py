"""Does an executor get its work, and is its word taken?"""

import pytest

from lightsched.client import Forbidden, ReportIgnored, Status


async def test_deliveries_come_until_they_are_acknowledged(client, name):
    for n in range(3):
        await client.schedule(id=f"{name}{n}", in_="1ms", key=name, topics=[name], payload={"n": n}, headers={"h": "1"})
    async for first in client.deliveries(name, group="g"):
        assert (first.topic, first.id, first.payload, first.headers["h"]) == (name, f"{name}0", {"n": 0}, "1")
        break
    again = [delivery.payload["n"] async for delivery in client.deliveries(name, group="g", max=2, idle="1s")]
    assert again == [0, 1, 2]
    assert [delivery async for delivery in client.deliveries(name, group="g", idle="1ms")] == []


async def test_a_payload_that_is_not_json_is_bytes(client, name):
    await client.schedule(in_="1ms", topics=[name], payload=b"\x80 raw")
    async for delivery in client.deliveries(name, group="g"):
        assert delivery.payload == b"\x80 raw"
        break


async def test_reports_close_the_loop(client, name):
    await client.schedule(id=name, in_="1ms", topics=[name], retry={"delays": ["1ms"]})
    seen = []
    async for delivery in client.deliveries(name, group="g", max=1):
        seen.append(delivery.attempt)
        if delivery.attempt == 1:
            await client.report(delivery, "RETRIABLE_FAILURE", error="not yet", executor="me", retry_in="2ms")
            continue
        then = [{"id": f"{name}-next", "in_": "1h", "payload": "chained"}]
        await client.report(delivery.delivery, "SUCCESS", token=delivery.token, result={"n": 1}, then=then)
        break
    assert seen == [1, 2]
    (run,) = [run async for run in client.runs(name)]
    assert (run.status, run.result, len(run.attempts)) == (Status.SUCCESS, {"n": 1}, 2)
    assert (run.attempts[0].executor, run.attempts[0].error) == ("me", "not yet")
    assert (await client.get(f"{name}-next")).payload == "chained"
    with pytest.raises(ReportIgnored) as ignored:
        await client.report(delivery, "SUCCESS")
    assert ignored.value.reason in {"finished", "repeated"}
    with pytest.raises(Forbidden):
        await client.report(delivery.delivery, "SUCCESS", token="0" * 32)


async def test_runs_follow_cursors(client, name, monkeypatch):
    monkeypatch.setattr("lightsched.client.looking.PAGE", 2)
    await client.schedule(id=name, every="1h")
    for _ in range(5):
        await client.trigger(name)
    ended = [run.due async for run in client.all_runs(status="SUCCESS", from_="2020-01-01T00:00:00Z") if run.id == name]
    assert len(ended) == 5
    runs = [run.due async for run in client.runs(name)]
    assert len(runs) == 5
    assert runs == sorted(runs, reverse=True)


async def test_who_only_watches_takes_nothing_away(client, name):
    await client.schedule(id=name, every="200ms", max_runs=5, topics=[name])
    seen = await anext(client.watch(name))
    first = [delivery.delivery async for delivery in client.deliveries(name, group="g", idle="1s")]
    assert len(first) == 5
    assert seen.delivery in first
