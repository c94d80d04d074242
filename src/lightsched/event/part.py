"""Which part of a window or a retry is wrong? The one that is refused by itself, in the same words as the whole."""

from msgspec import structs

from lightsched.event.model import RetrySpec, WindowSpec
from lightsched.event.schedule import backoff_of, window_of
from lightsched.timing import TimingError

_OPEN = WindowSpec(days=("mon",))
_TWICE = RetrySpec(attempts=2)
"""What makes sense, and goes on doing so with one more part that does."""


def wrong_in_window(spec: WindowSpec, error: TimingError) -> str:
    """`window.from`, or `window` where its parts do not go together."""
    for field in structs.fields(WindowSpec):
        value = getattr(spec, field.name)
        if value != field.default:
            try:
                window_of(structs.replace(_OPEN, **{field.name: value}), None)
            except TimingError as alone:
                if str(alone) == str(error):
                    return f"window.{field.encode_name}"
    return "window"


def wrong_in_retry(spec: RetrySpec, error: TimingError) -> str:
    """`retry.delay`, or `retry` where its parts do not go together."""
    for field in structs.fields(RetrySpec):
        value = getattr(spec, field.name)
        if value is not None:
            try:
                backoff_of(structs.replace(RetrySpec() if field.name == "delays" else _TWICE, **{field.name: value}))
            except TimingError as alone:
                if str(alone) == str(error):
                    return f"retry.{field.encode_name}"
    return "retry"
