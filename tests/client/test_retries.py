"""What is lost on the way is sent again, and nothing happens twice."""

import json

import pytest

from lightsched.client import (
    Client,
    NotFound,
    Outcome,
    OutcomeUnknown,
    QuotaExceeded,
    ServerFailed,
    Unavailable,
    Unreachable,
    retrying,
)
from tests.client.conftest import lossy

BUSY = b"HTTP/1.1 429 Too Many\r\nretry-after: 0\r\ncontent-length: 0\r\n\r\n"
LATER = b"HTTP/1.1 429 Too Many\r\nretry-after: 3600\r\ncontent-length: 0\r\n\r\n"
FULL = b"HTTP/1.1 429 Too Many\r\ncontent-length: 0\r\n\r\n"
DOWN = b"HTTP/1.1 503 Down\r\ncontent-length: 0\r\n\r\n"


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(retrying, "FIRST_S", 0.001)


async def test_an_event_whose_answer_is_lost_is_there_once(server, client, name):
    async with lossy(server, "lost", "lost") as address, Client(address) as through:
        result = await through.schedule(at="2030-01-01T00:00:00Z", labels={"t": name})
    assert result.outcome is Outcome.SCHEDULED
    assert [event.id async for event in client.list(labels={"t": name})] == [result.id]


async def test_a_wait_that_was_lost_does_not_start_again(server, client, name):
    async with lossy(server, "lost") as address, Client(address) as through:
        result = await through.schedule(in_="1ms", topics=[name])
        assert result.outcome is Outcome.SCHEDULED
    async with lossy(server, "lost") as address, Client(address) as through:
        own = await through.schedule(id=name, in_="1ms", topics=[name])
        assert own.outcome is Outcome.SCHEDULED
    async with lossy(server, "lost") as address, Client(address) as through:
        many = await through.schedule_many([{"in": "1ms", "topics": [name]}, {"op": "trigger", "id": "nobody"}])
    assert [each.ok for each in many] == [True, False]
    seen = [delivery.id async for delivery in client.deliveries(name, group="g", idle="1s")]
    assert sorted(seen) == sorted([result.id, name, many[0].id])


@pytest.mark.parametrize("loss", ["lost", DOWN])
async def test_what_could_happen_twice_is_not_sent_again(server, client, name, loss):
    await client.schedule(id=name, in_="1h")
    async with lossy(server, loss) as address, Client(address) as through:
        with pytest.raises(OutcomeUnknown, match="look at the event"):
            await through.change(name, in_="2h")
    assert (await client.get(name)).revision == (2 if loss == "lost" else 1)


@pytest.mark.parametrize("loss", ["lost", DOWN])
async def test_a_trigger_whose_answer_is_lost_runs_once(server, client, name, loss):
    await client.schedule(id=name, every="1h")
    async with lossy(server, loss, loss) as address, Client(address) as through:
        assert (await through.trigger(name, reason="now")).outcome is Outcome.TRIGGERED
    assert sum("triggered" in reason.text for reason in (await client.explain(name)).reasons) == 1


AT, OTHER = "2030-01-01T00:00:00Z", "2031-01-01T00:00:00Z"


async def in_a_transaction(through, name):
    async with through.transaction() as together:
        together.schedule(id=name, at=AT)
        together.schedule(id=f"{name}-2", at=AT)
    return together.results[0]


@pytest.mark.parametrize(
    "send",
    [
        lambda through, name: through.schedule(id=name, at=AT),
        lambda through, name: through.schedule(id=name, at=AT, on_conflict="reject"),
        lambda through, name: through.replace(name, at=AT),
        in_a_transaction,
    ],
)
@pytest.mark.parametrize("meanwhile", ["cancel", "replace"])
async def test_what_is_sent_again_does_not_undo_what_others_did_meanwhile(server, client, name, send, meanwhile):
    async def act():
        await (client.cancel(name) if meanwhile == "cancel" else client.replace(name, at=OTHER))

    async with lossy(server, act) as address, Client(address) as through:
        result = await send(through, name)
    assert result.outcome is Outcome.SCHEDULED
    event = await client.get(name)
    assert event.status == "CANCELLED" if meanwhile == "cancel" else event.at == OTHER


