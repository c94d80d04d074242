from msgspec import structs

from lightsched.engine.state import Attempt, Decision, FinishedRun, Phase
from lightsched.engine.step import Totals
from lightsched.engine.view import Entry
from lightsched.event.identity import identity
from lightsched.event.status import Status
from lightsched.store.families import DEFINITIONS, DUE, META
from lightsched.store.keys import due_key
from lightsched.store.rocks import new_batch
from lightsched.store.store import Store
from tests.unit.store.make import EVENT, NOW_MS, make_run, make_state, opened, write

OTHER = identity("default", "order-2", "reminder")
SAME = identity("default", "alone", "alone")
ACME = identity("acme", "k", "i")


def test_a_state_is_read_as_it_was_written(store, rocks):
    state = make_state(
        7,
        runs=(make_run(8, Phase.DELIVERED, attempts=(Attempt(1, NOW_MS, Status.CLAIMED, "me", "slow"),)),),
        fired=3,
        last_ms=NOW_MS,
        trail=(Decision(NOW_MS, "moved_into_window", "…"),),
    )
    write(store, rocks, {EVENT: state})
    assert store.states([OTHER, EVENT]) == [None, state]
    assert store.state(EVENT) == state
    assert store.state(OTHER) is None


def test_a_definition_is_found_by_identity_whether_or_not_its_state_was_read_before(store, rocks):
    write(store, rocks, {EVENT: make_state(1), OTHER: make_state(2)}, definitions={EVENT: b"one", OTHER: b"two"})
    assert store.definitions([OTHER, SAME, EVENT]) == [b"two", None, b"one"]
    assert store.definitions([EVENT, OTHER]) == [b"one", b"two"]
    assert store.definition(EVENT) == b"one"
    assert store.definition(SAME) is None


def test_a_new_revision_takes_the_place_of_the_old_definition(store, rocks):
    write(store, rocks, {EVENT: make_state(1)}, definitions={EVENT: b"one"})
    write(store, rocks, {EVENT: make_state(2, revision=2)}, definitions={EVENT: b"two"})
    assert store.definitions([EVENT]) == [b"two"]
    assert list(store.dump()[DEFINITIONS].values()) == [b"two"]


def test_a_definition_stays_when_only_the_state_changes(store, rocks):
    write(store, rocks, {EVENT: make_state(1)}, definitions={EVENT: b"one"})
    write(store, rocks, {EVENT: make_state(1, None, forget_ms=NOW_MS + 1)})
    assert store.definitions([EVENT]) == [b"one"]


def test_nothing_is_left_of_a_forgotten_event(store, rocks):
    empty = store.dump()
    run = {(EVENT, NOW_MS, 1): FinishedRun(Status.SUCCESS, NOW_MS, 1)}
    write(store, rocks, {EVENT: make_state(1)}, definitions={EVENT: b"one"}, runs=run)
    write(store, rocks, {EVENT: None}, definitions={EVENT: None}, runs=dict.fromkeys(run))
    dump = store.dump()
    assert dump.pop("meta") != empty.pop("meta")
    assert dump == empty
    assert store.pending() == 0
    assert store.next_due_ms() is None


def test_an_event_that_came_and_went_in_one_step_leaves_nothing(store, rocks):
    write(store, rocks, {EVENT: None}, definitions={EVENT: None})
    assert store.dump()["states"] == store.dump()["definitions"] == store.dump()["ids"] == {}


def test_due_entries_come_by_priority_then_time_then_arrival(store, rocks):
    write(
        store,
        rocks,
        {
            identity("t", "k", "late"): make_state(1, NOW_MS + 5),
            identity("t", "k", "second"): make_state(3, NOW_MS + 1),
            identity("t", "k", "first"): make_state(2, NOW_MS + 1),
            identity("t", "k", "urgent"): make_state(4, NOW_MS + 3, priority=0),
        },
    )
    found = store.due(NOW_MS + 4, 10)
    assert found == [
        Entry(0, NOW_MS + 3, 4, identity("t", "k", "urgent")),
        Entry(5, NOW_MS + 1, 2, identity("t", "k", "first")),
        Entry(5, NOW_MS + 1, 3, identity("t", "k", "second")),
    ]
    assert store.due(NOW_MS + 4, 2) == found[:2]
    assert store.next_due_ms() == NOW_MS + 1


