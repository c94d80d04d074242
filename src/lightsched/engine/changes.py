"""What did a replacement change? The names of the fields that the new definition has otherwise."""

from lightsched.event.model import Event

MOST_BYTES = 16_384
"""Definitions that are larger are not read for it: a step may replace a thousand."""
MOST_NAMED = 8
"""A state is small."""
_FIELDS = tuple(zip(Event.__struct_fields__, Event.__struct_encode_fields__, strict=True))


def changed(old: Event, new: Event) -> str:
    """In words, of two definitions as they are stored: without identity and command."""
    names = [shown for name, shown in _FIELDS if _value(old, name) != _value(new, name)]
    more = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _value(event: Event, name: str) -> object:
    value = getattr(event, name)
    return bytes(value) if name == "payload" and value else value
