"""What can be asked of a server through the client? Each answer is typed, each refusal an error of its own."""

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest

from lightsched import SyncClient
from lightsched.client import Ambiguous, Changed, Client, ClientError, Conflict, Invalid, NotFound, Outcome, Status


async def test_what_is_scheduled_can_be_looked_at(client, name):
    at = datetime(2030, 1, 1, 9, tzinfo=UTC)
    result = await client.schedule(id=name, at=at, type="mail.send", labels={"of": name}, payload={"to": "you"})
    assert (result.id, result.outcome, result.status, result.next_execution) == (name, "SCHEDULED", "NOT_STARTED", at)
    event = await client.get(name)
    assert (event.type, event.payload, event.next_execution, event.labels) == (
        "mail.send",
        {"to": "you"},
        at,
        {"of": name},
    )
    assert event.created_at.tzinfo is not None


async def test_values_of_python_are_as_good_as_strings(client, name):
    await client.schedule(
        id=name,
        cron="0 9 * * *",
        timezone=ZoneInfo("Europe/Paris"),
        starts_at=datetime(2030, 1, 1),  # noqa: DTZ001 - in the event's own zone
        ends_at=datetime(2031, 1, 1, tzinfo=UTC),
        jitter=timedelta(seconds=90),
        look_back=timedelta(hours=2),
        window={"from": time(8), "to": time(17, 30), "days": ["mon", "tue"], "exclude": [date(2030, 12, 25)]},
        retry={"attempts": 3, "delay": timedelta(minutes=1), "factor": 2, "max": "1h"},
        payload=b"\x00\xff",
    )
    event = await client.get(name)
    assert (event.timezone, event.starts_at, event.jitter) == ("Europe/Paris", "2030-01-01T00:00:00", "90000ms")
    assert event.window is not None
    assert (event.window.from_, event.window.to, event.window.exclude) == ("08:00", "17:30", ("2030-12-25",))
    assert event.retry is not None
    assert (event.retry.attempts, event.retry.delay) == (3, "60000ms")
    assert event.payload == b"\x00\xff"


async def test_commands_have_their_outcomes(client, name):
    await client.schedule(id=name, every="1h", tenant="acme")
    which = {"tenant": "acme", "reason": "a test"}
    assert (await client.pause(name, **which)).outcome is Outcome.PAUSED
    assert (await client.get(name, tenant="acme")).status is Status.PAUSED
    assert (await client.resume(name, **which)).outcome is Outcome.RESUMED
    assert (await client.trigger(name, **which)).outcome is Outcome.TRIGGERED
    assert (await client.replace(name, tenant="acme", every="2h")).outcome is Outcome.REPLACED
    assert (await client.cancel(name, **which)).outcome is Outcome.CANCELLED
    told = await client.explain(name, tenant="acme")
    assert told.status is Status.CANCELLED
    assert any("It was paused. a test" in reason.text for reason in told.reasons)


async def test_a_tenant_can_be_given_once_for_all_calls(server, name):
    async with Client(server, tenant="acme") as client:
        assert (await client.schedule(id=name, in_="1h")).tenant == "acme"
        assert (await client.get(name)).tenant == "acme"


async def test_an_id_with_a_slash_and_a_key(client, name):
    strange = f"{name}/ä b?"
    await client.schedule(id=strange, key="k1", in_="1h")
    assert (await client.get(strange)).key == "k1"
    await client.schedule(id=strange, key="k2", in_="1h")
    with pytest.raises(Ambiguous) as refused:
        await client.cancel(strange)
    assert refused.value.keys == ("k1", "k2")
    assert (await client.cancel(strange, key="k2")).outcome == "CANCELLED"


