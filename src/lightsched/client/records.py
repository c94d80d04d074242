"""What does a record on a delivery topic say? The same as a delivery that comes over REST."""

from datetime import UTC, datetime, timedelta
from typing import Any

from lightsched.client.any_json import NOT_JSON, read_any
from lightsched.client.results import Delivery
from lightsched.event.delivery import number_in
from lightsched.odd_headers import without_null
from lightsched.timing import format_compact

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_OURS = ("ce_", "ls_")


def delivery_of(record: Any) -> Delivery:
    """From a consumer's record."""
    headers = {name: value.decode(errors="replace") for name, value in without_null(record.headers)}
    timeout_ms = number_in(headers, "ls_timeout")
    return Delivery(
        delivery=headers.get("ce_id", ""),
        topic=record.topic,
        partition=record.partition,
        offset=record.offset,
        key=(record.key or b"").decode(errors="replace"),
        tenant=headers.get("ls_tenant", ""),
        id=headers.get("ls_id", ""),
        type=headers.get("ce_type", ""),
        due=_instant(number_in(headers, "ls_due")),
        attempt=number_in(headers, "ls_attempt"),
        delivered_at=_instant(record.timestamp),
        headers={name: text for name, text in headers.items() if not name.startswith(_OURS)},
        token=headers.get("ls_report", ""),
        timeout=format_compact(timeout_ms) if timeout_ms else None,
        payload=_payload(headers.get("content-type", ""), record.value or b""),
    )


def _instant(ms: int) -> datetime:
    return _EPOCH + timedelta(milliseconds=ms)


def _payload(content_type: str, value: bytes) -> Any:
    """The JSON value, if it says that it is one; otherwise the bytes."""
    if not value:
        return None
    media_type = content_type.partition(";")[0].strip().lower()
    if media_type != "application/json" and not media_type.endswith("+json"):
        return value
    try:
        return read_any(value)
    except NOT_JSON:
        return value
