"""An executor to be killed: it notes when each function begins and ends, and does as the delivery's id has it.

`python -m tests.chaos.executors.program <bootstrap> <prefix> <name> <effects>` appends lines to the file `effects`.
"""

import asyncio
import json
import os
import sys
import time
from hashlib import blake2b

from lightsched import Context, Executor, Fatal, Retry
from lightsched.client import Kafka

RETRIES, FATALS, SLOW = 0.10, 0.02, 0.01  # shares of the deliveries
SLOW_S = 3.0  # longer than a third of the timeout: carried by heartbeats
QUICK_S = 0.05
SESSION = "3s"


def fate(delivery: str) -> float:
    """A number from 0 to 1 that is always the same for a delivery."""
    return int.from_bytes(blake2b(delivery.encode(), digest_size=6).digest(), "big") / 2**48


def main(bootstrap: str, prefix: str, name: str, effects: str) -> None:
    executor = Executor(
        Kafka(bootstrap, prefix),
        group=f"{prefix}executors",
        name=name,
        concurrency=50,
        grace="5s",
        session_timeout=SESSION,
    )
    file = os.open(effects, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def note(what: str, context: Context) -> None:
        line = {"what": what, "at": time.time(), "delivery": context.delivery, "executor": name}
        os.write(file, json.dumps(line).encode() + b"\n")

    @executor.on("job")
    async def job(payload: int, context: Context) -> int:
        note("begin", context)
        try:
            chance = fate(context.delivery)
            await asyncio.sleep(SLOW_S if chance > 1 - SLOW else QUICK_S)
            if chance < FATALS:
                raise Fatal("so it is")
            if chance < FATALS + RETRIES:
                raise Retry("not this time")
            return payload
        finally:
            note("end", context)

    executor.main()


if __name__ == "__main__":
    main(*sys.argv[1:])
