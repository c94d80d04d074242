"""Short ways to read a record as the events topic would."""

import msgspec

from lightsched.event.command import Command, Refused, read_command
from lightsched.event.limits import DEFAULT_LIMITS, Limits
from lightsched.event.record import Appended, Record

NOW = 1772445600000  # 2026-03-02T10:00:00Z


def read(
    event, *, key=None, headers=(), limits: Limits = DEFAULT_LIMITS, tenants=None, partitions=1
) -> Command | Refused:
    """Read one record, appended now at offset 7 of partition 3. An event is given as bytes or as what is to be JSON."""
    value = event if isinstance(event, bytes | None) else msgspec.json.encode(event)
    appended = Appended("lightsched.events", 3, 7, NOW, Record(key, value, headers))
    return read_command(appended, limits, tenants or {}, partitions)


def problems(event, **more) -> dict[str, str]:
    """What is wrong with it: message by field. Fails if nothing is."""
    refused = read(event, **more)
    assert isinstance(refused, Refused), f"this was accepted: {event}"
    return {problem.field: problem.message for problem in refused.problems}


def accepted(event, **more) -> Command:
    """The command. Fails if it is refused."""
    command = read(event, **more)
    assert isinstance(command, Command), f"refused: {'; '.join(map(str, command.problems))}"
    return command
