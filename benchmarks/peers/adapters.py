"""One small adapter for each peer and algorithm, all with the same two methods.

``choose()`` returns an arm, ``learn(seen)`` gets pairs (arm, reward): the arm that was played, and
the others that it revealed if the peer learns from them. Nothing but NumPy and the peer is
imported, and the peer only in ``load``, so that the time of its import can be measured.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import random
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

Seen = Sequence[tuple[int, int]]


class Adapter:
    """What a worker runs: a policy for one trial."""

    #: The module that is imported, and the distribution whose version is reported.
    module: ClassVar[str]

    def __init__(self, neighbours: list[list[int]], seed: int) -> None:
        raise NotImplementedError

    @classmethod
    def load(cls) -> Any:
        """Import the peer. What it prints about optional parts is of no interest."""
        with contextlib.redirect_stdout(io.StringIO()):
            return importlib.import_module(cls.module)

    def choose(self) -> int:
        """Arm of the next round."""
        raise NotImplementedError

    def learn(self, seen: Seen) -> None:
        """Learn the outcomes of the round."""
        raise NotImplementedError


class Fixed(Adapter):
    """Plays arm 0: its time is that of the loop around the adapters."""

    module = "random"

    def __init__(self, neighbours: list[list[int]], seed: int) -> None:
        pass

    def choose(self) -> int:
        return 0

    def learn(self, seen: Seen) -> None:
        pass


class GraphbanditsIds(Adapter):
    """The live agent of graphbandits, in memory."""

    module = "graphbandits"
    policy: ClassVar[str] = "ids-n"

    def __init__(self, neighbours: list[list[int]], seed: int) -> None:
        matrix = np.zeros((len(neighbours), len(neighbours)))
        for arm, revealed in enumerate(neighbours):
            matrix[arm, revealed] = 1.0
        # The stream of this trial is the same as in simulate, where the decisions are the same.
        self.agent = self.load().Agent(self.policy, graph=matrix, seed=0, trial=seed)

    def choose(self) -> int:
        self.decision = self.agent.decide()
        return int(self.decision.arm)

    def learn(self, seen: Seen) -> None:
        self.agent.observe(self.decision, dict(seen))


class GraphbanditsTs(GraphbanditsIds):
    """Thompson sampling that learns all revealed outcomes."""

    policy = "ts-n"


class BayesianbanditsTs(Adapter):
    """One shared Dirichlet learner with a posterior for each arm.

    The documentation also has one learner for each arm. The shared one draws for all arms at once,
    which is several times faster with many arms.
    """

    module = "bayesianbandits"
    policy: ClassVar[str] = "ThompsonSampling"

    def __init__(self, neighbours: list[list[int]], seed: int) -> None:
        bb = self.load()
        self.context = np.empty((1, 0))
        self.agent = bb.LipschitzContextualAgent(
            arms=[bb.Arm(arm, self._success) for arm in range(len(neighbours))],
            learner=bb.DirichletClassifier({0: 1, 1: 1}),
            arm_featurizer=bb.ArmColumnFeaturizer(column_name="arm"),
            policy=getattr(bb, self.policy)(),
            random_seed=seed,
        )

    @staticmethod
    def _success(probabilities: Any) -> Any:
        return probabilities[..., 1]

    def choose(self) -> int:
        (arm,) = self.agent.pull(self.context)
        return int(arm)

    def learn(self, seen: Seen) -> None:
        for arm, reward in seen:
            self.agent.select_for_update(arm).update(self.context, np.array([reward]))


class BayesianbanditsIds(BayesianbanditsTs):
    """Its variance-based information-directed sampling, with 1000 draws by default."""

    policy = "InformationDirectedSampling"


class MabwiserTs(Adapter):
    """Thompson sampling; ``partial_fit`` learns all outcomes of a round in one call."""

    module = "mabwiser.mab"

    def __init__(self, neighbours: list[list[int]], seed: int) -> None:
        mab = self.load()
        policy = mab.LearningPolicy.ThompsonSampling()
        self.mab = mab.MAB(list(range(len(neighbours))), policy, seed=seed)
        self.mab.fit(np.array([], int), np.array([], int))  # nothing is known, but it asks for it

    def choose(self) -> int:
        return int(self.mab.predict())

    def learn(self, seen: Seen) -> None:
        arms, rewards = zip(*seen, strict=True)
        self.mab.partial_fit(np.array(arms), np.array(rewards))


class RiverTs(Adapter):
    """Thompson sampling with a Beta distribution for each arm."""

    module = "river.bandit"

    def __init__(self, neighbours: list[list[int]], seed: int) -> None:
        self.arms = list(range(len(neighbours)))
        self.policy = self.make(seed)

    def make(self, seed: int) -> Any:
        bandit, proba = self.load(), importlib.import_module("river.proba")
        return bandit.ThompsonSampling(reward_obj=proba.Beta(), seed=seed)

    def choose(self) -> int:
        return int(self.policy.pull(self.arms))

    def learn(self, seen: Seen) -> None:
        for arm, reward in seen:
            self.policy.update(arm, reward)


class RiverBayesUcb(RiverTs):
    """Bayes-UCB with a uniform prior."""

    def make(self, seed: int) -> Any:
        return self.load().BayesUCB(seed=seed)


class SmpybanditsTs(Adapter):
    """Thompson sampling with a Beta posterior for each arm."""

    module = "SMPyBandits.Policies"
    policy: ClassVar[str] = "Thompson"

    def __init__(self, neighbours: list[list[int]], seed: int) -> None:
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002, its policies draw from the global generator
        self.bandit = getattr(self.load(), self.policy)(len(neighbours))
        self.bandit.startGame()

    def choose(self) -> int:
        return int(self.bandit.choice())

    def learn(self, seen: Seen) -> None:
        for arm, reward in seen:
            self.bandit.getReward(arm, reward)


class SmpybanditsBayesUcb(SmpybanditsTs):
    """Bayes-UCB with a Beta posterior for each arm."""

    policy = "BayesUCB"


class VowpalWabbitSquareCb(Adapter):
    """SquareCB. The features of an action are its name.

    The examples of a prediction are parsed once. The label of a revealed outcome has the
    probability with which it was revealed, as the label of a played one has that of the play.
    """

    module = "vowpalwabbit"
    options: ClassVar[str] = "--cb_explore_adf --squarecb"

    def __init__(self, neighbours: list[list[int]], seed: int) -> None:
        self.workspace = self.load().Workspace(f"{self.options} --random_seed {seed} --quiet")
        self.neighbours = neighbours
        self.lines = [f"| arm{arm}" for arm in range(len(neighbours))]
        self.shared = self.shared_lines()
        self.examples = self.workspace.parse([*self.shared, *self.lines])
        self.actions, self.rng = range(len(neighbours)), random.Random(seed)

    def shared_lines(self) -> list[str]:
        """Lines before those of the actions."""
        return []

    def choose(self) -> int:
        # The prediction is a distribution; the application draws from it.
        self.pi = self.workspace.predict(self.examples)
        (arm,) = self.rng.choices(self.actions, self.pi)
        self.played = arm
        return arm

    def learn(self, seen: Seen) -> None:
        several = len(seen) > 1
        for arm, reward in seen:
            chance = sum(self.pi[near] for near in self.neighbours[arm]) if several else None
            lines = list(self.lines)
            lines[arm] = f"0:{-reward}:{min(1.0, chance or self.pi[arm])} {lines[arm]}"
            self.workspace.learn(lines)


class VowpalWabbitGraph(VowpalWabbitSquareCb):
    """Graph feedback: each example has the graph, and each revealed action a label."""

    options = "--cb_explore_adf --graph_feedback"

    def shared_lines(self) -> list[str]:
        pairs = ((i, j) for i, revealed in enumerate(self.neighbours) for j in revealed)
        return ["shared graph " + " ".join(f"{i},{j},1" for i, j in pairs) + " |"]

    def learn(self, seen: Seen) -> None:
        lines = list(self.lines)
        for arm, reward in seen:
            label = f"{self.played}:{-reward}:{self.pi[self.played]}"
            lines[arm] = f"{label} {lines[arm]}"
        self.workspace.learn([*self.shared, *lines])


ADAPTERS: dict[str, type[Adapter]] = {
    "fixed": Fixed,
    "graphbandits/ids-n": GraphbanditsIds,
    "graphbandits/ts-n": GraphbanditsTs,
    "bayesianbandits/ts": BayesianbanditsTs,
    "bayesianbandits/ids": BayesianbanditsIds,
    "mabwiser/ts": MabwiserTs,
    "river/ts": RiverTs,
    "river/bayes-ucb": RiverBayesUcb,
    "smpybandits/ts": SmpybanditsTs,
    "smpybandits/bayes-ucb": SmpybanditsBayesUcb,
    "vowpalwabbit/squarecb": VowpalWabbitSquareCb,
    "vowpalwabbit/graph": VowpalWabbitGraph,
}
