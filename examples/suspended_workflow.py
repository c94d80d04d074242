"""A suspended workflow: it waits for somebody, for days if need be, and occupies nothing meanwhile.

A large order must be approved. After `reserve` the workflow is nothing but an event, `decide`, due when patience ends.
The approval replaces it by one that is due now and carries the answer; if none comes, it fires as it is: rejected.

What follows a stage is scheduled by `Then`, in the same moment as the stage counts: no crash falls between the two.
All of it has the order's key, so it happens in order: nobody is asked before there is something to be replaced.
"""

import asyncio
from typing import Any

from lightsched import Client, Executor, Then

PATIENCE = "3s"  # 14d in real life
Order = dict[str, str]

executor = Executor(group="workflow")
client = Client()
over = set[str]()


def stage(name: str, order: Order, in_: str = "1ms") -> dict[str, Any]:
    """A stage of an order's workflow, as an event."""
    id = f"{order['order']}.{name}"
    return {"id": id, "key": order["order"], "type": f"workflow.{name}", "in_": in_, "track": True, "payload": order}


@executor.on("workflow.reserve")
async def reserve(order: Order) -> Then:
    print(f"{order['order']}: reserved {order['what']}", flush=True)
    return Then(stage("decide", order, PATIENCE), stage("ask", order))


@executor.on("workflow.ask")
async def ask(order: Order) -> None:
    print(f"{order['order']}: {order['boss']} is asked", flush=True)
    if order["boss"] == "Ada":  # who answers at once; in real life she would use your own page for it
        await client.schedule(**stage("decide", order | {"approved_by": "Ada"}))


@executor.on("workflow.decide")
async def decide(order: Order) -> Then:
    approved = "approved_by" in order
    print(f"{order['order']}: {'approved' if approved else f'no answer within {PATIENCE}'}", flush=True)
    return Then(stage("ship" if approved else "release", order))


@executor.on("workflow.ship")
async def ship(order: Order) -> None:
    end(order, "shipped")


@executor.on("workflow.release")
async def release(order: Order) -> None:
    end(order, "released")


def end(order: Order, how: str) -> None:
    print(f"{order['order']}: {how} {order['what']}", flush=True)
    over.add(order["order"])
    if len(over) == 2:
        executor.stop()  # only here, where the example ends


async def main() -> None:
    async with client:
        await client.schedule(**stage("reserve", {"order": "order-1", "what": "a yacht", "boss": "Ada"}))
        await client.schedule(**stage("reserve", {"order": "order-2", "what": "a castle", "boss": "Bob"}))
        await executor.run()


if __name__ == "__main__":
    asyncio.run(main())
