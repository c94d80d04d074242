"""What can be wrong with a log?"""

from lightsched.errors import LightschedError


class PartitionsChanged(LightschedError):
    """The directory {path} was made with {found} partitions and cannot be opened with {wanted}: set
    embedded.partitions to {found}, or start with an empty directory.
    """


class PrefixChanged(LightschedError):
    """The topics in the directory {path} begin with {found!r}, not with {wanted!r}: set embedded.prefix to {found!r},
    or start with an empty directory.
    """


class PartitionTaken(LightschedError):
    """Partition {partition} is already taken in this process: close it before taking it again."""


class PartitionBroken(LightschedError):
    """Partition {partition} was given up, or a step of it could not be written: close it and take it again."""


class NoSuchPartition(LightschedError):
    """There is no partition {partition} of {topic}: it has {partitions}, counted from 0."""


class TooManyTopics(LightschedError):
    """The topic {topic} cannot be made: the embedded log holds at most {most}. Deliver to fewer, or use Kafka."""


class LogLost(LightschedError):
    """The log in {path} has stopped: {why}. What was acknowledged is safe; free the disk or repair it, then restart."""


class LogClosed(LightschedError):
    """The log is closed."""


class StepRefused(LightschedError):
    """The step cannot be committed as it is ({why}): nothing of it was, and it has to be made again."""


class Fenced(LightschedError):
    """Another process has taken partition {partition}: {why}."""


class NotAppended(LightschedError):
    """The records could not be appended to {topic}: {why}. They may be there all the same: ask before you repeat."""


class TooLargeToAppend(LightschedError):
    """The records have {bytes} bytes, more than {topic} takes in one piece: send fewer at once, or smaller ones."""


class NotRead(LightschedError):
    """{topic} could not be read: {why}. Try again in a moment."""
