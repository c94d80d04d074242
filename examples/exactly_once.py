"""Exactly once, into PostgreSQL: the effect and the mark that it happened are one transaction.

An executor may die after its deed and before its report. Then the delivery comes again, or the run is tried again after
its timeout; it has no way to know. The database has: it keeps the run's name beside the effect, and refuses it a second
time. `delivery` is unique for each attempt and ends in `#attempt`; what comes before is the run, whichever attempt.

The first worker here is killed (-9) just then. PostgreSQL is found by libpq's variables: PGHOST, PGDATABASE, ….
"""

import asyncio
import os
import signal
import sys

import psycopg

from lightsched import Client, Context, Executor, Then

TABLES = """
CREATE TABLE IF NOT EXISTS balance (account text PRIMARY KEY, cents bigint NOT NULL);
CREATE TABLE IF NOT EXISTS done (run text PRIMARY KEY, at timestamptz NOT NULL DEFAULT now());
INSERT INTO balance VALUES ('ada', 0) ON CONFLICT (account) DO UPDATE SET cents = 0;
"""
DIES = "--dies" in sys.argv

executor = Executor(group="exactly-once")


@executor.on("exactly-once.pay")
async def pay(payment: dict[str, int], context: Context) -> Then:
    async with await psycopg.AsyncConnection.connect() as db:  # one transaction: the end of the block commits
        first = await db.execute("INSERT INTO done (run) VALUES (%s) ON CONFLICT DO NOTHING", [context.run])
        if first.rowcount:
            await db.execute("UPDATE balance SET cents = cents + %s WHERE account = 'ada'", [payment["cents"]])
    print(f"attempt {context.attempt}: {'paid' if first.rowcount else 'was paid before'}", flush=True)
    if DIES:
        os.kill(os.getpid(), signal.SIGKILL)  # before it could report
    return Then({"id": "receipt-ada", "type": "exactly-once.receipt", "in_": "1ms"}, result={"run": context.run})


@executor.on("exactly-once.receipt")
async def receipt() -> None:
    print("receipt: one report has counted", flush=True)
    executor.stop()  # only here, where the example ends


async def main() -> None:
    with psycopg.connect(autocommit=True) as db:
        db.execute(TABLES)
        async with Client() as client:
            await client.schedule(
                id="pay-ada",
                type="exactly-once.pay",
                in_="1ms",
                timeout="10s",
                retry={"attempts": 20, "delay": "1s", "factor": 1},
                payload={"cents": 500},
            )
        for arguments in ("worker", "--dies"), ("worker",):
            worker = await asyncio.create_subprocess_exec(sys.executable, __file__, *arguments)
            ended = await worker.wait()
            print("the worker was killed" if ended == -signal.SIGKILL else f"the worker ended with {ended}", flush=True)
        [(cents,)] = db.execute("SELECT cents FROM balance WHERE account = 'ada'").fetchall()
        print(f"Ada has {cents} cents")


if __name__ == "__main__":
    if "worker" in sys.argv:
        executor.main()
    else:
        asyncio.run(main())
