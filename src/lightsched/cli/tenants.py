"""What holds for a tenant, and how is that changed?"""

import json
from typing import TYPE_CHECKING, Annotated

import typer

from lightsched.cli.asking import AsJson, connected
from lightsched.cli.definition import read_object
from lightsched.cli.output import carried_out
from lightsched.cli.printing import console, escape, facts, print_json, short, table

if TYPE_CHECKING:
    from lightsched.client import Tenant

app = typer.Typer(help="The rules of tenants.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="The tenant.", show_default=False)]


@app.command("list")
def list_tenants(context: typer.Context, as_json: AsJson = False) -> None:
    """List the tenants that have rules of their own; for all others the defaults hold."""
    with connected(context) as client:
        found = client.tenants()
    if as_json:
        for tenant in found:
            print_json(tenant)
    elif found:
        columns = ("tenant", "rule", "topics", "limits", "weight")
        console().print(table(columns, map(_row, found)))
    else:
        console().print("No tenant has rules of its own.")


@app.command()
def show(context: typer.Context, name: Name, as_json: AsJson = False) -> None:
    """Look at what holds for a tenant: its own rules, or the defaults."""
    with connected(context) as client:
        tenant = client.get_tenant(name)
    _say(tenant, as_json=as_json)


@app.command()
def put(
    context: typer.Context,
    name: Name,
    rules: Annotated[str, typer.Argument(help="A JSON object; @FILE: what is in the file.", show_default=False)],
    as_json: AsJson = False,
) -> None:
    """Give a tenant rules of its own, all of them: what is left out is as by default.

    lightsched tenants put acme '{"topics": ["acme.jobs"], "limits": {"in_flight": 10}}'
    """
    given = read_object("RULES", rules)
    with connected(context) as client:
        tenant = client.put_tenant(name, given)
    with carried_out():
        _say(tenant, as_json=as_json)


def _row(tenant: "Tenant") -> tuple[str, ...]:
    return escape(tenant.name), tenant.rule, escape(", ".join(tenant.topics)), _limits(tenant), str(tenant.weight)


def _limits(tenant: "Tenant") -> str:
    return ", ".join(f"{name} {number:,}" for name, number in tenant.limits.items())


def _say(tenant: "Tenant", *, as_json: bool) -> None:
    if as_json:
        print_json(tenant)
        return
    out = console()
    out.print(f"[bold]{escape(tenant.name)}[/]")
    rows = [
        ("rule", tenant.rule),
        ("topics", escape(", ".join(tenant.topics))),
        ("limits", _limits(tenant)),
        ("weight", str(tenant.weight)),
        ("window", short(tenant.window, 500)),
        ("defaults", escape(json.dumps(tenant.defaults)) if tenant.defaults else ""),
    ]
    out.print(facts(rows))
