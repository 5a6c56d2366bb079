"""An audit: the paper's statements, checked in every round and trial of a simulation."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, astuple, dataclass, replace
from functools import cached_property
from threading import Event, Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from graphbandits._types import Floats, State
from graphbandits.engine import Plan, run_block
from graphbandits.engine._progress import Advance
from graphbandits.errors import InputError, check_integer
from graphbandits.gains import information_ratio, joint_gain
from graphbandits.gains.joint import check_joint
from graphbandits.graphs import Feedback, UniformFeedback
from graphbandits.graphs._outcome_space import most_outcomes
from graphbandits.graphs.io.edge_lists import edges_text
from graphbandits.policies import Policy
from graphbandits.policies.ids_lp import IDSLP
from graphbandits.policies.ids_n import IDSN
from graphbandits.policies.idsn_lp import IDSNLP
from graphbandits.policies.ts_n import TSN
from graphbandits.posteriors import Observations, Posterior
from graphbandits.rng import Keys
from graphbandits.theory.ratio_limits import ratio_limit
from graphbandits.theory.regret_bounds import entropy_of
from graphbandits.worlds import Bernoulli

#: True for some of the trials.
Marks = NDArray[np.bool_]

#: Below this a gain has no digits that count: above it the statistics are right relatively.
FLOOR = 1e-30
#: Rounds that teach less than this are counted by themselves.
SMALL = 1e-12
#: An expected regret below this is rounding where nothing is learned.
NOTHING = 1e-12
#: A number may exceed its limit by this, relatively: the accuracy of the statistics.
TOLERANCE = 1e-7
#: A mean exceeds its bound if it would by chance with this probability, in one round.
CHANCE = 1e-6
#: In the first round all trials are alike, and only rounding tells a mean from its bound.
ROUNDING = 1e-9
#: Trials that are audited at once by a worker.
BLOCK = 25
#: The gains that Psi can be by: g wherever it is affordable, g, or G h.
GAINS = ("auto", "joint", "bound")
#: Outcomes of the arms seen together up to which g is computed in every round unasked.
QUICK = 5000
#: The policies that Proposition 2 and Theorems 2 and 3 are about, and those derived from them.
COVERED: tuple[type, ...] = (TSN, IDSN, IDSNLP)
#: The policy that Theorem 1 is about.
LINEAR: tuple[type, ...] = (IDSLP,)


# --- statements on one round


def _expected(weights: Floats, values: Floats) -> Floats:
    found: Floats = (weights * values).sum(axis=1)
    return found


@dataclass(frozen=True, eq=False)
class AuditedDecision:
    """What was believed, shown and proposed in one round of each trial.

    ``bound`` is G h, ``joint`` the exact gain g where it is computed, ``limit`` what psi cannot
    exceed on this graph, one number a trial.
    """

    alpha: Floats
    delta: Floats
    h: Floats
    bound: Floats
    joint: Floats | None
    pi: Floats
    limit: Floats

    @property
    def gain(self) -> Floats:
        """g, or G h in its place, which makes ratios larger."""
        return self.bound if self.joint is None else self.joint

    @cached_property
    def ratio(self) -> Floats:
        """Psi_t of the policy."""
        return information_ratio(self.pi, self.delta, self.gain)

    @cached_property
    def psi(self) -> Floats:
        """psi_t, which bounds it."""
        return information_ratio(self.alpha, self.delta, self.bound)


#: The number of each trial (or of each trial and arm), its limit, and the gain that this rests on,
#: which decides whether it has digits that count.
Compared = tuple[Floats, Floats, Floats]


@dataclass(frozen=True)
class Statement:
    """``compare`` gives the number and its limit, ``about`` is the policies it is of."""

    name: str
    text: str
    compare: Callable[[AuditedDecision], Compared]
    about: tuple[type, ...] = (object,)
    feedback: str = "any"  # or "deterministic", or "random"
    joint: bool = False  # whether it is about g itself


def _proposition_1(d: AuditedDecision) -> Compared:
    assert d.joint is not None
    return d.bound, d.joint, d.bound


def _proposition_2(d: AuditedDecision) -> Compared:
    return d.ratio, d.psi, _expected(d.alpha, d.bound)


def _lemma_2(d: AuditedDecision) -> Compared:
    ratio = information_ratio(d.alpha, d.delta, d.h)
    return ratio, np.full_like(ratio, d.alpha.shape[1] / 2.0), _expected(d.alpha, d.h)


def _lemma_3(d: AuditedDecision) -> Compared:
    total = np.broadcast_to(d.h.sum(axis=1, keepdims=True), d.h.shape)
    ratio = information_ratio(d.alpha, d.delta, total)
    return ratio, np.full_like(ratio, 0.5), total[:, 0]


def _theorem_1(d: AuditedDecision) -> Compared:
    return d.ratio, np.full_like(d.psi, d.alpha.shape[1] / 2.0), _expected(d.alpha, d.h)


def _theorem_2_and_3(d: AuditedDecision) -> Compared:
    """Psi <= psi <= limit; the larger of the two is compared."""
    limit = np.broadcast_to(d.limit, d.psi.shape)
    return np.maximum(d.ratio, d.psi), limit, _expected(d.alpha, d.bound)


STATEMENTS = (
    Statement("Proposition 1", "g >= G h", _proposition_1, joint=True),
    Statement("Proposition 2", "Psi <= psi", _proposition_2, COVERED),
    Statement("Lemma 2", "(alpha.Delta)^2/(alpha.h) <= K/2", _lemma_2),
    Statement("Lemma 3", "(alpha.Delta)^2/(h.1) <= 1/2", _lemma_3),
    Statement("Theorem 1", "Psi <= K/2", _theorem_1, LINEAR),
    Statement("Theorem 2", "Psi, psi <= chi(G)/2", _theorem_2_and_3, COVERED, "deterministic"),
    Statement("Theorem 3", "Psi, psi <= K/(2(Kr+1-r))", _theorem_2_and_3, COVERED, "random"),
)


@dataclass(frozen=True)
class Violation:
    """The statement, where it was broken and by how much, and the command that shows the state."""

    statement: str
    text: str
    policy: str
    seed: int
    trial: int
    round: int
    value: float
    limit: float
    margin: float  # (limit - value) / limit, below 0
    replay: str
    pi: tuple[float, ...]

    def __str__(self) -> str:
        return (
            f"{self.statement} ({self.text}) does not hold: {self.value:.9g} is above "
            f"{self.limit:.9g}, for {self.policy} in round {self.round} of trial {self.trial}, "
            f"seed {self.seed}, with pi = ({', '.join(f'{p:.6g}' for p in self.pi)}); to see the "
            f"state: {self.replay}"
        )


def replay(state: State, graph: Feedback, trial: int) -> str:
    """The shell command that lays open one trial's decision, of Beta posteriors ``a``, ``b``.

    >>> import numpy as np
    >>> from graphbandits.graphs import as_process
    >>> state = {"a": np.array([[1.0, 2.5]]), "b": np.array([[3.0, 1.0]])}
    >>> replay(state, as_process("star", arms=2).feedback, 0)
    "graphbandits inspect --beta=1,3 --beta=2.5,1 --graph='edges(1-2)'"
    """
    pairs = zip(state["a"][trial].tolist(), state["b"][trial].tolist(), strict=True)
    betas = (",".join(str(x).removesuffix(".0") for x in pair) for pair in pairs)
    options = " ".join(f"--beta={beta}" for beta in betas)
    return f"graphbandits inspect {options} --graph={shlex.quote(edges_text(graph, trial))}"


# --- checks of each round


@dataclass
class Tally:
    """How often a statement was checked, the least relative margin, and the worst violation.

    The margin is (limit - number) / limit, of the round that came nearest to its limit.
    """

    statement: Statement
    checks: int = 0
    margin: float = math.inf
    nearest: str = ""  # the policy of that round
    violations: int = 0
    worst: Violation | None = None

    @classmethod
    def merged(cls, parts: Sequence[Tally]) -> Tally:
        """The tally of several blocks and policies."""
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
        """Plain numbers."""
        about = {"name": self.statement.name, "text": self.statement.text}
        return about | {key: value for key, value in asdict(self).items() if key != "statement"}


@dataclass
class Rounds:
    """How many rounds there were, over all trials and policies, and how many taught how little."""

    all: int = 0
    unchecked: int = 0  # below 1e-30, and nothing was lost
    small: int = 0  # below 1e-12, those included

    @classmethod
    def merged(cls, parts: Sequence[Rounds]) -> Rounds:
        """The rounds of several blocks and policies."""
        return cls(*(sum(counts) for counts in zip(*map(astuple, parts), strict=True)))

    @property
    def share(self) -> float:
        """The share of the rounds that was checked."""
        return 1.0 - self.unchecked / self.all


def _kind(graph: Feedback) -> str:
    """Which theorem a graph is of: 0/1, one r for all others, or other probabilities."""
    if graph.deterministic:
        return "deterministic"
    return "random" if isinstance(graph, UniformFeedback) else "other"


@dataclass(eq=False)
class Auditor:
    """Keeps a posterior of what a policy has observed, and checks each of its decisions."""

    name: str
    policy: Policy
    posterior: Posterior
    keys: Keys
    gain: str
    limit: Callable[[Feedback], Floats]
    horizon: int

    def __post_init__(self) -> None:
        self.tallies = [Tally(statement) for statement in STATEMENTS]
        self.rounds = Rounds()
        self.kinds: set[str] = set()  # of the graphs that there were
        # of each round, over the trials: regret and its square, ratio and its square, their
        # product, and the limit of the ratio, each added up until then
        self.sums = np.zeros((6, self.horizon))
        self._state = self.posterior.init(self.keys.trials)
        self._regret, self._ratio, self._limits = np.zeros((3, self.keys.trials))

    def decided(self, t: int, graph: Feedback, pi: Floats) -> None:
        """Check the statements that are about this policy and graph."""
        beliefs = self.posterior.beliefs(self._state)
        joint = joint_gain(self.posterior, self._state, graph) if self.gain == "joint" else None
        bound, limit = graph.gain(beliefs.h), self.limit(graph)
        decision = AuditedDecision(beliefs.alpha, beliefs.delta, beliefs.h, bound, joint, pi, limit)
        learned, lost = ((pi * of).sum(axis=1) for of in (bound, beliefs.delta))
        # a play that loses and teaches nothing breaks what can be checked
        checked = (learned >= FLOOR) | (lost > NOTHING)
        self.kinds.add(_kind(graph))
        self.rounds.all += len(pi)
        self.rounds.unchecked += int((~checked).sum())
        self.rounds.small += int((learned < SMALL).sum())
        for tally in self.tallies:
            if self._applies(tally.statement, graph):
                self._check(tally, decision, checked, t, graph)
        self._add(t - 1, decision, checked)

    def observed(self, t: int, seen: Observations) -> None:
        """Learn what the policy could have learned."""
        self._state = self.posterior.update(self._state, seen)

    def _applies(self, statement: Statement, graph: Feedback) -> bool:
        known = self.gain == "joint" or not statement.joint
        fits = statement.feedback in ("any", _kind(graph))
        return known and fits and isinstance(self.policy, statement.about)

    def _check(
        self, tally: Tally, decision: AuditedDecision, checked: Marks, t: int, graph: Feedback
    ) -> None:
        value, limit, divisor = tally.statement.compare(decision)
        counts = (checked if value.ndim == 1 else checked[:, None]) & (divisor >= FLOOR)
        if not counts.any():
            return
        tally.checks += int(counts.sum())
        with np.errstate(divide="ignore", invalid="ignore"):
            margin = np.where(value == limit, 0.0, (limit - value) / limit)
        margin[~np.isfinite(margin)] = -np.inf  # what is no number does not hold
        margin[~counts] = np.inf
        least = float(margin.min())
        if least < tally.margin:
            tally.margin, tally.nearest = least, self.name
        tally.violations += int((margin < -TOLERANCE).sum())
        if least < -TOLERANCE and (tally.worst is None or least < tally.worst.margin):
            place = np.unravel_index(int(margin.argmin()), margin.shape)
            trial = int(place[0])
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
                replay=replay(self._state, graph, trial),
                pi=tuple(decision.pi[trial].tolist()),
            )

    def _add(self, place: int, decision: AuditedDecision, checked: Marks) -> None:
        """Add this round to what the means over the trials are compared with."""
        arms = decision.alpha.shape[1]
        linear = isinstance(self.policy, LINEAR)
        self._regret += (decision.pi * decision.delta).sum(axis=1)
        self._ratio += np.where(checked, decision.ratio, 0.0)  # infinite where all is lost
        self._limits += arms / 2.0 if linear else decision.limit
        regret, ratio = self._regret, self._ratio
        together = (regret, regret**2, ratio, ratio**2, regret * ratio, self._limits)
        self.sums[:, place] = np.array(together).sum(axis=1)


@dataclass(frozen=True, eq=False)
class Curve:
    """The mean regret of a policy in each round, and what Lemma 1 and its theorem allow it.

    The regret is the sum of pi.Delta: what was expected to be lost, given all that was known.
    ``general`` is sqrt(H sum_t mean Psi_t), Lemma 1; ``bound`` that of the ``theorem``, or infinite
    where there is none for the policy.
    """

    policy: str
    trials: int
    mean: Floats
    standard_error: Floats
    general: Floats
    general_error: Floats  # of the mean minus what Lemma 1 allows, which hangs on the trials too
    theorem: str
    bound: Floats

    @classmethod
    def of(cls, parts: Sequence[Auditor], information: float) -> Curve:
        """Of all blocks of a policy; ``information`` is H, the entropy of alpha_1."""
        trials = sum(part.keys.trials for part in parts)
        sums = np.sum([part.sums for part in parts], axis=0)
        regret, regret_squared, ratio, ratio_squared, product, limit = sums / trials
        with np.errstate(invalid="ignore"):  # of what is infinite nothing is asked
            general = np.sqrt(np.where(np.isinf(ratio), np.inf, information * ratio))
            # sqrt(H x) has the slope sqrt(H x) / (2 x)
            known = (ratio > 0.0) & np.isfinite(ratio_squared)
            slope = np.divide(general, 2.0 * ratio, where=known, out=np.zeros_like(general))
            variance = regret_squared - regret**2
            ratio_variance = np.where(known, ratio_squared - ratio**2, 0.0)
            covariance = np.where(known, product - regret * ratio, 0.0)
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
        """Which bounds the mean exceeds by more than chance, in words; one trial says nothing."""
        if self.trials == 1:
            return []
        allowed = float(stdtrit(self.trials - 1, 1.0 - CHANCE))
        bounds = {
            "Lemma 1": (self.general, self.general_error),
            self.theorem: (self.bound, self.standard_error),
        }
        found = []
        for name, (bound, error) in bounds.items():
            rounds = np.flatnonzero(self.mean - bound > allowed * error + ROUNDING * self.mean)
            if rounds.size:
                t = rounds[0]
                found.append(
                    f"{name} does not hold: the mean regret of {self.policy} is "
                    f"{self.mean[t]:.6g} after round {t + 1}, above {bound[t]:.6g} (standard error "
                    f"of the difference {error[t]:.2g})"
                )
        return found


def _error(variance: Floats, trials: int) -> Floats:
    """The standard error of a mean over trials; NaN for one."""
    if trials == 1:
        return np.full_like(variance, np.nan)
    found: Floats = np.sqrt(np.maximum(variance, 0.0) / (trials - 1))
    return found


def _theorem(parts: Sequence[Auditor]) -> str:
    """The theorem that bounds the regret of the policy on these graphs; empty if none does."""
    policy = parts[0].policy
    if isinstance(policy, LINEAR):
        return "Theorem 1"
    if not isinstance(policy, COVERED):
        return ""
    names = {"deterministic": "Theorem 2", "random": "Theorem 3", "other": "Lemma 2"}
    met = {names[kind] for part in parts for kind in part.kinds}
    return " and ".join(sorted(met))


@dataclass(frozen=True, eq=False)
class Audit:
    """What came out: a tally for each statement, and a curve for each policy.

    ``rounds`` counts rounds of all policies and trials, and how many of them could be checked.
    ``gain`` is "joint" where Psi is by the exact g; where it is "bound", by G h, ``why`` says why.
    """

    tallies: tuple[Tally, ...]
    curves: tuple[Curve, ...]
    rounds: Rounds
    gain: str
    why: str = ""

    @property
    def violations(self) -> list[Violation]:
        """The worst violation of each statement that has one."""
        return [tally.worst for tally in self.tallies if tally.worst is not None]

    @property
    def broken(self) -> list[str]:
        """All that does not hold, a sentence for each."""
        means = [sentence for curve in self.curves for sentence in curve.broken]
        return [str(violation) for violation in self.violations] + means

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers; of a curve those of its last round."""
        return {
            "gain": self.gain,
            "why": self.why,
            "rounds": asdict(self.rounds) | {"share": self.rounds.share},
            "statements": [tally.to_dict() for tally in self.tallies],
            "means": [
                {
                    "policy": curve.policy,
                    "mean": float(curve.mean[-1]),
                    "standard_error": float(curve.standard_error[-1]),
                    "general": float(curve.general[-1]),
                    "theorem": curve.theorem,
                    "bound": float(curve.bound[-1]),
                    "broken": curve.broken,
                }
                for curve in self.curves
            ],
        }


