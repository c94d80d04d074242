"""Order per entity: what is about one account happens in its order, and no account waits for another.

The key of an event is what it is about. Events with one key lie in one partition, are delivered in the order of their
due times, and the executor calls its function for one after the other; for other keys it does so at the same time.
"""

import asyncio
import random
from collections import defaultdict

from lightsched import Client, Context, Executor

ACCOUNTS = ["ada", "bob", "cleo"]
STEPS = ["open", "deposit", "withdraw", "close"]

executor = Executor(group="order-per-entity")
done: dict[str, list[str]] = defaultdict(list)
running = 0


@executor.on("order-per-entity.book")
async def book(step: str, context: Context) -> None:
    global running  # noqa: PLW0603 - to show it
    running += 1
    await asyncio.sleep(random.uniform(0, 0.1))  # noqa: S311 - work that takes now longer, now shorter
    done[context.key].append(step)
    print(f"{context.key:5} {step:9} while {running - 1} others were at work", flush=True)
    running -= 1
    if sum(map(len, done.values())) == len(ACCOUNTS) * len(STEPS):
        executor.stop()  # only here, where the example ends


async def main() -> None:
    async with Client() as client:
        await client.schedule_many(
            {
                "id": f"{account}-{number}-{step}",
                "key": account,
                "type": "order-per-entity.book",
                "in": f"{1000 + number}ms",
                "track": True,
                "payload": step,
            }
            for account in ACCOUNTS
            for number, step in enumerate(STEPS)
        )
    await executor.run()
    for account in ACCOUNTS:
        print(f"{account:5} {' → '.join(done[account])}")


if __name__ == "__main__":
    asyncio.run(main())
