"""What can be typed? `lightsched COMMAND`; each command's own file says what it does."""

from lightsched.cli.main import main

__all__ = ["main"]
