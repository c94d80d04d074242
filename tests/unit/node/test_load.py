"""How much does a node have to do?"""

from types import SimpleNamespace

from lightsched.node.load import Burden


def worker(fired, pending=0, lag=0, in_flight=0):
    meta = SimpleNamespace(totals=SimpleNamespace(fired=fired))
    store = SimpleNamespace(meta=meta, pending=lambda: pending, in_flight_runs=in_flight)
    return SimpleNamespace(partition=SimpleNamespace(store=store, lag=lag))


def test_the_load_is_what_its_partitions_hold_and_what_it_did_since_the_last_look():
    workers, clock = {}, SimpleNamespace(now=100.0, cpu=5.0)
    burden = Burden(workers, lambda: clock.now, lambda: clock.cpu)
    assert burden.load().seconds == 0
    workers |= {0: worker(10, pending=7, lag=1), 1: worker(1_000, pending=3, in_flight=2)}
    clock.now += 2
    load = burden.load()
    assert (load.pending, load.lag, load.in_flight) == (10, 1, 2)
    assert load.fired_per_s == 0, "they came from elsewhere"
    workers |= {0: worker(14), 1: worker(1_006)}
    clock.now, clock.cpu = clock.now + 4, clock.cpu + 1
    load = burden.load()
    assert (load.fired_per_s, load.cpu, load.seconds) == (2.5, 0.25, 4.0)


def test_looks_that_follow_each_other_at_once_do_not_measure_anew():
    workers, clock = {0: worker(0)}, SimpleNamespace(now=0.0, cpu=0.0)
    burden = Burden(workers, lambda: clock.now, lambda: clock.cpu)
    clock.now, workers[0] = 2.0, worker(8)
    first = burden.load()
    clock.now, workers[0] = 2.1, worker(1_000)
    assert burden.load() == first
    assert first.fired_per_s == 4
