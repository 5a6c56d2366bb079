"""Base classes of Bayesian policies: the state is a posterior, and a rule chooses the play."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from graphbandits._types import Floats, State
from graphbandits.errors import InputError
from graphbandits.policies.base import Event, Needs, Problem, View, marked
from graphbandits.posteriors import Observations
from graphbandits.posteriors.base import (
    check_variance,
    check_weights,
    variance_form,
    without_information,
)
from graphbandits.posteriors.updates import with_time
from graphbandits.registry import name_of
from graphbandits.rng import Keys
from graphbandits.rules.gains import check_outcomes, joint_gain

#: (alpha, delta, h, gain) -> pi; see :mod:`graphbandits.rules`.
Rule = Callable[[Floats, Floats, Floats, Floats], Floats]
#: Gains that a policy can use: the bound G h, or the exact joint information gain g.
GAINS = ("bound", "joint")


class PosteriorPolicy:
    """Base class of policies whose state is the posterior, updated by all observations.

    A subclass defines ``propose``.
    """

    needs: ClassVar[Needs] = Needs(graph="never")
    exact: ClassVar[bool] = True
    weighted: ClassVar[bool] = True
    incremental: ClassVar[bool] = True

    def init(self, problem: Problem, keys: Keys) -> State:
        return problem.posterior.init(keys.trials)

    @marked(own_plays=False)
    def learns_from(self, event: Event) -> Observations:
        """Return the observations that update the posterior: all of them."""
        return event.observations

    @marked(learns_outcomes=True)
    def update(self, state: State, event: Event) -> State:
        seen = with_time(event.problem.posterior, self.learns_from(event), event.now)
        return self.learn(state, seen, event.problem)

    def learn(self, state: State, seen: Observations, problem: Problem) -> State:
        """Update the posterior by observations that need not belong to a round."""
        check_weights(seen, problem.posterior)
        return problem.posterior.update(state, seen)

    def check_state(self, state: State, problem: Problem) -> None:
        posterior: Any = problem.posterior
        # isinstance with a protocol, StateChecked, takes longer than the check itself
        if hasattr(posterior, "check_state"):
            posterior.check_state(state)


class OwnOutcomePolicy(PosteriorPolicy):
    """Base class of policies that learn only from the arm played, not from side observations."""

    @marked(own_plays=True)
    def learns_from(self, event: Event) -> Observations:
        return event.played


class RulePolicy(PosteriorPolicy):
    """Base class of policies that apply a rule to the statistics of the posterior.

    A subclass sets ``rule``, a function ``(alpha, delta, h, gain) -> pi``; see
    :mod:`graphbandits.rules`. The gain is G h if the policy needs the graph before the decision,
    else h. If ``variance`` is True, the variance form v replaces h. If ``uses_information`` is
    False, the rule uses neither h nor the gain, which may be NaN: a posterior whose method
    ``beliefs`` has an argument ``information`` does not compute h.
    """

    rule: ClassVar[Rule]
    variance: ClassVar[bool] = False
    uses_information: ClassVar[bool] = True

    def check(self, problem: Problem) -> None:
        """Check before the run that the posterior has the statistics of the rule."""
        if self.variance:
            check_variance(problem.posterior)

    def init(self, problem: Problem, keys: Keys) -> State:
        self.check(problem)
        return super().init(problem, keys)

    def propose(self, state: State, view: View) -> Floats:
        posterior, state = view.problem.posterior, view.current(state)
        if self.variance:
            beliefs, h = variance_form(posterior, state)
        else:
            compute = posterior.beliefs if self.uses_information else without_information(posterior)
            beliefs = compute(state)
            h = beliefs.h
        return type(self).rule(
            beliefs.alpha, beliefs.delta, h, self.information_gain(state, h, view)
        )

    def information_gain(self, state: State, h: Floats, view: View) -> Floats:
        """Return the information gain of each play, (B, K); ``h`` is that of each outcome."""
        return view.graph.gain(h) if self.needs.graph == "before" else h


class Bayesian(RulePolicy):
    """Base class of the policies of the paper (Algorithm 1): a rule with the gain G h.

    Liu, Buccapatnam and Shroff (2018).
    """

    needs: ClassVar[Needs] = Needs(graph="before")


@dataclass(frozen=True)
class GainPolicy(Bayesian):
    """Base class of the policies of the paper with a choice of the information gain.

    Parameters
    ----------
    gain : {"bound", "joint"}
        "bound" is G h. "joint" is the exact information gain g >= G h of all observations of a
        play together; see :func:`graphbandits.rules.gains.joint_gain`.
    """

    gain: str = "bound"

    @classmethod
    def examples(cls) -> list[Self]:
        return [cls(), cls(gain="joint")]

    def __post_init__(self) -> None:
        if self.gain not in GAINS:
            raise InputError(
                f"{name_of(self)}: gain must be 'bound' (G h) or 'joint' (the exact g), not "
                f"{self.gain!r}"
            )

    def check(self, problem: Problem) -> None:
        super().check(problem)
        if self.gain == "joint":
            check_outcomes(problem.posterior, problem.graphs.outcomes)

    def information_gain(self, state: State, h: Floats, view: View) -> Floats:
        if self.gain == "joint":
            return joint_gain(view.problem.posterior, state, view.graph)
        return super().information_gain(state, h, view)
