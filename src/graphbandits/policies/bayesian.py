"""What Bayesian policies share: their state is a posterior, and many play by a rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Self

from graphbandits._types import Floats, State
from graphbandits.errors import InputError
from graphbandits.gains import joint_gain
from graphbandits.gains.joint import check_outcomes
from graphbandits.policies.base import Event, Needs, Problem, View
from graphbandits.posteriors import Observations, StateChecked
from graphbandits.posteriors._capabilities import check_variance, variance_form
from graphbandits.registry import name_of
from graphbandits.rng import Keys

#: (alpha, delta, h, gain) -> pi; see :mod:`graphbandits.rules`.
Rule = Callable[[Floats, Floats, Floats, Floats], Floats]
#: What a policy may play by: G h, or the exact joint information gain g.
GAINS = ("bound", "joint")


class PosteriorPolicy:
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

    def check_state(self, state: State, problem: Problem) -> None:
        """Refuse a state from a file that the posterior cannot be in."""
        if isinstance(problem.posterior, StateChecked):
            problem.posterior.check_state(state)


class OwnOutcomePolicy(PosteriorPolicy):
    """The same without the graph: it learns from the arm that it plays, and from no other."""

    def learns_from(self, event: Event) -> Observations:
        """What was seen of the arm played."""
        return event.played


class RulePolicy(PosteriorPolicy):
    """Statistics from the posterior, then a rule for the play.

    The rule sees the gain G h; a policy that is not told the graph sees h in its place.
    """

    rule: ClassVar[Rule]
    #: Whether v, the variance form, stands in the place of h.
    variance: ClassVar[bool] = False

    def check(self, problem: Problem) -> None:
        """Refuse what it cannot play by, before anything runs."""
        if self.variance:
            check_variance(problem.posterior)

    def init(self, problem: Problem, keys: Keys) -> State:
        self.check(problem)
        return super().init(problem, keys)

    def propose(self, state: State, view: View) -> Floats:
        posterior = view.problem.posterior
        if self.variance:
            beliefs, h = variance_form(posterior, state)
        else:
            beliefs = posterior.beliefs(state)
            h = beliefs.h
        return type(self).rule(beliefs.alpha, beliefs.delta, h, self.gained(state, h, view))

    def gained(self, state: State, h: Floats, view: View) -> Floats:
        """What each play teaches."""
        return view.graph.gain(h) if self.needs.graph == "before" else h


class Bayesian(RulePolicy):
    """Algorithm 1 of the paper: by h, and from all that is observed; most are told the graph."""

    needs: ClassVar[Needs] = Needs(graph="before")


@dataclass(frozen=True)
class GainPolicy(Bayesian):
    """The same by a choice of gains: "bound", G h, or "joint", the exact g, which is at least that.

    g is what all that a play shows tells together; see :func:`graphbandits.gains.joint_gain`.
    """

    gain: str = "bound"

    @classmethod
    def examples(cls) -> list[Self]:
        """Of these the contract is tried."""
        return [cls(), cls(gain="joint")]

    def __post_init__(self) -> None:
        if self.gain not in GAINS:
            raise InputError(
                f"{name_of(self)}: gain is 'bound' (G h) or 'joint' (the exact g), not "
                f"{self.gain!r}"
            )

    def check(self, problem: Problem) -> None:
        super().check(problem)
        if self.gain == "joint":
            check_outcomes(problem.posterior, problem.graphs.outcomes)

    def gained(self, state: State, h: Floats, view: View) -> Floats:
        if self.gain == "joint":
            return joint_gain(view.problem.posterior, state, view.graph)
        return super().gained(state, h, view)