async def test_a_pause_that_is_sent_again_does_not_undo_a_resume(server, client, name):
    await client.schedule(id=name, every="1h")
    async with lossy(server, lambda: client.resume(name)) as address, Client(address) as through:
        assert (await through.pause(name)).outcome is Outcome.PAUSED
    assert (await client.get(name)).status == "NOT_STARTED"
    await client.pause(name)
    async with lossy(server, lambda: client.pause(name)) as address, Client(address) as through:
        assert (await through.resume(name)).outcome is Outcome.RESUMED
    assert (await client.get(name)).status == "PAUSED"


@pytest.mark.parametrize("when", [{"at": AT}, {"in_": "1h"}], ids=["at", "in"])
async def test_what_is_sent_again_does_not_cancel_what_it_has_scheduled(server, client, name, when):
    async with lossy(server, "lost") as address, Client(address) as through, through.transaction() as together:
        together.cancel(name)
        together.schedule(id=name, **when)
    assert together.results[1].outcome is Outcome.SCHEDULED
    assert (await client.get(name)).status == "NOT_STARTED"
    async with lossy(server, "lost") as address, Client(address) as through:
        await through.schedule_many([{"op": "cancel", "id": f"{name}-2"}, {"id": f"{name}-2", **when}])
    assert (await client.get(f"{name}-2")).status == "NOT_STARTED"


async def test_where_an_event_cannot_remember_all_of_it_the_outcome_may_be_unknown(server, client, name):
    await client.schedule(id=name, every="1h")
    async with lossy(server, "lost") as address, Client(address) as through:
        with pytest.raises(OutcomeUnknown):
            await through.schedule_many([{"op": "trigger", "id": name}] * 9)


async def test_a_transaction_may_ask_more_of_an_event_than_it_remembers(server, client, name):
    async with lossy(server, "lost") as address, Client(address) as through, through.transaction() as together:
        together.schedule(id=name, at=AT)
        for _ in range(5):
            together.pause(name)
            together.resume(name)
    assert len(together.results) == 11


async def test_what_has_surely_not_arrived_is_sent_again(server, client, name):
    await client.schedule(id=name, every="1h")
    async with lossy(server, BUSY, BUSY) as address, Client(address) as through:
        assert (await through.trigger(name)).outcome is Outcome.TRIGGERED


async def test_of_many_those_that_were_not_heard_of_are_sent_again(server, client, name):
    unheard = [{"index": n, "id": f"{name}{n}", "outcome": None, "error": "try again"} for n in range(4)]
    body = json.dumps({"results": [{"id": f"{name}0", "outcome": "SCHEDULED"}, *unheard[1:]]}).encode()
    answer = b"HTTP/1.1 207 Some\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body)
    at = "2030-01-01T00:00:00Z"
    events = [{"id": f"{name}0", "at": at}, {"id": f"{name}1", "at": at}, {"id": f"{name}2", "at": at}]
    async with lossy(server, answer) as address, Client(address) as through:
        results = await through.schedule_many([*events, {"op": "pause", "id": f"{name}2"}])
    assert [result.outcome for result in results] == ["SCHEDULED", "SCHEDULED", None, None]
    assert [result.ok for result in results] == [True, True, False, False]
    assert [event.id async for event in client.list(prefix=name)] == [f"{name}1"]


async def test_a_report_that_was_thought_to_be_lost_is_no_error(server, client, name):
    await client.schedule(in_="1ms", topics=[name], track=True)
    async for delivery in client.deliveries(name, group="g"):
        async with lossy(server, "lost") as address, Client(address) as through:
            await through.report(delivery, "SUCCESS", result=1)
        break
    (run,) = [run async for run in client.runs(delivery.id)]
    assert run.result == 1


