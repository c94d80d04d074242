"""What is said about a file that is not all right? Its report in `failed`, as editors want it: `NAME:LINE: why`."""

from lightsched_files.naming import shown
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
        return f"was changed while it was injected; {scheduled:,} events are scheduled. {remedy}."
    if not scheduled:
        return "nothing of it is scheduled. Correct it and drop it again."
    return f"{scheduled:,} events are scheduled, {wrong:,} are not. Put those, corrected, into a file of their own."
