"""Can a real executor be tested on the clock of a test?"""

from typing import Any

import msgspec
import pytest

from lightsched import Context, Executor, Fatal, Retry, Then


class Order(msgspec.Struct):
    number: int


@pytest.fixture
def executor():
    executor = Executor("http://nobody.invalid", name="shop")

    @executor.on("order.pay")
    async def pay(order: Order, context: Context) -> Any:
        if context.attempt == 1:
            raise Retry("the bank is closed", in_="1h")
        if order.number < 0:
            raise Fatal("no such order")
        return Then({"id": f"ship-{order.number}", "type": "order.ship", "in_": "2d"}, result="paid")

    @executor.on("order.ship")
    def ship() -> str:
        return "shipped"

    return executor


def test_it_runs_on_the_clock_of_the_test(scheduler, executor):
    scheduler.run(executor)
    scheduler.schedule(
        id="pay", type="order.pay", in_="1m", payload={"number": 7}, retry={"attempts": 2, "delay": "1m"}
    )
    scheduler.advance("1m")
    scheduler.assert_status("pay", "RETRIABLE_FAILURE")
    scheduler.advance("1h")
    assert scheduler.runs("pay")[0].result == "paid"
    scheduler.advance("2d")
    scheduler.assert_delivered(type="order.ship", times=1)


def test_what_does_not_fit_is_fatal(scheduler, executor):
    scheduler.run(executor)
    scheduler.schedule(
        id="pay", type="order.pay", in_="1m", payload={"number": "x"}, retry={"attempts": 2, "delay": "1m"}
    )
    scheduler.advance("1m")
    assert "$.number" in scheduler.runs("pay")[0].error
    scheduler.assert_status("pay", "FATAL_FAILURE")


async def test_the_async_flavour_does_the_same(async_scheduler, executor):
    async_scheduler.run(executor)
    await async_scheduler.schedule(
        id="pay", type="order.pay", in_="1m", payload={"number": -1}, retry={"attempts": 2, "delay": "1m"}
    )
    await async_scheduler.advance("2h")
    async_scheduler.assert_status("pay", "FATAL_FAILURE")
    await async_scheduler.schedule(id="other", topics=["elsewhere"], type="order.ship", in_="1m", track=True)
    await async_scheduler.advance("1m")
    async_scheduler.assert_status("other", "NOT_STARTED")
