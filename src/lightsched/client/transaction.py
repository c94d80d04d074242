"""What belongs together? Commands that are collected, and then carried out all or not at all."""

from collections.abc import Sequence
from typing import Literal, Self, Unpack

from lightsched.client.errors import Invalid
from lightsched.client.fields import EventFields, Prepared, prepare_command, prepare_event
from lightsched.client.results import Result
from lightsched.event.model import Op


class Transaction:
    """Collects commands. Nothing is sent before the block ends, and nothing at all if it ends with an exception.

    Example:
        async with client.transaction() as together:
            together.schedule(id="ship-42", in_="2h", payload={"order": 42})
            together.cancel("remind-42")
    """

    def __init__(self, tenant: str) -> None:
        self._tenant = tenant
        self.commands: list[Prepared] = []
        self.results: Sequence[Result] = ()
        self._phase: Literal["new", "open", "over"] = "new"

    def begun(self) -> Self:
        """Its block has begun; there is only one."""
        if self._phase != "new":
            raise Invalid("This transaction had its block already: begin another with `client.transaction()`.")
        self._phase = "open"
        return self

    def end(self) -> None:
        """Its block has ended: what is sent is sent."""
        self._phase = "over"

    def schedule(self, **fields: Unpack[EventFields]) -> str:
        """Schedule an event with the others; its id."""
        event = prepare_event(fields, self._tenant)
        self._collect(event)
        return event.id

    def cancel(self, id: str, *, tenant: str | None = None, key: str | None = None, reason: str = "") -> None:
        """Cancel an event with the others. Where its key is not its id, it must be given."""
        self._add(Op.CANCEL, id, tenant, key, reason)

    def pause(self, id: str, *, tenant: str | None = None, key: str | None = None, reason: str = "") -> None:
        """Pause an event with the others."""
        self._add(Op.PAUSE, id, tenant, key, reason)

    def resume(self, id: str, *, tenant: str | None = None, key: str | None = None, reason: str = "") -> None:
        """Resume an event with the others."""
        self._add(Op.RESUME, id, tenant, key, reason)

    def trigger(self, id: str, *, tenant: str | None = None, key: str | None = None, reason: str = "") -> None:
        """Run an event now, with the others."""
        self._add(Op.TRIGGER, id, tenant, key, reason)

    def _add(self, op: Op, id: str, tenant: str | None, key: str | None, reason: str) -> None:
        self._collect(prepare_command(op, id, tenant or self._tenant, key, reason))

    def _collect(self, command: Prepared) -> None:
        if self._phase == "over":
            raise Invalid("This transaction is over, its block has ended: nothing more can go with it. Begin another.")
        self.commands.append(command)
