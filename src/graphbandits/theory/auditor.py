"""Who checks the statements: looks on while a block is played, and counts."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphbandits.gains import joint_gain
from graphbandits.graphs import Feedback, Uniform
from graphbandits.policies import Policy
from graphbandits.posteriors import Observations, Posterior
from graphbandits.rng import Keys
from graphbandits.theory.statements import LINEAR, STATEMENTS, Decision, Statement
from graphbandits.theory.violations import Violation, replay
from graphbandits.types import Floats

#: True for some of the trials.
Marks = NDArray[np.bool_]

#: Below this a gain has no digits that count: above it the statistics are right relatively.
FLOOR = 1e-30
#: Rounds that teach less than this are counted by themselves.
SMALL = 1e-12
#: An expected regret below this is rounding where nothing is learned.
NOTHING = 1e-12
#: A number may exceed its limit by this, relatively: the accuracy of the statistics.
TOLERANCE = 1e-7


@dataclass
class Tally:
    """How often a statement was checked, the least relative margin, and the worst violation.

    The margin is (limit - number) / limit, of the round that came nearest to its limit.
    """

    statement: Statement
    checks: int = 0
    margin: float = math.inf
    nearest: str = ""  # the policy of that round
    violations: int = 0
    worst: Violation | None = None

    @classmethod
    def merged(cls, parts: Sequence[Tally]) -> Tally:
        """The tally of several blocks and policies."""
        least = min(parts, key=lambda part: part.margin)
        found = [part.worst for part in parts if part.worst is not None]
        return cls(
            parts[0].statement,
            sum(part.checks for part in parts),
            least.margin,
            least.nearest,
            sum(part.violations for part in parts),
            min(found, key=lambda violation: violation.margin, default=None),
        )


@dataclass
class Rounds:
    """How many rounds there were, over all trials and policies, and how many taught how little."""

    all: int = 0
    unchecked: int = 0  # below 1e-30, and nothing was lost
    small: int = 0  # below 1e-12, those included

    @classmethod
    def merged(cls, parts: Sequence[Rounds]) -> Rounds:
        """The rounds of several blocks and policies."""
        return cls(
            sum(part.all for part in parts),
            sum(part.unchecked for part in parts),
            sum(part.small for part in parts),
        )

    @property
    def share(self) -> float:
        """The share of the rounds that was checked."""
        return 1.0 - self.unchecked / self.all


@dataclass
class Sums:
    """Over the trials of a block, for each round: sums of what has come together up to it."""

    regret: Floats
    regret_squared: Floats
    ratio: Floats
    ratio_squared: Floats
    product: Floats  # of the two
    limit: Floats

    @classmethod
    def zeros(cls, horizon: int) -> Sums:
        """Before the first round."""
        return cls(*np.zeros((6, horizon)))


def _kind(graph: Feedback) -> str:
    """Which theorem a graph is of: 0/1, one r for all others, or other probabilities."""
    if graph.deterministic:
        return "deterministic"
    return "random" if isinstance(graph, Uniform) else "other"


class Auditor:
    """Keeps a posterior of what a policy has observed, and checks each of its decisions."""

    def __init__(
        self,
        name: str,
        policy: Policy,
        posterior: Posterior,
        keys: Keys,
        gain: str,
        limit: Callable[[Feedback], Floats],
        horizon: int,
    ) -> None:
        self.name, self.policy, self.keys = name, policy, keys
        self.tallies = [Tally(statement) for statement in STATEMENTS]
        self.rounds = Rounds()
        self.kinds: set[str] = set()  # of the graphs that there were
        self.sums = Sums.zeros(horizon)
        self._posterior, self._gain, self._limit = posterior, gain, limit
        self._state = posterior.init(keys.trials)
        self._regret, self._ratio, self._limits = np.zeros((3, keys.trials))

    def decided(self, t: int, graph: Feedback, pi: Floats) -> None:
        """Check the statements that are about this policy and graph."""
        beliefs = self._posterior.beliefs(self._state)
        joint = joint_gain(self._posterior, self._state, graph) if self._gain == "joint" else None
        decision = Decision(
            beliefs.alpha,
            beliefs.delta,
            beliefs.h,
            graph.gain(beliefs.h),
            joint,
            pi,
            self._limit(graph),
        )
        learned, lost = ((pi * of).sum(axis=1) for of in (decision.bound, decision.delta))
        # a play that loses and teaches nothing breaks what can be checked
        checked = (learned >= FLOOR) | (lost > NOTHING)
        self.kinds.add(_kind(graph))
        self.rounds.all += len(pi)
        self.rounds.unchecked += int((~checked).sum())
        self.rounds.small += int((learned < SMALL).sum())
        for tally in self.tallies:
            if self._applies(tally.statement, graph):
                self._check(tally, decision, checked, t, graph)
        self._add(t - 1, decision, checked)

    def observed(self, t: int, seen: Observations) -> None:
        """Learn what the policy could have learned."""
        self._state = self._posterior.update(self._state, seen)

    def _applies(self, statement: Statement, graph: Feedback) -> bool:
        if not statement.concerns(self.policy) or (statement.joint and self._gain != "joint"):
            return False
        return statement.feedback in ("any", _kind(graph))

    def _check(
        self, tally: Tally, decision: Decision, checked: Marks, t: int, graph: Feedback
    ) -> None:
        value, limit, divisor = tally.statement.compare(decision)
        counts = (checked if value.ndim == 1 else checked[:, None]) & (divisor >= FLOOR)
        if not counts.any():
            return
        tally.checks += int(counts.sum())
        with np.errstate(divide="ignore", invalid="ignore"):
            margin = np.where(value == limit, 0.0, (limit - value) / limit)
        margin[~np.isfinite(margin)] = -np.inf  # what is no number does not hold
        margin[~counts] = np.inf
        least = float(margin.min())
        if least < tally.margin:
            tally.margin, tally.nearest = least, self.name
        tally.violations += int((margin < -TOLERANCE).sum())
        if least < -TOLERANCE and (tally.worst is None or least < tally.worst.margin):
            place = np.unravel_index(int(margin.argmin()), margin.shape)
            trial = int(place[0])
            tally.worst = Violation(
                statement=tally.statement.name,
                text=tally.statement.text,
                policy=self.name,
                seed=self.keys.seed,
                trial=self.keys.first_trial + trial,
                round=t,
                value=float(value[place]),
                limit=float(limit[place]),
                margin=least,
                replay=replay(self._state, graph, trial),
                pi=tuple(decision.pi[trial].tolist()),
            )

    def _add(self, place: int, decision: Decision, checked: Marks) -> None:
        """Add this round to what the means over the trials are compared with."""
        arms = decision.alpha.shape[1]
        linear = isinstance(self.policy, LINEAR)
        self._regret += (decision.pi * decision.delta).sum(axis=1)
        self._ratio += np.where(checked, decision.ratio, 0.0)  # infinite where all is lost
        self._limits += arms / 2.0 if linear else decision.limit
        self.sums.regret[place] = self._regret.sum()
        self.sums.regret_squared[place] = (self._regret**2).sum()
        self.sums.ratio[place] = self._ratio.sum()
        self.sums.ratio_squared[place] = (self._ratio**2).sum()
        self.sums.product[place] = (self._regret * self._ratio).sum()
        self.sums.limit[place] = self._limits.sum()