async def test_what_is_refused_says_why(client, name):
    with pytest.raises(Invalid) as invalid:
        await client.schedule(id=name, in_="soon", priority=11)
    assert {error.field for error in invalid.value.errors} == {"in", "priority"}
    assert invalid.value.outcome is Outcome.INVALID
    assert invalid.value.status == 400
    assert "priority: must be from 0" in str(invalid.value)
    with pytest.raises(Invalid, match="did you mean `payload`"):
        await client.schedule(id=name, in_="1h", pyload=1)
    with pytest.raises(NotFound, match=name):
        await client.get(name)
    with pytest.raises(NotFound):
        await client.cancel(name)
    await client.schedule(id=name, at=datetime.now(UTC) - timedelta(seconds=1))
    await client.schedule(id=f"{name}2", in_="1h")
    with pytest.raises(Conflict) as conflict:
        await client.schedule(id=f"{name}2", in_="2h", on_conflict="reject")
    assert conflict.value.outcome is Outcome.REJECTED
    assert isinstance(conflict.value, ClientError)


async def test_many_are_answered_in_their_order(client, name):
    events = [{"id": f"{name}-{n:04}", "in": timedelta(hours=1), "payload": n} for n in range(2_500)]
    events[7] = {"id": f"{name}-0007", "in": "never"}
    events[1_800] = {"op": "cancel", "id": f"{name}-0001"}
    events[2_400] = {"id": f"{name}-2400", "in": "never"}
    results = await client.schedule_many(events)
    assert [result.id for result in results if result.ok][:3] == [f"{name}-{n:04}" for n in range(3)]
    assert len(results) == 2_500
    assert [(n, result.index) for n, result in enumerate(results) if not result.ok] == [(7, 7), (2_400, 2_400)]
    assert "in: 'never' is not a duration" in results[7].error
    assert results[1_800].outcome is Outcome.CANCELLED
    listed = [event.id async for event in client.list(prefix=name)]
    assert listed == [f"{name}-{n:04}" for n in range(2_500) if n not in {7, 1_800, 2_400}]


async def test_a_transaction_is_all_or_none(client, name):
    async with client.transaction() as together:
        first = together.schedule(at="2030-01-01T00:00:00Z")
        together.schedule(id=name, in_="1h")
        together.pause(name, reason="together")
    assert [(result.id, result.outcome) for result in together.results] == [
        (first, "SCHEDULED"),
        (name, "SCHEDULED"),
        (name, "PAUSED"),
    ]

    async def attempt(second, error=None):
        async with client.transaction() as together:
            together.schedule(id=f"{name}1", in_="1h")
            together.schedule(id=f"{name}2", in_=second)
            if error:
                raise error

    with pytest.raises(Invalid) as refused:
        await attempt("soon")
    assert [error.field for error in refused.value.errors] == ["[1].in"]
    with pytest.raises(ZeroDivisionError):
        await attempt("1h", ZeroDivisionError())
    assert [event.id async for event in client.list(prefix=name)] == [name]
    async with client.transaction() as nothing:
        pass
    assert nothing.results == ()


async def test_nothing_can_be_added_to_a_transaction_that_is_over(client, server, name):
    block = client.transaction()
    async with block as together:
        together.schedule(id=name, in_="1h")
    for add in (lambda: together.schedule(id=f"{name}2", in_="1h"), lambda: together.cancel(name)):
        with pytest.raises(Invalid, match="This transaction is over"):
            add()
    with pytest.raises(Invalid, match="begin another"):
        await block.__aenter__()
    with pytest.raises(ZeroDivisionError):
        async with client.transaction() as failed:
            raise ZeroDivisionError
    with pytest.raises(Invalid, match="This transaction is over"):
        failed.schedule(in_="1h")
    with SyncClient(server) as waiting:
        with waiting.transaction() as together:
            together.cancel(name)
        assert [result.outcome for result in together.results] == ["CANCELLED"]
        with pytest.raises(Invalid, match="This transaction is over"):
            together.cancel(name)


