"""Exploration floor: a policy that plays other arms with a small probability, too."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from graphbandits._types import Floats, State
from graphbandits.errors import InputError, check_positive, nearest
from graphbandits.graphs.dominating_sets import dominating_set
from graphbandits.policies.base import Event, Needs, Policy, Problem, View, as_policy
from graphbandits.policies.incremental import delegates
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

    Examples
    --------
    >>> from graphbandits import Agent
    >>> policy = "floor(policy=ids-n, mass=0.1, over=dominating-set)"
    >>> Agent(policy, arms=3, graph="star", prior=[(1, 9), (9, 1), (1, 9)], seed=1).decide().pi
    {0: 0.1, 1: 0.9}
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
        """Instances used by the contract tests.

        Returns
        -------
        list of ExplorationFloor
            Four instances.
        """
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
        given = {"policy": text_of(inner), "mass": mass, "inner": inner, "needs": needs}
        for name, value in given.items():
            object.__setattr__(self, name, value)

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
        """Return the part of the distribution that explores.

        Parameters
        ----------
        view : View
            Information available before the decision.

        Returns
        -------
        ndarray of shape (1, K) or (B, K)
            Probabilities, whose sum is ``mass``.
        """
        if self.over == "arms":
            return np.full((1, view.problem.arms), self.mass / view.problem.arms)
        chosen = dominating_set(view.graph)
        found: Floats = self.mass * chosen / chosen.sum(axis=1, keepdims=True)
        return found

    @delegates
    def update(self, state: State, event: Event) -> State:
        return self.inner.update(state, event)
