"""One decision in detail: beliefs, gains, plays and information ratios."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from graphbandits.errors import InputError
from graphbandits.graphs import Feedback, Fixed, GraphLike, UniformFeedback, make_process
from graphbandits.policies.bayesian import GAINS, Bayesian, GainPolicy
from graphbandits.posteriors import Beliefs, Posterior, reward_support
from graphbandits.posteriors.base import predict, strictest
from graphbandits.registry import name_of, registered, text_of, text_parameters
from graphbandits.rng import Keys, Stream
from graphbandits.rules.gains import information_ratio, joint_gain, sampled_gain
from graphbandits.simulation.progress import JOINT_COMPILATION, announce_compilation
from graphbandits.theory.bounds import ratio_limit, reward_scale, why_unsupported
from graphbandits.worlds import as_posterior

#: Most arms for which the clique cover is computed; above, the search would take too long.
MOST_COVERED = 500


@dataclass(frozen=True)
class Inspection:
    """Statistics of one decision; lists have one entry per arm.

    Attributes
    ----------
    arms : names of the arms
    alpha : probability that each arm is the best
    delta : expected regret of each arm
    h : information about the best arm in the outcome of each arm
    v : variance of the mean of each arm, given which arm is best; None if the posterior has no v
    rho : expected mean of the best arm
    accuracy : accuracy setting of the statistics, and an estimate of their relative error
    gain : information gain: "bound" is G h; "joint" is the exact g, or None with a "reason"
    pi : distribution of the play of each policy; (gain=joint) uses the exact gain
    ratio : information ratio of each policy by G h
    joint_ratio : information ratio of each policy by g; None without g
    psi : information ratio of Thompson sampling by G h
    limit : upper bound on ``psi`` on this graph; None if not computed or proved for these rewards
    sampled : estimate of g; None if it was not requested
    posterior : name of the posterior
    parameters : parameters of each arm by name
    changes : whether the graph changes; if so, the graph of round 1, trial 0, seed 0 is used
    """

    arms: list[str]
    alpha: list[float]
    delta: list[float]
    h: list[float]
    v: list[float] | None
    rho: float
    accuracy: dict[str, Any]
    gain: dict[str, Any]
    pi: dict[str, list[float]]
    ratio: dict[str, float]
    joint_ratio: dict[str, float] | None
    psi: float
    limit: float | None
    sampled: dict[str, Any] | None
    posterior: str
    parameters: list[dict[str, Any]]
    changes: bool

    def to_dict(self) -> dict[str, Any]:
        """Convert to JSON values, as printed by ``graphbandits inspect --json``."""
        hidden = {"posterior", "parameters", "changes"} | (
            {"sampled"} if self.sampled is None else set()
        )
        return {key: value for key, value in asdict(self).items() if key not in hidden}


def inspect_decision(
    arms: Sequence[str | tuple[float, ...] | Mapping[str, Any]],
    graph: GraphLike,
    *,
    posterior: str = "beta-bernoulli",
    samples: int | None = None,
    seed: int = 0,
    progress: bool = False,
) -> Inspection:
    """Compute the statistics of one decision, and the play of every Bayesian policy.

    If the graph changes from round to round, the graph of round 1, trial 0, seed 0 is used.

    Parameters
    ----------
    arms
        Parameters of each arm: a mapping such as {"mean": 0.3, "sd": 0.2}, a text such as
        "mean=0.3,sd=0.2", or values in the order of the parameters, such as (3, 7) or "3,7" for
        Beta(3, 7).
    graph
        Any graph that :func:`graphbandits.as_process` accepts.
    posterior
        Text form of the posterior, with parameters that all arms share, such as "normal(noise=1)".
    samples
        Number of random draws for an additional estimate of the joint gain; None for no estimate.
    seed
        Seed of these draws.
    progress
        Whether to announce the compilation of the first call on a terminal.

    Returns
    -------
    Inspection
        The statistics, with a method ``to_dict``.

    Examples
    --------
    >>> round(inspect_decision([(1, 1), (1, 1)], "empty").rho, 12)
    0.666666666667
    """
    count = len(arms)
    process = make_process(graph, count)
    if process.arms != count:
        raise InputError(
            f"the graph has {process.arms} arms, but {count} posteriors were given: give --beta or "
            "--arm once per arm"
        )
    given: Any = as_posterior(posterior, count, list(map(_parameters, arms)))
    model: Any = strictest(given)
    if progress:
        announce_compilation(JOINT_COMPILATION)
    state = model.init(trials=1)
    options = inspect.signature(model.beliefs).parameters
    wanted = {name: True for name in ("estimate", "variance") if name in options}
    beliefs: Beliefs = model.beliefs(state, **wanted)
    estimate = None if beliefs.error is None else float(beliefs.error[0])
    feedback = process.round(1, Keys(seed=0))
    gains = {"bound": feedback.gain(beliefs.h)}
    reason = None
    try:
        gains["joint"] = joint_gain(model, state, feedback)
    except InputError as refused:
        reason = str(refused)
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
    reachable = reachable and not why_unsupported(model)
    return Inspection(
        arms=list(process.names or (str(i + 1) for i in range(process.arms))),
        alpha=beliefs.alpha[0].tolist(),
        delta=beliefs.delta[0].tolist(),
        h=beliefs.h[0].tolist(),
        v=None if beliefs.v is None else beliefs.v[0].tolist(),
        rho=float(beliefs.rho[0]),
        accuracy={"setting": getattr(model, "accuracy", None), "estimate": estimate},
        gain={"joint": None} | listed | ({"reason": reason} if reason else {}),
        pi={name: pi[0].tolist() for name, pi in plays.items()},
        ratio=ratios("bound"),
        joint_ratio=ratios("joint") if "joint" in gains else None,
        psi=float(information_ratio(beliefs.alpha, beliefs.delta, gains["bound"])[0]),
        limit=float(ratio_limit(feedback, reward_scale(model))[0]) if reachable else None,
        sampled=None if samples is None else _sampled(given, feedback, samples, seed),
        posterior=name_of(model),
        parameters=_by_arm(model, count),
        changes=not isinstance(process, Fixed),
    )


def _sampled(posterior: Posterior, feedback: Feedback, samples: int, seed: int) -> dict[str, Any]:
    found = sampled_gain(posterior, posterior.init(trials=1), feedback, samples, seed)
    value, error = found.value[0].tolist(), found.standard_error[0].tolist()
    return {"samples": samples, "seed": seed, "gain": value, "standard_error": error}


def _parameters(arm: str | tuple[float, ...] | Mapping[str, Any]) -> Any:
    """Return the parameters of an arm; a pair of other objects is an error of the user."""
    if isinstance(arm, str | Mapping):
        return arm
    try:
        return tuple(float(one) for one in arm)
    except (TypeError, ValueError):
        raise InputError(
            "the parameters of an arm must be numbers such as 3,7, or names and values such as "
            f"mean=0.3,sd=0.2; not {arm!r}"
        ) from None


def _by_arm(model: Any, arms: int) -> list[dict[str, Any]]:
    """Return the parameters of each arm by name; without those that all arms share."""
    arrays = {
        name: value.tolist()
        for name, value in text_parameters(model).items()
        if isinstance(value, np.ndarray) and value.shape[:1] == (arms,)
    }
    return [{name: listed[i] for name, listed in arrays.items()} for i in range(arms)]


# Prior predictive ---------------------------------------------------------------------------------

#: Levels of the quantiles of a prior.
LEVELS = (0.025, 0.25, 0.5, 0.75, 0.975)
#: Number of draws of rewards of all arms.
DRAWS = 500_000


@dataclass(frozen=True)
class PriorInspection:
    """What a prior expects: the means of arms and their rewards before any observation.

    Attributes
    ----------
    posterior : text form of the prior
    rewards : support of the rewards, as text
    levels : levels of the quantiles
    mean : expected mean of an arm
    mean_quantiles : quantiles of the mean of an arm
    reward_sd : standard deviation of a reward
    reward_quantiles : quantiles of a reward
    probabilities : probability of each listed reward; None if the rewards are not listed
    best : expected mean of the best of ``arms`` arms
    arms : number of arms
    draws : number of draws from which the numbers about rewards are estimated
    seed : seed of these draws
    """

    posterior: str
    rewards: str
    levels: tuple[float, ...]
    mean: float
    mean_quantiles: list[float]
    reward_sd: float
    reward_quantiles: list[float]
    probabilities: dict[str, float] | None
    best: float
    arms: int
    draws: int
    seed: int

    def to_dict(self) -> dict[str, Any]:
        """Convert to JSON values, as printed by ``graphbandits inspect --prior --json``."""
        return asdict(self)


def inspect_prior(prior: str | Posterior, *, arms: int = 5, seed: int = 0) -> PriorInspection:
    """Compute what rewards a prior expects before any observation (prior-predictive check).

    Compare the result with what you know about the rewards: if the prior finds real rewards
    impossible, or expects impossible ones, change it.

    Parameters
    ----------
    prior
        Posterior as text, such as "normal(mean=0, sd=1, noise=1)", parameters of a Beta prior such
        as "2,5", or an object, whose first arm is used.
    arms
        Number of arms of which the best is considered, if ``prior`` is a text.
    seed
        Seed of the draws of rewards.

    Returns
    -------
    PriorInspection
        Moments, quantiles and probabilities, with a method ``to_dict``.

    Examples
    --------
    >>> found = inspect_prior("beta-bernoulli(a=2, b=6)")
    >>> found.mean, round(found.probabilities["1"], 2)
    (0.25, 0.25)
    """
    pair = isinstance(prior, str) and "(" not in prior and ("," in prior or "=" in prior)
    arguments = (None, arms, prior) if pair else (prior, arms)
    given: Any = prior
    model: Any = (
        as_posterior(*arguments)
        if isinstance(prior, str)
        else as_posterior(given, getattr(given, "arms", arms))
    )
    state = model.init(trials=1)
    trials = max(1, DRAWS // model.arms)
    many = {name: np.repeat(value, trials, axis=0) for name, value in state.items()}
    rewards = predict(model, many, Stream(Keys(seed, 0, trials), 0, "inspect/prior"))[:, 0]
    support = reward_support(model)
    listed = support.listed
    shares = {f"{x:g}": float((rewards == x).mean()) for x in listed or ()}
    return PriorInspection(
        posterior=text_of(model),
        rewards=str(support),
        levels=LEVELS,
        mean=float(model.mean(state)[0, 0]),
        mean_quantiles=[float(model.quantile(state, level)[0, 0]) for level in LEVELS],
        reward_sd=float(rewards.std()),
        reward_quantiles=np.quantile(rewards, LEVELS).tolist(),
        probabilities=shares if listed is not None else None,
        best=float(model.beliefs(state).rho[0]),
        arms=model.arms,
        draws=len(rewards),
        seed=seed,
    )
