"""Do keys live where Java producers think they live?"""

import pytest

from lightsched.event.model import Event
from lightsched.event.murmur2 import murmur2, partition_of
from lightsched.event.tenant import Tenant, home


# From Kafka's own org.apache.kafka.common.utils.UtilsTest, as signed integers.
@pytest.mark.parametrize(
    ("data", "java"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_the_hash_is_kafkas(data, java):
    assert murmur2(data) == java & 0xFFFFFFFF


def test_a_partition_is_the_positive_hash_modulo_the_count():
    assert partition_of("21", 12) == (-973932308 & 0x7FFFFFFF) % 12


def test_keys_are_spread_over_all_partitions():
    counts = [0] * 12
    for n in range(12_000):
        counts[partition_of(f"customer-{n}", 12)] += 1
    assert min(counts) > 800
    assert max(counts) < 1200


@pytest.mark.parametrize(("rule", "what"), [("key", "k"), ("round_robin", "i"), ("tenant", "t")])
def test_the_rule_says_what_is_hashed(rule, what):
    assert home(Tenant(rule=rule), Event(id="i", key="k", tenant="t"), 12) == partition_of(what, 12)


def test_one_partition_is_home_to_all():
    assert home(Tenant(), Event(id="i", key="k"), 1) == 0
