"""What can be asked of events? To be scheduled, changed, stopped and started: one, many, all or none."""

import builtins
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Any, Literal, Unpack

from lightsched.client.connected import Connected, path_of
from lightsched.client.encoding import encoded
from lightsched.client.errors import Invalid, ProblemDetails
from lightsched.client.fields import (
    Definition,
    EventFields,
    Filter,
    Prepared,
    as_json,
    name_of,
    prepare_command,
    prepare_event,
    query_of,
)
from lightsched.client.results import Counts, Result
from lightsched.client.transaction import Transaction
from lightsched.event.errors import Problem
from lightsched.event.model import Op


class Commanding(Connected):
    """The commands of a client."""

    async def schedule(self, **fields: Unpack[EventFields]) -> Result:
        """Schedule an event, and wait for the outcome.

        Example:
            result = await client.schedule(cron="30 9 * * mon-fri", timezone="Europe/Paris", payload="stand-up")
            assert result.outcome == "SCHEDULED"

        All fields of an event are keywords: exactly one of `at`, `in_`, `cron`, `every`, and whatever else. Without an
        `id` it gets one here. An identical event is UNCHANGED, another with the same id takes its place (REPLACED).
        """
        return await self._transport.command(prepare_event(fields, self.tenant))

    async def schedule_many(self, events: Iterable[EventFields | Mapping[str, Any]]) -> builtins.list[Result]:
        """Schedule many, in large requests; one result each, in their order.

        Example:
            results = await client.schedule_many({"id": f"mail-{n}", "in": "1h", "payload": n} for n in range(3))
            assert all(result.ok for result in results)

        What is wrong with one (`not result.ok`, see `result.error`) does not concern the others. Commands may be among
        them: `{"op": "cancel", "id": …}`.
        """
        return await self._transport.send(_prepared(events, self.tenant))

    async def send(self, commands: Sequence[Prepared], *, once: str = "") -> builtins.list[Result]:
        """Send what `lightsched.client.files` has read, byte for byte; otherwise as `schedule_many`.

        Example:
            from io import BytesIO
            from lightsched.client.files import reading
            from lightsched.client.stamping import Stamp

            lines = reading("yaml")(BytesIO(b"[{id: tea, in: 5m}]"))
            stamp = Stamp("3f2a", now_ms=4_102_444_800_000)
            commands = [stamp.prepare(line.body, place) for place, line in enumerate(lines, start=1)]
            results = await client.send(commands, once="the first thousand")

        With `once` the same commands, sent again under this name, are not carried out again, whatever has become of
        their events since; a server remembers that, Kafka does not.
        """
        return await self._transport.send(commands, once)

    def transaction(self) -> AbstractAsyncContextManager[Transaction]:
        """All or none of what is asked for in the block.

        Example:
            async with client.transaction() as together:
                together.schedule(id="charge-7", in_="1h", payload={"order": 7})
                together.schedule(id="remind-7", in_="30m", payload={"order": 7})
            assert [result.id for result in together.results] == ["charge-7", "remind-7"]

        It is sent when the block ends, and not at all if that is with an exception.
        """
        return _Block(self)

    async def _finish(self, together: Transaction) -> None:
        if together.commands:
            together.results = await self._transport.send_together(together.commands)

    async def replace(
        self, id: str, *, tenant: str | None = None, key: str | None = None, **definition: Unpack[Definition]
    ) -> Result:
        """Give an event another definition, whole; a pause stays, and a run that is out goes on.

        Example:
            await client.replace("tea", in_="10m", payload={"text": "Your tea is cold"})
        """
        fields = {**definition, "id": id, "tenant": tenant or self.tenant, "key": key, "on_conflict": "replace"}
        return await self._transport.command(prepare_event(fields, self.tenant))

    async def cancel(self, id: str, *, tenant: str | None = None, key: str | None = None, reason: str = "") -> Result:
        """Fire no more. `Conflict` if it is a one-shot that is out at an executor, or over.

        Example:
            await client.cancel("tea", reason="coffee today")

        `key`, here and below, where it is not the id and several events have this id.
        """
        return await self._command(Op.CANCEL, id, tenant, key, reason)

    async def pause(self, id: str, *, tenant: str | None = None, key: str | None = None, reason: str = "") -> Result:
        """Deliver nothing until it is resumed.

        Example:
            await client.pause("stand-up", reason="holidays")
        """
        return await self._command(Op.PAUSE, id, tenant, key, reason)

    async def resume(self, id: str, *, tenant: str | None = None, key: str | None = None, reason: str = "") -> Result:
        """Go on; the event's `catch_up` says what becomes of what was missed.

        Example:
            await client.resume("stand-up")
        """
        return await self._command(Op.RESUME, id, tenant, key, reason)

    async def trigger(self, id: str, *, tenant: str | None = None, key: str | None = None, reason: str = "") -> Result:
        """Run now: a recurrence once more, a one-shot instead of later.

        Example:
            await client.trigger("stand-up", reason="everybody is here")

        If the answer is lost on the way it is asked for again, and still runs once.
        """
        return await self._command(Op.TRIGGER, id, tenant, key, reason)

    async def _command(self, op: Op, id: str, tenant: str | None, key: str | None, reason: str) -> Result:
        return await self._transport.command(prepare_command(op, id, tenant or self.tenant, key, reason))

    async def change(
        self,
        id: str,
        *,
        tenant: str | None = None,
        key: str | None = None,
        revision: int | None = None,
        reason: str = "",
        **changes: Unpack[Definition],
    ) -> Result:
        """Change an event in part: what is given replaces what is there, None removes it, all else stays.

        Example:
            await client.change("stand-up", cron="0 10 * * mon-fri")

        With a `revision` (`event.revision`): only if it has not changed since, otherwise `Changed` is raised.
        """
        removed = {name_of(name): None for name, value in changes.items() if value is None}
        patch = {**as_json(changes), **removed, **({"reason": reason} if reason else {})}
        for one, other in (("payload", "payload_base64"), ("payload_base64", "payload")):
            if patch.get(one) is not None or (one == "payload" and one in removed):
                patch.setdefault(other, None)
        return await self._transport.ask(
            path_of(id),
            Result,
            self._which(tenant, key),
            method="PATCH",
            body=encoded(patch),
            headers={} if revision is None else {"If-Match": f'"{revision}"'},
            repeatable=revision is None and "in" not in patch,
        )

    async def bulk(
        self,
        action: Literal["cancel", "pause", "resume", "trigger"],
        *,
        dry_run: bool = False,
        reason: str = "",
        all: bool = False,  # noqa: A002 - the word of the command line
        **which: Unpack[Filter],
    ) -> Counts:
        """Cancel, pause, resume or trigger all events that match, as `list` finds them; or only count them.

        Example:
            counts = await client.bulk("pause", labels={"team": "blue"}, dry_run=True)
            print(counts.matched)

        `Invalid` if nothing is said about which: a variable that happens to be empty must not mean all of a tenant's
        events. With `all` it does.
        """
        query = {name: value for name, value in query_of(which, self.tenant).items() if value not in (None, [])}
        if not all and query.keys() <= {"tenant"}:
            raise Invalid(
                "Say which events are meant, such as by a `prefix` or `labels` that are not empty, or `all=True`."
            )
        asked = {"action": action, "filter": query, "dry_run": dry_run, "reason": reason}
        total = Counts(matched=0, outcomes={}, dry_run=dry_run, cursor=None)
        while True:
            body = encoded({**asked, "cursor": total.cursor})
            some = await self._transport.ask(
                "/events/bulk", Counts, method="POST", body=body, repeatable=dry_run or action != "trigger"
            )
            total = total + some
            if total.cursor is None:
                return total


def _prepared(events: Iterable[EventFields | Mapping[str, Any]], tenant: str) -> list[Prepared]:
    prepared: list[Prepared] = []
    try:
        for event in events:
            prepared.append(prepare_event(event, tenant))  # noqa: PERF401 - how many there are is needed below
    except Invalid as error:
        place = f"[{len(prepared)}]"
        errors = tuple(Problem(f"{place}.{found.field}".rstrip("."), found.message) for found in error.errors)
        detail = f"Nothing was sent: {place} {error}"
        raise Invalid(ProblemDetails(detail=detail, errors=errors, outcome=error.outcome)) from None
    return prepared


class _Block(AbstractAsyncContextManager[Transaction]):
    """Sends what was collected in it when it ends."""

    def __init__(self, client: Commanding) -> None:
        self._client = client
        self._together = Transaction(client.tenant)

    async def __aenter__(self) -> Transaction:
        return self._together.begun()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._together.end()
        if kind is None:
            await self._client._finish(self._together)  # noqa: SLF001 - its other half
