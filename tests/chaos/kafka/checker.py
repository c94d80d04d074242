"""Was everything right? Reads inputs, deliveries, dead letters and audit, and shares no code with the engine."""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.structs import ConsumerRecord

from tests.chaos.kafka.rest import Told

ORDER_SLACK_MS = 5_000
ONE_SHOTS = "odfr"
"""What their ids begin with: plain, to two topics, to the narrow topic, over REST."""
_ID = re.compile(r"(\d+):default/([^/]*)/([^/]+)/(\d+)/(-?\d+)#(\d+)")


@dataclass
class Verdict:
    """What was counted, and what was wrong."""

    counts: Counter[str] = field(default_factory=Counter)
    lost: list[str] = field(default_factory=list)
    twice: list[str] = field(default_factory=list)
    early: list[str] = field(default_factory=list)
    after_cancel: list[str] = field(default_factory=list)
    order: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    @property
    def good(self) -> bool:
        """Nothing was wrong."""
        return not any(self._faults().values())

    def __str__(self) -> str:
        counts = ", ".join(f"{name} {number}" for name, number in sorted(self.counts.items()))
        faults = ", ".join(f"{name} {len(found)}" for name, found in self._faults().items())
        parts = [counts, faults]
        for name, found in self._faults().items():
            parts += [f"  {name}: {each}" for each in found[:10]]
        return "\n  ".join(parts)

    def _faults(self) -> dict[str, list[str]]:
        return {
            "lost": self.lost,
            "twice": self.twice,
            "early": self.early,
            "after cancel": self.after_cancel,
            "out of order": self.order,
            "otherwise wrong": self.wrong,
        }


async def read_all(bootstrap: str, topic: str, partitions: int) -> list[ConsumerRecord]:
    """All committed records of a topic, by partition and offset."""
    consumer = AIOKafkaConsumer(
        bootstrap_servers=bootstrap, isolation_level="read_committed", auto_offset_reset="earliest"
    )
    await consumer.start()
    try:
        places = [TopicPartition(topic, number) for number in range(partitions)]
        consumer.assign(places)
        ends = await consumer.end_offsets(places)
        records: list[ConsumerRecord] = []
        while any([await consumer.position(place) < ends[place] for place in places]):
            for found in (await consumer.getmany(timeout_ms=200)).values():
                records += found
        return sorted(records, key=lambda record: (record.partition, record.offset))
    finally:
        await consumer.stop()


async def check(bootstrap: str, prefix: str, partitions: int, told: Mapping[str, Told]) -> Verdict:
    """Look at everything, when nothing is left to do. `told`: what clients over REST were told of their events."""
    verdict = Verdict()
    inputs = await read_all(bootstrap, f"{prefix}events", partitions)
    deliveries = await read_all(bootstrap, f"{prefix}deliveries", partitions)
    others = await read_all(bootstrap, f"{prefix}other", partitions)
    narrow = await read_all(bootstrap, f"{prefix}narrow", partitions)
    dead = await read_all(bootstrap, f"{prefix}dead-letter", partitions)
    audit = [
        json.loads(line) | {"step": (record.partition, record.offset), "step_ms": record.timestamp}
        for record in await read_all(bootstrap, f"{prefix}audit", partitions)
        for line in record.value.splitlines()
        if line
    ]
    sent = [record for record in inputs if "ls_hops" not in dict(record.headers)]
    verdict.counts.update(inputs=len(sent), forwarded=len(inputs) - len(sent), deliveries=len(deliveries))
    _commands(verdict, sent, audit)
    _dead_letters(verdict, sent, audit, dead, deliveries)
    _deliveries(verdict, deliveries, narrow, audit)
    _two_topics(verdict, deliveries, others)
    _one_shots(verdict, audit, [*deliveries, *narrow])
    _acknowledged(verdict, told, deliveries)
    _recurrences(verdict, audit, deliveries)
    _tracked(verdict, audit)
    _order(verdict, inputs, audit, deliveries)
    return verdict


def _commands(verdict: Verdict, sent: list[ConsumerRecord], audit: list[dict]) -> None:
    """Every input that makes sense has exactly one definite outcome."""
    asked = Counter((event.get("op", "schedule"), event["id"]) for event in map(_event, sent) if event is not None)
    answered = Counter(
        (line["what"], line["id"]) for line in audit if line.get("outcome") not in (None, "", "FORWARDED", "INVALID")
    )
    for what in asked.keys() | answered.keys():
        difference = asked[what] - answered[what]
        if difference:
            (verdict.lost if difference > 0 else verdict.twice).append(f"outcome of {what}: {difference}")


def _event(record: ConsumerRecord) -> dict | None:
    """What was sent; nothing, if it was meant to make no sense."""
    try:
        event = json.loads(record.value)
        return event if event["id"] != "p" else None
    except (ValueError, TypeError, KeyError):
        return None


