"""Do the tests have a broker that can be relied on, and killed?"""

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from tests.broker.ladder import VARIABLE, NoBroker, find_broker
from tests.broker.local import LocalCluster
from tests.broker.metadata import known_brokers
from tests.broker.process import HOST
from tests.broker.share import ROOT, shared_broker

NOBODY = "127.0.0.1:1"


# Where a broker comes from


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine with nothing on it: no variable, no engine, no programs but those in the folder."""
    programs = tmp_path / "bin"
    programs.mkdir()
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/no-engine")
    monkeypatch.setenv("PATH", str(programs))
    return programs


def test_the_named_broker_comes_first_and_is_not_ours_to_end(kafka, monkeypatch, tmp_path):
    monkeypatch.setenv(VARIABLE, kafka)
    broker = find_broker(tmp_path)
    broker.close()
    assert broker.bootstrap == kafka
    assert known_brokers(*_address(kafka))


def test_a_named_broker_that_does_not_answer_is_an_error_and_no_other_is_tried(monkeypatch, tmp_path):
    monkeypatch.setenv(VARIABLE, NOBODY)
    with pytest.raises(NoBroker, match=f"{VARIABLE} names a broker on {NOBODY}, but it does not answer"):
        find_broker(tmp_path)


def test_a_name_that_is_no_address_is_an_error(monkeypatch, tmp_path):
    monkeypatch.setenv(VARIABLE, "localhost")
    with pytest.raises(NoBroker, match="write host:port"):
        find_broker(tmp_path)


def test_without_any_broker_the_error_says_how_to_get_one(bare, tmp_path):
    with pytest.raises(NoBroker) as raised:
        find_broker(tmp_path)
    for way in (f"{VARIABLE}=host:port", "start Docker", "install Java 17 or newer and Maven", "no java and no mvn"):
        assert way in str(raised.value)


def test_a_java_that_is_too_old_is_named(bare, tmp_path):
    for program in ("java", "mvn"):
        (bare / program).write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\" 2019-01-15' >&2\n")
        (bare / program).chmod(0o755)
    with pytest.raises(NoBroker, match=r'Kafka needs Java 17, while this is openjdk version "11\.0\.2"'):
        find_broker(tmp_path)


# How workers share it


def test_users_share_one_broker_and_the_last_one_ends_it(kafka, monkeypatch, tmp_path):
    monkeypatch.setenv(VARIABLE, kafka)
    told = tmp_path / "broker"
    with shared_broker(tmp_path) as first:
        keeper = told.stat().st_ino
        with shared_broker(tmp_path) as second:
            assert first == second == kafka
        time.sleep(0.2)
        assert told.stat().st_ino == keeper
    _until(lambda: not told.exists())
    with shared_broker(tmp_path) as third:
        assert third == kafka


def test_a_user_that_is_killed_has_left(kafka, monkeypatch, tmp_path):
    monkeypatch.setenv(VARIABLE, kafka)
    program = f"""
        import pathlib, time
        from tests.broker.share import shared_broker
        with shared_broker(pathlib.Path({str(tmp_path)!r})) as bootstrap:
            print(bootstrap, flush=True)
            time.sleep(600)
    """
    with _program(program) as user:
        assert user.stdout.readline().strip() == kafka
        assert (tmp_path / "broker").exists()
        user.kill()
        _until(lambda: not (tmp_path / "broker").exists())


def test_every_user_is_told_why_there_is_no_broker(bare, tmp_path):
    for _ in range(2):
        with pytest.raises(NoBroker, match="install Java"), shared_broker(tmp_path):
            pass


# What it does


async def test_the_shared_broker_takes_transactions(kafka):
    topic = await _new_topic(kafka)
    producer = AIOKafkaProducer(bootstrap_servers=kafka, transactional_id=topic)
    await producer.start()
    try:
        async with producer.transaction():
            await producer.send_and_wait(topic, b"committed")
        await producer.begin_transaction()
        await producer.send_and_wait(topic, b"aborted")
        await producer.abort_transaction()
    finally:
        await producer.stop()
    assert await _read(kafka, topic, 1) == [b"committed"]


async def test_a_broker_keeps_its_port_and_its_data_whatever_ends_it(tmp_path, monkeypatch):
    monkeypatch.setattr("tests.broker.local.new_cluster_id", lambda: "-CDEFGHIJKLMNOPQRSTUVw")  # looks like an option
    cluster = LocalCluster(tmp_path)
    try:
        bootstrap = cluster.bootstrap
        topic = await _new_topic(bootstrap)
        await _write(bootstrap, topic, b"before")

        cluster.pause()
        with pytest.raises(TimeoutError):
            known_brokers(*_address(bootstrap), timeout_s=0.5)
        cluster.resume()
        assert known_brokers(*_address(bootstrap)) == {1}

        cluster.kill()
        with pytest.raises(ConnectionRefusedError):
            known_brokers(*_address(bootstrap))
        starting = threading.Thread(target=cluster.start)  # a broker must not end with the thread that started it
        starting.start()
        starting.join()
        await _write(bootstrap, topic, b"between")

        cluster.stop()
        cluster.start()
        assert cluster.bootstrap == bootstrap
        assert await _read(bootstrap, topic, 2) == [b"before", b"between"]
    finally:
        cluster.close()
    assert not any((tmp_path / "1" / "data").glob("*"))
    assert (tmp_path / "1" / "broker.log").stat().st_size > 0


async def test_three_brokers_survive_the_death_of_one_and_take_it_back(tmp_path):
    cluster = LocalCluster(tmp_path, brokers=3)
    try:
        topic = await _new_topic(cluster.bootstrap, replicas=3)
        await _write(cluster.bootstrap, topic, b"three")
        cluster.kill(2)
        await _write(cluster.bootstrap, topic, b"two")
        cluster.start(2)
        await _until_in_sync(cluster.bootstrap, topic, {1, 2, 3})
        assert await _read(f"{HOST}:{cluster.brokers[2].port}", topic, 2) == [b"three", b"two"]
    finally:
        cluster.close()


def test_a_broker_ends_with_a_parent_that_is_killed(tmp_path):
    program = f"""
        import pathlib, time
        from tests.broker.local import LocalCluster
        cluster = LocalCluster(pathlib.Path({str(tmp_path)!r}))
        print(cluster.brokers[1].pid, flush=True)
        time.sleep(600)
    """
    with _program(program) as parent:
        broker = psutil.Process(int(parent.stdout.readline()))
        assert broker.name() == "java"
        parent.kill()
        _until(lambda: not broker.is_running() or broker.status() == psutil.STATUS_ZOMBIE)


# How the above is done


def _address(bootstrap: str) -> tuple[str, int]:
    host, _, port = bootstrap.rpartition(":")
    return host, int(port)


def _until(holds: Callable[[], bool], within_s: float = 20) -> None:
    deadline = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@contextmanager
def _program(text: str) -> Iterator[subprocess.Popen[str]]:
    """A Python program of its own, killed at the end."""
    lines = "\n".join(line.removeprefix(" " * 8) for line in text.splitlines())
    with subprocess.Popen([sys.executable, "-c", lines], cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                os.kill(process.pid, signal.SIGKILL)


async def _new_topic(bootstrap: str, replicas: int = 1) -> str:
    name = f"broker-{uuid.uuid4().hex}"
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    try:
        await admin.create_topics([NewTopic(name, num_partitions=1, replication_factor=replicas)])
    finally:
        await admin.close()
    return name


async def _until_in_sync(bootstrap: str, topic: str, brokers: set[int]) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    try:
        async with asyncio.timeout(30):
            while set((await admin.describe_topics([topic]))[0]["partitions"][0]["isr"]) != brokers:  # noqa: ASYNC110
                await asyncio.sleep(0.1)
    finally:
        await admin.close()


async def _write(bootstrap: str, topic: str, value: bytes) -> None:
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap, acks="all", enable_idempotence=True)
    await producer.start()
    try:
        await producer.send_and_wait(topic, value, partition=0)
    finally:
        await producer.stop()


async def _read(bootstrap: str, topic: str, count: int) -> list[bytes]:
    """All that is committed, at least `count` records of it."""
    consumer = AIOKafkaConsumer(
        bootstrap_servers=bootstrap, isolation_level="read_committed", auto_offset_reset="earliest"
    )
    consumer.assign([TopicPartition(topic, 0)])
    await consumer.start()
    values: list[bytes] = []
    try:
        async with asyncio.timeout(30):
            while len(values) < count:
                for records in (await consumer.getmany(timeout_ms=500)).values():
                    values += [record.value for record in records]
    finally:
        await consumer.stop()
    return values
