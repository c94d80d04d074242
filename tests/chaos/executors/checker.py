"""Was everything right? By the audit, and by what the executors have noted."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from pathlib import Path

from tests.chaos.kafka.checker import read_all

FINAL = {"SUCCESS", "FATAL_FAILURE"}
EXPIRED = "no report or heartbeat"


@dataclass
class Verdict:
    """What was counted, and what was wrong."""

    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        counts = ", ".join(f"{name} {number}" for name, number in sorted(self.counts.items()))
        return "\n  ".join([counts, f"wrong {len(self.wrong)}", *self.wrong[:20]])


@dataclass
class Execution:
    """A function was called."""

    delivery: str
    executor: str
    begin: float
    end: float


async def read_audit(bootstrap: str, prefix: str, partitions: int) -> list[dict]:
    """All transitions."""
    records = await read_all(bootstrap, f"{prefix}audit", partitions)
    return [json.loads(line) for record in records for line in record.value.splitlines() if line]


def check(audit: list[dict], ids: set[str], effects: Path, killed: Mapping[str, float]) -> Verdict:
    """Look at everything, when nothing is left to do. `killed`: when which executor was."""
    verdict = Verdict()
    _ends(verdict, audit, ids)
    executions = list(_executions(effects, killed))
    _effects(verdict, audit, executions)
    _overlaps(verdict, audit, executions)
    return verdict


def _ends(verdict: Verdict, audit: list[dict], ids: set[str]) -> None:
    """Every run ends once, and as it should."""
    ended = Counter(line["id"] for line in audit if line["what"] == "finish")
    verdict.counts["events"] = len(ids)
    verdict.counts.update(line["after"] for line in audit if line["what"] == "finish")
    verdict.wrong += [f"{id_} ended {ended[id_]} times" for id_ in ids if ended[id_] != 1]
    verdict.wrong += [
        f"{line['id']} ended {line['after']}"
        for line in audit
        if line["what"] == "finish" and line["after"] not in FINAL
    ]


def _executions(effects: Path, killed: Mapping[str, float]) -> Iterable[Execution]:
    open_: dict[tuple[str, str], float] = {}
    for line in map(json.loads, effects.read_text().splitlines()):
        name = line["executor"], line["delivery"]
        if line["what"] == "begin":
            open_[name] = line["at"]
        else:
            yield Execution(line["delivery"], line["executor"], open_.pop(name), line["at"])
    for (executor, delivery), begin in open_.items():  # it died in the middle of it
        yield Execution(delivery, executor, begin, killed[executor])


def _effects(verdict: Verdict, audit: list[dict], executions: list[Execution]) -> None:
    """Each side effect belongs to a delivery, and each run that succeeded has one."""
    delivered = {line["delivery"]: line for line in audit if line["what"] == "deliver"}
    verdict.counts["deliveries"] = len(delivered)
    verdict.counts["executions"] = len(executions)
    verdict.counts["executed again after a kill"] = len(executions) - len({each.delivery for each in executions})
    verdict.wrong += [
        f"{each.delivery} was executed, and never delivered" for each in executions if each.delivery not in delivered
    ]
    done = {delivered[each.delivery]["id"] for each in executions if each.delivery in delivered}
    succeeded = {line["id"] for line in audit if line["what"] == "finish" and line["after"] == "SUCCESS"}
    verdict.wrong += [f"{id_} succeeded, and nobody did it" for id_ in succeeded - done]


def _overlaps(verdict: Verdict, audit: list[dict], executions: list[Execution]) -> None:
    """Executions of one run follow each other, unless the lease of the earlier one ran out meanwhile."""
    expired = {
        (line["id"], line["attempt"]): datetime.fromisoformat(line["at"]).timestamp()
        for line in audit
        if line["what"] in {"fail", "finish"} and line.get("reason", "").startswith(EXPIRED)
    }
    verdict.counts["leases that ran out"] = len(expired)
    ids = {line["delivery"]: (line["id"], line["attempt"]) for line in audit if line["what"] == "deliver"}
    by_run: dict[str, list[Execution]] = defaultdict(list)
    for each in executions:
        by_run[each.delivery.rpartition("#")[0]].append(each)
    for run in by_run.values():
        run.sort(key=lambda each: each.begin)
        for earlier, later in pairwise(run):
            if later.begin < earlier.end:
                verdict.counts["overlaps"] += 1
                if ids.get(earlier.delivery) not in expired:
                    verdict.wrong.append(
                        f"{later.delivery} began while {earlier.delivery} was executed by {earlier.executor}"
                    )
