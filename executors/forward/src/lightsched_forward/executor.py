"""How is a delivery passed on? By an event that follows from its report: due at once, to the topics of the rules.

Report and event are one transaction: what is reported as SUCCESS was passed on, and what is executed twice is passed on
once, since the id of the event is made from the run that it follows from.
"""

import logging
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import blake2b
from typing import Any

from msgspec import Raw

from lightsched import Context, Executor, Fatal, Then
from lightsched.executor import REPLY_TO
from lightsched.executor.configured import Program
from lightsched_forward.rules import Rule
from lightsched_forward.settings import ForwardSettings

log = logging.getLogger(__name__)

_OF_THE_DELIVERY = {"content-type", "traceparent", REPLY_TO}
"""Headers that are made anew, or are about this run and not the next."""


class Forwarding:
    """Passes deliveries on."""

    def __init__(self, rules: tuple[Rule, ...]) -> None:
        self._rules = rules

    async def forward(self, context: Context) -> Then | None:
        """Execute any type that a rule is about."""
        events = [_event(number, rule, context) for number, rule in self._matching(context)]
        if not events:
            return None
        if context.timeout is None:
            log.error("%s is not passed on: schedule it with `track: true`", context.delivery)
            raise Fatal("it can only be passed on by a report: schedule it with `track: true`, `retry` or `timeout`")
        return Then(*events, result={"forwarded": [topic for event in events for topic in event["topics"]]})

    def _matching(self, context: Context) -> list[tuple[int, Rule]]:
        found = []
        for number, rule in enumerate(self._rules):
            if rule.matches(context.type, context.tenant, context.key, context.headers):
                found.append((number, rule))
                if rule.stop:
                    break
        return found


def _event(number: int, rule: Rule, context: Context) -> dict[str, Any]:
    mark = blake2b(f"{context.run}/{number}".encode(), digest_size=8).hexdigest()
    event: dict[str, Any] = {
        "id": f"{context.id[:150]}~{mark}",
        "key": context.key,
        "type": rule.renamed(context.type),
        "in": "1ms",
        "on_conflict": "keep",
        "topics": list(rule.to),
        "headers": {name: text for name, text in context.headers.items() if name not in _OF_THE_DELIVERY},
    }
    if context.payload:
        content_type = context.headers.get("content-type", "")
        if content_type == "application/json":
            event["payload"] = Raw(context.payload)
        else:
            event["payload_base64"] = b64encode(context.payload).decode()
            if content_type != "application/octet-stream":
                event["headers"]["content-type"] = content_type
    return event


@asynccontextmanager
async def executor(settings: ForwardSettings) -> AsyncIterator[Executor]:
    """An executor as the settings describe it."""
    forwarding = Forwarding(settings.rules)
    made = settings.made()
    for type_ in settings.types:
        made.on(type_)(forwarding.forward)
    yield made


program = Program(
    name="forward",
    about="Passes deliveries on to other topics, as the rules of its settings say.",
    settings=ForwardSettings,
    executor=executor,
)
