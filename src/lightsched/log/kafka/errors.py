"""What can be wrong with Kafka?"""

from lightsched.errors import LightschedError


class TopicsWrong(LightschedError):
    """The topics are not as lightsched needs them: {problems}."""


class TopicsMissing(LightschedError):
    """There are no topics {topics}: create them with `lightsched topics create`, or set kafka.create_topics."""


class ChangelogMissing(LightschedError):
    """The changelog of partition {partition} is empty, but its group has already read {offset} inputs: its
    state is lost. Bring the topic {topic} back; to begin again without it, set kafka.on_lost_input to `continue`.
    """


class InputLost(LightschedError):
    """Inputs of partition {partition} are gone: {topic} begins at offset {first}, and {next} was to be read next. Give
    the topic a longer retention; to go on without them, set kafka.on_lost_input to `continue`.
    """


class InputEndsEarly(InputLost):
    """Inputs of partition {partition} are gone: {topic} ends at offset {end}, and {next} was to be read next. It was
    cut short, or made anew. Bring it back; to go on at its end, set kafka.on_lost_input to `continue`.
    """


class ChangelogCut(LightschedError):
    """The changelog of partition {partition} ends at {end} now, and {noted} was its end when it was taken: it was cut
    short. It is taken again.
    """


class NothingFetched(LightschedError):
    """A consumer has ceased to fetch: {why!r}."""


class NotMine(LightschedError):
    """Partition {partition} went to another node while it was being taken."""


class OutcomeUnknown(LightschedError):
    """It is not known whether the last step of partition {partition} was committed: {why}."""


class StoreBroken(LightschedError):
    """The store of partition {partition} could not be written after a commit: {why}. It is repaired when it is taken
    again.
    """


class NoMember(LightschedError):
    """This node cannot be a member of the group {group}: {why}."""


class Unreachable(LightschedError):
    """Kafka cannot be reached at {bootstrap}: {why}."""
