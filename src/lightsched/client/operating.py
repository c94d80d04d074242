"""What does whoever runs lightsched need? What was put aside, to look at and to send again; the rules of tenants."""

import builtins
from collections.abc import AsyncGenerator

from lightsched.client.connected import Connected
from lightsched.client.encoding import encoded, quoted
from lightsched.client.fields import Rules, as_json
from lightsched.client.results import DeadLetter, DeadLetters, Redriven, Tenant, Tenants

PAGE = 100


class Operating(Connected):
    """What a client can do for the whole of it."""

    async def dead_letters(self, *, reason: str | None = None) -> AsyncGenerator[DeadLetter]:
        """What could not be understood or delivered, newest first, read page by page as it is asked for.

        Example:
            async for letter in client.dead_letters(reason="INVALID"):
                print(letter.id, letter.detail)
        """
        cursor: str | None = ""
        while cursor is not None:
            query = {"reason": reason, "limit": PAGE, "cursor": cursor or None}
            page = await self._transport.ask("/dead-letters", DeadLetters, query)
            for letter in page.dead_letters:
                yield letter
            cursor = page.cursor

    async def dead_letter(self, id: str) -> DeadLetter:
        """One of them, by its id. `NotFound` if it is not there any more.

        Example:
            async for letter in client.dead_letters():
                print((await client.dead_letter(letter.id)).value)
        """
        return await self._transport.ask(_letter(id), DeadLetter)

    async def redrive(self, id: str) -> Redriven:
        """Send a dead letter again, to where it came from or was to go. `Conflict` if it makes no sense still.

        Example:
            async for letter in client.dead_letters(reason="UNDELIVERABLE"):
                await client.redrive(letter.id)

        An event is scheduled once, however often it is sent again; a delivery comes again with its id.
        """
        return await self._transport.ask(f"{_letter(id)}/redrive", Redriven, method="POST", repeatable=False)

    async def tenants(self) -> builtins.list[Tenant]:
        """The tenants that have rules of their own.

        Example:
            print([tenant.name for tenant in await client.tenants()])
        """
        return (await self._transport.ask("/tenants", Tenants)).tenants

    async def get_tenant(self, name: str) -> Tenant:
        """What holds for a tenant: its rules, or the defaults.

        Example:
            print((await client.get_tenant("acme")).limits)
        """
        return await self._transport.ask(_tenant(name), Tenant)

    async def put_tenant(self, name: str, rules: Rules) -> Tenant:
        """Give a tenant rules of its own, all of them: what is left out is as by default.

        Example:
            await client.put_tenant("acme", {"topics": ["acme.jobs"], "limits": {"in_flight": 10}})
        """
        return await self._transport.ask(_tenant(name), Tenant, method="PUT", body=encoded(as_json({**rules})))


def _letter(id: str) -> str:
    return f"/dead-letters/{quoted('id', id)}"


def _tenant(name: str) -> str:
    return f"/tenants/{quoted('tenant', name)}"
