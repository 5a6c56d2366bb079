"""The loop: same bits however it runs, the same worlds for all policies, what is recorded."""

from __future__ import annotations

import itertools
import tracemalloc
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from helpers.recorded_runs import GRAPHS, POLICIES, Recorder, able, record

from graphbandits import Bernoulli, BetaBernoulli, Results, simulate
from graphbandits.engine import Plan, run_block
from graphbandits.engine import plan as plan_module
from graphbandits.engine.loop import run_recorded
from graphbandits.errors import NeedsError
from graphbandits.graphs import as_process
from graphbandits.graphs.prospect import Prospect
from graphbandits.policies import Needs, Problem, View
from graphbandits.registry import build
from graphbandits.rng import Keys, draw_actions
from graphbandits.types import Floats, Ints, State


def same(left: Results, right: Results) -> None:
    for name in left.policies:
        assert (left[name].final == right[name].final).all(), name
        assert (left[name].mean == right[name].mean).all(), name
        assert (left[name].plays == right[name].plays).all(), name


@pytest.mark.parametrize("graph", GRAPHS)
def test_same_bits_for_every_block_size_worker_count_and_order(graph: str) -> None:
    def run(policies: list[str], **how: Any) -> Results:
        return simulate(policies, graph=graph, arms=4, horizon=120, trials=21, seed=5, **how)

    policies = able(graph, 4, 120)
    assert len(policies) > 20
    whole = run(policies, block=100)
    same(whole, run(policies, block=1))
    same(whole, run(policies, block=7, workers=2))
    same(whole, run(policies[::-1], block=8, workers=2))
    assert len(np.unique(whole["ids-n"].final)) > 15  # the trials do differ


@pytest.mark.parametrize("workers", [1, 2])
def test_blocks_have_fewer_trials_where_there_are_very_many_arms(workers: int, monkeypatch) -> None:
    made: list[int] = []

    def counting(*given: Any) -> Any:
        keys = next(one for one in given if isinstance(one, Keys))
        made.append(keys.trials)
        return run_recorded(*given)

    def run() -> Results:
        made.clear()
        return simulate(
            ["ts-n", "ids-n"], arms=5, horizon=20, trials=11, seed=3, workers=workers, block=8
        )

    monkeypatch.setattr(plan_module, "run_recorded", counting)
    whole = run()
    # a block of eight would leave the second worker three
    assert sorted(made) == ([3, 3, 8, 8] if workers == 1 else [5, 5, 6, 6])
    for entries, sizes in ((20, [3, 3, 4, 4, 4, 4]), (4, [1] * 22)):
        monkeypatch.setattr(plan_module, "ENTRIES", entries)
        same(whole, run())
        assert sorted(made) == sizes


def test_trials_do_not_depend_on_how_many_there_are() -> None:
    few = simulate("ids-n", graph="paper", horizon=50, trials=5, seed=2)
    many = simulate("ids-n", graph="paper", horizon=50, trials=12, seed=2)
    assert (few["ids-n"].final == many["ids-n"].final[:5]).all()


def test_seeds_differ() -> None:
    one = simulate("ts-n", graph="paper", horizon=50, trials=5, seed=1)
    two = simulate("ts-n", graph="paper", horizon=50, trials=5, seed=2)
    assert (one["ts-n"].final != two["ts-n"].final).all()


def test_regret_is_the_sum_of_the_gaps_of_the_plays() -> None:
    events, outcome, theta = record("ts-n", "star(direction=out)", Keys(3, 4, 6), 40)
    for b in range(6):
        gaps = [theta[b].max() - theta[b, event.action[b]] for event in events]
        assert outcome.regret[b, 0] == pytest.approx(sum(gaps), abs=1e-12)
    plays = np.bincount(np.concatenate([event.action for event in events]), minlength=5)
    assert (outcome.plays.sum(axis=0) == plays).all()


def test_realised_regret_has_the_same_mean_and_more_noise() -> None:
    settings: dict[str, Any] = {"graph": "paper", "horizon": 60, "trials": 600, "seed": 1}
    pseudo = simulate("ts-n", **settings)["ts-n"]
    realised = simulate("ts-n", regret="realised", **settings)["ts-n"]
    assert (realised.final == np.round(realised.final)).all()  # differences of 0/1 outcomes
    gap = realised.final - pseudo.final
    assert abs(gap.mean()) <= 4 * gap.std(ddof=1) / np.sqrt(len(gap))
    assert realised.standard_error[-1] > 1.2 * pseudo.standard_error[-1]


def test_observations_are_those_of_the_graph_and_only_those() -> None:
    events, _, _ = record("ids-n", "path(directed=true)", Keys(3, 0, 5), 30, arms=4)
    for event in events:
        for b in range(5):
            seen = event.observations.arm[event.observations.trial == b].tolist()
            played = int(event.action[b])
            assert seen == [played, played + 1][: 4 - played]


def test_all_policies_meet_the_same_outcomes() -> None:
    """The reward of (trial, round, arm) is the same whoever observes it."""
    seen: dict[tuple[int, int, int], float] = {}
    met = 0
    for policy in ("ts-n", "ids-lp"):
        events, _, _ = record(policy, "random(r=0.5)", Keys(8, 0, 4), 40)
        for event in events:
            o = event.observations
            for trial, arm, reward in zip(o.trial, o.arm, o.reward, strict=True):
                key = (event.t, int(trial), int(arm))
                met += key in seen
                assert seen.setdefault(key, float(reward)) == reward
    assert met > 100


