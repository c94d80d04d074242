"""What is a program made of that turns something else into events? Reading, converting, checking, placing.

    for line in reading("csv")(stream):             # or converting(converter_named("crontab"), source)
        stamp.check(line.body)                      # InvalidEvent, with every problem
        event = stamp.prepare(line.body, place)     # with an id from the content: sent again, it schedules once
    client.send([event, …], once="…")               # or to the events topic, on its key's own partition

`injectors/files` is made of it, and of nothing else of lightsched besides the client.
"""

from lightsched.client.checking import problems_of
from lightsched.client.converting import (
    Converted,
    Converter,
    EventLine,
    Problem,
    Source,
    converter_named,
    converter_names,
)
from lightsched.client.fields import Prepared
from lightsched.client.files import MOST_BYTES, SUFFIXES, Line, Read, converting, reading
from lightsched.client.stamping import Stamp, mark_of, short
from lightsched.event.check import TENANT
from lightsched.event.command import WHO
from lightsched.event.errors import InvalidEvent
from lightsched.event.limits import DEFAULT_LIMITS, Limits
from lightsched.event.murmur2 import murmur2, partition_of
from lightsched.event.topics import Topics

__all__ = [
    "DEFAULT_LIMITS",
    "MOST_BYTES",
    "SUFFIXES",
    "TENANT",
    "WHO",
    "Converted",
    "Converter",
    "EventLine",
    "InvalidEvent",
    "Limits",
    "Line",
    "Prepared",
    "Problem",
    "Read",
    "Source",
    "Stamp",
    "Topics",
    "converter_named",
    "converter_names",
    "converting",
    "mark_of",
    "murmur2",
    "partition_of",
    "problems_of",
    "reading",
    "short",
]
