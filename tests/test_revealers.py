"""G'pi, and the best arm that reveals another: in all representations, on directed graphs."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from graphbandits.errors import InputError
from graphbandits.graphs import Dense, Feedback, Sparse, Uniform
from graphbandits.graphs.feedback import best_revealers, matrices
from graphbandits.types import Floats


def probabilities(rng: np.random.Generator, *shape: int) -> Floats:
    """Directed, with zeros and ones among the entries, and ones on the diagonal."""
    matrix = np.clip(rng.random(shape) * 1.6 - 0.3, 0.0, 1.0)
    matrix[..., np.arange(shape[-1]), np.arange(shape[-1])] = 1.0
    return matrix


def zeros_and_ones(rng: np.random.Generator, *shape: int) -> Floats:
    return np.round(probabilities(rng, *shape))


def sparse_of(matrix: Floats) -> Sparse:
    source, target = np.nonzero(matrix)
    return Sparse.from_edges(len(matrix), source, target, matrix[source, target])


def uniform_matrices(r: Floats, arms: int) -> Floats:
    return np.where(np.eye(arms, dtype=bool), 1.0, np.asarray(r)[:, None, None])


def everything(rng: np.random.Generator, arms: int, trials: int) -> list[tuple[Feedback, Floats]]:
    """Each representation with the matrices (trials or 1, K, K) that it stands for."""
    shared, own = probabilities(rng, arms, arms), probabilities(rng, trials, arms, arms)
    rate, rates = rng.random(1), np.append(rng.random(trials - 1), 0.0)
    return [
        (Dense(shared), shared[None]),
        (Dense(own), own),
        (sparse_of(shared), shared[None]),
        (Uniform(rate, arms), uniform_matrices(rate, arms)),
        (Uniform(rates, arms), uniform_matrices(rates, arms)),
        (Uniform(1.0, arms), uniform_matrices(np.ones(1), arms)),
    ]


@pytest.mark.parametrize("arms", [1, 2, 3, 7, 20])
def test_observed_is_the_product_with_the_columns(arms: int) -> None:
    rng = np.random.default_rng(arms)
    trials = 4
    for _ in range(10):
        pi = rng.dirichlet(np.full(arms, 0.7), size=trials)
        for feedback, matrix in everything(rng, arms, trials):
            each = np.broadcast_to(matrix, (trials, arms, arms))
            kept = pi.copy()
            found = feedback.observed(pi)
            assert found == pytest.approx(np.einsum("bi,bij->bj", pi, each), abs=1e-14)
            assert (pi == kept).all()
            assert found.shape == (trials, arms)


def test_observed_is_exact_on_small_fractions() -> None:
    """Multiples of 1/64 round nowhere, so the sum is that of rational numbers."""
    rng = np.random.default_rng(3)
    for arms in (1, 2, 5):
        matrix = rng.integers(0, 65, (arms, arms)) / 64.0
        np.fill_diagonal(matrix, 1.0)
        pi = rng.integers(0, 65, (3, arms)) / 64.0
        want = [
            [
                sum(Fraction(row[i]) * Fraction(matrix[i, j]) for i in range(arms))
                for j in range(arms)
            ]
            for row in pi
        ]
        for feedback in (Dense(matrix), sparse_of(matrix)):
            assert feedback.observed(pi).tolist() == [[float(x) for x in row] for row in want]


def test_observed_of_one_arm_is_its_row_and_gain_its_column() -> None:
    matrix = np.array([[1.0, 0.25, 0.0], [0.5, 1.0, 0.75], [0.0, 0.0, 1.0]])
    one = np.array([[0.0, 1.0, 0.0]])
    for feedback in (Dense(matrix), sparse_of(matrix)):
        assert feedback.observed(one).tolist() == [[0.5, 1.0, 0.75]]
        assert feedback.gain(one).tolist() == [[0.25, 1.0, 0.0]]


def test_observed_under_random_feedback_is_its_closed_form() -> None:
    """q_i = p_i + (1 - p_i) r."""
    pi = np.array([[0.5, 0.3, 0.2], [1.0, 0.0, 0.0]])
    found = Uniform(np.array([0.25, 0.0]), 3).observed(pi)
    assert found == pytest.approx(np.array([[0.625, 0.475, 0.4], [1.0, 0.0, 0.0]]), abs=1e-15)


@pytest.mark.parametrize("feedback", [Dense(np.eye(3)), Uniform(0.5, 3), sparse_of(np.eye(3))])
@pytest.mark.parametrize("shape", [(3,), (2, 4), (2, 3, 1)])
def test_observed_refuses_other_shapes(feedback: Feedback, shape: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match="3 columns"):
        feedback.observed(np.full(shape, 0.25))


# --- the best arm that reveals another -----------------------------------------------------------


def one_by_one(matrix: Floats, first: Floats, score: Floats) -> list[float]:
    """One trial: each arm's probability goes to the best arms whose column entry is 1."""
    arms = len(first)
    pi = [0.0] * arms
    for i in range(arms):
        who = [j for j in range(arms) if matrix[j, i] == 1.0]
        top = max(score[j] for j in who)
        best = [j for j in who if score[j] == top]
        for j in best:
            pi[j] += first[i] / len(best)
    return pi


