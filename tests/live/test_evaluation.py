"""Tests of live/evaluation.py: exact unbiasedness, followed policies, intervals, refusals."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from helpers.agents import GRAPH as MATRIX
from helpers.agents import NAMES, Clock, events
from helpers.bad_input import Proposes, check_refusal, refused

from graphbandits import Agent, DecisionLog, evaluate
from graphbandits.errors import GraphBanditsError
from graphbandits.live import evaluation
from graphbandits.live.evaluation import Follower, _Block, _doubt
from graphbandits.policies import as_policy

ARMS = ["a", "b", "c"]
#: Directed, with probabilities: q differs from mu in different ways.
GRAPH = np.array([[1.0, 0.5, 0.0], [0.0, 1.0, 1.0], [0.25, 0.0, 1.0]])
THETA = np.array([0.2, 0.5, 0.9])


def play(agent: Agent, count: int, theta: Any = THETA, seed: int = 0) -> DecisionLog:
    """Let an agent decide, with outcomes of everything that a decision shows."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        one = agent.decide()
        shown = {arm: p for arm, p in one.reveals.items() if rng.random() < p}
        index = {arm: i for i, arm in enumerate(agent.arms)}
        agent.observe(one, {arm: float(rng.random() < theta[index[arm]]) for arm in shown})
    return agent.log()


# Exact unbiasedness -------------------------------------------------------------------------------

HALF = Fraction(1, 2)
#: Two arms; playing 0 shows 1 with probability 1/2.
SMALL = [[Fraction(1), HALF], [Fraction(0), Fraction(1)]]
MEANS = [Fraction(1, 4), Fraction(2, 3)]
TARGET = {0: 0.75, 1: 0.25}


def logging_policy(past: dict[int, int] | None) -> list[Fraction]:
    """An adaptive policy: it prefers arm 0 after any success."""
    return [Fraction(4, 5), Fraction(1, 5)] if past and max(past.values()) else [HALF, HALF]


def one_round(mu: list[Fraction]) -> Iterator[tuple[Fraction, int, dict[int, int]]]:
    """Yield every play with what it shows, and its probability."""
    for arm, shows_other in itertools.product((0, 1), (True, False)):
        other = SMALL[arm][1 - arm]
        chance = mu[arm] * (other if shows_other else 1 - other)
        seen = [arm, 1 - arm] if shows_other else [arm]
        for outcomes in itertools.product((0, 1), repeat=len(seen)):
            likely = chance
            for j, reward in zip(seen, outcomes, strict=True):
                likely *= MEANS[j] if reward else 1 - MEANS[j]
            if likely:
                yield likely, arm, dict(zip(seen, outcomes, strict=True))


def expectation(estimator: str) -> float:
    """Return the expected estimate over all logs of two adaptive decisions."""
    total = Fraction(0)
    parts = []
    for first in one_round(logging_policy(None)):
        for second in one_round(logging_policy(first[2])):
            rows = [
                {"arm": arm, "pi": dict(enumerate(map(float, mu))), "outcomes": seen}
                for (_, arm, seen), mu in (
                    (first, logging_policy(None)),
                    (second, logging_policy(first[2])),
                )
            ]
            log = DecisionLog.of(rows, arms=2, graph=np.array(SMALL, float))
            likely = first[0] * second[0]
            total += likely
            parts.append(float(likely) * evaluate(log, TARGET, estimator=estimator).value)
    assert total == 1
    return math.fsum(parts)


VALUE = 0.75 * 0.25 + 0.25 * 2.0 / 3.0


def test_estimates_are_exactly_unbiased_in_an_adaptive_log() -> None:
    for estimator in ("ips", "dr", "dr-side"):
        assert expectation(estimator) == pytest.approx(VALUE, abs=1e-12), estimator


# Policies that follow the log ---------------------------------------------------------------------


def proposals(log: DecisionLog, policy: str, **more: Any) -> list[Any]:
    follower = Follower(log, as_policy(policy), **more)
    found = []
    for row in range(len(log)):
        found.append(follower.propose(row))
        follower.play(row)
    return found


