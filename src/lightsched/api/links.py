"""Where does an answer lead? OpenAPI links: from what was scheduled to the calls about it, from a page to the next."""

from typing import Any

_OF_EVENT = ("get_event", "patch", "cancel", "pause", "resume", "trigger", "list_runs", "explain")
_PAGES = ("list_events", "list_all_runs", "list_tasks", "list_dead_letters", "upcoming")
_ID = {"id": "$response.body#/id"}
_TASK = {"task": "$response.body#/task_id", "user_id": "$request.body#/user_id"}
_LETTER = {"id": "$response.body#/dead_letters/0/id"}
_SEEN = {"group": "$request.query.group", "cursor": "$response.body#/cursor"}

_Link = tuple[str, int, str, dict[str, Any]]
LINKS: tuple[_Link, ...] = (
    *(("schedule", 201, call, {"parameters": _ID}) for call in _OF_EVENT),
    *(("get_event", 200, call, {"parameters": _ID}) for call in _OF_EVENT[1:]),
    ("list_events", 200, "get_event", {"parameters": {"id": "$response.body#/events/0/id"}}),
    *(("schedule_task", 201, call, {"parameters": _TASK}) for call in ("get_task", "cancel_task")),
    ("poll", 200, "acknowledge", {"parameters": {"topic": "$request.path.topic"}, "requestBody": _SEEN}),
    *(("list_dead_letters", 200, call, {"parameters": _LETTER}) for call in ("get_dead_letter", "redrive")),
    ("put_tenant", 200, "get_tenant", {"parameters": {"name": "$response.body#/name"}}),
    *((call, 200, call, {"parameters": {"cursor": "$response.body#/cursor"}}) for call in _PAGES),
)
"""Call, status, the call it leads to, and what that takes from here."""


def add_links(document: dict[str, Any]) -> None:
    """Put them into the document."""
    calls = {operation["operationId"]: operation for path in document["paths"].values() for operation in path.values()}
    for call, status, to, takes in LINKS:
        links = calls[call]["responses"][str(status)].setdefault("links", {})
        links[to if to != call else "next"] = {"operationId": to, **takes}
