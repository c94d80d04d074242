"""Which nodes are there, and how are they?"""

from typing import TYPE_CHECKING

import typer

from lightsched.cli.asking import AsJson, connected
from lightsched.cli.printing import console, escape, print_json, relative, table

if TYPE_CHECKING:
    from lightsched.client.results import Load

LOAD = ("pending", "lag", "in flight", "fired/s", "cpu")
NOT_SAID = "—"


def nodes(context: typer.Context, as_json: AsJson = False) -> None:
    """Show the nodes: what they do, what they own, and their load.

    PENDING, LAG and IN FLIGHT are events that will fire, inputs that are still to be read, and runs without a report.
    FIRED/S and CPU (cores that the process keeps busy) are over the seconds before; each node says so every 2 s.
    """
    with connected(context) as client:
        found = client.nodes()
    if as_json:
        for node in found:
            print_json(node)
        return
    out = console()
    columns = ("node", "partitions", *LOAD, "heard of")
    rows = [(escape(node.id), _ranges(node.partitions), *_load(node.load), relative(node.heartbeat)) for node in found]
    out.print(table(columns, rows))
    for node in found:  # what does not change stands below: all in one row is too wide for a terminal
        known = (escape(node.url), f"{node.version} on {node.log}", f"started {relative(node.started_at)}")
        roles = escape(", ".join(node.roles)) or NOT_SAID
        out.print(f"[bold]{escape(node.id)}[/]  {', '.join(filter(None, known))}: {roles}")
    for type_ in sorted({type_ for node in found for type_ in node.unhandled}):
        console().print(f"Nobody handles deliveries of the type {escape(type_)}: start an executor for it.")


def _load(load: "Load | None") -> tuple[str, ...]:
    if load is None:
        return (NOT_SAID,) * len(LOAD)
    return f"{load.pending:,}", f"{load.lag:,}", f"{load.in_flight:,}", f"{load.fired_per_s:,}", f"{load.cpu:.2f}"


def _ranges(numbers: list[int]) -> str:
    """`0-3, 7`."""
    spans: list[list[int]] = []
    for number in sorted(numbers):
        if spans and number == spans[-1][-1] + 1:
            spans[-1] = [spans[-1][0], number]
        else:
            spans.append([number])
    return ", ".join("-".join(map(str, span)) for span in spans) or "none"
