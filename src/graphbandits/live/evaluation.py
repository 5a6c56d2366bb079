"""Estimators of the value of a policy from logged decisions, as functions of arrays.

The rows of an array are decisions, its columns arms. ``target`` has the probabilities of the
evaluated policy, ``chance`` the probability with which the outcome of each arm was seen, given the
past. Each term psi_t has the conditional mean sum_j target_tj theta_j, if ``model`` depends on the
past only. So the terms form a martingale around the value, also in logs of learning policies.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphbandits._types import Floats, Ints
from graphbandits.errors import (
    GraphBanditsError,
    InputError,
    check_horizon,
    check_probability,
    short_repr,
)
from graphbandits.graphs import Feedback, Process, make_process
from graphbandits.graphs.feedback import (
    DenseFeedback,
    SparseFeedback,
    UniformFeedback,
    matrices,
)
from graphbandits.graphs.processes import fixed_feedback
from graphbandits.live.health import check_level
from graphbandits.live.journal import Entry
from graphbandits.live.log import DecisionLog
from graphbandits.live.log_table import LogArrays, Origin, spread
from graphbandits.live.setup import Setup, make_prior, pack_sparse, unpack_npz
from graphbandits.live.state import AgentState, OpenDecision, unpack_learned
from graphbandits.live.values import timestamp
from graphbandits.policies import Policy, View, as_policy
from graphbandits.policies.base import check_needs
from graphbandits.posteriors import Arm, Posterior
from graphbandits.posteriors.base import Support, reward_support, values
from graphbandits.registry import name_of, registered, text_of, unpack_plugin
from graphbandits.rng import Stream
from graphbandits.simulation.loop import decide, draw_graph

#: Number of lambdas in the mixture of the finite-sample interval, each half of the one before.
LAMBDAS = 12
#: Largest lambda times the largest possible deviation below.
LARGEST_BET = 0.9


class RunningMean:
    """Mean of all outcomes of each arm that were seen in earlier decisions."""

    def __init__(self, arms: int, start: float) -> None:
        self._start, self._total, self._count = start, np.zeros(arms), np.zeros(arms)

    def before(self, seen: NDArray[np.bool_], reward: Floats, weight: Floats) -> Floats:
        # a row uses the outcomes of earlier rows only: otherwise the terms would be biased
        counts = np.where(seen, weight, 0.0)
        totals = np.where(seen, weight * reward, 0.0)
        count = self._count + np.cumsum(counts, axis=0) - counts
        total = self._total + np.cumsum(totals, axis=0) - totals
        everything = count.sum(axis=1, keepdims=True)
        mean = np.full_like(everything, self._start)
        np.divide(total.sum(axis=1, keepdims=True), everything, out=mean, where=everything > 0.5)
        model = np.broadcast_to(mean, total.shape).copy()
        np.divide(total, count, out=model, where=count > 0.5)
        self._total = self._total + totals.sum(axis=0)
        self._count = self._count + counts.sum(axis=0)
        return model


def weights_of(target: Floats, chance: Floats) -> Floats:
    """Return target / chance, and 0 where the target or the chance is 0."""
    used = (target > 0.0) & (chance > 0.0)
    return np.divide(target, chance, out=np.zeros_like(target), where=used)


def terms(
    target: Floats, weight: Floats, seen: NDArray[np.bool_], reward: Floats, model: Floats
) -> Floats:
    """Return psi_t = sum_j target_tj m_tj + sum over seen j of weight_tj (R_tj - m_tj)."""
    residual = np.where(seen, reward - model, 0.0)
    found: Floats = (target * model).sum(axis=1) + (weight * residual).sum(axis=1)
    return found


def normal_interval(value: float, error: float, level: float) -> tuple[float, float]:
    half = NormalDist().inv_cdf(0.5 + level / 2.0) * error
    return value - half, value + half


def effective_size(weight: Floats) -> float:
    """Return (sum w)^2 / sum w^2."""
    squares = float((weight**2).sum())
    return float(weight.sum()) ** 2 / squares if squares > 0.0 else 0.0


# Finite-sample interval ---------------------------------------------------------------------------


def largest_drop(decisions: int) -> float:
    """Return how far a term may fall below 0: more with more decisions, and fixed before them."""
    return max(1.0, math.sqrt(decisions) / 8.0)


def limited_model(model: Floats, weight: Floats, most: float) -> tuple[Floats, Floats]:
    """Return a model with weight_tj m_tj <= most, and the largest of these products in each row.

    With this model a term of a nonnegative reward is at least -most, for weights of any size.
    """
    limited = np.minimum(
        model, np.divide(most, weight, out=np.full_like(weight, np.inf), where=weight > 0.0)
    )
    return limited, (limited * weight).max(axis=1)


def lower_bound(psi: Floats, least: Floats, most: float, alpha: float) -> float:
    """Return a lower bound of the average of the conditional means of terms, at level 1 - alpha.

    The terms satisfy psi_t >= least_t >= -most, where least_t depends on the past, and their
    conditional means lie in [0, 1]. For xi >= -1 and 0 <= c < 1,
    exp(c xi - (-log(1 - c) - c) xi^2) <= 1 + c xi (Fan, Grama and Liu, 2015). With the running mean
    as centre e_t and b_t = e_t - least_t, the product over t of
    exp(lambda (psi_t - v_t) - (-log(1 - lambda b_t) - lambda b_t) (psi_t - e_t)^2 / b_t^2)
    has an expectation of at most 1, and so has a fixed mixture over lambda. It exceeds 1 / alpha
    with probability alpha at most.
    """
    count = len(psi)
    past = np.concatenate([[0.0], np.cumsum(psi)[:-1]])
    centre = np.clip((past + 0.5) / np.arange(1, count + 1), 0.0, 1.0)
    width = np.maximum(centre - least, 1e-9)
    squares = ((psi - centre) / width) ** 2
    lambdas = LARGEST_BET / (1.0 + most) * 0.5 ** np.arange(LAMBDAS)
    penalty = np.array(
        [((-np.log1p(-one * width) - one * width) * squares).sum() for one in lambdas]
    )
    total = float(psi.sum())

    def evidence(value: float) -> float:
        """Return the logarithm of the mixture, which decreases in the value."""
        logs = lambdas * (total - count * value) - penalty
        top = float(logs.max())
        return top + math.log(float(np.exp(logs - top).mean()))

    needed = math.log(1.0 / alpha)
    if evidence(0.0) < needed:
        return 0.0
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if evidence(middle) >= needed else (low, middle)
    return low


class Follower:
    """Policy that starts from its prior and follows the decisions of a log in their order."""

    def __init__(
        self,
        log: DecisionLog,
        policy: Policy,
        posterior: str | Posterior | None = None,
        prior: object = None,
        horizon: int | None = None,
    ) -> None:
        self.text, self._data, self._origin = text_of(policy), log.arrays, log.origin
        origin = self._origin
        self._own_prior = posterior is not None or prior is not None
        setup = Setup(
            policy,
            origin.arms[: origin.first_arms],
            start_prior(origin, posterior, prior),
            self._process(0 if origin.graphs else -1),
            None,
            origin.horizon if horizon is None else check_horizon(horizon),
            origin.keys,
        ).checked()
        self._state = AgentState(setup)
        self.posterior: Posterior | None = setup.posterior
        seen = self._data.outcomes
        check_rewards(seen.reward, seen.weight == 1.0, setup.posterior)
        self._events = _events(self._data, origin.changes, setup.incremental)
        self._next: tuple[int, str, Any] | None = next(self._events, None)
        self._numbers: dict[int, int] = {}  # of the decisions that were played, by row
        self._checked_graphs = set[int]()

    def _process(self, graph: int) -> Process:
        if graph >= 0:
            found = self._origin.processes[graph]
            if found is not None:
                return found
        elif not self._origin.graphs:
            return make_process("empty", self._origin.first_arms)
        raise InputError(
            "the log has no graph, because it is of a plug-in without a text form: a policy cannot "
            "follow it; evaluate a fixed distribution of arms"
        )

    def blocks(self, rows: Ints, size: int) -> Iterator[Floats]:
        """Yield the distributions of consecutive decisions; others are followed, too."""
        wanted, found = set(rows.tolist()), list[Floats]()
        for row in range(int(rows[-1]) + 1):
            if row in wanted:
                found.append(self.propose(row))
            self.play(row)
            if len(found) == size:
                yield np.array(found)
                found = []
        if found:
            yield np.array(found)

    # One decision ---------------------------------------------------------------------------------

    def propose(self, row: int) -> Floats:
        """Learn what had arrived before a decision; return the distribution over all arms."""
        data, state = self._data, self._state
        self._learn_until(int(data.entry[row]))
        setup, graph = state.setup, int(data.graph[row])
        process, count = self._process(graph), len(state.setup.arms)
        drawn = data.pi.arm[data.pi.start[row] : data.pi.start[row + 1]]
        if process.arms != count or max(data.arm[row], drawn.max(initial=0)) >= count:
            raise InputError(
                f"the log is damaged: the graph of decision {data.number[row]} has {process.arms} "
                f"arms, not {count}"
            )
        if graph not in self._checked_graphs:
            check_needs(setup.policy, process, setup.horizon)
            self._checked_graphs.add(graph)
        t = self._number(row)
        if self._is_in_order(row) and setup.policy.exact:
            t = int(data.round[row])  # decisions of one moment have the same distribution
        mask = None
        if data.eligible.known[row]:
            mask = _playable(data, np.array([row]), len(self._origin.arms))[:, :count]
        now = data.time[row] if setup.by_time else float(t)
        feedback = draw_graph(process, int(data.round[row]), setup.keys)
        view = View(t, setup.keys, setup.problem, feedback, mask, now)
        pi, _ = decide(setup.policy, state.policy_state, view)
        found = np.zeros(len(self._origin.arms))
        found[:count] = pi[0]
        return found

    def play(self, row: int) -> None:
        """Play the logged arm, so that its outcomes are learned when they arrive."""
        data, state = self._data, self._state
        pi = None
        if data.pi.known[row]:
            pi = pack_sparse(data.pi.dense(np.array([row]), len(state.setup.arms))[0])
        number = self._number(row)
        self._numbers[row] = state.decisions = number
        body = {"id": f"{number}-", "arm": int(data.arm[row]), "round": int(data.round[row])}
        made = Entry(0, float(data.time[row]), "decide", number, body, pi)
        state.open[number] = OpenDecision.of(made, self._process(int(data.graph[row])))

    def _number(self, row: int) -> int:
        """Return the number of the next decision; that of the log if no decision was left out."""
        in_order = self._is_in_order(row)
        return int(self._data.number[row]) if in_order else self._state.decisions + 1

    def _is_in_order(self, row: int) -> bool:
        return len(self._numbers) == row

    def _learn_until(self, entry: int) -> None:
        entries, state = list[Entry](), self._state
        while self._next is not None and self._next[0] < entry:
            _, kind, what = self._next
            self._next = next(self._events, None)
            number = state.number + len(entries) + 1
            if kind == "outcomes":
                row, body = what
                if row in self._numbers:
                    kind = "observe" if "arms" in body else "close"
                    self._check_arms(body.get("arms", ()))
                    entries.append(Entry(number, 0.0, kind, self._numbers[row], body))
                continue
            state.replay(entries, self._origin.get)
            entries = []
            state.replay([self._change(state.number + 1, what)], self._origin.get)
        state.replay(entries, self._origin.get)

    def _change(self, number: int, change: list[Any]) -> Entry:
        _, time, kind, body, packed = change
        data = None if packed is None else base64.b64decode(packed)
        setup = self._state.setup
        if kind == "add_arm" and self._own_prior:
            body = body | {"prior": setup.new_arm_prior(None)}
        entry = Entry(number, time, kind, None, body, data)
        if kind == "learn":
            seen = unpack_learned(entry)
            self._check_arms(seen.arm.tolist())
            check_rewards(seen.reward, np.zeros(len(seen.reward), np.bool_), setup.posterior)
        return entry

    def _check_arms(self, arms: Any) -> None:
        if any(not 0 <= arm < len(self._state.setup.arms) for arm in arms):
            raise InputError("the log is damaged: it has outcomes of arms that were added later")


def start_prior(origin: Origin, posterior: str | Posterior | None, prior: object) -> Posterior:
    names = origin.arms[: origin.first_arms]
    if posterior is not None or prior is not None or origin.prior is None:
        return make_prior(posterior, prior, names, names)
    found: Posterior = unpack_plugin(*unpack_npz(origin.get(origin.prior)))
    if found.arms != origin.first_arms:
        raise InputError("the log is damaged: its prior has another number of arms")
    return found


def check_rewards(reward: Floats, single: NDArray[np.bool_], posterior: Posterior) -> None:
    """Raise InputError if a posterior does not have a reward, or an average of several ones."""
    support = reward_support(posterior)
    inside = (reward >= support.low) & (reward <= support.high)
    wrong = ~np.where(single, support.contains(reward), inside)
    if wrong.any():
        raise InputError(
            f"the log has the reward {reward[wrong.argmax()]:g}, but the posterior "
            f"'{name_of(posterior)}' has rewards that are {support.description}: give "
            "posterior=..., such as 'normal(noise=1)'"
        )


def _playable(data: LogArrays, rows: Ints, arms: int) -> NDArray[np.bool_]:
    """Return which arms could be played in some decisions."""
    everything = np.arange(arms) < data.arms[rows][:, None]
    listed = data.eligible.dense(rows, arms) > 0.0
    return np.where(data.eligible.known[rows][:, None], listed, everything)


def _events(
    data: LogArrays, changes: list[list[Any]], incremental: bool
) -> Iterator[tuple[int, str, Any]]:
    """Yield changes and outcomes with their entries, in the order of the entries.

    Late outcomes are left out, and so are extra ones for policies that divide by probabilities.
    """
    seen = data.outcomes
    used = ~seen.late & (incremental | ~seen.extra)
    bodies: dict[tuple[int, int], dict[str, Any]] = {}
    for place in np.flatnonzero(used).tolist():
        key = int(seen.entry[place]), int(seen.row[place])
        body = bodies.setdefault(
            key, {"arms": [], "rewards": [], "weights": [], "extra": [], "closes": False}
        )
        arm = int(seen.arm[place])
        body["arms"].append(arm)
        body["rewards"].append(float(seen.reward[place]))
        body["weights"].append(float(seen.weight[place]))
        if seen.extra[place]:
            body["extra"].append(arm)
    for row in np.flatnonzero(data.closed).tolist():
        bodies.setdefault((int(data.closed_entry[row]), row), {})["closes"] = True
    found: list[tuple[int, int, str, Any]] = [
        (entry, 0, "outcomes", (row, body)) for (entry, row), body in bodies.items()
    ]
    found += [(int(change[0]), 1, "change", change) for change in changes]
    found.sort(key=lambda one: one[:2])
    return iter([(entry, kind, what) for entry, _, kind, what in found])


ESTIMATORS = ("auto", "ips", "snips", "dr", "dr-side", "replay")
#: Entries of the arrays of decisions and arms that are computed together.
MOST_ENTRIES = 2_000_000
#: Below this number, of decisions or of effective outcomes, a normal interval is not reliable.
FEW = 100
#: A share of a policy on arms without an outcome up to this one is not mentioned.
SMALL_SHARE = 0.001
#: Weight of the answer rate of all arms in that of an arm, in observations.
COMMON_RATE = 5.0
#: A single decision with a larger share of the variance makes a normal interval unreliable.
LARGE_SHARE = 0.1
#: With fewer outcomes that differ from the most common one the variance is not known.
FEW_DIFFERENT = 5
#: A larger share of open decisions makes the estimate unreliable.
OPEN_SHARE = 0.01
#: An average weight that differs more from 1, also in standard errors, is not by chance.
WEIGHT_OFF, WEIGHT_ERRORS = 0.1, 5.0


@dataclass(frozen=True)
class Evaluation:
    """Estimated value of a policy: the expected reward per decision.

    Parameters
    ----------
    policy : str
        The evaluated policy.
    estimator : str
        The estimator.
    value : float
        The estimate.
    standard_error : float
        Its standard error.
    interval : tuple of float
        Asymptotic interval from the central limit theorem for martingales.
    guaranteed : tuple of float or None
        Interval that is valid for every number of decisions and every weight, also if the logging
        policy learned. None if decisions are open, answers are missing, or rewards are not known
        to be bounded, which ``posterior`` states for logs of other systems.
    level : float
        Level of both intervals.
    label : str
        Validity of ``interval``: "asymptotic", or "asymptotic, not reliable".
    decisions : int
        Number of decisions that were used.
    open_decisions : int
        Number of open decisions, which were left out. Estimates are biased if decisions with some
        outcomes are closed earlier than those with others.
    effective : float
        Effective number of outcomes, (sum w)^2 / sum w^2 of the weights w.
    coverage : float
        Share of the probability of the policy on arms that the log can show.
    missing : float
        Share of expected answers that are missing.
    logged : float
        Average reward of the played arms, the value of the logging policy.
    warnings : tuple of str
        Assumptions and limits that apply to this log.
    terms : ndarray
        One term per decision; ``value`` is their average, except for "snips" and "replay".
    """

    policy: str
    estimator: str
    value: float
    standard_error: float
    interval: tuple[float, float]
    guaranteed: tuple[float, float] | None
    level: float
    label: str
    decisions: int
    open_decisions: int
    effective: float
    coverage: float
    missing: float
    logged: float
    warnings: tuple[str, ...] = ()
    terms: Floats = field(repr=False, compare=False, default_factory=lambda: np.empty(0))

    def __str__(self) -> str:
        low, high = self.interval
        lines = [
            f"{self.policy}: {self.value:.4g} per decision, {self.level:.0%} interval {low:.4g} to "
            f"{high:.4g} ({self.label}), by {self.estimator} from {self.decisions} decisions."
        ]
        if self.guaranteed is not None:
            low, high = self.guaranteed
            lines.append(f"Guaranteed: {low:.4g} to {high:.4g}.")
        return "\n".join([*lines, *(f"Warning: {one}." for one in self.warnings)])

    def to_dict(self) -> dict[str, Any]:
        """Return the attributes without ``terms`` as JSON values."""
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in vars(self).items()
            if name != "terms"
        }


def evaluate(
    log: object,
    policy: str | int | Policy | Mapping[Arm, float],
    *,
    estimator: str = "auto",
    level: float = 0.95,
    posterior: str | Posterior | None = None,
    prior: object = None,
    horizon: int | None = None,
    before: date | str | float | None = None,
) -> Evaluation:
    """Estimate the value of a policy, its expected reward per decision, from a log.

    A learning policy follows the log: it proposes a distribution at each decision from what had
    arrived by then, and learns from the logged outcomes. Its value is the average of
    sum_a pi_t(a) theta_a along this history. It is not what the policy would have earned with data
    that it had gathered itself; "replay" estimates that, from uniform logs.

    Parameters
    ----------
    log : DecisionLog, path, data frame or table
        The log, or what :meth:`DecisionLog.read` or :meth:`DecisionLog.of` accept.
    policy : str, int, Policy or mapping of arm to float
        An arm, probabilities of arms, or a policy such as "uniform" or "ids-n".
    estimator : {"auto", "ips", "snips", "dr", "dr-side", "replay"}, default="auto"
        Inverse propensity weighting, its self-normalised form, doubly robust with the played
        outcomes, doubly robust with everything seen, or rejection of decisions with another arm.
        "auto" is "dr-side" if the log has side observations, else "dr".
    level : float, default=0.95
        Level of the intervals.
    posterior, prior, horizon : optional
        Model of the rewards and number of rounds of a learning policy, as in
        :class:`graphbandits.Agent`. The default is those of the log.
    before : date, datetime, str or float, optional
        Use only decisions made before this time, as in :meth:`graphbandits.Agent.at`, for example
        because later ones are still open.

    Returns
    -------
    Evaluation
        The estimate, with intervals.

    Raises
    ------
    InputError
        If the log has no propensities, or none where the policy has mass.

    Examples
    --------
    >>> from graphbandits import Agent
    >>> agent = Agent("uniform", arms=["ann", "bob"], graph="complete", seed=1)
    >>> for _ in range(50):
    ...     agent.observe(agent.decide(), {"ann": 1, "bob": 0})
    >>> result = evaluate(agent.log(), {"ann": 0.75, "bob": 0.25})
    >>> result.estimator, round(result.value, 2), result.coverage
    ('dr-side', 0.75, 1.0)
    """
    if not isinstance(log, DecisionLog):
        log = DecisionLog.of(log)
    if estimator not in ESTIMATORS:
        allowed = ", ".join(map(repr, ESTIMATORS))
        raise InputError(f"estimator must be one of {allowed}, not {short_repr(estimator)}")
    level = check_level(level)
    used = _made_before(log, before)
    rows = used[log.arrays.closed[used]]
    if not len(rows):
        raise InputError(f"none of the {len(used)} decisions is closed: close them first")
    log.arrays.check_propensities(rows)
    if not np.isfinite(log.arrays.outcomes.reward).all():
        raise InputError("the log has rewards that are not finite numbers: remove or correct them")
    target = _target(log, policy, posterior, prior, horizon)
    if estimator == "auto":
        estimator = "dr-side" if _has_side_observations(log, rows) else "dr"
    support = reward_support(target.posterior) if target.posterior else _support(log, posterior)
    # without a model, rewards of 0 and 1 in the log do not show that there are no others
    declared = posterior is not None or log.origin.prior is not None
    if support is not None and not support.bounded:
        support = None
    still_open = len(used) - len(rows)
    valid = support is not None and declared and not still_open
    study = _Study(log, rows, still_open, target, estimator, level, support, valid)
    return study.replay() if estimator == "replay" else study.estimate()


def _made_before(log: DecisionLog, before: date | str | float | None) -> Ints:
    if not len(log):
        raise InputError("the log is empty: it has no decisions")
    if before is None:
        return np.arange(len(log))
    if log.to_arrow()["time"].null_count:
        raise InputError("before needs the times of the decisions: give the column 'time'")
    found: Ints = np.flatnonzero(log.arrays.time < timestamp(before, "before"))
    if not len(found):
        raise InputError(f"none of the {len(log)} decisions was made before {before}")
    return found


# Targets ------------------------------------------------------------------------------------------


class _Fixed:
    """A distribution of arms that does not depend on the log."""

    posterior: Posterior | None = None

    def __init__(self, log: DecisionLog, probabilities: Mapping[Arm, float] | None) -> None:
        self._data, self._arms = log.arrays, log.arms
        if probabilities is None:
            self.text, self._row = "uniform", None
            return
        number = {arm: i for i, arm in enumerate(log.arms)}
        number |= {str(arm): i for i, arm in enumerate(log.arms)}
        row = np.zeros(len(log.arms))
        for arm, p in probabilities.items():
            if isinstance(arm, bool) or arm not in number:
                raise InputError(
                    f"the policy has the arm {short_repr(arm)}, which the log does not have; its "
                    f"arms are {short_repr(list(log.arms))}"
                )
            row[number[arm]] = check_probability(p, f"the probability of {arm!r}")
        if abs(row.sum() - 1.0) > 1e-9:
            raise InputError(f"the probabilities of the policy sum to {row.sum():g}, not 1")
        self._row = row
        shown = [f"{arm}: {p:g}" for arm, p in zip(log.arms, row, strict=True) if p > 0.0]
        self.text = ", ".join(shown[:5]) + (", ..." if len(shown) > 5 else "")
        if len(shown) == 1:
            self.text = str(log.arms[int(row.argmax())])

    def blocks(self, rows: Ints, size: int) -> Iterator[Floats]:
        for first in range(0, len(rows), size):
            yield self._some(rows[first : first + size])

    def _some(self, rows: Ints) -> Floats:
        if self._row is not None:
            return np.broadcast_to(self._row, (len(rows), len(self._arms)))
        allowed = _playable(self._data, rows, len(self._arms))
        found: Floats = allowed / allowed.sum(axis=1, keepdims=True)
        return found

    def propose(self, row: int) -> Floats:
        found: Floats = self._some(np.array([row]))[0]
        return found

    def play(self, row: int) -> None:
        """Do nothing: the distribution does not depend on outcomes."""


def _target(
    log: DecisionLog,
    policy: Any,
    posterior: str | Posterior | None,
    prior: object,
    horizon: int | None,
) -> _Fixed | Follower:
    if isinstance(policy, Mapping):
        return _Fixed(log, policy)
    names = set(log.arms) | {str(arm) for arm in log.arms}
    name = isinstance(policy, str | int | np.integer) and not isinstance(policy, bool)
    if name and policy in names:
        if policy in registered("policy"):
            raise InputError(
                f"{policy!r} is an arm of the log and the name of a policy: give {{{policy!r}: 1}} "
                "for the arm, or a policy object"
            )
        return _Fixed(log, {str(policy): 1.0})
    if policy == "uniform":
        return _Fixed(log, None)
    try:
        made = as_policy(policy)
    except InputError as error:
        raise InputError(
            f"{short_repr(policy)} is neither an arm of the log nor a policy: {error}"
        ) from None
    return Follower(log, made, posterior, prior, horizon)


def _support(log: DecisionLog, posterior: str | Posterior | None) -> Support | None:
    seen = log.arrays.outcomes.reward
    if posterior is None and log.origin.prior is None:
        binary = values(0, 1)
        return binary if binary.contains(seen).all() else None
    try:
        model = start_prior(log.origin, posterior, None)
    except GraphBanditsError:
        if posterior is not None:
            raise
        return None  # of a plug-in that is not loaded
    check_rewards(log.arrays.outcomes.reward, log.arrays.outcomes.weight == 1.0, model)
    return reward_support(model)


def _has_side_observations(log: DecisionLog, rows: Ints) -> bool:
    data, seen = log.arrays, log.arrays.outcomes
    place = _outcomes_of(data, rows)
    side = seen.arm[place] != data.arm[seen.row[place]]
    known = bool(data.pi.known[rows].all() and (data.graph[rows] >= 0).all())
    return known and bool(side.any())


# Estimates ----------------------------------------------------------------------------------------


@dataclass
class _Study:
    """One evaluation: the closed decisions of a log, and a policy."""

    log: DecisionLog
    rows: Ints
    open: int
    target: _Fixed | Follower
    estimator: str
    level: float
    support: Support | None
    guarantees: bool

    def __post_init__(self) -> None:
        self._data, self._arms = self.log.arrays, len(self.log.arms)
        data, rows = self._data, self.rows
        self._side = self.estimator == "dr-side"
        self._model = self._side or self.estimator == "dr"
        self._known = bool(data.pi.known[rows].all())
        if self._side:
            self._check_graphs()
        self._rate, self._missing = _answer_rates(data, rows, self._arms, self._side)
        self.guarantees = self.guarantees and not self._missing
        self._silent = _silent_arms(data, rows, self._arms, self._side)
        self._silent_share = 0.0
        self._doubts = list[str]()  # warnings that make the interval unreliable
        own = data.own_outcomes()[rows]
        answered = own[own >= 0]
        self._logged = float(data.outcomes.reward[answered].mean()) if len(answered) else math.nan
        self._ever_played = np.isin(np.arange(self._arms), data.arm[rows])

    def _check_graphs(self) -> None:
        data, rows = self._data, self.rows
        if not self._known:
            raise InputError(
                "'dr-side' needs the probabilities of all arms, and the log has only those of the "
                "played ones: give the column pi, or use 'dr'"
            )
        if (data.graph[rows] < 0).any():
            raise InputError(
                "'dr-side' needs the graph, and the log has none: give it with "
                "DecisionLog.of(..., graph=...), or use 'dr'"
            )

    def estimate(self) -> Evaluation:
        rows, count = self.rows, len(self.rows)
        size = max(1, MOST_ENTRIES // self._arms)
        support = self.support
        low, high = (support.low, support.high) if support else (0.0, 1.0)
        model = RunningMean(self._arms, 0.5 * (low + high) if support else 0.0)
        bounds = _Bounds(count, self._model and self._known)
        psi, weight_sum, rewards = np.empty(count), np.empty(count), list[Floats]()
        # sums of w, w^2, w R, and of the mass that is covered or has no outcome
        total = squares = weighted = covered = silent = 0.0
        first, uncovered = 0, ""
        for target in self.target.blocks(rows, size):
            some = rows[first : first + len(target)]
            block = _Block.of(self.log, some, self._side)
            seeable = self._seeable(block)
            covered += float((target * seeable).sum())
            uncovered = uncovered or self._uncovered(np.where(seeable, 0.0, target), some)
            silent += float(target[:, self._silent].sum())
            chance = block.chance * self._rate
            weight = weights_of(target, chance)
            used = np.where(block.seen, weight, 0.0)
            before = model.before(block.everything, block.reward, block.weight)
            mine = before if self._model else np.zeros_like(before)
            part = slice(first, first + len(some))
            psi[part] = terms(target, weight, block.seen, block.reward, mine)
            weight_sum[part] = used.sum(axis=1)
            rewards.append(block.reward[used > 0.0])
            total += float(used.sum())
            squares += float((used**2).sum())
            weighted += float((used * block.reward).sum())
            if self.guarantees:
                bounds.add(target, weight, block, (before - low) / (high - low), low, high)
            first += len(some)
        if uncovered:
            raise InputError(
                f"the log covers {100.0 * covered / count:.6g} % of the probability of the policy "
                f"'{self.target.text}': {uncovered}; log with an exploration floor, or evaluate a "
                "policy on the covered arms"
            )
        self._silent_share = silent / count
        if self.estimator == "snips":
            if not total:
                raise InputError(
                    "the arms of the policy have no outcome in the log, so that 'snips' would "
                    "divide by 0: use 'dr', or a longer log"
                )
            value = weighted / total
            psi = psi - weight_sum * value
            error = math.sqrt(float((psi**2).sum())) / total
        else:
            value = float(psi.mean())
            error = float(psi.std(ddof=1)) / math.sqrt(count) if count > 1 else math.inf
        effective = total**2 / squares if squares > 0.0 else 0.0
        self._check_weights(weight_sum)
        return self._result(value, error, bounds, effective, psi, np.concatenate(rewards))

    def _check_weights(self, weight_sum: Floats) -> None:
        # given the past, the sum of the weights of a decision has the mean 1, whatever the policy;
        # arms without an outcome have no weights: another warning is about them
        count, average, expected = len(weight_sum), weight_sum.mean(), 1.0 - self._silent_share
        if count < FEW:
            return
        error = float(weight_sum.std(ddof=1)) / math.sqrt(count)
        if abs(average - expected) > max(WEIGHT_OFF, WEIGHT_ERRORS * error):
            self._doubts.append(
                f"the average weight is {average:.3g}, but should be {expected:.3g}: the "
                "probabilities of the log may be wrong, or the arms of the policy too rare in it"
            )

    def _seeable(self, block: _Block) -> NDArray[np.bool_]:
        if self._known:
            return block.chance > 0.0
        return np.broadcast_to(self._ever_played, block.chance.shape)

    def _uncovered(self, outside: Floats, rows: Ints) -> str:
        """Describe where the policy has mass that the log cannot show."""
        row, arm = np.unravel_index(int(outside.argmax()), outside.shape)
        if outside[row, arm] <= 1e-9:
            return ""
        return (
            f"arm {self.log.arms[int(arm)]!r} has probability {outside[row, arm]:.3g} in decision "
            f"{self._data.number[rows[row]]}, where the log "
            f"{'cannot show it' if self._side else 'has probability 0'}"
        )

    def replay(self) -> Evaluation:
        """Return the average of the decisions in which the policy draws the logged arm."""
        self._check_uniform()
        data, keys = self._data, self.log.origin.keys
        own, wanted = data.own_outcomes(), np.zeros(len(self.log), np.bool_)
        wanted[self.rows] = True
        accepted, outside = list[int](), np.zeros(len(self.log))
        for row in range(int(self.rows[-1]) + 1):
            pi = self.target.propose(row)
            playable = _playable(data, np.array([row]), self._arms)[0]
            outside[row] = 1.0 - pi[playable].sum()
            # a stream of its own: the logged arm has used another one
            uniform = Stream(keys, row + 1, "evaluation/replay").uniform(1)[0, 0]
            drawn = int(np.searchsorted(np.cumsum(pi), uniform, side="right"))
            if min(drawn, self._arms - 1) == data.arm[row]:
                self.target.play(row)
                if wanted[row]:
                    accepted.append(row)
        if (outside > 1e-9).any():
            raise InputError(
                f"the log covers {100.0 * (1.0 - outside.mean()):.6g} % of the probability of the "
                f"policy '{self.target.text}': {np.count_nonzero(outside > 1e-9)} decisions could "
                "not play one of its arms; evaluate a policy on the eligible arms"
            )
        rows = np.array(accepted, np.int64)
        answered = rows[own[rows] >= 0] if len(rows) else rows
        if not len(answered):
            raise InputError(
                f"the policy drew the logged arm, with an answer, in none of {len(self.rows)} "
                "decisions: use a longer log"
            )
        reward = data.outcomes.reward[own[answered]]
        weight = 1.0 / self._rate[data.arm[answered]]
        value = float((weight * reward).sum() / weight.sum())
        psi = weight * (reward - value)
        error = math.sqrt(float((psi**2).sum())) / float(weight.sum()) if len(psi) > 1 else math.inf
        bounds, support = _Bounds(len(self.rows), False), self.support
        if support and self.guarantees:
            bounds.add_rewards((reward - support.low) / (support.high - support.low))
        return self._result(value, error, bounds, effective_size(weight), psi, reward)

    def _check_uniform(self) -> None:
        data, rows = self._data, self.rows
        allowed = np.where(
            data.eligible.known[rows], np.diff(data.eligible.start)[rows], data.arms[rows]
        )
        off = np.abs(data.probability[rows] * allowed - 1.0) > 1e-6
        where, place = spread(data.pi.start, rows)
        wrong = np.abs(data.pi.value[place] * allowed[where] - 1.0) > 1e-6
        off[where[wrong]] = True
        if off.any():
            row = rows[off.argmax()]
            raise InputError(
                f"'replay' needs a log of uniform draws, but {off.sum()} of {len(rows)} decisions "
                f"are not: decision {data.number[row]} played its arm with probability "
                f"{data.probability[row]:.3g} among {allowed[off.argmax()]} arms; use 'dr'"
            )

    def _result(
        self,
        value: float,
        error: float,
        bounds: _Bounds,
        effective: float,
        psi: Floats,
        rewards: Floats,
    ) -> Evaluation:
        guaranteed = self._guaranteed(bounds)
        doubts = list[str]()
        doubt = _doubt(effective, psi, rewards)
        if doubt:
            doubts.append(f"{doubt}: the asymptotic interval is not reliable")
        doubts += self._doubts
        if self._silent_share > SMALL_SHARE:
            doubts.append(
                f"{self._silent_share:.1%} of the probability of the policy is on arms without an "
                "outcome in the log: their values are guessed from the other arms"
            )
        warnings = list(doubts)
        decisions = len(self.rows) + self.open
        many_open = self.open > OPEN_SHARE * decisions
        if self.open:
            warnings.append(
                f"{self.open} of {decisions} decisions ({self.open / decisions:.1%}) are open "
                "and were left out; whether a decision is closed may depend on its outcome: close "
                "them, or evaluate decisions before a date"
            )
        if self._missing:
            warnings.append(
                f"{self._missing:.1%} of the answers are missing: the estimate assumes that an "
                "answer does not depend on its value, which the log cannot show"
            )
        return Evaluation(
            self.target.text,
            self.estimator,
            value,
            error,
            normal_interval(value, error, self.level),
            guaranteed,
            self.level,
            "asymptotic, not reliable" if doubts or many_open else "asymptotic",
            len(psi),
            self.open,
            effective,
            1.0,
            self._missing,
            self._logged,
            tuple(warnings),
            psi,
        )

    def _guaranteed(self, bounds: _Bounds) -> tuple[float, float] | None:
        support = self.support
        if support is None or not self.guarantees:
            return None
        low, high = bounds.interval(1.0 - self.level)
        if low > high:
            self._doubts.append(
                "the lower end of the guaranteed interval is above its upper end: the "
                "probabilities or the rewards of the log may be wrong"
            )
            return None
        width = support.high - support.low
        return support.low + width * low, support.low + width * high


def _doubt(effective: float, psi: Floats, rewards: Floats) -> str:
    for few, what in ((len(psi), "decisions"), (effective, "effective outcomes")):
        if few < FEW:
            return f"only {math.floor(few)} {what}"
    values, counts = np.unique(rewards, return_counts=True)
    common, different = values[counts.argmax()], len(rewards) - counts.max()
    if different < FEW_DIFFERENT:
        return f"only {different} of {len(rewards)} outcomes differ from {common:g}"
    squares = (psi - psi.mean()) ** 2
    total = float(squares.sum())
    if total <= 1e-18 * float((psi**2).sum()):
        return "all decisions have the same term"
    share = float(squares.max()) / total
    return f"one decision has {share:.0%} of the variance" if share > LARGE_SHARE else ""


class _Bounds:
    """Terms of the finite-sample interval: of the rewards, and of 1 minus the rewards."""

    def __init__(self, decisions: int, model: bool) -> None:
        self._most = largest_drop(decisions) if model else 0.0
        self._model = model
        self._parts: list[list[tuple[Floats, Floats]]] = [[], []]

    def add(
        self,
        target: Floats,
        weight: Floats,
        block: _Block,
        model: Floats,
        low: float,
        high: float,
    ) -> None:
        """Add a block; the model is on the scale of 0 to 1."""
        reward = (block.reward - low) / (high - low)
        for side, (gain, mean) in enumerate(((reward, model), (1.0 - reward, 1.0 - model))):
            limited, drop = np.zeros_like(mean), np.zeros(len(mean))
            if self._model:
                limited, drop = block.limited(mean, weight, self._most)
            psi = terms(target, weight, block.seen, gain, limited)
            least = (target * limited).sum(axis=1) - drop
            self._parts[side].append((psi, least))

    def add_rewards(self, reward: Floats) -> None:
        for side, gain in enumerate((reward, 1.0 - reward)):
            self._parts[side].append((gain, np.zeros_like(gain)))

    def interval(self, alpha: float) -> tuple[float, float]:
        """Return both ends, each with half of the probability of an error; they may cross."""
        ends = []
        for side in self._parts:
            psi, least = (np.concatenate(part) for part in zip(*side, strict=True))
            ends.append(lower_bound(psi, least, self._most, alpha / 2.0))
        return ends[0], 1.0 - ends[1]


@dataclass(frozen=True, eq=False)
class _Block:
    """Consecutive decisions as arrays of decisions and arms.

    ``chance`` is the probability that an outcome is seen, ``seen`` are those that the estimator
    uses, and ``everything`` are all outcomes, which the model uses.
    """

    rows: Ints
    chance: Floats
    seen: NDArray[np.bool_]
    everything: NDArray[np.bool_]
    reward: Floats
    weight: Floats
    graphs: list[tuple[Ints, Feedback]]
    played: Floats

    @classmethod
    def of(cls, log: DecisionLog, rows: Ints, side: bool) -> _Block:
        data, count = log.arrays, len(log.arms)
        shape = len(rows), count
        where, place = spread(data.outcomes.start, rows)
        kept = ~data.outcomes.extra[place]
        where, place = where[kept], place[kept]
        arm = data.outcomes.arm[place]
        seen, reward, weight = np.zeros(shape, np.bool_), np.zeros(shape), np.ones(shape)
        seen[where, arm] = True
        reward[where, arm] = data.outcomes.reward[place]
        weight[where, arm] = data.outcomes.weight[place]
        own = np.zeros(shape, np.bool_)
        own[np.arange(len(rows)), data.arm[rows]] = True
        mu = data.pi.dense(rows, count)
        mu[own] = data.probability[rows]
        if not side:
            return cls(rows, mu, seen & own, seen, reward, weight, [], mu)
        graphs = list(_feedbacks(log, rows))
        chance = np.zeros(shape)
        for index, feedback in graphs:
            part = np.ascontiguousarray(mu[index, : feedback.arms])
            chance[index, : feedback.arms] = feedback.observed(part)
        for arm_, made in log.origin.retired.items():
            chance[data.number[rows] > made, arm_] = 0.0
        return cls(rows, chance, seen & (chance > 0.0), seen, reward, weight, graphs, mu)

    def limited(self, model: Floats, weight: Floats, most: float) -> tuple[Floats, Floats]:
        """Return a model whose terms are at least -most, and by how much each term can fall."""
        if not self.graphs:
            return limited_model(model, weight, most)
        drop = np.zeros(len(model))
        for index, feedback in self.graphs:
            count = feedback.arms
            product = np.ascontiguousarray((weight * model)[index, :count])
            # all arms that a play can show may be seen together
            total = _positive(feedback).gain(product)
            drop[index] = np.where(self.played[index, :count] > 0.0, total, 0.0).max(axis=1)
        scale = np.minimum(1.0, most / np.maximum(drop, most))
        return model * scale[:, None], drop * scale


def _feedbacks(log: DecisionLog, rows: Ints) -> Iterator[tuple[Ints, Feedback]]:
    """Yield the graphs of decisions, with the positions of the rows that share one."""
    data, origin = log.arrays, log.origin
    for graph in np.unique(data.graph[rows]).tolist():
        process = origin.processes[graph]
        index: Ints = np.flatnonzero(data.graph[rows] == graph)
        if process is None:  # checked before
            continue
        fixed = fixed_feedback(process)
        if fixed is not None:
            yield index, fixed
            continue
        for one in index.tolist():
            round_ = int(data.round[rows[one]])
            yield np.array([one]), draw_graph(process, round_, origin.keys)


def _positive(feedback: Feedback) -> Feedback:
    if isinstance(feedback, SparseFeedback):
        return SparseFeedback(
            feedback.start, feedback.column, (feedback.weight > 0.0).astype(np.float64)
        )
    if isinstance(feedback, UniformFeedback):
        return UniformFeedback((feedback.r > 0.0).astype(np.float64), feedback.count)
    return DenseFeedback((matrices(feedback, 1) > 0.0).astype(np.float64))


def _answer_rates(data: LogArrays, rows: Ints, arms: int, side: bool) -> tuple[Floats, float]:
    """Return the share of answers of each arm among certain observations, and the missing share.

    The rate of all arms counts as some observations of each arm: few observations do not give
    extreme weights.
    """
    seen = data.outcomes
    certain_row, certain_arm = rows, data.arm[rows]
    if side:
        where, place = spread(data.reveals.start, rows)
        sure = data.reveals.value[place] == 1.0
        certain_row, certain_arm = rows[where[sure]], data.reveals.arm[place[sure]]
    keys = certain_row * arms + certain_arm
    answered_keys = (seen.row * arms + seen.arm)[~seen.extra]
    has = np.isin(keys, answered_keys)
    total = np.bincount(certain_arm, minlength=arms)
    found = np.bincount(certain_arm, has, minlength=arms)
    overall = float(has.mean()) if len(has) else 1.0
    rate: Floats = (found + COMMON_RATE * overall) / (total + COMMON_RATE)
    if not overall:
        raise InputError("the log has no answers: no policy can be evaluated")
    return rate, 1.0 - overall


def _silent_arms(data: LogArrays, rows: Ints, arms: int, side: bool) -> NDArray[np.bool_]:
    seen, place = data.outcomes, _outcomes_of(data, rows)
    if not side:
        place = place[seen.arm[place] == data.arm[seen.row[place]]]
    silent: NDArray[np.bool_] = np.bincount(seen.arm[place], minlength=arms) == 0
    return silent


def _outcomes_of(data: LogArrays, rows: Ints) -> Ints:
    _, place = spread(data.outcomes.start, rows)
    return place[~data.outcomes.extra[place]]
