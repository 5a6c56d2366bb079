"""MOSS: confidence bounds for a known number of rounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from graphbandits._types import Floats, State
from graphbandits.policies.base import Needs, View
from graphbandits.policies.index import OwnOutcomeIndexPolicy, counts, means
from graphbandits.policies.scaled_rewards import NoiseScaledRewards
from graphbandits.registry import register


@register("policy", "moss")
@dataclass(frozen=True)
class MOSS(NoiseScaledRewards, OwnOutcomeIndexPolicy):
    """Largest upper confidence bound for a known horizon, from own plays only (MOSS).

    X_i + sqrt(max(0, ln(T / (K N_i))) / N_i) for T rounds and K arms. The bonus is zero after T/K
    plays of an arm; an arm that was never played comes first. Audibert and Bubeck (2009).

    Parameters
    ----------
    reward_range : pair of float, optional
        Smallest and largest reward, which are scaled to 0 and 1; by default those of the posterior.
    noise : float, optional
        Sub-Gaussian constant of the rewards, in place of a range: the bonus is multiplied by
        2 noise.

    Examples
    --------
    >>> from graphbandits import Agent
    >>> Agent("moss", arms=4, seed=1, horizon=100).decide().probability
    0.25
    """

    needs: ClassVar[Needs] = Needs(graph="never", horizon=True)

    def index(self, state: State, view: View) -> Floats:
        count = counts(state)
        share = view.problem.horizon / (view.problem.arms * count)
        bonus: Floats = np.sqrt(np.maximum(0.0, np.log(share)) / count)
        return means(state) + bonus
