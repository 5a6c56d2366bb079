"""Checks of posteriors by Bayes' rule and sums over grids, from the densities alone."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphbandits._types import Floats, State
from graphbandits.errors import GraphBanditsError
from graphbandits.posteriors import (
    Beliefs,
    Observations,
    Ordered,
    Posterior,
    StateChecked,
    Support,
    discounted,
    is_discounted,
)
from graphbandits.posteriors.base import has_variance, predict, reward_support
from graphbandits.rng import Keys, Stream
from graphbandits.testing.contract import (
    ContractViolation,
    check,
    check_created_by_text,
    check_form,
)
from graphbandits.testing.scenarios import LEVEL, check_state, row_text, same_bits

#: Cells of a grid of means: fixed ones, and ones that follow the densities.
FIXED, MOVING = 1200, 2800
#: The same for a grid of rewards.
FIXED_REWARDS, MOVING_REWARDS = 90, 180
#: Rewards that are summed singly, if there are not more.
MOST_COUNTS = 3000
#: Draws that locate the means and the rewards.
GRID_DRAWS = 400
#: Range of the axis of an unbounded grid in units of the scale: sinh(19) = 9e7, exp(-35) = 6e-16.
REACH, LEAST = 19.0, 35.0


@dataclass(frozen=True)
class Cells:
    """Cells of a grid: the point ``middle`` and the ``width`` of each, and the ``edges``."""

    edges: Floats
    middle: Floats
    width: Floats

    @classmethod
    def between(cls, edges: Floats) -> Cells:
        """Create cells with the middle of each interval as its point."""
        return cls(edges, (edges[1:] + edges[:-1]) / 2.0, np.diff(edges))

    def halved(self) -> Cells:
        """Return halves of the cells, with the two points of Gauss's rule in each cell."""
        edges = np.sort(np.concatenate([self.edges, self.middle]))
        step = self.width / np.sqrt(12.0)
        points = np.stack([self.middle - step, self.middle + step], axis=1).ravel()
        return Cells(edges, points, np.repeat(self.width / 2.0, 2))


