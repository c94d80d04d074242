"""Does lightsched do what its pages say? Random lives of a node, each turn compared with a naive model.

`LIGHTSCHED_TEST_SIM_EXAMPLES` (`make simulate`) sets the number of lives. They are the same ones each time, unless
`LIGHTSCHED_TEST_SIM_SEED` gives a number, or `random`. A failure shows the journal of the life; with 1,000 lives or
more hypothesis also looks for a shorter one.
"""

import os
from collections import Counter
from random import Random

import pytest
from hypothesis import HealthCheck, Phase, event, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from lightsched.log.embedded.log import FAULTS
from tests.simulation.life import ACTIONS, NEEDS, Life, setup
from tests.simulation.sending import Chooser

EXAMPLES = int(os.environ.get("LIGHTSCHED_TEST_SIM_EXAMPLES", "120"))
SEED = os.environ.get("LIGHTSCHED_TEST_SIM_SEED", "0")
STEPS = 40
SHARDS = 4
BUSY_LIVES = max(40, EXAMPLES // 10)
BUSY_ACTIONS = 100

MUST_HAPPEN = (
    "submitted and gone",
    *(
        f"outcome {outcome}"
        for outcome in (
            *("SCHEDULED", "REPLACED", "UNCHANGED", "REJECTED", "CANCELLED", "PAUSED", "RESUMED", "TRIGGERED"),
            *("TOO_LATE", "NOT_FOUND", "INVALID", "QUOTA", "FORWARDED"),
        )
    ),
    *(f"report {why}" for why in ("forbidden", "unknown", "finished", "stale", "late", "repeated", "forwarded")),
    *(f"reported {status}" for status in ("CLAIMED", "PROCESSING", "SUCCESS", "RETRIABLE_FAILURE", "FATAL_FAILURE")),
    *(
        f"delivered, overlap {overlap}, attempt {attempt}"
        for overlap in ("allow", "skip", "queue")
        for attempt in ("first", "later")
    ),
    *("overlap skip: skipped", "overlap queue: queued", "too many runs: skipped", "waits for a slot", "got a slot"),
    *(f"catch_up {policy} after {why}: some" for policy in ("latest", "all") for why in ("late", "pause")),
    *(f"catch_up none after {why}: none" for why in ("late", "pause")),
    *("catch_up latest after late: none", "catch_up all after late: none"),
    *("late and outside the window: moved", "late and outside the window: missed beyond the end"),
    *("waited until the window was closed", "retry moved into the window", "paused while it waits for a slot"),
    *("triggered a recurrence, paused True", "triggered a one-shot, paused True", "max_runs reached"),
    *("expired on arrival", "expired while waiting", "run EXPIRED", "lease ran out", "not retried: over or replaced"),
    *(f"dropped while {phase}" for phase in ("queued", "retry", "waiting")),
    *(
        f"ended {status}, {kind}"
        for status in ("SUCCESS", "FATAL_FAILURE", "CANCELLED", "EXPIRED")
        for kind in ("one-shot", "recurrence")
    ),
    *("until success", "then", "a bad then", "forgotten", "a recurrence without fire times", "id assigned"),
    *("clock jumped forward", "clock jumped back", "turn with a clock that is not believed", "restart", "turn behind"),
    *("its time is ahead again, the clock was put back", "undeliverable", "as many bytes as a step may deliver"),
    *(f"crash {point}{cut}" for point in FAULTS for cut in ("", ", power cut")),
    *(f"{what} {fate} at {what} after write" for what in ("commit", "append") for fate in ("lost", "survived")),
)


def busy(life: Life, random: Random, actions: int) -> None:
    """Some things happen more often in one life than in another, some not at all."""
    weights = {action: weight * random.choice((0, 1, 1, 2)) for action, weight in ACTIONS.items()}
    for _ in range(actions):
        possible = [action for action in ACTIONS if action not in NEEDS or NEEDS[action](life)]
        if any(weights[action] for action in possible):
            action = random.choices(possible, [weights[action] for action in possible])[0]
            life.do(action, Chooser(random.randint))


class Lives(RuleBasedStateMachine):
    """Single actions chosen by hypothesis, and busy whiles of many, chosen at random."""

    def __init__(self) -> None:
        super().__init__()
        self.life: Life | None = None

    @initialize(data=st.data())
    def begin(self, data):
        self.life = Life(setup(by(data)))

    @rule(seed=st.integers(0, 2**32), actions=st.integers(1, 25))
    def a_busy_while(self, seed, actions):
        busy(self.life, Random(seed), actions)

    def teardown(self) -> None:
        if self.life is not None:
            self.life.end()
            for what in self.life.world.stats:
                event(what)


def by(data) -> Chooser:
    return Chooser(lambda low, high: data.draw(st.integers(low, high)))


def _as_rule(action):
    def act(self, data):
        self.life.do(action, by(data))

    act.__name__ = action.__name__
    act = rule(data=st.data())(act)
    if action in NEEDS:
        act = precondition(lambda self: self.life is not None and bool(NEEDS[action](self.life)))(act)
    return act


for _action in ACTIONS:
    setattr(Lives, _action.__name__, _as_rule(_action))


@pytest.mark.parametrize("shard", range(SHARDS))
def test_every_life_of_a_node_goes_as_the_model_says(shard):
    lives = type(f"Lives{shard}", (Lives,), {})
    if SEED != "random":
        lives = seeded(int(SEED) * SHARDS + shard)(lives)
    run_state_machine_as_test(
        lives,
        settings=settings(
            max_examples=max(EXAMPLES // SHARDS, 1),
            stateful_step_count=STEPS,
            deadline=None,
            database=None,
            print_blob=True,
            suppress_health_check=list(HealthCheck),
            phases=(Phase.generate, Phase.shrink) if EXAMPLES >= 1_000 else (Phase.generate,),
        ),
    )


def test_in_busy_lives_everything_happens_and_goes_as_the_model_says(capsys):
    seen: Counter = Counter()
    first = Random().randrange(2**32) if SEED == "random" else int(SEED) * 1_000_000
    for seed in range(first, first + BUSY_LIVES):
        random = Random(seed)
        life = Life(setup(Chooser(random.randint)))
        life.journal.append(f"LIGHTSCHED_TEST_SIM_SEED={SEED}: life {seed}")
        try:
            busy(life, random, BUSY_ACTIONS)
        finally:
            life.end()
        seen.update(life.world.stats)
    if EXAMPLES >= 1_000:
        with capsys.disabled():
            print("\n", "\n".join(f"{times:9,} {what}" for what, times in sorted(seen.items())), sep="")
    assert not [what for what in MUST_HAPPEN if not seen[what]]
