"""What does a report change? The run it is about, if that still waits for it; otherwise nothing, and that is said."""

from collections.abc import Iterable
from hashlib import blake2b
from hmac import compare_digest
from typing import NamedTuple

from msgspec import structs

from lightsched.engine.draft import Draft, moved
from lightsched.engine.rules import Rules
from lightsched.engine.runs import fail, finish, kept, with_run
from lightsched.engine.state import Phase, Run, State
from lightsched.engine.step import Answer, DeadLetter, Follow
from lightsched.event import status as machine
from lightsched.event.check import AUTO, check
from lightsched.event.command import ASSIGNED, WHO, Refused, decode
from lightsched.event.delivery import DeliveryName, token_of
from lightsched.event.errors import InvalidEvent, invalid
from lightsched.event.identity import parts
from lightsched.event.limits import Limits
from lightsched.event.model import Op, encoder
from lightsched.event.record import Appended, Record
from lightsched.event.report import Report, ReportStatus, decode_report
from lightsched.event.status import Outcome, Signal
from lightsched.event.tenant import home, key_of
from lightsched.timing import parse_delay

SIGNALS = {
    ReportStatus.CLAIMED: Signal.CLAIMED,
    ReportStatus.PROCESSING: Signal.HEARTBEAT,
    ReportStatus.SUCCESS: Signal.SUCCEEDED,
    ReportStatus.RETRIABLE_FAILURE: Signal.FAILED,
    ReportStatus.FATAL_FAILURE: Signal.GAVE_UP,
}

_BEATS = frozenset({ReportStatus.CLAIMED, ReportStatus.PROCESSING})
_SMALL_BYTES = 4_096
FORBIDDEN = "forbidden"
INVALID_THEN = "INVALID_THEN"
"""Why a `then` event is a dead letter."""
THEN = "ls_then"
"""Header of such a letter: which one it was, and of the report on which delivery."""
IGNORED = {
    FORBIDDEN: "the token does not belong to this delivery",
    "unknown": "no such event: it is over and forgotten, or was never here",
    "finished": "the run is over",
    "stale": "another attempt has taken its place",
    "late": "its lease has run out, and the next attempt is on its way",
    "repeated": "this was reported before",
}
"""Why a report changed nothing: the reason as counted, and in words."""


class Heard(NamedTuple):
    """A report that makes sense, and the delivery that it is about."""

    appended: Appended
    report: Report
    name: DeliveryName


def read_report(appended: Appended, limits: Limits) -> Heard | Refused:
    """A report as it was appended."""
    try:
        return Heard(appended, *decode_report(appended.record.value, limits))
    except InvalidEvent as error:
        return Refused(appended, error.problems)


def load_events(draft: Draft, heard: Iterable[Heard]) -> None:
    """Read the definitions that the end of an attempt asks for at once; large ones are read one by one."""
    ended = (each.name.identity for each in heard if each.report.status not in _BEATS)
    states = ((name, draft.state(name)) for name in ended)
    draft.load_events([name for name, state in states if state is not None and 0 < state.size <= _SMALL_BYTES])


def apply(draft: Draft, heard: Heard) -> None:
    """Carry out one report."""
    appended, report, name = heard
    if name.partition != draft.rules.partition and 0 <= name.partition < draft.rules.partitions:
        record = Record(None, appended.record.value)  # whatever else it came with, it may be too large to be sent on
        draft.step.follows.append(Follow(draft.rules.limits.names.reports, name.partition, record))
        draft.step.answers.append(Answer(appended.topic, appended.offset, Outcome.FORWARDED, name.identity))
        return
    ignored = _apply(draft, report, name)
    state = draft.state(name.identity)
    draft.step.answers.append(
        Answer(
            topic=appended.topic,
            offset=appended.offset,
            outcome=None,
            identity=name.identity,
            status=None if state is None else state.status,
            ignored=ignored,
        )
    )
    if not ignored:
        most = draft.rules.limits.then
        for index, raw in enumerate(report.then[:most]):
            follow(draft, heard, index, bytes(raw))
        if len(report.then) > most:
            error = invalid("", f"is one of {len(report.then)} events: at most {most} are allowed, the others are here")
            _put_aside(draft, heard, most, encoder.encode(report.then[most:]), error)


