"""Who may go when a slot is free? Runs of a tenant that wait for one, in firing order."""

from lightsched.engine.draft import Draft
from lightsched.engine.runs import settle, start
from lightsched.engine.state import Phase
from lightsched.engine.view import Entry


def release(draft: Draft) -> None:
    """Start waiting runs of every tenant that has slots free."""
    for tenant in draft.view.waiting_tenants():
        slots = draft.rules.slots(tenant)
        most = draft.rules.step_fires
        free = most if slots is None else min(slots - draft.in_flight(tenant), most)
        if free <= 0:
            continue
        entries = draft.view.waiting(tenant, free)
        draft.load(entry.identity for entry in entries)
        draft.load_events([entry.identity for entry in entries])
        for entry in entries:
            if draft.bytes >= draft.rules.step_bytes:
                draft.step.more = True
                return
            _go(draft, entry)
        # Not each of them took a slot: some expired, or wait for the window.
        draft.step.more = draft.step.more or (len(entries) == free and draft.has_slot(tenant))


def _go(draft: Draft, entry: Entry) -> None:
    name = entry.identity
    state = draft.state(name)
    if state is None:
        return
    for run in state.runs:
        if run.phase is Phase.WAITING and run.seq == entry.seq:
            state, ended = start(draft, name, state, draft.event(name), run)
            draft.put(name, settle(draft, name, state, ended))
            return
