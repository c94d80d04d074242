"""A nightly batch: every night at two, local time, whatever the clocks do.

It takes long, so the executor sends heartbeats by itself, and a run that is silent for a minute is taken over by
another executor. If it fails, it is tried again twice. A night that takes until the next is not overtaken (`overlap:
skip`). To see it now, it is triggered: one more run, and the schedule stays.
"""

import asyncio

from lightsched import Client, Context, Executor

executor = Executor(group="nightly-batch")


@executor.on("nightly-batch.invoices")
async def invoices(payload: dict[str, list[str]], context: Context) -> dict[str, int]:
    print(f"the batch due {context.due:%Y-%m-%d %H:%M:%S} UTC begins", flush=True)
    for customer in payload["customers"]:
        await asyncio.sleep(0.1)  # the work
        print(f"  invoice for {customer}", flush=True)
    executor.stop()  # only here, where the example ends
    return {"invoices": len(payload["customers"])}


async def main() -> None:
    async with Client() as client:
        result = await client.schedule(
            id="nightly-batch",
            type="nightly-batch.invoices",
            cron="0 2 * * *",
            timezone="Europe/Paris",
            overlap="skip",
            timeout="1m",
            retry={"delays": ["10m", "1h"]},
            payload={"customers": ["Ada", "Bob", "Cleo"]},
        )
        if result.next_execution:  # over Kafka nobody answers
            print(f"scheduled, the next night is {result.next_execution:%Y-%m-%d %H:%M} UTC", flush=True)
        await client.trigger("nightly-batch", reason="to see it")
        await executor.run()
        await client.cancel("nightly-batch", reason="it was an example")


if __name__ == "__main__":
    asyncio.run(main())
