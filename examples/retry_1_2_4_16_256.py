"""Retries after 1, 2, 4, 16 and 256 minutes: a partner that is down for a while.

The delays belong to the event, not to the executor: it only says that this attempt failed. If it dies without a word,
that counts as failed, too, once the event's timeout has passed. Here a minute takes ten milliseconds (`UNIT_MS`).
"""

import asyncio
import os
import time

from lightsched import Client, Context, Executor, Retry

UNIT_MS = int(os.environ.get("UNIT_MS", "10"))  # 60000 in real life
DELAYS = [1, 2, 4, 16, 256]

executor = Executor(group="retries")
times = list[float]()


@executor.on("retries.order")
async def order(payload: dict[str, str], context: Context) -> str:
    times.append(time.monotonic())
    waited = (times[-1] - times[-2]) * 1000 / UNIT_MS if times[1:] else 0
    print(f"attempt {context.attempt}, {waited:.0f} units after the one before", flush=True)
    if context.attempt <= len(DELAYS):
        raise Retry(f"{payload['partner']} does not answer")  # any other exception would do
    executor.stop()  # only here, where the example ends
    return f"{payload['partner']} has taken it"


async def main() -> None:
    async with Client() as client:
        await client.schedule(
            id="order-7",
            type="retries.order",
            in_="1ms",
            retry={"delays": [f"{units * UNIT_MS}ms" for units in DELAYS]},
            payload={"partner": "ACME"},
        )
    await executor.run()


if __name__ == "__main__":
    asyncio.run(main())