@pytest.mark.parametrize("arms", [1, 2, 3, 5, 9])
def test_the_best_revealers_are_those_found_one_by_one(arms: int) -> None:
    """Scores of few values, so that ties are common; directed graphs, shared and not."""
    rng = np.random.default_rng(arms)
    trials = 4
    for values in (2, 3, 1000):
        for _ in range(20):
            first = rng.dirichlet(np.full(arms, 0.5), size=trials)
            first[0] = np.eye(arms)[rng.integers(arms)]
            score = rng.integers(0, values, (trials, arms)) / values
            shared, own = zeros_and_ones(rng, arms, arms), zeros_and_ones(rng, trials, arms, arms)
            rates = rng.integers(0, 2, trials).astype(np.float64)
            for feedback, matrix in [
                (Dense(shared), shared[None]),
                (Dense(own), own),
                (sparse_of(shared), shared[None]),
                (Uniform(rates, arms), uniform_matrices(rates, arms)),
                (Uniform(0.0, arms), np.eye(arms)[None]),
                (Uniform(1.0, arms), np.ones((1, arms, arms))),
            ]:
                each = np.broadcast_to(matrix, (trials, arms, arms))
                kept = first.copy(), score.copy()
                found = best_revealers(feedback, first, score)
                want = [one_by_one(each[b], first[b], score[b]) for b in range(trials)]
                assert found == pytest.approx(np.array(want), abs=1e-14)
                assert found.sum(axis=1) == pytest.approx(np.ones(trials), abs=1e-12)
                assert (first == kept[0]).all()
                assert (score == kept[1]).all()


def test_who_reveals_is_read_from_the_column() -> None:
    """0 -> 1 only: to see 1, play 0 or 1; to see 0, only 0 will do, however good 1 is."""
    matrix = np.array([[1.0, 1.0], [0.0, 1.0]])
    score = np.array([[0.2, 0.9]])
    for feedback in (Dense(matrix), sparse_of(matrix)):
        assert best_revealers(feedback, np.array([[1.0, 0.0]]), score).tolist() == [[1.0, 0.0]]
        assert best_revealers(feedback, np.array([[0.0, 1.0]]), score).tolist() == [[0.0, 1.0]]
        better = np.array([[0.95, 0.9]])
        assert best_revealers(feedback, np.array([[0.0, 1.0]]), better).tolist() == [[1.0, 0.0]]


def test_ties_are_shared_evenly_and_first_choices_add_up() -> None:
    matrix = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [1.0, 0.0, 1.0]])
    first, score = np.array([[0.25, 0.5, 0.25]]), np.array([[0.5, 0.5, 0.5]])
    want = [0.25 / 3 + 0.25, 0.25 / 3 + 0.25, 0.25 / 3 + 0.25]
    for feedback in (Dense(matrix), sparse_of(matrix)):
        assert best_revealers(feedback, first, score)[0] == pytest.approx(want, abs=1e-15)


def test_matrices_of_all_representations() -> None:
    rng = np.random.default_rng(8)
    for feedback, matrix in everything(rng, 4, 3):
        assert matrices(feedback, 3) == pytest.approx(matrix, abs=0.0)
