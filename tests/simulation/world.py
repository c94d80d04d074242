"""The real thing and the model, side by side, on a clock that only moves when told to.

The real thing is what a node runs: engine, store, embedded log and workers, in a directory of its own. Every turn of a
worker is repeated by the model with the same inputs; whatever differs is an AssertionError.

A crash is played by copying the directory at the very moment and going on with the copy: what the process had handed
to the system is there. A power cut also takes a part of what was not synced.
"""

import asyncio
import json
import shutil
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lightsched.node.worker as worker_module
from lightsched.engine.engine import Engine
from lightsched.engine.rules import Rules
from lightsched.engine.state import Phase, State
from lightsched.event.limits import Limits
from lightsched.event.murmur2 import partition_of
from lightsched.event.record import Appended, Record
from lightsched.event.tenant import Tenant, TenantLimits
from lightsched.log.embedded.log import EmbeddedLog
from lightsched.node.answers import Answers
from lightsched.node.guard import ClockGuard, Reading
from lightsched.node.metrics import Metrics
from lightsched.node.worker import Worker
from tests.simulation.model import NOWHERE, Delivered, Guard, Partition, Settings, definition_of

EVENTS, REPORTS = "lightsched.events", "lightsched.reports"
DEAD_LETTERS, AUDIT = "lightsched.dead-letter", "lightsched.audit"
PHASES = {Phase.DELIVERED: "out", Phase.RETRY: "retry", Phase.WAITING: "waiting", Phase.QUEUED: "queued"}
LIVELOCK = 3_000


class Crash(Exception):
    """The process is gone."""


class Clock:
    """Two clocks that stand still until they are moved."""

    def __init__(self, wall: int) -> None:
        self.wall = wall
        self.monotonic = 1_000_000

    def wall_ms(self) -> int:
        return self.wall

    def monotonic_ms(self) -> int:
        return self.monotonic

    def advance(self, ms: int) -> None:
        self.wall += ms
        self.monotonic += ms


