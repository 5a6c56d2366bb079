"""Upper bounds on the expected regret: the theorems of the paper as functions."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from graphbandits._types import Floats, Ints
from graphbandits.errors import InputError, check_integer, check_probability
from graphbandits.results.differences import Moments

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
    """Upper bound on the expected regret of some policies, after each of several rounds.

    The bound is on the Bayesian regret, which is averaged over means of the arms that are drawn
    from the prior of the policies.

    Parameters
    ----------
    name
        Name of the bound, such as "Theorem 1".
    formula
        Formula of the bound.
    policies
        Names of the policies for which the bound is proved.
    rounds
        Rounds, in increasing order.
    values
        Bound after each round.
    error
        Standard error of ``values`` if they are estimated from random graphs; None if exact.
    note
        Remark about the computation.
    source
        Publication of the bound.
    with_parameters
        Whether ``policies`` has full texts with parameters instead of names.

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
        """Whether the values are exact, not estimated."""
        return self.error is None

    @property
    def final(self) -> float:
        """Bound after the last round."""
        return float(self.values[-1])

    @property
    def final_error(self) -> float:
        """Standard error of the bound after the last round; 0 if it is exact."""
        return 0.0 if self.error is None else float(self.error[-1])

    def is_for(self, policy: str) -> bool:
        """Check whether the bound is proved for a policy.

        Parameters
        ----------
        policy
            Text of the policy. Its parameters are ignored, unless ``with_parameters`` is set.

        Returns
        -------
        bool
        """
        name = policy if self.with_parameters else policy.split("(")[0].strip()
        return name in self.policies

    def times(self, scale: float, note: str) -> Bound:
        """Return the bound for rewards of another scale than [0, 1].

        Parameters
        ----------
        scale
            Factor: high - low for rewards in [low, high], 2 sigma for rewards with the
            sub-Gaussian constant sigma.
        note
            Remark about the factor.

        Returns
        -------
        Bound
            The bound itself if the factor is 1.

        Examples
        --------
        >>> corollary_1(2, np.log(5), rounds=[1000]).times(5.0, "Rewards are from 0 to 5.").formula
        '5 sqrt(H chi(G) T / 2)'
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

    Returns
    -------
    Bound

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
        Entropy H of the best arm under the prior, in nats.
    rounds
        Rounds in increasing order; None for all rounds of ``covers``.

    Returns
    -------
    Bound

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
    entropy
        Entropy H of the best arm under the prior, in nats.
    rounds
        Rounds T, in increasing order.

    Returns
    -------
    Bound

    Examples
    --------
    >>> corollary_1(1, np.log(4), rounds=[100]).values.round(3)  # complete graph
    array([8.326])
    """
    at = check_rounds(rounds)
    total = _by_round([cover], "clique cover numbers", 1.0)[0] / 2.0 * at
    return bound("Corollary 1", at, total, entropy)


def earlier_bound(covers: object, entropy: float, rounds: object = None) -> Bound:
    """Earlier bound for TS-N, at least as large as Theorem 2: sqrt(H max_t chi(G_t) T / 2).

    Tossou, Dimitrakakis and Dubhashi (2017). By Theorem 2 it also holds for IDS-N and IDSN-LP.

    Parameters
    ----------
    covers
        Clique cover number chi(G_t) of each round, or one row per trial.
    entropy
        Entropy H of the best arm under the prior, in nats.
    rounds
        Rounds in increasing order; None for all rounds of ``covers``.

    Returns
    -------
    Bound

    Examples
    --------
    >>> earlier_bound([2, 1, 5], np.log(5)).values.round(3)
    array([1.269, 1.794, 3.474])
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
        Entropy H of the best arm under the prior, in nats.
    rounds
        Rounds in increasing order; None for all rounds of ``rates``.

    Returns
    -------
    Bound

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
    entropy
        Entropy H of the best arm under the prior, in nats.
    rounds
        Rounds T, in increasing order.

    Returns
    -------
    Bound

    Examples
    --------
    >>> corollary_2(5, 0.25, np.log(5), rounds=[1000]).values.round(2)
    array([44.85])
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
        and the bound has a standard error. :class:`graphbandits.results.Moments` has both.
    entropy
        Entropy H of the best arm under the prior, in nats.
    rounds
        Rounds in increasing order.
    policies
        Policies to which the information ratios belong.

    Returns
    -------
    Bound

    Examples
    --------
    >>> general_bound([0.5, 1.0], np.log(5), rounds=[1, 2]).values.round(3)  # Psi_t = 1/2
    array([0.897, 1.269])
    """
    at = check_rounds(rounds)
    given = sums.mean if isinstance(sums, Moments) else sums
    ratios = _by_round(given, "sums of information ratios", 0.0)
    if ratios.shape[1] != len(at):
        raise InputError(
            f"sums must have one sum of information ratios per round: expected {len(at)}, got "
            f"{ratios.shape[1]}"
        )
    found = sums if isinstance(sums, Moments) else Moments.of(ratios)
    # one trial has no standard error
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
