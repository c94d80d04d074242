"""A delayed job: do this later, not now.

Somebody signs up; two seconds later (in real life: the next morning) they get a mail. The service that takes the
sign-up only schedules. Whoever sends mails need not run at that moment, nor be the same program.
"""

import asyncio
from datetime import UTC, datetime

import msgspec

from lightsched import Client, Context, Executor

DELAY = "2s"

executor = Executor(group="delayed-job")


class Mail(msgspec.Struct):
    to: str
    subject: str


@executor.on("delayed-job.mail")
async def send(mail: Mail, context: Context) -> dict[str, str]:
    late = datetime.now(UTC) - context.due
    print(f"{mail.subject!r} to {mail.to}, {late.total_seconds() * 1000:.0f} ms after it was due", flush=True)
    executor.stop()  # only here, where the example ends
    return {"sent_to": mail.to}


async def main() -> None:
    async with Client() as client:
        await client.schedule(
            id="welcome-ada",
            type="delayed-job.mail",
            in_=DELAY,
            payload=Mail(to="ada@example.org", subject="Welcome"),
            timeout="1m",  # so that it is tracked: the executor reports, and its status is more than "delivered"
        )
        print(f"Ada has signed up: a mail in {DELAY}", flush=True)
    await executor.run()


if __name__ == "__main__":
    asyncio.run(main())