@dataclass(frozen=True, eq=False)
class ModelGrid:
    """The posterior of one trial on a grid of means.

    ``mass`` is the probability of each cell for each arm, (K, cells); ``total`` the integral of
    each density; ``scale`` the distance between the quantiles 0.05 and 0.95 of all arms together.
    """

    posterior: Posterior
    state: State
    cells: Cells
    mass: Floats
    total: Floats
    scale: float

    @classmethod
    def of(cls, posterior: Posterior, state: State, trial: int = 0) -> ModelGrid:
        """Create a grid that is fine where the densities of the trial are large.

        The axis is stretched: with an infinite support it reaches 10^8 scales from the centre, so
        that heavy tails are inside. Cells are then added where the densities and their cube roots
        are large, which resolves arms of different location and width.
        """
        one = {name: value[trial : trial + 1] for name, value in state.items()}

        def log_rows(theta: Floats) -> Floats:
            found = np.asarray(posterior.log_density(one, theta), np.float64)
            shape = (1, posterior.arms, len(theta))
            if found.shape != shape:
                raise ContractViolation(
                    f"log_density returned the shape {found.shape} for {len(theta)} points; "
                    f"return {shape}: trials, arms, points"
                )
            first: Floats = found[0]
            _check_numbers(first, theta, "log_density")
            return first

        many = {name: np.repeat(value, GRID_DRAWS, axis=0) for name, value in one.items()}
        draws = posterior.sample(many, Stream(Keys(43, 0, GRID_DRAWS), 0, "testing/grid"))
        low, high = posterior.support
        axis = _near(listed_rewards(posterior), _axis(low, high, draws, FIXED))
        cells = _refined(axis, log_rows, MOVING, np.asarray)
        log_mass = log_rows(cells.middle) + np.log(cells.width)
        mass = _normalised(log_mass)
        below = np.cumsum(mass.mean(axis=0))
        ends = cells.middle[np.minimum(np.searchsorted(below, (0.05, 0.95)), len(below) - 1)]
        total = np.exp(log_mass).sum(axis=1)
        return cls(posterior, one, cells, mass, total, float(ends[1] - ends[0]))

    @property
    def theta(self) -> Floats:
        return self.cells.middle

    def mean(self) -> Floats:
        return self.mass @ self.theta

    def below(self, theta: Floats) -> Floats:
        """Return the probability below ``theta`` (n, K) of each arm, (n, K)."""
        cumulative = np.cumsum(np.pad(self.mass, ((0, 0), (1, 0))), axis=1)
        columns = [
            np.interp(theta[:, i], self.cells.edges, cumulative[i]) for i in range(len(self.mass))
        ]
        return np.stack(columns, axis=1)

    def likelihood(self, reward: float) -> Floats:
        """Return the probability (density) of a reward of each arm given each mean, (K, cells)."""
        return _likelihood(self.posterior, self.state, reward, self.theta)

    def rewards(self) -> Cells:
        """Return a grid of the rewards; the width of a reward that is counted singly is 1."""
        listed = listed_rewards(self.posterior)
        if listed is not None:
            return Cells(listed, listed, np.ones(len(listed)))
        support = reward_support(self.posterior)
        draws = reward_draws(self.posterior, self.state, GRID_DRAWS)
        theta, weight = self._few()

        def log_rows(rewards: Floats) -> Floats:
            found = [_likelihood(self.posterior, self.state, y, theta) for y in rewards.tolist()]
            chance = np.stack([(weight * one).sum(axis=1) for one in found], axis=1)
            return np.asarray(np.log(chance + 1e-300))

        if support.integer:
            return _counts(draws, log_rows)
        axis = _axis(support.low, support.high, draws, FIXED_REWARDS)
        return _refined(axis, log_rows, MOVING_REWARDS, np.asarray).halved()

    def _few(self) -> tuple[Floats, Floats]:
        """Return at most 400 means and their weights for each arm, half of them for the tails."""
        width = self.cells.width
        root = np.cbrt(self.mass / width) * width
        share = (self.mass + root / root.sum(axis=1, keepdims=True)).mean(axis=0) / 2.0
        group = np.minimum((np.cumsum(share) * 400).astype(np.int64), 399)
        rows = [np.bincount(group, row, 400) for row in self.mass]
        weight = np.stack(rows).astype(np.float64)
        theta = np.bincount(group, share * self.theta, 400)
        total = np.bincount(group, share, 400)
        used = total > 0.0
        return theta[used] / total[used], weight[:, used]

    def predictive(self, rewards: Cells) -> Floats:
        """Return the probability of each cell of rewards for each arm, (K, cells)."""
        return self._summed(self.mass[:, None], rewards)[:, 0] * rewards.width

    def _summed(self, weight: Floats, rewards: Cells) -> Floats:
        """Sum weights (K, rows, cells) times likelihoods of rewards, (K, rows, rewards)."""
        parts = []
        for first in range(0, len(rewards.middle), 64):  # to limit the memory
            some = rewards.middle[first : first + 64].tolist()
            parts.append(weight @ np.stack([self.likelihood(y) for y in some], axis=2))
        return np.concatenate(parts, axis=2)

    def statistics(self) -> dict[str, Floats]:
        """Compute alpha, Delta, rho, v and h by their definitions.

        Half of the mass of a cell counts as below its point.
        """
        mass, theta = self.mass, self.theta
        below = np.cumsum(mass, axis=1) - mass / 2.0
        arms = len(mass)
        joint = np.empty((arms, arms, len(theta)))  # (i, j): theta_i, and j is best
        for i in range(arms):
            for j in range(arms):
                others = np.prod(np.delete(below, [i, j], axis=0), axis=0)
                at = mass[j] * others
                above = np.cumsum(at[::-1])[::-1] - at / 2.0
                joint[i, j] = at if i == j else mass[i] * above
        alpha = np.einsum("jjp->j", joint)
        mean = self.mean()
        # relative to a mean: alpha adds up to 1 only up to the error of the grid
        gap = theta - mean[0]
        rise = np.einsum("jjp,p->", joint, gap)
        possible = np.maximum(alpha, 1e-200)
        given = np.where(alpha > 1e-200, joint @ gap / possible, 0.0) - (mean - mean[0])[:, None]
        expected = {
            "alpha": alpha,
            "delta": rise - (mean - mean[0]),
            "rho": np.asarray(mean[0] + rise),
            "v": (given**2) @ alpha,
        }
        rewards = self.rewards()
        both = self._summed(joint, rewards)  # P(j is best, reward y of i) in (i, j, y)
        chance = both.sum(axis=1, keepdims=True) * alpha[:, None]
        known = (both > 0.0) & (chance > 0.0)
        ratio = np.divide(both, chance, out=np.ones_like(both), where=known)
        h = (both * np.log(ratio)).sum(axis=1) @ rewards.width
        return expected | {"h": h}


