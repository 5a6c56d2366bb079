"""Regret bounds: theorems, limits of the information ratio, and the bounds of a simulation."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, field, is_dataclass, replace
from typing import Any

import numpy as np

from graphbandits._types import Floats, Ints
from graphbandits.errors import InputError, check_integer, check_positive, check_probability
from graphbandits.graphs import (
    DenseFeedback,
    Feedback,
    Process,
    RandomFeedback,
    RevealedErdosRenyi,
    UniformFeedback,
)
from graphbandits.graphs.feedback import matrices
from graphbandits.graphs.numbers import clique_cover_numbers
from graphbandits.graphs.processes import fixed_feedback
from graphbandits.posteriors import Posterior, is_discounted
from graphbandits.posteriors.base import reward_support
from graphbandits.registry import name_of, parameters_given
from graphbandits.rng import Keys
from graphbandits.rules.gains import entropy
from graphbandits.simulation.plan import Plan
from graphbandits.simulation.results import Results
from graphbandits.simulation.statistics import Moments, t_quantile
from graphbandits.worlds import Changing, World

PAPER = "Liu, Buccapatnam and Shroff (2018)"
EARLIER = "Tossou, Dimitrakakis and Dubhashi (2017), for TS-N"
#: Formula of each bound, by name.
FORMULAS = {
    "Theorem 1": "sqrt(H K T / 2)",
    "Theorem 2": "sqrt(H sum_t chi(G_t) / 2)",
    "Corollary 1": "sqrt(H chi(G) T / 2)",
    "earlier bound": "sqrt(H max_t chi(G_t) T / 2)",
    "Theorem 3": "sqrt(H sum_t K / (2 (K r_t + 1 - r_t)))",
    "Corollary 2": "sqrt(H K T / (2 (K r + 1 - r)))",
    "Lemmas 1 and 2": "sqrt(H K T / 2)",
    "Lemma 1": "sqrt(H sum_t c_t)",
}
#: Policies of Proposition 2, whose ratio is at most psi_t; ts-n-sampled plays like ts-n.
WITH_GRAPH = ("ts-n", "ts-n-sampled", "ids-n", "idsn-lp")


@dataclass(frozen=True, eq=False)
class Bound:
    """Upper bound on the Bayesian regret of some policies, after each of several rounds.

    The Bayesian regret is averaged over means of the arms from the prior of the policies.

    Attributes
    ----------
    name : name of the bound, such as "Theorem 1"
    formula : formula of the bound
    policies : names of the policies for which the bound is proved
    rounds : rounds, in increasing order
    values : bound after each round
    error : standard error of ``values`` if they are estimated from random graphs; None if exact
    note : remark about the computation
    source : publication of the bound
    with_parameters : whether ``policies`` has full texts with parameters instead of names

    Examples
    --------
    >>> bound = corollary_1(2, entropy=np.log(5), rounds=[1000])
    >>> bound.name, bound.formula, bound.values.round(2)
    ('Corollary 1', 'sqrt(H chi(G) T / 2)', array([40.12]))
    >>> bound.is_for("ids-n(gain=joint)"), bound.is_for("ucb-n")
    (True, False)
    """

    name: str
    formula: str
    policies: tuple[str, ...]
    rounds: Ints
    values: Floats
    error: Floats | None = None
    note: str = ""
    source: str = PAPER
    with_parameters: bool = False

    @property
    def exact(self) -> bool:
        return self.error is None

    @property
    def final(self) -> float:
        return float(self.values[-1])

    @property
    def final_error(self) -> float:
        """Standard error of the bound after the last round; 0 if it is exact."""
        return 0.0 if self.error is None else float(self.error[-1])

    def is_for(self, policy: str) -> bool:
        """Check whether the bound is proved for a policy, given as text."""
        name = policy if self.with_parameters else policy.split("(")[0].strip()
        return name in self.policies

    def times(self, scale: float, note: str) -> Bound:
        """Return the bound for rewards of another scale than [0, 1], with a note about it.

        ``scale`` is high - low for rewards in [low, high], and 2 sigma for rewards with the
        sub-Gaussian constant sigma.
        """
        if scale == 1.0:
            return self
        return replace(
            self,
            formula=f"{scale:.6g} {self.formula}",
            values=scale * self.values,
            error=None if self.error is None else scale * self.error,
            note=f"{note} {self.note}".strip(),
        )


def theorem_1(arms: int, entropy: float, rounds: object) -> Bound:
    """Bound for IDS-LP with any feedback: sqrt(H K T / 2). Theorem 1 of the paper.

    Parameters
    ----------
    arms
        Number of arms, K.
    entropy
        Entropy H of the best arm under the prior, in nats; log K if all arms have the same prior.
    rounds
        Rounds T, in increasing order.

    Examples
    --------
    >>> theorem_1(5, np.log(5), rounds=[250, 1000]).values.round(2)
    array([31.72, 63.43])
    """
    at = check_rounds(rounds)
    total = np.multiply(at, check_integer(arms, "arms") / 2.0)
    return bound("Theorem 1", at, total, entropy, policies=("ids-lp",))


def theorem_2(covers: object, entropy: float, rounds: object = None) -> Bound:
    """Bound for TS-N, IDS-N and IDSN-LP on 0/1 graphs: sqrt(H sum_t chi(G_t) / 2). Theorem 2.

    Parameters
    ----------
    covers
        Clique cover number chi(G_t) of each round, or one row per trial if trials have different
        graphs. Then the bound is sqrt(H E[sum_t chi(G_t)] / 2), by Jensen's inequality.
    entropy
        As in :func:`theorem_1`.
    rounds
        Rounds in increasing order; None for all rounds of ``covers``.

    Examples
    --------
    >>> theorem_2([2, 1, 5], np.log(5)).values.round(3)
    array([1.269, 1.554, 2.537])
    """
    chi = _by_round(covers, "clique cover numbers", 1.0)
    at = check_rounds(rounds, chi.shape[1])
    total = np.cumsum(chi / 2.0, axis=1).mean(axis=0)[at - 1]
    return bound("Theorem 2", at, total, entropy)


def corollary_1(cover: float, entropy: float, rounds: object) -> Bound:
    """Bound of Theorem 2 for a fixed graph: sqrt(H chi(G) T / 2). Corollary 1 of the paper.

    Parameters
    ----------
    cover
        Clique cover number chi(G).
    entropy, rounds
        As in :func:`theorem_1`.
    """
    at = check_rounds(rounds)
    total = _by_round([cover], "clique cover numbers", 1.0)[0] / 2.0 * at
    return bound("Corollary 1", at, total, entropy)


def earlier_bound(covers: object, entropy: float, rounds: object = None) -> Bound:
    """Earlier bound for TS-N, at least as large as Theorem 2: sqrt(H max_t chi(G_t) T / 2).

    Tossou, Dimitrakakis and Dubhashi (2017). By Theorem 2 it also holds for IDS-N and IDSN-LP.
    The parameters are those of :func:`theorem_2`.
    """
    chi = _by_round(covers, "clique cover numbers", 1.0)
    at = check_rounds(rounds, chi.shape[1])
    largest = np.maximum.accumulate(chi, axis=1).mean(axis=0)[at - 1]
    return bound("earlier bound", at, largest / 2.0 * at, entropy)


def theorem_3(arms: int, rates: object, entropy: float, rounds: object = None) -> Bound:
    """Bound for TS-N, IDS-N and IDSN-LP with random feedback. Theorem 3 of the paper.

    sqrt(H sum_t K / (2 (K r_t + 1 - r_t))), if every other arm is observed with probability r_t.

    Parameters
    ----------
    arms
        Number of arms, K.
    rates
        Probability r_t of each round, or one row per trial if trials differ.
    entropy
        As in :func:`theorem_1`.
    rounds
        Rounds in increasing order; None for all rounds of ``rates``.

    Examples
    --------
    >>> theorem_3(5, [0.0, 0.25, 1.0], np.log(5)).values.round(3)
    array([2.006, 2.457, 2.615])
    """
    r = _by_round(rates, "probabilities r", 0.0, 1.0)
    at = check_rounds(rounds, r.shape[1])
    total = np.cumsum(rate_limit(arms, r), axis=1).mean(axis=0)[at - 1]
    return bound("Theorem 3", at, total, entropy)


def corollary_2(arms: int, rate: float, entropy: float, rounds: object) -> Bound:
    """Bound of Theorem 3 for a fixed r: sqrt(H K T / (2 (K r + 1 - r))). Corollary 2 of the paper.

    Parameters
    ----------
    arms
        Number of arms, K.
    rate
        Probability r.
    entropy, rounds
        As in :func:`theorem_1`.
    """
    at = check_rounds(rounds)
    total = rate_limit(arms, check_probability(rate, "r")) * at
    return bound("Corollary 2", at, total, entropy)


def general_bound(
    sums: object, entropy: float, rounds: object, policies: tuple[str, ...] = ()
) -> Bound:
    """Bound for any policy from its information ratios: sqrt(H sum_t E Psi_t). Lemma 1.

    Parameters
    ----------
    sums
        Sum of Psi_s over s <= t after each of the rounds. With one row per trial, the mean is used
        and the bound has a standard error.
    entropy, rounds
        As in :func:`theorem_1`.
    policies
        Policies to which the information ratios belong.

    Examples
    --------
    >>> general_bound([0.5, 1.0], np.log(5), rounds=[1, 2]).values.round(3)  # Psi_t = 1/2
    array([0.897, 1.269])
    """
    at = check_rounds(rounds)
    if not isinstance(sums, Moments):
        sums = Moments.of(_by_round(sums, "sums of information ratios", 0.0))
    if len(sums.mean) != len(at):
        raise InputError(
            f"sums must have one sum of information ratios per round: expected {len(at)}, got "
            f"{len(sums.mean)}"
        )
    # one trial has no standard error
    error = None if np.isnan(sums.standard_error).all() else sums.standard_error
    general = bound("Lemma 1", at, sums.mean, entropy, error, policies=policies)
    return replace(general, formula="sqrt(H sum_t E[Psi_t])")


def bound(
    name: str,
    rounds: Ints,
    total: Floats,
    entropy: float,
    error: Floats | None = None,
    note: str = "",
    policies: tuple[str, ...] = WITH_GRAPH,
) -> Bound:
    """Return the bound sqrt(H total); ``total`` bounds the sum of ratios until each round."""
    known = isinstance(entropy, int | float | np.floating) and not isinstance(entropy, bool)
    if not known or not 0.0 <= float(entropy) < math.inf:
        raise InputError(
            "entropy (of the best arm, in nats) must be a finite number of at least 0, not "
            f"{entropy!r}"
        )
    values: Floats = np.sqrt(entropy * total)
    if error is not None:  # sqrt(H x) has the slope sqrt(H x) / (2 x)
        error = np.divide(error * values, 2.0 * total, where=total > 0.0, out=np.zeros_like(values))
    source = EARLIER if name == "earlier bound" else PAPER
    return Bound(name, FORMULAS[name], policies, rounds, values, error, note, source)


def rate_limit(arms: int, rate: Floats | float) -> Floats:
    """Return K / (2 (K r + 1 - r)), the bound on the ratio of a round in Theorem 3."""
    count = check_integer(arms, "arms")
    return np.asarray(count / (2.0 * (count * np.asarray(rate) + 1.0 - np.asarray(rate))))


def check_rounds(rounds: object, last: int | None = None) -> Ints:
    """Check that rounds are increasing whole numbers; None means all rounds up to ``last``."""
    if rounds is None and last is not None:
        return np.arange(1, last + 1)
    array = np.atleast_1d(np.asarray(rounds))
    valid = array.ndim == 1 and array.size and array.dtype.kind in "iu"
    if not valid or array[0] < 1 or (np.diff(array.astype(np.int64)) <= 0).any():
        raise InputError(
            f"rounds must be whole numbers of at least 1 in increasing order, not {rounds!r}"
        )
    if last is not None and array[-1] > last:
        raise InputError(f"rounds must be at most {last}; got round {array[-1]}")
    return array.astype(np.int64)


def _by_round(values: object, what: str, least: float, most: float = math.inf) -> Floats:
    """Check for one number per round; return one row for all trials or one per trial."""
    try:
        array = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        array = np.empty(0)
    array = array[None] if array.ndim == 1 else array
    inside = (array >= least) & (array <= most) & np.isfinite(array)  # NaN is outside
    if array.ndim != 2 or not array.size or not inside.all():
        span = f"in [{least:g}, {most:g}]" if most < math.inf else f"of at least {least:g}"
        raise InputError(
            f"{what} must be numbers {span}, one per round, or one row per trial; got {values!r}"
        )
    return array


#: Most matrix entries, K^2 per graph, of all distinct graphs whose clique cover is computed.
ENTRIES = 10**6
#: Most arms of graphs whose clique cover is computed; above, chi <= K is used.
MOST_ARMS = 2000
#: Most random graphs from which E chi is estimated; ``ENTRIES`` may reduce the number.
DRAWS = 1000
#: Up to this many arms, E chi is exact: all graphs are enumerated (1024 for five arms).
ALL_GRAPHS = 5


def ratio_limit(graph: Feedback, scale: float = 1.0) -> Floats:
    """Return an upper bound on psi_t = (alpha.Delta)^2 / (alpha.Gh) on a graph, one or per trial.

    The bound is chi(G)/2 for a graph of entries 0 and 1 (proof of Theorem 2),
    K / (2 (K r + 1 - r)) if every other arm is observed with probability r (Theorem 3), and K/2 for
    any other matrix of probabilities (Lemma 2). Liu, Buccapatnam and Shroff (2018).

    Parameters
    ----------
    graph
        Feedback of one round.
    scale
        Constant of the rewards, whose square is a factor of the bound, as in :meth:`Bound.times`.

    Examples
    --------
    >>> from graphbandits.graphs import as_process
    >>> ratio_limit(as_process("paper").feedback), ratio_limit(UniformFeedback(0.25, count=5))
    (array([1.]), array([1.25]))
    """
    if isinstance(graph, UniformFeedback):
        limit = rate_limit(graph.arms, graph.r)
    elif graph.deterministic:
        limit = clique_cover_numbers(graph) / 2.0
    else:
        limit = np.array([graph.arms / 2.0])
    return limit if scale == 1.0 else scale**2 * limit


@dataclass(frozen=True, eq=False)
class LimitSums:
    """Sum of the ratio limits of rounds s <= t, after each of the requested rounds t.

    ``total`` is the mean over trials, and ``error`` its standard error if it is estimated.
    ``largest`` is t times the mean of the largest limit up to round t, None if unknown.
    """

    total: Floats
    largest: Floats | None
    deterministic: bool  # every graph has entries 0 and 1
    uniform: bool  # in every round all other arms are observed with one probability
    constant: bool = False
    error: Floats | None = None
    largest_error: Floats | None = None
    note: str = ""


def limit_sums(process: Process, rounds: Ints, keys: Keys) -> LimitSums:
    """Return the sums of ratio limits of a process, over the trials of ``keys``.

    They are exact for fixed feedback, given sequences, r uniform on an interval, and random graphs
    of few arms. The graphs of any other process are evaluated round by round.
    """
    fixed = fixed_feedback(process)
    if fixed is not None:
        return _constant(fixed, rounds)
    if isinstance(process, RandomFeedback) and not process.shared:
        return _random(process, rounds)
    if isinstance(process, RevealedErdosRenyi):
        if process.arms <= ALL_GRAPHS and not process.shared:
            return _over_all_graphs(process, rounds)
        if not process.shared or rounds[-1] > _most_graphs(process.arms):
            return _over_some_graphs(process, rounds, keys)
    return _round_by_round(process, rounds, keys)


def _constant(graph: Feedback, rounds: Ints) -> LimitSums:
    total = ratio_limit(graph) * rounds
    return LimitSums(
        total, total, graph.deterministic, isinstance(graph, UniformFeedback), constant=True
    )


def _random(process: RandomFeedback, rounds: Ints) -> LimitSums:
    """Return the sums for r_t from a list, or the mean for r_t drawn uniformly."""
    arms = process.arms
    if isinstance(process.r, tuple):
        limits = rate_limit(arms, np.array(process.r))
        total = np.cumsum(limits)[rounds - 1]
        largest: Floats = np.maximum.accumulate(limits)[rounds - 1] * rounds
        return LimitSums(total, largest, process.deterministic, uniform=True)
    # K/(2 (K-1) (high-low)) log((1+(K-1) high) / (1+(K-1) low)), stable if high is close to low
    base = 1.0 + (arms - 1) * process.low
    x = (arms - 1) * (process.high - process.low) / base
    mean = arms / (2.0 * base) * (math.log1p(x) / x if x > 0.0 else 1.0)
    return LimitSums(np.multiply(rounds, mean), None, process.deterministic, uniform=True)


def _over_all_graphs(process: RevealedErdosRenyi, rounds: Ints) -> LimitSums:
    """Compute E chi and the expected maximum of t values of chi by enumerating all graphs."""
    arms = process.arms
    p = process.p**2 if process.directed else process.p  # probability of a mutual edge
    pairs = list(itertools.combinations(range(arms), 2))
    has_edge = np.array(list(itertools.product((0.0, 1.0), repeat=len(pairs))))
    matrix = np.tile(np.eye(arms), (len(has_edge), 1, 1))
    for edge, (i, j) in enumerate(pairs):
        matrix[:, i, j] = matrix[:, j, i] = has_edge[:, edge]
    edges = has_edge.sum(axis=1)
    weight = p**edges * (1.0 - p) ** (len(pairs) - edges)
    chi = clique_cover_numbers(DenseFeedback(matrix))
    below = np.array([weight[chi < count].sum() for count in range(1, arms + 1)])
    largest = (1.0 - below ** rounds[:, None]).sum(axis=1)  # sum of P(largest >= count)
    mean = float(weight @ chi)
    return LimitSums(np.multiply(rounds, mean / 2.0), largest / 2.0 * rounds, True, False)


def _over_some_graphs(process: RevealedErdosRenyi, rounds: Ints, keys: Keys) -> LimitSums:
    """Estimate E chi, which is the same in all rounds; a sample does not give the largest chi."""
    draws = max(2, min(DRAWS, _most_graphs(process.arms)))
    if process.shared:
        graphs = [process.round(t, Keys(keys.seed)) for t in range(1, draws + 1)]
    else:
        graphs = [process.round(1, Keys(keys.seed, 0, draws))]
    chi = np.concatenate([clique_cover_numbers(graph) for graph in graphs])
    mean, error = float(chi.mean()), float(chi.std(ddof=1)) / math.sqrt(draws)
    total, error_of_total = np.multiply(rounds, mean / 2.0), np.multiply(rounds, error / 2.0)
    note = f"E chi is estimated from {draws} random graphs."
    return LimitSums(total, None, True, False, error=error_of_total, note=note)


def _round_by_round(process: Process, rounds: Ints, keys: Keys) -> LimitSums:
    """Evaluate the graphs of each round, for at least two trials within the limit of graphs."""
    last = int(rounds[-1])
    count = max(2, min(keys.trials, _most_graphs(process.arms) // last))
    selected = Keys(keys.seed, keys.first_trial, count)
    covers = _Covers(process.arms)
    limits = np.empty((count, last))
    deterministic = uniform = shared = True
    previous: Feedback | None = None
    for t in range(1, last + 1):
        graph = process.round(t, selected)
        if graph is previous:
            limits[:, t - 1] = limits[:, t - 2]
            continue
        previous = graph
        limits[:, t - 1] = covers.limits(graph, count)
        deterministic = deterministic and graph.deterministic
        uniform = uniform and isinstance(graph, UniformFeedback)
        shared = shared and graph.shared
    until = np.cumsum(limits, axis=1)[:, rounds - 1]
    largest = np.maximum.accumulate(limits, axis=1)[:, rounds - 1] * rounds
    found = LimitSums(
        until.mean(axis=0), largest.mean(axis=0), deterministic, uniform, note=covers.note
    )
    if shared:  # exact
        return found
    error, largest_error = (x.std(axis=0, ddof=1) / math.sqrt(count) for x in (until, largest))
    note = f"Estimated from the graphs of {count} trials. {covers.note}".strip()
    return replace(found, error=error, largest_error=largest_error, note=note)


def _most_graphs(arms: int) -> int:
    """Return the largest number of distinct graphs whose clique cover is computed."""
    return ENTRIES // arms**2


@dataclass
class _Covers:
    arms: int
    known: dict[bytes, float] = field(default_factory=dict)
    left_out: int = 0

    @property
    def note(self) -> str:
        """Number of graphs whose limit was not computed, as a text."""
        if not self.left_out:
            return ""
        which = "1 graph" if self.left_out == 1 else f"{self.left_out} graphs"
        return f"chi of {which} was not computed; the upper bound {self.arms} is used."

    def limits(self, graph: Feedback, trials: int) -> Floats:
        """Return one limit for all trials, or one per trial."""
        if isinstance(graph, UniformFeedback) or not graph.deterministic:
            return ratio_limit(graph)
        if self.arms > MOST_ARMS:
            self.left_out += 1
            return np.array([self.arms / 2.0])
        found = []
        for matrix in matrices(graph, trials):
            key = np.packbits(matrix > 0.0).tobytes()
            if key not in self.known and len(self.known) < max(2, _most_graphs(self.arms)):
                self.known[key] = float(clique_cover_numbers(DenseFeedback(matrix))[0]) / 2.0
            self.left_out += key not in self.known
            found.append(self.known.get(key, self.arms / 2.0))
        return np.array(found)


def sub_gaussian(posterior: Posterior) -> float | None:
    """Return the declared sub-Gaussian constant of a posterior; None if there is none."""
    found: Any = getattr(posterior, "sub_gaussian", None)
    if found is None:
        return None
    return check_positive(found, f"{type(posterior).__name__}: sub_gaussian")


def why_unsupported(posterior: Posterior) -> str:
    """Return the reason why no bound is proved for a posterior; empty if the bounds hold."""
    if is_discounted(posterior):
        return "the bounds are proved for constant means, but this posterior is discounted"
    if reward_support(posterior).bounded or sub_gaussian(posterior) is not None:
        return ""
    return (
        "the bounds are proved for bounded rewards and for rewards with a sub-Gaussian constant, "
        f"and the posterior '{name_of(posterior)}' has neither"
    )


def reward_scale(posterior: Posterior) -> float:
    """Return the factor of the regret bounds: 2 sigma, for rewards that are sigma-sub-Gaussian.

    This is high - low for rewards in [low, high] (Hoeffding's lemma), and twice the attribute
    ``sub_gaussian`` of the posterior otherwise. Bounds on ratios are multiplied by its square.
    """
    if reason := why_unsupported(posterior):
        raise InputError(f"no regret bounds: {reason}")
    rewards = reward_support(posterior)
    return rewards.high - rewards.low if rewards.bounded else 2.0 * (sub_gaussian(posterior) or 0.0)


def scale_note(posterior: Posterior) -> str:
    """Return the constant of the rewards as a sentence; empty if the factor is 1."""
    scale, rewards = reward_scale(posterior), reward_support(posterior)
    if scale == 1.0:
        return ""
    why = f"sub-Gaussian with the constant sigma = {scale / 2.0:g}, and 2 sigma is the factor"
    if rewards.bounded:
        why = f"from {rewards.low:g} to {rewards.high:g}"
    return f"The bound for rewards in [0, 1] is multiplied by {scale:g}: rewards are {why}."


def same_model(one: Posterior, other: Posterior) -> bool:
    """Return whether two posteriors are equal, apart from their accuracy."""
    if type(one) is not type(other):
        return False
    mine, its = (
        (parameters_given(model) if is_dataclass(model) else vars(model)) | {"accuracy": None}
        for model in (one, other)
    )
    return mine.keys() == its.keys() and all(np.array_equal(mine[n], its[n]) for n in mine)


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
    """Return the entropy H of the best arm under the prior, in nats; log K for equal priors.

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

    They are multiplied by :func:`~graphbandits.theory.bounds.reward_scale`; the note of a bound
    states it. If each trial draws its own graphs, the bound is sqrt(H E[sum_t ...]), by Jensen's
    inequality. The expectation is exact if there is a formula, and otherwise estimated from random
    graphs. Liu, Buccapatnam and Shroff (2018).

    Parameters
    ----------
    process
        Graph process.
    posterior
        Prior of the arms.
    rounds
        Rounds in increasing order.
    seed, first_trial, trials
        Seed and trials of the random graphs for estimates; large graphs have fewer trials.

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
    if why_no_bounds(plan.world, plan.posterior, plan.eligible, plan.answers):
        return ()
    keys = Keys(plan.seed, plan.first_trial, plan.trials)
    rounds, prior = plan.recording.record, plan.world.prior
    general = () if results is None else recorded_bounds(results, prior)
    return bounds_for(plan.policies, plan.process, prior, rounds, keys) + general


def bounds_for(
    policies: Collection[str], process: Process, prior: Posterior, rounds: object, keys: Keys
) -> tuple[Bound, ...]:
    """Compute the :func:`regret_bounds` that are proved for at least one of the policies.

    ``keys`` are the seed and the trials of the random graphs for estimates.
    """
    if not any(name.split("(")[0] in ("ids-lp", *WITH_GRAPH) for name in policies):
        return ()
    found = regret_bounds(process, prior, rounds, **asdict(keys))
    return tuple(bound for bound in found if any(map(bound.is_for, policies)))


def recorded_bounds(results: Results, prior: Posterior) -> tuple[Bound, ...]:
    """Compute sqrt(H sum_t mean Psi_t) (Lemma 1) for policies with recorded information ratios.

    Bounds above the largest possible regret (rounds times the width of the interval of rewards) are
    omitted: the ratios of a policy that has regret without information gain are unbounded.
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
    ``eligible`` and ``answers`` are those of the plan.
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

    Attributes
    ----------
    bound : bound that is proved for the policy
    policy : text of the policy
    mean : mean regret
    low, high : confidence interval of the expected regret
    verdict : "below" (``high`` is at most the bound), "above" (``low`` is larger than the bound),
        "no clear difference", or "unknown" for one trial. For an estimated bound, the ends of its
        confidence interval are used.
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

    Examples
    --------
    >>> from graphbandits.simulation.run import simulate_plan
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
        half = t_quantile(confidence, results.trials) * one.final_error
        for name in filter(one.is_for, results.policies):
            low, high = results.interval(name, confidence)
            verdict = "unknown" if math.isnan(low) else "no clear difference"
            if low > one.final + half:
                verdict = "above"
            elif high <= one.final - half:
                verdict = "below"
            mean = float(results[name].mean[-1])
            found.append(BoundVerdict(one, name, mean, low, high, verdict))
    return found


def bounds_summary(bounds: Sequence[Bound], results: Results) -> list[dict[str, Any]]:
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
                for one in judge_bounds([bound], results)
            },
        }
        for bound in bounds
    ]
