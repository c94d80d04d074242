"""Which command does a service of systemd run? As `command.run` takes it, if that is all that the service asks for.

A service may set hundreds of things that a plain command does not have: sandboxes, resource limits, commands before and
after. Each is a reason to let systemd start it, which is what a timer's converter does unless it is told otherwise.
"""

import re
import shlex
from typing import Any

from lightsched_files.converters.unit_file import Setting

_HAS_EQUIVALENT = frozenset({"ExecStart", "Environment", "User"})
_PLAIN = {"Type": ("oneshot", "simple", "exec", "")}
_SAYS_NOTHING = frozenset({"SyslogIdentifier", "StandardOutput", "StandardError", "RemainAfterExit"})


def command_of(unit: str, service: list[Setting], accept: frozenset[str]) -> tuple[dict[str, Any], str]:
    """The payload, and the user it runs as. `ValueError` says why there is none."""
    found = [setting for setting in service if setting.section == "Service"]
    asked = [setting for setting in service if setting.name.startswith(("Condition", "Assert"))]
    missing = sorted(
        {
            setting.name
            for setting in found + asked
            if setting.value
            and setting.name not in _HAS_EQUIVALENT | _SAYS_NOTHING | accept
            and setting.value not in _PLAIN.get(setting.name, ())
        }
    )
    if missing:
        raise ValueError(
            f"{unit} sets what a plain command does not have: {', '.join(missing)}. Let systemd start it with "
            f"`run: unit`, or leave them out with `accept: [{', '.join(missing)}]`"
        )
    commands: list[str] = []
    environment: dict[str, str] = {}
    user = ""
    for setting in found:
        if setting.name == "ExecStart":
            commands = [*commands, setting.value] if setting.value else []
        elif setting.name == "Environment":
            pairs = (pair.partition("=") for pair in shlex.split(setting.value))
            environment = {**environment, **{name: value for name, _, value in pairs}} if setting.value else {}
        elif setting.name == "User":
            user = setting.value
    if len(commands) != 1:
        raise ValueError(f"{unit} has {len(commands)} commands, and `command.run` has one: use `run: unit`")
    payload: dict[str, Any] = {"argv": _argv(unit, commands[0])}
    if environment:
        payload["env"] = environment
    return payload, user


def _argv(unit: str, command: str) -> list[str]:
    if found := re.search(r"^[-@:+!|]|%[^%]|(?<!\$)\$[\w{]|\s;\s", command):
        raise ValueError(
            f"{unit} has {found[0].strip()!r} in its command, which systemd itself replaces or obeys: use `run: unit`"
        )
    try:
        return [word.replace("%%", "%").replace("$$", "$") for word in shlex.split(command)]
    except ValueError as error:
        raise ValueError(f"{unit}: its command cannot be taken apart: {error}") from None
