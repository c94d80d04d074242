"""Polling until done: ask again and again, and stop at the first success.

A video is being rendered elsewhere, by something that calls nobody back. `every` asks, `until: success` ends it, and
`max_runs` gives up at some point. `overlap: skip` keeps a slow answer from being asked for twice at once.
"""

import asyncio

from lightsched import Client, Executor, Fatal, Then

executor = Executor(group="polling")
progress = iter([30, 70, 100])


@executor.on("polling.ask")
async def ask(payload: dict[str, str]) -> Then:
    percent = next(progress)
    print(f"{payload['video']}: {percent} %", flush=True)
    if percent < 100:
        raise Fatal("not done yet")  # of this run; the next one asks again
    return Then({"id": "publish", "type": "polling.publish", "in_": "1ms", "track": True, "payload": payload})


@executor.on("polling.publish")
async def publish(payload: dict[str, str]) -> None:
    print(f"{payload['video']}: published", flush=True)
    executor.stop()  # only here, where the example ends


async def main() -> None:
    async with Client() as client:
        await client.schedule(
            id="ask-for-cats.mp4",
            type="polling.ask",
            every="500ms",
            until="success",
            overlap="skip",
            max_runs=100,
            payload={"video": "cats.mp4"},
        )
    await executor.run()


if __name__ == "__main__":
    asyncio.run(main())