def _dead_letters(
    verdict: Verdict,
    sent: list[ConsumerRecord],
    audit: list[dict],
    dead: list[ConsumerRecord],
    deliveries: list[ConsumerRecord],
) -> None:
    """What makes no sense and what cannot be delivered is put aside once, with its reason, and nothing else is."""
    poison = Counter((record.partition, record.offset) for record in sent if _event(record) is None)
    headers = [dict(record.headers) for record in dead]
    invalid = [each for each in headers if each["ls_reason"] == b"INVALID"]
    put_aside = Counter((int(each["ls_partition"]), int(each["ls_offset"])) for each in invalid)
    _same(verdict, "poison", poison, put_aside)
    refused = sum(line.get("outcome") == "INVALID" for line in audit)
    if refused != len(poison):
        verdict.wrong.append(f"{len(poison)} poison inputs, {refused} refused on the audit")

    accepted = {line["id"]: line for line in audit if line.get("outcome") == "SCHEDULED"}
    topics = {event["id"]: event["topics"][0] for event in map(_event, sent) if event and event["id"][0] == "u"}
    undeliverable = [each for each in headers if each["ls_reason"] == b"UNDELIVERABLE"]
    expected = Counter(id_ for id_ in accepted if id_.startswith("u"))
    _same(verdict, "undeliverable", expected, Counter(each["ls_id"].decode() for each in undeliverable))
    for each in undeliverable:
        topic = topics.get(each["ls_id"].decode(), "?")
        verdict.counts[f"undeliverable to {topic.rpartition('.')[2]}"] += 1
        if not each["ls_detail"].decode().startswith(f"{topic}: "):
            verdict.wrong.append(f"{each['ls_id']} for {topic} was put aside because of {each['ls_detail']}")
    if len(headers) != len(invalid) + len(undeliverable):
        verdict.wrong.append(f"put aside for other reasons: {Counter(each['ls_reason'] for each in headers)}")
    for record in deliveries:
        if dict(record.headers)["ls_id"].startswith(b"u"):
            verdict.wrong.append(f"{dict(record.headers)['ls_id']} was delivered to one of its topics")
    verdict.counts.update(poison=len(poison))


def _same(verdict: Verdict, what: str, expected: Counter, found: Counter) -> None:
    for each in expected.keys() | found.keys():
        if found[each] != expected[each]:
            problem = f"{what} {each}: put aside {found[each]} times instead of {expected[each]}"
            (verdict.lost if found[each] < expected[each] else verdict.twice).append(problem)


def _deliveries(
    verdict: Verdict, deliveries: list[ConsumerRecord], narrow: list[ConsumerRecord], audit: list[dict]
) -> None:
    """What the audit says was delivered is there once, and nothing else; not before its time."""
    told = Counter(line["delivery"] for line in audit if line["what"] == "deliver")
    there = Counter(dict(record.headers)["ce_id"].decode() for record in (*deliveries, *narrow))
    for id_ in told.keys() | there.keys():
        if there[id_] > 1 or told[id_] > 1:
            verdict.twice.append(f"delivery {id_}: {there[id_]} records, {told[id_]} on the audit")
        elif there[id_] != told[id_]:
            verdict.lost.append(f"delivery {id_}: {there[id_]} records, {told[id_]} on the audit")
    for record in (*deliveries, *narrow):
        due_ms = int(dict(record.headers)["ls_due"])
        if record.timestamp < due_ms:
            verdict.early.append(f"{dict(record.headers)['ce_id'].decode()} {due_ms - record.timestamp} ms early")


def _two_topics(verdict: Verdict, deliveries: list[ConsumerRecord], others: list[ConsumerRecord]) -> None:
    """What goes to two topics is on both, once."""
    both = [Counter(dict(record.headers)["ce_id"].decode() for record in records) for records in (deliveries, others)]
    on_both = {dict(record.headers)["ce_id"].decode() for record in deliveries if _id(record).startswith("d")}
    for id_ in on_both | both[1].keys():
        if both[0][id_] != 1 or both[1][id_] != 1:
            verdict.wrong.append(f"delivery {id_} to two topics: {both[0][id_]} and {both[1][id_]}")


def _id(record: ConsumerRecord) -> str:
    return dict(record.headers)["ls_id"].decode()


def _acknowledged(verdict: Verdict, told: Mapping[str, Told], deliveries: list[ConsumerRecord]) -> None:
    """What clients over REST were told holds."""
    fired = Counter(id_ for id_ in map(_id, deliveries) if id_.startswith("r"))
    for id_, said in told.items():
        if fired[id_] > 1:
            verdict.twice.append(f"{id_} over REST fired {fired[id_]} times")
        if said.cancelled:
            if fired[id_]:
                verdict.after_cancel.append(f"{id_} over REST fired, though its cancel was acknowledged")
        elif fired[id_] == 0 and (said.too_late or (said.scheduled and not said.maybe_cancelled)):
            verdict.lost.append(f"{id_} over REST never fired: {said}")
    verdict.counts.update(
        rest_scheduled=sum(said.scheduled for said in told.values()),
        rest_cancelled=sum(said.cancelled for said in told.values()),
        rest_unknown=sum(not said.scheduled for said in told.values()),
    )