class MirroredGuard(ClockGuard):
    """Every look of the real guard is one of the model's too, and they agree."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock.wall, clock.monotonic)
        self.model = Guard(clock.wall, clock.monotonic)

    def look(self, wall_ms: int, monotonic_ms: int) -> Reading:
        reading = super().look(wall_ms, monotonic_ms)
        same("clock", (reading.now_ms, reading.trusted), self.model.look(wall_ms, monotonic_ms))
        return reading


class Heard(Answers):
    """Remembers what was answered."""

    def __init__(self) -> None:
        super().__init__()
        self.last: list = []

    def resolve(self, partition: int, answers) -> None:
        self.last = list(answers)
        super().resolve(partition, self.last)


@dataclass(slots=True)
class Expected:
    """An input that was appended: what the model has to know about it."""

    value: dict | None
    bad: bool
    raw: bytes | None
    record_key: str = ""
    stamp: int = 0
    then_of: tuple | None = None
    forwarded: bool = False


@dataclass(slots=True)
class Planned:
    """A crash to come."""

    point: str
    nth: int
    power_cut: float | None  # how much of what is not synced stays
    downtime: int


@dataclass(frozen=True, slots=True)
class Setup:
    partitions: int = 1
    start: int = 1_780_000_000_000
    keep: int = 7 * 86_400_000
    active_runs: int = 1_000
    step_fires: int = 2_000
    step_bytes: int = 8 * 1024 * 1024
    step_inputs: int = 1_000
    by_tenant: bool = False  # the events of `acme` live in one partition
    capped: int = 2  # slots of the tenant `acme`


class World:
    def __init__(self, root: Path, setup: Setup, loop: asyncio.AbstractEventLoop) -> None:
        self.root = root
        self.setup = setup
        self.loop = loop
        self.clock = Clock(setup.start)
        self.tenants = {
            "acme": Tenant(limits=TenantLimits(in_flight=setup.capped), rule="tenant" if setup.by_tenant else "key")
        }
        settings = Settings(
            partitions=setup.partitions,
            keep=setup.keep,
            active_runs=setup.active_runs,
            step_fires=setup.step_fires,
            step_bytes=setup.step_bytes,
            in_flight={"acme": setup.capped},
            home=self.home,
        )
        numbers = range(setup.partitions)
        self.model = [Partition(number, settings) for number in numbers]
        self.steps = dict.fromkeys(numbers, 0)  # committed, by the real thing
        self.expected: dict[tuple[str, int], list[Expected]] = {
            (topic, number): [] for topic in (EVENTS, REPORTS) for number in numbers
        }
        self.durable = dict.fromkeys(self.expected, 0)  # so many of them were acknowledged: a crash leaves them
        self.sent: dict[tuple[str, int], list[Delivered]] = {}  # by the model, to each topic
        self.dead: dict[int, list[bytes | None]] = {number: [] for number in numbers}
        self.seen_dead: dict[int, list[bytes | None]] = {number: [] for number in numbers}
        self.audited: dict[int, list[tuple]] = {number: [] for number in numbers}
        self.seen_audit: dict[int, tuple[list[tuple], int]] = {number: ([], 0) for number in numbers}
        self.seen_offsets: dict[tuple[str, int], int] = {}
        self.deliveries: list[dict] = []  # real ones, as executors see them
        self.delivery_ids: set[str] = set()
        self.then_ids: dict[tuple, str] = {}
        self.cancelled: dict[str, int] = {}  # identity → revision whose cancel was acknowledged
        self.acked: dict[int, int] = {}
        self.stats: Counter = Counter()
        self.planned: Planned | None = None
        self._snapshot: Path | None = None
        self._synced: dict[str, int] = {}
        self._directory = 0
        self._step_inputs = worker_module.STEP_INPUTS
        worker_module.STEP_INPUTS = setup.step_inputs
        self._open()

    # open, close, crash

    @property
    def path(self) -> Path:
        return self.root / str(self._directory)

    def _open(self) -> None:
        """As `lightsched.node.node.Node` does it."""
        clock = self.clock
        guard = self.guard = MirroredGuard(clock)

        def stamp_ms() -> int:
            return guard.look(clock.wall_ms(), clock.monotonic_ms()).now_ms

        self.log = self.run(
            EmbeddedLog.open(
                self.path,
                partitions=self.setup.partitions,
                clock_ms=stamp_ms,
                retention_ms=10**13,
                fault=self._fault,
            )
        )
        self.heard = Heard()
        self.metrics = Metrics()
        limits = Limits(keep_ms=self.setup.keep)
        self.workers: list[Worker] = []
        self.positions: dict[tuple[str, int], int] = {}  # of the workers
        self.last_read: dict[tuple[str, int], int] = {}  # when the last one was appended that was read since the take
        self.backlog: dict[tuple[str, int], int] = {}  # where the inputs ended when they were taken
        for number in range(self.setup.partitions):
            rules = Rules(
                partition=number,
                partitions=self.setup.partitions,
                limits=limits,
                tenants=self.tenants,
                active_runs=self.setup.active_runs,
                step_fires=self.setup.step_fires,
                step_bytes=self.setup.step_bytes,
                refuse=lambda delivery: "there is no such place" if NOWHERE in delivery.topics else "",
            )
            partition = self.run(self.log.take(number))
            self.workers.append(Worker(partition, Engine(rules), clock, self.heard, self.metrics, guard))
            meta = partition.store.meta
            for topic, position in ((EVENTS, meta.events_offset), (REPORTS, meta.reports_offset)):
                self.positions[topic, number] = position
                self.last_read[topic, number] = 0
                self.backlog[topic, number] = self._end(topic, number)

    def _end(self, topic: str, number: int) -> int:
        return self.run(self.log.ends(topic))[number][1]

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self.loop.run_until_complete(work)

    def close(self) -> None:
        """Let go of everything."""
        worker_module.STEP_INPUTS = self._step_inputs
        self.planned = None
        if self.log is None:
            return
        if self.log.lost:
            self.log.abandon()
        else:
            self.run(self._close())

    async def _close(self) -> None:
        for worker in self.workers:
            await worker.partition.close()
        await self.log.close()

    def restart(self, downtime: int) -> None:
        """Stop in good order, come back later."""
        self.stats["restart"] += 1
        self.planned = None
        self.run(self._close())
        self.workers, self.log = [], None  # whoever holds a store keeps the directory locked
        self.clock.advance(downtime)
        self._open()
        self._reconcile({}, lost_from=None)

    def _fault(self, point: str) -> None:
        if point == "before visible":
            self._synced = self._wal_sizes(self.path)
        planned = self.planned
        if planned is None or planned.point != point:
            return
        planned.nth -= 1
        if planned.nth > 0:
            return
        self.stats[f"crash {point}{', power cut' if planned.power_cut is not None else ''}"] += 1
        self._snapshot = self.root / str(self._directory + 1)
        self._copy()
        raise Crash(point)

    def _copy(self) -> None:
        """At one moment: not while RocksDB tidies up in the background, which changes files and not what is in them."""

        def files() -> dict[str, int]:
            return {file.name: file.stat().st_size for file in sorted(self.path.iterdir()) if file.name != "LOG"}

        while True:
            shutil.rmtree(self._snapshot, ignore_errors=True)
            try:
                before = files()
                shutil.copytree(self.path, self._snapshot)
                if before == files():
                    return
            except (shutil.Error, FileNotFoundError):
                continue

    @staticmethod
    def _wal_sizes(path: Path) -> dict[str, int]:
        return {file.name: file.stat().st_size for file in path.glob("*.log")}

    def _cut_power(self, share: float) -> None:
        """A part of what was written since the last sync never reached the disk."""
        for file in sorted(self._snapshot.glob("*.log")):
            size, safe = file.stat().st_size, self._synced.get(file.name, 0)
            if size > safe:
                with file.open("r+b") as wal:
                    wal.truncate(safe + int((size - safe) * share))

    def _crashed(self, candidates: dict[int, Partition], lost_from: tuple[str, int, int] | None) -> None:
        """Go on from what the crash has left.

        `candidates`: what the model would be if the step under way was lost. `lost_from`: the first record of an
        append under way.
        """
        planned, self.planned = self.planned, None
        old = self.path
        self.log.abandon()
        if planned.power_cut is not None:
            self._cut_power(planned.power_cut)
        shutil.rmtree(old)
        self._directory += 1
        self.clock.advance(planned.downtime)
        self._open()
        self._reconcile(candidates, lost_from=lost_from, planned=planned)

    def _reconcile(
        self,
        candidates: dict[int, Partition],
        *,
        lost_from: tuple[str, int, int] | None,
        planned: Planned | None = None,
    ) -> None:
        """What was under way is there wholly or not at all; all else is there."""
        for number, worker in enumerate(self.workers):
            step = worker.partition.store.meta.step
            if number not in candidates:
                assert step == self.steps[number], f"partition {number}: step {self.steps[number]} became {step}"
                continue
            survived = step == self.steps[number] + 1
            assert survived or step == self.steps[number]
            self._judge(planned, "commit", survived=survived)
            if survived:
                self.steps[number] = step
                self._adopt(number)
                self._read_deliveries(number)  # before what the next inputs do to it
            else:
                self.model[number] = candidates[number]
        for (topic, number), inputs in self.expected.items():
            end = self._end(topic, number)
            if lost_from is not None and lost_from[:2] == (topic, number):
                first = lost_from[2]
                assert end <= first or end == len(inputs), f"{topic} {number}: {end} of {len(inputs)}, half an append"
                self._judge(planned, "append", survived=end > first)
            least = len(inputs) if planned is None else max(self.durable[topic, number], self.positions[topic, number])
            if lost_from is not None and lost_from[:2] == (topic, number):
                least = min(least, lost_from[2])
            assert least <= end <= len(inputs), f"{topic} {number} has {end} records instead of {len(inputs)}"
            self.stats["submitted and gone"] += len(inputs) - end
            del inputs[end:]
            self.durable[topic, number] = end

    def _judge(self, planned: Planned, what: str, *, survived: bool) -> None:
        """Must it be there, or must it not?"""
        if planned.point == f"{what} before write":
            assert not survived, "a step that was never written is there"
        elif planned.point != f"{what} after write" or planned.power_cut is None:
            assert survived, f"lost after {planned.point}"
        self.stats[f"{what} {'survived' if survived else 'lost'} at {planned.point}"] += 1

    # inputs

    def home(self, tenant: str, key: str) -> int:
        """The partition of an event."""
        if self.setup.partitions == 1:
            return 0
        by_tenant = self.setup.by_tenant and tenant == "acme"
        return partition_of(tenant if by_tenant else key, self.setup.partitions)

    def submit(self, topic: str, number: int, record: Record, expected: Expected) -> None:
        """As the API does: whoever sent it waits for the step that reads it."""
        inputs = self.expected[topic, number]
        inputs.append(expected)
        expected.stamp = self.guard.model.look(self.clock.wall, self.clock.monotonic)[0]
        assert self.run(self.log.submit(topic, number, [record])) == len(inputs) - 1

    def append(self, topic: str, number: int, records: list[tuple[Record, Expected]]) -> bool:
        """Append; False if it crashed."""
        inputs = self.expected[topic, number]
        first = len(inputs)
        inputs += [expected for _, expected in records]
        for _, expected in records:
            expected.stamp = self.guard.model.look(self.clock.wall, self.clock.monotonic)[0]
        try:
            offset = self.run(self.log.append(topic, number, [record for record, _ in records]))
        except Crash:
            self._crashed({}, (topic, number, first))
            return False
        assert offset == first
        self.durable[topic, number] = len(inputs)
        return True

    def acknowledge(self, position: int) -> None:
        """A group of readers says how far it is."""
        topic, group = "lightsched.deliveries", "readers"
        before, after = self.acked, {0: position}
        try:
            self.run(self.log.acknowledge(topic, group, after))
            self.acked = after
        except Crash:
            planned = self.planned
            self._crashed({}, None)
            self.acked = self.run(self.log.positions(topic, group))
            assert self.acked in (before, after)
            if before != after:
                self._judge(planned, "acknowledge", survived=self.acked == after)
        assert self.run(self.log.positions(topic, group)) == self.acked

    # turns

    def settle(self) -> None:
        """Turn until nothing is left to do at this time."""
        for _ in range(LIVELOCK):
            busy = False
            for number in range(self.setup.partitions):
                busy = self.turn(number) or busy
            if not busy:
                self.check()
                return
        raise AssertionError("there is always more to do")

    def turn(self, number: int) -> bool:
        """One turn of a worker, and of the model. Was there, or is there still, something to do?"""
        worker, model = self.workers[number], self.model[number]
        read: list[Appended] = []
        inner: Callable = worker.partition.read

        async def listen(limit: int, wait_s: float) -> list[Appended]:
            read.extend(await inner(limit, wait_s))
            return list(read)

        before, latest = model.fork() if self.planned else None, model.latest
        self.heard.last = []
        worker.partition.read = listen
        crashed = False
        try:
            wait_s = self.run(turned(worker))
        except Crash:
            crashed = True
        finally:
            worker.partition.read = inner
        now, trusted = self.guard.model.look(self.clock.wall, self.clock.monotonic)
        for appended in read:
            self.positions[appended.topic, number] = appended.offset + 1
            self.last_read[appended.topic, number] = appended.timestamp_ms
        behind = any(self.positions[topic, number] < self.backlog[topic, number] for topic in (EVENTS, REPORTS))
        firing = trusted and not behind
        if not trusted:
            self.stats["turn with a clock that is not believed"] += 1
        if behind:
            self.stats["turn behind"] += 1
        until = {topic: self._read_until(topic, number, now) for topic in (EVENTS, REPORTS)}
        items = [self._item(number, appended) for appended in read]
        model.step(items, now, firing=firing, read_until=until[EVENTS], heard_until=until[REPORTS])
        if crashed:
            self._crashed({number: before}, None)
            return True
        self._compare_answers(model)
        step = worker.partition.store.meta.step
        assert step - self.steps[number] in (0, 1)
        if step == self.steps[number]:  # nothing was written, not even the time
            model.latest = latest
        self.steps[number] = step
        self._adopt(number)
        self._read_deliveries(number)
        if firing and (following := model.next_due()) is not None:
            assert wait_s <= max(following - now, 0) / 1000, "it oversleeps"
        return bool(read) or (firing and wait_s == 0.0)

    def _read_until(self, topic: str, number: int, now: int) -> int:
        """Until when all that was appended is read."""
        left = len(self.expected[topic, number]) - self.positions[topic, number]
        return self.last_read[topic, number] if left else now

    def _item(self, number: int, appended: Appended) -> dict:
        """An input as the model wants it. What was appended is what is read."""
        inputs = self.expected[appended.topic, number]
        expected = inputs[appended.offset]
        item = {
            "topic": "events" if appended.topic == EVENTS else "reports",
            "offset": appended.offset,
            "timestamp": appended.timestamp_ms,
            "value": expected.value,
            "bad": expected.bad,
            "raw": expected.raw,
            "sent": expected,
        }
        if expected.raw is not None:
            assert appended.record.value == expected.raw
        same("stamp", appended.timestamp_ms, expected.stamp)
        if item["topic"] == "events" and expected.value is not None and not expected.bad:
            item["value"] = self._command(number, appended, expected)
        return item

    def _command(self, number: int, appended: Appended, expected: Expected) -> dict:
        value = dict(expected.value)
        if expected.forwarded or expected.then_of:
            real = json.loads(appended.record.value)
            if expected.then_of and not value.get("id"):
                value["id"] = self._then_id(expected.then_of, real["id"])
            same("follow-up", _plain(real, appended), _plain(value, appended))
        if not value.get("id"):
            value["id"] = f"auto:{number}-{appended.offset}-{appended.timestamp_ms}"
            self.stats["id assigned"] += 1
        if not value.get("key"):
            value["key"] = expected.record_key or value["id"]
        return value

    def _then_id(self, origin: tuple, real: str) -> str:
        """It is opaque, but always the same, and no two share one."""
        assert self.then_ids.setdefault(origin, real) == real
        assert list(self.then_ids.values()).count(real) == 1
        return real

    def _adopt(self, number: int) -> None:
        """The model's step has happened: what it emitted is there."""
        model = self.model[number]
        for delivered in model.delivered:
            for topic in delivered.topics:
                self.sent.setdefault((topic, number), []).append(delivered)
        for follow in model.follows:
            if follow["topic"] == "reports":
                expected = copy(follow["value"])
            else:
                expected = Expected(follow["value"], bad=False, raw=None, then_of=follow.get("of"))
                expected.forwarded = not follow["then"]
            expected.stamp = model.now
            self.expected[f"lightsched.{follow['topic']}", follow["partition"]].append(expected)
        self.dead[number] += model.dead_letters
        for identity, outcome, revision in model.outcomes:
            self.audited[number].append((identity, outcome))
            if outcome == "CANCELLED":
                self.cancelled[identity] = revision
            elif outcome == "SCHEDULED":
                self.cancelled.pop(identity, None)
        for name, times in model.seen.items():
            self.stats[name] += times
        model.delivered, model.follows, model.dead_letters, model.outcomes = [], [], [], []
        model.seen.clear()

    # comparisons

    def _compare_answers(self, model: Partition) -> None:
        real = [
            {
                "topic": answer.topic.removeprefix("lightsched."),
                "offset": answer.offset,
                "outcome": None if answer.outcome is None else str(answer.outcome),
                "ignored": answer.ignored,
                "status": None if answer.status is None or answer.outcome is None else str(answer.status),
                "next": None if answer.outcome is None else answer.next_ms,
                "revision": 0 if answer.outcome is None else answer.revision,
            }
            for answer in self.heard.last
        ]
        same("answers", real, model.answers)

    def _read_deliveries(self, number: int) -> None:
        """What a partition has delivered since the last look is what the model has."""
        for (topic, place), sent in self.sent.items():
            if place != number:
                continue
            start = self.seen_offsets.get((topic, number), 0)
            if start == len(sent) == self._end(topic, number):
                continue
            others = {other: 2**62 for other in range(self.setup.partitions) if other != number}
            real = self.run(self.log.fetch(topic, others | {number: start}, 100_000, 0.0))
            expected = sent[start:]
            seen = [self._seen(topic, appended) for appended in real]
            self.seen_offsets[topic, number] = start + len(real)
            same(f"deliveries to {topic}", _by_tenant(seen), _by_tenant([_shape(delivered) for delivered in expected]))

    def _seen(self, topic: str, appended: Appended) -> tuple:
        headers = dict(appended.record.headers)
        text = {name: value.decode() for name, value in headers.items()}
        due, attempt = int(text["ls_due"]), int(text["ls_attempt"])
        key = appended.record.key.decode()
        identity = f"{text['ls_tenant']}\0{key}\0{text['ls_id']}"
        revision = int(text["ce_id"].rsplit("/", 2)[1])
        assert text["ce_id"].endswith(f"#{attempt}")
        assert int(text["ls_partition"]) == appended.partition
        name = f"{topic} {text['ce_id']}"
        assert name not in self.delivery_ids, f"{text['ce_id']} twice"
        self.delivery_ids.add(name)
        assert self.cancelled.get(identity, 0) < revision, "delivered after an acknowledged cancel"
        assert appended.timestamp_ms >= due or self.stats["clock jumped back"], "early"
        self.deliveries.append(
            {
                "identity": identity,
                "partition": appended.partition,
                "revision": revision,
                "due": due,
                "attempt": attempt,
                "id": text["ce_id"],
                "token": text["ls_report"],
            }
        )
        return identity, revision, due, attempt, appended.record.value

    def check(self) -> None:
        """All that is known of all events is the same on both sides."""
        for number, worker in enumerate(self.workers):
            model, store = self.model[number], worker.partition.store
            self._read_deliveries(number)
            real = {name.decode(): state for name, state in store.scan(None, None, 100_000)}
            same(
                "states",
                {name: _real_state(state) for name, state in real.items()},
                {name: _model_state(event) for name, event in model.events.items()},
            )
            totals = store.meta.totals
            assert totals.difference == 0
            same("totals", {name: getattr(totals, name) for name in model.totals}, model.totals)
            assert totals.pending == sum(event.over is None for event in model.events.values()) == store.pending()
            same("dead letters", self._dead_letters(number), self.dead[number])
            same("outcomes on the audit", self._audited(number), self.audited[number])
            same("next due", store.next_due_ms(), model.next_due())
            self._compare_history(number)

    def _audited(self, number: int) -> list[tuple]:
        """All outcomes on the audit; those seen before are not read again."""
        seen, start = self.seen_audit[number]
        if self._end(AUDIT, number) > start:
            others = {other: 2**62 for other in range(self.setup.partitions) if other != number}
            fresh = self.run(self.log.fetch(AUDIT, others | {number: start}, 100_000, 0.0))
            lines = [json.loads(line) for step in fresh for line in step.record.value.splitlines()]
            seen += [
                (f"{line['tenant']}\0{line['key']}\0{line['id']}", line["outcome"])
                for line in lines
                if "outcome" in line
            ]
            self.seen_audit[number] = seen, start + len(fresh)
        return seen

    def _dead_letters(self, number: int) -> list[bytes | None]:
        """All of them; those seen before are not read again."""
        seen = self.seen_dead[number]
        if self._end(DEAD_LETTERS, number) > len(seen):
            others = {other: 2**62 for other in range(self.setup.partitions) if other != number}
            fresh = self.run(self.log.fetch(DEAD_LETTERS, others | {number: len(seen)}, 100_000, 0.0))
            seen += [letter.record.value for letter in fresh]
        return seen

    def _compare_history(self, number: int) -> None:
        """Runs that ended are kept for as long as promised; nothing is there that was not."""
        model, store = self.model[number], self.workers[number].partition.store
        for identity in model.events:
            real = {
                key[1:]: {"status": str(run.status), "finished": run.finished_ms, "attempt": run.attempt}
                for key, run in store.runs_of(identity.encode(), None, 100_000)
            }
            kept = {name[1:]: run for name, run in model.history.items() if name[0] == identity}
            for name, run in real.items():
                assert name in kept, f"{identity!r} has a run {name} that never was"
                same(f"run {name} of {identity!r}", run, {field: kept[name][field] for field in run})
            for name, run in kept.items():
                if min(name[0], run["finished"]) > model.latest - self.setup.keep:
                    assert name in real, f"{identity!r} has lost its run {name}: {run}"

    def check_rebuilt(self) -> None:
        """What a rebuild derives from the states is what was there."""
        for worker in self.workers:
            store = worker.partition.store
            live = store.dump()
            store.rebuild()
            same("rebuilt store", store.dump(), live)


