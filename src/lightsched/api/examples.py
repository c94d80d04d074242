"""What does each look like, for example? Answers and what is sent, for the OpenAPI and AsyncAPI documents."""

from typing import Any

from lightsched.api.problem import ProblemDetails
from lightsched.api.problem_examples import problem_of

_AT = "2026-11-16T09:00:00.000Z"
_LATER = "2026-11-17T08:30:00.000Z"
_DELIVERED = {"delivered_at": _AT, "status": "SUCCESS", "attempt": 1}

TEA: dict[str, Any] = {"id": "tea", "in": "5s", "type": "reminder", "payload": {"text": "Your tea is ready"}}
STANDUP: dict[str, Any] = {
    "id": "standup",
    "cron": "30 9 * * mon-fri",
    "timezone": "Europe/Paris",
    "payload": "Time to stand up",
}
REPORT: dict[str, Any] = {
    "delivery": "0:default//tea/1/1794819600000#1",
    "token": "5f2d8e0c7b1a49d3a6c4e1f0b9d87c32",
    "status": "SUCCESS",
    "executor": "kettle-1",
}

_RESULT = {
    "id": "tea",
    "tenant": "default",
    "outcome": "SCHEDULED",
    "status": "NOT_STARTED",
    "next_execution": _AT,
}
_REFUSED = {"index": 1, "outcome": "INVALID", "error": "in: is negative: give a duration from now on"}
_TAKEN = {"id": "tea", "tenant": "default"}
_SHOWN = {
    **STANDUP,
    "tenant": "default",
    "key": "standup",
    "type": "event",
    "status": "NOT_STARTED",
    "revision": 1,
    "created_at": _AT,
    "last_executed": None,
    "next_execution": _LATER,
    "next_executions": [_LATER],
    "schedule_text": "at 09:30 on weekdays, Europe/Paris",
    "runs": 0,
    "failures": 0,
}
_RUN = {
    "due": _AT,
    "revision": 1,
    **_DELIVERED,
    "finished_at": _AT,
    "attempts": [{**_DELIVERED, "executor": "kettle-1", "error": ""}],
    "result": {"cups": 2},
    "error": "",
}
_NAMED = {"id": "tea", "tenant": "default", "key": "tea", "type": "reminder"}
_FIRED = {**_NAMED, "delivery": "0:default//tea/1/1794819600000#1", "topic": "lightsched.deliveries", "due": _AT}
_TASK = {"task_id": "01a1e5998874774b8148b99304191c11", "task_status": "NOT_STARTED"}
_TIMES = {"last_executed": None, "next_execution": _AT}
_LETTER = {
    "id": "0-17",
    "at": _AT,
    "reason": "INVALID",
    "detail": "cron: has 4 fields",
    "topic": "lightsched.events",
    "partition": 0,
    "offset": 4711,
    "key": "tea",
    "headers": {},
    "value": {"cron": "* * * *"},
}
TENANT_RULES: dict[str, Any] = {
    "topics": ["acme.work"],
    "limits": {"in_flight": 100},
    "weight": 2,
    "window": {"from": "09:00", "to": "17:00", "timezone": "Europe/Paris"},
    "defaults": {"retry": {"attempts": 3}},
}
_TENANT = {"name": "acme", "rule": "key", **TENANT_RULES}
_LOAD = {"pending": 12, "lag": 0, "in_flight": 1, "fired_per_s": 3.5, "cpu": 0.04, "seconds": 2.0}
_NODE = {
    "id": "node-1",
    "url": "http://10.0.0.1:8080",
    "version": "0.1.0",
    "partitions": [0, 1, 2],
    "roles": ["scheduler", "api"],
    "load": _LOAD,
}
NODE: dict[str, Any] = {**_NODE, "started_ms": 1_794_819_600_000, "heard_ms": 0}
"""As it says so on the topic `nodes`."""

