"""Upper bounds on the expected regret: the theorems of the paper, as numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from graphbandits._types import Floats, Ints
from graphbandits.errors import InputError, check_integer, check_probability
from graphbandits.results.differences import Moments

PAPER = "Liu, Buccapatnam and Shroff (2018)"
EARLIER = "Tossou, Dimitrakakis and Dubhashi (2017), for TS-N"
#: The formula of each bound, by its name.
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
#: The policies of Proposition 2, whose ratio is at most psi_t; a sampled TS-N plays as TS-N does.
WITH_GRAPH = ("ts-n", "ts-n-sampled", "ids-n", "idsn-lp")


@dataclass(frozen=True, eq=False)
class Bound:
    """What the expected regret of some ``policies`` cannot exceed, after each of the ``rounds``.

    It is on the Bayesian regret: averaged over means of the arms that are drawn from the prior
    which the policies start from. ``error`` is the standard error of ``values`` where they are an
    estimate, from some of the graphs that a process draws; else None.

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
    whole: bool = False  # whether policies are named by their whole texts, parameters and all

    @property
    def exact(self) -> bool:
        """Whether the values are the bound itself, and not an estimate of it."""
        return self.error is None

    @property
    def final(self) -> float:
        """The bound after the last round."""
        return float(self.values[-1])

    @property
    def final_error(self) -> float:
        """Its standard error; 0 where it is exact."""
        return 0.0 if self.error is None else float(self.error[-1])

    def is_for(self, policy: str) -> bool:
        """Whether it is proved for a policy, whatever the parameters that its text gives."""
        name = policy if self.whole else policy.split("(")[0].strip()
        return name in self.policies


def theorem_1(arms: int, entropy: float, rounds: object) -> Bound:
    """IDS-LP, whatever the feedback: sqrt(H K T / 2). Theorem 1 of the paper.

    ``entropy`` is H, that of the best arm under the prior, in nats: log K for arms alike.

    >>> theorem_1(5, np.log(5), rounds=[250, 1000]).values.round(2)
    array([31.72, 63.43])
    """
    at = rounds_of(rounds)
    total = np.multiply(at, check_integer(arms, "arms") / 2.0)
    return bound("Theorem 1", at, total, entropy, policies=("ids-lp",))


def theorem_2(covers: object, entropy: float, rounds: object = None) -> Bound:
    """TS-N, IDS-N and IDSN-LP on 0/1 graphs: sqrt(H sum_t chi(G_t) / 2). Theorem 2 of the paper.

    ``covers`` has chi(G_t), the clique cover number, of each round; with one row for each trial,
    where trials have graphs of their own, it is sqrt(H E[sum_t chi(G_t)] / 2), by Jensen's
    inequality. ``rounds`` are all of them unless given.

    >>> theorem_2([2, 1, 5], np.log(5)).values.round(3)
    array([1.269, 1.554, 2.537])
    """
    chi = _by_round(covers, "clique cover numbers", 1.0)
    at = rounds_of(rounds, chi.shape[1])
    total = np.cumsum(chi / 2.0, axis=1).mean(axis=0)[at - 1]
    return bound("Theorem 2", at, total, entropy)


def corollary_1(cover: float, entropy: float, rounds: object) -> Bound:
    """Theorem 2 where the graph stays the same: sqrt(H chi(G) T / 2). Corollary 1 of the paper.

    >>> corollary_1(1, np.log(4), rounds=[100]).values.round(3)  # all is seen
    array([8.326])
    """
    at = rounds_of(rounds)
    total = _by_round([cover], "clique cover numbers", 1.0)[0] / 2.0 * at
    return bound("Corollary 1", at, total, entropy)


def earlier_bound(covers: object, entropy: float, rounds: object = None) -> Bound:
    """The bound of TS-N before Theorem 2: sqrt(H max_t chi(G_t) T / 2), the larger of the two.

    Tossou, Dimitrakakis and Dubhashi (2017). By Theorem 2, which is at most as large, IDS-N and
    IDSN-LP keep to it too. ``covers`` and ``rounds`` are those of :func:`theorem_2`.

    >>> earlier_bound([2, 1, 5], np.log(5)).values.round(3)
    array([1.269, 1.794, 3.474])
    """
    chi = _by_round(covers, "clique cover numbers", 1.0)
    at = rounds_of(rounds, chi.shape[1])
    largest = np.maximum.accumulate(chi, axis=1).mean(axis=0)[at - 1]
    return bound("earlier bound", at, largest / 2.0 * at, entropy)