async def turned(worker: Worker) -> float:
    """One turn of a worker, to its end: durable and answered."""
    wait_s = await worker.turn(0.0)
    await worker.settle()
    return wait_s


def same(what: str, real: object, model: object) -> None:
    """Say where they differ, shortly."""
    if real != model:
        raise AssertionError("\n".join([f"{what} differ (real / model):", *_differences("", real, model)]))


def _differences(where: str, real: object, model: object) -> Iterator[str]:
    if isinstance(real, dict) and isinstance(model, dict):
        for name in sorted({*real, *model}, key=str):
            if real.get(name) != model.get(name):
                yield from _differences(f"{where} {name!r}", real.get(name), model.get(name))
    elif isinstance(real, list) and isinstance(model, list) and len(real) == len(model):
        for index, (one, other) in enumerate(zip(real, model, strict=True)):
            if one != other:
                yield from _differences(f"{where} [{index}]", one, other)
    else:
        yield f"{where}: {real!r} / {model!r}"


def _by_tenant(deliveries: list[tuple]) -> dict[str, list[tuple]]:
    """The order holds for each tenant: which tenant comes first is nobody's business."""
    found: dict[str, list[tuple]] = {}
    for delivery in deliveries:
        found.setdefault(delivery[0].split("\0")[0], []).append(delivery)
    return found


