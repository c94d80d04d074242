"""How is an event shown? As it was sent, with its status, its next fire times and its schedule in words."""

from typing import Any

import msgspec

from lightsched.engine.state import State, next_ms
from lightsched.event.identity import Identity, parts
from lightsched.event.model import Event, decoder
from lightsched.event.schedule import plan_of, words_of
from lightsched.event.status import FINAL
from lightsched.timing import Plan, format_utc

NEXT_SHOWN = 10
_INSTANTS = ("at", "starts_at", "ends_at")
_as_sent = msgspec.json.Decoder(dict[str, msgspec.Raw])


def show(name: Identity, state: State, definition: bytes) -> dict[str, Any]:
    """The shape `event` of the contract."""
    tenant, key, id_ = parts(name)
    event = decoder.decode(definition)
    plan = plan_of(event, name, state.appended_ms)
    fields: dict[str, Any] = {"id": id_, "tenant": tenant, "key": key, "type": event.type}
    fields.update(_as_sent.decode(definition))
    for field in _INSTANTS:
        if isinstance(value := getattr(event, field), int):
            fields[field] = format_utc(value)
    times = next_times(state, event, plan)
    fields.update(
        status=state.status,
        revision=state.revision,
        created_at=format_utc(state.created_ms),
        last_executed=shown_time(state.last_ms),
        next_execution=times[0] if times else None,
        next_executions=times,
        schedule_text=words_of(event, plan),
        runs=state.fired,
        failures=state.failures,
    )
    return fields


def next_times(state: State, event: Event, plan: Plan) -> list[str]:
    """The next fire times, a retry that is pending included; none while it is paused or over."""
    if state.paused or state.status in FINAL:
        return []
    times = set()
    if (soonest_ms := next_ms(state)) is not None:
        times.add(soonest_ms)
    if state.due_ms is not None:
        most = NEXT_SHOWN if event.max_runs is None else min(NEXT_SHOWN, event.max_runs - state.counted)
        times.add(state.due_ms)
        times.update(plan.upcoming(state.due_ms + 1, most - 1))
    return [format_utc(ms) for ms in sorted(times)[:NEXT_SHOWN]]


def shown_time(ms: int | None) -> str | None:
    """An instant that may not be there."""
    return None if ms is None else format_utc(ms)
