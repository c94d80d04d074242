"""Does lightsched do what its pages say? Random lives of a node, each turn compared with a naive model.

`LIGHTSCHED_SIM_EXAMPLES` (`make simulate`) sets the number of lives. They are the same ones each time, unless
`LIGHTSCHED_SIM_SEED` gives a number, or `random`. A failure shows the journal of the shortest life that hypothesis finds.
"""

import os
from collections import Counter
from random import Random

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from tests.simulation.life import ACTIONS, NEEDS, Life, setup
from tests.simulation.sending import Chooser

EXAMPLES = int(os.environ.get("LIGHTSCHED_SIM_EXAMPLES", "240"))
SEED = os.environ.get("LIGHTSCHED_SIM_SEED", "0")
STEPS = 40
BUSY = 25
SHARDS = 4

seen: Counter = Counter()


class Lives(RuleBasedStateMachine):
    """Single actions, chosen by hypothesis, and busy whiles of many, chosen at random."""

    def __init__(self) -> None:
        super().__init__()
        self.life: Life | None = None

    @initialize(data=st.data())
    def begin(self, data):
        self.life = Life(setup(by(data)))

    @rule(seed=st.integers(0, 2**32), actions=st.integers(1, BUSY))
    def a_busy_while(self, seed, actions):
        random = Random(seed)
        choose = Chooser(random.randint)
        weights = {action: weight * random.choice((0, 1, 2)) for action, weight in ACTIONS.items()}
        for _ in range(actions):
            possible = [action for action in ACTIONS if action not in NEEDS or NEEDS[action](self.life)]
            if any(weights[action] for action in possible):
                action = random.choices(possible, [weights[action] for action in possible])[0]
                action(self.life, choose)

    def teardown(self) -> None:
        if self.life is not None:
            self.life.end()
            seen.update(self.life.world.stats)


def by(data) -> Chooser:
    return Chooser(lambda low, high: data.draw(st.integers(low, high)))


def _as_rule(action):
    def act(self, data):
        action(self.life, by(data))

    act.__name__ = action.__name__
    act = rule(data=st.data())(act)
    if action in NEEDS:
        act = precondition(lambda self: self.life is not None and bool(NEEDS[action](self.life)))(act)
    return act


for _action in ACTIONS:
    setattr(Lives, _action.__name__, _as_rule(_action))


@pytest.mark.parametrize("shard", range(SHARDS))
def test_every_life_of_a_node_goes_as_the_model_says(shard):
    seen.clear()
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
            phases=(Phase.generate, Phase.shrink) if os.environ.get("SHRINK") else (Phase.generate,),
        ),
    )
    for what, times in sorted(seen.items()):
        print(f"{times:8} {what}")
