"""Whose time has run out? Deliveries without a report, runs that waited until they expired, events to forget."""

from lightsched.engine.draft import Draft
from lightsched.engine.runs import finish, timed_out
from lightsched.engine.state import Phase, State
from lightsched.event.identity import Identity
from lightsched.event.status import Signal

_RUNS_FORGOTTEN_AT_ONCE = 1_000
_END_OF_TIME_MS = 1 << 62


def run_out(draft: Draft) -> None:
    """Deal with every lease, expiry and time to forget that has passed, as far as a step may go."""
    most = draft.rules.step_leases
    names = draft.view.leases(draft.now_ms, most)
    draft.load(names)
    done = 0
    for name in dict.fromkeys(names):
        state = draft.state(name)
        if state is not None:
            before = len(draft.step.runs)
            _run_out(draft, name, state)
            done += max(1, len(state.runs), len(draft.step.runs) - before)
        if done >= most:  # one event may have a thousand runs to end or to forget
            break
    draft.step.more = draft.step.more or done >= most or len(names) == most


def _run_out(draft: Draft, name: Identity, state: State) -> None:
    now_ms, before = draft.now_ms, state
    if state.forget_ms is not None:
        if state.forget_ms <= min(now_ms, draft.read_ms):  # a command that was sent to it finds it
            _forget(draft, name)
        return
    for seq in [run.seq for run in state.runs]:
        run = next((run for run in state.runs if run.seq == seq), None)  # the end of one may drop or move others
        if run is None:
            continue
        if run.phase is Phase.DELIVERED and run.at_ms <= min(now_ms, draft.heard_ms):  # a report in time is heard
            state = timed_out(draft, name, state, run)
        elif run.phase >= Phase.WAITING and 0 < run.expires_ms <= now_ms:
            state = finish(draft, name, state, run, Signal.EXPIRED, error="it expired while it waited for its turn")
    if state is not before:
        draft.put(name, state)


def _forget(draft: Draft, name: Identity) -> None:
    """An event leaves the history with its runs."""
    old = draft.view.runs_before(name, _END_OF_TIME_MS, _RUNS_FORGOTTEN_AT_ONCE)
    for key in old:
        draft.step.runs[key] = None
    if len(old) == _RUNS_FORGOTTEN_AT_ONCE:
        draft.step.more = True
        return
    draft.forget(name)
