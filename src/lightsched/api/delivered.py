"""How is a delivery shown? What its record holds in headers and value, as JSON."""

from base64 import b64encode
from typing import Any

import msgspec
from msgspec import UNSET, Raw, UnsetType

from lightsched.api.shapes import DeliveryShown, Fired
from lightsched.event.delivery import number_in
from lightsched.event.record import Appended
from lightsched.timing import format_compact, format_utc

_OURS = ("ce_", "ls_")
_raw = msgspec.json.Decoder(Raw)


def show_delivery(appended: Appended) -> DeliveryShown:
    """For an executor: everything."""
    headers = _headers(appended)
    value, timeout_ms = appended.record.value or b"", number_in(headers, "ls_timeout")
    payload: Raw | UnsetType | None = as_json(headers.get("content-type", ""), value)
    return DeliveryShown(
        **_named(appended, headers),
        partition=appended.partition,
        offset=appended.offset,
        headers={name: text for name, text in headers.items() if not name.startswith(_OURS)},
        payload=payload,
        payload_base64=b64encode(value).decode() if payload is UNSET else UNSET,
        token=headers.get("ls_report", ""),
        timeout=format_compact(timeout_ms) if timeout_ms else None,
    )


def show_fired(appended: Appended) -> Fired:
    """For a person: in short."""
    headers = _headers(appended)
    return Fired(
        **_named(appended, headers),
        late_ms=max(appended.timestamp_ms - number_in(headers, "ls_due"), 0),
        bytes=len(appended.record.value or b""),
    )


def _headers(appended: Appended) -> dict[str, str]:
    return {name: value.decode(errors="replace") for name, value in appended.record.headers}


def _named(appended: Appended, headers: dict[str, str]) -> dict[str, Any]:
    return {
        "delivery": headers.get("ce_id", ""),
        "topic": appended.topic,
        "key": (appended.record.key or b"").decode(errors="replace"),
        "tenant": headers.get("ls_tenant", ""),
        "id": headers.get("ls_id", ""),
        "type": headers.get("ce_type", ""),
        "due": format_utc(number_in(headers, "ls_due")),
        "attempt": number_in(headers, "ls_attempt"),
        "delivered_at": format_utc(appended.timestamp_ms),
    }


def as_json(content_type: str, value: bytes) -> Raw | UnsetType | None:
    """The payload byte for byte, if it is JSON and says so; UNSET: it has to be shown in base64."""
    if not value:
        return None
    media_type = content_type.partition(";")[0].strip().lower()
    if media_type != "application/json" and not media_type.endswith("+json"):
        return UNSET
    try:
        value.decode()
        return _raw.decode(value)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return UNSET
