"""What Bayesian policies share: their state is a posterior, and many play by a rule."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from graphbandits.policies.base import Event, Needs, Problem, View
from graphbandits.posteriors import Observations
from graphbandits.posteriors.options import check_variance, variance_form
from graphbandits.rng import Keys
from graphbandits.types import Floats, State

#: (alpha, delta, h, gain) -> pi; see :mod:`graphbandits.rules`.
Rule = Callable[[Floats, Floats, Floats, Floats], Floats]


class Believer:
    """Keeps the posterior, and learns from all that it observes."""

    needs: ClassVar[Needs] = Needs(graph="never")
    exact: ClassVar[bool] = True

    def init(self, problem: Problem, keys: Keys) -> State:
        return problem.posterior.init(keys.trials)

    def learns_from(self, event: Event) -> Observations:
        """All that was observed."""
        return event.observations

    def update(self, state: State, event: Event) -> State:
        return event.problem.posterior.update(state, self.learns_from(event))


class OwnBeliever(Believer):
    """The same without the graph: it learns from the arm that it plays, and from no other."""

    def learns_from(self, event: Event) -> Observations:
        """What was seen of the arm played."""
        return event.played


class RuleBased(Believer):
    """Statistics from the posterior, then a rule for the play.

    The rule sees the gain G h; a policy that is not told the graph sees h in its place.
    """

    rule: ClassVar[Rule]
    #: Whether v, the variance form, stands in the place of h.
    variance: ClassVar[bool] = False

    def init(self, problem: Problem, keys: Keys) -> State:
        if self.variance:
            check_variance(problem.posterior)
        return super().init(problem, keys)

    def propose(self, state: State, view: View) -> Floats:
        posterior = view.problem.posterior
        if self.variance:
            beliefs, h = variance_form(posterior, state)
        else:
            beliefs = posterior.beliefs(state)
            h = beliefs.h
        gain = view.graph.gain(h) if self.needs.graph == "before" else h
        return type(self).rule(beliefs.alpha, beliefs.delta, h, gain)


class Bayesian(RuleBased):
    """Algorithm 1 of the paper: by h, and from all that is observed; most are told the graph."""

    needs: ClassVar[Needs] = Needs(graph="before")
