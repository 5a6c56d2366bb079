"""Early warning of an agent: do the first observations contradict its prior?"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graphbandits._types import State
from graphbandits.posteriors import Observations, Posterior, is_discounted

#: Number of observations after which the prior matters little and is not checked any more.
EARLY = 200
#: Number of arms above which the prior is not checked, to save memory.
MOST_ARMS = 10_000
#: Likelihood ratio at which the prior counts as contradicted. If the prior is right, the ratio ever
#: reaches it with a probability of at most 1/CONTRADICTION (Ville's inequality).
CONTRADICTION = 1000.0


class PriorCheck:
    """Compare how well a prior, and weaker priors of the same mean, predict early observations.

    The alternatives are the weaker prior and the weaker prior of that one, half each. The ratio of
    the likelihoods of all observations is a martingale if the prior is right.

    Parameters
    ----------
    prior : Posterior
        The prior. Without the methods ``weaker`` and ``log_evidence``, or with a discount, nothing
        is checked.

    Examples
    --------
    >>> from graphbandits.posteriors import BetaBernoulli
    >>> check = PriorCheck(BetaBernoulli.of(arms=2, a=90, b=10))
    >>> seen = Observations(np.zeros(8, np.int64), np.array([0, 1] * 4), np.zeros(8))
    >>> check.observe(seen)
    'the first 8 observations are 2e+04 times more likely under a weaker prior of the same mean'
    """

    def __init__(self, prior: Posterior) -> None:
        given: Any = prior
        able = hasattr(given, "weaker") and hasattr(given, "log_evidence")
        able = able and not is_discounted(prior)
        self.models: tuple[Any, ...] = ()
        if able and prior.arms <= MOST_ARMS:
            weaker = given.weaker()
            self.models = (given, weaker, weaker.weaker())
        self.states: list[State] = [model.init(1) for model in self.models]
        self.count = 0
        self.done = not self.models

    def observe(self, seen: Observations) -> str:
        """Add observations.

        Parameters
        ----------
        seen : Observations
            The observations of one trial.

        Returns
        -------
        str
            The evidence against the prior, once; empty if there is none.
        """
        if self.done or not len(seen.arm):
            return ""
        self.count += len(seen.arm)
        try:
            self.states = [
                model.update(state, seen)
                for model, state in zip(self.models, self.states, strict=True)
            ]
            evidence = [
                float(np.sum(model.log_evidence(state)))
                for model, state in zip(self.models, self.states, strict=True)
            ]
        except Exception:  # extreme rewards, for example; a check must not stop an agent
            self.done = True
            return ""
        against = float(np.logaddexp(evidence[1], evidence[2]) - math.log(2.0) - evidence[0])
        self.done = self.count >= EARLY or against >= math.log(CONTRADICTION)
        if not against >= math.log(CONTRADICTION):
            return ""
        ratio = f"{math.exp(min(against, 700.0)):.0e}"
        return (
            f"the first {self.count} observations are {ratio} times more likely under a weaker "
            "prior of the same mean"
        )
