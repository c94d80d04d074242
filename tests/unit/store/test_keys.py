from hypothesis import given
from hypothesis import strategies as st

from lightsched.event.identity import identity, parts
from lightsched.store import keys

PARTITIONS = st.integers(0, 0xFFFE)
TIMES = st.integers(0, 200 * 365 * 24 * 60 * 60_000)
SEQS = st.integers(0, 2**63)
NAMES = st.text(st.characters(min_codepoint=0x20, exclude_categories=["Cs", "Cc"]), min_size=1, max_size=5)

DUES = st.tuples(PARTITIONS, st.integers(0, 9), TIMES, SEQS)
LEASES = st.tuples(PARTITIONS, TIMES, SEQS, st.integers(0, 2))
RUNS = st.tuples(st.integers(-(2**62), 2**62), st.integers(0, 2**32 - 1))


@given(DUES, DUES)
def test_due_keys_sort_by_partition_priority_time_and_arrival(one, other):
    assert (keys.due_key(*one) < keys.due_key(*other)) == (one < other)


@given(DUES)
def test_a_due_key_holds_what_was_put_in(due):
    assert keys.parse_due(keys.due_key(*due)) == due[1:]


@given(LEASES, LEASES)
def test_lease_keys_sort_by_deadline(one, other):
    assert (keys.lease_key(*one) < keys.lease_key(*other)) == (one < other)
    assert keys.parse_lease(keys.lease_key(*one)) == one[1]


@given(RUNS, RUNS)
def test_the_runs_of_an_event_sort_by_due_also_before_1970(one, other):
    name = identity("t", "k", "i")
    assert (keys.run_key(1, name, *one) < keys.run_key(1, name, *other)) == (one < other)
    assert keys.parse_run(keys.run_key(1, name, *one)) == one


@given(NAMES, NAMES, NAMES, NAMES)
def test_runs_of_events_whose_names_begin_alike_are_kept_apart(tenant, key, id_, more):
    mine, other = identity(tenant, key, id_), identity(tenant, key, id_ + more)
    assert not keys.run_key(1, other, 0, 1).startswith(keys.run_prefix(1, mine))


@given(DUES, NAMES, NAMES)
def test_waiting_keys_sort_by_priority_time_and_arrival_within_a_tenant(due, one, other):
    partition, priority, due_ms, seq = due
    key = keys.waiting_key(partition, one.encode(), priority, due_ms, seq)
    assert keys.parse_waiting(key) == (priority, due_ms, seq)
    assert key.startswith(keys.waiting_prefix(partition, other.encode())) == (one == other)


def test_a_due_before_1970_sorts_as_1970():
    assert keys.due_key(1, 5, -1, 7) == keys.due_key(1, 5, 0, 7)


@given(PARTITIONS, NAMES, NAMES, NAMES)
def test_only_events_whose_key_is_not_their_id_have_an_id_key(partition, tenant, key, id_):
    found = keys.id_key(partition, identity(tenant, key, id_))
    if key == id_:
        assert found is None
    else:
        assert found == keys.id_prefix(partition, tenant, id_) + key.encode()
        assert parts(identity(tenant, key, id_)) == (tenant, key, id_)


@given(DUES)
def test_every_key_of_a_partition_lies_between_its_start_and_its_end(due):
    partition = due[0]
    assert keys.partition_key(partition) <= keys.due_key(*due) < keys.partition_end(partition)
