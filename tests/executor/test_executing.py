"""Does a function get what is delivered, and does what comes of it count?"""

import asyncio
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypedDict

import msgspec
import pydantic
import pytest

from lightsched import Context, Fatal, Retry, Then
from tests.executor.conftest import running


class Mail(msgspec.Struct):
    to: str
    copies: int = 1


@dataclass
class Parcel:
    weight: float


class Note(TypedDict):
    text: str


class Model(pydantic.BaseModel):
    size: int


async def test_a_function_gets_its_payload_and_context_and_its_result_is_kept(place, name):
    executor = place.executor(name="mailer-1")
    seen = []

    @executor.on("email.send")
    async def send(mail: Mail, context: Context):
        seen.append(context)
        return {"sent": mail.to, "copies": mail.copies}

    await place.schedule(id=name, key="k", type="email.send", payload={"to": "ada"}, headers={"x-a": "é"}, timeout="2m")
    async with running(executor):
        await place.until(name)
    run = await place.last_run(name)
    assert run.result == {"sent": "ada", "copies": 1}
    assert run.attempts[0].executor == "mailer-1"
    (context,) = seen
    assert (context.id, context.key, context.tenant, context.type) == (name, "k", "default", "email.send")
    assert (context.attempt, context.topic, context.headers["x-a"]) == (1, place.topic, "é")
    assert context.due == run.due
    assert context.timeout.total_seconds() == 120
    assert context.delivery == f"{context.run}#1"
    assert context.traceparent.startswith("00-")
    assert context.partition >= 0


async def test_retry_fatal_and_any_other_exception(place, name):
    executor = place.executor()
    tried, runs = [], set()

    @executor.on("flaky")
    async def flaky(payload: Any, context: Context):
        tried.append(context.attempt)
        runs.add(context.run)
        if context.attempt == 1:
            raise Retry("not yet", in_="1ms")
        if context.attempt == 2:
            raise ConnectionError("refused")
        raise Fatal("never")

    await place.schedule(id=name, type="flaky", retry={"attempts": 9, "delay": "1ms"})
    async with running(executor):
        await place.until(name, "FATAL_FAILURE")
    run = await place.last_run(name)
    assert (tried, len(runs)) == ([1, 2, 3], 1)
    assert [attempt.error for attempt in run.attempts] == ["not yet", "ConnectionError: refused", "never"]


async def test_then_schedules_what_follows(place, name):
    executor = place.executor()
    chained = asyncio.Event()

    @executor.on("first")
    async def first():
        follow = {"id": f"{name}-2", "type": "second", "in_": "1ms", "topics": [place.topic], "track": True}
        return Then(follow, result="done")

    @executor.on("second")
    async def second():
        chained.set()

    await place.schedule(id=name, type="first")
    async with running(executor):
        await place.until(name)
        await asyncio.wait_for(chained.wait(), 30)
    assert (await place.last_run(name)).result == "done"


async def test_a_result_may_have_several_lines(place, name):
    executor = place.executor()
    follow = {"id": f"{name}-2", "type": "nobody", "in_": "1h", "payload": msgspec.Raw(b'{\n  "a": 1\n}')}
    executor.on("first")(lambda: Then(follow, result=msgspec.Raw(b'{\n  "b": 2\n}')))
    await place.schedule(id=name, type="first")
    async with running(executor):
        await place.until(name)
    assert (await place.last_run(name)).result == {"b": 2}
    assert (await place.until(f"{name}-2", "NOT_STARTED")).payload == {"a": 1}


@pytest.mark.parametrize(
    ("annotation", "payload", "expected"),
    [
        (Mail, {"to": "a"}, Mail("a")),
        (Parcel, {"weight": 1.5}, Parcel(1.5)),
        (Note, {"text": "x"}, {"text": "x"}),
        (Model, {"size": 3}, Model(size=3)),
        (dict[str, int], {"a": 1}, {"a": 1}),
        (list[int] | None, None, None),
        (bytes, {"a": 1}, b'{"a":1}'),
        (bytes, b"\xff", b"\xff"),
        (str, "text", "text"),
        (str, b"plain", "plain"),
        (Any, [1, "a"], [1, "a"]),
        (Any, b"\x00", b"\x00"),
        pytest.param(Any, msgspec.Raw(b"[1E400]"), [Decimal("1E400")], id="a number of any size"),
    ],
    ids=str,
)
async def test_payloads_are_as_annotated(rest, name, annotation, payload, expected):
    executor = rest.executor()
    got = asyncio.get_running_loop().create_future()

    async def work(payload):
        got.set_result(payload)

    work.__annotations__["payload"] = annotation
    executor.on("*")(work)
    await rest.schedule(id=name, payload=payload)
    async with running(executor):
        assert await asyncio.wait_for(got, 30) == expected