def audited(policies: Mapping[str, Policy]) -> dict[str, Policy]:
    """Those of the policies that a theorem is about, or that are derived from one of them.

    >>> from graphbandits.policies import as_policy
    >>> list(audited({name: as_policy(name) for name in ("ucb-n", "ids-lp", "ts-n")}))
    ['ids-lp', 'ts-n']
    """
    return {n: policy for n, policy in policies.items() if isinstance(policy, COVERED + LINEAR)}


def audit(
    plan: Plan,
    *,
    gain: str = "auto",
    limit: Callable[[Feedback], Floats] = ratio_limit,
    workers: int = 1,
    progress: Advance | None = None,
) -> Audit:
    """Play the plan by strict statistics, and check in every round what the paper proves of it.

    Propositions 1 and 2, Lemmas 2 and 3 and Theorems 1 to 3 of Liu, Buccapatnam and Shroff (2018),
    each for the policies and graphs that it is about; then Lemma 1 and the theorems for the means
    over the trials. ``gain`` says what Psi is divided by: the exact joint gain ("joint"), the bound
    G h ("bound"), or the first where it is quick in every round ("auto"). ``limit`` is what
    psi cannot exceed on a graph. Rounds whose play teaches less than 1e-30 and loses nothing are
    not checked: there the statistics have no digits that count.

    >>> plan = Plan.of(["ts-n", "ids-lp"], graph="paper", horizon=20, trials=3)
    >>> found = audit(plan)
    >>> found.broken, found.rounds.all, found.tallies[0].statement.name
    ([], 120, 'Proposition 1')
    """
    if gain not in GAINS:
        raise InputError(f"gain is one of {', '.join(GAINS)}, not {gain!r}")
    check_integer(workers, "workers")
    world = plan.world
    if type(world) is not Bernoulli or world.fixed is not None:
        raise InputError(
            "the statements are on Bernoulli arms whose means are drawn from their Beta priors: "
            "audit a world that draws them"
        )
    chosen, why = _gain(plan, gain)
    posterior = replace(world.prior, accuracy="strict")
    # policies decide by what they are judged by: a ratio of small numbers has no other digits
    plan = replace(plan, world=Bernoulli(posterior))
    information = entropy_of(posterior)
    starts = range(plan.first_trial, plan.first_trial + plan.trials, BLOCK)
    tasks = [(name, first) for name in plan.policies for first in starts]

    lock, stop = Lock(), Event()

    def work(task: tuple[str, int]) -> Auditor:
        name, first = task
        keys = Keys(plan.seed, first, min(BLOCK, starts.stop - first))
        auditor = Auditor(name, plan.policies[name], posterior, keys, chosen, limit, plan.horizon)
        every = np.arange(1, plan.horizon + 1)

        def advance(rounds: int) -> None:
            if stop.is_set():
                raise InterruptedError
            if progress is not None:
                with lock:
                    progress(rounds * keys.trials)

        given = (plan.policies[name], plan.world, plan.process, plan.horizon, keys, every)
        run_block(*given, advance=advance, monitor=auditor)
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
    return Audit(tuple(tallies), tuple(curves), rounds, chosen, why)


def _gain(plan: Plan, wanted: str) -> tuple[str, str]:
    """Which gain Psi is by, and why if it is not the exact one."""
    gains = {name: getattr(policy, "gain", None) for name, policy in plan.policies.items()}
    by_joint = [name for name, gain in gains.items() if gain == "joint"]
    if wanted == "bound" and by_joint:
        raise InputError(
            f"'{by_joint[0]}' plays by the exact gain, and of its ratio by G h nothing is proved: "
            "audit it with the gain joint"
        )
    if wanted == "bound":
        return "bound", "the bound G h was asked for"
    if wanted == "joint" or by_joint:
        check_joint(plan.world.prior, plan.process)
        return "joint", ""
    outcomes = most_outcomes(plan.process)
    if outcomes > QUICK:
        why = f"the arms seen together may have {outcomes:.2g} outcomes in a round, and above "
        return "bound", why + f"{QUICK} the exact gain is computed only if it is asked for"
    return "joint", ""