@dataclass(frozen=True, eq=False)
class Asked(Bernoulli):
    """Keeps which outcomes it was asked for, and in which round."""

    pairs: list[tuple[int, int, int]] = field(default_factory=list)

    def outcomes(self, theta: Floats, keys: Keys, t: int, trial: Ints, arm: Ints) -> Floats:
        self.pairs.extend((t, int(b), int(i)) for b, i in zip(trial, arm, strict=True))
        return super().outcomes(theta, keys, t, trial, arm)


@pytest.mark.parametrize("graph", ["ring(directed=true)", "random(r=0.01)"])
def test_outcomes_are_drawn_of_observed_arms_only(graph: str) -> None:
    """Of a thousand arms a few are seen in a round; the others cost nothing."""
    world = Asked(BetaBernoulli.of(1000))
    inner = build("policy", "ts-n-sampled")
    recorder = Recorder(inner, inner.needs)
    run_block(recorder, world, as_process(graph, 1000), 15, Keys(2, 3, 4), np.array([15]))
    seen = [
        (event.t, int(b), int(i))
        for event in recorder.events
        for b, i in zip(event.observations.trial, event.observations.arm, strict=True)
    ]
    assert world.pairs == seen
    assert len(set(seen)) == len(seen) < 15 * 4 * 30


@pytest.mark.parametrize("policy", ["ts-n-sampled", "ids-n"])
@pytest.mark.parametrize("graph", [*GRAPHS, "ring"])
def test_a_long_run_keeps_nothing_of_its_rounds(policy: str, graph: str) -> None:
    """Except the 200 that are recorded, whose memory is reserved at the start."""
    rounds = 3000
    memory = np.zeros(rounds, np.int64)
    played = itertools.count()

    def look(_: int) -> None:
        memory[next(played)] = tracemalloc.get_traced_memory()[0]

    settings: dict[str, Any] = {"graph": graph, "arms": 4, "trials": 1}
    Plan.of(policy, horizon=5, **settings).run_shard(policy, Keys(0, 0, 1))  # fills the caches
    plan = Plan.of(policy, horizon=rounds, **settings)
    tracemalloc.start()
    try:
        plan.run_shard(policy, Keys(0, 0, 1), look)
    finally:
        tracemalloc.stop()
    assert next(played) == rounds
    # a list of the rounds would show
    assert memory[1500:].max() - memory[300:750].min() < 2000, memory[::15]


def test_outcomes_have_the_mean_of_their_arm() -> None:
    world = Bernoulli(BetaBernoulli.of(3, 2.0, 5.0))
    keys = Keys(1, 0, 2)
    theta = world.means(keys)
    trial, arm = np.repeat([0, 1], 3), np.tile(np.arange(3), 2)
    rewards = np.array([world.outcomes(theta, keys, t, trial, arm) for t in range(1, 8001)])
    error = np.sqrt(theta * (1 - theta) / 8000).ravel()
    assert (np.abs(rewards.mean(axis=0) - theta.ravel()) <= 4.5 * error).all()


def test_means_come_from_the_prior() -> None:
    from scipy.stats import beta, kstest

    prior = BetaBernoulli(np.array([1.0, 2.0, 0.5]), np.array([1.0, 5.0, 0.5]))
    theta = Bernoulli(prior).means(Keys(1, 0, 5000))
    for i in range(3):
        assert kstest(theta[:, i], beta(prior.a[i], prior.b[i]).cdf).pvalue > 1e-4


def test_actions_are_drawn_from_pi_and_never_where_it_is_zero() -> None:
    pi = np.tile([0.0, 0.2, 0.0, 0.5, 0.3, 0.0], (20_000, 1))
    share = np.bincount(draw_actions(pi, Keys(2, 0, 20_000), t=1), minlength=6) / 20_000
    assert (np.abs(share - pi[0]) <= 4.5 * np.sqrt(pi[0] * (1 - pi[0]) / 20_000)).all()
    assert share[pi[0] == 0.0].sum() == 0.0


@dataclass(frozen=True)
class Curious(Recorder):
    """Asks for what it has not declared."""

    what: str = "graph"

    def propose(self, state: State, view: View) -> Floats:
        getattr(view if self.what == "graph" else view.problem, self.what)
        return super().propose(state, view)


@pytest.mark.parametrize("what", ["graph", "horizon"])
def test_what_is_not_declared_is_not_told(what: str) -> None:
    policy = Curious(build("policy", "ts-n"), Needs(), what=what)
    world, process = Bernoulli(BetaBernoulli.of(5)), as_process("paper")
    with pytest.raises(NeedsError, match="declare"):
        run_block(policy, world, process, 3, Keys(1), np.array([3]))


def test_needs_that_cannot_be_met_are_refused_and_others_named() -> None:
    policy = Recorder(build("policy", "ids-n"), Needs(graph="before", deterministic=True))
    with pytest.raises(NeedsError, match=r"entries 0 and 1.*would do: .*ids-n"):
        simulate(policy, graph="random(r=0.5)", horizon=3, trials=2)
    simulate(policy, graph="paper", horizon=3, trials=2)


def test_propose_leaves_the_state_as_it_was() -> None:
    keys = Keys(1, 0, 3)
    process, world = as_process("paper"), Bernoulli(BetaBernoulli.of(5))
    for name in POLICIES:
        policy = build("policy", name)
        problem = Problem(world.prior, 10, policy.needs, Prospect(process))
        state = policy.init(problem, keys)
        before = {key: value.copy() for key, value in state.items()}
        policy.propose(state, View(1, keys, problem, process.round(1, keys)))
        assert all((state[key] == before[key]).all() for key in before)


def test_the_exact_and_the_sampled_thompson_policy_agree() -> None:
    """Same distribution of plays, so the same expected regret."""
    results = simulate(["ts-n", "ts-n-sampled"], graph="paper", horizon=150, trials=1500, seed=3)
    (difference,) = results.differences()
    assert abs(difference.mean) <= 4 * difference.standard_error
