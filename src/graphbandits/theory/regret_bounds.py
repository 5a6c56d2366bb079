"""The bounds that hold for a simulation, and what its results say of them."""

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
from graphbandits.results import Results
from graphbandits.results.differences import Moments, t_quantile
from graphbandits.rng import Keys
from graphbandits.theory.bounds import WITH_GRAPH, Bound, bound, general_bound, rounds_of, theorem_1
from graphbandits.theory.ratio_limits import Sums, sums_of
from graphbandits.worlds import World

#: Why a world whose means are fixed has no bounds.
FIXED_MEANS = (
    "the means of the arms are fixed: the bounds are on the regret averaged over means that are "
    "drawn from the prior"
)


def entropy_of(posterior: Posterior) -> float:
    """H: the entropy of which arm is best, under the prior, in nats; log K for arms alike.

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
    """The bounds that are proved for a process, after each of the ``rounds``.

    Theorem 1 always. For TS-N, IDS-N and IDSN-LP: Theorem 2 and the earlier bound where all graphs
    are 0/1 (Corollary 1 if the graph stays the same), Theorem 3 where all others are seen with
    probability r_t (Corollary 2 if it stays the same), and K/2 a round for any other
    probabilities. Liu, Buccapatnam and Shroff (2018). Where each trial draws graphs of its own it
    is sqrt(H E[sum_t ...]), by Jensen's inequality: with the expectation where there is a
    formula, else estimated from ``trials`` of the ``seed``, or as many as ``limits.ENTRIES``
    allows.

    >>> from graphbandits.graphs import as_process
    >>> from graphbandits.posteriors import BetaBernoulli
    >>> found = regret_bounds(as_process("paper"), BetaBernoulli.of(5), [1000])
    >>> [(bound.name, round(bound.final, 2)) for bound in found]
    [('Theorem 1', 63.43), ('Corollary 1', 40.12), ('earlier bound', 40.12)]
    """
    if reason := why_unfit(posterior):
        raise InputError(f"no regret bounds: {reason}")
    if process.arms != posterior.arms:
        raise InputError(f"the graph has {process.arms} arms, the prior {posterior.arms}")
    at = rounds_of(rounds)
    if process.rounds is not None and at[-1] > process.rounds:
        raise InputError(
            f"the graph process serves {process.rounds} rounds; there is no bound for round "
            f"{at[-1]}"
        )
    information = entropy_of(posterior)
    sums = sums_of(process, at, Keys(seed, first_trial, trials))
    name, note = _statement(sums)
    note = f"{note} {sums.note}".strip()
    found = [
        theorem_1(process.arms, information, at),
        bound(name, at, sums.total, information, sums.error, note),
    ]
    if sums.deterministic and sums.largest is not None:
        error = sums.largest_error
        found.append(bound("earlier bound", at, sums.largest, information, error, sums.note))
    return tuple(found)


def bounds_of(plan: Plan, results: Results | None = None) -> tuple[Bound, ...]:
    """The bounds for the policies of a plan, after the rounds that its results record.

    None where none is proved: :func:`why_no_bounds` says why. ``results`` with recorded ratios add
    the general bound of each policy (Lemma 1).

    >>> plan = Plan.of(["ts-n", "ucb-n"], graph="random(r=0.25)", horizon=1000, trials=10)
    >>> [(bound.name, round(bound.final, 2)) for bound in bounds_of(plan)]
    [('Corollary 2', 44.85)]
    """
    if why_no_bounds(plan.world):
        return ()
    keys = Keys(plan.seed, plan.first_trial, plan.trials)
    rounds, prior = plan.recording.record, plan.world.prior
    general = () if results is None else recorded_bounds(results, prior)
    return bounds_for(plan.policies, plan.process, prior, rounds, keys) + general


def bounds_for(
    policies: Collection[str], process: Process, prior: Posterior, rounds: object, keys: Keys
) -> tuple[Bound, ...]:
    """The :func:`regret_bounds` that are for one of the policies; estimates are from ``keys``."""
    if not any(name.split("(")[0] in ("ids-lp", *WITH_GRAPH) for name in policies):
        return ()
    found = regret_bounds(process, prior, rounds, **asdict(keys))
    return tuple(bound for bound in found if any(map(bound.is_for, policies)))


def recorded_bounds(results: Results, prior: Posterior) -> tuple[Bound, ...]:
    """Lemma 1 for each policy whose information ratios were recorded: sqrt(H sum_t mean Psi_t).

    One that is above the number of rounds is left out, for no regret is: a policy that loses where
    nothing is to be learned has ratios without end.

    >>> from graphbandits.store import simulate_plan
    >>> policies = ["ts-n", "ucb-n"]
    >>> plan = Plan.of(policies, graph="paper", horizon=10, trials=5, ratios="bound")
    >>> [bound.name for bound in recorded_bounds(simulate_plan(plan), plan.world.prior)]
    ['Lemma 1 (ts-n)', 'Lemma 1 (ucb-n)']
    """
    information = entropy_of(prior)
    found = []
    for policy, result in results.policies.items():
        sums = result.ratio_sums
        if sums is None and result.ratios is not None:
            sums = Moments.of(result.ratios.ratio_sum)
        if sums is not None and np.isfinite(sums.mean).all():
            general = general_bound(sums, information, results.rounds, (policy,))
            if general.final <= results.rounds[-1]:
                found.append(replace(general, name=f"Lemma 1 ({policy})", whole=True))
    return tuple(found)


def why_no_bounds(world: World) -> str:
    """Why nothing is proved in a world, in words; empty where the bounds hold.

    >>> from graphbandits.posteriors import BetaBernoulli
    >>> from graphbandits.worlds import Bernoulli
    >>> why_no_bounds(Bernoulli(BetaBernoulli.of(2)))
    ''
    >>> why_no_bounds(Bernoulli(BetaBernoulli.of(2), fixed=[0.2, 0.7]))[:35]
    'the means of the arms are fixed: th'
    """
    if getattr(world, "fixed", None) is not None:
        return FIXED_MEANS
    return why_unfit(world.prior)


def why_unfit(posterior: Posterior) -> str:
    """Why nothing is proved for a posterior; empty where the bounds hold."""
    rewards = posterior.outcomes
    if rewards is not None and all(0.0 <= reward <= 1.0 for reward in rewards):
        return ""
    return "they are proved for rewards in [0, 1], and this posterior does not promise these"


def _statement(sums: Sums) -> tuple[str, str]:
    """Name and note of the bound of TS-N, IDS-N and IDSN-LP."""
    if sums.deterministic:
        return "Corollary 1" if sums.constant else "Theorem 2", ""
    if sums.uniform:
        return "Corollary 2" if sums.constant else "Theorem 3", ""
    if sums.constant:
        note = "For probabilities that differ only K/2 a round is proved, since G h >= h."
        return "Lemmas 1 and 2", note
    note = (
        "c_t is chi(G_t)/2 in rounds whose graph is 0/1, K / (2 (K r_t + 1 - r_t)) where all "
        "others are seen with probability r_t, and K/2 for other probabilities, of which no more "
        "is proved."
    )
    return "Lemma 1", note


@dataclass(frozen=True)
class BoundVerdict:
    """A bound beside the mean regret of one policy that it is for, after the last round.

    ``verdict``: "below" (the whole interval [low, high] of the expected regret is at most the
    bound, or the lower end of its interval where it is an estimate), "above" (all of it is more),
    "no clear difference" (neither), "unknown" (one trial has no interval).
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
    """Hold bounds against the regrets found, each for all policies of the results it is for.

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
                f"the bound '{one.name}' is for {one.rounds[-1]} rounds, the results have "
                f"{results.rounds[-1]}"
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
    """Bounds as plain numbers, each with the verdict on each policy that it is for."""
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