def _one_shots(verdict: Verdict, audit: list[dict], deliveries: list[ConsumerRecord]) -> None:
    """Each accepted revision fires at most once, the last one exactly once, unless its cancel was accepted."""
    fired: Counter[tuple[str, int]] = Counter()
    for record in deliveries:
        match = _ID.fullmatch(dict(record.headers)["ce_id"].decode())
        assert match is not None
        if match[6] == "1":
            fired[match[3], int(match[4])] += 1
    revisions: dict[str, int] = {}
    cancelled: set[str] = set()
    for line in audit:
        id_, outcome = line["id"], line.get("outcome")
        if id_[:1] not in ONE_SHOTS:
            continue
        if outcome in ("SCHEDULED", "REPLACED"):
            revisions[id_] = line["revision"]
            cancelled.discard(id_)
        elif outcome == "CANCELLED":
            cancelled.add(id_)
    verdict.counts.update(one_shots=len(revisions), cancelled=len(cancelled))
    for id_, revision in revisions.items():
        number = fired[id_, revision]
        if number != (id_ not in cancelled):
            what = verdict.lost if number == 0 else verdict.twice if number > 1 else verdict.after_cancel
            what.append(f"{id_} revision {revision}: fired {number} times, cancelled {id_ in cancelled}")
    verdict.twice += [
        f"{place} fired {number} times" for place, number in fired.items() if number > 1 and place[0][0] in ONE_SHOTS
    ]


def _recurrences(verdict: Verdict, audit: list[dict], deliveries: list[ConsumerRecord]) -> None:
    """Five runs each, at five times."""
    dues = defaultdict(list)
    for record in deliveries:
        headers = dict(record.headers)
        if headers["ls_id"].startswith(b"e"):
            dues[headers["ls_id"].decode()].append(int(headers["ls_due"]))
    accepted = {line["id"] for line in audit if line["id"].startswith("e") and line.get("outcome") == "SCHEDULED"}
    verdict.counts.update(recurrences=len(accepted))
    for id_ in accepted:
        if len(dues[id_]) != len(set(dues[id_])):
            verdict.twice.append(f"{id_} at {sorted(dues[id_])}")
        elif len(dues[id_]) != 5:
            verdict.lost.append(f"{id_} ran {len(dues[id_])} times of 5")


def _tracked(verdict: Verdict, audit: list[dict]) -> None:
    """Every tracked run ends once."""
    accepted = {line["id"] for line in audit if line["id"].startswith("t") and line.get("outcome") == "SCHEDULED"}
    ends = Counter(line["id"] for line in audit if line["what"] == "finish" and line["id"].startswith("t"))
    verdict.counts.update(tracked=len(accepted))
    for id_ in accepted:
        if ends[id_] != 1:
            (verdict.lost if ends[id_] == 0 else verdict.twice).append(f"tracked {id_} ended {ends[id_]} times")


def _order(verdict: Verdict, inputs: list[ConsumerRecord], audit: list[dict], deliveries: list[ConsumerRecord]) -> None:
    """Per key and priority in the order of their times, where all was known long before.

    A forwarded command is in a transaction of the partition that it came from. Until that is over, and a fault may last
    for long, neither it nor anything behind it can be read: what was read in one step with it was not known before.
    """
    taken = [line for line in audit if line.get("outcome") not in (None, "", "FORWARDED")]
    touched = Counter(line["id"] for line in taken)
    known_ms: dict[str, int] = {}
    priority: dict[str, int] = {}
    forwarded: set[tuple[str, str]] = set()
    for record in inputs:
        if "ls_hops" in dict(record.headers):
            event = json.loads(record.value)
            forwarded.add((event.get("op", "schedule"), event["id"]))
        if record.value and (b'"id": "o' in record.value or b'"id":"o' in record.value):
            event = json.loads(record.value)
            known_ms[event["id"]] = max(record.timestamp, known_ms.get(event["id"], 0))  # where it was forwarded to
            priority[event["id"]] = event.get("priority", 5)
    had_to_wait = {line["step"] for line in taken if (line["what"], line["id"]) in forwarded}
    for line in taken:
        if line["step"] in had_to_wait and line["id"] in known_ms:
            known_ms[line["id"]] = max(line["step_ms"], known_ms[line["id"]])
    last: dict[tuple[int, bytes, int], tuple[int, str]] = {}
    for record in deliveries:
        headers = dict(record.headers)
        id_, due_ms = headers["ls_id"].decode(), int(headers["ls_due"])
        if id_ not in known_ms or touched[id_] != 1:
            continue
        lane = record.partition, record.key, priority[id_]
        before = last.get(lane)
        if before is not None and before[0] > due_ms and known_ms[id_] < before[0] - ORDER_SLACK_MS:
            verdict.order.append(f"{before[1]} (due {before[0]}) before {id_} (due {due_ms})")
        if before is None or due_ms > before[0]:
            last[lane] = due_ms, id_
