"""Do keys that begin alike live where all others do?"""

from hypothesis import given
from hypothesis import strategies as st

from lightsched.event.murmur2 import murmur2
from lightsched_files.alike import Alike

alike = Alike()


@given(st.binary(max_size=300))
def test_any_key(key):
    assert alike.murmur2(key) == murmur2(key)


@given(st.text("0123456789abcdef", min_size=16, max_size=16), st.integers(0, 10**12))
def test_the_ids_of_a_file(mark, place):
    key = f"{mark}-{place}".encode()
    assert alike.murmur2(key) == murmur2(key)
