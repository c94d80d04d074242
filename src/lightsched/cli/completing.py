"""What could be meant? The values that a shell offers when a word is begun: ids of events, statuses, zones."""

from collections.abc import Iterator
from itertools import islice

import typer

MOST = 50
_SERVER_S = 1.0
"""Whoever presses a key does not wait for long."""


def event_ids(context: typer.Context, incomplete: str) -> list[str]:
    """Ids that begin so, as the server has them; none, if it does not answer."""
    from lightsched.client import ClientError, SyncClient  # noqa: PLC0415

    server = context.find_root().params
    tenant = context.params.get("tenant") or "default"
    try:
        with SyncClient(server["server"], token=server["token"], tenant=tenant, timeout=_SERVER_S, retries=0) as client:
            return [event.id for event in islice(client.list(prefix=incomplete), MOST)]
    except ClientError:
        return []


def statuses(incomplete: str) -> Iterator[str]:
    """Of events."""
    from lightsched.event.status import Status  # noqa: PLC0415

    return (status for status in Status if status.startswith(incomplete))


def zones(incomplete: str) -> Iterator[str]:
    """Names of timezones."""
    from lightsched.timing import zone_names  # noqa: PLC0415

    return (name for name in sorted(zone_names()) if name.startswith(incomplete))