async def test_a_server_that_is_down_is_not_asked_for_ever(server):
    async with lossy(server, *[DOWN] * 3) as address, Client(address, retries=2) as through:
        with pytest.raises(Unavailable):
            await through.nodes()
        assert await through.nodes()


@pytest.mark.parametrize("answer", [LATER, FULL])
async def test_a_server_that_wants_to_be_left_alone_is(server, answer):
    async with lossy(server, answer) as address, Client(address) as through:
        with pytest.raises(QuotaExceeded):
            await through.nodes()
        assert await through.nodes()


async def test_nobody_there(server):
    async with lossy(server) as address:
        pass
    async with Client(address, retries=1) as through:
        with pytest.raises(Unreachable, match="is lightsched running there"):
            await through.nodes()


async def test_somebody_else_there(server):
    other = b"HTTP/1.1 404 Not Found\r\ncontent-length: 5\r\n\r\nhello"
    page = b"HTTP/1.1 200 OK\r\ncontent-length: 13\r\n\r\n<html></html>"
    async with lossy(server, other, page) as address, Client(address) as through:
        with pytest.raises(NotFound, match="answered 404, and not as lightsched does: hello"):
            await through.get("x")
        with pytest.raises(ServerFailed, match="Is it the right address"):
            await through.get("x")


AWAY = [DOWN, "refused"] * 5


async def test_a_loop_over_deliveries_waits_for_a_server_that_was_there(server, client, name):
    for n in range(2):
        await client.schedule(id=f"{name}{n}", in_="1ms", key=name, topics=[name])
    polled_and_acknowledged = [None, *AWAY, None, *AWAY]
    async with lossy(server, *polled_and_acknowledged) as address, Client(address, retries=1) as through:
        found = through.deliveries(name, group="g", max=1, limit=2)
        assert [delivery.id async for delivery in found] == [f"{name}0", f"{name}1"]
    assert [delivery async for delivery in client.deliveries(name, group="g", idle="1ms")] == []


async def test_who_watches_misses_nothing_while_the_server_is_away(server, client, name, monkeypatch):
    monkeypatch.setattr("lightsched.client.rest._LONGEST_WAIT_S", 0.1)

    async def deliver():
        await client.schedule(id=name, in_="1ms", topics=[name])

    await client.schedule(in_="1ms", topics=[name])
    await anext(client.deliveries(name, group="g"))
    async with lossy(server, None, deliver, *AWAY) as address, Client(address, retries=1) as through:
        assert [delivery.id async for delivery in through.watch(name, limit=1)] == [name]


async def test_a_server_that_is_away_is_silent(server, client, name):
    await client.schedule(in_="1ms", topics=[name])
    async with lossy(server, *[None] * 2, *[DOWN] * 1_000) as address, Client(address, retries=1) as through:
        assert len([delivery async for delivery in through.deliveries(name, group="g", idle="300ms")]) == 1


async def test_a_server_that_never_answered_is_not_waited_for(server, name):
    async with lossy(server, *[DOWN] * 2) as address, Client(address, retries=1) as through:
        with pytest.raises(Unavailable):
            await anext(through.watch(name))


def test_pauses_grow_up_to_a_bound():
    bounds = [(retrying.FIRST_S * 2**n / 2, retrying.FIRST_S * 2**n) for n in range(5)]
    assert all(low <= (retrying.pause_s(n + 1) or 0) <= high for n, (low, high) in enumerate(bounds))
    assert (retrying.pause_s(60) or 0) <= retrying.LONGEST_S
    assert (retrying.pause_s(1, "2") or 0) >= 2
    assert retrying.pause_s(1, "61") is None
    assert (retrying.pause_s(1, "Mon, 01 Jan 2024 00:00:00 GMT") or 99) < 1
    assert retrying.pause_s(1, "Mon, 01 Jan 2096 00:00:00 GMT") is None
    assert (retrying.pause_s(1, "soon") or 99) < 1
