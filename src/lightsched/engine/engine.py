"""What happens next in a partition? The one pure function of lightsched: (view, inputs, now) → step.

A step takes, in this order:

1. the inputs, in the order in which they were read: commands and reports;
2. leases that have run out, and what is to be forgotten;
3. runs that wait for a slot;
4. what is due.

Inputs come before the due scan, so a cancel wins if and only if it was read no later than the step that would fire its
event, and a report that is already there wins over its own timeout. Every part is bounded in count and bytes; what is
left over is there in the next step (`Step.more`).
"""

from collections.abc import Sequence

from lightsched.engine import commands, leases, reports, slots
from lightsched.engine.draft import Draft
from lightsched.engine.firing import fire_due
from lightsched.engine.rules import Rules
from lightsched.engine.step import Step
from lightsched.engine.view import View
from lightsched.event.command import Command, Refused, read_command
from lightsched.event.delivery import Emitter
from lightsched.event.record import Appended


class Engine:
    """The rules of one partition, ready to make steps."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self._emitter: tuple[bytes, Emitter] = (b"", Emitter(rules.partition, b""))

    def step(self, view: View, inputs: Sequence[Appended], now_ms: int, *, firing: bool = True) -> Step:
        """The next step. `firing` is off while time is not trusted, or inputs from before the take are yet to come."""
        draft = Draft(view, self.rules, self._emit_with(view.meta.secret), now_ms)
        self._take_inputs(draft, inputs)
        if firing:
            leases.run_out(draft)
            slots.release(draft)
            fire_due(draft)
        draft.meta.step += 1
        return draft.step

    def _take_inputs(self, draft: Draft, inputs: Sequence[Appended]) -> None:
        rules = self.rules
        reports_topic = rules.limits.names.reports
        read: list[Command | Refused | Appended] = [
            appended
            if appended.topic == reports_topic
            else read_command(appended, rules.limits, rules.tenants, rules.partitions)
            for appended in inputs
        ]
        draft.load(command.identity for command in read if isinstance(command, Command))
        for item in read:
            if isinstance(item, Command):
                commands.apply(draft, item)
                draft.meta.events_offset = item.offset + 1
            elif isinstance(item, Refused):
                draft.refuse(item.appended, "INVALID", "; ".join(map(str, item.problems)))
                draft.meta.events_offset = item.appended.offset + 1
            else:
                reports.apply(draft, item)
                draft.meta.reports_offset = item.offset + 1

    def _emit_with(self, secret: bytes) -> Emitter:
        if self._emitter[0] != secret:
            self._emitter = (secret, Emitter(self.rules.partition, secret))
        return self._emitter[1]
