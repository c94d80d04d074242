"""Is every number read that a server takes, also where Python has none so large?"""

from decimal import Decimal

import msgspec
import pytest

from lightsched.client.any_json import read_any

LONG = "7" * 5_000
HUGE = {"huge": Decimal("1E400"), "small": 0.5, "long": Decimal(LONG), "int": 10**30}
SENT = msgspec.Raw(f'{{"huge":1E400,"small":5e-1,"long":{LONG},"int":{10**30}}}'.encode())


async def test_huge_numbers_come_back_as_decimals(client, name):
    await client.schedule(id=name, in_="1ms", topics=[name], track=True, payload=SENT, labels={"of": name})
    assert (await client.get(name)).payload == HUGE
    assert [event.payload async for event in client.list(labels={"of": name})] == [HUGE]
    async for delivery in client.deliveries(name, group="g", limit=1):
        assert delivery.payload == HUGE
        await client.report(delivery, "SUCCESS", result=SENT)
    assert [run.result async for run in client.runs(name)] == [HUGE]
    assert [run.result async for run in client.all_runs() if run.id == name] == [HUGE]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b"1E400", Decimal("1E400")),
        (b"-1E400", Decimal("-1E400")),
        (b"[1E400,1.5,2,null]", [Decimal("1E400"), 1.5, 2, None]),
        (b"1E9999999999999999999999", float("inf")),
        (b"1E-400", 0.0),
        (f"-{LONG}".encode(), Decimal(f"-{LONG}")),
    ],
)
def test_numbers_of_any_size(text, value):
    assert read_any(text) == value


@pytest.mark.parametrize("text", [b"[1E400,NaN]", b"[1E400", b"", b"[1E400,\xff]", b"Infinity"])
def test_what_is_no_json_is_refused(text):
    with pytest.raises((msgspec.DecodeError, UnicodeDecodeError)):
        read_any(text)
