"""How does the status machine look on a page? docs/status.md, drawn from the one table (`make schema` writes it)."""

from lightsched.event.status import FINAL, TRANSITIONS, Signal, Status

_MEANING = {
    Signal.DELIVERED: "an attempt was delivered, and an executor will report",
    Signal.DONE: "it was delivered and nobody will report: delivered is done",
    Signal.CLAIMED: "an executor took it",
    Signal.HEARTBEAT: "an executor is at it",
    Signal.SUCCEEDED: "an executor is done",
    Signal.FAILED: "the attempt failed or timed out, and another one follows",
    Signal.GAVE_UP: "the attempt failed, and no other one follows",
    Signal.PAUSED: "a command",
    Signal.RESUMED: "a command",
    Signal.CANCELLED: "a command; of a run: it waited, and its event was cancelled or replaced",
    Signal.EXPIRED: "it is worth nothing any more",
    Signal.REPLACED: "a new definition under the same identity",
}
_HEAD = """\
# Status

<!-- Made by `make schema` from src/lightsched/event/status.py: change the table there. -->

Every change of status, of an event and of a run alike, is a look-up in one table. While an event lives and is not
paused it shows the status of its newest run that went out, and NOT_STARTED between runs. An event that is one of
{final} is over: it fires no more, but may be scheduled again.
"""


def page() -> str:
    """The page: a diagram, what the signals mean, the table."""
    final = ", ".join(status for status in Status if status in FINAL)
    return "\n".join([_HEAD.format(final=final), *_diagram(), "", *_signals(), "", *_table(), ""])


def _diagram() -> list[str]:
    # What leads back to where it came from is left to the table.
    arrows: dict[tuple[Status, Status], list[str]] = {}
    for (before, signal), after in TRANSITIONS.items():
        if before is not after:
            arrows.setdefault((before, after), []).append(signal)
    lines = [f"    {before} --> {after}: {', '.join(signals)}" for (before, after), signals in arrows.items()]
    return ["```mermaid", "stateDiagram-v2", f"    [*] --> {Status.NOT_STARTED}", *lines, "```"]


def _signals() -> list[str]:
    return ["| signal | what happened |", "|---|---|", *(f"| {signal} | {_MEANING[signal]} |" for signal in Signal)]


def _table() -> list[str]:
    lines = ["| status | " + " | ".join(Signal) + " |", "|---" * (len(Signal) + 1) + "|"]
    for status in Status:
        cells = (TRANSITIONS.get((status, signal), "") for signal in Signal)
        lines.append(f"| {status} | " + " | ".join(cells) + " |")
    return lines