def _apply(draft: Draft, report: Report, name: DeliveryName) -> str:
    if not compare_digest(
        token_of(draft.meta.secret, report.delivery), report.token.encode("ascii", "replace").decode()
    ):
        return FORBIDDEN
    state = draft.state(name.identity)
    if state is None:
        return "unknown"
    run = next((run for run in state.runs if run.due_ms == name.due_ms and run.revision == name.revision), None)
    if run is None:
        return "finished"
    if run.attempt != name.attempt:
        return "stale"
    if run.phase is not Phase.DELIVERED:
        return "late" if run.timed_out else "repeated"
    if machine.after(run.status, SIGNALS[report.status]) is None:
        return "repeated"
    draft.put(name.identity, _changed(draft, report, name, state, run))
    return ""


def _changed(draft: Draft, report: Report, name: DeliveryName, state: State, run: Run) -> State:
    limits = draft.rules.limits
    signal = SIGNALS[report.status]
    executor, error = report.executor[:200], report.error[: limits.error]
    if signal is Signal.FAILED:
        retry_in_ms = None if report.retry_in is None else parse_delay(report.retry_in)
        return fail(
            draft, name.identity, state, run, error=error or "it failed", executor=executor, retry_in_ms=retry_in_ms
        )
    if signal in (Signal.SUCCEEDED, Signal.GAVE_UP):
        result = report.result_bytes
        if len(result) > limits.result:
            result = encoder.encode({"truncated": True, "bytes": len(result)})
        return finish(draft, name.identity, state, run, signal, error=error, result=result, executor=executor)
    status = moved(run.status, signal)
    if status is not run.status:
        draft.log(
            report.status,
            name.identity,
            run.revision,
            run.status,
            status,
            due=run.due_ms,
            attempt=run.attempt,
            who=executor,
        )
    last = run.attempts[-1]
    last = structs.replace(last, status=status, executor=kept(state, executor) or last.executor)
    run = structs.replace(run, status=status, at_ms=draft.now_ms + run.timeout_ms, attempts=(*run.attempts[:-1], last))
    return with_run(state, run)


def follow(draft: Draft, heard: Heard, index: int, raw: bytes) -> None:
    """Append a `then` event, in the same step as the status that caused it; a bad one is put aside."""
    rules, delivery = draft.rules, heard.report.delivery
    tenant, _, id_ = parts(heard.name.identity)
    try:
        record, to = follow_up(rules, raw, draft.now_ms, tenant=tenant, mark=f"{delivery}/{index}/")
    except InvalidEvent as error:
        _put_aside(draft, heard, index, raw, error)
        return
    draft.bytes += len(raw)
    record = Record(record.key, record.value, (*record.headers, (WHO, f"then of {id_}".encode())))
    draft.step.follows.append(Follow(rules.limits.names.events, to, record))


def _put_aside(draft: Draft, heard: Heard, index: int, raw: bytes, error: InvalidEvent) -> None:
    delivery, where = heard.report.delivery, heard.appended
    _, key, _ = parts(heard.name.identity)
    detail = f"then[{index}] of {delivery}: {error}"
    letter = Record(key.encode(), raw, ((THEN, f"{index} {delivery}".encode()),))
    draft.step.dead_letters.append(DeadLetter(INVALID_THEN, detail, letter, where.topic, where.offset, where.partition))


def follow_up(rules: Rules, raw: bytes, now_ms: int, *, tenant: str, mark: str) -> tuple[Record, int]:
    """A `then` event as a command, and the partition that it goes to. `mark` names it, if it does not do so itself."""
    event = decode(raw, rules.limits)
    if event.tenant not in ("default", tenant):
        raise invalid("tenant", f"a follow-up belongs to its parent's tenant, `{tenant}`: leave it out")
    event.tenant = tenant
    assigned = not event.id and event.op is Op.SCHEDULE
    if assigned:
        event.id = f"{AUTO}then-{blake2b(mark.encode() + raw, digest_size=12).hexdigest()}"
    event.key = event.key or key_of(rules.tenant(tenant), event)
    check(event, rules.limits, now_ms, trusted_id=assigned)
    headers = ((ASSIGNED, b"1"),) if assigned else ()
    record = Record(event.key.encode(), encoder.encode(event), headers)
    return record, home(rules.tenant(tenant), event, rules.partitions)
