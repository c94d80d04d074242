"""A timeout check: do something if no answer comes.

With each question to a partner a check is scheduled. The answer cancels it; where none comes, the check is delivered.
A cancel has a definite outcome: CANCELLED means that the check will not come, TOO_LATE that it did.
"""

import asyncio

from lightsched import Client, Context, Executor

PATIENCE = "2s"

executor = Executor(group="timeout-check")


@executor.on("timeout-check.overdue")
async def overdue(payload: dict[str, str], context: Context) -> None:
    print(f"{context.id}: {payload['partner']} has not answered within {PATIENCE}, somebody should call", flush=True)
    executor.stop()  # only here, where the example ends


async def ask(client: Client, number: int, partner: str) -> None:
    """Send the question, which is not shown, and watch over the answer."""
    await client.schedule(
        id=f"question-{number}",
        type="timeout-check.overdue",
        in_=PATIENCE,
        payload={"partner": partner},
        timeout="1m",
    )
    print(f"question-{number}: asked {partner}", flush=True)


async def answered(client: Client, number: int) -> None:
    result = await client.cancel(f"question-{number}", reason="answered")
    print(f"question-{number}: answered, the check is {result.outcome or 'cancelled, if that was in time'}", flush=True)


async def main() -> None:
    async with Client() as client:
        await ask(client, 1, "ACME")
        await ask(client, 2, "Initech")
        await answered(client, 1)
    await executor.run()


if __name__ == "__main__":
    asyncio.run(main())
