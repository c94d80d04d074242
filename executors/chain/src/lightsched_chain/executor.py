"""How does a chain go on? By events that follow from reports, and nothing else: there is no database here.

    chain.run ──then──► chain.state ──then──► the events of its stages ──► their executors
        │               ▲ │ │  (and itself again,                             │
        │               │ │ └── at the next timeout)                          │ header reply-to
        │               │ │                                                   ▼
        │               └─┼────── trigger ────────── chain.done, chain.resume (letters)
        └──then──► chain.end ◄── then, with what came of it

1. `chain.run` is checked, and schedules `chain.state`, the chain with nothing done, and `chain.end`, which is due when
   the chain may take no longer.
2. `chain.state` takes in the letters that are here, begins the stages that may begin, and schedules itself again with
   what it knows now, due at the next timeout. All of that is one report, so all of it happens or nothing.
3. A stage's event carries a header `reply-to`: its executor's last report schedules `chain.done`.
4. A letter makes the state's event run now, and comes again until its stage was taken in.
5. `chain.end` has the name of the chain, and ends as the chain does: it is scheduled anew with what came of it.
"""

import logging
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from hashlib import blake2b
from typing import Any

import msgspec
from msgspec import UNSET

from lightsched import Context, Executor, Fatal, Then
from lightsched.executor import REPLY_TO
from lightsched.executor.configured import Program
from lightsched.timing import parse_duration
from lightsched_chain.letters import Letters
from lightsched_chain.plan import BadChain, Chain, Stage, planned
from lightsched_chain.settings import ChainSettings
from lightsched_chain.state import Failed, Letter, State, advance

log = logging.getLogger(__name__)

RUN, STATE, END, DONE, RESUME = "chain.run", "chain.state", "chain.end", "chain.done", "chain.resume"
GRACE_MS = 60_000
"""So long after its time a chain whose state is lost is over."""
MOST_TRIES = 30
LONGEST_PAUSE_S = 300
OWN = {"retry": {"attempts": 1_000, "delay": "1s", "max": "1m"}, "timeout": "1m", "priority": 0}
"""Of the chain's own events: they come until somebody executes them."""

EventJson = dict[str, Any]


