"""What is said about a file that is not all right? Its report in `failed`, as editors want it: `NAME:LINE: why`."""

from lightsched_files.naming import events_are, shown
from lightsched_files.taken import MOST_NOTED, Taken


def report_of(taken: Taken) -> str:
    """What is wrong with it and what became of it; empty: nothing."""
    entry, name = taken.entry, shown(taken.name)
    wrong = sorted([*taken.problems, *entry.refused])
    count = taken.bad + entry.refusals
    if not wrong and not taken.changed:
        return ""
    scheduled = 0 if taken.rejected else taken.good - entry.refusals
    lines = [f"# {name}: {_what_became(scheduled, count, taken)}"]
    lines += [f"{name}:{line}: {why}" if line else f"{name}: {why}" for line, why in wrong]
    if count > len(wrong):
        lines.append(f"# … and {count - len(wrong):,} more like these (the first {MOST_NOTED:,} are named)")
    return "\n".join(lines) + "\n"


def _what_became(scheduled: int, wrong: int, taken: Taken) -> str:
    if taken.changed:
        remedy = "Write such files elsewhere, and rename them in"
        what = f"{events_are(scheduled)} scheduled" if scheduled else "some of it may be scheduled"
        return f"was changed while it was injected; {what}. {remedy}."
    if not scheduled:
        return "nothing of it is scheduled. Correct it and drop it again."
    not_so = "1 is not. Put it" if wrong == 1 else f"{wrong:,} are not. Put those"
    return f"{events_are(scheduled)} scheduled, {not_so}, corrected, into a file of their own."
