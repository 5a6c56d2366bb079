"""Tests of simulation/conditions.py: delayed and missing answers in simulations."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from helpers.bad_input import refuses
from helpers.stores import CHAIN, PRIOR, a_plan

from graphbandits import Agent, Bernoulli, BetaBernoulli, Results, simulate
from graphbandits._types import Floats, Ints, State
from graphbandits.errors import InputError
from graphbandits.graphs import Feedback, as_process
from graphbandits.policies import Event, Needs, Problem, View, as_policy
from graphbandits.posteriors import Observations
from graphbandits.registry import registered
from graphbandits.rng import Keys
from graphbandits.simulation.conditions import Answers
from graphbandits.simulation.identity import series_of
from graphbandits.simulation.loop import RunMonitor, run_block
from graphbandits.simulation.plan import Plan
from graphbandits.study.run import run_plan
from graphbandits.theory import audit, bounds_of
from graphbandits.theory.bounds import LATE_ANSWERS, why_no_bounds

RECORDS = ("actions", "observations")
#: Incremental ones that learn from all outcomes and from own plays, with a posterior and with
#: counts, one that learns at the close of a round, and one of no built-in kind.
POLICIES = ["ids-n", "ts", "exp3-ix", "ucb-n", "ucb1", "ts-n-sampled", "uniform"]
ANSWERS = [(3, 1.0), ([0, 6], 1.0), ([2, 5], 0.6), (0, 0.6)]


def run(**how: Any) -> Results:
    given: dict[str, Any] = {"horizon": 23, "trials": 17, "seed": 3, "delay": [0, 6]}
    given |= {"record": RECORDS, "progress": False, "graph": CHAIN, "world": Bernoulli(PRIOR)}
    return simulate(how.pop("policies", POLICIES), **given | how)


def bits(results: Results) -> list[bytes]:
    every = []
    for name, one in results.policies.items():
        found = one.trajectories
        assert found is not None, name
        seen = found.observations
        assert seen is not None
        arrays = (one.regret, found.action, seen.round, seen.arm, seen.reward)
        every += [np.asarray(array).tobytes() for array in arrays]
    return every


# Semantics --------------------------------------------------------------------------------------


def live_decisions(policy: str, answers: Answers, trial: int, posterior: Any) -> list[Any]:
    """Return arms and probabilities of a live agent whose outcomes come late or not at all."""
    world, keys, process = Bernoulli(PRIOR), Keys(3, trial, 1), as_process(CHAIN)
    theta = world.means(keys)
    how: dict[str, Any] = {"posterior": posterior, "seed": 3, "trial": trial, "horizon": 23}
    agent = Agent(policy, 4, CHAIN, **how)
    decisions, made = [], []
    coming: dict[int, list[tuple[Any, dict[Any, float]]]] = defaultdict(list)
    for t in range(1, 24):
        decisions.append(agent.decide())
        played = agent.arms.index(decisions[-1].arm)
        pi = decisions[-1].pi or {decisions[-1].arm: 1.0}  # one that draws has no probabilities
        made.append((played, [pi.get(arm, 0.0) for arm in agent.arms]))
        row, arm = process.round(t, keys).reveal(np.array([played]), keys, t)
        reward = world.outcomes(theta, keys, t, row, arm)
        arrives, delay = answers.draw(keys, t, row, arm)
        for wait in sorted(set(delay[arrives].tolist())):
            part = arrives & (delay == wait)
            outcomes = {agent.arms[i]: y for i, y in zip(arm[part], reward[part], strict=True)}
            coming[t + wait].append((decisions[-1], outcomes))
        for decision, outcomes in coming[t]:
            agent.observe(decision, outcomes, partial=True)
        if t > answers.high:
            agent.close(decisions[t - answers.high - 1])
    return made


def simulated_decisions(policy: str, answers: Answers, trials: int, posterior: Any) -> Any:
    """Return arms, (trials, rounds), and probabilities, (trials, rounds, arms)."""
    arms, rows = [], []

    class Decisions(RunMonitor):
        def decided(self, t: int, graph: Feedback, pi: Floats) -> None:
            rows.append(pi)

        def played(self, t: int, action: Ints) -> None:
            arms.append(action)

    run_block(
        as_policy(policy),
        Bernoulli(PRIOR),
        as_process(CHAIN),
        23,
        Keys(3, 0, trials),
        np.array([23]),
        monitor=Decisions(),
        posterior=posterior,
        answers=answers,
    )
    return np.stack(arms, axis=1), np.stack(rows, axis=1)


@pytest.mark.filterwarnings("ignore::graphbandits.errors.InputWarning")
@pytest.mark.parametrize(
    ("policy", "discount"), [*((name, 1.0) for name in POLICIES), ("ids-n", 0.8), ("ts", 0.8)]
)
@pytest.mark.parametrize(("delay", "rate"), ANSWERS)
def test_a_simulation_makes_the_decisions_of_a_live_agent(
    delay: Any, rate: float, policy: str, discount: float
) -> None:
    """Arms and probabilities are the same, bit for bit."""
    answers = Answers.of(delay, rate)
    assert answers is not None
    prior = PRIOR if discount == 1.0 else BetaBernoulli(PRIOR.a, PRIOR.b, discount=discount)
    arms, pi = simulated_decisions(policy, answers, 12, prior)
    for trial in (0, 11):
        made = zip(arms[trial].tolist(), pi[trial].tolist(), strict=True)
        assert list(made) == live_decisions(policy, answers, trial, prior)


@dataclass(frozen=True)
class Diary:
    """A policy that plays round robin and writes down what it learns, in each round."""

    incremental: ClassVar[bool]
    needs: ClassVar[Needs] = Needs()
    exact: ClassVar[bool] = True
    pages: ClassVar[dict[int, list[tuple[Any, ...]]]]

    def init(self, problem: Problem, keys: Keys) -> State:
        return {}

    def propose(self, state: State, view: View) -> Floats:
        type(self).pages[view.t] = []
        return np.eye(4)[[view.t % 4] * view.keys.trials]

    def update(self, state: State, event: Event) -> State:
        seen = event.observations
        play = (event.t, event.action.tolist(), event.pi.argmax(axis=1).tolist())
        pairs = list(zip(seen.trial.tolist(), seen.arm.tolist(), strict=True))
        self.pages[max(self.pages)].append((*play, pairs, seen.reward.tolist()))
        return state

    def learn(self, state: State, seen: Observations, problem: Problem) -> State:
        raise AssertionError("a policy of an unknown kind learns from events")


@pytest.mark.parametrize("incremental", [True, False])
@pytest.mark.parametrize(("delay", "rate"), ANSWERS)
def test_a_plugin_gets_events_of_the_plays(delay: Any, rate: float, incremental: bool) -> None:
    """Compare with outcomes that are listed one by one."""
    answers = Answers.of(delay, rate)
    assert answers is not None
    pages: dict[int, list[Any]] = {}
    policy = type("Diary", (Diary,), {"incremental": incremental, "pages": pages})()
    world, keys, process, horizon = Bernoulli(PRIOR), Keys(3, 2, 5), as_process(CHAIN), 15
    record = np.array([horizon])
    run_block(policy, world, process, horizon, keys, record, answers=answers)
    theta, wanted = world.means(keys), {t: list[Any]() for t in range(1, horizon + 1)}
    for s in range(1, horizon + 1):
        action = np.full(5, s % 4)
        trial, arm = process.round(s, keys).reveal(action, keys, s)
        reward = world.outcomes(theta, keys, s, trial, arm)
        arrives, delays = answers.draw(keys, s, trial, arm)
        groups: dict[int, list[int]] = defaultdict(list)
        for k in np.flatnonzero(arrives).tolist():
            groups[s + (delays[k] if incremental else answers.high)].append(k)
        if not incremental:
            groups[s + answers.high]  # also without outcomes
        for arrival, some in groups.items():
            if arrival <= horizon:
                pairs = [(int(trial[k]), int(arm[k])) for k in some]
                played = action.tolist()
                wanted[arrival].append((s, played, played, pairs, reward[some].tolist()))
    assert pages == wanted


def test_the_monitor_and_the_record_have_the_outcomes_that_arrive() -> None:
    seen_by: dict[str, list[tuple[int, ...]]] = defaultdict(list)

    def monitor(policy: str, keys: Keys) -> RunMonitor:
        class Arrivals(RunMonitor):
            def observed(self, t: int, seen: Observations) -> None:
                assert seen.time is not None
                trial = seen.trial + keys.first_trial
                rows = zip(trial, seen.time, seen.arm, seen.reward, strict=True)
                seen_by[policy] += [(t, *map(int, row)) for row in rows]

        return Arrivals()

    answers = Answers(1, 6, 0.7)
    results = run(delay=[1, 6], answer_rate=0.7, monitor=monitor, block=5)
    whole = run(delay=0)
    assert whole.settings.get("delay") is None
    for name, arrived in seen_by.items():
        found = results[name].trajectories
        assert found is not None
        seen, action = found.observations, found.action
        assert seen is not None
        assert action is not None
        recorded = zip(seen.trial, seen.round, seen.arm, seen.reward.astype(int), strict=True)
        assert list(recorded) == sorted(row[1:] for row in arrived)
        waits = [t - played for t, _, played, *_ in arrived]
        assert (min(waits), max(waits)) == (1, 6)
        wanted, keys = [], Keys(3, 0, 17)
        for t in range(1, 24):  # everything that was revealed, and arrived in time
            played = action[:, t - 1].astype(np.int64)
            trial, arm = as_process(CHAIN).round(t, keys).reveal(played, keys, t)
            arrives, delay = answers.draw(keys, t, trial, arm)
            kept = arrives & (t + delay <= 23)
            wanted += [(b, t, i) for b, i in zip(trial[kept], arm[kept], strict=True)]
        assert sorted(wanted) == sorted((b, t, i) for _, b, t, i, _ in arrived)


def test_no_delay_and_all_answers_change_nothing() -> None:
    names = list(registered("policy"))
    how: dict[str, Any] = {"policies": names, "graph": "paper", "world": None, "trials": 4}
    same = run(**how, delay=[0, 0], answer_rate=1)
    bare = simulate(
        names, graph="paper", horizon=23, trials=4, seed=3, record=RECORDS, progress=False
    )
    assert bits(same) == bits(bare)
    assert Plan.of("ts", horizon=3, trials=2, delay=0, answer_rate=1.0).answers is None


def test_every_policy_learns_in_the_round_of_the_play_if_the_queue_has_no_delay() -> None:
    """The queue itself, without delays, is the loop without it."""
    world, process, keys, record = (
        Bernoulli(PRIOR),
        as_process(CHAIN),
        Keys(3, 0, 9),
        np.array([23]),
    )
    for name, made in registered("policy").items():
        policy: Any = made()
        if policy.needs.deterministic:
            continue
        regret = [
            run_block(policy, world, process, 23, keys, record, answers=answers).regret
            for answers in (None, Answers(0, 0, 1.0))
        ]
        assert regret[0].tobytes() == regret[1].tobytes(), name


def test_outcomes_after_the_horizon_are_lost() -> None:
    """Nothing is learned: the plays are those of the prior."""
    late = run(delay=23, policies=["ts", "exp3-ix"])
    for one in late.policies.values():
        assert len(one.trajectories.observations.arm) == 0  # type: ignore[union-attr]
    assert bits(late) == bits(run(delay=10**9, policies=["ts", "exp3-ix"]))


# Draws ------------------------------------------------------------------------------------------


def drawn(answers: Answers, keys: Keys, rounds: int, arms: int) -> tuple[Any, Any]:
    trial, arm = (part.ravel() for part in np.indices((keys.trials, arms)))
    found = [answers.draw(keys, t, trial, arm) for t in range(1, rounds + 1)]
    shape = rounds, keys.trials, arms
    return tuple(np.array([one[part] for one in found]).reshape(shape) for part in (0, 1))


def test_delays_are_uniform_and_independent_of_missing_answers() -> None:
    """Five standard errors for each delay, and for pairs of arms, rounds and trials."""
    arrives, delay = drawn(Answers(2, 9, 0.7), Keys(1, 0, 200), 30, 6)
    assert (delay.min(), delay.max()) == (2, 9)

    def near(share: Any, p: float, count: int) -> bool:
        return bool(abs(share - p) <= 5.0 * np.sqrt(p * (1.0 - p) / count))

    assert near(arrives.mean(), 0.7, arrives.size)
    for wait in range(2, 10):
        is_it = delay == wait
        assert near(is_it.mean(), 1 / 8, is_it.size)
        assert near((is_it & arrives).mean(), 0.7 / 8, is_it.size)
        for axis in range(3):  # neighbouring rounds, trials and arms
            one, other = (np.take(is_it, i, axis) for i in (0, 1))
            assert near((one & other).mean(), 1 / 64, one.size)
    for axis in range(3):
        one, other = (np.take(arrives, i, axis) for i in (0, 1))
        assert near((one & other).mean(), 0.49, one.size)


def test_draws_are_functions_of_seed_trial_round_and_arm() -> None:
    answers = Answers(0, 60, 0.5)
    whole = drawn(answers, Keys(1, 0, 9), 4, 5)
    some = drawn(answers, Keys(1, 4, 3), 4, 5)
    for all_of, part in zip(whole, some, strict=True):
        assert (all_of[:, 4:7] == part).all()
    assert (drawn(answers, Keys(2, 0, 9), 4, 5)[1] != whole[1]).any()


@pytest.mark.parametrize(("delay", "rate"), ANSWERS)
def test_same_bits_for_every_block_and_number_of_threads(delay: Any, rate: float) -> None:
    given = {"delay": delay, "answer_rate": rate}
    one = bits(run(**given))
    for how in ({"block": 1}, {"block": 4}, {"block": 5, "workers": 2, "parallel": "threads"}):
        assert bits(run(**given, **how)) == one  # type: ignore[arg-type]


@pytest.mark.process
def test_same_bits_in_processes() -> None:
    how = {"block": 5, "workers": 2, "parallel": "processes"}
    assert bits(run(answer_rate=0.8, **how)) == bits(run(answer_rate=0.8))


def test_blocks_are_small_if_much_is_waiting() -> None:
    assert Plan.of("ts", graph="star", arms=1000, horizon=500, trials=9, delay=99).block == 100
    assert Plan.of("ts", graph="star", arms=1000, horizon=9, trials=9, delay=10**9).block == 250


# What it costs ----------------------------------------------------------------------------------


def test_regret_grows_with_the_delay_and_with_missing_answers() -> None:
    """Paired differences of more than four standard errors."""
    how: dict[str, Any] = {"horizon": 150, "trials": 250, "record": (), "graph": "ring"}
    how |= {"world": Bernoulli(BetaBernoulli.of(5)), "policies": ["ids-n", "exp3-ix", "ts"]}
    later = [run(**how, delay=delay) for delay in (0, 20, 60)]
    fewer = [run(**how, delay=0, answer_rate=rate) for rate in (1.0, 0.5, 0.2)]
    for chain in (later, fewer):
        for one, other in pairwise(chain):
            for name in one.policies:
                worse = other[name].final - one[name].final
                assert worse.mean() > 4.0 * worse.std() / np.sqrt(len(worse)), name


# Identity ---------------------------------------------------------------------------------------


def test_answers_are_part_of_the_series_and_absent_ones_change_nothing() -> None:
    given: list[dict[str, Any]] = [{}, {"delay": 3}, {"delay": [3, 4]}, {"answer_rate": 0.5}]
    given.append({"delay": 3, "answer_rate": 0.5})
    plans = [a_plan(**one) for one in given]
    series = [series_of(plan, "ts-n") for plan in plans]
    assert len({one.name for one in series}) == 5
    json.dumps([one.facts for one in series])
    for plan, one in zip(plans, given, strict=True):
        settings = plan.settings()
        assert {key: settings[key] for key in ("delay", "answer_rate") if key in settings} == one


def test_results_with_other_answers_cannot_be_joined() -> None:
    one, other = run(trials=3, record=()), run(trials=3, first_trial=3, delay=2, record=())
    with pytest.raises(InputError, match="cannot be combined; problem: delay"):
        Results.concat([one, other])
    assert Results.concat([run(trials=3), run(trials=3, first_trial=3)]).trials == 6


@pytest.mark.process
def test_an_interrupted_run_continues_with_the_same_bits(tmp_path: Path) -> None:
    how: dict[str, Any] = {"progress": False, "workers": 1}
    given: dict[str, Any] = {"delay": [0, 4], "answer_rate": 0.7, "record": RECORDS}
    run_plan(a_plan(trials=6, **given), tmp_path, **how)
    study = run_plan(a_plan(trials=12, **given), tmp_path, **how)
    whole = simulate(
        ["ts-n", "ucb-n"], Bernoulli(PRIOR), CHAIN, horizon=15, trials=12, seed=4, **given
    )
    found = study.results(trajectories=True)
    assert bits(found) == bits(whole)
    assert (found.settings["delay"], found.settings["answer_rate"]) == ([0, 4], 0.7)
    assert study.verify() == []


# Refused ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "delay", [-1, 1.5, True, "3", [3], [1, 2, 3], [5, 4], [-1, 2], [0, 1.5], [True, 2], None, {}]
)
def test_bad_delays(delay: Any) -> None:
    with refuses(InputError):
        run(delay=delay)


@pytest.mark.parametrize("rate", [0, -0.5, 1.01, float("nan"), True, "half", [0.5], None])
def test_bad_answer_rates(rate: Any) -> None:
    with refuses(InputError):
        run(answer_rate=rate)


def test_ratios_are_refused() -> None:
    for given in ({"delay": 1}, {"delay": 0, "answer_rate": 0.9}):
        with refuses(InputError):
            run(ratios="bound", **given)


def test_no_bounds_and_no_audit() -> None:
    for given in ({"delay": 1}, {"answer_rate": 0.9}):
        plan = Plan.of("ts-n", graph="paper", horizon=10, trials=3, **given)  # type: ignore[arg-type]
        assert bounds_of(plan) == ()
        assert why_no_bounds(plan.world, answers=plan.answers) == LATE_ANSWERS
        with refuses(InputError):
            audit(plan)
    assert bounds_of(Plan.of("ts-n", graph="paper", horizon=10, trials=3)) != ()
