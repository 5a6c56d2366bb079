"""Sequential test of an agent: do the outcomes contradict its posterior?

If the model and the prior are right, each outcome has the predictive distribution of the posterior
before it. Alternatives predict it by another state: from a weaker prior, and with a factor by which
all earlier outcomes of the arm are forgotten before each new one (to the power of their number, if
several are reported as one). With the ratio R_t of the prediction of an alternative that forgets
and that of the posterior,

    A_t = (A_{t-1} + N_{t-1} - N_t) R_t,    A_0 = 0,    N_t = (1 - c) / (1 + log(1 + t/20)),

is the part of a likelihood ratio in which the outcomes follow the posterior until an unknown time,
and then the alternative. N_t is the probability of no switch in the first t outcomes. Its tail is
so heavy that late changes are found, too. Several such alternatives share the switches evenly. The
weaker prior has the probability c from the start: W_t = W_{t-1} R_t, W_0 = c.

E_t = W_t + A_t + N_t is a martingale with the expectation 1, whatever the decisions were. So is the
average of such processes: one for each arm, for changes of single arms, and one for all arms
together. By Ville's inequality it ever reaches 1 / level with a probability of at most level.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy

from graphbandits._types import Floats, Ints
from graphbandits.live._evidence_kernels import add_evidence, states_before
from graphbandits.posteriors._natural import NaturalFamily

#: Factor of each alternative by which it forgets the earlier outcomes of an arm per outcome; the
#: first one is the weaker prior.
KEPT = (1.0, 0.98, 0.9)
#: Probability of the weaker prior.
START = 0.2
#: Logarithms of the parts of the alternatives before the first outcome.
BEGIN = np.array([math.log(START), *[-math.inf] * (len(KEPT) - 1)])
#: Share of the process of all arms together; the arms share the rest evenly.
TOGETHER = 0.5
#: Number of outcomes of an arm in its recent mean.
RECENT = 20


@dataclass(frozen=True)
class ArmEvidence:
    """Evidence against the posterior of one arm, or of all arms together.

    Parameters
    ----------
    arm : int or None
        Number of the arm; None for all arms together.
    outcomes : int
        Number of reported outcomes.
    highest, now : float
        Highest and current logarithm of the likelihood ratio.
    threshold : float
        Logarithm of the ratio at which this evidence alone suffices for a warning. It is higher
        than that of the average ratio, of which this ratio is a part.
    kept : float
        Factor of the best alternative at the highest ratio; 1 if it is a weaker prior.
    posterior_mean, recent_mean : float
        Current mean of the posterior, and mean of the last 20 outcomes of the arm, or of all if
        there are fewer. Of several outcomes that were reported as one, all count. NaN for all arms
        together.
    """

    arm: int | None
    outcomes: int
    highest: float
    now: float
    threshold: float
    kept: float
    posterior_mean: float = math.nan
    recent_mean: float = math.nan

    @property
    def suffices(self) -> bool:
        """Whether this evidence alone reaches the threshold of the test."""
        return self.highest >= self.threshold


class SequentialTest:
    """Likelihood ratios of alternatives and the posterior, outcome by outcome.

    Parameters
    ----------
    family : NaturalFamily
        The prior.
    start : ndarray of shape (K, d), optional
        Natural parameters of the posterior at the start of the test; by default the prior.

    Examples
    --------
    >>> from graphbandits.posteriors import BetaBernoulli
    >>> from graphbandits.posteriors._natural import natural_family
    >>> test = SequentialTest(natural_family(BetaBernoulli.of(arms=2, a=90, b=10)))
    >>> test.add(np.zeros(8, np.int64), np.zeros(8), np.ones(8), np.arange(8.0))
    >>> [(one.arm, one.suffices) for one in test.arms(level=0.01)]
    [(0, True)]
    """

    def __init__(self, family: NaturalFamily, start: Floats | None = None) -> None:
        self.family = family
        self._start = family.prior if start is None else start
        arms = len(family.prior)
        #: Row of each arm; 0 before its first outcome. Row 0 is that of all arms together.
        self._row = np.zeros(arms, np.int64)
        self._share = np.full(arms, math.log((1.0 - TOGETHER) / arms))
        self._arm = np.zeros(1, np.int64)
        models, size = 1 + len(KEPT), family.prior.shape[1]
        self._kept = np.array([1.0, *KEPT])
        self._rest, self._state = np.zeros((2, 1, models, size))
        self._count, self._kind = np.zeros((2, 1), np.int64)
        self._evidence, self._highest = np.zeros((2, 1))
        self._switched = BEGIN[None].copy()
        self._total = np.ones(2)
        #: Rewards and weights of the last reports of each arm; report number i is at i % RECENT.
        self._recent = np.zeros((1, RECENT, 2))
        #: Last reward, its number of outcomes in a row, of any arms, and the most in a row before.
        self.last, self.in_row, self.in_row_before = math.nan, 0, 0
        #: Time of the outcome with the highest total.
        self.time: float | None = None
        #: Whether the outcomes were too extreme for floating-point numbers: the test has ended.
        self.failed = False

    @property
    def outcomes(self) -> int:
        """Number of reported outcomes."""
        return int(self._count[0])

    def add(self, arm: Ints, reward: Floats, weight: Floats, time: Floats) -> None:
        """Add reported outcomes, in their order.

        Parameters
        ----------
        arm : ndarray of int
            Numbers of the arms.
        reward : ndarray of float
            Rewards; the average for an outcome of a weight other than 1.
        weight : ndarray of float
            Number of outcomes of each report.
        time : ndarray of float
            Time of each report.
        """
        if self.failed or not len(arm):
            return
        self._add_rows(arm)
        row = self._row[arm]
        with np.errstate(all="ignore"):
            added = self.family.statistic(arm, reward, weight)
            before = np.empty((len(arm), *self._state.shape[1:]))
            steps = self.family.steps(weight)
            states_before(row, added, steps, self._rest, self._kept, self._state, before)
            predicted = self.family.log_predictive(before, added[:, None, :])
            ratio = predicted[:, 1:] - predicted[:, :1]
        if np.isnan(ratio).any():
            self.failed = True
            return
        self._keep_recent(row, reward, weight)
        self._count_in_row(reward)
        share = np.append(math.log(TOGETHER), self._share[self._arm[1:]])
        best = add_evidence(
            row,
            ratio,
            START,
            share,
            self._count,
            self._switched,
            self._evidence,
            self._highest,
            self._kind,
            self._total,
        )
        if best >= 0:
            self.time = float(time[best])

    def _add_rows(self, arm: Ints) -> None:
        """Add a row for each arm that has its first outcome."""
        new = np.unique(arm[self._row[arm] == 0])
        if not len(new):
            return
        self._row[new] = np.arange(len(self._arm), len(self._arm) + len(new))
        self._arm = np.append(self._arm, new)
        family, kept = self.family, len(KEPT)
        rest = np.stack([family.prior[new]] + [family.weak[new]] * kept, axis=1)
        learned = self._start[new] - family.prior[new]
        state = rest + learned[:, None, :]
        state[:, 0] = self._start[new]
        self._rest = np.append(self._rest, rest, axis=0)
        self._state = np.append(self._state, state, axis=0)
        zeros = np.zeros(len(new))
        self._count = np.append(self._count, zeros.astype(np.int64))
        self._kind = np.append(self._kind, zeros.astype(np.int64))
        self._evidence = np.append(self._evidence, zeros)
        self._highest = np.append(self._highest, zeros)
        self._switched = np.append(self._switched, np.tile(BEGIN, (len(new), 1)), axis=0)
        self._recent = np.append(self._recent, np.zeros((len(new), RECENT, 2)), axis=0)

    def _keep_recent(self, row: Ints, reward: Floats, weight: Floats) -> None:
        """Keep the last reports of each row, before they are counted."""
        order = np.argsort(row, kind="stable")
        rows, place = row[order], np.arange(len(row))
        number = self._count[rows] + place - np.searchsorted(rows, rows)
        last = np.searchsorted(rows, rows, "right") - place <= RECENT
        found = np.column_stack([reward, weight])[order]
        self._recent[rows[last], number[last] % RECENT] = found[last]

    def _count_in_row(self, reward: Floats) -> None:
        """Count how often the last reward was reported in a row."""
        starts = np.flatnonzero(reward != np.append(self.last, reward[:-1]))
        if not len(starts):
            self.in_row += len(reward)
            return
        ended = np.append(self.in_row + starts[0], np.diff(starts))
        self.in_row_before = max(self.in_row_before, int(ended.max()))
        self.in_row, self.last = len(reward) - int(starts[-1]), float(reward[-1])

    def _recent_mean(self, row: int) -> float:
        count = self._count[row]
        newest = np.arange(count - 1, max(count - RECENT, 0) - 1, -1)
        reward, weight = self._recent[row, newest % RECENT].T
        before = np.cumsum(self.family.steps(weight)) - self.family.steps(weight)
        used = before < RECENT
        return float(np.average(reward[used], weights=weight[used]))

    def add_arm(self, family: NaturalFamily) -> None:
        """Add an arm: it takes its share of what the arms have now, so that the total is kept.

        Parameters
        ----------
        family : NaturalFamily
            The prior of all arms; the last one is new.
        """
        arms = len(self._row)
        held = self._share.copy()
        held[self._arm[1:]] += self._evidence[1:]
        self._share += math.log(arms / (arms + 1))
        new = scipy.special.logsumexp(held) - math.log(arms + 1)
        self._share = np.append(self._share, new)
        self._row = np.append(self._row, 0)
        self._start = np.append(self._start, family.prior[-1:], axis=0)
        self.family = family

    def highest(self) -> float:
        """Return the logarithm of the highest average ratio so far.

        Returns
        -------
        float
            The logarithm; at least 0.
        """
        return math.log(self._total[1])

    def now(self) -> float:
        """Return the logarithm of the current average ratio.

        Returns
        -------
        float
            The logarithm.
        """
        held = self._share.copy()
        held[self._arm[1:]] += self._evidence[1:]
        return float(
            np.logaddexp(math.log(TOGETHER) + self._evidence[0], scipy.special.logsumexp(held))
        )

    def together(self, level: float) -> ArmEvidence:
        """Return the evidence of all arms together.

        Parameters
        ----------
        level : float
            Level of the test.

        Returns
        -------
        ArmEvidence
            The evidence.
        """
        return self._row_evidence(0, math.log(TOGETHER), level)

    def arms(self, level: float, most: int = 10) -> list[ArmEvidence]:
        """Return the arms with the highest evidence against their posteriors.

        Parameters
        ----------
        level : float
            Level of the test.
        most : int, default=10
            Number of arms.

        Returns
        -------
        list of ArmEvidence
            The arms that have outcomes, the highest evidence first.
        """
        held = self._share[self._arm[1:]] + self._highest[1:]
        order = np.argsort(-held, kind="stable")[:most] + 1
        return [self._row_evidence(k, self._share[self._arm[k]], level) for k in order.tolist()]

    def sufficient(self, level: float) -> int:
        """Count the arms whose evidence alone reaches the threshold of the test.

        Parameters
        ----------
        level : float
            Level of the test.

        Returns
        -------
        int
            The number.
        """
        held = self._share[self._arm[1:]] + self._highest[1:]
        return int((held >= -math.log(level)).sum())

    def _row_evidence(self, row: int, share: float, level: float) -> ArmEvidence:
        arm = self._arm[row : row + 1]
        means = [math.nan, math.nan]
        if row:
            posterior = self.family.mean(arm, self._state[row, :1])
            means = [float(posterior[0]), self._recent_mean(row)]
        return ArmEvidence(
            int(arm[0]) if row else None,
            int(self._count[row]),
            float(self._highest[row]),
            float(self._evidence[row]),
            -math.log(level) - float(share),
            KEPT[self._kind[row]],
            *means,
        )