@pytest.mark.parametrize("annotation", [Mail, Parcel, Model, Note])
async def test_a_payload_that_does_not_fit_is_fatal_and_names_the_field(rest, name, annotation):
    executor = rest.executor()

    async def work(payload): ...

    work.__annotations__["payload"] = annotation
    executor.on("*")(work)
    await rest.schedule(id=name, payload={"to": 1, "weight": "x", "size": "y", "text": 2}, retry={"delays": ["1h"]})
    async with running(executor):
        await rest.until(name, "FATAL_FAILURE")
    error = (await rest.last_run(name)).error
    assert "expects" in error
    assert any(f"$.{field}`" in error for field in ("to", "weight", "size", "text"))


async def test_order_holds_per_key_and_keys_run_side_by_side(place, name):
    executor = place.executor(concurrency=20)
    running_now, log, most, all_done = set(), {}, 0, asyncio.Event()

    @executor.on("step")
    async def step(n: int, context: Context):
        nonlocal most
        assert context.key not in running_now
        running_now.add(context.key)
        most = max(most, len(running_now))
        await asyncio.sleep(0.005)
        running_now.discard(context.key)
        log.setdefault(context.key, []).append(n)
        if sum(map(len, log.values())) == 80:
            all_done.set()

    events = [
        {"id": f"{name}-{n}", "key": f"{name}-k{n % 4}", "type": "step", "in": "1ms", "topics": [place.topic]}
        | {"payload": n, "timeout": "1m"}
        for n in range(80)
    ]
    await place.client.schedule_many(events)
    async with running(executor):
        await asyncio.wait_for(all_done.wait(), 60)
    assert most > 1
    assert all(len(steps) == 20 for steps in log.values())
    assert log == {key: sorted(steps) for key, steps in log.items()}


async def test_no_more_than_the_concurrency_run_at_once(place, name):
    executor = place.executor(concurrency=3)
    now, most, done, all_done = 0, 0, 0, asyncio.Event()

    @executor.on("*")
    async def work():
        nonlocal now, most, done
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.01)
        now -= 1
        done += 1
        if done == 30:
            all_done.set()

    await place.client.schedule_many({"in": "1ms", "topics": [place.topic], "track": True} for _ in range(30))
    async with running(executor):
        await asyncio.wait_for(all_done.wait(), 60)
    assert most == 3


async def test_what_takes_longer_than_its_timeout_is_kept_by_heartbeats(place, name):
    executor = place.executor()
    tried = []

    @executor.on("slow")
    async def slow(payload: Any, context: Context):
        tried.append(context.attempt)
        await asyncio.sleep(7)
        return "done"

    await place.schedule(id=name, type="slow", timeout="3s", retry={"delays": ["1ms"]})
    async with running(executor):
        await place.until(name, "SUCCESS", "FATAL_FAILURE")
    assert tried == [1]
    assert (await place.last_run(name)).result == "done"


async def test_a_stop_finishes_what_was_taken_and_takes_no_more(place, name):
    executor = place.executor()
    began, go_on = asyncio.Event(), asyncio.Event()

    @executor.on("long")
    async def long():
        began.set()
        await go_on.wait()
        return "done"

    await place.schedule(id=name, type="long")
    async with running(executor):
        await asyncio.wait_for(began.wait(), 30)
        executor.stop()
        await place.schedule(id=f"{name}-after", type="long")
        await asyncio.sleep(0.1)
        go_on.set()
    await place.until(name)
    assert (await place.client.get(f"{name}-after")).status == "NOT_STARTED"
    async with running(executor):
        await place.until(f"{name}-after")


async def test_what_nobody_executes_is_skipped(place, name):
    executor = place.executor()
    executor.on("known")(lambda: "ok")
    await place.schedule(id=f"{name}-x", key=name, type="unknown")
    await place.schedule(id=name, key=name, type="known")
    async with running(executor):
        await place.until(name)
    assert (await place.client.get(f"{name}-x")).status == "NOT_STARTED"


async def test_what_is_not_tracked_is_executed_and_not_reported(place, name):
    executor = place.executor()
    got = asyncio.get_running_loop().create_future()

    @executor.on("*")
    async def work(payload: Any, context: Context):
        got.set_result(context.timeout)

    await place.client.schedule(in_="1ms", topics=[place.topic])
    async with running(executor):
        assert await asyncio.wait_for(got, 30) is None
