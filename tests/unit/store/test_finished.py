from lightsched.engine.state import FinishedRun
from lightsched.event.identity import identity
from lightsched.event.status import Status
from lightsched.store.families import FINISHED, META
from lightsched.store.finished import Place
from lightsched.store.rocks import new_batch
from lightsched.store.store import Store
from tests.unit.store.make import NOW_MS, make_state, write

EVENTS = [identity("default", "k", f"e{n}") for n in range(5)]
END = Place(NOW_MS * 2, b"")


def finished(after_ms):
    return FinishedRun(Status.SUCCESS, NOW_MS + after_ms, 1)


def in_order(store, before=END, limit=100):
    return [key for _, key in store.finished.runs_before(before, limit)]


def test_finished_runs_of_all_events_come_the_last_first(store, rocks):
    keys = [(name, NOW_MS + n, 1) for n, name in enumerate(EVENTS)]
    write(store, rocks, {}, runs={key: finished(10 - n) for n, key in enumerate(keys)})
    assert in_order(store) == keys
    first = store.finished.runs_before(END, 2)
    assert in_order(store, first[-1][0]) == keys[2:]


def test_runs_that_ended_together_are_told_apart(store, rocks):
    keys = [(name, NOW_MS, 1) for name in EVENTS]
    write(store, rocks, {}, runs=dict.fromkeys(keys, finished(0)))
    found, before = [], END
    while some := store.finished.runs_before(before, 2):
        found += [key for _, key in some]
        before = some[-1][0]
    assert sorted(found) == sorted(keys)


def test_a_run_that_is_dropped_leaves_the_index(store, rocks):
    write(store, rocks, {}, runs={(EVENTS[0], NOW_MS, 1): finished(0), (EVENTS[1], NOW_MS, 1): finished(1)})
    write(store, rocks, {}, runs={(EVENTS[0], NOW_MS, 1): None})
    assert in_order(store) == [(EVENTS[1], NOW_MS, 1)]


def test_events_are_found_by_when_they_are_forgotten(store, rocks):
    write(store, rocks, {name: make_state(n, None, forget_ms=NOW_MS + n) for n, name in enumerate(EVENTS)})
    assert [name for _, name in store.finished.events_before(END, 100)] == EVENTS[::-1]


def test_the_index_is_made_again_and_another_partition_has_its_own(store, rocks):
    other = Store(rocks, 1)
    for each in (store, other):
        write(each, rocks, {}, runs={(name, NOW_MS, 1): finished(each.partition) for name in EVENTS})
    before = store.dump()
    store.rebuild()
    assert store.dump() == before
    assert len(before[FINISHED]) == len(in_order(other)) == 5


def test_a_store_of_the_first_format_gets_its_index(store, rocks):
    write(store, rocks, {}, runs={(name, NOW_MS, 1): finished(0) for name in EVENTS})
    before = store.dump()
    batch = new_batch()
    batch.put(b"\0\0format", b"1", rocks.handles[META])
    batch.delete_range(b"\0\0", b"\0\1", rocks.handles[FINISHED])
    rocks.write(batch)
    assert Store(rocks, 0).dump() == before
