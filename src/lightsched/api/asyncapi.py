"""What stands on which topic? The AsyncAPI document: every topic, its records and their headers, an example of each.

`make schema` writes docs/asyncapi.json, and a node serves it with its own prefix. Schemas come from the one model and
from the Structs that are written; the examples of deliveries and dead letters are made by the code that makes them.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

import msgspec

from lightsched import __version__
from lightsched.api.body import NDJSON
from lightsched.api.examples import NODE, REPORT, STANDUP, TEA, TENANT_RULES
from lightsched.engine.step import DeadLetter, Transition
from lightsched.event.delivery import Emitter
from lightsched.event.identity import identity
from lightsched.event.model import Event
from lightsched.event.record import Headers, Record
from lightsched.event.schema import EVENT, Said, Schema, delivery_schema, say, schemas
from lightsched.event.tenant import Tenant
from lightsched.event.topics import DEFAULT, Topics
from lightsched.log.peer import Load, Peer
from lightsched.log.records import CUT, dead_letter

VERSION = "3.0.0"
_JSON = "application/json"
_REFERENCE = "#/components/schemas/{name}"
_KAFKA = "0.5.0"
_DUE_MS = 1_794_819_600_000
_DIGITS = {"string": {"pattern": "^-?[0-9]+$"}}
_NOT_IN_HEADERS = ("payload", "payload_base64")
_AS_JSON = ("window", "retry", "topics", "headers", "labels")

TRANSITION = {
    "at": Said("When the step was made"),
    "what": Said(
        "`schedule` `cancel` `pause` `resume` `trigger`: a command; `refuse`: a record that makes no sense; `deliver` "
        "`fail` `finish`: of a run; `CLAIMED` `PROCESSING`: a report"
    ),
    "tenant": Said("Whose event it is; with `key` and `id` its identity, empty if there is none"),
    "key": Said("The event's key"),
    "id": Said("The event's id"),
    "outcome": Said("Of a command; `FORWARDED`: it went on to its own partition, where its outcome follows"),
    "who": Said("Who asked or reported"),
    "revision": Said("Of the event"),
    "before": Said("The status before"),
    "after": Said("The status after"),
    "due": Said("Of the run, or of the event's next one, in milliseconds since 1970"),
    "attempt": Said("Of the run, from 1 on"),
    "delivery": Said("The `ce_id` of the delivery"),
    "reason": Said("Why"),
}
PEER = {
    "id": Said("The node's name, also the record's key"),
    "url": Said("Where the other nodes reach it; empty: nowhere"),
    "version": Said("Of lightsched"),
    "partitions": Said("Those that it runs"),
    "started_ms": Said("When it started, in milliseconds since 1970"),
    "roles": Said("What its process does: `scheduler`, `api`, `executor`, `injector`"),
    "load": Said("How much it has to do"),
    "heard_ms": Said("Not said here: whoever reads it takes the record's timestamp"),
}
LOAD = {
    "pending": Said("Events of its partitions that will fire"),
    "lag": Said("Inputs that are still to be read"),
    "in_flight": Said("Runs that are delivered and unreported"),
    "fired_per_s": Said("Events fired a second"),
    "cpu": Said("Cores that its process keeps busy"),
    "seconds": Said("Over which the last two were measured"),
}
DEAD = {
    "ls_reason": Said("Why, for programs", None, ("INVALID", "INVALID_THEN", "UNDELIVERABLE")),
    "ls_detail": Said("Why, for people"),
    "ls_topic": Said("Where it came from; of a delivery, the topics that it was for, with commas between them"),
    "ls_partition": Said("The partition it came from", _DIGITS),
    "ls_offset": Said("Its offset there; -1 if it came from none", _DIGITS),
    CUT: Said(
        "How many bytes its value had, if it was too large to be kept whole", {"string": {"pattern": "^[0-9]+$"}}
    ),
}


def asyncapi(topics: Topics = DEFAULT) -> dict[str, Any]:
    """The whole document, for topics of these names."""
    messages = _messages(topics)
    return {
        "asyncapi": VERSION,
        "info": {
            "title": "lightsched",
            "version": __version__,
            "description": "What lightsched reads from its topics, and what it writes to them. Operations are named "
            "from its point of view: what it receives, others send. Every topic is stamped with the time of the broker "
            "(LogAppendTime); what it sends is in transactions: read with `isolation.level=read_committed`.",
        },
        "channels": _channels(topics),
        "operations": _operations(),
        "components": {"messages": messages, "schemas": _schemas()},
    }


@cache
def written_asyncapi(topics: Topics) -> bytes:
    """Written once, and not for each who asks."""
    return msgspec.json.encode(asyncapi(topics))


def _channels(topics: Topics) -> dict[str, Any]:
    def channel(address: str, words: str, cleanup: str, *messages: str) -> dict[str, Any]:
        return {
            "address": address,
            "description": words,
            "messages": {name: {"$ref": f"#/components/messages/{name}"} for name in messages},
            "bindings": {
                "kafka": {"topicConfiguration": {"cleanup.policy": [cleanup]}, "bindingVersion": _KAFKA},
            },
        }

    return {
        "events": channel(
            topics.events,
            "Commands. Any client's partitioner will do: what lands elsewhere is forwarded to its home partition.",
            "delete",
            "command",
            "commandInHeaders",
        ),
        "reports": channel(
            topics.reports,
            "What executors say about deliveries, each to the partition in `ls_partition` of the delivery.",
            "delete",
            "report",
        ),
        "deliveries": channel(
            topics.deliveries,
            "What is due. This is the default topic: an event or its tenant may name others, with the same records.",
            "delete",
            "delivery",
        ),
        "changelog": channel(
            topics.changelog,
            "Internal: the state of each partition, for the node that takes it over. Do not write, do not delete; what "
            "is in it changes with any version.",
            "compact",
            "change",
        ),
        "audit": channel(
            topics.audit,
            "Who did what, when: a record for each step of a partition, a line for each transition.",
            "delete",
            "transitions",
        ),
        "deadLetter": channel(
            topics.dead_letter,
            "What could not be understood or delivered: the record as it was, with the reason in its last headers.",
            "delete",
            "deadLetter",
        ),
        "nodes": channel(
            topics.nodes,
            "The nodes of a cluster, every two seconds, and the rules of tenants. It has one partition.",
            "compact",
            "node",
            "tenant",
        ),
    }


def _operations() -> dict[str, Any]:
    def operation(action: str, channel: str, words: str, *messages: str) -> dict[str, Any]:
        return {
            "action": action,
            "channel": {"$ref": f"#/channels/{channel}"},
            "summary": words,
            "messages": [{"$ref": f"#/channels/{channel}/messages/{name}"} for name in messages],
        }

    return {
        "receiveCommand": operation(
            "receive", "events", "Carry out what is asked of an event", "command", "commandInHeaders"
        ),
        "forwardCommand": operation(
            "send", "events", "Send on what landed elsewhere, and schedule what reports ask for", "command"
        ),
        "receiveReport": operation("receive", "reports", "Hear what became of a delivery", "report"),
        "forwardReport": operation("send", "reports", "Send on what landed elsewhere", "report"),
        "sendDelivery": operation("send", "deliveries", "Deliver what is due", "delivery"),
        "sendChange": operation("send", "changelog", "Keep the state of a partition", "change"),
        "receiveChange": operation("receive", "changelog", "Take a partition over", "change"),
        "sendTransitions": operation("send", "audit", "Tell what a step has done", "transitions"),
        "sendDeadLetter": operation("send", "deadLetter", "Put aside what makes no sense", "deadLetter"),
        "receiveDeadLetter": operation("receive", "deadLetter", "Show it, and send it again if asked", "deadLetter"),
        "sendNode": operation("send", "nodes", "Say who is there, and share the rules of tenants", "node", "tenant"),
        "receiveNode": operation("receive", "nodes", "Know the other nodes and the rules", "node", "tenant"),
    }


def _messages(topics: Topics) -> dict[str, Any]:
    key = {"type": "string", "description": "The event's key"}
    anything = {"description": "Any bytes, or none: as they were sent"}
    return {
        "command": {
            "title": "Command",
            "summary": "What is asked of an event, as JSON; the key is the event's key, if it names none itself",
            "contentType": _JSON,
            "payload": _to("Event"),
            **_keyed(key),
            "examples": [
                {"name": "once", "payload": TEA},
                {"name": "recurring", "payload": STANDUP},
                {"name": "cancel", "payload": {"op": "cancel", "id": "tea", "reason": "no time"}},
            ],
        },
        "commandInHeaders": {
            "title": "Command in headers",
            "summary": "For payloads that are not JSON: with any of the headers `ls_op` `ls_at` `ls_in` `ls_cron` "
            "`ls_every` the fields are read from headers, and the value is the payload, whatever its bytes",
            "headers": _to("EventHeaders"),
            "payload": anything,
            **_keyed(key),
            "examples": [
                {
                    "name": "once",
                    "headers": {"ls_id": "tea", "ls_in": "5m", "ls_topics": '["drinks"]', "trace": "7"},
                    "payload": "Your tea is ready",
                }
            ],
        },
        "report": {
            "title": "Report",
            "summary": "What an executor says about a delivery",
            "contentType": _JSON,
            "payload": _to("Report"),
            "examples": [{"name": "success", "payload": REPORT}],
        },
        "delivery": {
            "title": "Delivery",
            "summary": "An attempt of a run that is due: CloudEvents 1.0, binary mode. The header `content-type` says "
            "what the value is",
            "headers": _to("DeliveryHeaders"),
            "payload": anything
            | {"description": "The event's payload, byte for byte as it was sent; none if it has none"},
            **_keyed(key),
            "examples": [{"name": "reminder", **_delivered(topics)}],
        },
        "change": {
            "title": "Change",
            "summary": "Internal",
            "contentType": "application/octet-stream",
            "payload": {"description": "Internal"},
        },
        "transitions": {
            "title": "Transitions",
            "summary": "One JSON object a line (NDJSON), shown here as a list; what is empty is left out",
            "contentType": NDJSON,
            "payload": {"type": "array", "items": _to("Transition")},
            "examples": [{"name": "step", "payload": _audited()}],
        },
        "deadLetter": {
            "title": "Dead letter",
            "summary": "A record as it was, its own headers first",
            "headers": _to("DeadLetterHeaders"),
            "payload": anything,
            **_keyed({"type": "string", "description": "As it was"}),
            "examples": [{"name": "invalid", **_put_aside(topics)}],
        },
        "node": {
            "title": "Node",
            "summary": "What a node says of itself; without a value when it has stopped",
            "contentType": _JSON,
            "payload": {"anyOf": [_to("Peer"), {"type": "null"}]},
            **_keyed({"type": "string", "description": "The node's name"}),
            "examples": [{"name": "node", "payload": NODE}],
        },
        "tenant": {
            "title": "Tenant",
            "summary": "The rules of a tenant, that all nodes share",
            "contentType": _JSON,
            "payload": _to("Tenant"),
            **_keyed({"type": "string", "description": "`shared/tenant/` and the tenant's name"}),
            "examples": [{"name": "acme", "payload": TENANT_RULES}],
        },
    }


def _schemas() -> dict[str, Schema]:
    made = schemas(_REFERENCE)
    _, written = msgspec.json.schema_components([Transition, Peer, Tenant], ref_template=_REFERENCE)
    for struct, said in ((Transition, TRANSITION), (Peer, PEER), (Load, LOAD)):
        say(written[struct.__name__]["properties"], said)
    delivery = {name: part for name, part in delivery_schema().items() if name != "$schema"}
    return {
        **written,
        **made,  # the one model has more to say of what both are made of
        "EventHeaders": _event_headers(),
        "DeliveryHeaders": delivery | {"title": "DeliveryHeaders"},
        "DeadLetterHeaders": _text(DEAD, required=[name for name in DEAD if name != CUT])
        | {"title": "DeadLetterHeaders"},
    }


def _event_headers() -> Schema:
    """The fields of an event as headers: text as it is, lists and objects as JSON."""
    fields = {
        f"ls_{name}": Said(f"{said.meaning}, as JSON" if name in _AS_JSON else said.meaning)
        for name, said in EVENT.items()
        if name not in _NOT_IN_HEADERS
    }
    modes = [{"required": [f"ls_{name}"]} for name in ("op", "at", "in", "cron", "every")]
    return _text(fields) | {"title": "EventHeaders", "anyOf": modes}


def _text(said: dict[str, Said], required: list[str] | None = None) -> Schema:
    """Headers, as text. Others may be there, too."""
    properties: dict[str, Schema] = {name: {"type": "string"} for name in said}
    say(properties, said)
    wanted = {"required": required} if required else {}
    return {"type": "object", "properties": properties, **wanted, "additionalProperties": {"type": "string"}}


def _delivered(topics: Topics) -> dict[str, Any]:
    payload = TEA["payload"]
    event = Event(type=TEA["type"], payload=msgspec.Raw(msgspec.json.encode(payload)))
    name = identity("default", TEA["id"], TEA["id"])
    delivery = Emitter(3, b"an example").emit(name, 1, _DUE_MS, 1, event, topics.default, 300_000)
    return {"headers": _decoded(delivery.record.headers), "payload": payload}


def _put_aside(topics: Topics) -> dict[str, Any]:
    value = {"id": "tea", "cron": "* * * *"}
    letter = DeadLetter("INVALID", "cron: has 4 fields", Record(b"tea", b"", ()), topics.events, 4711, 3)
    return {"headers": _decoded(dead_letter(letter).headers), "payload": value}


def _audited() -> list[dict[str, Any]]:
    at, name = "2026-11-16T09:00:00.003Z", ("default", "tea", "tea")
    step = [
        Transition(at, "cancel", "default", "coffee", "coffee", "CANCELLED", "rest", 1, "NOT_STARTED", "CANCELLED"),
        Transition(at, "deliver", *name, revision=1, before="NOT_STARTED", after="SUCCESS", due=_DUE_MS, attempt=1),
    ]
    audited: list[dict[str, Any]] = msgspec.to_builtins(step)
    return audited


def _decoded(headers: Headers) -> Mapping[str, str]:
    return {name: value.decode() for name, value in headers}


def _keyed(key: Schema) -> dict[str, Any]:
    return {"bindings": {"kafka": {"key": key, "bindingVersion": _KAFKA}}}


def _to(name: str) -> dict[str, str]:
    return {"$ref": _REFERENCE.format(name=name)}
