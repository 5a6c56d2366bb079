"""Tests of posteriors/updates.py: old observations count less, in all conjugate families."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers.bad_input import refuses
from helpers.cases import each

from graphbandits.errors import InputError
from graphbandits.graphs import as_process
from graphbandits.graphs.properties import GraphInfo
from graphbandits.live.setup import PriorCheck
from graphbandits.policies import Event, Problem, View, as_policy
from graphbandits.posteriors import (
    BetaBernoulli,
    BetaInterval,
    Dirichlet,
    GammaPoisson,
    Normal,
    NormalInverseGamma,
    Observations,
    discounted,
    is_discounted,
)
from graphbandits.registry import build, parameters_given, text_of
from graphbandits.rng import Keys, draw_actions
from graphbandits.simulation.loop import RatioRecorder
from graphbandits.simulation.plan import Plan
from graphbandits.simulation.run import simulate_plan
from graphbandits.theory import audit, regret_bounds
from graphbandits.theory.bounds import bounds_of
from graphbandits.worlds import Bernoulli, as_posterior, as_world

ARMS = 3
Table = dict[str, Any]


def observed(
    trial: object, arm: object, reward: object, time: object = None, weight: object = None
) -> Observations:
    columns = [None if c is None else np.array(c, float) for c in (reward, weight, time)]
    return Observations(np.array(trial), np.array(arm), *columns)  # type: ignore[arg-type]


# --- exact sums -----------------------------------------------------------------------------------
#
# An oracle of a family returns the state of one arm from the prior of this arm and a list of
# (reward, weight times power), with exact fractions.


def beta_sum(prior: Table, seen: list[tuple[Fraction, Fraction]]) -> Table:
    return {
        "a": prior["a"] + sum(w * y for y, w in seen),
        "b": prior["b"] + sum(w * (1 - y) for y, w in seen),
    }


def interval_sum(prior: Table, seen: list[tuple[Fraction, Fraction]]) -> Table:
    return beta_sum(prior, [((y + 1) / 4, w) for y, w in seen])  # rewards in [-1, 3]


def normal_sum(prior: Table, seen: list[tuple[Fraction, Fraction]]) -> Table:
    noise = Fraction(0.5)
    precision = prior["precision"] + sum(w / noise**2 for _, w in seen)
    total = prior["precision"] * prior["mean"] + sum(w * y / noise**2 for y, w in seen)
    return {"mean": total / precision, "precision": precision}


def gamma_sum(prior: Table, seen: list[tuple[Fraction, Fraction]]) -> Table:
    return {
        "shape": prior["shape"] + sum(w * y for y, w in seen),
        "rate": prior["rate"] + sum(w for _, w in seen),
    }


def dirichlet_sum(prior: Table, seen: list[tuple[Fraction, Fraction]]) -> Table:
    counts = [sum(w for y, w in seen if y == value) for value in (0, 1, 5)]
    return {"weights": [p + c for p, c in zip(prior["weights"], counts, strict=True)]}


def student_sum(prior: Table, seen: list[tuple[Fraction, Fraction]]) -> Table:
    """The four natural parameters n, n m, a and 2 b + n m^2 are sums."""
    n, m, a, b = (prior[name] for name in ("count", "mean", "shape", "scale"))
    count, total = n + sum(w for _, w in seen), n * m + sum(w * y for y, w in seen)
    squares = 2 * b + n * m**2 + sum(w * y**2 for y, w in seen)
    mean = total / count
    return {
        "mean": mean,
        "count": count,
        "shape": a + sum(w for _, w in seen) / 2,
        "scale": (squares - count * mean**2) / 2,
    }


Oracle = Callable[[Table, list[tuple[Fraction, Fraction]]], Table]
#: Posterior without discount, its oracle, rewards, and whether weights are allowed.
FAMILIES: dict[str, tuple[Any, Oracle, tuple[float, ...], bool]] = {
    "beta-bernoulli": (
        BetaBernoulli.of(ARMS, a=[1, 0.3, 4], b=[2, 1.7, 0.1]),
        beta_sum,
        (0.0, 1.0),
        True,
    ),
    "beta-interval-fraction": (
        BetaInterval.of(ARMS, a=[1, 0.3, 4], low=-1, high=3, evidence="fraction"),
        interval_sum,
        (-1.0, 0.5, 2.25, 3.0),
        False,
    ),
    # draws of rewards at the ends are not random
    "beta-interval-draw": (
        BetaInterval.of(ARMS, a=[1, 0.3, 4], low=-1, high=3),
        interval_sum,
        (-1.0, 3.0),
        False,
    ),
    "normal": (
        Normal.of(ARMS, mean=[0.5, -2, 10], sd=[1, 4, 0.25], noise=0.5),
        normal_sum,
        (-1.5, 0.25, 3.0),
        True,
    ),
    "normal-inverse-gamma": (
        NormalInverseGamma.of(ARMS, mean=[0.5, -2, 10], count=[1, 0.25, 3], shape=2, scale=0.7),
        student_sum,
        (-1.5, 0.25, 3.0),
        False,
    ),
    "gamma-poisson": (
        GammaPoisson.of(ARMS, shape=[1, 0.3, 4], rate=[2, 1, 0.5]),
        gamma_sum,
        (0.0, 1.0, 7.0),
        True,
    ),
    "dirichlet": (
        Dirichlet.of(ARMS, values=(0, 1, 5), weights=[[1, 2, 0.3], [1, 1, 1], [0.7, 3, 2]]),
        dirichlet_sum,
        (0.0, 1.0, 5.0),
        False,
    ),
}


def with_discount(posterior: Any, **given: float) -> Any:
    return type(posterior)(**parameters_given(posterior) | given)


def history(name: str, seed: int) -> Table:
    """Draw 24 observations of two trials at times from 1 to 9, in any order."""
    _, _, rewards, weighted = FAMILIES[name]
    rng = np.random.default_rng(seed)
    return {
        "trial": rng.integers(0, 2, 24),
        "arm": rng.integers(0, ARMS, 24),
        "reward": rng.choice(rewards, 24),
        "time": rng.integers(1, 10, 24).astype(float),
        "weight": rng.choice([1.0, 2.0, 3.5], 24) if weighted else None,
    }


def part(seen: Table, chosen: Any) -> Observations:
    return Observations(**{k: None if v is None else v[chosen] for k, v in seen.items()})


def exact_state(name: str, seen: Table, now: int, factor: Callable[[int], Fraction]) -> Table:
    """Compute S_0 + sum of g^age s(y) with fractions, as an array for each name."""
    posterior, oracle, _, _ = FAMILIES[name]
    prior = posterior.init(1)
    found: Table = {key: np.empty((2, *array.shape[1:])) for key, array in prior.items()}
    for trial in range(2):
        for arm in range(ARMS):
            start = {
                key: [Fraction(x) for x in array[0, arm]]
                if array.ndim == 3
                else Fraction(float(array[0, arm]))
                for key, array in prior.items()
            }
            mine = np.flatnonzero((seen["trial"] == trial) & (seen["arm"] == arm))
            weight = np.ones(24) if seen["weight"] is None else seen["weight"]
            pairs = [
                (Fraction(seen["reward"][k]), Fraction(weight[k]) * factor(now - int(time)))
                for k, time in zip(mine, seen["time"][mine], strict=True)
            ]
            for key, value in oracle(start, pairs).items():
                found[key][trial, arm] = (
                    [float(x) for x in value] if isinstance(value, list) else float(value)
                )
    return found


@each("seed", range(4))
@each("name", FAMILIES)
@each("kind", ["discount", "half_life"])
def test_state_is_the_discounted_sum_of_statistics(name: str, kind: str, seed: int) -> None:
    """In any order of arrival, in any number of updates, and whenever the state is moved."""
    given = {"discount": 0.75} if kind == "discount" else {"half_life": 2.0}
    posterior = with_discount(FAMILIES[name][0], **given)
    seen, rng = history(name, seed), np.random.default_rng(100 + seed)
    state = posterior.init(2)
    cuts = np.sort(rng.integers(0, 25, 5))
    for chosen in np.split(rng.permutation(24), cuts):
        state = posterior.update(state, part(seen, chosen))
        if rng.random() < 0.5:
            state = discounted(posterior, state, float(rng.integers(1, 6)))
    state = discounted(posterior, state, 12.0)
    if kind == "discount":
        exact = exact_state(name, seen, 12, lambda age: Fraction(0.75) ** age)
    else:
        # powers of 1/sqrt(2): with integers of 2^60 the rounding is far below the tolerance
        root = Fraction(2.0**0.5)
        exact = exact_state(
            name, seen, 12, lambda age: Fraction(1, 2 ** (age // 2)) / root ** (age % 2)
        )
    assert state["discounted_to"].tolist() == [12.0, 12.0]
    for key, expected in exact.items():
        assert state[key] == pytest.approx(expected, rel=1e-12), key
    posterior.check_state(state)


@each("name", FAMILIES)
def test_prior_does_not_age(name: str) -> None:
    """Not by one bit: parameters at the ends of their range stay valid."""
    for given in ({"discount": 0.97}, {"half_life": 3.3}):
        posterior = with_discount(FAMILIES[name][0], **given)
        fresh = posterior.init(2)
        if "half_life" in given:
            fresh["discounted_to"][:] = 0.0
        moved = fresh
        for now in (0.1, 1.0, 7.77, 1e9):
            moved = discounted(posterior, moved, now)
        prior = FAMILIES[name][0].init(2)
        assert all((moved[key] == value).all() for key, value in prior.items())


@each(
    "posterior",
    [
        BetaBernoulli.of(2, a=1e-3, b=1e-3, discount=0.9),
        Dirichlet.of(2, values=(0, 1), weights=0.2, discount=0.9),
        GammaPoisson.of(2, shape=1e-3, rate=1e-6, discount=0.9),
        NormalInverseGamma.of(2, count=1e-6, shape=1, scale=1e-100, discount=0.9),
    ],
)
def test_states_stay_in_their_range_for_ever(posterior: Any) -> None:
    state = posterior.init(1)
    rng = np.random.default_rng(3)
    for t in range(1, 400):
        reward = rng.choice([0.0, 1.0])
        state = posterior.update(state, observed([0], [t % 2], [reward], [float(t)]))
        posterior.check_state(state)
    state = discounted(posterior, state, 1e6)
    posterior.check_state(state)
    for key, prior in posterior.init(1).items():
        if key != "discounted_to":
            assert state[key] == pytest.approx(prior, rel=1e-12, abs=1e-12)


def test_weights_and_ages_multiply() -> None:
    posterior = BetaBernoulli.of(1, discount=0.5)
    state = posterior.update(posterior.init(1), observed([0], [0], [1.0], [3.0]))
    late = observed([0], [0], [0.25], [1.0], weight=[8.0])
    state = posterior.update(state, late)
    assert state["a"].item() == 1.0 + 1.0 + 0.25 * 8.0 * 0.25
    assert state["b"].item() == 1.0 + 0.25 * 8.0 * 0.75


@each("name", FAMILIES)
def test_time_is_ignored_without_a_discount(name: str) -> None:
    posterior, seen = FAMILIES[name][0], history(name, 11)
    timed = posterior.update(posterior.init(2), part(seen, slice(None)))
    plain = posterior.update(posterior.init(2), part(seen | {"time": None}, slice(None)))
    nonsense = posterior.update(posterior.init(2), part(seen | {"time": np.full(24, np.nan)}, ...))
    assert list(timed) == list(posterior.init(2))
    for key, value in plain.items():
        assert (timed[key] == value).all()
        assert (nonsense[key] == value).all()
    assert discounted(posterior, plain, 1e9) is plain


def test_plug_in_with_a_parameter_of_this_name_is_not_discounted() -> None:
    """Without the method ``discounted`` its states are its own."""
    own = SimpleNamespace(discount=0.9, half_life=None)
    state = {"a": np.ones((1, 2))}
    assert discounted(own, state, 5.0) is state  # type: ignore[arg-type]


def test_trials_have_their_own_times() -> None:
    posterior = BetaBernoulli.of(1, discount=0.5)
    state = posterior.update(posterior.init(3), observed([0, 1], [0, 0], [1, 1], [2.0, 5.0]))
    assert state["discounted_to"].tolist() == [2.0, 5.0, 0.0]
    moved = discounted(posterior, state, 4.0)
    assert moved["a"].ravel().tolist() == [1.25, 2.0, 1.0]
    assert moved["discounted_to"].tolist() == [4.0, 5.0, 4.0]
    assert state["a"].ravel().tolist() == [2.0, 2.0, 1.0]  # a copy was moved


def test_observation_without_a_time_has_that_of_the_state() -> None:
    posterior = BetaBernoulli.of(1, discount=0.5)
    state = posterior.update(posterior.init(1), observed([0], [0], [1.0], [4.0]))
    state = posterior.update(state, observed([0], [0], [1.0]))
    assert state["a"].item() == 3.0
    assert state["discounted_to"].item() == 4.0


def test_half_life_starts_at_the_first_time() -> None:
    """Seconds since 1970 at the first use do not erase what was learned before."""
    posterior = BetaBernoulli.of(1, half_life=3600.0)
    state = posterior.update(posterior.init(1), observed([0], [0], [1.0]))
    assert state["discounted_to"].item() == -np.inf
    posterior.check_state(state)
    assert discounted(posterior, state, 1.7e9)["a"].item() == 2.0
    state = posterior.update(state, observed([0], [0], [0.0], [1.7e9]))
    assert (state["a"].item(), state["b"].item()) == (2.0, 2.0)
    late = discounted(posterior, state, 1.7e9 + 7200.0)
    assert (late["a"].item(), late["b"].item()) == (1.25, 1.25)


def test_draws_of_the_interval_add_their_power() -> None:
    posterior = BetaInterval.of(1, discount=0.5)
    state = posterior.update(posterior.init(1), observed([0], [0], [0.5], [3.0]))
    state = posterior.update(state, observed([0], [0], [0.5], [1.0]))
    assert {state["a"].item(), state["b"].item()} in ({2.25, 1.0}, {2.0, 1.25})


# --- policies and simulation ----------------------------------------------------------------------

READERS = (
    "ts-n",
    "ids-n",
    "ids-n(gain=joint)",
    "ids-lp",
    "v-ids-n",
    "greedy",
    "bayes-ucb",
    "ts-maxn",
    "ts-n-sampled",
)


@each("text", READERS)
@each("kind", ["discount", "half_life"])
def test_policies_decide_with_the_state_of_the_decision(text: str, kind: str) -> None:
    """The state is of round 3 and the decision of round 8, at the time 10.5."""
    given = {"discount": 0.5} if kind == "discount" else {"half_life": 2.0}
    model = BetaBernoulli.of(3, a=[2, 1, 1], **given)
    plain, process = BetaBernoulli.of(3, a=[2, 1, 1]), as_process("star", 3)
    keys = Keys(seed=4, trials=2)
    policy, graph = as_policy(text), process.round(8, keys)
    seen = observed([0, 0, 1, 1, 1], [0, 1, 1, 1, 2], [0, 1, 1, 0, 1], [3.0] * 5)
    state = model.update(model.init(2), seen)
    kept = {name: value.copy() for name, value in state.items()}
    factor = 0.5**4 if kind == "discount" else 0.5 ** (7.5 / 2.0)
    by_hand = {name: plain.init(2)[name] * (1 - factor) + factor * state[name] for name in "ab"}
    found = policy.propose(state, View(8, keys, _problem(model, policy, process), graph, now=10.5))
    expected = policy.propose(by_hand, View(8, keys, _problem(plain, policy, process), graph))
    assert found == pytest.approx(expected, abs=1e-9)
    stale = policy.propose({n: state[n] for n in "ab"}, _view(8, keys, plain, policy, process))
    if text not in ("greedy", "ts-n-sampled"):
        assert np.abs(found - stale).max() > 1e-3
    assert all((state[name] == value).all() for name, value in kept.items())


def _problem(posterior: Any, policy: Any, process: Any) -> Problem:
    return Problem(posterior, 100, policy.needs, GraphInfo(process))


def _view(t: int, keys: Keys, posterior: Any, policy: Any, process: Any) -> View:
    return View(t, keys, _problem(posterior, policy, process), process.round(t, keys))


def test_update_of_a_policy_gives_late_observations_their_age() -> None:
    policy, process, keys = as_policy("ts-n"), as_process("empty", 2), Keys(1)
    for given, now in (({"discount": 0.5}, None), ({"half_life": 1.0}, 50.0)):
        model = BetaBernoulli.of(2, **given)
        problem, state = _problem(model, policy, process), model.init(1)
        zero = np.zeros(1, np.int64)
        for t in (6, 4):  # the answer of round 4 arrives after that of round 6
            time = {} if now is None else {"now": now + t}
            rest = (np.array([[1.0, 0.0]]), zero, observed([0], [0], [1.0]))
            event = Event(t, keys, problem, process.round(t, keys), *rest, **time)
            assert event.now == (t if now is None else now + t)
            state = policy.update(state, event)
        assert state["a"][0, 0] == 1.0 + 1.0 + 0.25


def test_simulation_equals_a_loop_by_hand() -> None:
    """S <- g S + (1 - g) S_0 + s(y), with alpha of the posterior without discount."""
    g, rounds, keys = 0.9, 80, Keys(seed=5, trials=6)
    world = as_world("bernoulli-switch(changes=[41], fixed=[[0.2, 0.7], [0.9, 0.6]])", arms=2)
    plan = Plan.of(
        "ts-n",
        world,
        "empty",
        horizon=rounds,
        trials=6,
        seed=5,
        posterior=f"beta-bernoulli(a=2, discount={g})",
        record="actions",
        rounds=[rounds],
    )
    results = simulate_plan(plan)["ts-n"]
    plain = BetaBernoulli.of(2, a=2)
    start = plain.init(6)
    state, regret, trial = plain.init(6), np.zeros(6), np.arange(6)
    actions = np.empty((6, rounds), np.int64)
    for t in range(1, rounds + 1):
        theta = np.tile([0.2, 0.7] if t <= 40 else [0.9, 0.6], (6, 1))
        action = draw_actions(plain.beliefs(state).alpha, keys, t)
        reward = world.outcomes(theta, keys, t, trial, action)
        regret += theta.max(axis=1) - theta[trial, action]
        for name, added in (("a", reward), ("b", 1.0 - reward)):
            state[name] = g * state[name] + (1.0 - g) * start[name]
            state[name][trial, action] += added
        actions[:, t - 1] = action
    assert results.trajectories is not None
    assert (results.trajectories.action == actions).all()
    assert results.mean[-1] == pytest.approx(regret.mean(), rel=1e-12)


def test_rounds_without_observations_are_discounted_too() -> None:
    """On a graph without self-loops, a trial may observe nothing in a round."""
    model = BetaBernoulli.of(2, discount=0.5)
    policy, process, keys = as_policy("ts-n"), as_process("empty", 2), Keys(1)
    state = model.update(model.init(1), observed([0], [0], [1.0], [1.0]))
    nothing = observed(np.empty(0, int), np.empty(0, int), [])
    problem, zero = _problem(model, policy, process), np.zeros(1, np.int64)
    event = Event(2, keys, problem, process.round(2, keys), np.ones((1, 2)) / 2, zero, nothing)
    state = policy.update(state, event)
    assert View(3, keys, problem, process.round(3, keys)).current(state)["a"][0, 0] == 1.5


def test_half_life_is_a_discount_that_is_one_round_ahead() -> None:
    """In round t, discount has discounted t - 1 rounds, and half_life the time t."""
    process, policy, keys = as_process("empty", 2), as_policy("ts-n"), Keys(1)
    by_round, by_time = BetaBernoulli.of(2, discount=0.5**0.25), BetaBernoulli.of(2, half_life=4.0)
    states = []
    for model in (by_round, by_time):
        state = model.init(1)
        for t in (1, 2, 3):
            state = model.update(state, observed([0], [t % 2], [1.0], [float(t)]))
        states.append(_view(4, keys, model, policy, process).current(state))
    ahead = 1.0 + 0.5**0.25 * (states[0]["a"] - 1.0)
    assert states[1]["a"] == pytest.approx(ahead, rel=1e-14)


def test_ratios_are_those_of_the_discounted_posterior() -> None:
    model = BetaBernoulli.of(2, discount=0.5)
    graph, pi = as_process("empty", 2).round(4, Keys(1)), np.array([[0.3, 0.7]])
    found = RatioRecorder(model, "joint", 1, np.array([4]))
    found.observed(1, observed([0], [1], [1.0]))
    found.decided(4, graph, pi)
    expected = RatioRecorder(BetaBernoulli([1, 1.25], [1, 1]), "joint", 1, np.array([4]))
    expected.decided(4, graph, pi)
    for name in ("ratio", "psi", "entropy"):
        value = getattr(expected.ratios, name)
        assert getattr(found.ratios, name) == pytest.approx(value, rel=1e-10), name


# --- text and stored forms ------------------------------------------------------------------------


@each("name", FAMILIES)
def test_text_form_and_stored_form_have_the_discount(name: str) -> None:
    plain = FAMILIES[name][0]
    assert "discount" not in text_of(plain)
    for given in ({"discount": 0.99}, {"half_life": 30.0}):
        posterior = with_discount(plain, **given)
        again = build("posterior", text_of(posterior), arms=ARMS)
        assert is_discounted(again)
        assert text_of(again) == text_of(posterior)
        assert parameters_given(posterior).items() >= given.items()


def test_models_with_a_discount_are_stored() -> None:
    for text in ("beta-bernoulli(discount=0.9)", "beta-bernoulli(half_life=9)"):
        plan = Plan.of("ts-n", "bernoulli", "star", arms=2, posterior=text, horizon=2, trials=1)
        settings = {"horizon": 2, "trials": 1, "seed": 0, "recording": plan.recording}
        restored = Plan.unpack(plan.pack(), policies={}, **settings)
        assert text_of(restored.posterior) == text_of(plan.posterior)
        assert text_of(restored.world.prior) == "beta-bernoulli"


def test_settings_name_the_discount() -> None:
    common: Table = {"graph": "empty", "horizon": 5, "trials": 2, "arms": 2}
    plan = Plan.of("ts-n", posterior="beta-bernoulli(discount=0.9)", **common)
    assert plan.settings()["posterior"]["discount"] == 0.9
    plain = Plan.of("ts-n", posterior="beta-bernoulli(a=2)", **common).settings()
    assert plain["posterior"]["discount"] == 1.0
    world = Bernoulli(BetaBernoulli.of(2, discount=0.9))
    prior = Plan.of("ts-n", world, "empty", horizon=5, trials=2).settings()["prior"]
    assert (prior["a"], prior["discount"], prior["half_life"]) == ([1.0, 1.0], 0.9, None)


# --- what does not hold with a discount -----------------------------------------------------------


@each("name", [n for n in FAMILIES if "interval" not in n])
def test_evidence_and_prior_check_need_a_posterior_without_discount(name: str) -> None:
    posterior = with_discount(FAMILIES[name][0], discount=0.9)
    assert is_discounted(posterior.weaker())
    assert PriorCheck(posterior).done
    assert not PriorCheck(FAMILIES[name][0]).done
    with pytest.raises(InputError, match="log_evidence is not defined for a discounted posterior"):
        posterior.log_evidence(posterior.init(1))


def test_bounds_and_audits_need_a_posterior_without_discount() -> None:
    world = Bernoulli(BetaBernoulli.of(2, discount=0.9))
    plan = Plan.of("ts-n", world, "complete", horizon=5, trials=2)
    assert bounds_of(plan) == ()
    with refuses(InputError, match="no audit: the bounds are proved for constant means"):
        audit(plan)
    with refuses(InputError, match="no regret bounds: the bounds are proved for constant means"):
        regret_bounds(plan.process, world.prior, [5])


# --- bad input ------------------------------------------------------------------------------------


BAD_PARAMETERS: list[Table] = [
    {"discount": 0.0},
    {"discount": 1.5},
    {"discount": float("nan")},
    {"discount": "often"},
    {"half_life": 0.0},
    {"half_life": float("inf")},
    {"half_life": True},
    {"discount": 0.9, "half_life": 3.0},
]
BAD_TIMES: list[list[Any]] = [[np.nan], [np.inf], [1.0, 2.0], ["now"]]
DAMAGED: dict[str, Any] = {
    "missing": None,
    "three": np.zeros(3),
    "column": np.zeros((2, 1)),
    "integer": np.zeros(2, np.int64),
    "nan": np.array([0.0, np.nan]),
}


def seen_at(name: str, time: list[Any], trial: int = 0) -> Observations:
    reward = np.array([FAMILIES[name][2][0]])
    return Observations(np.array([trial]), np.array([1]), reward, time=np.array(time))


def damaged(posterior: Any, times: Any) -> Table:
    state: Table = posterior.init(2)
    del state["discounted_to"]
    return state if times is None else state | {"discounted_to": times}


@each("name", FAMILIES)
def test_all_families_refuse_bad_input_and_keep_their_state(name: str) -> None:
    for given in BAD_PARAMETERS:
        with pytest.raises(InputError):
            with_discount(FAMILIES[name][0], **given)
    posterior = with_discount(FAMILIES[name][0], discount=0.9)
    for times in DAMAGED.values():
        with pytest.raises(InputError):
            posterior.check_state(damaged(posterior, times))
    state = posterior.init(2)
    wrong = [seen_at(name, time) for time in BAD_TIMES]
    for seen in (*wrong, seen_at(name, [1.0], trial=-1), seen_at(name, [1.0], trial=2)):
        with pytest.raises(InputError):
            posterior.update(state, seen)
    for key, value in posterior.init(2).items():
        assert (state[key] == value).all()


def test_only_a_half_life_has_no_time_at_first() -> None:
    never = {"discounted_to": np.array([-np.inf])}
    by_time, by_round = BetaBernoulli.of(1, half_life=2.0), BetaBernoulli.of(1, discount=0.5)
    by_time.check_state(by_time.init(1) | never)
    with refuses(InputError, match="the state has discounted_to = -inf"):
        by_round.check_state(by_round.init(1) | never)


def test_discount_is_not_a_parameter_of_one_arm() -> None:
    with refuses(InputError, match="a prior of 'beta-bernoulli' has no parameter 'discount'"):
        as_posterior("beta-bernoulli", 2, prior=[{"discount": 0.9}, {"a": 2}])
    mixed = as_posterior("beta-bernoulli(discount=0.9)", 2, prior=[{"a": 3}, {"a": 2}])
    assert (mixed.a.tolist(), mixed.discount) == ([3.0, 2.0], 0.9)  # type: ignore[attr-defined]
