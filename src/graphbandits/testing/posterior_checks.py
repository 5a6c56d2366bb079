"""Checks of posteriors: comparison with Bayes' rule on a grid, from the densities alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from graphbandits._types import Floats, State
from graphbandits.errors import GraphBanditsError
from graphbandits.posteriors import Observations, Ordered, Posterior, StateChecked
from graphbandits.posteriors._capabilities import has_variance, variance_form
from graphbandits.rng import Keys, Stream
from graphbandits.testing.contract import ContractViolation, check, check_form
from graphbandits.testing.scenarios import check_state, same_bits

#: Number of points of the grid.
POINTS = 4000


@check("posterior", "form")
def form(posterior: Posterior) -> None:
    """The class is documented and registered; its state is named arrays, one row per trial."""
    check_form("posterior", posterior)
    check_state(posterior.init(3), 3)
    state, _ = _some_history(posterior)
    check_state(state, 2)


@check("posterior", "bayes")
def bayes(posterior: Posterior) -> None:
    """update agrees with Bayes' rule on a grid: prior times likelihoods, normalised."""
    theta, _ = _grid(posterior)
    state, history = _some_history(posterior)
    expected = posterior.log_density(posterior.init(2), theta)
    for seen in history:
        for trial, arm, reward in zip(seen.trial, seen.arm, seen.reward, strict=True):
            expected[trial, arm] += posterior.log_likelihood(float(reward), theta)
    found = posterior.log_density(state, theta)
    off = np.abs(_normalised(found) - _normalised(expected)).max(axis=2)
    if not (off <= 1e-9).all():
        trial, arm = np.unravel_index(np.argmax(off), off.shape)
        raise ContractViolation(
            f"after {len(history)} rounds the density of arm {arm} in trial {trial} differs from "
            f"Bayes' rule (prior times likelihoods) by {off.max():.2g} at a point"
        )


@check("posterior", "batch")
def batch_equals_one_by_one(posterior: Posterior) -> None:
    """Trials are independent: updates and statistics of a block equal those of single trials."""
    together, history = _some_history(posterior)
    for trial in range(2):
        alone = posterior.init(1)
        for seen in history:
            mine = seen.trial == trial
            some = Observations(np.zeros(mine.sum(), np.int64), seen.arm[mine], seen.reward[mine])
            alone = posterior.update(alone, some)
        for name, value in alone.items():
            if not same_bits(value[0], together[name][trial]):
                raise ContractViolation(f"state['{name}'] of a trial depends on the other trials")
        one, two = posterior.beliefs(alone), posterior.beliefs(together)
        for name in ("alpha", "delta", "h", "rho"):
            if not same_bits(getattr(one, name)[0], getattr(two, name)[trial]):
                raise ContractViolation(f"{name} of a trial depends on the other trials")
        if not same_bits(posterior.mean(alone)[0], posterior.mean(together)[trial]):
            raise ContractViolation("the mean of a trial depends on the other trials")
        medians = posterior.quantile(alone, 0.5)[0], posterior.quantile(together, 0.5)[trial]
        if not same_bits(*medians):
            raise ContractViolation("the quantile of a trial depends on the other trials")


@check("posterior", "beliefs")
def beliefs(posterior: Posterior) -> None:
    """alpha, Delta, h and rho agree with sums over a grid of the densities.

    The same holds for v, if ``beliefs`` has the argument ``variance``.
    """
    variance = has_variance(posterior)
    for state in (posterior.init(2), _some_history(posterior)[0]):
        found = variance_form(posterior, state)[0] if variance else posterior.beliefs(state)
        for trial in range(2):
            expected = _beliefs_on_a_grid(posterior, state, trial)
            for name, value in expected.items():
                if name == "v" and not variance:
                    continue
                off = np.abs(getattr(found, name)[trial] - value).max()
                if not off <= 1e-4:
                    raise ContractViolation(
                        f"{name} is {np.round(getattr(found, name)[trial], 5)}, but sums over a "
                        f"grid of the density give {np.round(value, 5)}"
                    )


@check("posterior", "mean")
def mean(posterior: Posterior) -> None:
    """mean agrees with a sum over a grid of the density."""
    theta, edges = _grid(posterior)
    for state in (posterior.init(2), _some_history(posterior)[0]):
        found = posterior.mean(state)
        expected = _masses(posterior, state) @ theta
        off = np.abs(found - expected) / (edges[-1] - edges[0])
        if not (off <= 1e-5).all():
            trial, arm = np.unravel_index(np.argmax(off), off.shape)
            raise ContractViolation(
                f"the mean of arm {arm} is {found[trial, arm]:.6g}, but a sum over a grid of the "
                f"density gives {expected[trial, arm]:.6g}"
            )


