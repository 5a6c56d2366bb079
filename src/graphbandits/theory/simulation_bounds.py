"""Bounds that hold for a simulation, and their comparison with its results."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from graphbandits.engine import Plan
from graphbandits.errors import InputError
from graphbandits.gains.ratio import entropy
from graphbandits.graphs import Process
from graphbandits.posteriors import Posterior
from graphbandits.posteriors.support import reward_support
from graphbandits.results import Results
from graphbandits.results.differences import t_quantile
from graphbandits.rng import Keys
from graphbandits.theory.bounds import (
    WITH_GRAPH,
    Bound,
    bound,
    check_rounds,
    general_bound,
    theorem_1,
)
from graphbandits.theory.ratio_limits import LimitSums, limit_sums
from graphbandits.theory.reward_constants import (
    reward_scale,
    same_model,
    scale_note,
    why_unsupported,
)
from graphbandits.worlds import Changing, World

#: Reason why there are no bounds for fixed means.
FIXED_MEANS = (
    "the means of the arms are fixed, but the bounds are on the regret averaged over means drawn "
    "from the prior"
)
#: Reason why there are no bounds for means that change.
CHANGING_MEANS = "the means of the arms change, but the bounds are proved for means that do not"
#: Reason why there are no bounds if the policies use another model than the world.
OTHER_MODEL = (
    "the policies use another posterior than the prior of the world, but the bounds are on the "
    "regret of policies that use this prior"
)
#: Reason why there are no bounds if only some arms are eligible.
ELIGIBLE_ARMS = (
    "only some arms are eligible in a round, but the bounds are on the regret against one best arm "
    "of all rounds"
)
#: Reason why there are no bounds if outcomes arrive late or not at all.
LATE_ANSWERS = (
    "outcomes arrive late or not at all, but the bounds are proved for outcomes that arrive in the "
    "round of the play"
)


def entropy_of(posterior: Posterior) -> float:
    """Return the entropy H of the best arm under the prior, in nats.

    Parameters
    ----------
    posterior
        Posterior in its initial state, the prior. If all arms have the same prior, H = log K.

    Returns
    -------
    float

    Examples
    --------
    >>> from graphbandits.posteriors import BetaBernoulli
    >>> round(entropy_of(BetaBernoulli.of(5)), 6)  # log 5
    1.609438
    """
    return float(entropy(posterior.beliefs(posterior.init(1)).alpha)[0])


def regret_bounds(
    process: Process,
    posterior: Posterior,
    rounds: object,
    *,
    seed: int = 0,
    first_trial: int = 0,
    trials: int = 20,
) -> tuple[Bound, ...]:
    """Compute all bounds that are proved for a process, after each of several rounds.

    Theorem 1 (IDS-LP) always holds. The bound for TS-N, IDS-N and IDSN-LP depends on the graphs:

    - Theorem 2 and the earlier bound if all graphs are 0/1; Corollary 1 if the graph is fixed.
    - Theorem 3 if all other arms are observed with probability r_t; Corollary 2 if r is fixed.
    - K/2 per round for any other probabilities.

    They are multiplied by the constant of the rewards
    (:func:`~graphbandits.theory.reward_constants.reward_scale`): high - low for rewards in
    [low, high], 2 sigma for rewards with the sub-Gaussian constant sigma. The note of a bound
    states it.

    Liu, Buccapatnam and Shroff (2018). If each trial draws its own graphs, the bound is
    sqrt(H E[sum_t ...]), by Jensen's inequality. The expectation is exact if there is a formula,
    and otherwise estimated from random graphs.

    Parameters
    ----------
    process
        Graph process.
    posterior
        Prior of the arms.
    rounds
        Rounds in increasing order.
    seed, first_trial, trials
        Seed and trials of the random graphs for estimates. ``ratio_limits.ENTRIES`` limits the
        number of trials.

    Returns
    -------
    tuple of Bound

    Examples
    --------
    >>> from graphbandits.graphs import as_process
    >>> from graphbandits.posteriors import BetaBernoulli
    >>> found = regret_bounds(as_process("paper"), BetaBernoulli.of(5), [1000])
    >>> [(bound.name, round(bound.final, 2)) for bound in found]
    [('Theorem 1', 63.43), ('Corollary 1', 40.12), ('earlier bound', 40.12)]
    """
    scale, constant = reward_scale(posterior), scale_note(posterior)
    if process.arms != posterior.arms:
        raise InputError(f"the graph has {process.arms} arms, but the prior has {posterior.arms}")
    at = check_rounds(rounds)
    if process.rounds is not None and at[-1] > process.rounds:
        raise InputError(
            f"rounds must be at most {process.rounds}, the number of rounds of the graph process; "
            f"got round {at[-1]}"
        )
    information = entropy_of(posterior)
    sums = limit_sums(process, at, Keys(seed, first_trial, trials))
    name, note = _statement(sums)
    note = f"{note} {sums.note}".strip()
    found = [
        theorem_1(process.arms, information, at),
        bound(name, at, sums.total, information, sums.error, note),
    ]
    if sums.deterministic and sums.largest is not None:
        error = sums.largest_error
        found.append(bound("earlier bound", at, sums.largest, information, error, sums.note))
    return tuple(one.times(scale, constant) for one in found)


def bounds_of(plan: Plan, results: Results | None = None) -> tuple[Bound, ...]:
    """Compute the bounds for the policies of a plan, after the recorded rounds.

    Parameters
    ----------
    plan
        Plan of a simulation.
    results
        Results of the plan. If they have recorded information ratios, the general bound of each
        policy (Lemma 1) is included.

    Returns
    -------
    tuple of Bound
        Empty if no bound is proved; :func:`why_no_bounds` returns the reason.

    Examples
    --------
    >>> plan = Plan.of(["ts-n", "ucb-n"], graph="random(r=0.25)", horizon=1000, trials=10)
    >>> [(bound.name, round(bound.final, 2)) for bound in bounds_of(plan)]
    [('Corollary 2', 44.85)]
    """
    if why_no_bounds(plan.world, getattr(plan, "posterior", None), plan.eligible, plan.answers):
        return ()
    keys = Keys(plan.seed, plan.first_trial, plan.trials)
    rounds, prior = plan.recording.record, plan.world.prior
    general = () if results is None else recorded_bounds(results, prior)
    return bounds_for(plan.policies, plan.process, prior, rounds, keys) + general


def bounds_for(
    policies: Collection[str], process: Process, prior: Posterior, rounds: object, keys: Keys
) -> tuple[Bound, ...]:
    """Compute the :func:`regret_bounds` that are proved for at least one of the policies.

    Parameters
    ----------
    policies
        Texts of the policies.
    process
        Graph process.
    prior
        Prior of the arms.
    rounds
        Rounds in increasing order.
    keys
        Seed and trials of the random graphs for estimates.

    Returns
    -------
    tuple of Bound
    """
    if not any(name.split("(")[0] in ("ids-lp", *WITH_GRAPH) for name in policies):
        return ()
    found = regret_bounds(process, prior, rounds, **asdict(keys))
    return tuple(bound for bound in found if any(map(bound.is_for, policies)))


def recorded_bounds(results: Results, prior: Posterior) -> tuple[Bound, ...]:
    """Compute sqrt(H sum_t mean Psi_t) (Lemma 1) for policies with recorded information ratios.

    Bounds above the number of rounds, times the width of the interval of rewards, are omitted,
    because the regret cannot exceed it. A policy that has regret without information gain has
    unbounded ratios. The ratios contain the scale of the rewards.

    >>> from graphbandits.store import simulate_plan
    >>> policies = ["ts-n", "ucb-n"]
    >>> plan = Plan.of(policies, graph="paper", horizon=10, trials=5, ratios="bound")
    >>> [bound.name for bound in recorded_bounds(simulate_plan(plan), plan.world.prior)]
    ['Lemma 1 (ts-n)', 'Lemma 1 (ucb-n)']
    """
    information, rewards = entropy_of(prior), reward_support(prior)
    most = (rewards.high - rewards.low) * float(results.rounds[-1])
    found = []
    for policy, result in results.policies.items():
        sums = result.ratio_sums
        if sums is not None and np.isfinite(sums.mean).all():
            general = general_bound(sums, information, results.rounds, (policy,))
            if general.final <= most:
                found.append(replace(general, name=f"Lemma 1 ({policy})", with_parameters=True))
    return tuple(found)


def why_no_bounds(
    world: World,
    posterior: Posterior | None = None,
    eligible: object = None,
    answers: object = None,
) -> str:
    """Return the reason why no bound is proved for a world; empty if the bounds hold.

    ``posterior`` is the model that the policies use, if it may differ from the prior of the world.
    ``eligible`` are the eligible arms of the simulation, None if all arms are. ``answers`` are the
    delays and the probability of an outcome, None if all outcomes arrive in the round of the play.

    >>> from graphbandits.posteriors import BetaBernoulli
    >>> from graphbandits.worlds import Bernoulli
    >>> why_no_bounds(Bernoulli(BetaBernoulli.of(2)))
    ''
    >>> why_no_bounds(Bernoulli(BetaBernoulli.of(2), fixed=[0.2, 0.7]))[:35]
    'the means of the arms are fixed, bu'
    """
    if isinstance(world, Changing):
        return CHANGING_MEANS
    if eligible is not None:
        return ELIGIBLE_ARMS
    if answers is not None:
        return LATE_ANSWERS
    if getattr(world, "fixed", None) is not None:
        return FIXED_MEANS
    if posterior is not None and not same_model(posterior, world.prior):
        return OTHER_MODEL
    return why_unsupported(world.prior)


def _statement(sums: LimitSums) -> tuple[str, str]:
    """Return name and note of the bound for TS-N, IDS-N and IDSN-LP."""
    if sums.deterministic:
        return "Corollary 1" if sums.constant else "Theorem 2", ""
    if sums.uniform:
        return "Corollary 2" if sums.constant else "Theorem 3", ""
    if sums.constant:
        note = "For different probabilities only K/2 per round is proved, since G h >= h."
        return "Lemmas 1 and 2", note
    note = (
        "c_t is chi(G_t)/2 in rounds with a 0/1 graph, K / (2 (K r_t + 1 - r_t)) if all other "
        "arms are observed with probability r_t, and K/2 for other probabilities, for which no "
        "smaller bound is proved."
    )
    return "Lemma 1", note


@dataclass(frozen=True)
class BoundVerdict:
    """Comparison of a bound with the mean regret of one policy, after the last round.

    Parameters
    ----------
    bound
        Bound that is proved for the policy.
    policy
        Text of the policy.
    mean
        Mean regret.
    low, high
        Confidence interval of the expected regret.
    verdict
        "below" if ``high`` is at most the bound, "above" if ``low`` is larger than the bound,
        "no clear difference" otherwise, "unknown" if there is only one trial. For an estimated
        bound, the ends of its confidence interval are used.
    """

    bound: Bound
    policy: str
    mean: float
    low: float
    high: float
    verdict: str


def judge_bounds(
    bounds: Iterable[Bound], results: Results, confidence: float = 0.95
) -> list[BoundVerdict]:
    """Compare bounds with results, for all policies of the results for which they are proved.

    Parameters
    ----------
    bounds
        Bounds after the last round of the results.
    results
        Results of a simulation.
    confidence
        Confidence level of the intervals.

    Returns
    -------
    list of BoundVerdict

    Examples
    --------
    >>> from graphbandits.store import simulate_plan
    >>> plan = Plan.of(["ts-n", "ids-lp"], graph="paper", horizon=100, trials=50)
    >>> judged = judge_bounds(bounds_of(plan), simulate_plan(plan))
    >>> [(one.bound.name, one.policy, one.verdict) for one in judged][:2]
    [('Theorem 1', 'ids-lp', 'below'), ('Corollary 1', 'ts-n', 'below')]
    """
    found = []
    for one in bounds:
        if int(one.rounds[-1]) != int(results.rounds[-1]):
            raise InputError(
                f"the bound '{one.name}' is for {one.rounds[-1]} rounds, but the results have "
                f"{results.rounds[-1]} rounds"
            )
        for name in filter(one.is_for, results.policies):
            low, high = results.interval(name, confidence)
            mean = float(results[name].mean[-1])
            verdict = "unknown"
            if not math.isnan(low):
                half = t_quantile(confidence, results.trials) * one.final_error
                above = "above" if low > one.final + half else "no clear difference"
                verdict = "below" if high <= one.final - half else above
            found.append(BoundVerdict(one, name, mean, low, high, verdict))
    return found


def bounds_summary(bounds: Sequence[Bound], results: Results) -> list[dict[str, Any]]:
    """Convert bounds and their verdicts for each policy to JSON values."""
    judged = judge_bounds(bounds, results)
    return [
        {
            "name": bound.name,
            "formula": bound.formula,
            "source": bound.source,
            "note": bound.note,
            "value": bound.final,
            "standard_error": bound.final_error,
            "policies": {
                one.policy: {
                    "mean": one.mean,
                    "interval": [one.low, one.high],
                    "mean_is": one.verdict,
                }
                for one in judged
                if one.bound is bound
            },
        }
        for bound in bounds
    ]
