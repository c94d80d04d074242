"""What cannot be sent, or asked for, is `Invalid`, and names the field; nothing else is raised, and nothing is sent."""

import gc
from dataclasses import dataclass
from datetime import timedelta

import pytest

from lightsched import SyncClient
from lightsched.client import Client, Invalid


class Unsaid:
    pass


LONE = "\ud800"
HOLDS_ITSELF: list = []
HOLDS_ITSELF.append(HOLDS_ITSELF)


@dataclass
class Price:
    price: float


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("payload", {"price": float("nan")}),
        ("payload", [None, {"a": [1.5, float("inf")]}]),
        ("payload", Price(float("-inf"))),
        ("payload", {"of": {float("nan")}}),
        ("headers", {"h": float("nan")}),
        ("labels", {"l": float("nan")}),
        ("retry", {"attempts": 3, "delay": "1s", "factor": float("inf")}),
        ("payload", Unsaid()),
        ("payload", {"a": LONE}),
        ("payload", HOLDS_ITSELF),
        ("id", LONE),
        ("id", ""),
        ("key", LONE),
    ],
)
async def test_what_json_cannot_say_is_refused_with_its_field(client, name, field, value):
    fields = {"id": name, "in_": "1h", field: value}
    with pytest.raises(Invalid, match=f"^{field}: ") as refused:
        await client.schedule(**fields)
    assert [error.field for error in refused.value.errors] == [field]
    with pytest.raises(Invalid, match=r"^Nothing was sent: \[1\] ") as refused:
        await client.schedule_many([{"id": f"{name}-good", "in": "1h"}, fields])
    assert [error.field for error in refused.value.errors] == [f"[1].{field}"]
    assert [event async for event in client.list(prefix=name)] == []


async def test_what_looks_like_nothing_in_a_payload_stays_as_it_is(client, name):
    payload = {"a": None, "b": ["null", 1.5, {"c": None}], "d": "NaN"}
    await client.schedule(id=name, in_="1h", payload=payload)
    assert (await client.get(name)).payload == payload


async def test_whatever_is_wrong_is_an_error_of_the_client(client, name):
    async def first(found):
        return [each async for each in found]

    for wrong in (None, "", 5, LONE):
        for ask in (client.get, client.cancel, client.explain, client.dead_letter, client.get_tenant):
            with pytest.raises(Invalid, match=r"must be a text|is empty|half a character"):
                await ask(wrong)
        with pytest.raises(Invalid, match=r"must be a text|is empty|half a character"):
            await first(client.runs(wrong))
    with pytest.raises(Invalid, match=r"\[1\] 5 is no event: write a dict"):
        await client.schedule_many([{"id": name, "in": "1h"}, 5])
    for idle in ("foo", 5, timedelta(seconds=-1)):
        with pytest.raises(Invalid, match=r"^idle: "):
            await first(client.deliveries(group="g", idle=idle))
    with pytest.raises(Invalid, match=r"^delivery: "):
        await client.report(None, "SUCCESS")
    with pytest.raises(Invalid, match=r"^result: "):
        await client.report("x", "SUCCESS", result=float("nan"))
    with pytest.raises(Invalid, match=r"^then: 5 is no event"):
        await client.report("x", "SUCCESS", then=[5])
    with pytest.raises(Invalid, match="correct what was given"):
        await first(client.list(prefix=LONE))
    with pytest.raises(Invalid, match=r"^The token"):
        Client("http://127.0.0.1:9", token="ä")


async def test_a_client_that_is_closed_says_so(server, recwarn):
    client = Client(server)
    await client.close()
    with pytest.raises(Invalid, match="This client is closed"):
        await client.nodes()
    waiting = SyncClient(server)
    waiting.close()
    for ask in (waiting.nodes, lambda: next(waiting.list()), lambda: waiting.transaction().__enter__()):
        with pytest.raises(Invalid, match="This client is closed"):
            ask()
    gc.collect()
    assert [str(warning.message) for warning in recwarn] == []