async def test_an_event_is_changed_in_part(client, name):
    await client.schedule(id=name, cron="0 9 * * *", timezone="Europe/Paris", labels={"a": "1"}, priority=3)
    before = await client.get(name)
    result = await client.change(name, every=timedelta(hours=2), labels={"b": "2"}, priority=None, reason="a test")
    assert result.outcome is Outcome.REPLACED
    event = await client.get(name)
    assert (event.cron, event.every, event.labels, event.priority) == (None, "7200000ms", {"a": "1", "b": "2"}, 5)
    with pytest.raises(Changed):
        await client.change(name, priority=1, revision=before.revision)
    await client.change(name, priority=1, revision=event.revision)
    assert (await client.get(name)).priority == 1
    for payload in (b"\xff", {"a": 1}):
        await client.change(name, payload=payload)
        assert (await client.change(name, payload=None)).outcome is Outcome.REPLACED
        event = await client.get(name)
        assert (event.payload, event.payload_base64) == (None, None)
    assert (await client.change(name, in_=None)).outcome is Outcome.UNCHANGED


async def test_many_are_commanded_by_a_filter(client, name):
    await client.schedule_many({"id": f"{name}{n}", "in": "1h", "labels": {"t": name}} for n in range(3))
    counted = await client.bulk("cancel", labels={"t": name}, dry_run=True)
    assert (counted.matched, counted.outcomes) == (3, {})
    done = await client.bulk("cancel", labels={"t": name}, prefix=f"{name}1", reason="a test")
    assert (done.matched, done.outcomes) == (1, {"CANCELLED": 1})
    assert (await client.bulk("pause", labels={"t": name})).outcomes == {Outcome.PAUSED: 2}


@pytest.mark.parametrize(
    "empty",
    [
        {},
        {"prefix": None},
        {"prefix": ""},
        {"labels": {}},
        {"labels": None},
        {"type": None},
        {"type": ""},
        {"status": []},
        {"status": None},
        {"due_from": None, "due_to": None},
        {"tenant": "acme"},
    ],
)
async def test_conditions_that_are_empty_do_not_mean_all_events(server, name, empty):
    async with Client(server, tenant=name) as client:
        await client.schedule(id=name, in_="1h")
        with pytest.raises(Invalid, match="all=True"):
            await client.bulk("cancel", **empty)
        if "tenant" not in empty:
            assert (await client.bulk("cancel", all=True, **empty)).outcomes == {Outcome.CANCELLED: 1}


async def test_a_list_is_filtered(client, name):
    await client.schedule(id=f"{name}1", at="2030-01-01T00:00:00Z", labels={"t": name, "n": "1"}, type="a")
    await client.schedule(id=f"{name}2", at="2031-01-01T00:00:00Z", labels={"t": name, "n": "2"}, type="b")
    await client.pause(f"{name}2")

    async def ids(**filters):
        return [event.id[-1] async for event in client.list(labels={"t": name}, **filters)]

    assert await ids() == ["1", "2"]
    assert await ids(status="PAUSED") == ["2"]
    assert await ids(status=[Status.NOT_STARTED, "CANCELLED"]) == ["1"]
    assert await ids(type="b") == ["2"]
    assert await ids(due_to=datetime(2030, 6, 1, tzinfo=UTC)) == ["1"]
    assert [event.id async for event in client.list(labels={"t": name, "n": "2"})] == [f"{name}2"]


async def test_planning(client):
    preview = await client.preview(
        "30 9 * * mon-fri", timezone=ZoneInfo("Europe/Paris"), from_="2026-10-23T00:00:00Z", n=2
    )
    assert [shown.local.isoformat() for shown in preview.times] == [
        "2026-10-23T09:30:00+02:00",
        "2026-10-26T09:30:00+01:00",
    ]
    within = await client.preview(every=timedelta(hours=1), window={"from": "09:00", "to": "10:00"}, n=1)
    assert within.times[0].utc.hour == 9
    assert len(await client.forecast(5)) == 5
    assert [node.id for node in await client.nodes()] == ["node-1"]
    assert len(await client.partitions()) == 3
    assert (await client.health()).status == "ready"


@pytest.mark.parametrize("address", ["http://[::1", "127.0.0.1:8080", "ftp://x", "http://", ""])
def test_what_is_no_address_is_refused_at_once(address, monkeypatch):
    monkeypatch.setenv("LIGHTSCHED_SERVER", "nowhere")
    with pytest.raises(Invalid, match="http://host:port"):
        Client(address)
