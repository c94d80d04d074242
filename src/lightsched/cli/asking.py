"""How does a command reach the server? Through the client library; the server's own code stays out of it."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from lightsched.cli.completing import event_ids

if TYPE_CHECKING:
    from lightsched.client import SyncClient

RETRIES = 2
"""A person would rather know than wait."""

Id = Annotated[str, typer.Argument(help="The event's id.", show_default=False, autocompletion=event_ids)]
Tenant = Annotated[str, typer.Option("--tenant", help="Whose event.")]
Key = Annotated[str | None, typer.Option("--key", help="The event's key, where it is not the id.")]
AsJson = Annotated[bool, typer.Option("--json", help="JSON for programs: one value a line.")]


class Server(NamedTuple):
    """Whom to ask."""

    url: str
    token: str


@contextmanager
def connected(context: typer.Context, tenant: str = "default", *, verbatim: bool = False) -> Iterator["SyncClient"]:
    """A client of the server that was named, or else of this machine's.

    Verbatim: events and the like are as the server wrote them, for `print_json` and nothing else.
    """
    # Half of the time that importing httpx takes goes into a command line of its own, which nobody asks for here.
    sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]
    from lightsched.client import SyncClient  # noqa: PLC0415

    server: Server = context.obj
    with SyncClient(server.url, token=server.token, tenant=tenant, retries=RETRIES) as client:
        if verbatim:
            from lightsched.client.verbatim import pass_on  # noqa: PLC0415

            pass_on(client)
        yield client