def listed_rewards(posterior: Posterior) -> Floats | None:
    """Return all outcomes of the model if they are listed, else None."""
    listed = posterior.outcomes
    if listed is None:
        listed = reward_support(posterior).listed
    return None if listed is None else np.array(listed, np.float64)


def reward_draws(posterior: Posterior, state: State, count: int, t: int = 1) -> Floats:
    """Draw ``count`` rewards of each arm in the first trial of a state, (count, K).

    They come from ``predict``, or from ``sample`` and ``draw_reward``.
    """
    many = {name: np.repeat(value[:1], count, axis=0) for name, value in state.items()}
    return predict(posterior, many, Stream(Keys(45, 0, count), t, "testing/reward"))


def log_likelihood(posterior: Posterior, state: State, reward: float, theta: Floats) -> Floats:
    """Return the log likelihood of a reward of each arm in the first trial, (K, points).

    It is that of ``log_conditional`` for a family with other unknown parameters than the mean.
    """
    able: Any = posterior
    shape = (posterior.arms, len(theta))
    if hasattr(posterior, "log_conditional"):
        name, found = "log_conditional", np.asarray(able.log_conditional(state, reward, theta))
        expected: tuple[int, ...] = (1, *shape)
        wrong = found.shape != expected
        found = found[0] if not wrong else found
    else:
        name, found = "log_likelihood", np.asarray(posterior.log_likelihood(reward, theta))
        expected = shape[1:]
        wrong = found.shape not in (shape, expected)
    if wrong:
        raise ContractViolation(
            f"{name} returned the shape {found.shape} for {len(theta)} means; return {expected}"
        )
    _check_numbers(found, theta, f"{name} of the reward {reward:g}")
    return np.broadcast_to(found, shape)


def _likelihood(posterior: Posterior, state: State, reward: float, theta: Floats) -> Floats:
    return np.asarray(np.exp(log_likelihood(posterior, state, reward, theta)))


def _check_numbers(values: Floats, theta: Floats, what: str) -> None:
    wrong = np.isnan(values) | (values == np.inf)
    if wrong.any():
        at = theta[int(np.argwhere(wrong)[0, -1])]
        raise ContractViolation(f"{what} is {values[wrong][0]:g} for the mean {at:.6g}")


