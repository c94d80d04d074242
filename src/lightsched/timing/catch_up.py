"""What becomes of fire times that were missed?

A recurring event may be late because nobody was there, or because it was paused. Its pending fire time and those after
it that have passed are the missed ones. The policy says which of them is fired first: the `latest`, `all` one after
the other, or `none`; in no case one that is further back than `look_back`.
"""

from dataclasses import dataclass
from typing import Literal

from lightsched.timing.plan import Plan

CatchUpPolicy = Literal["latest", "all", "none"]
MOST_COUNTED = 1_000


@dataclass(frozen=True, slots=True)
class CaughtUp:
    """The fire time to go on with (none: the plan has ended), and how many were dropped before it."""

    due_ms: int | None
    missed: int


def catch_up(  # noqa: PLR0917 -- each is named at the call
    plan: Plan, due_ms: int, missed_before_ms: int, now_ms: int, policy: CatchUpPolicy, look_back_ms: int
) -> CaughtUp:
    """Where to go on when `due_ms` is pending and what lies before `missed_before_ms` counts as missed.

    More than 1,000 dropped fire times are counted as 1,000.
    """
    assert due_ms < missed_before_ms
    chosen_ms = _choose(plan, due_ms, missed_before_ms, now_ms - look_back_ms, policy)
    dropped = plan.count(due_ms, missed_before_ms if chosen_ms is None else chosen_ms, MOST_COUNTED)
    return CaughtUp(chosen_ms, dropped)


def _choose(plan: Plan, due_ms: int, missed_before_ms: int, oldest_ms: int, policy: CatchUpPolicy) -> int | None:
    if policy == "all":
        # What is not missed is only late: no look-back, however short, takes that away.
        from_ms = min(oldest_ms, missed_before_ms)
        return due_ms if due_ms >= from_ms else plan.after(from_ms - 1)
    if policy == "latest":
        latest_ms = max(due_ms, plan.latest(missed_before_ms - 1) or due_ms)
        if latest_ms >= oldest_ms:
            return latest_ms
    return plan.after(missed_before_ms - 1)
