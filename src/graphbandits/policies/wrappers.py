"""Policies around others: exploration floor, eligible arms, rewards scaled to [0, 1]."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from graphbandits._types import Floats, Ints, State
from graphbandits.errors import (
    GraphBanditsError,
    InputError,
    NeedsError,
    check_positive,
    nearest,
    short_repr,
)
from graphbandits.graphs import Feedback, RandomFeedback
from graphbandits.graphs.dominating_sets import dominating_set
from graphbandits.graphs.feedback import subgraph
from graphbandits.graphs.properties import GraphInfo
from graphbandits.policies.base import (
    Event,
    Needs,
    Policy,
    Problem,
    View,
    alternatives,
    as_policy,
    marked,
    raise_unaccepted,
    suits,
)
from graphbandits.policies.index import reward_range as limits_of
from graphbandits.posteriors import Observations
from graphbandits.posteriors.base import BINARY, Support, interval, reward_support, select_arms
from graphbandits.registry import ALWAYS, name_of, register, text_of
from graphbandits.rng import Keys

#: Arms over which the floor is spread.
OVER = ("arms", "dominating-set")


@register("policy", "floor")
@dataclass(frozen=True)
class ExplorationFloor:
    """Another policy, mixed with a fixed probability of exploration.

    pi = (1 - mass) pi_policy + mass u, where u is uniform over all (eligible) arms or over a
    dominating set of the graph. Every arm is then played, or at least observed, with a positive
    probability, which the evaluation of other policies on the logged decisions requires. Uniform
    exploration of this kind is part of Exp3: Auer, Cesa-Bianchi, Freund and Schapire (2002).

    Parameters
    ----------
    policy : str or Policy
        The policy, as text form or object. It must return the distribution of its play.
    mass : float
        Probability of exploration, above 0 and below 1.
    over : {"arms", "dominating-set"}
        Arms over which the probability is spread. A dominating set is a small set of arms from
        which every arm can be observed; the graph must be known before the decision.
    """

    policy: str | Policy = field(default="ids-n", metadata=ALWAYS)
    mass: float = field(default=0.02, metadata=ALWAYS)
    over: str = "arms"
    exact: ClassVar[bool] = True
    # each instance has its own: the policy as an object, and its needs
    inner: ClassVar[Policy]
    needs: ClassVar[Needs]

    @classmethod
    def examples(cls) -> list[ExplorationFloor]:
        return [
            cls(),
            cls("ts-n", 0.3, "dominating-set"),
            cls("ucb1", 0.05),
            cls("exp3-ix", 0.1, "dominating-set"),
        ]

    def __post_init__(self) -> None:
        inner: Any = as_policy(self.policy)
        if isinstance(inner, ExplorationFloor):
            raise InputError("floor: the policy has a floor already: give it one mass")
        if not inner.exact:
            raise InputError(
                f"floor: policy '{name_of(inner)}' draws the arm itself, and therefore its "
                "probabilities are unknown: use a policy that returns them, such as ts-n"
            )
        mass = check_positive(self.mass, "floor: mass")
        if mass >= 1.0:
            raise InputError(f"floor: mass must be above 0 and below 1, not {mass:g}")
        if self.over not in OVER:
            raise InputError(f"floor: over={self.over!r}: {nearest(str(self.over), OVER)}")
        needs = inner.needs
        if self.over == "dominating-set":
            needs = replace(needs, graph="before")
        self.__dict__.update(policy=text_of(inner), mass=mass, inner=inner, needs=needs)

    def __getattr__(self, name: str) -> Any:
        """Return what the policy declares beside the required members, such as ``incremental``."""
        if name.startswith("_") or name == "inner":
            raise AttributeError(name)
        return getattr(self.inner, name)

    def init(self, problem: Problem, keys: Keys) -> State:
        return self.inner.init(problem, keys)

    def propose(self, state: State, view: View) -> Floats:
        pi: Floats = (1.0 - self.mass) * np.asarray(self.inner.propose(state, view))
        pi += self.exploration(view)
        return pi

    def exploration(self, view: View) -> Floats:
        if self.over == "arms":
            return np.full((1, view.problem.arms), self.mass / view.problem.arms)
        chosen = dominating_set(view.graph)
        found: Floats = self.mass * chosen / chosen.sum(axis=1, keepdims=True)
        return found

    @marked(delegates=True)
    def update(self, state: State, event: Event) -> State:
        return self.inner.update(state, event)


#: Numbers of arms of the two problems that show which arrays of a state have an arm axis.
SIZES = (2, 3)


def check_restrictable(policy: Policy, problem: Problem) -> None:
    """Check before a run that a policy can be restricted to eligible arms."""
    if not getattr(policy, "restrictable", True):
        name = name_of(policy)
        suitable = alternatives(
            name, lambda cls: suits(cls, problem) and getattr(cls, "restrictable", True)
        )
        raise NeedsError(
            f"policy '{name}' needs all arms in every round, but only some arms are eligible; "
            f"suitable policies: {suitable}"
        )
    arm_arrays(policy, problem)


def arm_arrays(policy: Policy, problem: Problem) -> frozenset[str]:
    """Return the names of the arrays in the state of a policy that have one entry per arm.

    The arm axis is axis 1. The initial states of two small problems with different numbers of arms
    show which arrays have it. All other arrays must not depend on the number of arms.
    """
    known = problem._cache.get("arm arrays")
    if known is None or known[0] is not policy:
        names = _arm_arrays(policy, problem)
        known = problem._cache["arm arrays"] = policy, names
    found: frozenset[str] = known[1]
    return found


def _arm_arrays(policy: Policy, problem: Problem) -> frozenset[str]:
    shapes = []
    for arms in SIZES:
        small = replace(
            problem,
            posterior=select_arms(problem.posterior, np.zeros(arms, np.int64)),
            # complete, and therefore allowed for all needs; its numbers do not depend on the arms
            _graphs=GraphInfo(RandomFeedback(arms, 1.0)),
            _index=None,
        )
        try:
            state = policy.init(small, Keys(0))
            shapes.append({name: np.shape(array) for name, array in state.items()})
        except GraphBanditsError:
            raise
        except Exception as error:
            raise InputError(
                f"policy '{name_of(policy)}' failed with {arms} arms, which shows the arms in its "
                f"state: {type(error).__name__}: {error}"
            ) from error
    one, two = shapes
    for name in sorted(one.keys() | two.keys()):
        mine, its = one.get(name, ()), two.get(name, ())
        grown = mine[:1] + SIZES[1:] + mine[2:] if mine[1:2] == SIZES[:1] else mine
        if its not in (mine, grown) or mine[:1] != (1,) or name not in one or name not in two:
            raise InputError(
                f"policy '{name_of(policy)}' cannot be restricted to some arms: the shape of "
                f"state['{name}'] is {mine} with {SIZES[0]} arms and {its} with {SIZES[1]}; use "
                "arrays of shape (trials, arms, ...), or (trials, ...) without arms"
            )
    return frozenset(name for name in one if one[name] != two[name])


def restricted(
    policy: Policy, state: State, view: View
) -> Iterator[tuple[slice, Ints, State, View]]:
    """Split a view by eligible arms."""
    keys, problem, eligible = view.keys, view.problem, view.eligible
    if eligible is None or not eligible.any(axis=1).all():
        raise InputError(f"no arm is eligible in round {view.t}: at least one arm must be")
    names = arm_arrays(policy, problem)
    changes = np.flatnonzero((eligible[1:] != eligible[:-1]).any(axis=1)) + 1
    starts = [0, *changes.tolist()]
    for start, stop in zip(starts, [*starts[1:], keys.trials], strict=True):
        rows, arms = slice(start, stop), np.flatnonzero(eligible[start])
        part = problem.among(arms)
        some = {
            name: np.take(values[rows], arms, axis=1) if name in names else values[rows]
            for name, values in state.items()
        }
        trials = Keys(keys.seed, keys.first_trial + start, stop - start)
        graph = _subgraph(part, view._feedback, arms, keys.trials, rows)
        yield rows, arms, some, View(view.t, trials, part, graph, now=view.now)


def _subgraph(problem: Problem, graph: Feedback, arms: Ints, trials: int, rows: slice) -> Feedback:
    """Return the graph among the arms of a restricted problem; a shared graph is kept for later.

    Statistics of a graph, such as its dominating sets, are cached by the object.
    """
    if not graph.shared:
        return subgraph(graph, arms, trials, rows)
    if len(arms) == graph.arms:
        return graph
    known = problem._cache.get("graph")
    if known is None or known[0] is not graph:
        known = problem._cache["graph"] = graph, subgraph(graph, arms)
    found: Feedback = known[1]
    return found


@dataclass(frozen=True)
class ScaledRewards:
    """Base class of policies whose formulas are for rewards in [0, 1].

    A reward y becomes (y - low) / (high - low), and the policy plays as it would with these
    rewards. For an index policy this is the same as a bonus times high - low. The interval [low,
    high] is ``reward_range`` if it is given, else that of the rewards of the posterior. Rewards
    without a largest or smallest value need a stated range.

    A subclass calls :meth:`scaled` before it uses rewards.

    Parameters
    ----------
    reward_range : pair of float, optional
        Smallest and largest reward. A reward outside of it is an error.
    """

    reward_range: tuple[float, float] | None = field(default=None, kw_only=True)
    accepts: ClassVar[Support | None] = interval(0, 1)
    rescales: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.reward_range is not None:
            stated = _check_range(self.reward_range, f"{name_of(self)}: reward_range")
            object.__setattr__(self, "reward_range", stated)

    @property
    def scale_is_stated(self) -> bool:
        """Whether the parameters give the scale of the rewards."""
        return self.reward_range is not None

    @classmethod
    def remedy(cls) -> str:
        """Return how to state the scale of unbounded rewards, for messages."""
        return f"{name_of(cls)}(reward_range=[0, 5])"

    def check(self, problem: Problem) -> None:
        """Check before the run that the stated range includes all rewards of the posterior."""
        rewards = reward_support(problem.posterior)
        if self.reward_range is None or not rewards.bounded:
            return
        low, high = self.reward_range
        if not low <= rewards.low <= rewards.high <= high:
            raise InputError(
                f"{name_of(self)}: reward_range=[{low:g}, {high:g}] does not include all rewards "
                f"of the posterior, from {rewards.low:g} to {rewards.high:g}: omit reward_range, "
                "or state a wider one"
            )

    def scale(self, problem: Problem) -> tuple[float, float]:
        """Return the numbers low and width of the scaled reward (y - low) / width."""
        if self.reward_range is not None:
            low, high = self.reward_range
            return low, high - low
        rewards = reward_support(problem.posterior)
        if not rewards.bounded:
            raise_unaccepted(self, problem)
        return rewards.low, rewards.high - rewards.low or 1.0

    def scaled(self, seen: Observations, problem: Problem) -> Observations:
        """Return observations with rewards scaled to [0, 1]; unchanged for rewards 0 and 1."""
        if not self.scale_is_stated and reward_support(problem.posterior) == BINARY:
            return seen
        low, width = self.scale(problem)
        scaled = (seen.reward - low) / width
        outside = ~((scaled >= 0.0) & (scaled <= 1.0))
        if outside.any():
            raise InputError(
                f"policy '{name_of(self)}': the reward {seen.reward[outside][0]:g} is outside the "
                f"range [{low:g}, {low + width:g}]: set reward_range to an interval that includes "
                "all rewards"
            )
        return replace(seen, reward=scaled)

    def limits(self, problem: Problem) -> tuple[float, float]:
        """Return the smallest and the largest scaled reward."""
        return 0.0, 1.0


@dataclass(frozen=True)
class NoiseScaledRewards(ScaledRewards):
    """Base class of index policies for rewards in [0, 1] or with known noise.

    Rewards in [0, 1] are sub-Gaussian with the constant 1/2 (Hoeffding's lemma). For rewards with
    the constant sigma, the bonus is therefore multiplied by 2 sigma; here this is done by dividing
    rewards by 2 sigma.
    """

    noise: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.noise is None:
            return
        check_positive(self.noise, f"{name_of(self)}: noise")
        if self.reward_range is not None:
            raise InputError(
                f"{name_of(self)}: reward_range and noise both state the scale of the rewards: "
                "give one of them"
            )

    @property
    def scale_is_stated(self) -> bool:
        return self.noise is not None or super().scale_is_stated

    @classmethod
    def remedy(cls) -> str:
        return f"{super().remedy()} or {name_of(cls)}(noise=1)"

    def scale(self, problem: Problem) -> tuple[float, float]:
        return super().scale(problem) if self.noise is None else (0.0, 2.0 * self.noise)

    def scaled(self, seen: Observations, problem: Problem) -> Observations:
        if self.noise is None:
            return super().scaled(seen, problem)
        return replace(seen, reward=seen.reward / (2.0 * self.noise))

    def limits(self, problem: Problem) -> tuple[float, float]:
        if self.noise is None:
            return super().limits(problem)
        low, high = limits_of(problem)
        return low / (2.0 * self.noise), high / (2.0 * self.noise)


def _check_range(given: object, what: str) -> tuple[float, float]:
    """Return two finite numbers low < high as a pair, unchanged; raise InputError otherwise."""
    pair: Any = given
    try:
        low, high = pair
        width = interval(low, high).high - low
    except (TypeError, ValueError):
        width = math.inf
    if not math.isfinite(width):
        raise InputError(
            f"{what} must be two finite numbers low < high, as in [0, 5], not {short_repr(given)}"
        )
    return low, high