@check("posterior", "quantile")
def quantile(posterior: Posterior) -> None:
    """quantile agrees with a sum over a grid of the density.

    The levels 0 and 1 give the ends of the support; levels outside [0, 1] raise InputError.
    """
    _, edges = _grid(posterior)
    for state in (posterior.init(2), _some_history(posterior)[0]):
        below = np.cumsum(np.pad(_masses(posterior, state), ((0, 0), (0, 0), (1, 0))), axis=2)
        for level in (0.001, 0.25, 0.5, 0.9, 0.999):
            found = posterior.quantile(state, level)
            for trial, arm in np.ndindex(found.shape):
                share = np.interp(found[trial, arm], edges, below[trial, arm])
                if not abs(share - level) <= 1e-4:
                    raise ContractViolation(
                        f"the quantile {level:g} of arm {arm} is {found[trial, arm]:.6g}, but by a "
                        f"sum over a grid {share:.6g} of the density lies below it"
                    )
        for level, end in zip((0.0, 1.0), posterior.support, strict=True):
            if not (posterior.quantile(state, level) == end).all():
                raise ContractViolation(
                    f"the quantile {level:g} is not {end:g}, the end of the support"
                )
    for wrong in (-0.01, 1.01, float("nan")):
        if not _refuses(posterior.quantile, posterior.init(2), wrong):
            raise ContractViolation(
                f"quantile accepts the level {wrong:g}: raise InputError outside [0, 1]"
            )


@check("posterior", "sample")
def sample(posterior: Posterior) -> None:
    """Samples have the mean and variance of the density, and are reproducible.

    ``sample_order``, if it exists, has the order of the samples.
    """
    count = 4000
    state = {
        name: np.repeat(v[:1], count, axis=0) for name, v in _some_history(posterior)[0].items()
    }
    stream = Stream(Keys(42, 0, count), 3, "testing/sample")
    draws = posterior.sample(state, stream)
    one = {name: value[:1] for name, value in state.items()}
    if not same_bits(draws, posterior.sample(state, stream)):
        raise ContractViolation(
            "two calls of sample with the same stream differ: use only the stream for random draws"
        )
    if same_bits(draws, posterior.sample(state, replace(stream, t=4))):
        raise ContractViolation(
            "sample returns the same draws in another round: draw from the given stream"
        )
    if not same_bits(draws[7:8], posterior.sample(one, replace(stream, keys=Keys(42, 7, 1)))):
        raise ContractViolation(
            "the draws of a trial depend on the block: draw from the given stream"
        )
    theta, _ = _grid(posterior)
    weight = _masses(posterior, one)[0]
    mean = weight @ theta
    moments = [(weight * (theta - mean[:, None]) ** k).sum(axis=1) for k in (2, 4)]
    noise = np.sqrt((moments[1] - moments[0] ** 2) / count)
    off_mean = np.abs(draws.mean(axis=0) - mean) / np.sqrt(moments[0] / count)
    off_spread = np.abs(((draws - mean) ** 2).mean(axis=0) - moments[0]) / noise
    if not (off_mean < 6.0).all() or not (off_spread < 6.0).all():
        raise ContractViolation(
            f"over {count} draws the mean differs from the posterior by {off_mean.max():.1f} "
            f"standard errors and the variance by {off_spread.max():.1f}"
        )
    scaled = (draws - mean) / np.sqrt(moments[0])
    together = np.abs(np.triu(scaled.T @ scaled, 1)) / np.sqrt(count)
    if together.max() > 6.0:
        i, j = np.unravel_index(together.argmax(), together.shape)
        raise ContractViolation(
            f"the draws of arms {i} and {j} are correlated: use separate random numbers"
        )
    if isinstance(posterior, Ordered):
        order = np.argsort(posterior.sample_order(state, stream), axis=1)
        if (np.diff(np.take_along_axis(draws, order, axis=1), axis=1) < 0.0).any():
            raise ContractViolation(
                "sample_order has another order than the draws of sample: it must be the same"
            )


@check("posterior", "refuses-rewards")
def refuses_rewards(posterior: Posterior) -> None:
    """check_reward raises InputError for a reward that is not a number.

    Rewards of the model are accepted and returned as floats.
    """
    theta = posterior.sample(posterior.init(20), Stream(Keys(44, 0, 20), 0, "testing/theta"))
    u = Stream(Keys(44, 0, 20), 1, "testing/reward").uniform(posterior.arms)
    for right in posterior.draw_reward(theta, u).ravel().tolist():
        taken = posterior.check_reward(right)
        if not isinstance(taken, float) or taken != right:
            raise ContractViolation(
                f"check_reward returned {taken!r} for {right!r}: return the reward as a float"
            )
    for wrong in (float("nan"), "1", None):
        if not _refuses(posterior.check_reward, wrong):
            raise ContractViolation(f"check_reward accepts {wrong!r}: raise InputError")