def assert_same_proposals(log: DecisionLog, policy: str, error: float = 1e-12) -> None:
    """Compare what a policy that follows the log proposes with the logged probabilities."""
    for row, found in zip(log.to_arrow().to_pylist(), proposals(log, policy), strict=True):
        pi = {one["arm"]: one["probability"] for one in row["pi"]}
        if row["policy"] == policy:
            expected = [pi.get(arm, 0.0) for arm in log.arms]
            assert found == pytest.approx(expected, abs=error), (policy, row["number"])


EVERY = ("ts-n", "ids-n", "ucb-n", "bayes-ucb", "exp3-ix", "exp3-g", "ids-lp", "v-ids-n", "greedy")


def test_the_logging_policy_proposes_what_it_proposed() -> None:
    """Answers come in pieces and late, in batches and among some arms; time does not matter."""
    for policy in EVERY:
        agent = Agent(policy, ARMS, GRAPH, seed=5, horizon=50, clock=lambda: 1e9)
        rng, waiting = np.random.default_rng(1), []
        for i in range(25):
            keys: dict[str, Any] = {"exclude": [ARMS[i % 3]]} if i % 5 == 3 else {}
            many = agent.decide(1 + i % 3, **keys)
            waiting += [(one, dict(one.reveals)) for one in many]
            while len(waiting) > 6:
                one, left = waiting.pop(int(rng.integers(len(waiting))))
                arm = next(iter(left))
                del left[arm]
                agent.observe(one, {arm: int(rng.integers(2))}, partial=bool(left))
                if left:
                    waiting.append((one, left))
        assert_same_proposals(agent.log(), policy)


def test_a_followed_policy_meets_every_event_of_the_journal(tmp_path: Path) -> None:
    """Arms, graphs and the prior change; the log comes from a file."""
    for change in ("", "(discount=0.9)", "(half_life=500)"):
        clock = Clock()
        given: dict[str, Any] = {"prior": [(1, 2), (3, 1), (1, 1), (2, 2)], "clock": clock}
        given["posterior"] = f"beta-bernoulli{change}"
        agent = Agent("ts-n", NAMES, MATRIX, seed=5, **given)
        events(agent, clock)
        log = DecisionLog.read(agent.log().to_parquet(tmp_path / "log.parquet"))
        assert_same_proposals(log, "ts-n")


def test_late_outcomes_are_evaluated_and_extra_ones_are_not() -> None:
    clock = Clock()
    agent = Agent("ts-n", ARMS, seed=1, clock=clock, expires=10)
    first = agent.decide()
    clock.now += 20.0
    second = agent.decide()
    agent.observe(first, {first.arm: 1})
    agent.observe(second, {second.arm: 0})
    agent.decide()
    log = agent.log()
    assert_same_proposals(log, "ts-n")
    found = evaluate(log, "uniform", estimator="ips")
    assert (found.decisions, found.open_decisions) == (2, 1)
    assert found.value == pytest.approx(0.5)  # the late outcome 1, and 0 with probability 1/3
    agent = Agent("uniform", ARMS, seed=1)
    one = agent.decide()
    other = next(arm for arm in ARMS if arm != one.arm)
    agent.observe(one, {one.arm: 0, other: 1}, extra=True)
    assert evaluate(agent.log(), other, estimator="ips").value == 0.0  # extra ones are not


def test_the_policy_itself_has_the_average_logged_reward() -> None:
    log = play(Agent("ts-n", ARMS, GRAPH, seed=3), 60)
    for estimator in ("ips", "snips"):
        found = evaluate(log, "ts-n", estimator=estimator)
        assert found.value == pytest.approx(found.logged, abs=1e-9)
        assert found.effective == pytest.approx(60.0)


def test_another_prior_of_a_followed_policy() -> None:
    log = play(Agent("uniform", ARMS, GRAPH, seed=3), 30)
    sure = proposals(log, "ts-n", prior=[(1, 1000), (1, 1000), (1000, 1)])
    assert all(pi[2] > 0.99 for pi in sure)
    assert proposals(log, "ts-n")[0] == pytest.approx([1 / 3] * 3)


# Estimates ----------------------------------------------------------------------------------------