def test_what_is_due_comes_with_the_state_of_now(store, rocks):
    first, second = make_state(1), make_state(2, due_ms=NOW_MS + 1)
    write(store, rocks, {EVENT: first, OTHER: second})
    for state in (
        structs.replace(first, trail=(Decision(NOW_MS, "triggered"),)),  # its entry stays
        structs.replace(first, runs=(make_run(3, Phase.DELIVERED),)),
        structs.replace(first, due_ms=NOW_MS - 1),
    ):
        write(store, rocks, {EVENT: state})
        names = [entry.identity for entry in store.due(NOW_MS + 1, 10)]
        assert names == [EVENT, OTHER]
        assert store.states([OTHER, EVENT, SAME]) == [second, state, None]


def test_entries_of_an_earlier_format_hold_no_state(store, rocks):
    state = make_state(1)
    write(store, rocks, {EVENT: state})
    batch = new_batch()
    batch.put(due_key(0, 5, NOW_MS, 1), EVENT, rocks.handles[DUE])
    batch.put(b"\0\0format", b"2", rocks.handles[META])
    rocks.write(batch)
    migrated = Store(rocks, 0)
    assert migrated.due(NOW_MS, 10) == [Entry(5, NOW_MS, 1, EVENT)]
    assert migrated.states([EVENT]) == [state]
    assert migrated.forecast(NOW_MS // 60_000, 1) == {NOW_MS // 60_000: {"default": 1}}


def test_the_next_thing_to_do_may_be_a_deadline(store, rocks):
    run = make_run(2, Phase.DELIVERED, NOW_MS + 7)
    write(store, rocks, {EVENT: make_state(1, NOW_MS + 9, runs=(run,))})
    assert store.next_due_ms() == NOW_MS + 7
    assert store.fires_next_ms() == NOW_MS + 9
    assert store.leases(NOW_MS + 6, 10) == []
    assert store.leases(NOW_MS + 7, 10) == [EVENT]


def test_waiting_runs_are_found_by_tenant(store, rocks):
    runs = (make_run(2, Phase.WAITING), make_run(3, Phase.DELIVERED, NOW_MS + 1))
    write(store, rocks, {EVENT: make_state(1, None, runs=runs), ACME: make_state(4)})
    assert store.waiting_tenants() == ["default"]
    assert store.waiting("default", 10) == [Entry(5, NOW_MS, 2, EVENT)]
    assert store.waiting("def", 10) == store.waiting("acme", 10) == []
    assert (store.in_flight("default"), store.in_flight("acme")) == (1, 0)
    write(store, rocks, {EVENT: make_state(1, None, status=Status.SUCCESS)})
    assert store.waiting_tenants() == []
    assert store.in_flight("default") == 0
    assert (store.pending(), store.pending("acme"), store.pending("default")) == (1, 1, 0)


def test_an_id_leads_to_all_its_keys(store, rocks):
    names = [EVENT, OTHER, identity("default", "reminder", "reminder"), identity("default", "x", "reminder2"), ACME]
    write(store, rocks, {name: make_state(seq) for seq, name in enumerate(names)})
    assert store.keys_of("default", "reminder") == ["reminder", "order-1", "order-2"]
    assert store.keys_of("default", "nobody") == []
    assert store.keys_of("acme", "i") == ["k"]


def test_events_are_listed_in_pages_in_the_order_of_their_identities(store, rocks):
    names = sorted([EVENT, OTHER, SAME, ACME, identity("zeta", "a", "a")])
    write(store, rocks, {name: make_state(seq) for seq, name in enumerate(names)})
    listed, after = [], None
    while page := store.scan(None, after, 2):
        listed += [name for name, _ in page]
        after = page[-1][0]
    assert listed == names
    assert [name for name, _ in store.scan("default", None, 10)] == [SAME, EVENT, OTHER]
    assert [name for name, _ in store.scan("default", EVENT, 10)] == [OTHER]
    assert store.scan("defau", None, 10) == []


def test_finished_runs_are_listed_newest_first_and_dropped_oldest_first(store, rocks):
    def done(error):
        return FinishedRun(Status.FATAL_FAILURE, NOW_MS, 1, error=error)

    runs = {(EVENT, NOW_MS + n, 1): done(str(n)) for n in range(5)}
    near = {(identity("default", "order-1", "reminde"), 0, 1): done(""), (OTHER, 0, 1): done("")}
    write(store, rocks, {}, runs={**runs, **near})
    newest = list(reversed(runs.items()))
    assert store.runs_of(EVENT, None, 2) == newest[:2]
    assert store.runs_of(EVENT, newest[1][0][1:], 10) == newest[2:]
    assert store.runs_before(EVENT, NOW_MS + 3, 10) == list(runs)[:3]
    assert store.runs_before(EVENT, NOW_MS + 3, 2) == list(runs)[:2]
    assert store.runs_before(EVENT, 2**62, 10) == list(runs)
    write(store, rocks, {}, runs=dict.fromkeys(list(runs)[:3]))
    assert store.runs_of(EVENT, None, 10) == newest[:2]


def test_partitions_of_one_database_do_not_see_each_other(store, rocks):
    neighbour = Store(rocks, 1)
    write(store, rocks, {EVENT: make_state(1)}, definitions={EVENT: b"mine"})
    assert neighbour.state(EVENT) is None
    assert neighbour.due(NOW_MS, 10) == []
    assert neighbour.next_due_ms() is None
    assert neighbour.pending() == 0
    write(neighbour, rocks, {EVENT: make_state(1, NOW_MS + 1)}, definitions={EVENT: b"yours"})
    assert store.definitions([EVENT]) == [b"mine"]
    assert store.scan(None, None, 10) == [(EVENT, make_state(1))]


def test_a_store_is_as_it_was_when_it_is_opened_again(tmp_path):
    with opened(tmp_path / "db") as rocks:
        store = Store(rocks, 0)
        secret = store.meta.secret
        run = make_run(2, Phase.DELIVERED, NOW_MS + 7)
        write(
            store,
            rocks,
            {EVENT: make_state(1, runs=(run,)), ACME: make_state(3, NOW_MS - 1)},
            definitions={EVENT: b"one", ACME: b"two"},
            seq=3,
            events_offset=2,
            totals=Totals(accepted=2, pending=2),
        )
        meta, dump = structs.replace(store.meta), store.dump()
    with opened(tmp_path / "db") as rocks:
        store = Store(rocks, 0)
        assert store.meta == meta
        assert store.meta.secret == secret
        assert len(secret) == 32
        assert store.dump() == dump
        assert store.in_flight("default") == 1
        assert store.pending() == 2
        assert store.next_due_ms() == NOW_MS - 1


def test_every_partition_has_a_secret_of_its_own(rocks):
    assert Store(rocks, 0).meta.secret != Store(rocks, 1).meta.secret


def test_events_are_found_by_how_their_key_begins(store, rocks):
    names = [identity("default", key, key) for key in ("a1", "ab", "ab1", "b")] + [identity("other", "ab", "ab")]
    write(store, rocks, {name: make_state(n) for n, name in enumerate(names)})
    assert [name for name, _ in store.scan("default", None, 10, "ab")] == names[1:3]
    assert [name for name, _ in store.scan("default", names[1], 10, "ab")] == names[2:3]
    assert store.scan("default", None, 10, "zz") == []
    assert not store.has_keyed("default", "ab")
    write(store, rocks, {identity("default", "k", "abc"): make_state(9)})
    assert store.has_keyed("default", "ab")
    assert not store.has_keyed("default", "b")
    assert not store.has_keyed("other", "ab")
