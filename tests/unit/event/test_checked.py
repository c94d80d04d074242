"""An event that was checked on its way in is read as one that was not."""

import msgspec
import pytest

from lightsched.event.check import check
from lightsched.event.command import Command, decode, read_command
from lightsched.event.limits import DEFAULT_LIMITS
from lightsched.event.record import Appended, Checked, Record
from lightsched.event.tenant import Defaults, Tenant, fill_in
from tests.unit.event.reading import NOW

TENANTS = {"acme": Tenant(rule="tenant", defaults=Defaults(timeout="5m", labels={"from": "acme"}))}
WHO = (("ls_who", b"rest"),)


def appended(record: Record) -> Appended:
    return Appended("lightsched.events", 3, 7, NOW, record)


def read(record: Record):
    return read_command(appended(record), DEFAULT_LIMITS, TENANTS, 12)


def checked(value: bytes) -> Checked:
    """As it is prepared by the API."""
    event = decode(value, DEFAULT_LIMITS)
    event.key = event.key or event.id
    if event.tenant in TENANTS:
        fill_in(TENANTS[event.tenant], event)
    check(event, DEFAULT_LIMITS, NOW)
    return Checked.of(event, value, WHO)


@pytest.mark.parametrize(
    "value",
    [
        b'{"id":"a","in":"5m"}',
        b'{"id":"a","key":"k","cron":"*/5 9-17 * * MON-FRI","timezone":"Europe/Paris","payload":{"x":[1,2.50]}}',
        b'{"id":"a","tenant":"acme","every":"1h","retry":{"attempts":3,"delay":"1s"}}',
        b'{"id":"a","op":"cancel","reason":"no longer"}',
        b'{"id":"a","at":"2030-01-01T00:00:00Z","if_revision":2,"on_conflict":"reject"}',
    ],
)
def test_it_is_the_same_command(value):
    record = checked(value)
    plain = Record(record.key, value, WHO)
    expected = read(plain)
    assert isinstance(expected, Command)
    first, again = read(record), read(record)  # a step may be made again
    for found in (first, again):
        assert all(
            getattr(found, name) == getattr(expected, name) for name in Command.__struct_fields__ if name != "record"
        )
    assert first.event is not again.event, "who carries a command out changes its event"


def test_what_is_written_of_it_is_the_record_alone():
    record = checked(b'{"id":"a","in":"5m"}')
    written = msgspec.msgpack.encode(record)
    assert written == msgspec.msgpack.encode(Record(record.key, record.value, record.headers))
    assert msgspec.msgpack.decode(written, type=Record) == Record(b"a", b'{"id":"a","in":"5m"}', WHO)
