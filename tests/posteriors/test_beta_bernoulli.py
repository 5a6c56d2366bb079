"""Tests of posteriors/beta_bernoulli.py.

Statistics compared with exact rationals and theorems; states.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from helpers.bad_input import refuses
from helpers.cases import each
from helpers.oracles import entropy, exact_beliefs

from graphbandits._types import State
from graphbandits.errors import InputError
from graphbandits.posteriors import Beliefs, BetaBernoulli, Observations
from graphbandits.posteriors._beta_kernels import beliefs_kernel
from graphbandits.posteriors._quadrature_kernels import SIMULATION
from graphbandits.rng import Keys, Stream


def beliefs(parameters: list[tuple[float, float]], accuracy: str = "simulation") -> Beliefs:
    a, b = np.array(parameters, float).T
    posterior = BetaBernoulli(a, b)
    return posterior.beliefs(posterior.init(trials=1), accuracy, variance=True)


def sum_before_scaling(parameters: list[tuple[float, float]]) -> float:
    """The sum of alpha as integrated: the public one is scaled to 1, which would hide an error."""
    a, b = (np.ascontiguousarray(part[None]) for part in np.array(parameters, float).T)
    alpha, delta, h, v = (np.empty(a.shape) for _ in range(4))
    rho, defect = np.empty((2, 1))
    beliefs_kernel(a, b, SIMULATION, False, 1.0, len(parameters), alpha, delta, h, v, rho, defect)
    return 1.0 + float(defect[0])


def assert_accurate(case: list[tuple[float, float]], want: object) -> None:
    """Errors: absolute 1e-10 in simulation; relative 1e-8 above 1e-30 in strict."""
    fast, strict = beliefs(case), beliefs(case, "strict")
    for name in ("alpha", "delta", "h", "v"):
        exact = getattr(want, name)
        error = np.abs(getattr(fast, name)[0] - exact)
        assert (error <= 1e-10).all(), (name, error.max(), case)
        found = getattr(strict, name)[0]
        error = np.where(exact > 1e-30, np.abs(found - exact) / np.maximum(exact, 1e-30), 0.0)
        assert (error <= 1e-8).all(), (name, found, exact, case)
    for got in (fast, strict):
        assert abs(got.rho[0] - want.rho) <= 1e-10, case  # type: ignore[attr-defined]


def random_posteriors(rng: np.random.Generator, arms: int, most: int) -> list[tuple[int, int]]:
    """Asymmetric posteriors: far apart, close together, long and hardly observed."""
    observed = rng.integers(0, most + 1, arms) if rng.random() < 0.8 else rng.integers(0, 6, arms)
    spread = rng.choice([1.0, 0.1, 0.02])
    theta = np.clip(rng.random() + spread * rng.standard_normal(arms), 0.0, 1.0)
    ones = rng.binomial(observed, theta)
    return [(1 + int(y), 1 + int(n - y)) for y, n in zip(ones, observed, strict=True)]


def check_exact(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(6):
        arms = int(rng.integers(2, 6))
        case = random_posteriors(rng, arms, 300)
        assert_accurate(case, exact_beliefs(case))


@each("seed", range(8))
def test_statistics_match_exact_rationals(seed: int) -> None:
    check_exact(seed)


@pytest.mark.nightly
@each("seed", range(8, 40))
def test_more_statistics_match_exact_rationals(seed: int) -> None:
    check_exact(seed)


@each("seed", range(3))
def test_statistics_of_eight_arms_match_exact_rationals(seed: int) -> None:
    rng = np.random.default_rng(1000 + seed)
    case = random_posteriors(rng, int(rng.integers(6, 9)), 300)
    assert_accurate(case, exact_beliefs(case))


@each(
    "case",
    [
        [(1, 2), (4, 4), (12, 9)],
        [(1, 1), (1, 1)],
        [(301, 1), (1, 301)],
        [(301, 1), (300, 2), (1, 1)],
        [(1, 301), (1, 300), (2, 299)],
        [(150, 151), (151, 150), (150, 150), (1, 1)],
        [(2999, 3), (2990, 12)],
        [(2, 3000), (1, 1), (1, 2)],
    ],
)
def test_statistics_of_extreme_posteriors_match_exact_rationals(
    case: list[tuple[int, int]],
) -> None:
    assert_accurate(case, exact_beliefs(case))


def test_single_arm_is_best() -> None:
    got = beliefs([(3.0, 4.0)])
    assert got.v is not None
    assert (got.alpha[0, 0], got.delta[0, 0], got.h[0, 0], got.v[0, 0]) == (1.0, 0.0, 0.0, 0.0)
    assert got.rho[0] == pytest.approx(3 / 7, abs=1e-15)


@each(
    "case",
    [
        [(0.5, 0.5)] + [(11.5, 3000.0)] * 5,
        [(2.0, 0.5), (99999.5, 99999.5)],
        [(0.5, 0.5)] + [(3.5, 300.0)] * 20,
        [(0.5, 0.5)] * 100,
        [(2.0, 11.0)] * 50,
        [(329.0, 1.0)] * 14 + [(329.0, 3.0)] * 2,
        [(1e5, 1e5)] * 3 + [(0.5, 1e5), (1e5, 0.5)],
    ],
)
def test_hard_mixtures_converge(case: list[tuple[float, float]]) -> None:
    """They once needed too many panels, or did not converge; the check on sum(alpha) is 1e-10."""
    got = beliefs(case)
    assert sum_before_scaling(case) == pytest.approx(1.0, abs=1e-10)
    assert (got.h <= entropy(got.alpha[0]) + 1e-12).all()
    same = [i for i in range(len(case)) if case[i] == case[-1]]
    assert got.alpha[0, same] == pytest.approx(got.alpha[0, -1], rel=1e-9)


def test_update_counts_each_observation_in_its_trial_and_arm() -> None:
    posterior = BetaBernoulli(np.array([1.0, 2.0, 3.0]), np.array([1.0, 1.5, 2.0]))
    state = posterior.init(trials=2)
    seen = Observations(
        trial=np.array([0, 0, 1]), arm=np.array([0, 2, 1]), reward=np.array([1.0, 0.0, 1.0])
    )
    state = posterior.update(state, seen)
    assert state["a"].tolist() == [[2.0, 2.0, 3.0], [1.0, 3.0, 3.0]]
    assert state["b"].tolist() == [[1.0, 1.5, 3.0], [1.0, 1.5, 2.0]]


ONES = np.ones((2, 20))


def damaged(value: float, arms: int = 1) -> np.ndarray:
    """Ones, but for a few arms of the second trial."""
    array = ONES.copy()
    array[1, 3 : 3 + arms] = value
    return array


STATES = {
    "one zero": ({"a": damaged(0.0), "b": ONES}, "a = 0 for arm 3 in trial 1"),
    "negative": ({"a": ONES, "b": damaged(-1.0)}, "b = -1 for arm 3 in trial 1"),
    "nan": ({"a": damaged(math.nan), "b": ONES}, "a = nan for arm 3 in trial 1"),
    "too small": ({"a": damaged(0.00099), "b": ONES}, "a = 0.00099 .* from 0.001 to 1e"),
    "too large": ({"a": damaged(1.01e10), "b": ONES}, r"a = 1.01e\+10 .* from 0.001 to 1e"),
    "other arms": ({"a": ONES[:, :4], "b": ONES[:, :4]}, r"\(trials, 20\), .* float64 \(2, 4\)"),
    "b shorter": ({"a": ONES, "b": ONES[:, :4]}, r"a: float64 \(2, 20\), b: float64 \(2, 4\)"),
    "three axes": ({"a": ONES[None], "b": ONES[None]}, r"a: float64 \(1, 2, 20\)"),
    "no b": ({"a": ONES}, "b: object"),
    "text": ({"a": ONES.astype(str), "b": ONES}, "numeric arrays .* a: <U"),
    "complex": ({"a": ONES, "b": ONES.astype(complex)}, "numeric arrays .* b: complex128"),
}


@each(("state", "reason"), STATES.values())
def test_invalid_state_is_rejected_before_the_kernel(state: State, reason: str) -> None:
    """Memory was overwritten, the search never ended, or NaN gave alpha = [1, 0, 0]."""
    posterior, stream = BetaBernoulli.of(20), Stream(Keys(1, 0, 2), 1, "test")
    rows = np.array([[0, 2]]), np.array([3, 4]), np.ones(2)
    for ask in (
        posterior.check_state,
        posterior.beliefs,
        lambda state: posterior.beliefs(state, "strict", estimate=True),
        lambda state: posterior.information(state, *rows),
        lambda state: posterior.quantile(state, 0.5),
        lambda state: posterior.sample(state, stream),
        lambda state: posterior.sample_order(state, stream),
    ):
        with pytest.raises(InputError, match=reason):
            ask(state)


def test_other_number_types_are_accepted_in_state() -> None:
    posterior, stream = BetaBernoulli.of(3), Stream(Keys(1, 0, 2), 1, "test")
    state = posterior.init(trials=2)
    state["a"][:] = [[1, 2, 3], [4, 5, 6]]
    alpha, draws = posterior.beliefs(state).alpha, posterior.sample(state, stream)
    for other in (
        {name: array.astype(np.int32) for name, array in state.items()},
        {name: array.astype(np.float32) for name, array in state.items()},
        {name: np.asfortranarray(array) for name, array in state.items()},
        {name: np.repeat(array, 2, axis=1)[:, ::2] for name, array in state.items()},
    ):
        assert (posterior.beliefs(other).alpha == alpha).all()
        assert (posterior.sample(other, stream) == draws).all()


@each(
    "change",
    [
        {"start": np.array([[0.0, 2.0]])},
        {"start": np.array([0, 2])},
        {"start": np.array([[0, 3]])},
        {"start": np.array([[-1, 2]])},
        {"start": np.array([[0, 0]])},
        {"start": np.array([[0, 2]] * 3)},
        {"arm": np.array([0, 20])},
        {"arm": np.array([0, -1])},
        {"arm": np.array([0.0, 1.0])},
        {"arm": np.array([[0, 1]])},
        {"chance": np.ones(3)},
        {"chance": np.array([1.0, math.nan])},
        {"chance": np.array([1.0, 1.5])},
        {"chance": np.array([1, 1])},
    ],
)
def test_invalid_rows_are_rejected(change: dict[str, np.ndarray]) -> None:
    posterior = BetaBernoulli.of(20)
    rows = {"start": np.array([[0, 2]]), "arm": np.array([0, 1]), "chance": np.ones(2)} | change
    with refuses(InputError):
        posterior.information(posterior.init(trials=2), **rows)


def test_weighted_share_adds_successes_and_failures() -> None:
    """(a, b) += (w y, w (1 - y)), also for repeated arms; without weights as before."""
    posterior = BetaBernoulli([1.0, 2.0], [3.0, 1.0])
    trial, arm = np.array([0, 1, 1]), np.array([0, 1, 1])
    reward, weight = np.array([0.25, 0.5, 1.0]), np.array([8.0, 3.0, 0.5])
    state = posterior.update(posterior.init(2), Observations(trial, arm, reward, weight))
    assert state["a"].tolist() == [[3.0, 2.0], [1.0, 4.0]]
    assert state["b"].tolist() == [[9.0, 1.0], [3.0, 2.5]]
    ones = posterior.update(posterior.init(2), Observations(trial, arm, reward, np.ones(3)))
    plain = posterior.update(posterior.init(2), Observations(trial, arm, reward))
    for name in ("a", "b"):
        np.testing.assert_array_equal(ones[name], plain[name])


@each(
    ("trial", "arm", "reward", "weight"),
    [
        ([0], [0], [1.5], [2.0]),
        ([0], [0], [-0.5], [2.0]),
        ([0], [0], [np.nan], [2.0]),
        ([0], [2], [0.5], [2.0]),
        ([-1], [0], [0.5], [2.0]),
        ([0], [0], [0.5], [0.0]),
        ([0], [0], [0.5], [2.0, 1.0]),
    ],
)
def test_invalid_weighted_observations_are_refused(
    trial: list[int], arm: list[int], reward: list[float], weight: list[float]
) -> None:
    posterior = BetaBernoulli.of(2)
    state = posterior.init(1)
    seen = Observations(np.array(trial), np.array(arm), np.array(reward), np.array(weight))
    with refuses(InputError):
        posterior.update(state, seen)
    for name, array in posterior.init(1).items():  # unchanged
        np.testing.assert_array_equal(state[name], array)


def test_selected_observations_keep_their_weights() -> None:
    seen = Observations(np.arange(3), np.arange(3), np.arange(3.0), np.array([1.0, 2.0, 3.0]))
    chosen = seen.select(np.array([True, False, True]))
    assert chosen.weight is not None
    assert chosen.weight.tolist() == [1.0, 3.0]
    assert chosen.reward.tolist() == [0.0, 2.0]
    plain = Observations(seen.trial, seen.arm, seen.reward)
    assert plain.select(np.ones(3, bool)).weight is None
