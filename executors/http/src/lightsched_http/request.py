"""What is sent? A request as the payload of `http.request` asks for it, or as the settings have it for a type."""

import re
from base64 import b64decode
from binascii import Error
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

from lightsched.errors import LightschedError
from lightsched_http.address import Url, parse

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
MOST_HEADERS = 64

# They belong to the connection or say where a message ends, so they are not for whoever writes a payload to set; with
# `host` one would be let in by one name and served by another.
REFUSED = frozenset({
    *("connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer"),
    *("transfer-encoding", "upgrade", "http2-settings", "expect", "content-length", "host", "accept-encoding"),
    *("webhook-id", "webhook-timestamp", "webhook-signature"),
})  # fmt: skip

_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_VALUE = re.compile(r"(?:[!-~](?:[ \t!-~]*[!-~])?)?")


class BadRequest(LightschedError):
    """The request makes no sense: {why}."""


class Asked(msgspec.Struct, forbid_unknown_fields=True):
    """The payload of `http.request`."""

    url: str
    method: str | None = None
    headers: dict[str, str] = {}
    body: Any = UNSET
    body_base64: str | UnsetType = UNSET


class Request(NamedTuple):
    """What goes out, but for the signature."""

    url: Url
    method: str
    headers: dict[str, str]
    body: bytes


def requested(asked: Asked) -> Request:
    """The request that a payload asks for. Raises `BadUrl` and `BadRequest`."""
    body, content_type = _body(asked)
    has_body = bool(body) or asked.body is not UNSET or asked.body_base64 is not UNSET
    method = asked.method or ("POST" if has_body else "GET")
    return request(asked.url, method, asked.headers, body, content_type)


def request(url: str, method: str, headers: Mapping[str, str], body: bytes, content_type: str) -> Request:
    """A request, checked. Raises `BadUrl` and `BadRequest`."""
    if method.upper() not in METHODS:
        raise BadRequest(why=f"{method!r} is none of {', '.join(METHODS)}")
    if len(headers) > MOST_HEADERS:
        raise BadRequest(why=f"{len(headers)} headers are too many, the limit is {MOST_HEADERS}")
    checked = dict(map(_header, headers.keys(), headers.values()))
    if content_type:
        checked.setdefault("content-type", content_type)
    return Request(parse(url), method.upper(), checked, body)


def _header(name: str, value: str) -> tuple[str, str]:
    if not _NAME.fullmatch(name):
        raise BadRequest(why=f"{name[:100]!r} is no name of a header")
    if name.lower() in REFUSED:
        raise BadRequest(why=f"the header {name!r} is not for a request to set")
    if not _VALUE.fullmatch(value):
        raise BadRequest(why=f"the value of the header {name!r} has other characters than printable ASCII in one line")
    return name.lower(), value


def _body(asked: Asked) -> tuple[bytes, str]:
    """The bytes, and what they are unless a header says so."""
    if asked.body_base64 is not UNSET:
        if asked.body is not UNSET:
            raise BadRequest(why="it has both `body` and `body_base64`")
        try:
            return b64decode(asked.body_base64, validate=True), "application/octet-stream"
        except (Error, ValueError):
            raise BadRequest(why="`body_base64` is not base64") from None
    if asked.body is UNSET:
        return b"", ""
    if isinstance(asked.body, str):
        return asked.body.encode(), "text/plain; charset=utf-8"
    return msgspec.json.encode(asked.body), "application/json"
