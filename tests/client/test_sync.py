"""Is `SyncClient` the same client? Every method is there, and does the same."""

import inspect
from concurrent.futures import ThreadPoolExecutor

import pytest

from lightsched import Client, SyncClient
from lightsched.client import NotFound


def public(thing):
    return {name for name in dir(thing) if not name.startswith("_")}


def test_every_method_is_there_with_its_arguments():
    assert public(SyncClient) == public(Client) - {"tenant"}
    for name in public(SyncClient) - {"close", "transaction"}:
        assert inspect.signature(getattr(SyncClient, name)) == inspect.signature(getattr(Client, name))
        assert "await" not in getattr(SyncClient, name).__doc__
    # only an application in the same process needs a loop of its own, and so the other client
    mine, others = (inspect.signature(each).parameters.values() for each in (SyncClient, Client))
    assert [(each.name, each.kind, each.default) for each in mine] == [
        (each.name, each.kind, each.default) for each in others
    ]


def test_it_waits_and_iterates(server, name):
    with SyncClient(server) as client:
        assert client.schedule(id=name, in_="1ms", topics=[name], payload=1).outcome == "SCHEDULED"
        assert [delivery.payload for delivery in client.deliveries(name, group="g", idle="1s")] == [1]
        for delivery in client.deliveries(name, group="h"):
            assert delivery.id == name
            break
        assert [event.id for event in client.list(prefix=name)] == [name]
        with pytest.raises(NotFound):
            client.get(f"{name}-none")
    client.close()


def test_threads_may_share_it(server, name):
    with SyncClient(server) as client, ThreadPoolExecutor(4) as threads:
        results = list(threads.map(lambda n: client.schedule(id=f"{name}{n}", in_="1h"), range(20)))
    assert [result.id for result in results] == [f"{name}{n}" for n in range(20)]


async def test_it_works_below_a_running_loop(server, name):
    with SyncClient(server) as client:
        assert client.health().status == "ready"


def test_a_loop_that_is_left_leaves_the_client_usable(server, name):
    with SyncClient(server) as client:
        client.schedule_many({"id": f"{name}{n}", "in": "1h"} for n in range(3))
        events = client.list(prefix=name)
        assert next(events).id == f"{name}0"
        del events
        assert client.health().status == "ready"
