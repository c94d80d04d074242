"""Does the outbox lose nothing and double nothing? On a real PostgreSQL and a real broker, with relays killed."""

import asyncio
import importlib.util
import json
import random
import signal
import subprocess
import sys
import time
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import psycopg
import pytest

from lightsched import SyncClient
from tests.api.conftest import eventually
from tests.chaos.kafka.checker import read_all
from tests.examples.program import EXAMPLES, Program

PARTITIONS = 3
FOLDER = EXAMPLES / "outbox"
LATER = timedelta(hours=1)
AT_ONCE = timedelta()
KILLS = 5
ORDERS = 200
CUT = """SELECT pg_terminate_backend(pid) FROM pg_locks
WHERE locktype = 'advisory' AND granted
AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"""
"""Cuts the connection of the relay that works."""


def module(name):
    found = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    loaded = importlib.util.module_from_spec(found)
    found.loader.exec_module(loaded)
    return loaded


shop = module("shop")


@pytest.fixture
def variables(on_kafka, database):
    _, place = on_kafka
    return {"KAFKA": place.bootstrap, "PREFIX": place.prefix, **database}


@pytest.fixture
def connect(database):
    def connect():
        where = {"host": database["PGHOST"], "user": database["PGUSER"], "dbname": database["PGDATABASE"]}
        return psycopg.connect(**where, autocommit=True)

    return connect


@pytest.fixture
def db(connect):
    with connect() as db:
        db.execute((FOLDER / "schema.sql").read_text(encoding="utf-8"))
        yield db


@pytest.fixture
def relay(variables, tmp_path):
    """Starts relays; each has a log of its own."""
    started = []

    def start():
        started.append(Program("outbox/relay.py", variables, said=tmp_path / f"relay-{len(started)}.log"))
        return started[-1]

    yield start
    for each in started:
        each.kill()


@pytest.fixture
def seen(on_kafka, name):
    return Seen(on_kafka[1], name)


class Seen:
    """What there is to see about a test's events: they have its name in theirs."""

    def __init__(self, place, name):
        self._place = place
        self._name = name

    async def on(self, topic):
        """The records of a topic."""
        records = await read_all(self._place.bootstrap, self._place.prefix + topic, PARTITIONS)
        return [record for record in records if self._name.encode() in record.value]

    async def outcomes(self):
        """For each event its commands' outcomes, in their order, once every command has one."""
        deadline = time.monotonic() + 60
        while True:
            found = defaultdict(list)
            for record in await self.on("audit"):
                for line in map(json.loads, record.value.splitlines()):
                    if line.get("outcome") not in {None, "", "FORWARDED"} and self._name in line["id"]:
                        found[line["id"]].append(line["outcome"])
            if sum(map(len, found.values())) == len(await self.on("events")):
                return found
            assert time.monotonic() < deadline, "not all commands have an outcome"

    async def deliveries(self):
        """How many each event has."""
        return Counter(dict(record.headers)["ls_id"].decode() for record in await self.on("deliveries"))


def empty(db):
    return not db.execute("SELECT count(*) FROM outbox").fetchone()[0]


def test_customers_are_reminded_unless_they_pay(on_kafka, variables, db, relay, name):
    def run(*arguments):
        subprocess.run([sys.executable, FOLDER / "shop.py", *arguments], env=variables, check=True)

    relay().says("relaying")
    run("order", f"{name}-1", "ada")
    run("order", f"{name}-2", "bob")
    run("pay", f"{name}-1")
    with SyncClient(on_kafka[0]) as client:
        told = (delivery for delivery in client.deliveries(f"{on_kafka[1].prefix}deliveries", group=name))
        delivery = next(delivery for delivery in told if delivery.type == "order.remind")
        assert (delivery.key, delivery.payload) == (f"{name}-2", {"order": f"{name}-2", "customer": "bob"})
        assert client.get(f"remind-{name}-1").status == "CANCELLED"


def test_what_is_rolled_back_is_not_scheduled(db, name):
    with db.transaction(force_rollback=True):
        shop.order(db, name, "ada")
        assert not empty(db)
    assert empty(db)
    assert db.execute("SELECT count(*) FROM orders").fetchone() == (0,)


@pytest.mark.parametrize(
    "event",
    [
        {"at": "2030-01-01T00:00:00Z"},
        {"id": "x", "in": "5s"},
        {"id": "x", "op": "trigger"},
        {"id": "x", "payload": "x" * 2**20},
    ],
)
def test_what_must_not_be_sent_twice_is_refused_by_the_table(db, event):
    with pytest.raises(psycopg.errors.CheckViolation):
        shop.tell(db, **event)


async def test_a_relay_that_dies_between_sending_and_deleting_doubles_nothing(db, connect, relay, name, seen):
    shop.order(db, f"{name}-1", "ada", AT_ONCE)
    shop.order(db, f"{name}-2", "bob", LATER)
    shop.pay(db, f"{name}-2")
    with connect() as other, other.transaction(force_rollback=True):
        other.execute("SELECT FROM outbox FOR UPDATE")  # nobody deletes them
        first = relay()
        while len(await seen.on("events")) < 2:
            pass
        first.kill()
        other.execute(CUT)  # or what it had asked for would still be done
    assert not empty(db)
    relay()
    eventually(lambda: empty(db))
    found = await seen.outcomes()
    assert found[f"remind-{name}-1"] == ["SCHEDULED", "UNCHANGED"]
    assert found[f"remind-{name}-2"] == ["SCHEDULED", "UNCHANGED", "CANCELLED"]
    assert await seen.deliveries() == {f"remind-{name}-1": 1}


async def test_relays_killed_at_any_moment_lose_and_double_nothing(db, connect, relay, name, seen):
    ids = [f"{name}-{n:03}" for n in range(ORDERS)]
    paid = ids[::3]

    def sell():
        with connect() as till:
            for id in ids:
                shop.order(till, id, "ada", LATER if id in paid else AT_ONCE)
                if id in paid:
                    shop.pay(till, id)
                time.sleep(0.02)  # so that relays have something to do all the time

    chance = random.Random(name)
    with ThreadPoolExecutor(1) as pool:
        sold = pool.submit(sell)
        for _ in range(KILLS):
            running = relay()
            running.says("relaying")
            await asyncio.sleep(chance.uniform(0, 0.3))
            running.kill()
        sold.result()
    relay()
    eventually(lambda: empty(db), 60)

    found = await seen.outcomes()
    assert {id: said.count("SCHEDULED") for id, said in found.items()} == {f"remind-{id}": 1 for id in ids}
    assert {id for id, said in found.items() if "CANCELLED" in said} == {f"remind-{id}" for id in paid}
    assert await seen.deliveries() == {f"remind-{id}": 1 for id in ids if id not in paid}


async def test_one_relay_works_and_the_next_takes_over(db, relay, name, seen):
    first = relay()
    first.says("relaying")
    second = relay()
    second.says("waiting for the lock")
    shop.order(db, f"{name}-1", "ada", AT_ONCE)
    eventually(lambda: empty(db))
    assert "relaying" not in second.said

    first.send(signal.SIGSTOP)
    shop.order(db, f"{name}-2", "bob", AT_ONCE)
    db.execute(CUT)
    second.says("relaying")
    eventually(lambda: empty(db))
    first.send(signal.SIGCONT)
    assert first.ends() != 0, "it goes on without the database"
    assert await seen.outcomes() == {f"remind-{name}-{n}": ["SCHEDULED"] for n in (1, 2)}
    assert await seen.deliveries() == {f"remind-{name}-{n}": 1 for n in (1, 2)}
