"""Who may go when a slot is free? Runs of a tenant that wait for one, in firing order."""

from lightsched.engine.draft import CHUNK, Draft
from lightsched.engine.runs import settle, start
from lightsched.engine.state import Phase
from lightsched.engine.view import Entry


def release(draft: Draft) -> None:
    """Start waiting runs of every tenant that has slots free, before anything that is only now due may take them."""
    for tenant in draft.view.waiting_tenants():
        if not _release(draft, tenant):
            draft.step.more = True


def _release(draft: Draft, tenant: str) -> bool:
    """Not each takes a slot: some were dropped in this step, expire, or wait for the window. False: more may go."""
    slots, most = draft.rules.slots(tenant), draft.rules.step_fires
    seen = 0
    while draft.has_slot(tenant):
        free = most if slots is None else slots - draft.in_flight(tenant)
        limit = min(seen + free, seen + CHUNK, most)
        entries = draft.view.waiting(tenant, limit)[seen:]
        draft.load(entry.identity for entry in entries)
        draft.load_events([entry.identity for entry in entries])
        for entry in entries:
            if draft.bytes >= draft.rules.step_bytes:
                return False
            _go(draft, entry)
        seen += len(entries)
        if seen < limit:
            return True
        if seen == most:
            return False
    return True


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
