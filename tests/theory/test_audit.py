"""Tests of theory/audit.py.

The paper's statements hold in every round, and violations are detected.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
from helpers.bad_input import refuses
from helpers.cases import each
from helpers.other_rewards import (
    GaussianWorld,
    TwoNormals,
)

from graphbandits import Bernoulli, BetaBernoulli
from graphbandits._types import Floats, State
from graphbandits.errors import InputError
from graphbandits.graphs import Feedback
from graphbandits.policies.bayesian import Rule
from graphbandits.policies.information_directed import IDSLP, IDSN
from graphbandits.posteriors import Observations
from graphbandits.rng import Keys
from graphbandits.rules.gains import entropy, joint_gain
from graphbandits.simulation.loop import RunMonitor, run_block
from graphbandits.simulation.plan import Plan
from graphbandits.study.experiment import load_experiment
from graphbandits.theory import audit, ratio_limit
from graphbandits.theory.audit import STATEMENTS, AuditedDecision, Tally

# the function hides the module of the same name
MODULE = sys.modules[audit.__module__]
PRIOR = BetaBernoulli(np.array([1.0, 4.0, 12.0]), np.array([2.0, 4.0, 9.0]))
TOURNAMENT = "edges(1>2 1>3 2>3)"
ALL = ["ts-n", "ids-n", "idsn-lp", "ids-lp"]
PAPER = ("1a", "1b", "2a", "2b")


def plan_of(policies: Any = ALL, graph: Any = TOURNAMENT, **how: Any) -> Plan:
    given: dict[str, Any] = {"horizon": 30, "trials": 6, "seed": 5}
    return Plan.of(policies, Bernoulli(PRIOR), graph, **given | how)


def tallies(plan: Plan, **how: Any) -> dict[str, Tally]:
    return {tally.statement.name: tally for tally in audit(plan, **how).tallies}


@each("figure", PAPER)
def test_short_runs_of_paper_experiments_have_no_violation(figure: str) -> None:
    plan = load_experiment(f"paper-{figure}").plan(trials=3)
    plan = Plan.of(ALL, plan.world, plan.process, horizon=60, trials=3)
    found = audit(plan)
    assert found.broken == []
    assert found.gain == "joint"
    checks = {tally.statement.name: tally.checks for tally in found.tallies}
    every = found.rounds.all - found.rounds.unchecked
    assert found.rounds.all == 4 * 3 * 60
    assert every > 0.9 * found.rounds.all
    assert 4.5 * every < checks["Proposition 1"] <= 5 * every
    assert checks["Lemma 3"] > 0.95 * every
    assert checks["Theorem 1"] > 0.2 * every
    assert (checks["Theorem 2"] > 0.6 * every) == (figure[0] == "1")
    assert (checks["Theorem 3"] > 0.6 * every) == (figure[0] == "2")


@pytest.mark.nightly
@each("figure", PAPER)
def test_full_paper_experiments_have_no_violation(figure: str) -> None:
    plan = load_experiment(f"paper-{figure}").plan(trials=100)
    plan = Plan.of(ALL, plan.world, plan.process, horizon=plan.horizon, trials=100)
    found = audit(plan, workers=2)
    assert found.broken == []
    assert found.gain == "joint"
    assert found.rounds.share >= 0.9
    assert all(curve.mean[-1] < curve.general[-1] < curve.bound[-1] for curve in found.curves)


def test_limits_of_the_statements_are_those_of_the_paper() -> None:
    """Three arms, and rewards with the factor 2, whose square multiplies bounds on ratios."""
    one = np.ones((1, 3))
    decision = AuditedDecision(one / 3, one, 0.5 * one, one, one, one / 3, np.ones(1), one, 2.0)
    limits = {s.name: float(np.ravel(s.compare(decision)[1])[0]) for s in STATEMENTS}
    assert limits.pop("Proposition 2") == pytest.approx(1.0)  # psi, (alpha.delta)^2 / (alpha.Gh)
    assert limits == {
        "Proposition 1": 1.0,
        "Lemma 2": 6.0,
        "Lemma 3": 2.0,
        "Theorem 1": 6.0,
        "Theorem 2": 1.0,
        "Theorem 3": 1.0,
        "Pinsker": 1.0,
    }


def test_undirected_version_of_graph_has_wrong_clique_cover_number() -> None:
    """The transitive tournament is a clique if directions are ignored; then psi <= 1/2 is false."""

    def underlying(graph: Feedback) -> Floats:
        matrix = graph.reach(np.arange(graph.arms))
        assert np.maximum(matrix, matrix.T).all()
        return np.array([0.5])

    right = tallies(plan_of())
    assert right["Theorem 2"].violations == 0
    wrong = tallies(plan_of("ts-n", horizon=1, trials=1), limit=underlying)
    worst = wrong["Theorem 2"].worst
    assert worst is not None
    assert worst.value == pytest.approx(0.715401495806, abs=5e-13)
    assert (worst.limit, worst.round, worst.trial, worst.policy) == (0.5, 1, 0, "ts-n")
    assert worst.replay == (
        "graphbandits inspect --beta=1,2 --beta=4,4 --beta=12,9 --graph='edges(1>2 1>3 2>3)'"
    )
    assert [name for name, tally in wrong.items() if tally.violations] == ["Theorem 2"]


def test_too_small_clique_cover_number_is_detected() -> None:
    found = tallies(plan_of(graph="empty"), limit=lambda graph: ratio_limit(graph) / 4.0)
    assert found["Theorem 2"].violations > 10
    assert found["Theorem 2"].margin < -0.1
    assert found["Lemma 2"].violations == found["Proposition 2"].violations == 0


def uniform_rule(alpha: Floats, delta: Floats, h: Floats, gain: Floats) -> Floats:
    return np.full_like(alpha, 1.0 / alpha.shape[1])


def worst_rule(alpha: Floats, delta: Floats, h: Floats, gain: Floats) -> Floats:
    pi = np.zeros_like(alpha)
    pi[np.arange(len(pi)), (delta**2 / np.maximum(gain, 1e-300)).argmax(axis=1)] = 1.0
    return pi


@dataclass(frozen=True)
class UniformIDSN(IDSN):
    """IDS-N with a wrong rule."""

    rule: ClassVar[Rule] = staticmethod(uniform_rule)


@dataclass(frozen=True)
class WorstIDSLP(IDSLP):
    """IDS-LP with a wrong rule."""

    rule: ClassVar[Rule] = staticmethod(worst_rule)


def with_policy(plan: Plan, name: str, policy: Any) -> Plan:
    from dataclasses import replace

    return replace(plan, policies={name: policy})


def test_wrong_rule_is_detected() -> None:
    found = tallies(with_policy(plan_of("ids-n", horizon=60), "ids-n", UniformIDSN()))
    assert found["Proposition 2"].violations > 10
    worst = found["Proposition 2"].worst
    assert worst is not None
    assert worst.pi == (1 / 3, 1 / 3, 1 / 3)
    assert found["Proposition 1"].violations == found["Lemma 3"].violations == 0
    linear = tallies(with_policy(plan_of("ids-lp", horizon=60), "ids-lp", WorstIDSLP()))
    assert linear["Theorem 1"].violations > 10


def test_too_small_gain_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    def halved(*given: Any) -> Floats:
        return 0.5 * joint_gain(*given)

    monkeypatch.setattr(MODULE, "joint_gain", halved)
    found = tallies(plan_of("ts-n"))
    assert found["Proposition 1"].violations > 100
    worst = found["Proposition 1"].worst
    assert worst is not None
    assert worst.value > worst.limit


def test_mean_above_its_bound_is_detected() -> None:
    """What the theorem allows is a twentieth of the truth, and rounds are not looked at."""
    plan = plan_of("ts-n", graph="empty", horizon=60, trials=30)
    found = audit(plan, gain="bound", limit=lambda graph: ratio_limit(graph) / 400.0)
    (curve,) = found.curves
    assert any("Theorem 2 does not hold: the mean regret of ts-n" in text for text in curve.broken)
    assert curve.mean[-1] > curve.bound[-1]
    assert audit(plan, gain="bound").curves[0].broken == []


def test_late_rounds_hold_with_the_statistics_used_for_the_play() -> None:
    """Two arms are distinguished early: ratios of numbers below 1e-25 give no false alarm."""
    prior = BetaBernoulli(np.array([1.0, 0.6]), np.array([0.5, 2.0]))
    plan = Plan.of(ALL, Bernoulli(prior), "edges(1>2)", horizon=300, trials=10, seed=1)
    found = audit(plan)
    assert found.broken == []
    assert found.rounds.small > 0.1 * found.rounds.all
    assert all(tally.violations == 0 for tally in found.tallies)


@each("nothing", [np.nan, 0.0])
def test_nan_and_zero_gain_are_violations(monkeypatch: pytest.MonkeyPatch, nothing: float) -> None:
    def wrong(*given: Any) -> Floats:
        gain = joint_gain(*given)
        gain[0] = nothing
        return gain

    monkeypatch.setattr(MODULE, "joint_gain", wrong)
    found = audit(plan_of("ts-n", horizon=3))
    violated = {tally.statement.name: tally.violations for tally in found.tallies}
    assert violated["Proposition 1"] == 9  # three arms, three rounds of the first trial
    assert violated["Proposition 2"] == violated["Theorem 2"] == 3
    assert len(found.violations) == 3
    assert len(found.broken) >= 3


def useless_rule(alpha: Floats, delta: Floats, h: Floats, gain: Floats) -> Floats:
    return np.eye(alpha.shape[1])[h.argmin(axis=1)]


@dataclass(frozen=True)
class UselessIDSN(IDSN):
    """IDS-N with a rule that plays an arm which cannot be best and shows no other."""

    rule: ClassVar[Rule] = staticmethod(useless_rule)


def test_play_with_regret_and_no_gain_is_counted() -> None:
    prior = BetaBernoulli(np.array([1.0, 1.0, 1.0]), np.array([1.0, 1.0, 1e8]))
    plan = Plan.of("ids-n", Bernoulli(prior), "empty", horizon=5, trials=2)
    found = tallies(with_policy(plan, "ids-n", UselessIDSN()))
    assert found["Proposition 2"].violations == 10


def test_policy_with_infinite_ratio_satisfies_lemma_1() -> None:
    prior = BetaBernoulli(np.array([1.0, 1e6]), np.array([1e6, 1.0]))
    found = audit(Plan.of(["uniform", "ts-n"], Bernoulli(prior), "empty", horizon=20, trials=5))
    assert found.broken == []
    assert np.isinf(found.curves[0].general[-1])


def test_joint_gain_policy_is_audited_with_joint_gain() -> None:
    plan = plan_of(["idsn-lp(gain=joint)", "ids-n(gain=joint)", "ids-lp(gain=joint)"], horizon=40)
    assert audit(plan).broken == []
    with refuses(InputError, match=r"'idsn-lp\(gain=joint\)' plays by the exact gain"):
        audit(plan, gain="bound")


class Information(RunMonitor):
    """Adds up pi.g, and keeps the entropy of each trial."""

    def __init__(self, trials: int) -> None:
        self.state = PRIOR.init(trials)
        self.gained = np.zeros(trials)

    def decided(self, t: int, graph: Feedback, pi: Floats) -> None:
        self.gained += (pi * joint_gain(PRIOR, self.state, graph)).sum(axis=1)

    def observed(self, t: int, seen: Observations) -> None:
        self.state = PRIOR.update(self.state, seen)


@each("graph", [TOURNAMENT, "random(r=0.4)", "edges(1>2:0.5 3>1:0.7 2-3)"])
def test_information_gain_equals_entropy_loss(graph: str) -> None:
    """The chain rule: E[H(alpha_1) - H(alpha_T+1)] = E[sum_t pi_t.g_t], with the exact g."""
    plan = plan_of("ids-n", graph=graph, horizon=12, trials=1500)
    keys = Keys(plan.seed, 0, plan.trials)
    monitor = Information(plan.trials)
    last = np.array([plan.horizon])
    run_block(
        plan.policies["ids-n"], plan.world, plan.process, plan.horizon, keys, last, monitor=monitor
    )
    lost = entropy(PRIOR.beliefs(PRIOR.init(1)).alpha) - entropy(PRIOR.beliefs(monitor.state).alpha)
    gap = lost - monitor.gained
    error = gap.std(ddof=1) / np.sqrt(len(gap))
    assert abs(gap.mean()) < 4.0 * error
    assert error < 0.05 * monitor.gained.mean()  # the test has something to check


def test_audit_does_not_depend_on_workers() -> None:
    plan = plan_of(trials=60, horizon=8)
    one, two = audit(plan), audit(plan, workers=2)
    for mine, theirs in zip(one.tallies, two.tallies, strict=True):
        assert (mine.checks, mine.margin) == (theirs.checks, theirs.margin)
    for first, second in zip(one.curves, two.curves, strict=True):
        assert (first.general == second.general).all()


def test_general_probabilities_are_checked_with_lemma_2_only() -> None:
    found = audit(plan_of(graph="edges(1>2:0.5 3>1:0.7 2-3)"))
    checks = {tally.statement.name: tally.checks for tally in found.tallies}
    assert checks["Theorem 2"] == checks["Theorem 3"] == 0
    assert checks["Proposition 2"] > 0
    assert {curve.policy: curve.theorem for curve in found.curves} == {
        "ts-n": "Lemma 2",
        "ids-n": "Lemma 2",
        "idsn-lp": "Lemma 2",
        "ids-lp": "Theorem 1",
    }
    assert found.broken == []


def test_joint_gain_is_used_if_cheap() -> None:
    plan = Plan.of("ts-n", graph="random(r=0.5)", arms=8, horizon=3, trials=2)  # 3^8 outcomes
    found = audit(plan)
    assert found.gain == "bound"
    assert "6.6e+03 joint outcomes" in found.why
    checks = {tally.statement.name: tally.checks for tally in found.tallies}
    assert checks["Proposition 1"] == 0
    assert checks["Theorem 3"] == 6
    exact = audit(plan, gain="joint")
    assert exact.gain == "joint"
    assert exact.tallies[0].checks == 48
    many = Plan.of("ts-n", graph="random(r=0.5)", arms=20, horizon=3, trials=2)
    with refuses(
        InputError, match=r"the joint gain needs 3\.5e\+09 joint outcomes of the observed"
    ):
        audit(many, gain="joint")


def test_invalid_arguments_are_rejected() -> None:
    with refuses(InputError, match="gain must be one of auto, joint, bound, not 'exact'"):
        audit(plan_of(), gain="exact")
    fixed = Plan.of("ts-n", Bernoulli(PRIOR, fixed=[0.1, 0.2, 0.3]), "empty", horizon=3, trials=2)
    with refuses(InputError, match="an audit needs arms whose means are drawn from the prior"):
        audit(fixed)


def test_statements_hold_for_gaussian_rewards() -> None:
    prior = TwoNormals(center=(0.0, 0.3), sd=(1.0, 2.0), noise=1.5)
    found = audit(Plan.of(ALL, GaussianWorld(prior), "edges(1>2)", horizon=20, trials=20))
    assert found.broken == []
    assert found.gain == "bound"
    assert "no method 'information'" in found.why
    checks = {tally.statement.name: tally.checks for tally in found.tallies}
    assert checks["Proposition 1"] == 0
    assert min(checks[name] for name in ("Proposition 2", "Lemma 2", "Theorem 2", "Pinsker")) > 300
    assert "times 25" in found.tallies[2].statement.text  # (2 sigma)^2 = 4 (4 + 2.25)
    with refuses(InputError, match="the posterior 'TwoNormals' has no method 'information'"):
        audit(Plan.of("ts-n", GaussianWorld(prior), "empty", horizon=2, trials=1), gain="joint")


@dataclass(frozen=True, eq=False)
class TooConfident(TwoNormals):
    """Declares a fifth of its sub-Gaussian constant."""

    @property
    def sub_gaussian(self) -> float:
        return super().sub_gaussian / 5.0


def test_too_small_constant_is_detected_and_the_state_is_shown() -> None:
    prior = TooConfident(center=(0.0, 0.3), sd=(1.0, 2.0), noise=1.5)
    found = audit(Plan.of("ts-n", GaussianWorld(prior), "empty", horizon=3, trials=5))
    violated = {violation.statement: violation for violation in found.violations}
    message = str(violated["Pinsker"])
    assert "state: mean = [" in message
    assert "graph = " in message


class NoVariance(TwoNormals):
    """Has no variance form v."""

    def beliefs(self, state: State) -> Any:  # type: ignore[override]
        return super().beliefs(state)


def test_posterior_without_variance_is_not_checked_with_it() -> None:
    found = audit(Plan.of("ts-n", GaussianWorld(NoVariance()), "empty", horizon=3, trials=2))
    assert found.skipped == {"Pinsker": "the posterior 'NoVariance' has no variance form v"}
    assert found.to_dict()["skipped"] == found.skipped
    assert found.broken == []