def test_forms_of_a_policy() -> None:
    log = play(Agent("uniform", ARMS, GRAPH, seed=3), 50)
    one = evaluate(log, "b", estimator="ips")
    assert one.value == evaluate(log, {"b": 1.0}, estimator="ips").value
    assert one.value != evaluate(log, "c", estimator="ips").value
    for policy, name in (("b", "b"), ({"b": 1}, "b"), ({"a": 0.5, "b": 0.5}, "a: 0.5, b: 0.5")):
        assert evaluate(log, policy).policy == name
    even = dict.fromkeys(ARMS, 1 / 3)
    same = [evaluate(log, form).value for form in ("uniform", even, as_policy("uniform"))]
    assert same == pytest.approx([same[0]] * 3)
    numbered = play(Agent("uniform", 3, seed=3), 50)
    assert evaluate(numbered, 1).value == evaluate(numbered, "1").value
    assert evaluate(numbered, {1: 1}).value == evaluate(numbered, {"1": 1}).value


def test_auto_uses_side_observations_if_there_are_any() -> None:
    assert evaluate(play(Agent("uniform", ARMS, GRAPH, seed=3), 20), "a").estimator == "dr-side"
    assert evaluate(play(Agent("uniform", ARMS, seed=3), 20), "a").estimator == "dr"
    rows = [{"arm": "a", "probability": 0.5, "reward": 1}] * 5
    assert evaluate(rows, "a").estimator == "dr"


def test_blocks_do_not_change_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    log = play(Agent("ts-n", ARMS, GRAPH, seed=3), 40)
    whole = [evaluate(log, "ids-n", estimator=name) for name in ("snips", "dr", "dr-side")]
    monkeypatch.setattr("graphbandits.live.evaluation.MOST_ENTRIES", 21)
    for one in whole:
        part = evaluate(log, "ids-n", estimator=one.estimator)
        assert part.value == pytest.approx(one.value, abs=1e-12)
        assert part.interval == pytest.approx(one.interval)
        assert part.guaranteed == pytest.approx(one.guaranteed)


def test_uniform_is_uniform_over_the_eligible_arms() -> None:
    agent = Agent("uniform", ARMS, seed=1)
    for i in range(30):
        one = agent.decide(exclude=["a"]) if i % 2 else agent.decide()
        agent.observe(one, {one.arm: 1.0})
        if i == 20:
            agent.add_arm("d")
    found = evaluate(agent.log(), "uniform", estimator="snips")
    assert found.effective == pytest.approx(30.0)


def test_rewards_of_other_models() -> None:
    agent = Agent("ts-n", ARMS, seed=1, posterior="normal(noise=1)")
    rng = np.random.default_rng(1)
    for _ in range(40):
        one = agent.decide()
        agent.observe(one, {one.arm: float(rng.normal(3.0))})
    found = evaluate(agent.log(), "ts-n")
    assert 2.0 < found.value < 4.0
    assert found.guaranteed is None
    rows = [{"arm": arm, "probability": 0.5, "reward": 2.5} for arm in "ab"]
    assert evaluate(rows, "a").guaranteed is None
    refused(lambda: evaluate(rows, "ts-n"), "reward 2.5", "posterior=")
    assert evaluate(rows, "ts-n", posterior="normal(noise=1)").decisions == 2


def test_missing_answers_are_divided_by_the_answer_rate_of_the_arm() -> None:
    """Arm c answers in 40 % of the cases: ignoring that would bias towards the other arms."""
    rng, rates = np.random.default_rng(8), np.array([1.0, 0.8, 0.4])
    values: dict[str, list[float]] = {}
    for _ in range(40):
        rows = []
        for _ in range(400):
            arm = int(rng.integers(3))
            shown = [j for j in range(3) if GRAPH[arm, j] == 1.0 and rng.random() < rates[j]]
            outcomes = {ARMS[j]: float(rng.random() < THETA[j]) for j in shown}
            pi = dict.fromkeys(ARMS, 1 / 3)
            rows.append({"arm": ARMS[arm], "pi": pi, "outcomes": outcomes})
        log = DecisionLog.of(rows, arms=ARMS, graph=(GRAPH == 1.0).astype(float))
        for estimator in ("ips", "snips", "dr", "dr-side"):
            found = evaluate(log, "uniform", estimator=estimator)
            values.setdefault(estimator, []).append(found.value)
            assert 0.2 < found.missing < 0.45
            assert found.guaranteed is None
            assert "missing" in found.warnings[-1]
    for estimator, found in values.items():
        error = np.std(found, ddof=1) / math.sqrt(len(found))
        assert abs(np.mean(found) - THETA.mean()) < 3.5 * error, estimator


