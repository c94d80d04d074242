"""What has a run shown? The faults and what they hit, what was delivered, what was wrong, the times to recover."""

from collections import Counter
from dataclasses import dataclass

from tests.chaos.kafka.checker import Verdict
from tests.chaos.kafka.recovery import in_words


@dataclass(frozen=True)
class Report:
    """One run. `left_out`: what this machine, or these brokers, could not do, and why."""

    seed: int
    verdict: Verdict
    faults: Counter[str]
    hit: Counter[str]
    sent: Counter[str]
    answers: Counter[str]
    recovery_s: dict[str, list[float]]
    rebuilt: int
    left_out: list[str]

    def __str__(self) -> str:
        lines = [
            f"seed {self.seed}: {'all well' if self.verdict.good else 'NOT WELL'}, {self.faults.total()} faults",
            f"  faults: {_list(self.faults)}",
            f"  they hit: {_list(self.hit)}",
            f"  sent on Kafka: {_list(self.sent)}; answers over REST: {_list(self.answers)}",
            f"  {self.verdict}",
            f"  {self.rebuilt} stores rebuilt from the changelog and compared with the live ones",
            "  until what is due is delivered again, from the end of a fault (from its begin, if others take over):",
            in_words(self.recovery_s),
            *(f"  LEFT OUT: {what}" for what in self.left_out),
        ]
        return "\n".join(lines)


def _list(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {number}" for name, number in sorted(counts.items()) if number)
