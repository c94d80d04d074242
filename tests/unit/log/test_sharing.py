"""Which node gets which partition?"""

import pytest
from aiokafka.cluster import ClusterMetadata
from aiokafka.coordinator.protocol import ConsumerProtocolMemberMetadata
from aiokafka.protocol.metadata import MetadataResponse_v0
from hypothesis import given
from hypothesis import strategies as st

from lightsched.log.kafka.sharing import Claim, Sharing, share

numbers = st.frozensets(st.integers(0, 15))


def claim(running=(), stored=()):
    return Claim(frozenset(running), dict.fromkeys(running, 1) | dict.fromkeys(stored, 1))


@given(
    partitions=st.integers(1, 12),
    claims=st.dictionaries(st.sampled_from("abcdef"), st.builds(claim, numbers, numbers), min_size=1),
)
def test_every_partition_is_of_one_member_and_all_have_as_many_give_or_take_one(partitions, claims):
    shared = share(partitions, claims)
    assert shared.keys() == claims.keys()
    assert sorted(number for each in shared.values() for number in each) == list(range(partitions))
    sizes = [len(each) for each in shared.values()]
    assert max(sizes) - min(sizes) <= 1


@given(
    partitions=st.integers(1, 12),
    claims=st.dictionaries(st.sampled_from("abcdef"), st.builds(claim, numbers, numbers), min_size=1),
)
def test_who_has_a_partition_keeps_it_unless_it_has_too_many(partitions, claims):
    once = share(partitions, claims)
    again = share(partitions, {member: claim(once[member], claims[member].stored) for member in claims})
    assert again == once


def test_a_member_that_comes_back_gets_the_partitions_that_it_has_stores_of():
    shared = share(
        12, {"back": claim(stored={0, 3, 6, 9}), "b": claim({0, 6, 1, 4, 7, 10}), "c": claim({3, 9, 2, 5, 8, 11})}
    )
    assert shared == {"back": {0, 3, 6, 9}, "b": {1, 4, 7, 10}, "c": {2, 5, 8, 11}}


def test_what_was_of_a_member_that_has_gone_goes_where_there_is_a_store_of_it():
    shared = share(6, {"b": claim({2, 3}, stored={1}), "c": claim({4, 5}, stored={0})})
    assert shared == {"b": {1, 2, 3}, "c": {0, 4, 5}}


def test_a_member_that_comes_back_gets_those_that_it_had_last():
    back = Claim(stored={0: 5, 1: 9, 2: 5, 3: 9})
    assert share(4, {"back": back, "b": claim({0, 1, 2, 3})}) == {"back": {1, 3}, "b": {0, 2}}


def test_those_that_stay_move_nothing_when_one_leaves():
    shared = share(6, {"b": claim({2, 3}), "c": claim({4, 5})})
    assert shared["b"] > {2, 3}
    assert shared["c"] > {4, 5}


def test_what_two_say_they_run_is_of_one_of_them():
    assert share(2, {"a": claim({0, 1}), "b": claim({0, 1})}) in ({"a": {0}, "b": {1}}, {"a": {1}, "b": {0}})


@pytest.mark.parametrize("said", [None, b"", b"of another program", b"\x92\x91\xa1x\x80", b"\x91\x91\xc0"])
def test_a_member_whose_claim_cannot_be_read_claims_nothing_and_gets_its_share(said):
    known = Sharing("events", 4, lambda: claim({0, 1, 2, 3}))
    members = {"known": known.metadata(["events"]), "odd": ConsumerProtocolMemberMetadata(0, ["events"], said)}
    shared = {member: got.assignment[0][1] for member, got in known.assign(ClusterMetadata(), members).items()}
    assert sorted(map(len, shared.values())) == [2, 2]
    assert sorted(shared["known"] + shared["odd"]) == [0, 1, 2, 3]


def test_what_is_shared_is_what_was_set_up_whatever_the_brokers_say_of_the_topic():
    cluster = ClusterMetadata()
    partitions = [(0, number, 1, [1], [1]) for number in range(6)]
    cluster.update_metadata(MetadataResponse_v0([(1, "broker", 9092)], [(0, "events", partitions)]))
    rule = Sharing("events", 4, claim)
    for known in (cluster, ClusterMetadata()):
        shared = rule.assign(known, {"only": rule.metadata(["events"])})
        assert shared["only"].assignment == [("events", [0, 1, 2, 3])]