def test_answer_rate_of_all_arms_counts_as_five_observations_of_an_arm() -> None:
    """All of 4 plays of a, and half of those of b, have an answer."""
    rewards = [("a", 1)] * 4 + [("b", 1), ("b", None)] * 2
    rows = [{"arm": arm, "probability": 0.5, "reward": reward} for arm, reward in rewards]
    for arm, answers in (("a", 4), ("b", 2)):
        rate = (answers + 5.0 * 0.75) / (4 + 5.0)
        found = evaluate(rows, arm, estimator="ips").value
        assert found == pytest.approx(answers / (0.5 * rate) / 8, rel=1e-12)


def test_replay_uses_the_decisions_with_the_same_arm() -> None:
    log = play(Agent("uniform", 4, seed=3), 400, [0.1, 0.3, 0.5, 0.9])
    found = evaluate(log, 3, estimator="replay")
    rows = [row for row in log.to_arrow().to_pylist() if row["arm"] == 3]
    assert found.decisions == len(rows)
    assert found.value == pytest.approx(np.mean([row["outcomes"][0]["reward"] for row in rows]))
    # the draws of the evaluation are independent of those of the log, also with the same seed
    assert abs(evaluate(log, "uniform", estimator="replay").decisions - 100) < 4 * 8.7
    refused(lambda: evaluate(play(Agent("ts-n", 4, seed=3), 9, [0.5] * 4), 3, estimator="replay"),
            "'replay' needs a log of uniform draws", "use 'dr'")  # fmt: skip


