"""The id of a delivery: whatever goes in comes out, and one name has one spelling."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from lightsched.event.delivery import DeliveryName, Emitter, delivery_id, parse_delivery_id, token_of
from lightsched.event.identity import identity, parts, tenant_of
from lightsched.event.model import Event

PRINTABLE = st.text(min_size=1, max_size=20).filter(str.isprintable)
TENANTS = st.from_regex(r"[a-z0-9][a-z0-9._-]{0,62}", fullmatch=True)
NAMES = st.builds(
    DeliveryName,
    st.integers(0, 10_000),
    st.builds(identity, TENANTS, PRINTABLE, PRINTABLE),
    st.integers(1, 10**6),
    st.integers(0, 10**14),
    st.integers(1, 1000),
)


@given(NAMES)
def test_an_id_can_be_read_back(name):
    text = delivery_id(name)
    assert parse_delivery_id(text) == name
    assert text.isascii()
    assert text.isprintable()
    assert text.endswith(f"#{name.attempt}")


@given(NAMES, NAMES)
def test_different_attempts_have_different_ids(one, other):
    assume(one != other)
    assert delivery_id(one) != delivery_id(other)


@given(NAMES, st.integers(), st.text(max_size=3))
def test_one_name_has_one_spelling(name, place, noise):
    text = delivery_id(name)
    place %= len(text) + 1
    for changed in (text[:place] + noise + text[place:], text[:place] + noise + text[place + 1 :], text.swapcase()):
        found = parse_delivery_id(changed)
        assert found is None or delivery_id(found) == changed


@given(st.text())
def test_any_text_is_an_id_or_none(text):
    found = parse_delivery_id(text)
    assert found is None or delivery_id(found) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "0:default//e/1/5",
        "0:default//e/1/5#",
        "0:default//e/1/5#x",
        "0:default//e/1/5#01",
        "0:default//e/1/5#+1",
        "0:default//e/1/5# 1",
        "0:default//e/1/5#1_0",
        "0:default//e/1/5#\uff11",
        "00:default//e/1/5#1",
        "0:default/e/e/1/5#1",  # the key is left out where it is the id
        "0:default//%65/1/5#1",
        "0:default//a%2fb/1/5#1",
        "0:default//%00/1/5#1",
        "0:default//%FF/1/5#1",
        "0:a\0b//e/1/5#1",
        "0:default//\ud800/1/5#1",
        "0:default//e/1/" + "9" * 5000 + "#1",
        "0:default//e/1/5/6#1",
        "0:default//e/-1/5#1",
        "0:default//e/4294967296/5#1",
        "0:default//e/1/9223372036854775808#1",
        "0:default//e/1/-9223372036854775809#1",
        "0:default//e/1/5#0",
        "0:default//e/1/5#4294967296",
    ],
)
def test_any_other_spelling_is_refused(text):
    assert parse_delivery_id(text) is None


@given(TENANTS, PRINTABLE, PRINTABLE)
def test_an_identity_can_be_taken_apart(tenant, key, id_):
    name = identity(tenant, key, id_)
    assert parts(name) == (tenant, key, id_)
    assert tenant_of(name) == tenant


@given(NAMES, st.binary(max_size=64))
def test_the_emitter_names_and_signs_deliveries_the_same_way(name, secret):
    emitted = Emitter(name.partition, secret).emit(
        name.identity, name.revision, name.due_ms, name.attempt, Event(at=0), ("t",)
    )
    headers = dict(emitted.record.headers)
    assert emitted.id == delivery_id(name)
    assert headers["ce_id"].decode() == emitted.id
    assert headers["ls_report"].decode() == token_of(secret, emitted.id)


def test_another_secret_gives_another_token():
    assert token_of(b"a", "0:default//e/1/5#1") != token_of(b"b", "0:default//e/1/5#1")
