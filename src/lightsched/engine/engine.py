"""What happens next in a partition? The one pure function of lightsched: (view, inputs, now) → step.

A step takes, in this order:

1. the inputs, in the order in which they were read: commands and reports;
2. leases that have run out, and what is to be forgotten;
3. runs that wait for a slot;
4. what is due.

Inputs come before the due scan, so a cancel wins if and only if it was read no later than the step that would fire its
event, and a report that came in time wins over its own timeout, also while it is yet to be read. Every part is bounded
in count and bytes; what is left over is there in the next step (`Step.more`).
"""

from collections.abc import Collection, Sequence

from lightsched.engine import commands, leases, reports, slots
from lightsched.engine.draft import Draft
from lightsched.engine.firing import fire_due
from lightsched.engine.rules import Rules
from lightsched.engine.step import Step
from lightsched.engine.view import View
from lightsched.event.command import Command, Refused, read_command
from lightsched.event.delivery import Emitter
from lightsched.event.errors import Problem
from lightsched.event.record import Appended

Place = tuple[str, int]
"""Topic and offset of an input."""
_POISON = "it makes lightsched fail: please report this as a bug"


class Engine:
    """The rules of one partition, ready to make steps."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self._emitter: tuple[bytes, Emitter] = (b"", Emitter(rules.partition, b""))

    def step(
        self,
        view: View,
        inputs: Sequence[Appended],
        now_ms: int,
        *,
        firing: bool = True,
        read_ms: int | None = None,
        heard_ms: int | None = None,
        poison: Collection[Place] = (),
    ) -> Step:
        """The next step. `read_ms`, `heard_ms`: until when all commands and all reports are read, if not until now.

        `firing` is off while time is not trusted, or inputs from before the take are yet to come. `poison`: inputs
        that made an earlier attempt fail; they are put aside unread.
        """
        draft = Draft(view, self.rules, self._emit_with(view.meta.secret), now_ms)
        self._take_inputs(draft, inputs, poison)
        if firing:
            draft.read_ms = now_ms if read_ms is None else read_ms
            draft.heard_ms = now_ms if heard_ms is None else heard_ms
            leases.run_out(draft)
            slots.release(draft)
            fire_due(draft)
        draft.meta.step += 1
        return draft.step

    def _take_inputs(self, draft: Draft, inputs: Sequence[Appended], poison: Collection[Place]) -> None:
        rules = self.rules
        limits, tenants, partitions = rules.limits, rules.tenants, rules.partitions
        reports_topic = limits.names.reports
        events_offset, reports_offset = draft.meta.events_offset, draft.meta.reports_offset
        read: list[Command | Refused | reports.Heard] = []
        for appended in inputs:
            is_report = appended.topic == reports_topic
            if is_report:
                reports_offset = appended.offset + 1
            else:
                events_offset = appended.offset + 1
            if poison and (appended.topic, appended.offset) in poison:
                read.append(Refused(appended, (Problem("", _POISON),), "POISON"))
            elif is_report:
                read.append(reports.read_report(appended, limits))
            else:
                read.append(read_command(appended, limits, tenants, partitions))
        draft.meta.events_offset, draft.meta.reports_offset = events_offset, reports_offset
        here = rules.partition
        heard = [item for item in read if isinstance(item, reports.Heard) and item.name.partition == here]
        draft.load([item.identity for item in read if isinstance(item, Command)])
        if heard:
            draft.load(item.name.identity for item in heard)
            reports.load_events(draft, heard)
        for item in read:
            if isinstance(item, Command):
                commands.apply(draft, item)
            elif isinstance(item, Refused):
                draft.refuse(item.appended, item.reason, "; ".join(map(str, item.problems)))
            else:
                reports.apply(draft, item)

    def _emit_with(self, secret: bytes) -> Emitter:
        if self._emitter[0] != secret:
            self._emitter = (secret, Emitter(self.rules.partition, secret))
        return self._emitter[1]