def test_replay_estimates_what_a_learning_policy_earns() -> None:
    """With 2 arms about half of 60 decisions are accepted; the policy learns from these only."""
    theta, rounds = [0.2, 0.8], 60
    replayed = []
    for seed in range(60):
        log = play(Agent("uniform", 2, seed=seed), rounds, theta, seed=1000 + seed)
        replayed.append(evaluate(log, "ts-n", estimator="replay").value)
    earned = [
        play(Agent("ts-n", 2, seed=seed), rounds // 2, theta, seed=5000 + seed)
        .arrays.outcomes.reward.mean()
        for seed in range(60)
    ]  # fmt: skip
    error = math.hypot(np.std(replayed, ddof=1), np.std(earned, ddof=1)) / math.sqrt(60)
    assert abs(np.mean(replayed) - np.mean(earned)) < 3.5 * error
    assert np.mean(replayed) > 0.6  # it has learned


def check_coverage(logging: str, target: Any, truth: float, trials: int) -> None:
    """Compare the intervals from logs of 200 decisions with the value."""
    inside, safe, values = 0, 0, []
    for seed in range(trials):
        log = play(Agent(logging, 3, "star", seed=seed), 200, seed=seed)
        found = evaluate(log, target, estimator="dr-side")
        assert found.guaranteed is not None
        inside += found.interval[0] <= truth <= found.interval[1]
        safe += found.guaranteed[0] <= truth <= found.guaranteed[1]
        values.append(found.value)
    assert inside >= 0.88 * trials
    assert safe >= 0.97 * trials
    error = np.std(values, ddof=1) / math.sqrt(trials)
    assert abs(np.mean(values) - truth) < 3.5 * error


def test_intervals_cover_in_logs_of_a_learning_policy() -> None:
    check_coverage("ts-n", 2, THETA[2], 60)


@pytest.mark.nightly
def test_intervals_cover() -> None:
    check_coverage("uniform", "uniform", THETA.mean(), 150)
    check_coverage("ts-n", 2, THETA[2], 150)


def test_few_decisions_and_heavy_weights_are_labelled() -> None:
    log = play(Agent("uniform", ARMS, seed=1), 20)
    found = evaluate(log, "uniform")
    assert found.label == "asymptotic, not reliable"
    assert found.warnings == ("only 20 decisions: the asymptotic interval is not reliable",)
    many = play(Agent("uniform", ARMS, seed=1), 150)
    assert evaluate(many, "uniform").label == "asymptotic"
    assert "effective" in evaluate(many, "a", estimator="ips").warnings[0]
    assert "only 99 effective outcomes" in _doubt(99.99, np.zeros(100), np.zeros(100))
    result = evaluate(many, "uniform").to_dict()
    assert result["interval"] == list(evaluate(many, "uniform").interval)
    assert "terms" not in result


NOT_RELIABLE = "asymptotic, not reliable"


def two_arms(rewards: Any, probability: float = 0.5) -> list[dict[str, Any]]:
    """Rows of two arms that alternate in pairs of decisions with the same arm."""
    return [
        {"arm": "ab"[i // 2 % 2], "probability": probability, "reward": float(reward)}
        for i, reward in enumerate(rewards)
    ]


def test_open_decisions_end_guarantees() -> None:
    """Successes are reported at once, failures only after 60 decisions: the last ones are open."""
    agent = Agent("uniform", ["a", "b"], seed=1, clock=iter(range(10**6)).__next__)
    rng, waiting = np.random.default_rng(1), []
    for _ in range(300):
        one = agent.decide()
        if rng.random() < 0.5:
            agent.observe(one, {one.arm: 1})
        else:
            waiting.append(one)
        while waiting and waiting[0].number <= one.number - 60:
            first = waiting.pop(0)
            agent.observe(first, {first.arm: 0})
    log = agent.log()
    found = evaluate(log, "uniform")
    assert found.value > 0.53
    assert (found.guaranteed, found.label) == (None, NOT_RELIABLE)
    share = f"{len(waiting)} of 300 decisions ({len(waiting) / 300:.1%}) are open"
    assert found.warnings[0].startswith(share)
    time, count = waiting[0].time, waiting[0].number - 1
    closed = DecisionLog.of(log.to_arrow().slice(0, count))
    for before in (time, time.isoformat(), time.timestamp()):
        early = evaluate(log, "uniform", before=before)
        assert early.guaranteed is not None
        assert (early.decisions, early.open_decisions, early.label) == (count, 0, "asymptotic")
    for policy, estimator in itertools.product(("uniform", "ts-n"), ("dr", "replay")):
        one = evaluate(log, policy, estimator=estimator, before=time)
        assert one == evaluate(closed, policy, estimator=estimator)


def test_open_decisions_up_to_one_per_cent_leave_the_label() -> None:
    rows = [row | {"closed": True} for row in two_arms([0, 1] * 100)]
    open_rows = [row | {"closed": None} for row in two_arms([0, 1])]
    found = evaluate(rows + open_rows, "a", posterior="beta-bernoulli", estimator="ips")
    assert (found.decisions, found.open_decisions, found.label) == (200, 2, "asymptotic")
    assert found.guaranteed is None
    found = evaluate(rows + 2 * open_rows, "a", posterior="beta-bernoulli", estimator="ips")
    assert (found.open_decisions, found.label) == (4, NOT_RELIABLE)
    assert evaluate(rows, "a", posterior="beta-bernoulli", estimator="ips").guaranteed is not None


def test_bounds_of_rewards_need_a_model() -> None:
    """Rewards of 0 and 1 in a log of another system may be followed by others."""
    rows = two_arms([0, 1] * 100)
    for policy in ("a", "ts-n"):
        assert evaluate(rows, policy).guaranteed is None
        assert evaluate(rows, policy, posterior="beta-bernoulli").guaranteed is not None


def test_a_guaranteed_interval_whose_ends_cross_is_refused() -> None:
    """The true probabilities are 0.5: with 0.25 all weights are doubled."""
    rows = two_arms([0, 1] * 300, probability=0.25)
    found = evaluate(rows, "a", posterior="beta-bernoulli", estimator="ips")
    assert found.guaranteed is None
    assert found.label == NOT_RELIABLE
    assert "average weight is 2, but should be 1" in found.warnings[0]
    assert "guaranteed interval is above" in found.warnings[1]


def test_impossible_probabilities_are_warned_about() -> None:
    found = evaluate(two_arms([0, 1] * 200, probability=1.0), "a", estimator="ips")
    assert found.label == NOT_RELIABLE
    assert "the average weight is 0.5, but should be 1" in found.warnings[0]
    for policy in ("a", "uniform"):
        assert evaluate(two_arms([0, 1] * 200), policy).warnings == ()


def test_few_different_outcomes_are_labelled() -> None:
    """The variance of an outcome that was hardly ever seen is not known."""
    for different, estimator in ((0, "ips"), (4, "snips"), (4, "dr"), (5, "dr")):
        rewards = np.ones(800)
        rewards[100 : 100 + 20 * different : 20] = 0.0  # of the arm a
        found = evaluate(two_arms(rewards), "a", estimator=estimator)
        words = f"only {different} of 400 outcomes differ from 1"
        assert any(words in one for one in found.warnings) == (different < 5)
        assert found.label == NOT_RELIABLE or different == 5


def test_equal_terms_are_labelled() -> None:
    """Each arm has one reward, and the policy is that of the log: all terms of ips are equal."""
    rows = [{"arm": a, "probability": p, "reward": r} for a, p, r in (("a", 0.5, 1), ("b", 0.5, 3))]
    found = evaluate(rows * 100, {"a": 0.75, "b": 0.25}, estimator="ips")
    assert found.interval[0] == found.interval[1] == found.value
    assert found.label == NOT_RELIABLE
    assert "all decisions have the same term" in found.warnings[0]


# Probabilities of observations --------------------------------------------------------------------


def test_probability_of_an_observation_in_a_changing_world() -> None:
    """q_j = sum_i mu_i G_ij, with the graph, the arms and the retired arms of each decision."""
    clock = Clock()
    agent = Agent("ts-n", NAMES, MATRIX, seed=5, clock=clock)
    events(agent, clock)
    agent.set_graph("random(r=uniform)")
    agent.decide(2)
    log = agent.log()
    block = _Block.of(log, np.arange(len(log)), side=True)
    [(retired, last)] = log.origin.retired.items()
    for row, line in enumerate(log.to_arrow().to_pylist()):
        feedback = log.feedback(row)
        assert feedback is not None
        expected = np.zeros(5)
        for one in line["pi"]:
            reach = feedback.reach(np.array([log.arms.index(one["arm"])]))[0]
            expected[: len(reach)] += one["probability"] * reach
        if line["number"] > last:
            expected[retired] = 0.0
        assert block.chance[row] == pytest.approx(expected, abs=1e-12), line["number"]


def test_terms_of_the_guaranteed_interval_have_their_lower_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Weights up to 200: the model is limited, and terms are near the bound."""
    found: list[Any] = []

    def keep(*given: Any) -> float:
        found.append(given)
        return 0.0

    monkeypatch.setattr(evaluation, "lower_bound", keep)
    for graph, estimator in (
        ("star", "ips"),
        *(("star", name) for name in ("dr", "dr-side")),
        *((GRAPH, name) for name in ("dr", "dr-side")),
        *((name, "dr-side") for name in ("random(r=uniform)", "complete", "random(r=0.3)")),
    ):
        agent = Agent(_Skewed((0.005, 0.9, 0.095)), 3, graph, seed=2)
        evaluate(play(agent, 300), {0: 0.9, 1: 0.1}, estimator=estimator)
        assert len(found) == 2
        for psi, least, most, _ in found:
            assert (psi >= least - 1e-9).all()
            assert (least >= -most - 1e-9).all()
            assert most == (0.0 if estimator == "ips" else pytest.approx(math.sqrt(300) / 8))
            assert estimator != "dr" or least.min() < -0.8 * most  # the limit matters
        found.clear()


@dataclass(frozen=True)
class _Skewed(Proposes):
    """A fixed distribution, for agents."""

    incremental: ClassVar[bool] = True

    def learn(self, state: Any, seen: Any, problem: Any) -> Any:
        return state


# Refusals -----------------------------------------------------------------------------------------

ROW: dict[str, Any] = {"arm": "a", "pi": {"a": 0.5, "b": 0.5}, "reward": 1}


def test_unusable_logs_are_refused() -> None:
    drawn = Agent("ts-n-sampled", ARMS, seed=1)
    drawn.observe(drawn.decide(), {})
    still_open = Agent("ts-n", ARMS, seed=1)
    still_open.decide()
    sure = Agent("greedy", ARMS, prior=[(1, 9), (9, 1), (1, 9)], seed=1)
    for _ in range(3):
        sure.observe(sure.decide(), {"b": 1})
    silent = [{"arm": arm, "probability": 0.5, "reward": None} for arm in "ab"]
    for log, policy, estimator, words in (
        (drawn.log(), "uniform", "auto", "1 of 1 decisions have no probability"),
        (still_open.log(), "uniform", "auto", "none of the 1 decisions is closed"),
        (Agent("ts-n", ARMS, seed=1).log(), "uniform", "auto", "it has no decisions"),
        (sure.log(), "uniform", "auto", "covers 33.3333 %"),
        (sure.log(), "ts-n", "ips", "%"),  # the same for a policy that learns
        ([ROW], "b", "snips", "divide by 0"),
        (silent, "uniform", "auto", "no answers"),
    ):
        refused(partial(evaluate, log, policy, estimator=estimator), words)


def test_arms_without_an_outcome_are_warned_about() -> None:
    answers = {"a": [0, 1], "b": [None, None]}
    rows = [
        {"arm": a, "probability": 0.5, "reward": r} for a, both in answers.items() for r in both
    ]
    found = evaluate(rows * 200, {"a": 0.75, "b": 0.25})
    assert found.label == "asymptotic, not reliable"
    assert found.warnings[0].startswith("25.0% of the probability of the policy is on arms without")
    assert "50.0% of the answers are missing" in found.warnings[1]
    assert evaluate(rows * 200, "a").label == "asymptotic"


ONLY_P: dict[str, Any] = {"arm": "a", "probability": 0.5, "reward": 1}
BAD: list[tuple[list[dict[str, Any]], Any, dict[str, Any]]] = [
    ([ROW | {"pi": {"a": 0.5, "b": 0.4}}], "uniform", {}),
    ([ROW | {"pi": {"a": 1.5, "b": -0.5}}], "uniform", {}),
    ([ROW | {"probability": 0.4}], "uniform", {}),
    ([ROW | {"arm": "c"}], "uniform", {}),
    ([ONLY_P | {"probability": 1.5}], "a", {}),
    ([ONLY_P | {"probability": 0.0}], "a", {}),
    ([ONLY_P], "a", {"estimator": "dr-side"}),
    ([ROW], "a", {"estimator": "dr-side"}),
    ([ROW], "a", {"estimator": "magic"}),
    ([ROW], "a", {"level": 1.0}),
    ([ROW], {"a": 0.5}, {}),
    ([ROW], {"a": 1.5, "b": -0.5}, {}),
    ([ROW], {"x": 1.0}, {}),
    ([ROW], "no-policy", {}),
    ([ROW | {"arm": "ts-n", "pi": {"ts-n": 1.0}}], "ts-n", {}),
    ([ROW], "moss", {}),
    ([ROW | {"reward": 2}], "a", {"posterior": "beta-bernoulli"}),
    ([ROW | {"number": 1}, ROW | {"number": 1}], "a", {}),
    ([ROW | {"number": -1}], "a", {}),
    ([ROW | {"eligible": ["a"], "pi": {"a": 1.0}}, ROW], "b", {"estimator": "replay"}),
    ([ROW], ["a", "b"], {}),
    ([ROW], None, {}),
    ([ONLY_P | {"arm": 1}], True, {}),
    ([ONLY_P | {"arm": 1}], {True: 1}, {}),
    ([ROW], "a", {"before": "2026-01-31"}),
    ([ROW | {"time": 10}], "a", {"before": 10}),
    ([ROW | {"time": 10}], "a", {"before": "soon"}),
    ([ROW | {"time": 10}], "a", {"before": [1]}),
]


def test_bad_input_is_refused_in_one_line() -> None:
    for case in BAD:
        rows, policy, more = case
        try:
            evaluate(rows, policy, **more)
        except GraphBanditsError as error:
            check_refusal(str(error))
        else:
            pytest.fail(f"not refused: {case}")
