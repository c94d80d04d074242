"""How is a long answer written? In slices, like all long work: a thousand events take longer than one of them."""

from collections.abc import Mapping, Sequence

import msgspec
from fastapi import Response

from lightsched.api.turns import Turns

AT_ONCE = 100

_encode = msgspec.json.Encoder().encode


async def lengthy_answer(  # noqa: PLR0917 -- as `answer`
    turns: Turns,
    name: str,
    items: Sequence[object],
    status: int = 200,
    headers: dict[str, str] | None = None,
    more: Mapping[str, object] | None = None,
) -> Response:
    """An answer in JSON: a list under its name, and what else there is to say."""
    pieces = []
    for first in range(0, len(items), AT_ONCE):
        pieces.append(_encode(items[first : first + AT_ONCE])[1:-1])
        if turns.over():
            await turns.rest()
    rest = b"," + _encode(more)[1:] if more else b"}"
    return Response(b'{"%b":[%b]%b' % (name.encode(), b",".join(pieces), rest), status, headers, "application/json")
