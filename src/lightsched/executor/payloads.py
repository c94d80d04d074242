"""How does a function want its payload? As its annotation says; what does not fit is told with the field."""

from collections.abc import Callable
from typing import Any

import msgspec

from lightsched.client.any_json import NOT_JSON, read_any
from lightsched.executor.outcomes import Fatal
from lightsched.executor.taken import Taken

Read = Callable[[Taken], Any]
_text = msgspec.json.Decoder(str)


def reader_of(annotation: Any) -> Read:
    """Reads payloads as an annotation wants them: a Struct, dataclass, TypedDict, pydantic model, `dict[str, int]`, …

    `bytes`: as they came. `str`: a JSON string, or the text where it is not JSON. Nothing, `Any`, `object`: the JSON
    value, or bytes where it says that it is none.
    """
    if annotation is bytes:
        return _as_bytes
    if annotation is str:
        return _as_text
    if annotation in (Any, object):
        return _as_anything
    if hasattr(annotation, "model_validate_json"):
        return _pydantic(annotation)
    return _typed(msgspec.json.Decoder(annotation))


def _as_bytes(taken: Taken) -> bytes:
    return taken.value


def _as_text(taken: Taken) -> str:
    try:
        return _text.decode(taken.value) if is_json(taken) else taken.value.decode()
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _unfit(error) from None


def _as_anything(taken: Taken) -> Any:
    if not taken.value:
        return None
    if not is_json(taken):
        return taken.value
    try:
        return read_any(taken.value)
    except NOT_JSON:
        return taken.value


def _typed(decoder: msgspec.json.Decoder[Any]) -> Read:
    decode = decoder.decode

    def read(taken: Taken) -> Any:
        try:
            return decode(taken.value or b"null")
        except NOT_JSON as error:
            raise _unfit(error) from None

    return read


def _pydantic(model: Any) -> Read:
    def read(taken: Taken) -> Any:
        try:
            return model.model_validate_json(taken.value or b"null")
        except ValueError as error:
            found = error.errors() if hasattr(error, "errors") else []
            said = "; ".join(f"{each['msg']} - at `{'.'.join(['$', *map(str, each['loc'])])}`" for each in found)
            raise _unfit(said or error) from None

    return read


def is_json(taken: Taken) -> bool:
    """Does the delivery say that its payload is JSON?"""
    content_type = taken.headers.get("content-type", b"")
    if content_type == b"application/json":
        return True
    media_type = content_type.partition(b";")[0].strip().lower()
    return media_type == b"application/json" or media_type.endswith(b"+json")


def _unfit(why: object) -> Fatal:
    return Fatal(f"the payload is not what this executor expects: {why}")
