"""What does the OpenAPI document say? What is written here beside the endpoints, with the schemas of the one model.

Schemas come from msgspec: events and reports as they are decoded, answers as they are encoded. Every status that an
endpoint can answer is named, each refusal with the same shape.
"""

from typing import Any

import msgspec
from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from lightsched import __version__
from lightsched.api import shapes
from lightsched.api.body import NDJSON
from lightsched.api.examples import REPORT, SHAPES, STANDUP, TEA, answered
from lightsched.api.links import add_links
from lightsched.api.problem import KINDS, MEDIA_TYPE, ProblemDetails, type_of
from lightsched.event.model import Event
from lightsched.event.report import Report
from lightsched.event.status import Status

_REFERENCE = "#/components/schemas/{name}"
_SENT = "#/components/schemas/{model}"
_NOT_SHOWN = ("op", "id", "tenant", "key", "type", "in", "on_conflict", "if_revision", "reason")
_OPERATIONS = {"get", "post", "put", "patch", "delete"}
_WORDS = {
    400: "The request does not make sense: `errors` says which fields, and what to do",
    403: "Not allowed: a wrong token, a topic that is not for reading, or a page of another origin",
    404: "There is no such event",
    409: "Not now, or not this one: `detail`, `outcome`, `keys` or `reason` say why",
    412: "It has another revision than `If-Match` says: look at it again",
    413: "Too large, or too many at once",
    422: "The `Idempotency-Key` was used for another request",
    429: "Too many of them: wait, then try again",
    503: "The node is starting or stopping: try again in a moment",
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
    schema = reference(ProblemDetails.__name__)
    return {status: {"description": _WORDS[status], "content": {MEDIA_TYPE: {"schema": schema}}} for status in statuses}


_bodies: list[type[BaseModel]] = []


def body_of(model: type[BaseModel], example: Any) -> dict[str, Any]:
    """What is sent, in JSON."""
    _bodies.append(model)
    content = {"application/json": {"schema": reference(model.__name__), "example": example}}
    return {"requestBody": {"required": True, "content": content}}


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
    "example": "respond-async",
}
ATOMIC: dict[str, Any] = {
    "name": "atomic",
    "in": "query",
    "required": False,
    "description": "Of many: append all of them in one write, or none",
    "schema": {"type": "boolean"},
    "example": False,
}
IDEMPOTENCY_KEY: dict[str, Any] = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "The same request with the same key is carried out once and answered again, while its events are "
    "remembered; another body with the same key is refused",
    "schema": {"type": "string", "maxLength": 255},
    "example": "order-42-reminder",
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
PATCH_BODY: dict[str, Any] = {
    "required": True,
    "content": {
        media_type: {
            "schema": {"type": "object", "description": "Fields of the event; `null` removes one"},
            "example": {"cron": "0 10 * * mon-fri", "payload": {"text": "An hour later"}, "labels": None},
        }
        for media_type in ("application/merge-patch+json", "application/json")
    },
}
TASK_BODY: dict[str, Any] = {
    "required": True,
    "content": {
        "application/json": {
            "schema": reference("NewTask"),
            "examples": {
                "once": {
                    "summary": "In a while",
                    "value": {"user_id": "acme", "task_blob": {"text": "hi"}, "schedule": "5m", "is_recurring": False},
                },
                "recurring": {
                    "summary": "On weekdays",
                    "value": {
                        "user_id": "acme",
                        "task_blob": {"text": "hi"},
                        "schedule": "30 9 * * mon-fri",
                        "is_recurring": True,
                    },
                },
            },
        }
    },
}
TENANT_BODY: dict[str, Any] = {
    "required": True,
    "content": {
        "application/json": {
            "schema": reference("NewTenant"),
            "example": {
                "topics": ["acme.work"],
                "weight": 2,
                "limits": {"in_flight": 100},
                "window": {"from": "09:00", "to": "17:00", "timezone": "Europe/Paris"},
                "defaults": {"retry": {"attempts": 3}, "labels": {"owner": "acme"}},
            },
        }
    },
}
REPORT_BODY: dict[str, Any] = {
    "required": True,
    "content": {
        "application/json": {
            "schema": reference("Report"),
            "example": REPORT,
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
            servers=app.servers or None,
            tags=[
                {"name": "events", "description": "Schedule events, look at them, change your mind"},
                {"name": "tasks", "description": "The same events, as tasks of users"},
                {"name": "deliveries", "description": "Receive what fired, and report on it"},
                {"name": "planning", "description": "What will fire, and when"},
                {"name": "operations", "description": "How the node is"},
            ],
        )
        _forget_framework(document)
        add_links(document)
        _add_examples(document)
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
                refused = operation["responses"].get("422", {})
                if "HTTPValidationError" in str(refused):
                    del operation["responses"]["422"]


def _add_examples(document: dict[str, Any]) -> None:
    """Show an example of every answer, where none is shown yet."""
    for path in document["paths"].values():
        for operation in path.values():
            for status, response in operation["responses"].items():
                for content in response.get("content", {}).values():
                    if not content.keys() & {"example", "examples"}:
                        content.update(_examples(operation["operationId"], int(status), content["schema"]))


def _examples(call: str, status: int, schema: dict[str, Any]) -> dict[str, Any]:
    names = [each["$ref"].rpartition("/")[2] for each in schema.get("anyOf", [schema])]
    made = {name: answered(call, status, name) for name in names}
    if len(made) == 1:
        return {"example": made[names[0]]}
    return {"examples": {name: {"value": example} for name, example in made.items()}}


def _schemas() -> dict[str, Any]:
    shown = [
        shape
        for shape in vars(shapes).values()
        if isinstance(shape, type) and issubclass(shape, msgspec.Struct) and shape.__module__ == shapes.__name__
    ]
    _, components = msgspec.json.schema_components([Event, Report, ProblemDetails, *shown], ref_template=_REFERENCE)
    _, sent = models_json_schema([(model, "validation") for model in _bodies], ref_template=_SENT)
    components |= sent["$defs"]
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
    components[ProblemDetails.__name__]["examples"] = [answered("schedule", 400, ProblemDetails.__name__)]
    for name, example in SHAPES.items():
        components[name]["examples"] = [example]
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