SHAPES: dict[str, Any] = {
    "Result": _RESULT,
    "Results": {"results": [_RESULT, _REFUSED]},
    "Taken": _TAKEN,
    "AllTaken": {"results": [_TAKEN]},
    "EventShown": _SHOWN,
    "Events": {"events": [_SHOWN], "cursor": None},
    "Counts": {"matched": 3, "outcomes": {"PAUSED": 2, "TOO_LATE": 1}, "unknown": 0, "dry_run": False, "cursor": None},
    "Runs": {"runs": [_RUN], "cursor": None},
    "EventRuns": {"runs": [{**_RUN, **_NAMED}], "cursor": None},
    "Explanation": {
        "id": "tea",
        "tenant": "default",
        "key": "tea",
        "status": "SUCCESS",
        "reasons": [
            {"at": _AT, "text": f"The run due {_AT} was delivered."},
            {"at": None, "text": "It is over: SUCCESS."},
        ],
    },
    "TaskId": {"task_id": _TASK["task_id"]},
    "Task": {**_TASK, **_TIMES},
    "Tasks": {"tasks": [{**_TASK, **_TIMES}], "cursor": None},
    "TaskCancelled": {**_TASK, "task_status": "CANCELLED", "outcome": "CANCELLED"},
    "Deliveries": {
        "deliveries": [
            {
                **_FIRED,
                "partition": 0,
                "offset": 42,
                "attempt": 1,
                "delivered_at": _AT,
                "headers": {},
                "payload": {"text": "Your tea is ready"},
                "token": REPORT["token"],
                "timeout": "5m",
            }
        ],
        "cursor": "dgoGgAQ",
    },
    "ReportAnswers": {
        "results": [
            {"delivery": "0:default//tea/1/1794819600000#1"},
            {
                "delivery": "0:default//coffee/1/1794819600000#1",
                "status": 409,
                "reason": "finished",
                "error": "The report changed nothing: the run is over.",
            },
        ]
    },
    "Recent": {
        "deliveries": [{**_FIRED, "attempt": 1, "delivered_at": _AT, "late_ms": 3, "bytes": 28, "status": "SUCCESS"}],
        "total": 1,
    },
    "Upcoming": {
        "events": [{**_NAMED, "status": "NOT_STARTED", "due": _AT, "schedule_text": "once"}],
        "cursor": None,
    },
    "Preview": {
        "text": "at 09:30 on weekdays, Europe/Paris",
        "times": [{"utc": _LATER, "local": "2026-11-17T09:30:00+01:00", "note": ""}],
    },
    "Minutes": {"minutes": [{"minute": _AT, "pending": 2, "tenants": {"default": 2}}]},
    "TenantShown": _TENANT,
    "Tenants": {"tenants": [_TENANT]},
    "DeadLetterShown": _LETTER,
    "DeadLetters": {"dead_letters": [_LETTER], "cursor": None},
    "Redriven": {"id": "0-17", "topics": ["lightsched.events"], "outcome": "SCHEDULED", "error": ""},
    "Nodes": {"nodes": [{**_NODE, "log": "kafka", "started_at": _AT, "heartbeat": _AT, "unhandled": []}]},
    "Partitions": {
        "partitions": [
            {
                "partition": 0,
                "owner": "node-1",
                "standbys": [],
                "pending": 12,
                "next_due": _AT,
                "lag": 0,
                "steps": 345,
                "clock_trusted": True,
                "totals": {"accepted": 20, "fired": 8, "cancelled": 0, "expired": 0, "dead": 0, "pending": 12},
            }
        ]
    },
    "Health": {"status": "ok", "version": "0.1.0"},
}
"""By the name of the shape."""

METRICS = """\
# HELP lightsched_deliveries_total Deliveries emitted
# TYPE lightsched_deliveries_total counter
lightsched_deliveries_total{tenant="default",topic="lightsched.deliveries"} 8.0
"""

_FORWARDED = {"outcome": "FORWARDED", "status": None, "next_execution": None}
_OUTCOMES: dict[str, dict[str, Any]] = {
    "patch": {"outcome": "REPLACED"},
    "cancel": {"outcome": "CANCELLED", "status": "CANCELLED", "next_execution": None},
    "pause": {"outcome": "PAUSED", "status": "PAUSED", "next_execution": None},
    "resume": {"outcome": "RESUMED"},
    "trigger": {"outcome": "TRIGGERED"},
}
"""By call: what came of it, where it is not `SCHEDULED`."""


def answered(call: str, status: int, shape: str) -> Any:
    """What a call may answer, in a shape, with a status."""
    if shape == ProblemDetails.__name__:
        return problem_of(call, status)
    example = SHAPES[shape]
    if shape == "Result":
        unchanged = {"outcome": "UNCHANGED"} if (call, status) == ("schedule", 200) else {}
        return example | (_FORWARDED if status == 202 else _OUTCOMES.get(call, unchanged))
    if shape == "Results" and status != 207:
        return {"results": [_RESULT | (_FORWARDED if status == 202 else {})]}
    if shape == "TaskCancelled" and status == 202:
        return example | {"task_status": None, "outcome": "FORWARDED"}
    return example
