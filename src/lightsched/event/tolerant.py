"""How is read what a newer version has written? Without the fields that this one does not know.

Users are told of a field that is not known; nodes of different versions, while one is replaced by the other, are not to
quarrel over it.
"""

from typing import Any, TypeVar, get_args

import msgspec
from msgspec import structs

S = TypeVar("S", bound=msgspec.Struct)


def decode_known(struct: type[S], value: bytes) -> S:
    """JSON as a struct, or `msgspec.DecodeError`."""
    return msgspec.convert(_known(struct, msgspec.json.decode(value)), struct)


def _known(kind: Any, value: Any) -> Any:
    """`kind`: a struct, something or a struct, or what has no fields."""
    types = [each for each in (kind, *get_args(kind)) if isinstance(each, type)]
    struct = next((each for each in types if issubclass(each, msgspec.Struct)), None)
    if struct is None or not isinstance(value, dict):
        return value
    kinds = {field.encode_name: field.type for field in structs.fields(struct)}
    return {name: _known(kinds[name], each) for name, each in value.items() if name in kinds}
