"""A lightsched node that can be told to misbehave: `python -m tests.chaos.kafka.faulty FAULTS serve …`.

FAULTS is a file of JSON that it reads again and again:

    {"clock_ms": 86400000}      its wall clock is off by so much
    {"disk_full": true}         the store cannot be written after a commit
    {"init_delay_s": 8}         becoming the writer of a partition takes this long to arrive at the broker
"""

import errno
import json
import sys
import threading
import time
from pathlib import Path

from lightsched.cli import main
from lightsched.log.kafka import transactions
from lightsched.node.clock import SystemClock
from lightsched.store.rocks import Rocks

now: dict[str, float] = {}


def watch(file: Path) -> None:
    """Read the faults, for ever."""
    while True:
        try:
            now.update(clock_ms=0, disk_full=0, init_delay_s=0)
            now.update(json.loads(file.read_text()))
        except (OSError, ValueError):
            pass
        time.sleep(0.05)


def install() -> None:
    """Put the faults where they happen."""
    wall_ms, write, start = SystemClock.wall_ms, Rocks.write, transactions.Transactions.start

    def shifted(self):
        return wall_ms(self) + int(now.get("clock_ms", 0))

    def full(self, batch):
        if now.get("disk_full"):
            raise OSError(errno.ENOSPC, "No space left on device")
        write(self, batch)

    async def late(self):
        await transactions.asyncio.sleep(now.get("init_delay_s", 0))
        await start(self)

    SystemClock.wall_ms = shifted
    Rocks.write = full
    transactions.Transactions.start = late


if __name__ == "__main__":
    threading.Thread(target=watch, args=(Path(sys.argv.pop(1)),), daemon=True).start()
    install()
    main()
