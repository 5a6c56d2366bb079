"""One decision in detail: beliefs, gains, plays and information ratios."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from graphbandits.engine._progress import JOINT_COMPILATION, announce_compilation
from graphbandits.errors import InputError
from graphbandits.gains import information_ratio, joint_gain, sampled_gain
from graphbandits.graphs import Feedback, Fixed, GraphLike, UniformFeedback, make_process
from graphbandits.policies.bayesian import GAINS, Bayesian, GainPolicy
from graphbandits.posteriors import BetaBernoulli
from graphbandits.posteriors.beta_bernoulli import beta_pair
from graphbandits.registry import registered
from graphbandits.rng import Keys
from graphbandits.theory.ratio_limits import ratio_limit

#: Accuracy of the statistics; speed does not matter for one decision.
ACCURACY = "strict"
#: Most arms for which the clique cover is computed; above, the search would take too long.
MOST_COVERED = 500


@dataclass(frozen=True)
class Inspection:
    """Statistics of one decision; lists have one entry per arm.

    Parameters
    ----------
    arms
        Names of the arms.
    alpha
        Probability that each arm is the best.
    delta
        Expected regret of each arm.
    h
        Information about the best arm in the outcome of each arm.
    rho
        Expected mean of the best arm.
    accuracy
        Accuracy setting of the statistics, and an estimate of their relative error.
    gain
        Information gain: "bound" is G h; "joint" is the exact g, or None with a "reason".
    pi
        Distribution of the play of each policy; (gain=joint) uses the exact gain.
    ratio
        Information ratio of each policy by G h.
    joint_ratio
        Information ratio of each policy by g; None without g.
    psi
        Information ratio of Thompson sampling by G h.
    limit
        Upper bound on ``psi`` on this graph; None if it was not computed.
    sampled
        Estimate of g; None if it was not requested.
    parameters
        Parameters (a, b) of each arm.
    changes
        Whether the graph changes. If so, the graph of round 1, trial 0, seed 0 is used.
    """

    arms: list[str]
    alpha: list[float]
    delta: list[float]
    h: list[float]
    rho: float
    accuracy: dict[str, Any]
    gain: dict[str, Any]
    pi: dict[str, list[float]]
    ratio: dict[str, float]
    joint_ratio: dict[str, float] | None
    psi: float
    limit: float | None
    sampled: dict[str, Any] | None
    parameters: list[tuple[float, float]]
    changes: bool

    def to_dict(self) -> dict[str, Any]:
        """Convert to JSON values, as printed by ``graphbandits inspect --json``.

        Returns
        -------
        dict
        """
        hidden = {"parameters", "changes"} | ({"sampled"} if self.sampled is None else set())
        return {key: value for key, value in asdict(self).items() if key not in hidden}


def inspect_decision(
    betas: Sequence[str | tuple[float, float]],
    graph: GraphLike,
    *,
    samples: int | None = None,
    seed: int = 0,
    progress: bool = False,
) -> Inspection:
    """Compute the statistics of one decision, and the play of every Bayesian policy.

    If the graph changes from round to round, the graph of round 1, trial 0, seed 0 is used.

    Parameters
    ----------
    betas
        Posterior Beta(a, b) of each arm, as a pair or as a text "a,b".
    graph
        Any graph that :func:`graphbandits.as_process` accepts.
    samples
        Number of random draws for an additional estimate of the joint gain; None for no estimate.
    seed
        Seed of these draws.
    progress
        Whether to announce the compilation of the first call on a terminal.

    Returns
    -------
    Inspection

    Examples
    --------
    >>> round(inspect_decision([(1, 1), (1, 1)], "empty").rho, 12)
    0.666666666667
    """
    parameters = [_pair(beta) for beta in betas]
    process = make_process(graph, len(parameters))
    if process.arms != len(parameters):
        raise InputError(
            f"the graph has {process.arms} arms, but {len(parameters)} posteriors were given: "
            "give --beta once per arm"
        )
    a, b = np.array(parameters, np.float64).T
    posterior = BetaBernoulli(a, b, ACCURACY)
    if progress:
        announce_compilation(JOINT_COMPILATION)
    state = posterior.init(trials=1)
    beliefs = posterior.beliefs(state, estimate=True)
    assert beliefs.error is not None  # because of estimate=True
    feedback = process.round(1, Keys(seed=0))
    gains = {"bound": feedback.gain(beliefs.h)}
    reason = None
    try:
        gains["joint"] = joint_gain(posterior, state, feedback)
    except InputError as error:
        reason = str(error)
    plays = {}
    for name, policy in registered("policy").items():
        if issubclass(policy, Bayesian):
            choices = GAINS if issubclass(policy, GainPolicy) else GAINS[:1]
            for choice in (choice for choice in choices if choice in gains):
                text = name if choice == "bound" else f"{name}(gain={choice})"
                plays[text] = policy.rule(beliefs.alpha, beliefs.delta, beliefs.h, gains[choice])

    def ratios(choice: str) -> dict[str, float]:
        found = {n: information_ratio(pi, beliefs.delta, gains[choice]) for n, pi in plays.items()}
        return {name: float(ratio[0]) for name, ratio in found.items()}

    listed = {choice: gain[0].tolist() for choice, gain in gains.items()}
    reachable = isinstance(feedback, UniformFeedback) or process.arms <= MOST_COVERED
    return Inspection(
        arms=list(process.names or (str(i + 1) for i in range(process.arms))),
        alpha=beliefs.alpha[0].tolist(),
        delta=beliefs.delta[0].tolist(),
        h=beliefs.h[0].tolist(),
        rho=float(beliefs.rho[0]),
        accuracy={"setting": ACCURACY, "estimate": float(beliefs.error[0])},
        gain={"joint": None} | listed | ({"reason": reason} if reason else {}),
        pi={name: pi[0].tolist() for name, pi in plays.items()},
        ratio=ratios("bound"),
        joint_ratio=ratios("joint") if "joint" in gains else None,
        psi=float(information_ratio(beliefs.alpha, beliefs.delta, gains["bound"])[0]),
        limit=float(ratio_limit(feedback)[0]) if reachable else None,
        sampled=None if samples is None else _sampled(BetaBernoulli(a, b), feedback, samples, seed),
        parameters=parameters,
        changes=not isinstance(process, Fixed),
    )


def _sampled(
    posterior: BetaBernoulli, feedback: Feedback, samples: int, seed: int
) -> dict[str, Any]:
    found = sampled_gain(posterior, posterior.init(trials=1), feedback, samples, seed)
    value, error = found.value[0].tolist(), found.standard_error[0].tolist()
    return {"samples": samples, "seed": seed, "gain": value, "standard_error": error}


def _pair(beta: str | tuple[float, float]) -> tuple[float, float]:
    try:
        if isinstance(beta, str):
            return beta_pair(beta)
        a, b = beta
        return float(a), float(b)
    except (TypeError, ValueError):
        raise InputError(
            "--beta must be two numbers A,B such as 3,7 (successes and failures, including the "
            f"prior), not '{beta}'"
        ) from None