def _axis(low: float, high: float, draws: Floats, count: int) -> Floats:
    """Return edges of cells from ``low`` to ``high``, or to 10^8 scales of the draws."""
    if np.isfinite([low, high]).all():
        angle = np.sin(np.linspace(0.0, np.pi / 2, count // 2 + 1)) ** 2  # denser at the ends
        tail = np.exp(np.linspace(-LEAST, -1.0, count // 4))
        return np.unique(low + (high - low) * np.concatenate([angle, tail, 1.0 - tail]))
    found = draws[np.isfinite(draws)]
    if not found.size:
        raise ContractViolation("no draw is a finite number")
    first, centre, last = np.quantile(found, (0.25, 0.5, 0.75))
    scale = last - first or np.abs(found).max() or 1.0
    if np.isfinite(low):
        spread = (centre - low) or scale
        return np.append(low, low + spread * np.exp(np.linspace(-LEAST, REACH, count)))
    if np.isfinite(high):
        spread = (high - centre) or scale
        return np.append(high - spread * np.exp(np.linspace(REACH, -LEAST, count)), high)
    return np.asarray(centre + scale * np.sinh(np.linspace(-REACH, REACH, count + 1)))


def _near(points: Floats | None, axis: Floats) -> Floats:
    """Add edges near points inside an axis, because densities can be infinite at listed rewards."""
    if points is None:
        return axis
    inside = points[(points > axis[0]) & (points < axis[-1])]
    step = (axis[-1] - axis[0]) * np.exp(np.linspace(-LEAST, -4.0, 60))
    added = (inside[:, None] + np.concatenate([-step, [0.0], step])).ravel()
    return np.union1d(axis, added[(added > axis[0]) & (added < axis[-1])])


def _refined(
    axis: Floats,
    log_rows: Callable[[Floats], Floats],
    moving: int,
    place: Callable[[Floats], Floats],
) -> Cells:
    """Add ``moving`` edges to an axis where the densities, or their cube roots, are large.

    The error of a cell is least in sum if the cells have equal parts of the cube root. A density
    that is narrower than a cell is found by repetition. ``place`` maps edges to allowed edges.
    """
    cells = Cells.between(axis)
    for _ in range(4):
        log_density = log_rows(cells.middle)
        size = np.log(cells.width)
        monitor = _normalised(log_density + size) + _normalised(log_density / 3.0 + size)
        padded = np.pad(monitor, ((0, 0), (1, 1)))
        near = np.maximum(padded[:, 1:-1], np.maximum(padded[:, :-2], padded[:, 2:]))
        share = (near / near.sum(axis=1, keepdims=True)).mean(axis=0)
        cumulative = np.append(0.0, np.cumsum(share))
        added = np.interp(np.linspace(0.0, cumulative[-1], moving + 1), cumulative, cells.edges)
        cells = Cells.between(np.unique(place(np.concatenate([axis, added]))))
    return cells


def _counts(draws: Floats, log_rows: Callable[[Floats], Floats]) -> Cells:
    """Return the counts 0, 1, ... up to a tail below 1e-10, in groups if there are many."""
    last = float(max(draws.max(), 8.0)) * 2.0
    while (log_rows(np.array([np.rint(last)])) + np.log(last)).max() > np.log(1e-10):
        last *= 1.5
        if last > 1e12:
            raise ContractViolation("the probability of a count of 1e12 is above 1e-22")
    if last <= MOST_COUNTS:
        count = np.arange(np.rint(last) + 1.0)
        return Cells(count, count, np.ones(len(count)))
    axis = np.unique(np.rint(np.append(0.0, np.geomspace(1.0, last, FIXED_REWARDS)))) - 0.5
    cells = _refined(axis, lambda y: log_rows(np.floor(y)), 12 * MOVING_REWARDS, _half_integers)
    return Cells(cells.edges, np.floor(cells.middle), cells.width)


def _half_integers(edges: Floats) -> Floats:
    return np.asarray(np.rint(edges - 0.5) + 0.5)


def _normalised(log_weight: Floats) -> Floats:
    weight = np.exp(log_weight - log_weight.max(axis=-1, keepdims=True))
    shares: Floats = weight / weight.sum(axis=-1, keepdims=True)
    return shares


def outside(support: Support) -> list[float]:
    numbers = [float("nan"), float("inf"), float("-inf"), -1.0, 0.5, 1.5]
    if support.listed is not None or support.bounded:
        step = (support.high - support.low) or 1.0
        numbers += [support.low - step / 2.0, support.high + step / 2.0]
    inside: NDArray[np.bool_] = support.contains(np.array(numbers))
    return [x for x, is_reward in zip(numbers, inside.tolist(), strict=True) if not is_reward]


#: Members of a posterior. ``predict`` and ``log_conditional`` replace the last two.
MEMBERS = (
    *("arms", "support", "outcomes", "init", "update", "beliefs", "mean", "quantile", "sample"),
    *("log_density", "check_reward", "draw_reward", "log_likelihood"),
)
REPLACED_BY = {"draw_reward": "predict", "log_likelihood": "log_conditional"}
#: Number of draws of the checks of random draws.
DRAWS = 4000
#: Tolerance of the statistics, in units of the scale of the means.
TOLERANCE = 1e-4


@check("posterior", "form")
def form(posterior: Posterior) -> None:
    """The class is documented and registered; its state is named arrays, one row per trial.

    It has all members of a posterior. The name with a number of arms creates a posterior.
    """
    check_form("posterior", posterior)
    missing = [
        name
        for name in MEMBERS
        if not hasattr(posterior, name) and not hasattr(posterior, REPLACED_BY.get(name, name))
    ]
    if missing:
        raise ContractViolation(f"it lacks {', '.join(missing)}: a posterior needs these members")
    check_created_by_text("posterior", posterior)
    for trials in (3, 2):
        check_state(posterior.init(trials), trials)
    state, _ = _some_history(posterior)
    check_state(state, 2)


@check("posterior", "bayes")
def bayes(posterior: Posterior) -> None:
    """update agrees with Bayes' rule on a grid: prior times likelihoods, normalised.

    The density integrates to 1. With ``log_conditional``, the likelihood of a reward is that given
    the state before it.
    """
    after, history = _some_history(posterior)
    for trial in range(2):
        grid = ModelGrid.of(posterior, after, trial)
        state = posterior.init(1)
        expected = posterior.log_density(state, grid.theta)[0]
        for one, arm, reward in _one_by_one(history, trial):
            expected[arm] += log_likelihood(posterior, state, reward, grid.theta)[arm]
            state = posterior.update(state, one)
        off = _off_grid(grid, expected)
        if not (off <= 1e-9).all():
            raise ContractViolation(
                f"after {len(history)} rounds the density of arm {off.argmax()} in trial {trial} "
                f"differs from Bayes' rule (prior times likelihoods) by {off.max():.2g} at a point"
            )
        for total in (grid.total, ModelGrid.of(posterior, posterior.init(1)).total):
            worst = np.abs(total - 1.0).argmax()
            if not abs(total[worst] - 1.0) <= 10.0 * TOLERANCE:
                raise ContractViolation(
                    f"the density of arm {worst} integrates to {total[worst]:.6g}: log_density "
                    "must be normalised"
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
        both = _results(posterior, together)
        for what, one in _results(posterior, alone).items():
            if not same_bits(one[0], both[what][trial]):
                raise ContractViolation(f"{what} of a trial depends on the other trials")


def _results(posterior: Posterior, state: State) -> dict[str, Floats]:
    """Return the state and its statistics, with names for messages."""
    found = posterior.beliefs(state)
    return {
        **{f"state['{name}']": np.asarray(value) for name, value in state.items()},
        **{name: getattr(found, name) for name in ("alpha", "delta", "h", "rho")},
        "the mean": posterior.mean(state),
        "the quantile": posterior.quantile(state, 0.5),
    }


@check("posterior", "beliefs")
def beliefs(posterior: Posterior) -> None:
    """alpha, Delta, h and rho agree with sums over a grid of the densities.

    The same holds for v, if ``beliefs`` has the argument ``variance``. If it has the argument
    ``information``, False changes h only.
    """
    able: Any = posterior
    arguments = inspect.signature(posterior.beliefs).parameters
    for state, trial, grid in _grids(posterior):
        found = able.beliefs(state, **({"variance": True} if has_variance(posterior) else {}))
        expected = grid.statistics()
        if not has_variance(posterior):
            del expected["v"]
        _compare_beliefs(found, expected, trial, grid.scale, "")
        if "information" in arguments:
            found = able.beliefs(state, information=False)
            del expected["h"]
            expected.pop("v", None)
            _compare_beliefs(found, expected, trial, grid.scale, " with information=False")


def _compare_beliefs(
    found: Beliefs, expected: dict[str, Floats], trial: int, scale: float, how: str
) -> None:
    units = {"delta": scale, "rho": scale, "v": scale**2}
    for name, value in expected.items():
        mine = np.asarray(getattr(found, name)[trial])
        off = np.abs(mine - value).max() / units.get(name, 1.0)
        if not off <= TOLERANCE:
            raise ContractViolation(
                f"{name}{how} is {row_text(mine)}, but sums over a grid of the density give "
                f"{row_text(value)}"
            )


@check("posterior", "mean")
def mean(posterior: Posterior) -> None:
    """mean agrees with a sum over a grid of the density."""
    for state, trial, grid in _grids(posterior):
        found = posterior.mean(state)[trial]
        off = np.abs(found - grid.mean()) / grid.scale
        if not (off <= TOLERANCE / 4.0).all():
            arm = int(off.argmax())
            raise ContractViolation(
                f"the mean of arm {arm} is {found[arm]:.6g}, but a sum over a grid of the density "
                f"gives {grid.mean()[arm]:.6g}"
            )


@check("posterior", "quantile")
def quantile(posterior: Posterior) -> None:
    """quantile agrees with a sum over a grid of the density.

    The levels 0 and 1 give the ends of the support; levels outside [0, 1] raise InputError.
    """
    for state, trial, grid in _grids(posterior):
        for level in (0.001, 0.25, 0.5, 0.9, 0.999):
            found = posterior.quantile(state, level)[trial]
            share = grid.below(found[None])[0]
            off = np.abs(share - level)
            if not (off <= TOLERANCE).all():
                arm = int(off.argmax())
                raise ContractViolation(
                    f"the quantile {level:g} of arm {arm} is {found[arm]:.6g}, but by a sum over a "
                    f"grid {share[arm]:.6g} of the density lies below it"
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
    """Samples have the distribution of the density, and are reproducible.

    ``sample_order``, if it exists, has the order of the samples.
    """
    count = DRAWS
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
    # the probability below a draw is uniform; unlike the draws it has all moments
    rank = ModelGrid.of(posterior, one).below(draws) - 0.5
    off_mean = np.abs(rank.mean(axis=0)) / np.sqrt(1.0 / 12.0 / count)
    off_spread = np.abs((rank**2).mean(axis=0) - 1.0 / 12.0) / np.sqrt(1.0 / 180.0 / count)
    if not (off_mean < 6.0).all() or not (off_spread < 6.0).all():
        raise ContractViolation(
            f"over {count} draws the mean differs from the posterior by {off_mean.max():.1f} "
            f"standard errors and the variance by {off_spread.max():.1f} (of the probability "
            "below a draw)"
        )
    together = np.abs(np.triu(rank.T @ rank, 1)) * 12.0 / np.sqrt(count)
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


@check("posterior", "rewards")
def rewards(posterior: Posterior) -> None:
    """Drawn rewards have the distribution of the likelihood: with sum 1 and mean theta.

    Draws are those of ``predict``, or those of ``sample`` and ``draw_reward``. They are in the
    declared rewards.
    """
    support = reward_support(posterior)
    listed = listed_rewards(posterior)
    if listed is not None and not support.contains(listed).all():
        raise ContractViolation(
            f"the outcome {listed[~support.contains(listed)][0]:g} is not one of its rewards, "
            f"{support}"
        )
    for state in (posterior.init(1), _some_history(posterior)[0]):
        draws = reward_draws(posterior, state, DRAWS)
        inside = support.contains(draws)
        if draws.shape != (DRAWS, posterior.arms) or not inside.all():
            what = f"{draws[~inside][0]:g}" if not inside.all() else f"an array {draws.shape}"
            raise ContractViolation(f"it drew the reward {what}, but its rewards are {support}")
        if not same_bits(draws, reward_draws(posterior, state, DRAWS)) or same_bits(
            draws, reward_draws(posterior, state, DRAWS, t=2)
        ):
            raise ContractViolation(
                "rewards are not a function of the given random numbers: use these only"
            )
        grid = ModelGrid.of(posterior, state)
        cells = grid.rewards()
        chance = grid.predictive(cells)
        total = chance.sum(axis=1)
        average = chance @ cells.middle / total
        arm = int(np.abs(total - 1.0).argmax())
        if not np.abs(total - 1.0).max() <= TOLERANCE:
            raise ContractViolation(
                f"the probabilities of the rewards of arm {arm} add up to {total[arm]:.6g}, not 1"
            )
        spread = np.sqrt((chance * (cells.middle - average[:, None]) ** 2).sum(axis=1))
        off = np.abs(average - grid.mean()) / (grid.scale + spread)
        if not (off <= 10.0 * TOLERANCE).all():
            arm = int(off.argmax())
            raise ContractViolation(
                f"the mean reward of arm {arm} is {average[arm]:.6g}, but the mean of its "
                f"posterior {grid.mean()[arm]:.6g}: theta is the mean of the rewards"
            )
        if listed is not None and not np.isin(draws, listed).all():
            continue  # rewards between the outcomes of the model
        most = np.sqrt(LEVEL / (2.0 * DRAWS)) + TOLERANCE  # Dvoretzky, Kiefer and Wolfowitz
        singly = len(cells.edges) == len(cells.middle)
        side: Any = "right" if singly else "left"
        ordered = np.sort(draws, axis=0).T
        share = np.stack([np.searchsorted(row, cells.middle, side) for row in ordered]) / DRAWS
        half = 0.0 if singly else 0.5
        off = np.abs(np.cumsum(chance, axis=1) - half * chance - share).max(axis=1)
        if not (off <= most + half * chance.max()).all():
            raise ContractViolation(
                f"the rewards drawn for arm {off.argmax()} do not have the distribution of the "
                f"likelihood: over {DRAWS} draws a probability differs by {off.max():.2g}"
            )


@check("posterior", "weights")
def weights(posterior: Posterior) -> None:
    """An observation of weight w is the average of w observations, if weights are supported."""
    if not getattr(posterior, "weighted", False):
        return
    row = np.zeros(3, np.int64)
    for arm in range(posterior.arms):
        draws = reward_draws(posterior, posterior.init(1), 3)[:, arm]
        singly = posterior.update(posterior.init(1), Observations(row, row + arm, draws))
        mean, weight = np.array([draws.mean()]), np.array([3.0])
        one = Observations(row[:1], row[:1] + arm, mean, weight)
        once = posterior.update(posterior.init(1), one)
        off = _distance(posterior, singly, once)
        if not off <= 1e-9:
            raise ContractViolation(
                f"an observation of weight 3 differs from three observations with the same "
                f"average by {off:.2g} at a point of the density"
            )


@check("posterior", "discount")
def discount(posterior: Posterior) -> None:
    """A discounted posterior counts observations by their age, and moves towards its prior.

    After the age at which an observation counts half, two equal ones are one. The order of arrival
    and the number of updates do not matter. If rewards depend on the mean alone, the density is
    proportional to f^g f_0^(1 - g), g the factor of the elapsed time.
    """
    if not is_discounted(posterior):
        return
    able: Any = posterior
    half = able.half_life or np.log(0.5) / np.log(able.discount)
    arm, when = np.arange(posterior.arms), 5.0
    one, two = reward_draws(posterior, posterior.init(1), 2)

    def after(*history: tuple[Floats, float]) -> State:
        """Return the state after rewards of all arms at some times, in an update each."""
        state = posterior.init(1)
        for reward, time in history:
            seen = Observations(0 * arm, arm, reward, time=np.full(len(arm), time))
            state = posterior.update(state, seen)
        return state

    both = Observations(
        np.zeros(2 * len(arm), np.int64),
        np.tile(arm, 2),
        np.concatenate([one, two]),
        time=np.full(2 * len(arm), when),
    )
    twice = after((one, when), (one, when))
    before = {name: value.copy() for name, value in twice.items()}
    halved = discounted(posterior, twice, when + half)
    if not all(same_bits(value, before[name]) for name, value in twice.items()):
        raise ContractViolation("discounted modified the state: return a new one")
    pairs = {
        "two updates of the same time differ from one update": (
            after((one, when), (two, when)),
            posterior.update(posterior.init(1), both),
        ),
        "two equal observations that count half differ from one": (
            halved,
            after((one, when + half)),
        ),
        "an observation that arrives late differs from one that arrives in time": (
            after((two, when + half), (one, when)),
            after((one, when), (two, when + half)),
        ),
    }
    for what, (first, second) in pairs.items():
        off = _distance(posterior, first, second)
        if not off <= 1e-9:
            raise ContractViolation(f"{what}, by {off:.2g} at a point of the density")
    if hasattr(posterior, "log_conditional"):
        return
    state = after((one, when), (two, when))
    moved = discounted(posterior, state, when + 0.3 * half)
    grid, g = ModelGrid.of(posterior, moved), 0.5**0.3
    now, prior = (posterior.log_density(s, grid.theta)[0] for s in (state, posterior.init(1)))
    off = _off_grid(grid, g * now + (1.0 - g) * prior).max()
    if not off <= 1e-9:
        raise ContractViolation(
            f"the density differs from f^g f_0^(1 - g), normalised, by {off:.2g} at a point"
        )


def _distance(posterior: Posterior, one: State, other: State) -> float:
    """Return the largest difference of the densities of two states of one trial, on a grid."""
    grid = ModelGrid.of(posterior, one)
    return float(_off_grid(grid, posterior.log_density(other, grid.theta)[0]).max())


def _off_grid(grid: ModelGrid, log_density: Floats) -> Floats:
    """Return for each arm the largest difference of a density, normalised, from that of a grid."""
    mass = _normalised(log_density + np.log(grid.cells.width))
    off: Floats = np.abs(mass - grid.mass).max(axis=1)
    return off


@check("posterior", "evidence")
def evidence(posterior: Posterior) -> None:
    """log_evidence, if it exists, is the log marginal likelihood of the observations.

    It is compared between the prior and that of ``weaker``, for the same observations. Their
    marginal likelihoods follow from Bayes' rule: prior times likelihood, divided by the posterior.
    Discounted posteriors have none.
    """
    able: Any = posterior
    if not hasattr(posterior, "log_evidence") or not hasattr(posterior, "weaker"):
        return
    if is_discounted(posterior):
        return
    _, history = _some_history(posterior)
    priors: list[Any] = [posterior, able.weaker()]
    for trial in range(2):
        found, expected = [], []
        # a mean at which all densities are large, and which is no special value
        likely = posterior.quantile(_updated(posterior, history, trial), 0.45)[0]
        for prior in priors:
            state, total = prior.init(1), np.zeros(prior.arms)
            for one, arm, reward in _one_by_one(history, trial):
                theta = np.array([likely[arm]])
                before = prior.log_density(state, theta)[0, arm, 0]
                before += log_likelihood(prior, state, reward, theta)[arm, 0]
                state = prior.update(state, one)
                total[arm] += before - prior.log_density(state, theta)[0, arm, 0]
            found.append(np.asarray(prior.log_evidence(state))[0])
            expected.append(total)
        off = np.abs((found[0] - found[1]) - (expected[0] - expected[1]))
        if not off.max() <= 1e-6:
            arm = int(off.argmax())
            raise ContractViolation(
                f"log_evidence of arm {arm} differs from that of weaker() by "
                f"{(found[0] - found[1])[arm]:.6g}, but the log marginal likelihoods differ by "
                f"{(expected[0] - expected[1])[arm]:.6g}"
            )


@check("posterior", "refuses-rewards")
def refuses_rewards(posterior: Posterior) -> None:
    """check_reward raises InputError for anything that is not one of the rewards.

    Rewards of the model are accepted and returned as floats.
    """
    support = reward_support(posterior)
    for right in reward_draws(posterior, posterior.init(1), 20).ravel().tolist():
        taken = posterior.check_reward(right)
        if not isinstance(taken, float) or taken != right:
            raise ContractViolation(
                f"check_reward returned {taken!r} for {right!r}: return the reward as a float"
            )
    for wrong in (*outside(support), "1", None):
        if not _refuses(posterior.check_reward, wrong):
            raise ContractViolation(
                f"check_reward accepts {wrong!r}, but the rewards are {support}: raise InputError"
            )


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


def _grids(posterior: Posterior) -> Iterator[tuple[State, int, ModelGrid]]:
    """Yield the prior and a state after some rounds, with the number and the grid of a trial."""
    for state in (posterior.init(2), _some_history(posterior)[0]):
        for trial in range(2):
            yield state, trial, ModelGrid.of(posterior, state, trial)


def _refuses(call: Callable[..., object], *given: object) -> bool:
    try:
        call(*given)
    except GraphBanditsError:
        return True
    return False


def _some_history(posterior: Posterior) -> tuple[State, list[Observations]]:
    """Update two trials for eight rounds, with rewards drawn from the predictive distribution.

    Some arms are observed more often. In the last round one trial has no observation, and the other
    has two of the same arm.
    """
    keys, arms = Keys(41, 1, 2), posterior.arms
    state = posterior.init(2)
    history = []
    for t in range(1, 9):
        u = Stream(keys, t, "testing/history").uniform(arms)
        trial, arm = np.nonzero(u < np.linspace(0.9, 0.3, arms))
        if t == 8:
            trial, arm = np.array([1, 1]), np.array([arms - 1, arms - 1])
        reward = predict(posterior, state, Stream(keys, t, "testing/reward"))
        seen = Observations(trial, arm, np.asarray(reward, np.float64)[trial, arm])
        history.append(seen)
        state = posterior.update(state, seen)
    return state, history


def _one_by_one(history: list[Observations], trial: int) -> list[tuple[Observations, int, float]]:
    """Return the observations of a trial as blocks of one, with their arms and rewards."""
    first = np.zeros(1, np.int64)
    return [
        (
            Observations(first, seen.arm[k : k + 1], seen.reward[k : k + 1]),
            int(seen.arm[k]),
            float(seen.reward[k]),
        )
        for seen in history
        for k in np.flatnonzero(seen.trial == trial).tolist()
    ]


def _updated(posterior: Posterior, history: list[Observations], trial: int) -> State:
    state = posterior.init(1)
    for one, _, _ in _one_by_one(history, trial):
        state = posterior.update(state, one)
    return state
