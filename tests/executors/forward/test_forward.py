"""Are deliveries passed on as the rules say, and once?"""

import asyncio

import pytest

from lightsched import Client
from lightsched_forward import ForwardSettings, Rule, program
from tests.api.conftest import _create
from tests.executors.conftest import ended, running


@pytest.mark.parametrize(
    ("rule", "matches"),
    [
        ({}, True),
        ({"type": "order.paid"}, True),
        ({"type": "order.*"}, True),
        ({"type": "*.paid"}, True),
        ({"type": "order"}, False),
        ({"type": "order.p?id", "tenant": "ac*", "key": "42"}, True),
        ({"tenant": "other"}, False),
        ({"key": "4"}, False),
        ({"headers": {"region": "eu-*"}}, True),
        ({"headers": {"region": "us-*"}}, False),
        ({"headers": {"missing": "*"}}, False),
        ({"type": "[o]rder.paid"}, False),
    ],
)
def test_a_rule_matches_what_it_says(rule, matches):
    made = Rule(to=["t"], **rule)
    assert made.matches("order.paid", "acme", "42", {"region": "eu-1"}) is matches


def test_an_executor_is_asked_for_all_that_rules_are_about():
    types = ["order.paid", "mail.*", "order.*.paid", "*.done", "a.b?"]
    settings = ForwardSettings(rules=[{"type": type, "to": ["t"]} for type in types])
    assert settings.types == ["*", "a.*", "mail.*", "order.*", "order.paid"]


@pytest.fixture(params=["http", "kafka"])
async def there(request, name):
    """A client, a place to execute, and topics: where it comes from, and two to go to."""
    topics = [f"{name}.from", f"{name}.a", f"{name}.b"]
    if request.param == "http":
        address = place = request.getfixturevalue("server")
    else:
        address, kafka = request.getfixturevalue("on_kafka")
        place = f"kafka://{kafka.bootstrap}?prefix={kafka.prefix}"
        for topic in topics:
            await _create(kafka.bootstrap, topic)
    async with Client(address) as client:
        yield client, Client(place), place, topics


async def test_what_matches_is_passed_on_once(there, name):
    client, reader, place, (source, a, b) = there
    rules = [
        {"type": "order.*", "to": [a]},
        {"type": "order.paid", "headers": {"region": "eu"}, "to": [a, b], "rename": "billing.{type}", "stop": True},
        {"to": [b]},
    ]
    event = {"in_": "1ms", "topics": [source], "track": True, "key": f"{name}-42"}
    paid = {"id": f"{name}-1", "type": "order.paid", "headers": {"region": "eu"}, "payload": {"n": 1.0}}
    sent = {"id": f"{name}-2", "type": "order.sent", "payload": b"\xff\0"}
    async with running(program, server=place, topics=[source], group=name, rules=rules), reader:
        for each in (paid, sent):
            await client.schedule(**event, **each)
        runs = [await ended(client, f"{name}-{n}") for n in (1, 2)]
        assert [run.status for run in runs] == ["SUCCESS", "SUCCESS"], [run.error for run in runs]
        assert runs[0].result == {"forwarded": [a, a, b]}
        await _again(place, source, f"{name}-again", rules)
        came = {topic: await _read(reader, topic, name, count) for topic, count in ((a, 3), (b, 2))}
    assert sorted(came[a]) == sorted(
        [
            ("billing.order.paid", f"{name}-42", "eu", "{'n': 1.0}"),
            ("order.paid", f"{name}-42", "eu", "{'n': 1.0}"),
            ("order.sent", f"{name}-42", None, "b'\\xff\\x00'"),
        ]
    )
    assert sorted(type for type, *_ in came[b]) == ["billing.order.paid", "order.sent"]


async def _again(place, source, group, rules):
    """Let another group execute the same deliveries."""
    done, seen = asyncio.Event(), []

    async def note(context, call_next):
        seen.append(context.delivery)
        try:
            return await call_next()
        finally:
            if len(seen) == 2:
                done.set()

    settings = ForwardSettings(server=place, topics=[source], group=group, rules=rules)
    async with program.executor(settings) as executor:
        executor.middleware(note)
        task = asyncio.create_task(executor.run())
        await asyncio.wait_for(done.wait(), 60)
        executor.stop()
        await task


async def _read(reader, topic, group, count):
    """So many, and then no more for a while."""
    found = []
    async with asyncio.timeout(60):
        async for each in reader.deliveries(topic, group=group, idle="1s"):
            found.append((each.type, each.key, each.headers.get("region"), str(each.payload)))
            if len(found) > count:
                break
    return found


async def test_what_is_not_tracked_cannot_be_passed_on_and_that_is_said(client, server, name, caplog):
    async with running(program, server=server, topics=[name], rules=[{"to": [f"{name}.a"]}]):
        await client.schedule(id=name, in_="1ms", topics=[name])
        await client.schedule(id=f"{name}-2", in_="1ms", topics=[name], track=True)
        await ended(client, f"{name}-2")
        assert (await ended(client, name)).status == "SUCCESS"
    assert f"/{name}/" in caplog.text
    assert "is not passed on: schedule it with `track: true`" in caplog.text
