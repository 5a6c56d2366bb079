"""Audit: check the statements of the paper in every round and trial of a simulation."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, astuple, dataclass, field, replace
from functools import cached_property
from threading import Event, Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from graphbandits._types import Floats, State
from graphbandits.errors import InputError, check_integer
from graphbandits.graphs import Feedback, UniformFeedback
from graphbandits.graphs.edges import edges_text
from graphbandits.graphs.properties import most_outcomes
from graphbandits.policies import Policy
from graphbandits.policies.information_directed import IDSLP, IDSN, IDSNLP
from graphbandits.policies.thompson import TSN
from graphbandits.posteriors import Beliefs, BetaBernoulli, Observations, Posterior
from graphbandits.posteriors.base import has_variance, strictest
from graphbandits.registry import name_of
from graphbandits.rng import Keys
from graphbandits.rules.gains import check_joint, information_ratio, joint_gain
from graphbandits.simulation.loop import RunMonitor, run_block
from graphbandits.simulation.plan import Plan
from graphbandits.simulation.progress import Advance
from graphbandits.theory.bounds import entropy_of, ratio_limit, reward_scale, why_no_bounds

#: One flag per trial.
Flags = NDArray[np.bool_]

#: Smaller information gains have no significant digits; larger ones have a small relative error.
FLOOR = 1e-30
#: Rounds with a smaller information gain are counted separately.
SMALL = 1e-12
#: A smaller expected regret is a rounding error.
NEGLIGIBLE_REGRET = 1e-12
#: Relative tolerance of all comparisons: the accuracy of the statistics.
TOLERANCE = 1e-7
#: Significance level, per round, at which a mean exceeds its bound.
SIGNIFICANCE = 1e-6
#: Relative tolerance of means: in the first round all trials are equal and have no standard error.
ROUNDING = 1e-9
#: Trials per block.
BLOCK = 25
#: Denominators of Psi: g if it is affordable, g, or G h.
GAINS = ("auto", "joint", "bound")
#: Most joint outcomes of the observed arms for which gain="auto" computes g.
MOST_OUTCOMES = 5000
#: Policies of Proposition 2 and Theorems 2 and 3, including subclasses.
THEOREM_2_POLICIES: tuple[type, ...] = (TSN, IDSN, IDSNLP)
#: Policies of Theorem 1, including subclasses.
THEOREM_1_POLICIES: tuple[type, ...] = (IDSLP,)


# --- statements about one round


def _expected(weights: Floats, values: Floats) -> Floats:
    found: Floats = (weights * values).sum(axis=1)
    return found


@dataclass(frozen=True, eq=False)
class AuditedDecision:
    """Beliefs, gains and proposed play of one round, for each trial.

    ``bound`` is G h, ``joint`` the exact gain g and ``v`` the variance form, if they are computed,
    ``limit`` the upper bound on psi on this graph, ``scale`` the constant of the rewards.
    """

    alpha: Floats
    delta: Floats
    h: Floats
    bound: Floats
    joint: Floats | None
    pi: Floats
    limit: Floats
    v: Floats | None = None
    scale: float = 1.0

    @property
    def gain(self) -> Floats:
        """Exact gain g if it is computed, otherwise G h, which gives larger ratios."""
        return self.bound if self.joint is None else self.joint

    @cached_property
    def ratio(self) -> Floats:
        """Information ratio Psi_t of the policy."""
        return information_ratio(self.pi, self.delta, self.gain)

    @cached_property
    def psi(self) -> Floats:
        return information_ratio(self.alpha, self.delta, self.bound)


#: Value of each trial (or of each trial and arm), its limit, and the gain in the denominator, which
#: determines whether the value has significant digits.
Compared = tuple[Floats, Floats, Floats]


@dataclass(frozen=True)
class Statement:
    """A statement of the paper: value and limit from ``compare``, for the policies ``about``."""

    name: str
    text: str
    compare: Callable[[AuditedDecision], Compared]
    about: tuple[type, ...] = (object,)
    feedback: str = "any"  # or "deterministic", or "random"
    joint: bool = False  # whether it needs g
    variance: bool = False  # whether it needs v
    scaled: bool = True  # whether its limit has the factor scale^2

    def at(self, scale: float) -> Statement:
        if scale == 1.0 or not self.scaled:
            return self
        return replace(self, text=f"{self.text} times {scale**2:g}")


def _proposition_1(d: AuditedDecision) -> Compared:
    assert d.joint is not None
    return d.bound, d.joint, d.bound


def _proposition_2(d: AuditedDecision) -> Compared:
    return d.ratio, d.psi, _expected(d.alpha, d.bound)


def _lemma_2(d: AuditedDecision) -> Compared:
    ratio = information_ratio(d.alpha, d.delta, d.h)
    limit = d.scale**2 * d.alpha.shape[1] / 2.0
    return ratio, np.full_like(ratio, limit), _expected(d.alpha, d.h)


def _lemma_3(d: AuditedDecision) -> Compared:
    total = np.broadcast_to(d.h.sum(axis=1, keepdims=True), d.h.shape)
    ratio = information_ratio(d.alpha, d.delta, total)
    return ratio, np.full_like(ratio, d.scale**2 * 0.5), total[:, 0]


def _theorem_1(d: AuditedDecision) -> Compared:
    limit = d.scale**2 * d.alpha.shape[1] / 2.0
    return d.ratio, np.full_like(d.psi, limit), _expected(d.alpha, d.h)


def _theorem_2_and_3(d: AuditedDecision) -> Compared:
    limit = np.broadcast_to(d.limit, d.psi.shape)
    return np.maximum(d.ratio, d.psi), limit, _expected(d.alpha, d.bound)


def _pinsker(d: AuditedDecision) -> Compared:
    assert d.v is not None
    return d.v, d.scale**2 * d.h / 2.0, d.h


STATEMENTS = (
    Statement("Proposition 1", "g >= G h", _proposition_1, joint=True, scaled=False),
    Statement("Proposition 2", "Psi <= psi", _proposition_2, THEOREM_2_POLICIES, scaled=False),
    Statement("Lemma 2", "(alpha.Delta)^2/(alpha.h) <= K/2", _lemma_2),
    Statement("Lemma 3", "(alpha.Delta)^2/(h.1) <= 1/2", _lemma_3),
    Statement("Theorem 1", "Psi <= K/2", _theorem_1, THEOREM_1_POLICIES),
    Statement(
        "Theorem 2", "Psi, psi <= chi(G)/2", _theorem_2_and_3, THEOREM_2_POLICIES, "deterministic"
    ),
    Statement(
        "Theorem 3", "Psi, psi <= K/(2(Kr+1-r))", _theorem_2_and_3, THEOREM_2_POLICIES, "random"
    ),
    Statement("Pinsker", "v <= h/2", _pinsker, variance=True),
)


@dataclass(frozen=True)
class Violation:
    """A violated statement, with its location, its margin and a command that shows the state.

    Attributes
    ----------
    statement, text : name and formula of the statement
    policy : text of the policy
    seed, trial, round : location in the simulation
    value, limit : value and the limit that it exceeds
    margin : (limit - value) / limit, which is negative
    replay : shell command that shows the decision; the state itself if the posterior is not Beta
    pi : distribution of the play
    """

    statement: str
    text: str
    policy: str
    seed: int
    trial: int
    round: int
    value: float
    limit: float
    margin: float
    replay: str
    pi: tuple[float, ...]

    def __str__(self) -> str:
        return (
            f"{self.statement} ({self.text}) does not hold: {self.value:.9g} is above "
            f"{self.limit:.9g}, for {self.policy} in round {self.round} of trial {self.trial}, "
            f"seed {self.seed}, with pi = ({', '.join(f'{p:.6g}' for p in self.pi)}); {self._state}"
        )

    @property
    def _state(self) -> str:
        command = self.replay.startswith("graphbandits ")
        return f"to show the state, run: {self.replay}" if command else f"state: {self.replay}"


def replay_command(state: State, graph: Feedback, trial: int) -> str:
    """Return the shell command that shows the decision of one trial, for Beta posteriors.

    >>> import numpy as np
    >>> from graphbandits.graphs import as_process
    >>> state = {"a": np.array([[1.0, 2.5]]), "b": np.array([[3.0, 1.0]])}
    >>> replay_command(state, as_process("star", arms=2).feedback, 0)
    "graphbandits inspect --beta=1,3 --beta=2.5,1 --graph='edges(1-2)'"
    """
    pairs = zip(state["a"][trial].tolist(), state["b"][trial].tolist(), strict=True)
    betas = (",".join(str(x).removesuffix(".0") for x in pair) for pair in pairs)
    options = " ".join(f"--beta={beta}" for beta in betas)
    return f"graphbandits inspect {options} --graph={shlex.quote(edges_text(graph, trial))}"


def state_text(state: State, graph: Feedback, trial: int) -> str:
    """Return the state of one trial and its graph as text, for posteriors that are not Beta.

    >>> import numpy as np
    >>> from graphbandits.graphs import as_process
    >>> state_text({"mean": np.array([[0.5, 1.0]])}, as_process("star", arms=2).feedback, 0)
    'mean = [0.5, 1.0], graph = edges(1-2)'
    """
    arrays = (f"{name} = {array[trial].tolist()}" for name, array in state.items())
    return f"{', '.join(arrays)}, graph = {edges_text(graph, trial)}"


# --- checks of each round


@dataclass
class Tally:
    """Number of checks of a statement, smallest relative margin, and worst violation.

    The margin is (limit - value) / limit in the round that is closest to its limit.
    """

    statement: Statement
    checks: int = 0
    margin: float = math.inf
    nearest: str = ""  # policy of that round
    violations: int = 0
    worst: Violation | None = None

    @classmethod
    def merged(cls, parts: Sequence[Tally]) -> Tally:
        least = min(parts, key=lambda part: part.margin)
        found = [part.worst for part in parts if part.worst is not None]
        return cls(
            parts[0].statement,
            sum(part.checks for part in parts),
            least.margin,
            least.nearest,
            sum(part.violations for part in parts),
            min(found, key=lambda violation: violation.margin, default=None),
        )

    def to_dict(self) -> dict[str, Any]:
        about = {"name": self.statement.name, "text": self.statement.text}
        return about | {key: value for key, value in asdict(self).items() if key != "statement"}


@dataclass
class Rounds:
    """Number of rounds, over all trials and policies, and of rounds with a small gain."""

    all: int = 0
    unchecked: int = 0  # gain below 1e-30 and no regret
    small: int = 0  # gain below 1e-12, including the unchecked rounds

    @classmethod
    def merged(cls, parts: Sequence[Rounds]) -> Rounds:
        """Add the rounds of several blocks and policies."""
        return cls(*(sum(counts) for counts in zip(*map(astuple, parts), strict=True)))

    @property
    def share(self) -> float:
        return 1.0 - self.unchecked / self.all


def _kind(graph: Feedback) -> str:
    """Return the kind of a graph: "deterministic", "random" (one r), or "other"."""
    if graph.deterministic:
        return "deterministic"
    return "random" if isinstance(graph, UniformFeedback) else "other"


@dataclass(eq=False)
class Auditor(RunMonitor):
    """Run monitor that updates a posterior with all observations and checks every decision."""

    name: str
    policy: Policy
    posterior: Posterior
    keys: Keys
    gain: str
    limit: Callable[[Feedback], Floats]
    horizon: int
    scale: float = 1.0

    def __post_init__(self) -> None:
        self.tallies = [Tally(statement.at(self.scale)) for statement in STATEMENTS]
        self._has_variance = has_variance(self.posterior)
        self.rounds = Rounds()
        self.kinds: set[str] = set()  # kinds of all graphs
        # sums over the trials of cumulative values after each round: regret and its square, ratio
        # and its square, their product, and the limit of the ratio
        self.sums = np.zeros((6, self.horizon))
        self._state = self.posterior.init(self.keys.trials)
        self._regret, self._ratio, self._limits = np.zeros((3, self.keys.trials))

    def decided(self, t: int, graph: Feedback, pi: Floats) -> None:
        """Check the statements that apply to this policy and graph."""
        model: Any = self.posterior
        how = {"variance": True} if self._has_variance else {}
        beliefs: Beliefs = model.beliefs(self._state, **how)
        joint = joint_gain(self.posterior, self._state, graph) if self.gain == "joint" else None
        bound, limit = graph.gain(beliefs.h), self.scale**2 * self.limit(graph)
        decision = AuditedDecision(
            beliefs.alpha, beliefs.delta, beliefs.h, bound, joint, pi, limit, beliefs.v, self.scale
        )
        gained, regret = ((pi * values).sum(axis=1) for values in (bound, beliefs.delta))
        # a play with regret and without gain violates the statements
        checked = (gained >= FLOOR) | (regret > NEGLIGIBLE_REGRET * self.scale)
        self.kinds.add(_kind(graph))
        self.rounds.all += len(pi)
        self.rounds.unchecked += int((~checked).sum())
        self.rounds.small += int((gained < SMALL).sum())
        for tally in self.tallies:
            if self._applies(tally.statement, graph):
                self._check(tally, decision, checked, t, graph)
        self._add(t - 1, decision, checked)

    def observed(self, t: int, seen: Observations) -> None:
        self._state = self.posterior.update(self._state, seen)

    def _applies(self, statement: Statement, graph: Feedback) -> bool:
        has_gain = self.gain == "joint" or not statement.joint
        has_gain = has_gain and (self._has_variance or not statement.variance)
        has_graph = statement.feedback in ("any", _kind(graph))
        return has_gain and has_graph and isinstance(self.policy, statement.about)

    def _check(
        self, tally: Tally, decision: AuditedDecision, checked: Flags, t: int, graph: Feedback
    ) -> None:
        value, limit, divisor = tally.statement.compare(decision)
        valid = (checked if value.ndim == 1 else checked[:, None]) & (divisor >= FLOOR)
        if not valid.any():
            return
        tally.checks += int(valid.sum())
        with np.errstate(divide="ignore", invalid="ignore"):
            margin = np.where(value == limit, 0.0, (limit - value) / limit)
        margin[~np.isfinite(margin)] = -np.inf  # infinite and NaN are violations
        margin[~valid] = np.inf
        least = float(margin.min())
        if least < tally.margin:
            tally.margin, tally.nearest = least, self.name
        tally.violations += int((margin < -TOLERANCE).sum())
        if least < -TOLERANCE and (tally.worst is None or least < tally.worst.margin):
            place = np.unravel_index(int(margin.argmin()), margin.shape)
            trial = int(place[0])
            shown = replay_command if type(self.posterior) is BetaBernoulli else state_text
            tally.worst = Violation(
                statement=tally.statement.name,
                text=tally.statement.text,
                policy=self.name,
                seed=self.keys.seed,
                trial=self.keys.first_trial + trial,
                round=t,
                value=float(value[place]),
                limit=float(limit[place]),
                margin=least,
                replay=shown(self._state, graph, trial),
                pi=tuple(decision.pi[trial].tolist()),
            )

    def _add(self, place: int, decision: AuditedDecision, checked: Flags) -> None:
        """Add this round to the sums from which means over trials are computed."""
        arms = decision.alpha.shape[1]
        is_theorem_1 = isinstance(self.policy, THEOREM_1_POLICIES)
        self._regret += (decision.pi * decision.delta).sum(axis=1)
        self._ratio += np.where(checked, decision.ratio, 0.0)  # infinite for regret without gain
        self._limits += self.scale**2 * arms / 2.0 if is_theorem_1 else decision.limit
        regret, ratio = self._regret, self._ratio
        together = (regret, regret**2, ratio, ratio**2, regret * ratio, self._limits)
        self.sums[:, place] = np.array(together).sum(axis=1)


@dataclass(frozen=True, eq=False)
class Curve:
    """Mean regret (sum of pi.Delta) of a policy in each round, and its bounds.

    ``general`` is the bound sqrt(H sum_t mean Psi_t) of Lemma 1; ``bound`` is that of ``theorem``,
    infinite if no theorem applies to the policy.
    """

    policy: str
    trials: int
    mean: Floats
    standard_error: Floats
    general: Floats
    general_error: Floats  # of mean - general; both are estimated from the trials
    theorem: str
    bound: Floats

    @classmethod
    def of(cls, parts: Sequence[Auditor], information: float) -> Curve:
        """Compute the curve from all blocks of a policy; ``information`` is the entropy H."""
        trials = sum(part.keys.trials for part in parts)
        sums = np.sum([part.sums for part in parts], axis=0)
        regret, regret_squared, ratio, ratio_squared, product, limit = sums / trials
        with np.errstate(invalid="ignore"):  # infinite ratios have no variance
            general = np.sqrt(np.where(np.isinf(ratio), np.inf, information * ratio))
            # sqrt(H x) has the slope sqrt(H x) / (2 x)
            finite = (ratio > 0.0) & np.isfinite(ratio_squared)
            slope = np.divide(general, 2.0 * ratio, where=finite, out=np.zeros_like(general))
            variance = regret_squared - regret**2
            ratio_variance = np.where(finite, ratio_squared - ratio**2, 0.0)
            covariance = np.where(finite, product - regret * ratio, 0.0)
        of_difference = variance - 2.0 * slope * covariance + slope**2 * ratio_variance
        theorem = _theorem(parts)
        return cls(
            policy=parts[0].name,
            trials=trials,
            mean=regret,
            standard_error=_error(variance, trials),
            general=general,
            general_error=_error(of_difference, trials),
            theorem=theorem,
            bound=np.sqrt(information * limit) if theorem else np.full_like(general, np.inf),
        )

    @property
    def broken(self) -> list[str]:
        """Messages about bounds that the mean exceeds significantly; empty for one trial."""
        if self.trials == 1:
            return []
        quantile = float(stdtrit(self.trials - 1, 1.0 - SIGNIFICANCE))
        bounds = {
            "Lemma 1": (self.general, self.general_error),
            self.theorem: (self.bound, self.standard_error),
        }
        found = []
        for name, (bound, error) in bounds.items():
            rounds = np.flatnonzero(self.mean - bound > quantile * error + ROUNDING * self.mean)
            if rounds.size:
                t = rounds[0]
                found.append(
                    f"{name} does not hold: the mean regret of {self.policy} is "
                    f"{self.mean[t]:.6g} after round {t + 1}, above {bound[t]:.6g} (standard error "
                    f"of the difference {error[t]:.2g})"
                )
        return found


#: Values of a curve that the summary has for the last round.
LAST_VALUES = ("mean", "standard_error", "general", "bound")


def _error(variance: Floats, trials: int) -> Floats:
    if trials == 1:
        return np.full_like(variance, np.nan)
    found: Floats = np.sqrt(np.maximum(variance, 0.0) / (trials - 1))
    return found


def _theorem(parts: Sequence[Auditor]) -> str:
    """Return the theorem that bounds the regret of the policy on these graphs; empty if none."""
    policy = parts[0].policy
    if isinstance(policy, THEOREM_1_POLICIES):
        return "Theorem 1"
    if not isinstance(policy, THEOREM_2_POLICIES):
        return ""
    names = {"deterministic": "Theorem 2", "random": "Theorem 3", "other": "Lemma 2"}
    theorems = {names[kind] for part in parts for kind in part.kinds}
    return " and ".join(sorted(theorems))


@dataclass(frozen=True, eq=False)
class Audit:
    """Result of an audit.

    Attributes
    ----------
    tallies : number of checks, smallest margin and worst violation of each statement
    curves : mean regret and bounds of each policy
    rounds : number of rounds of all policies and trials, and how many were checked
    gain : denominator of Psi: "joint" for the exact g, "bound" for G h
    why : reason if ``gain`` is "bound"
    skipped : statements that were not checked because of the posterior, with the reason
    """

    tallies: tuple[Tally, ...]
    curves: tuple[Curve, ...]
    rounds: Rounds
    gain: str
    why: str = ""
    skipped: Mapping[str, str] = field(default_factory=dict)

    @property
    def violations(self) -> list[Violation]:
        return [tally.worst for tally in self.tallies if tally.worst is not None]

    @property
    def broken(self) -> list[str]:
        """One message for each statement and bound that does not hold."""
        means = [message for curve in self.curves for message in curve.broken]
        return [str(violation) for violation in self.violations] + means

    def to_dict(self) -> dict[str, Any]:
        """Convert to JSON values; curves have the values of the last round."""
        return {
            "gain": self.gain,
            "why": self.why,
            "rounds": asdict(self.rounds) | {"share": self.rounds.share},
            "statements": [tally.to_dict() for tally in self.tallies],
            "means": [
                {name: float(getattr(curve, name)[-1]) for name in LAST_VALUES}
                | {"policy": curve.policy, "theorem": curve.theorem, "broken": curve.broken}
                for curve in self.curves
            ],
        } | ({"skipped": dict(self.skipped)} if self.skipped else {})


def covered_policies(policies: Mapping[str, Policy]) -> dict[str, Policy]:
    """Return the policies that are covered by a theorem, including subclasses."""
    covered = THEOREM_2_POLICIES + THEOREM_1_POLICIES
    return {name: policy for name, policy in policies.items() if isinstance(policy, covered)}


def audit(
    plan: Plan,
    *,
    gain: str = "auto",
    limit: Callable[[Feedback], Floats] = ratio_limit,
    workers: int = 1,
    progress: Advance | None = None,
) -> Audit:
    """Run a plan with strict statistics and check the statements of the paper in every round.

    Checks Propositions 1 and 2, Lemmas 2 and 3 and Theorems 1 to 3 of Liu, Buccapatnam and Shroff
    (2018), each for the policies and graphs to which it applies, and then Lemma 1 and the theorems
    for the means over trials. Rounds with an information gain below 1e-30 and without regret are
    not checked, because their statistics have no significant digits.

    Parameters
    ----------
    plan
        Plan of the simulation. The means of the arms must be drawn from the prior of the world,
        which the policies use, the rewards must be bounded or have a sub-Gaussian constant, all
        arms must be eligible in every round, and all outcomes must arrive in the round of the
        play.
    gain
        Denominator of Psi: the exact joint gain ("joint"), the bound G h ("bound"), or the joint
        gain if it is fast in every round ("auto").
    limit
        Function that returns the upper bound on psi on a graph, for rewards in [0, 1].
    workers
        Number of threads.
    progress
        Called with the number of finished rounds, summed over trials.

    Raises
    ------
    InputError
        If the statements do not apply to the plan.

    Examples
    --------
    >>> plan = Plan.of(["ts-n", "ids-lp"], graph="paper", horizon=20, trials=3)
    >>> found = audit(plan)
    >>> found.broken, found.rounds.all, found.tallies[0].statement.name
    ([], 120, 'Proposition 1')
    """
    if gain not in GAINS:
        raise InputError(f"gain must be one of {', '.join(GAINS)}, not {gain!r}")
    check_integer(workers, "workers")
    if getattr(plan.world, "fixed", None) is not None:
        raise InputError(
            "an audit needs arms whose means are drawn from the prior: do not fix the means"
        )
    if reason := why_no_bounds(plan.world, plan.posterior, plan.eligible, plan.answers):
        raise InputError(f"no audit: {reason}")
    chosen, why = _choose_gain(plan, gain)
    # policies use the same strict statistics: ratios of small numbers need this accuracy
    posterior = strictest(plan.world.prior)
    plan = _with_prior(plan, posterior)
    information, scale = entropy_of(posterior), reward_scale(posterior)
    starts = range(plan.first_trial, plan.first_trial + plan.trials, BLOCK)
    tasks = [(name, first) for name in plan.policies for first in starts]

    lock, stop = Lock(), Event()

    def work(task: tuple[str, int]) -> Auditor:
        name, first = task
        keys = Keys(plan.seed, first, min(BLOCK, starts.stop - first))
        auditor = Auditor(
            name, plan.policies[name], posterior, keys, chosen, limit, plan.horizon, scale
        )
        every = np.arange(1, plan.horizon + 1)

        def advance(rounds: int) -> None:
            if stop.is_set():
                raise InterruptedError
            if progress is not None:
                with lock:
                    progress(rounds * keys.trials)

        arguments = (plan.policies[name], plan.world, plan.process, plan.horizon, keys, every)
        run_block(*arguments, advance=advance, monitor=auditor)
        return auditor

    with ThreadPoolExecutor(workers) as pool:
        try:
            parts = list(pool.map(work, tasks))
        except BaseException:
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise
    tallies = [Tally.merged([part.tallies[i] for part in parts]) for i in range(len(STATEMENTS))]
    curves = (
        Curve.of([part for part in parts if part.name == name], information)
        for name in plan.policies
    )
    rounds = Rounds.merged([part.rounds for part in parts])
    skipped = {}
    if not has_variance(posterior):
        skipped["Pinsker"] = f"the posterior '{name_of(posterior)}' has no variance form v"
    return Audit(tuple(tallies), tuple(curves), rounds, chosen, why, skipped)


def _with_prior(plan: Plan, prior: Posterior) -> Plan:
    """Return the plan with another prior of its world, which its policies use."""
    world: Any = plan.world
    if prior is world.prior:
        return plan
    if "prior" not in getattr(world, "__dataclass_fields__", ()):
        raise InputError(
            f"an audit needs a world with the parameter 'prior', to increase its accuracy; "
            f"{type(world).__name__} has none"
        )
    return replace(plan, world=replace(world, prior=prior), posterior=prior)


def _choose_gain(plan: Plan, requested: str) -> tuple[str, str]:
    """Return the gain in the denominator of Psi, and the reason if it is not the exact one."""
    gains = {name: getattr(policy, "gain", None) for name, policy in plan.policies.items()}
    by_joint = [name for name, gain in gains.items() if gain == "joint"]
    if requested == "bound" and by_joint:
        raise InputError(
            f"'{by_joint[0]}' plays by the exact gain, and nothing is proved for its ratio by G h: "
            "audit it with gain=joint"
        )
    if requested == "bound":
        return "bound", "the bound G h was requested"
    if requested == "joint" or by_joint:
        check_joint(plan.world.prior, plan.process)
        return "joint", ""
    if not hasattr(plan.world.prior, "information"):
        name = name_of(plan.world.prior)
        return "bound", f"the posterior '{name}' has no method 'information'"
    outcomes = most_outcomes(plan.process)
    if outcomes > MOST_OUTCOMES:
        why = f"the observed arms may have {outcomes:.2g} joint outcomes in a round, and above "
        return "bound", why + f"{MOST_OUTCOMES} the exact gain is computed only on request"
    return "joint", ""