def _shape(delivered: Delivered) -> tuple:
    return delivered.identity, delivered.revision, delivered.due, delivered.attempt, delivered.payload


def _plain(command: dict, appended: Appended) -> dict:
    named = {name: command[name] for name in ("op", "id", "key", "on_conflict") if name in command}
    if named.get("op") == "schedule":
        del named["op"]
    return definition_of(command, appended.timestamp_ms) | named | {"tenant": command.get("tenant", "default")}


def _real_state(state: State) -> dict:
    return {
        "revision": state.revision,
        "status": str(state.status),
        "created": state.created_ms,
        "appended": state.appended_ms,
        "priority": state.priority,
        "due": state.due_ms,
        "paused": state.paused,
        "fired": state.fired,
        "failures": state.failures,
        "counted": state.counted,
        "last": state.last_ms,
        "forget": state.forget_ms,
        "runs": [
            {
                "due": run.due_ms,
                "revision": run.revision,
                "phase": PHASES[run.phase],
                "at": run.at_ms if run.phase <= Phase.RETRY else None,
                "status": str(run.status),
                "attempt": run.attempt,
                "expires": run.expires_ms,
            }
            for run in state.runs
        ],
    }


def _model_state(event) -> dict:
    return {
        "revision": event.revision,
        "status": event.shown(),
        "created": event.created,
        "appended": event.appended,
        "priority": event.priority,
        "due": event.due,
        "paused": event.paused,
        "fired": event.fired,
        "failures": event.failures,
        "counted": event.counted,
        "last": event.last,
        "forget": event.forget,
        "runs": [
            {
                "due": run.due,
                "revision": run.revision,
                "phase": run.phase,
                "at": run.at if run.phase in ("out", "retry") else None,
                "status": run.status,
                "attempt": run.attempt,
                "expires": run.expires,
            }
            for run in event.runs
        ],
    }
