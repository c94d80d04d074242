"""A name server that answers as it is told, one answer after the other. No more of DNS than a resolver needs."""

import asyncio
import struct
from contextlib import asynccontextmanager
from ipaddress import ip_address

A, CNAME, AAAA = 1, 5, 28
KINDS = {"A": A, "AAAA": AAAA}
ERRORS = {"SERVFAIL": 2, "NXDOMAIN": 3, "REFUSED": 5}
GARBAGE, SILENCE = "GARBAGE", "SILENCE"


class Names(asyncio.DatagramProtocol):
    """The names that are known.

    `names["a.example"] = [["192.0.2.1"], ["127.0.0.1"]]` has one address when it is looked up first, and another one
    from then on. Instead of addresses there may be `other.example` (an alias), one of ERRORS, garbage or silence.
    """

    def __init__(self):
        self.answers: dict[str, list[list[str]]] = {}
        self.asked: list[tuple[str, str]] = []
        self._transport = None
        self._kept_waiting = []
        self._gave_up = False

    def __setitem__(self, name, answers):
        self.answers[name] = [[answer] if isinstance(answer, str) else answer for answer in answers]

    def lookups(self, name):
        """How often it was looked up: a resolver asks for both kinds of addresses each time."""
        return max(self.asked.count((name, kind)) for kind in KINDS)

    def connection_made(self, transport):
        self._transport = transport

    def datagram_received(self, data, addr):
        name, end = _name(data, 12)
        (number,) = struct.unpack_from("!H", data, end)
        kind = next((kind for kind, known in KINDS.items() if known == number), "")
        self.asked.append((name, kind))
        answers = self.answers.get(name, [["NXDOMAIN"]])
        answer = answers[min(self.asked.count((name, kind)), len(answers)) - 1]
        question = data[12 : end + 4]
        if SILENCE in answer or GARBAGE in answer:
            if GARBAGE in answer:
                self._transport.sendto(data[:2] + b"\x81\x80" + b"\xff" * 40, addr)
            self._kept_waiting.append((_reply(data, question, [], ERRORS["SERVFAIL"]), addr))
            if self._gave_up:
                self.give_up()
            return
        error = next((code for word, code in ERRORS.items() if word in answer), 0)
        records = [] if error else list(self._records(name, answer, number))
        self._transport.sendto(_reply(data, question, records, error), addr)

    def _records(self, name, answer, number):
        for each in answer:
            try:
                address = ip_address(each)
            except ValueError:
                yield _record(name, CNAME, _labels(each))
                yield from self._records(each, self.answers[each][0], number)
            else:
                if number == (A if address.version == 4 else AAAA):
                    yield _record(name, number, address.packed)

    def give_up(self):
        """Whoever is kept waiting, now or later, is told that there is no answer."""
        self._gave_up = True
        for reply, address in self._kept_waiting:
            self._transport.sendto(reply, address)
        self._kept_waiting.clear()


@asynccontextmanager
async def naming(island):
    """The name server of an island."""
    loop = asyncio.get_running_loop()
    transport, names = await loop.create_datagram_endpoint(Names, sock=island.open("udp", "127.0.0.1", 53))
    try:
        yield names
    finally:
        transport.close()


def _reply(query, question, records, error):
    return query[:2] + struct.pack("!5H", 0x8180 | error, 1, len(records), 0, 0) + question + b"".join(records)


def _record(name, number, value):
    return _labels(name) + struct.pack("!HHIH", number, 1, 0, len(value)) + value  # nobody may remember it


def _labels(name):
    return b"".join(bytes([len(label)]) + label.encode() for label in name.split(".")) + b"\0"


def _name(data, at):
    """A name as it stands in a question, and what follows it."""
    labels = []
    while length := data[at]:
        labels.append(data[at + 1 : at + 1 + length].decode())
        at += 1 + length
    return ".".join(labels).lower(), at + 1
