"""What is wrong with a time, a duration, a zone, a cron or a window that somebody sent?"""

from lightsched.errors import LightschedError


class TimingError(LightschedError):
    """{message}"""

    def __init__(self, message: str) -> None:
        super().__init__(message=message)


def shown(value: object) -> str:
    """What was sent, quoted and short enough to stand in a message."""
    text = value if isinstance(value, str) else repr(value)
    return f"'{text[:60]}…'" if len(text) > 60 else f"'{text}'"
