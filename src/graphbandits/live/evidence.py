"""A sequential test: do the outcomes contradict the posterior? The record of the health."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol, cast

import numpy as np
import scipy
from numpy.typing import NDArray

from graphbandits._types import Floats, Ints, State
from graphbandits.graphs.processes import Fixed
from graphbandits.live._evidence_kernels import add_evidence, states_before
from graphbandits.live.health import ArmAnswers, ArmTest, Health, PosteriorTest, age_text
from graphbandits.live.journal import Entry
from graphbandits.live.state import (
    AgentState,
    OpenDecision,
    outcomes_of,
    unpack_learned,
)
from graphbandits.posteriors import is_discounted
from graphbandits.posteriors.base import Posterior, keeps_posterior
from graphbandits.posteriors.beta_bernoulli import BetaBernoulli
from graphbandits.posteriors.dirichlet import Dirichlet
from graphbandits.posteriors.gamma_poisson import GammaPoisson
from graphbandits.posteriors.normal import Normal, NormalInverseGamma
from graphbandits.registry import name_of


class NaturalFamily(Protocol):
    """A conjugate family in natural parameters. :func:`natural_family` returns that of a prior."""

    prior: Floats
    weak: Floats

    def of_state(self, state: State) -> Floats:
        """Return the natural parameters (K, d) of the state of one trial."""

    def statistic(self, arm: Ints, reward: Floats, weight: Floats) -> Floats:
        """Return what each outcome adds, (n, d)."""

    def steps(self, weight: Floats) -> Floats:
        """Return the number of outcomes in each report."""
        return weight

    def log_predictive(self, before: Floats, added: Floats) -> Floats:
        """Return the log probabilities (...) of outcomes (..., d), given the parameters before."""

    def mean(self, arm: Ints, parameters: Floats) -> Floats:
        """Return the means (n,) of arms (n,) with parameters (n, d)."""


class _Counts(NaturalFamily):
    """Dirichlet weights of the values; two for Bernoulli arms: successes and failures."""

    def __init__(self, posterior: Any) -> None:
        self._binary = isinstance(posterior, BetaBernoulli)
        if self._binary:
            self._values = np.array([1.0, 0.0])
            self.prior = np.stack([posterior.a, posterior.b], axis=-1)
        else:
            self._values, self.prior = np.array(posterior.values), np.array(posterior.weights)
        total = self.prior.sum(axis=1, keepdims=True)
        self.weak = self.prior * np.minimum(1.0, len(self._values) / total)

    def of_state(self, state: State) -> Floats:
        if self._binary:
            return np.stack([state["a"][0], state["b"][0]], axis=-1)
        return np.array(state["weights"][0])

    def statistic(self, arm: Ints, reward: Floats, weight: Floats) -> Floats:
        if self._binary:  # the reward is a share of successes
            return np.stack([weight * reward, weight * (1.0 - reward)], axis=-1)
        return np.asarray(weight[:, None] * (reward[:, None] == self._values))

    def log_predictive(self, before: Floats, added: Floats) -> Floats:
        found = _log_rising(before, added).sum(axis=-1)
        return np.asarray(found - _log_rising(before.sum(axis=-1), added.sum(axis=-1)))

    def mean(self, arm: Ints, parameters: Floats) -> Floats:
        return np.asarray(parameters @ self._values / parameters.sum(axis=-1))


class _Events(NaturalFamily):
    """Shape and rate of a Gamma distribution: numbers of events, and exposure."""

    def __init__(self, posterior: GammaPoisson) -> None:
        self.prior = np.stack([posterior.shapes, posterior.rates], axis=-1)
        self.weak = self.prior * np.minimum(1.0, 1.0 / self.prior[:, 1:])

    def of_state(self, state: State) -> Floats:
        return np.stack([state["shape"][0], state["rate"][0]], axis=-1)

    def statistic(self, arm: Ints, reward: Floats, weight: Floats) -> Floats:
        return np.stack([weight * reward, weight], axis=-1)

    def steps(self, weight: Floats) -> Floats:
        return np.ones_like(weight)  # an exposure is in any unit

    def log_predictive(self, before: Floats, added: Floats) -> Floats:
        shape, rate = before[..., 0], before[..., 1]
        events, exposure = added[..., 0], added[..., 1]
        grown = np.log1p(exposure / rate)
        return np.asarray(
            _log_rising(shape, events) - (shape + events) * grown - events * np.log(rate)
        )

    def mean(self, arm: Ints, parameters: Floats) -> Floats:
        return np.asarray(parameters[:, 0] / parameters[:, 1])


class _Gaussian(NaturalFamily):
    """Precision p, and p times the distance of the mean from the prior mean."""

    def __init__(self, posterior: Normal) -> None:
        self._centre, self._precision = posterior.means, posterior.noise**-2.0
        precision = posterior.sds**-2.0
        self.prior = np.stack([precision, np.zeros_like(precision)], axis=-1)
        self.weak = np.minimum(self.prior, self._precision)

    def of_state(self, state: State) -> Floats:
        precision = state["precision"][0]
        return np.stack([precision, precision * (state["mean"][0] - self._centre)], axis=-1)

    def statistic(self, arm: Ints, reward: Floats, weight: Floats) -> Floats:
        precision = weight * self._precision
        return np.stack([precision, precision * (reward - self._centre[arm])], axis=-1)

    def log_predictive(self, before: Floats, added: Floats) -> Floats:
        variance = 1.0 / before[..., 0] + 1.0 / added[..., 0]
        apart = added[..., 1] / added[..., 0] - before[..., 1] / before[..., 0]
        return np.asarray(-0.5 * (np.log(variance) + apart * apart / variance))

    def mean(self, arm: Ints, parameters: Floats) -> Floats:
        return np.asarray(self._centre[arm] + parameters[:, 1] / parameters[:, 0])


class _Student(NaturalFamily):
    """Count n, n x, twice the shape, and twice the scale plus n x^2.

    x is the distance of the mean from the prior mean.
    """

    def __init__(self, posterior: NormalInverseGamma) -> None:
        self._centre = posterior.means
        count, freedom = posterior.counts, 2.0 * posterior.shapes
        none, scale = np.zeros_like(count), 2.0 * posterior.scales
        self.prior = np.stack([count, none, freedom, scale], axis=-1)
        share = np.minimum(1.0, 4.0 / freedom)
        self.weak = np.stack([np.minimum(1.0, count), none, share * freedom, share * scale], -1)

    def of_state(self, state: State) -> Floats:
        count, apart = state["count"][0], state["mean"][0] - self._centre
        scale = 2.0 * state["scale"][0] + count * apart * apart
        return np.stack([count, count * apart, 2.0 * state["shape"][0], scale], axis=-1)

    def statistic(self, arm: Ints, reward: Floats, weight: Floats) -> Floats:
        apart = reward - self._centre[arm]
        return np.stack([weight, weight * apart, weight, weight * apart * apart], axis=-1)

    def log_predictive(self, before: Floats, added: Floats) -> Floats:
        count, total, freedom, squares = np.moveaxis(before, -1, 0)
        mean = total / count
        spread = (squares - total * mean) * (1.0 + 1.0 / count)
        apart = added[..., 1] - mean
        tail = 0.5 * (freedom + 1.0) * np.log1p(apart * apart / spread)
        return np.asarray(-scipy.special.betaln(0.5 * freedom, 0.5) - 0.5 * np.log(spread) - tail)

    def mean(self, arm: Ints, parameters: Floats) -> Floats:
        return np.asarray(self._centre[arm] + parameters[:, 1] / parameters[:, 0])


def _log_rising(start: Floats, steps: Floats) -> Floats:
    """Return log Gamma(start + steps) - log Gamma(start) - log Gamma(steps), exactly."""
    start, steps = np.broadcast_arrays(start, steps)
    found = np.where(steps == 0.0, 0.0, np.log(start))
    other = (steps != 0.0) & (steps != 1.0)
    found[other] = -scipy.special.betaln(start[other], steps[other])
    return found


_FAMILIES: dict[type, Callable[[Any], NaturalFamily]] = {
    BetaBernoulli: _Counts,
    Dirichlet: _Counts,
    GammaPoisson: _Events,
    Normal: _Gaussian,
    NormalInverseGamma: _Student,
}


def natural_family(posterior: Posterior) -> NaturalFamily | None:
    """Return the family of a prior; None for plug-ins, discounted and randomly rounding priors."""
    # an exact type: a subclass may have other updates
    found = _FAMILIES.get(type(cast(object, posterior)))
    return None if found is None or is_discounted(posterior) else found(posterior)


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
    """Evidence against the posterior of one arm, or of all arms together."""

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
    """Likelihood ratios of alternatives and the posterior, outcome by outcome."""

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
        return int(self._count[0])

    def add(self, arm: Ints, reward: Floats, weight: Floats, time: Floats) -> None:
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
        evidence = self._evidence, self._highest, self._kind, self._total
        best = add_evidence(row, ratio, START, share, self._count, self._switched, *evidence)
        if best >= 0:
            self.time = float(time[best])

    def _add_rows(self, arm: Ints) -> None:
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
        self._switched = np.append(self._switched, np.tile(BEGIN, (len(new), 1)), axis=0)
        for name in ("_count", "_kind", "_evidence", "_highest", "_recent"):
            known = getattr(self, name)
            zeros = np.zeros((len(new), *known.shape[1:]), known.dtype)
            setattr(self, name, np.append(known, zeros, axis=0))

    def _keep_recent(self, row: Ints, reward: Floats, weight: Floats) -> None:
        order = np.argsort(row, kind="stable")
        rows, place = row[order], np.arange(len(row))
        number = self._count[rows] + place - np.searchsorted(rows, rows)
        last = np.searchsorted(rows, rows, "right") - place <= RECENT
        found = np.column_stack([reward, weight])[order]
        self._recent[rows[last], number[last] % RECENT] = found[last]

    def _count_in_row(self, reward: Floats) -> None:
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
        """Add an arm: it takes its share of what the arms have now, so that the total is kept."""
        arms = len(self._row)
        held = self._held()
        self._share += math.log(arms / (arms + 1))
        new = scipy.special.logsumexp(held) - math.log(arms + 1)
        self._share = np.append(self._share, new)
        self._row = np.append(self._row, 0)
        self._start = np.append(self._start, family.prior[-1:], axis=0)
        self.family = family

    def highest(self) -> float:
        """Return the logarithm of the highest average ratio so far."""
        return math.log(self._total[1])

    def now(self) -> float:
        """Return the logarithm of the current average ratio."""
        rest = scipy.special.logsumexp(self._held())
        return float(np.logaddexp(math.log(TOGETHER) + self._evidence[0], rest))

    def _held(self) -> Floats:
        """Return the logarithm of what each arm has of the average ratio."""
        held = self._share.copy()
        held[self._arm[1:]] += self._evidence[1:]
        return held

    def together(self, level: float) -> ArmEvidence:
        return self._row_evidence(0, math.log(TOGETHER), level)

    def arms(self, level: float, most: int = 10) -> list[ArmEvidence]:
        held = self._share[self._arm[1:]] + self._highest[1:]
        order = np.argsort(-held, kind="stable")[:most] + 1
        return [self._row_evidence(k, self._share[self._arm[k]], level) for k in order.tolist()]

    def sufficient(self, level: float) -> int:
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


#: Number of arms in the tables of a report, and in a warning.
MOST_ARMS, MOST_NAMED = 10, 3
#: Largest ratio in a report, so that it is a number of JSON.
MOST_RATIO = 1e300
#: Least number of outcomes in a row with the same value that are reported.
LEAST_IN_ROW = 20
#: Number of outcomes, and of closed decisions, that are added together.
MOST_TOGETHER = 100_000
#: Share of late outcomes above which there is a warning, and their least number.
LATE_SHARE, LEAST_LATE = 0.1, 10
#: What no test can find.
MISSING = (
    "answers that are missing, or late, because of their value cannot be detected, and bias what "
    "the agent learns"
)


class HealthRecord:
    """What a report of the health needs from the journal: entries are added in their order."""

    def __init__(self, state: AgentState, first: int = 0) -> None:
        self._state, self.first = state, first
        self._unanswered = 0
        #: Decisions that were closed, by what they reveal: an example, and their number.
        self._closed: dict[Any, tuple[OpenDecision, int]] = {}
        self._revealed = np.zeros(len(state.setup.arms))
        self._received = Counter[int]()
        self._certain = True
        #: Arms of outcomes that open decisions did not reveal.
        self._extra: dict[int, set[int]] = {}
        #: Arm, reward, weight and time of outcomes that the test does not have yet.
        self._new: list[tuple[int, float, float, float]] = []
        self._begin_test(fresh=not state.counts["outcomes"] + state.counts["learned"])

    @property
    def last(self) -> tuple[int, float]:
        return self._state.number, self._state.time

    def _begin_test(self, fresh: bool) -> None:
        setup, arrays = self._state.setup, self._state.policy_state
        self._test: SequentialTest | None = None
        self._reason, start = "", None
        family = natural_family(setup.posterior)
        kind = f"the posterior '{name_of(setup.posterior)}'"
        if family is None and is_discounted(setup.posterior):
            self._reason = f"{kind} forgets old outcomes, and so gives them no probability"
        elif family is None:
            self._reason = f"{kind} gives outcomes no exact probability"
        elif not fresh and not keeps_posterior(arrays, setup.posterior):
            self._reason = (
                "the first outcomes are not in the journal any more, and the policy "
                f"'{name_of(setup.policy)}' keeps no posterior"
            )
        else:
            start = None if fresh else family.of_state(arrays)
            self._test = SequentialTest(family, start)

    # Entries --------------------------------------------------------------------------------------

    def add(self, entries: Iterable[Entry], get: Callable[[str], bytes]) -> None:
        state = self._state
        for entry in entries:
            body, kind, decision = entry.body, entry.kind, None
            if kind in ("observe", "close"):
                decision = state.open.get(entry.decision or 0)
                if decision is not None and not body.get("late"):
                    self._add_outcomes(entry, decision)
            elif kind == "learn":
                self._learn(entry)
            elif kind in ("reset", "add_arm", "set_policy"):
                self._flush()
            state.follow(entry, get)
            if decision is not None and body["closes"]:
                self._close(decision, body.get("reason"))
            elif kind == "add_arm":
                self._revealed = np.append(self._revealed, 0.0)
                family = natural_family(state.setup.posterior)
                if self._test is not None and family is not None:
                    self._test.add_arm(family)
            elif kind == "reset":
                self._begin_test(fresh=True)
        self._flush()
        self._count_revealed()

    def _add_outcomes(self, entry: Entry, decision: OpenDecision) -> None:
        for arm, (reward, weight) in outcomes_of(entry.body).items():
            self._new.append((arm, reward, weight, entry.time))
        if extra := entry.body.get("extra"):
            self._extra.setdefault(decision.number, set()).update(extra)
        if len(self._new) >= MOST_TOGETHER:
            self._flush()

    def _learn(self, entry: Entry) -> None:
        self._flush()
        seen = unpack_learned(entry)
        weight = np.ones(len(seen.arm)) if seen.weight is None else seen.weight
        if self._test is not None:
            time = np.full(len(seen.arm), entry.time)
            self._test.add(seen.arm, seen.reward, weight, time)

    def _flush(self) -> None:
        if self._new and self._test is not None:
            arm, *rest = (np.array(one) for one in zip(*self._new, strict=True))
            self._test.add(arm, *(one.astype(np.float64) for one in rest))
        self._new = []

    def _close(self, decision: OpenDecision, reason: str | None) -> None:
        extra = self._extra.pop(decision.number, set())
        if reason == "reset":  # its outcomes were not expected any more
            return
        self._unanswered += not decision.seen
        self._received.update(arm for arm in decision.seen if arm not in extra)
        key: Any = decision.number
        if isinstance(decision.process, Fixed):
            gone = self._state.retired.values()
            key = decision.process, decision.arm, sum(made < decision.number for made in gone)
        example, count = self._closed.get(key, (decision, 0))
        self._closed[key] = example, count + 1
        if len(self._closed) >= MOST_TOGETHER:
            self._count_revealed()

    def _count_revealed(self) -> None:
        for example, count in self._closed.values():
            reach = self._state.reach(example)
            self._revealed[: len(reach)] += count * reach
            self._certain = self._certain and bool(((reach == 0.0) | (reach == 1.0)).all())
        self._closed.clear()

    # Report ---------------------------------------------------------------------------------------

    def report(self, now: float, level: float) -> Health:
        state = self._state
        due = [one for one in state.open.values() if one.is_due(now)]
        waiting = [one for one in state.open.values() if not one.is_due(now)]
        ages = [max(0.0, now - one.time) for one in waiting]  # clocks of processes may differ
        counts = state.counts
        test, (answers, few) = self._tested(level), self._answers(level)
        warnings = self._contradictions(test, level)
        late, reported = counts["late"], counts["late"] + counts["outcomes"]
        if late >= max(LEAST_LATE, LATE_SHARE * reported):
            now_ = "" if state.lifetime is None else f" (now {age_text(state.lifetime)})"
            warnings.append(
                f"{late} of {reported} outcomes came after their decision had ended, and were not "
                f"learned; consider a longer time 'expires'{now_}"
            )
        # a hint only: these tests are not sequential, and a report is made at any time
        notes = [*few, MISSING]
        if test is None:
            notes.insert(0, f"the outcomes were not compared with the posterior: {self._reason}")
        return Health(
            level,
            tuple(warnings),
            tuple(notes),
            state.decisions,
            len(ages),
            counts["expired"] + len(due),
            self._unanswered + sum(not one.seen for one in due),
            counts["outcomes"],
            counts["learned"],
            counts["late"],
            max(ages, default=None),
            float(np.median(ages)) if ages else None,
            test,
            answers,
        )

    def _tested(self, level: float) -> PosteriorTest | None:
        if self._test is not None and self._test.failed:
            self._test, self._reason = None, "an outcome is too extreme for the computation"
        test = self._test
        if test is None:
            return None
        time = None if test.time is None else datetime.fromtimestamp(test.time, UTC)
        arms = self._state.setup.arms
        return PosteriorTest(
            test.outcomes,
            _ratio(test.highest()),
            _ratio(test.now()),
            time,
            1.0 / level,
            test.highest() >= -math.log(level),
            tuple(
                ArmTest(
                    arms[one.arm or 0],
                    one.outcomes,
                    _ratio(one.highest),
                    _ratio(one.now),
                    _ratio(one.threshold),
                    one.suffices,
                    one.posterior_mean,
                    one.recent_mean,
                )
                for one in test.arms(level, MOST_ARMS)
            ),
        )

    def _contradictions(self, found: PosteriorTest | None, level: float) -> list[str]:
        test = self._test
        if test is None or found is None or not found.contradicts:
            return []
        arms, lines = self._state.setup.arms, list[str]()
        # fewer in a row than before are not unusual for this agent
        stuck = test.in_row >= LEAST_IN_ROW and test.in_row > test.in_row_before
        if stuck:
            same = f"the last {test.in_row} outcomes are all {test.last:g}"
            lines.append(f"{same}: check how outcomes are recorded")
        guilty = [one for one in test.arms(level, MOST_NAMED) if one.suffices]
        together = test.together(level)
        # a change of one arm is evidence of all arms together, too: what do the others add?
        alone = max((one.highest for one in guilty), default=0.0)
        if not guilty or together.highest - alone >= together.threshold:
            enough = f" (warning from {_shown(together.threshold)})" if together.suffices else ""
            lines.append(
                "the outcomes contradict the posteriors of all arms together: they are "
                f"{_shown(together.highest)} times more likely {_alternative(together)}{enough}"
                + ("" if stuck else f"; {_advice(together)}")
            )
        lines += [
            f"the outcomes of {arms[one.arm or 0]} contradict its posterior: they are "
            f"{_shown(one.highest)} times more likely {_alternative(one)} (warning from "
            f"{_shown(one.threshold)}; posterior mean {one.posterior_mean:.3g}, recent mean "
            f"{one.recent_mean:.3g})" + ("" if stuck else f"; {_advice(one)}")
            for one in guilty
        ]
        more = test.sufficient(level) - len(guilty)
        return [*lines, f"so do the outcomes of {more} more arms"] if more else lines

    def _answers(self, level: float) -> tuple[tuple[ArmAnswers, ...], list[str]]:
        """Return the lowest shares of answers, significant ones first, and a warning of these."""
        arms = np.flatnonzero(self._revealed)
        revealed = self._revealed[arms]
        received = np.array([self._received[arm] for arm in arms.tolist()], np.float64)
        low = low_shares(revealed, received, level, self._certain)
        share, names = received / revealed, self._state.setup.arms
        shown = tuple(
            ArmAnswers(
                names[arms[i]], float(revealed[i]), int(received[i]), float(share[i]), bool(low[i])
            )
            for i in np.lexsort((share, ~low))[:MOST_ARMS].tolist()
        )
        count = int(low.sum())
        if not count:
            return shown, []
        few = [f"{one.arm} ({one.received} of {one.revealed:.4g})" for one in shown if one.low]
        more = f" and {count - MOST_NAMED} more arms" if count > MOST_NAMED else ""
        return shown, [
            f"few answers for {', '.join(few[:MOST_NAMED])}{more}: of all arms "
            f"{received.sum():.0f} of {revealed.sum():.4g} outcomes were received; check records"
        ]


def low_shares(
    revealed: Floats, received: Floats, level: float, certain: bool
) -> NDArray[np.bool_]:
    """Return which arms have a significantly lower share of answers than the other arms.

    If all revealed outcomes are certain, this is the exact test of Fisher; otherwise, given the
    number of all answers, that of an arm is binomial. Levels are divided by the number of arms.
    """
    if len(revealed) < 2:
        return np.zeros(len(revealed), bool)
    from scipy.stats import binom, hypergeom

    every, answers = revealed.sum(), received.sum()
    if certain:
        chance = hypergeom.cdf(received, round(every), answers, np.rint(revealed))
    else:
        chance = binom.cdf(received, answers, revealed / every)
    return np.asarray(chance <= level / len(revealed))


def _alternative(found: ArmEvidence) -> str:
    forgotten = f"if older outcomes are forgotten, by the factor {found.kept:g} for each new one"
    return "under a weaker prior" if found.kept == 1.0 else forgotten


def _advice(found: ArmEvidence) -> str:
    remedy = "another prior" if found.kept == 1.0 else "a discount, or reset()"
    return f"check how outcomes are recorded, and consider {remedy}"


def _ratio(log: float) -> float:
    return MOST_RATIO if log >= math.log(MOST_RATIO) else math.exp(log)


def _shown(log: float) -> str:
    if log >= math.log(1e6):
        exponent, digit = divmod(log / math.log(10.0), 1.0)
        return f"{10.0**digit:.0f}e+{exponent:.0f}"
    ratio = math.exp(log)
    places = 1 - math.floor(math.log10(ratio))
    return f"{round(ratio, places):,.{max(places, 0)}f}"