@check("posterior", "refuses-states")
def refuses_states(posterior: Posterior) -> None:
    """check_state, if it exists, accepts valid states and rejects damaged ones.

    Damaged states have NaN, or one arm too few. Agents use it for states loaded from files.
    """
    if not isinstance(posterior, StateChecked):
        return
    for state in (posterior.init(2), _some_history(posterior)[0]):
        posterior.check_state(state)
        for name, array in state.items():
            if not isinstance(array, np.ndarray):  # reported by the check "form"
                continue
            damaged = {"one arm too few": array[..., :-1]} if array.ndim > 1 else {}
            if array.dtype.kind == "f":
                damaged["NaN"] = np.full_like(array, np.nan)
            for what, wrong in damaged.items():
                if not _refuses(posterior.check_state, state | {name: wrong}):
                    raise ContractViolation(
                        f"check_state accepts state['{name}'] with {what}: raise InputError unless "
                        "init and update can produce the arrays"
                    )


def _refuses(call: Callable[..., object], *given: object) -> bool:
    """Return whether a call raises an error of this package."""
    try:
        call(*given)
    except GraphBanditsError:
        return True
    return False


def _some_history(posterior: Posterior) -> tuple[State, list[Observations]]:
    """Update two trials for eight rounds, with rewards of means drawn from the prior.

    Some arms are observed more often. In the last round one trial has no observation, and the other
    has two of the same arm.
    """
    keys, arms = Keys(41, 1, 2), posterior.arms
    state = posterior.init(2)
    theta = posterior.sample(state, Stream(keys, 0, "testing/theta"))
    history = []
    for t in range(1, 9):
        u = Stream(keys, t, "testing/history").uniform(2 * arms)
        trial, arm = np.nonzero(u[:, :arms] < np.linspace(0.9, 0.3, arms))
        if t == 8:
            trial, arm = np.array([1, 1]), np.array([arms - 1, arms - 1])
        reward = posterior.draw_reward(theta[trial, arm], u[trial, arms + arm])
        seen = Observations(trial, arm, reward)
        history.append(seen)
        state = posterior.update(state, seen)
    return state, history


def _grid(posterior: Posterior) -> tuple[Floats, Floats]:
    """Return points and the edges between them, denser towards the ends of the support."""
    low, high = posterior.support
    if not np.isfinite([low, high]).all():
        draws = posterior.sample(posterior.init(500), Stream(Keys(43, 0, 500), 0, "testing/grid"))
        reach = draws.max() - draws.min()
        low, high = max(low, draws.min() - reach), min(high, draws.max() + reach)
    edges = low + (high - low) * np.sin(np.linspace(0.0, np.pi / 2, POINTS + 1)) ** 2
    middle = np.sin((np.arange(POINTS) + 0.5) * np.pi / 2 / POINTS) ** 2
    return low + (high - low) * middle, edges


def _masses(posterior: Posterior, state: State) -> Floats:
    """Return the probability of each cell of the grid for each arm, (B, K, points)."""
    theta, edges = _grid(posterior)
    return _normalised(posterior.log_density(state, theta) + np.log(np.diff(edges)))


def _normalised(log_weight: Floats) -> Floats:
    weight = np.exp(log_weight - log_weight.max(axis=-1, keepdims=True))
    shares: Floats = weight / weight.sum(axis=-1, keepdims=True)
    return shares


def _beliefs_on_a_grid(posterior: Posterior, state: State, trial: int) -> dict[str, Floats]:
    """Compute the statistics by their definitions, with theta on a grid.

    Half of the mass of a point counts as below it. h is omitted if rewards cannot be listed.
    """
    theta, _ = _grid(posterior)
    one = {name: value[trial : trial + 1] for name, value in state.items()}
    mass = _masses(posterior, one)[0]
    below = np.cumsum(mass, axis=1) - mass / 2.0
    arms = len(mass)
    best = np.stack([mass[j] * np.prod(np.delete(below, j, axis=0), axis=0) for j in range(arms)])
    alpha, rho = best.sum(axis=1), best.sum(axis=0) @ theta
    rewards = posterior.outcomes or ()
    likely = [np.exp(posterior.log_likelihood(reward, theta)) for reward in rewards]
    seen = np.stack([theta, *likely], axis=1)  # expectations: the mean, and each outcome
    unknown = mass @ seen
    h, v = np.zeros((2, arms))
    for i in range(arms):
        for j in range(arms):
            others = np.prod(np.delete(below, [i, j], axis=0), axis=0)
            at = mass[j] * others
            above = at.sum() - np.cumsum(at) + at / 2.0
            inside = best[j] if i == j else mass[i] * above  # theta_i if j is best
            given = inside @ seen / alpha[j]
            v[i] += alpha[j] * (given[0] - unknown[i, 0]) ** 2
            h[i] += alpha[j] * (given[1:] * np.log(given[1:] / unknown[i, 1:])).sum()
    expected = {"alpha": alpha, "delta": rho - unknown[:, 0], "rho": np.asarray(rho), "v": v}
    return expected | ({"h": h} if rewards else {})
