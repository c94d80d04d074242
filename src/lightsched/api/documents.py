"""What does the OpenAPI document say? What is written here beside the endpoints, with the schemas of the one model.

Schemas come from msgspec: events and reports as they are decoded, answers as they are encoded. Every status that an
endpoint can answer is named, each refusal with the same shape.
"""

from typing import Any

import msgspec
from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from lightsched import __version__
from lightsched.api import shapes
from lightsched.api.body import NDJSON
from lightsched.api.problem import KINDS, MEDIA_TYPE, ProblemDetails, type_of
from lightsched.event.model import Event
from lightsched.event.report import Report
from lightsched.event.status import Status

_REFERENCE = "#/components/schemas/{name}"
_NOT_SHOWN = ("op", "id", "tenant", "key", "type", "in", "on_conflict", "reason")
_OPERATIONS = {"get", "post", "put", "patch", "delete"}
_WORDS = {
    400: "The request does not make sense: `errors` says which fields, and what to do",
    403: "Not allowed: a wrong token, a topic that is not for reading, or a page of another origin",
    404: "There is no such event",
    409: "Not now, or not this one: `detail`, `outcome`, `keys` or `reason` say why",
    413: "Too large, or too many at once",
    429: "Too many of them: wait, then try again",
    503: "The node is starting or stopping: try again in a moment",
}

TEA: dict[str, Any] = {"id": "tea", "in": "5s", "type": "reminder", "payload": {"text": "Your tea is ready"}}
STANDUP: dict[str, Any] = {
    "id": "standup",
    "cron": "30 9 * * mon-fri",
    "timezone": "Europe/Paris",
    "payload": "Time to stand up",
}


def reference(name: str) -> dict[str, str]:
    """To a schema of the document."""
    return {"$ref": _REFERENCE.format(name=name)}


def described(status: int, words: str, *shapes_: type) -> dict[int | str, dict[str, Any]]:
    """An answer in JSON, of one of these shapes."""
    schemas = [reference(shape.__name__) for shape in shapes_]
    return named(status, words, *schemas)


def named(status: int, words: str, *schemas: dict[str, Any]) -> dict[int | str, dict[str, Any]]:
    """An answer in JSON, of one of these schemas."""
    schema = schemas[0] if len(schemas) == 1 else {"anyOf": list(schemas)}
    return {status: {"description": words, "content": {"application/json": {"schema": schema}}}}


def refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The ways in which a call may be refused."""
    content = {MEDIA_TYPE: {"schema": reference(ProblemDetails.__name__)}}
    return {status: {"description": _WORDS[status], "content": content} for status in statuses}


TENANT: dict[str, Any] = {
    "name": "tenant",
    "in": "query",
    "required": False,
    "description": "For events that name no tenant themselves; one that names another is refused",
    "schema": {"type": "string", "pattern": "^[a-z0-9][a-z0-9._-]{0,62}$"},
    "example": "default",
}
PREFER: dict[str, Any] = {
    "name": "Prefer",
    "in": "header",
    "required": False,
    "description": "`respond-async`: answer 202 as soon as the events are durable",
    "schema": {"type": "string"},
}
EVENT_BODY: dict[str, Any] = {
    "required": True,
    "content": {
        "application/json": {
            "schema": {"anyOf": [reference("Event"), {"type": "array", "items": reference("Event")}]},
            "examples": {
                "one": {"summary": "In a while", "value": TEA},
                "recurring": {"summary": "On weekdays", "value": STANDUP},
                "many": {"summary": "Several at once", "value": [TEA, STANDUP]},
            },
        },
        NDJSON: {
            "schema": {"type": "string", "description": "One event, as a JSON object, a line"},
            "example": '{"id": "tea", "in": "5s"}\n{"id": "coffee", "in": "7s"}\n',
        },
    },
}
WHY_BODY: dict[str, Any] = {
    "required": False,
    "content": {"application/json": {"schema": reference("Why"), "example": {"reason": "maintenance"}}},
}
REPORT_BODY: dict[str, Any] = {
    "required": True,
    "content": {
        "application/json": {
            "schema": reference("Report"),
            "example": {
                "delivery": "0:default//tea/1/1794819600000#1",
                "token": "5f2d8e0c7b1a49d3a6c4e1f0b9d87c32",
                "status": "SUCCESS",
                "executor": "kettle-1",
            },
        }
    },
}
ACK_BODY: dict[str, Any] = {
    "required": True,
    "content": {
        "application/json": {"schema": reference("Ack"), "example": {"group": "demo", "cursor": "dgoGgAQ"}},
    },
}


def openapi(app: FastAPI) -> dict[str, Any]:
    """The whole document; made once."""
    if app.openapi_schema is None:
        document = get_openapi(
            title="lightsched",
            version=__version__,
            summary="Hand it an event: it is delivered once, on time.",
            description=_about(),
            routes=app.routes,
            tags=[
                {"name": "events", "description": "Schedule events, look at them, change your mind"},
                {"name": "deliveries", "description": "Receive what fired, and report on it"},
                {"name": "planning", "description": "What will fire, and when"},
                {"name": "operations", "description": "How the node is"},
            ],
        )
        _forget_framework(document)
        document["components"] = {"schemas": _schemas()}
        app.openapi_schema = document
    return app.openapi_schema


def _about() -> str:
    kinds = "\n".join(f"| `{type_of(kind)}` | {kind.status} | {kind.title} |" for kind in KINDS)
    return (
        "Times are RFC 3339, UTC, with milliseconds. Every refusal is an RFC 9457 problem:\n\n"
        f"| type | status | meaning |\n|---|---|---|\n{kinds}\n"
    )


def _forget_framework(document: dict[str, Any]) -> None:
    """FastAPI documents its own refusal of parameters; ours is a problem like any other, and is named already."""
    for path in document["paths"].values():
        for method, operation in path.items():
            if method in _OPERATIONS:
                operation["responses"].pop("422", None)


def _schemas() -> dict[str, Any]:
    shown = [
        shape
        for shape in vars(shapes).values()
        if isinstance(shape, type) and issubclass(shape, msgspec.Struct) and shape.__module__ == shapes.__name__
    ]
    _, components = msgspec.json.schema_components([Event, Report, ProblemDetails, *shown], ref_template=_REFERENCE)
    components["Event"]["examples"] = [TEA, STANDUP]
    components["EventShown"] = _event_shown(components["Event"])
    components["Events"] = {
        "title": "Events",
        "description": "A page of events; with a cursor there may be more, also when there are few here.",
        "type": "object",
        "properties": {
            "events": {"type": "array", "items": reference("EventShown")},
            "cursor": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        },
        "required": ["events", "cursor"],
    }
    return dict(components)


def _event_shown(event: dict[str, Any]) -> dict[str, Any]:
    """An event as it is shown: as it was sent, and what is known about it."""
    instant = {"type": "string", "format": "date-time"}
    maybe = {"anyOf": [instant, {"type": "null"}]}
    known: dict[str, Any] = {
        "id": {"type": "string"},
        "tenant": {"type": "string"},
        "key": {"type": "string"},
        "type": {"type": "string"},
        "status": {"enum": [status.value for status in Status]},
        "revision": {"type": "integer"},
        "created_at": instant,
        "last_executed": maybe,
        "next_execution": maybe,
        "next_executions": {"type": "array", "items": instant, "maxItems": 10},
        "schedule_text": {"type": "string"},
        "runs": {"type": "integer"},
        "failures": {"type": "integer"},
    }
    definition = {name: schema for name, schema in event["properties"].items() if name not in _NOT_SHOWN}
    return {
        "title": "EventShown",
        "description": "An event as it was sent, and what is known about it.",
        "type": "object",
        "properties": {**definition, **known},
        "required": list(known),
    }
