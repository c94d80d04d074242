"""Which nodes are there, and how are they?"""

import typer

from lightsched.cli.asking import AsJson, connected
from lightsched.cli.printing import console, escape, print_json, relative, table


def nodes(context: typer.Context, as_json: AsJson = False) -> None:
    """Show the nodes, what they own, and how much is pending there."""
    with connected(context) as client:
        found = client.nodes()
        partitions = [] if as_json else client.partitions()
    if as_json:
        for node in found:
            print_json(node)
        return
    rows = []
    for node in found:
        own = [partition for partition in partitions if partition.owner == node.id]
        rows.append(
            (
                escape(node.id),
                escape(node.url),
                node.version,
                node.log,
                _ranges(node.partitions),
                f"{sum(partition.pending for partition in own):,}",
                f"{sum(partition.lag for partition in own):,}",
                relative(node.started_at),
                relative(node.heartbeat),
            )
        )
    columns = ("node", "url", "version", "log", "partitions", "pending", "lag", "started", "heard of")
    console().print(table(columns, rows))
    for type_ in sorted({type_ for node in found for type_ in node.unhandled}):
        console().print(f"Nobody handles deliveries of the type {escape(type_)}: start an executor for it.")


def _ranges(numbers: list[int]) -> str:
    """`0-3, 7`."""
    spans: list[list[int]] = []
    for number in sorted(numbers):
        if spans and number == spans[-1][-1] + 1:
            spans[-1] = [spans[-1][0], number]
        else:
            spans.append([number])
    return ", ".join("-".join(map(str, span)) for span in spans) or "none"
