"""What if inputs are gone before they were read? Retention has deleted them, or the topic ends before the position: it
was cut short (by an unclean election), or made anew.

Then the partition stops, unless it was told to go on without them (`kafka.on_lost_input`): people have to decide that.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from aiokafka import TopicPartition
from msgspec import structs

from lightsched.engine.step import Meta, Step
from lightsched.log.kafka.errors import InputEndsEarly, InputLost

Offsets = Mapping[TopicPartition, int]


@dataclass(frozen=True, slots=True)
class Lost:
    """Inputs of one topic that cannot be read."""

    place: TopicPartition
    next: int  # was to be read next
    first: int  # is the first that can be read
    end: int  # is after the last one

    @property
    def too_short(self) -> bool:
        """Does the topic end before `next`? Then what is in it was read already, unless it was made anew."""
        return self.end < self.next

    @property
    def following(self) -> int:
        """Where to go on: nothing is carried out again."""
        return self.end if self.too_short else self.first

    @property
    def count(self) -> int:
        """How many; one, where nobody knows."""
        return 1 if self.too_short else self.first - self.next

    def __str__(self) -> str:
        if self.too_short:
            bounds, how_many = f"ends at offset {self.end}", "nobody knows how many are lost"
        else:
            bounds, how_many = f"begins at offset {self.first}", f"{self.count} are lost"
        return (
            f"{self.place.topic} {bounds}, and {self.next} was to be read next: "
            f"it goes on at {self.following}, and {how_many}"
        )

    def error(self) -> InputLost:
        """What to raise where it is not accepted."""
        partition, topic = self.place.partition, self.place.topic
        if self.too_short:
            return InputEndsEarly(partition=partition, topic=topic, end=self.end, next=self.next)
        return InputLost(partition=partition, topic=topic, first=self.first, next=self.next)


def lost_inputs(positions: Offsets, firsts: Offsets, ends: Offsets) -> Iterator[Lost]:
    """What is between the positions and the topics, which go from `firsts` to `ends`."""
    for place, position in positions.items():
        if not firsts[place] <= position <= ends[place]:
            yield Lost(place, position, firsts[place], ends[place])


def without(lost: Sequence[Lost], events: str, meta: Meta, now_ms: int) -> Step:
    """The step that passes over them: it only moves the positions, so it happens once."""
    moved = {"events_offset" if each.place.topic == events else "reports_offset": each.following for each in lost}
    return Step(now_ms, structs.replace(meta, step=meta.step + 1, **moved))
