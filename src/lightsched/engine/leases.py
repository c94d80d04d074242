"""Whose time has run out? Deliveries without a report, runs that waited until they expired, events to forget."""

from collections.abc import Sequence

from lightsched.engine.draft import Draft
from lightsched.engine.runs import finish, timed_out
from lightsched.engine.state import Phase, State
from lightsched.event.identity import Identity
from lightsched.event.status import Signal

_RUNS_FORGOTTEN_AT_ONCE = 1_000
_END_OF_TIME_MS = 1 << 62
_FURTHER = 8  # times as many deadlines are looked at, if the first wait for inputs


def run_out(draft: Draft) -> None:
    """Deal with every lease, expiry and time to forget that has passed, as far as a step may go.

    Where inputs are behind, some wait for them: if those are all that is found, the ones behind them need not.
    """
    most = draft.rules.step_leases
    names = draft.view.leases(draft.now_ms, most)
    done = _deal_with(draft, names, most)
    full = len(names) == most
    if full and not done:
        names = draft.view.leases(draft.now_ms, most * _FURTHER)
        done = _deal_with(draft, names[most:], most)
        full = len(names) == most * _FURTHER
    draft.step.more = draft.step.more or done >= most or (full and done > 0)


def _deal_with(draft: Draft, names: Sequence[Identity], most: int) -> int:
    """How much it was: one event may have a thousand runs to end or to forget."""
    draft.load(names)
    done = 0
    for name in dict.fromkeys(names):
        state = draft.state(name)
        if state is not None:
            before = len(draft.step.runs)
            if _run_out(draft, name, state):
                done += max(1, len(state.runs), len(draft.step.runs) - before)
        if done >= most:
            break
    return done


def _run_out(draft: Draft, name: Identity, state: State) -> bool:
    """Was anything to be done?"""
    now_ms, before = draft.now_ms, state
    if state.forget_ms is not None:
        if state.forget_ms > min(now_ms, draft.read_ms):  # a command that was sent to it finds it
            return False
        _forget(draft, name)
        return True
    for seq in [run.seq for run in state.runs]:
        run = next((run for run in state.runs if run.seq == seq), None)  # the end of one may drop or move others
        if run is None:
            continue
        if run.phase is Phase.DELIVERED and run.at_ms <= min(now_ms, draft.heard_ms):  # a report in time is heard
            state = timed_out(draft, name, state, run)
        elif run.phase >= Phase.WAITING and 0 < run.expires_ms <= now_ms:
            state = finish(draft, name, state, run, Signal.EXPIRED, error="it expired while it waited for its turn")
    if state is before:
        return False
    draft.put(name, state)
    return True


def _forget(draft: Draft, name: Identity) -> None:
    """An event leaves the history with its runs."""
    old = draft.view.runs_before(name, _END_OF_TIME_MS, _RUNS_FORGOTTEN_AT_ONCE)
    for key in old:
        draft.step.runs[key] = None
    if len(old) == _RUNS_FORGOTTEN_AT_ONCE:
        draft.step.more = True
        return
    draft.forget(name)
