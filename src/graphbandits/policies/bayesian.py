"""What all Bayesian policies share: their state is a posterior, updated by all they observe."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from graphbandits.policies.base import Event, Needs, Problem, View
from graphbandits.rng import Keys
from graphbandits.types import Floats, State

#: (alpha, delta, h, gain) -> pi; see :mod:`graphbandits.rules`.
Rule = Callable[[Floats, Floats, Floats, Floats], Floats]


class Bayesian:
    """Algorithm 1 of the paper: statistics from the posterior, then a rule for the play.

    The rule sees the gain G h; a policy that is not told the graph sees h in its place.
    """

    needs: ClassVar[Needs] = Needs(graph="before")
    exact: ClassVar[bool] = True
    rule: ClassVar[Rule]

    def init(self, problem: Problem, keys: Keys) -> State:
        return problem.posterior.init(keys.trials)

    def propose(self, state: State, view: View) -> Floats:
        beliefs = view.problem.posterior.beliefs(state)
        told = self.needs.graph == "before"
        gain = view.graph.gain(beliefs.h) if told else beliefs.h
        return type(self).rule(beliefs.alpha, beliefs.delta, beliefs.h, gain)

    def update(self, state: State, event: Event) -> State:
        return event.problem.posterior.update(state, event.observations)