class Said(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """The payload of a letter: of `chain.resume` from outside, or a reply."""

    stage: str = ""  # of a reply, its id says it
    chain: str = ""
    result: Any = None
    error: str = ""
    status: str = "SUCCESS"
    delivery: str = ""
    tries: int = 0


class End(msgspec.Struct, omit_defaults=True):
    """The payload of `chain.end`: what came of the chain; neither, if it was never known."""

    results: dict[str, Any] | None = None
    error: str = ""


class Chains:
    """Executes the events of chains."""

    def __init__(self) -> None:
        self._letters = Letters()

    async def begin(self, chain: Chain, context: Context) -> Then:
        """Execute `chain.run`."""
        _needs_report(context)
        now_ms = _now_ms()
        try:
            plan = planned(chain, now_ms)
        except BadChain as error:
            raise Fatal(str(error)) from None
        name = _name(context)
        state = State(name, plan.stages, now_ms + parse_duration(plan.timeout))
        once = {"on_conflict": "keep"}
        end = _end_event(name, state.ends_ms + GRACE_MS, End(), context) | once
        return Then(end, _state_event(state, now_ms, context) | once, result={"chain": name})

    async def go_on(self, state: State, context: Context) -> Then:
        """Execute `chain.state`."""
        self._letters.take_in(state.chain, frozenset(state.done))
        try:
            following = advance(state, self._letters.of(state.chain), _now_ms())
        except Failed as error:
            begun = (stage.name for stage in state.stages if stage.event and stage.name in state.begun)
            left = [name for name in begun if name not in state.done]
            gone = (one(state.chain, name) for name in left for one in (_stage_gone, _letter_gone))
            return Then(*gone, _end_event(state.chain, _now_ms(), End(error=str(error)), context))
        after = following.state
        replies = [stage.name for stage in state.stages if stage.event is not None]
        taken_in = [
            _letter_gone(state.chain, name) for name in replies if name in after.done and name not in state.done
        ]
        if following.over:
            return Then(*taken_in, _end_event(state.chain, _now_ms(), End(results=after.done), context))
        return Then(
            *(_stage_event(after, stage, payload, context) for stage, payload in following.begin),
            _state_event(after, following.wake_ms, context),
            *taken_in,
        )

    async def end(self, end: End, context: Context) -> Any:
        """Execute `chain.end`."""
        self._letters.take_in(context.id, None)
        if end.results is None:
            raise Fatal(end.error or "the chain was not done in time")
        return end.results

    async def receive(self, said: Said, context: Context) -> Then | None:
        """Execute `chain.done` and `chain.resume`."""
        _needs_report(context)
        chain = said.chain or context.key
        stage = said.stage or context.id.removesuffix("/done").rpartition("/")[2]
        if self._letters.settled(chain, stage):
            return None
        if said.tries >= MOST_TRIES:
            raise Fatal(f"no chain {chain!r} has taken in that stage {stage!r} is done")
        self._letters.put(chain, Letter(stage, said.status, said.result, said.error))
        again = msgspec.structs.replace(said, chain=chain, stage=stage, tries=said.tries + 1)
        pause_s = min(2**said.tries, LONGEST_PAUSE_S)
        return Then(
            {"op": "trigger", "id": f"{chain}/state", "key": chain},
            {**_own(context), "id": context.id, "key": context.key, "type": context.type, "in": f"{pause_s}s"}
            | {"payload": again, "labels": {"chain": chain}},
        )


def _state_event(state: State, due_ms: int, context: Context) -> EventJson:
    event = {"id": f"{state.chain}/state", "key": state.chain, "type": STATE, "at": due_ms, "payload": state}
    return {**_own(context), **event, "labels": {"chain": state.chain}}


def _end_event(chain: str, due_ms: int, end: End, context: Context) -> EventJson:
    event = {"id": chain, "type": END, "at": due_ms, "payload": end, "labels": {"chain": chain}}
    return {**_own(context), **event}


def _stage_event(state: State, stage: Stage, payload: Any, context: Context) -> EventJson:
    """The event of a stage, which asks for a reply."""
    event = dict(stage.event or {})
    retry: Mapping[str, Any] = event.get("retry") or {"attempts": 1}
    attempts = retry.get("attempts") or len(retry.get("delays", ())) + 1
    answer = {"id": f"{state.chain}/{stage.name}/done", "key": state.chain, "type": DONE, **_own(context)}
    answer["labels"] = {"chain": state.chain, "stage": stage.name}
    wanted = msgspec.json.encode({"event": answer, "attempts": attempts}).decode()
    event |= {"id": f"{state.chain}/{stage.name}", "track": True, "on_conflict": "keep"}
    event["headers"] = {**event.get("headers", {}), REPLY_TO: wanted}
    event["labels"] = {**event.get("labels", {}), "chain": state.chain, "stage": stage.name}
    if payload is not UNSET:
        event["payload"] = payload
    return event if "at" in event else {"in": "1ms", **event}


def _own(context: Context) -> EventJson:
    """What the chain's own events have in common: they come here."""
    return OWN if context.topic == "deliveries" else {**OWN, "topics": [context.topic]}


def _stage_gone(chain: str, stage: str) -> EventJson:
    return {"op": "cancel", "id": f"{chain}/{stage}", "key": f"{chain}/{stage}"}


def _letter_gone(chain: str, stage: str) -> EventJson:
    return {"op": "cancel", "id": f"{chain}/{stage}/done", "key": chain}


def _name(context: Context) -> str:
    """The same for every attempt of a run, and for no other run."""
    return f"{context.id[:100]}~{blake2b(context.run.encode(), digest_size=8).hexdigest()}"


def _needs_report(context: Context) -> None:
    if context.timeout is None:
        log.error("%s of the type %s does nothing: schedule it with `track: true`", context.delivery, context.type)
        raise Fatal("a chain lives by reports: schedule its event with `track: true`, `retry` or `timeout`")


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


@asynccontextmanager
async def executor(settings: ChainSettings) -> AsyncIterator[Executor]:
    """An executor as the settings describe it."""
    chains = Chains()
    made = settings.made()
    made.on(RUN)(chains.begin)
    made.on(STATE)(chains.go_on)
    made.on(END)(chains.end)
    made.on(DONE)(chains.receive)
    made.on(RESUME)(chains.receive)
    yield made


program = Program(
    name="chain",
    about="Executes `chain.run` deliveries: chains of events, in sequence or as a graph.",
    settings=ChainSettings,
    executor=executor,
)