def theorem_3(arms: int, rates: object, entropy: float, rounds: object = None) -> Bound:
    """TS-N, IDS-N and IDSN-LP where every other arm is seen with probability r_t. Theorem 3.

    sqrt(H sum_t K / (2 (K r_t + 1 - r_t))). ``rates`` has r_t of each round, with one row for each
    trial where they differ; ``rounds`` are all of them unless given.

    >>> theorem_3(5, [0.0, 0.25, 1.0], np.log(5)).values.round(3)
    array([2.006, 2.457, 2.615])
    """
    at_most = _by_round(rates, "probabilities r", 0.0, 1.0)
    at = rounds_of(rounds, at_most.shape[1])
    total = np.cumsum(rate_limit(arms, at_most), axis=1).mean(axis=0)[at - 1]
    return bound("Theorem 3", at, total, entropy)


def corollary_2(arms: int, rate: float, entropy: float, rounds: object) -> Bound:
    """Theorem 3 where r stays the same: sqrt(H K T / (2 (K r + 1 - r))). Corollary 2.

    >>> corollary_2(5, 0.25, np.log(5), rounds=[1000]).values.round(2)
    array([44.85])
    """
    at = rounds_of(rounds)
    total = rate_limit(arms, check_probability(rate, "r")) * at
    return bound("Corollary 2", at, total, entropy)


def general_bound(
    sums: object, entropy: float, rounds: object, policies: tuple[str, ...] = ()
) -> Bound:
    """Any policy, from its own information ratios: sqrt(H sum_t E Psi_t). Lemma 1 of the paper.

    ``sums`` has sum_{s <= t} Psi_s after each of the ``rounds``, with one row for each trial: then
    their mean is taken, and the bound has a standard error. Or it has the mean and its error, as
    :class:`graphbandits.results.Moments`. ``policies`` are those it is for.

    >>> general_bound([0.5, 1.0], np.log(5), rounds=[1, 2]).values.round(3)  # Psi_t = 1/2
    array([0.897, 1.269])
    """
    at = rounds_of(rounds)
    given = sums.mean if isinstance(sums, Moments) else sums
    ratios = _by_round(given, "sums of information ratios", 0.0)
    if ratios.shape[1] != len(at):
        raise InputError(
            f"there is one sum of information ratios for each of the {len(at)} rounds; got "
            f"{ratios.shape[1]}"
        )
    found = sums if isinstance(sums, Moments) else Moments.of(ratios)
    # one trial tells nothing of it
    error = None if np.isnan(found.standard_error).all() else found.standard_error
    general = bound("Lemma 1", at, found.mean, entropy, error, policies=policies)
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
    """sqrt(H total): ``total`` is what the ratios add up to until each round, at most."""
    known = isinstance(entropy, int | float | np.floating) and not isinstance(entropy, bool)
    if not known or not 0.0 <= float(entropy) < math.inf:
        raise InputError(
            f"entropy is that of the best arm, in nats: a number of at least 0, not {entropy!r}"
        )
    values: Floats = np.sqrt(entropy * total)
    if error is not None:  # sqrt(H x) has the slope sqrt(H x) / (2 x)
        error = np.divide(error * values, 2.0 * total, where=total > 0.0, out=np.zeros_like(values))
    source = EARLIER if name == "earlier bound" else PAPER
    return Bound(name, FORMULAS[name], policies, rounds, values, error, note, source)


def rate_limit(arms: int, rate: Floats | float) -> Floats:
    """K / (2 (K r + 1 - r)): the limit of a round's ratio in Theorem 3."""
    count = check_integer(arms, "arms")
    return np.asarray(count / (2.0 * (count * np.asarray(rate) + 1.0 - np.asarray(rate))))


def rounds_of(rounds: object, last: int | None = None) -> Ints:
    """Rounds as whole numbers in increasing order; all until the ``last`` if there are none."""
    if rounds is None and last is not None:
        return np.arange(1, last + 1)
    array = np.atleast_1d(np.asarray(rounds))
    sound = array.ndim == 1 and array.size and array.dtype.kind in "iu"
    if not sound or array[0] < 1 or (np.diff(array.astype(np.int64)) <= 0).any():
        raise InputError(
            f"rounds are whole numbers of at least 1 in increasing order, not {rounds!r}"
        )
    if last is not None and array[-1] > last:
        raise InputError(f"there are {last} rounds; there is nothing to say of round {array[-1]}")
    return array.astype(np.int64)


def _by_round(values: object, what: str, least: float, most: float = math.inf) -> Floats:
    """One number a round, as one row for all trials or one for each."""
    try:
        array = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        array = np.empty(0)
    array = array[None] if array.ndim == 1 else array
    inside = (array >= least) & (array <= most) & np.isfinite(array)  # NaN is outside
    if array.ndim != 2 or not array.size or not inside.all():
        span = f"in [{least:g}, {most:g}]" if most < math.inf else f"of at least {least:g}"
        raise InputError(
            f"{what} are numbers {span}, one for each round, or a row of them for each trial; "
            f"got {values!r}"
        )
    return array
