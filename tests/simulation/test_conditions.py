"""Tests of simulation/conditions.py: eligible arms, delayed and missing answers."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
from helpers.bad_input import refuses
from helpers.cases import each
from helpers.stores import CHAIN, PRIOR, a_plan

from graphbandits import Agent, Bernoulli, BetaBernoulli, Results, simulate
from graphbandits._types import Floats, Ints, State
from graphbandits.errors import InputError, NeedsError
from graphbandits.graphs import Feedback, as_process
from graphbandits.policies import Event, Needs, Problem, View, as_policy
from graphbandits.posteriors import Observations
from graphbandits.registry import registered, text_of
from graphbandits.rng import Keys
from graphbandits.simulation.conditions import Answers, check_eligible, eligible_arms
from graphbandits.simulation.identity import series_of
from graphbandits.simulation.loop import RunMonitor, run_block
from graphbandits.simulation.plan import Plan
from graphbandits.theory import audit, bounds_of
from graphbandits.theory.bounds import ELIGIBLE_ARMS, LATE_ANSWERS

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
        arrays = (one.regret, found.action, seen.round, seen.arm, seen.reward, found.eligible)
        every += [np.asarray(array).tobytes() for array in arrays if array is not None]
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
@each(("policy", "discount"), [*((name, 1.0) for name in POLICIES), ("ids-n", 0.8), ("ts", 0.8)])
@each(("delay", "rate"), ANSWERS)
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


@each("incremental", [True, False])
@each(("delay", "rate"), ANSWERS)
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


def test_the_record_has_the_outcomes_that_arrive_by_the_round_of_their_play() -> None:
    answers, keys = Answers(1, 6, 0.7), Keys(3, 0, 17)
    for one in run(delay=[1, 6], answer_rate=0.7, block=5).policies.values():
        assert one.trajectories is not None
        seen, action = one.trajectories.observations, one.trajectories.action
        assert seen is not None
        assert action is not None
        wanted = []
        for t in range(1, 24):
            played = action[:, t - 1].astype(np.int64)
            trial, arm = as_process(CHAIN).round(t, keys).reveal(played, keys, t)
            arrives, delay = answers.draw(keys, t, trial, arm)
            kept = arrives & (t + delay <= 23)
            wanted += [(b, t, i) for b, i in zip(trial[kept], arm[kept], strict=True)]
        assert list(zip(seen.trial, seen.round, seen.arm, strict=True)) == sorted(wanted)


def test_no_delay_and_all_answers_change_nothing() -> None:
    names = list(registered("policy"))
    how: dict[str, Any] = {"policies": names, "graph": "paper", "world": None, "trials": 4}
    same = run(**how, delay=[0, 0], answer_rate=1)
    bare = simulate(
        names, graph="paper", horizon=23, trials=4, seed=3, record=RECORDS, progress=False
    )
    assert bits(same) == bits(bare)
    assert Plan.of("ts", horizon=3, trials=2, delay=0, answer_rate=1.0).answers is None


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


def test_blocks_are_small_if_much_is_waiting() -> None:
    assert Plan.of("ts", graph="star", arms=1000, horizon=500, trials=9, delay=99).block == 100
    assert Plan.of("ts", graph="star", arms=1000, horizon=9, trials=9, delay=10**9).block == 250


# Refused ----------------------------------------------------------------------------------------


@each("delay", [-1, 1.5, True, "3", [3], [1, 2, 3], [5, 4], [-1, 2], [0, 1.5], [True, 2], None, {}])
def test_bad_delays_are_refused(delay: Any) -> None:
    with refuses(InputError):
        run(delay=delay)


def test_bad_answer_rates_and_ratios_are_refused() -> None:
    rates = (0, -0.5, 1.01, float("nan"), True, "half", [0.5], None)
    for given in ({"delay": 1}, {"delay": 0, "answer_rate": 0.9}):
        with refuses(InputError):
            run(ratios="bound", **given)
    for rate in rates:
        with refuses(InputError, match="answer_rate must be a probability"):
            run(answer_rate=rate)


RECORDS_ELIGIBLE = ("actions", "observations", "eligible")
POLICIES_ELIGIBLE = ["ts-n", "ids-n", "exp3-ix", "ts-n-sampled"]
ROUNDS = np.random.default_rng(3).random((23, 4)) < 0.6
ROUNDS[:, 1] |= ~ROUNDS.any(axis=1)


def run_eligible(**how: Any) -> Results:
    given: dict[str, Any] = {"horizon": 23, "trials": 17, "seed": 3, "eligible": 0.5}
    given |= {"record": RECORDS_ELIGIBLE, "delay": 0, "policies": POLICIES_ELIGIBLE}
    return run(**given | how)


def parts(results: Results, policy: str) -> tuple[Any, Any, Any]:
    found = results[policy].trajectories
    assert found is not None
    return found.action, found.observations, found.eligible


@each("regret", ["pseudo", "realised"])
@each("eligible", [0.5, ROUNDS, ROUNDS[0]])
def test_replay_gives_the_regret_and_the_observations(eligible: Any, regret: str) -> None:
    """The regret is that against the best eligible arm; all neighbours are observed."""
    results = run_eligible(eligible=eligible, regret=regret)
    world, keys, process = Bernoulli(PRIOR), Keys(3, 0, 17), as_process(CHAIN)
    theta, rows = world.means(keys), np.arange(17)
    for name in POLICIES_ELIGIBLE:
        action, seen, allowed = parts(results, name)
        total, unplayed = np.zeros(17), 0
        for t in range(1, 24):
            played = action[:, t - 1]
            best = np.array(
                [max(np.flatnonzero(allowed[b, t - 1]), key=lambda j: theta[b, j]) for b in rows]
            )
            assert allowed[rows, t - 1, played].all()
            if regret == "pseudo":
                total += theta[rows, best] - theta[rows, played]
            else:
                total += world.outcomes(theta, keys, t, rows, best)
                total -= world.outcomes(theta, keys, t, rows, played)
            trial, arm = process.round(t, keys).reveal(played.astype(np.int64), keys, t)
            here = seen.round == t
            assert sorted(zip(seen.trial[here], seen.arm[here], strict=True)) == sorted(
                zip(trial, arm, strict=True)
            )
            unplayed += (~allowed[trial, t - 1, arm]).sum()
        np.testing.assert_allclose(results[name].final, total, atol=1e-12)
        assert unplayed > 0  # arms that were not eligible were observed


def test_all_policies_meet_the_same_eligible_arms_and_seeds_differ() -> None:
    results = run_eligible()
    first = parts(results, "ts-n")[2]
    assert all((parts(results, name)[2] == first).all() for name in POLICIES_ELIGIBLE)
    assert (parts(run_eligible(seed=4), "ts-n")[2] != first).any()
    later = parts(run_eligible(first_trial=5, trials=12), "ts-n")[2]
    assert (later == first[5:]).all()


def test_arms_are_drawn_with_probability_p() -> None:
    """Given p, an arm is eligible with p + (1-p)^K / K; five standard errors."""
    for p, arms in ((0.3, 4), (0.05, 3), (1.0, 3)):
        drawn = np.concatenate([eligible_arms(p, t, Keys(2, 0, 500), arms) for t in range(1, 21)])
        wanted = p + (1.0 - p) ** arms / arms
        spread = 5.0 * np.sqrt(wanted * (1.0 - wanted) / len(drawn))
        assert (np.abs(drawn.mean(axis=0) - wanted) <= spread).all()
        assert drawn.any(axis=1).all()
        assert (drawn.sum(axis=1) == 1).mean() >= (1.0 - p) ** arms  # the drawn single arms
        pairs = (drawn[:, 0] & drawn[:, 1]).mean()
        assert abs(pairs - p * p) <= 5.0 * np.sqrt(p * p * (1.0 - p * p) / len(drawn))


def test_all_arms_as_an_array_give_the_numbers_without_eligible_arms() -> None:
    names = [text_of(as_policy(name)) for name in registered("policy") if name != "ucb-lp"]
    how = {"policies": names, "graph": "paper", "world": None, "record": (), "trials": 4}
    bare, full = (run_eligible(eligible=eligible, **how) for eligible in (None, np.ones(5, bool)))
    for name in names:
        assert bare[name].regret.tobytes() == full[name].regret.tobytes()  # type: ignore[union-attr]


def test_same_bits_for_every_block_and_number_of_threads() -> None:
    given: dict[str, Any] = {"delay": [2, 5], "answer_rate": 0.6}
    one = bits(run_eligible(**given))
    for how in ({"block": 1}, {"block": 4}, {"block": 5, "workers": 2, "parallel": "threads"}):
        assert bits(run_eligible(**given, **how)) == one


def test_same_bits_in_processes() -> None:
    given: dict[str, Any] = {"eligible": ROUNDS, "delay": [0, 6], "answer_rate": 0.8}
    found = run_eligible(**given, block=5, workers=2, parallel="processes")
    assert bits(found) == bits(run_eligible(**given))


def test_exponential_weights_divide_by_positive_probabilities() -> None:
    """An arm that is not eligible may be observed: only by the play of an eligible neighbour."""
    names = ["exp3-set", "exp3-ix", "exp3-g", "exp3-res"]
    least, unplayable = [], []

    class Divisors(RunMonitor):
        def decided(self, t: int, graph: Feedback, pi: Floats) -> None:
            self.pi, self.chance = pi, graph.observed(pi)

        def observed(self, t: int, seen: Observations) -> None:
            least.append(self.chance[seen.trial, seen.arm].min())
            unplayable.append((self.pi[seen.trial, seen.arm] == 0.0).sum())

    run_eligible(policies=names, eligible=0.3, horizon=200, monitor=lambda *_: Divisors())
    assert min(least) > 0.0
    assert sum(unplayable) > 0


# Identity ---------------------------------------------------------------------------------------


def test_eligible_arms_are_part_of_the_series_and_absent_ones_change_nothing() -> None:
    plans = [a_plan(eligible=eligible) for eligible in (None, 0.5, 0.6, ROUNDS[:15], ROUNDS[1:16])]
    series = [series_of(plan, "ts-n") for plan in plans]
    assert len({one.name for one in series}) == 5
    json.dumps([one.facts for one in series])
    settings = [plan.settings() for plan in plans]
    assert "eligible" not in settings[0]
    assert settings[1]["eligible"] == 0.5
    assert settings[3]["eligible"]["shape"] == [15, 4]
    assert settings[3]["eligible"] != settings[4]["eligible"]


# Records ----------------------------------------------------------------------------------------


def test_tables_have_one_row_per_eligible_arm() -> None:
    results = run_eligible()
    allowed = parts(results, "ids-n")[2]
    rows = results.trajectories("ids-n", trials=[2, 9]).table("eligible").to_pydict()
    wanted = [
        (3, trial, t, arm)
        for trial in (2, 9)
        for t in range(1, 24)
        for arm in np.flatnonzero(allowed[trial, t - 1])
    ]
    columns = ("seed", "trial", "round", "arm")
    assert list(zip(*(rows[name] for name in columns), strict=True)) == wanted
    assert len(results.to_pandas("eligible")) == len(POLICIES_ELIGIBLE) * allowed.sum()


# Refused ----------------------------------------------------------------------------------------


@each(
    "eligible",
    [
        0,
        0.0,
        1.0001,
        -0.5,
        float("nan"),
        True,
        "half",
        [True, False],
        [1, 0, 1, 1],
        [[True, False, True, False]] * 14,
        [[True, False], [True]],
        [False] * 4,
        [[True] * 4] * 7 + [[False] * 4] * 8,
    ],
)
def test_bad_eligible_arms_are_refused(eligible: Any) -> None:
    with refuses(InputError):
        a_plan(eligible=eligible)


def test_given_arrays_are_copied() -> None:
    given = ROUNDS[:15].copy()
    kept = check_eligible(given, 15, 4)
    given[:] = False
    assert isinstance(kept, np.ndarray)
    assert (kept == ROUNDS[:15]).all()


def test_policies_ratios_and_records_that_do_not_fit_are_refused() -> None:
    with refuses(NeedsError, match="policy 'ucb-lp' needs all arms in every round"):
        Plan.of("ucb-lp", graph="star", arms=4, horizon=20, trials=2, eligible=0.5)
    with refuses(InputError, match="information ratios are defined only if all arms are eligible"):
        a_plan(eligible=0.5, ratios="bound")
    with refuses(InputError):
        a_plan(record="eligible")


def test_bounds_and_audits_need_all_arms_and_answers() -> None:
    size: dict[str, Any] = {"graph": "paper", "horizon": 5, "trials": 2}
    assert bounds_of(Plan.of("ts-n", **size)) != ()
    reasons = {"eligible": ELIGIBLE_ARMS, "delay": LATE_ANSWERS, "answer_rate": LATE_ANSWERS}
    for (name, why), value in zip(reasons.items(), (0.5, 1, 0.9), strict=True):
        plan = Plan.of("ts-n", **size, **{name: value})
        assert bounds_of(plan) == ()
        with refuses(InputError, match=f"no audit: {why}"):
            audit(plan)


def test_blocks_too_large_to_record_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from graphbandits.simulation import loop

    monkeypatch.setattr(loop, "MAX_OBSERVATIONS", 100)
    with refuses(InputError, match="a block of 5 trials, 15 rounds and 4 arms is too large to"):
        a_plan(eligible=0.5, record="eligible").run_shard("ts-n", Keys(4, 0, 5))
