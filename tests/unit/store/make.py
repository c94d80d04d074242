"""What do the tests of the store write? Steps as the engine makes them, as far as a store can tell."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import structs

from lightsched.engine.state import FinishedRun, Phase, Run, State
from lightsched.engine.step import RunKey, Step
from lightsched.event.identity import Identity, identity
from lightsched.event.status import Status
from lightsched.store.families import STORE_FAMILIES
from lightsched.store.rocks import Rocks, new_batch
from lightsched.store.store import Store

NOW_MS = 1_800_000_000_000

EVENT = identity("default", "order-1", "reminder")


def make_state(seq: int = 1, due_ms: int | None = NOW_MS, **fields) -> State:
    base = State(
        revision=1,
        status=Status.NOT_STARTED,
        created_ms=NOW_MS,
        appended_ms=NOW_MS,
        fingerprint=b"f" * 16,
        seq=seq,
        priority=5,
        due_ms=due_ms,
    )
    return structs.replace(base, **fields)


def make_run(seq: int, phase: Phase, at_ms: int = NOW_MS, **fields) -> Run:
    return structs.replace(Run(due_ms=NOW_MS, revision=1, seq=seq, phase=phase, at_ms=at_ms), **fields)


def make_step(
    store: Store,
    states: dict[Identity, State | None] | None = None,
    *,
    definitions: dict[Identity, bytes | None] | None = None,
    runs: dict[RunKey, FinishedRun | None] | None = None,
    **meta,
) -> Step:
    """A step that changes these states, with the states before as the engine would have read them."""
    states = states or {}
    step = Step(NOW_MS, structs.replace(store.meta, step=store.meta.step + 1, **meta))
    step.before = dict(zip(states, store.states(list(states)), strict=True))
    step.states = states
    step.definitions = definitions or {}
    step.runs = runs or {}
    return step


def apply(store: Store, rocks: Rocks, step: Step) -> None:
    batch = new_batch()
    store.apply(batch, step)
    rocks.write(batch)


def write(store: Store, rocks: Rocks, states: dict[Identity, State | None], **rest) -> None:
    apply(store, rocks, make_step(store, states, **rest))


@contextmanager
def opened(path: Path) -> Iterator[Rocks]:
    rocks = Rocks(path, STORE_FAMILIES)
    try:
        yield rocks
    finally:
        rocks.close()
