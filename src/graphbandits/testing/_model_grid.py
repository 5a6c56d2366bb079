"""Statistics of a posterior by sums over grids of means and rewards, from its densities alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphbandits._types import Floats, State
from graphbandits.posteriors import Posterior, Support
from graphbandits.posteriors.support import reward_support
from graphbandits.rng import Keys, Stream
from graphbandits.testing.contract import ContractViolation

#: Cells of a grid of means: fixed ones, and ones that follow the densities.
FIXED, MOVING = 1200, 2800
#: The same for a grid of rewards.
FIXED_REWARDS, MOVING_REWARDS = 90, 180
#: Rewards that are summed singly, if there are not more.
MOST_COUNTS = 3000
#: Draws that locate the means and the rewards.
DRAWS = 400
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
            _check_numbers(found[0], theta, "log_density")
            return found[0]

        many = {name: np.repeat(value, DRAWS, axis=0) for name, value in one.items()}
        draws = posterior.sample(many, Stream(Keys(43, 0, DRAWS), 0, "testing/grid"))
        low, high = posterior.support
        cells = _refined(_axis(low, high, draws, FIXED), log_rows, MOVING, np.asarray)
        log_mass = log_rows(cells.middle) + np.log(cells.width)
        mass = _normalised(log_mass)
        below = np.cumsum(mass.mean(axis=0))
        ends = cells.middle[np.minimum(np.searchsorted(below, (0.05, 0.95)), len(below) - 1)]
        total = np.exp(log_mass).sum(axis=1)
        return cls(posterior, one, cells, mass, total, float(ends[1] - ends[0]))

    @property
    def theta(self) -> Floats:
        """The means, one per cell."""
        return self.cells.middle

    def mean(self) -> Floats:
        """Return the mean of each arm, (K,)."""
        found: Floats = self.mass @ self.theta
        return found

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
        draws = reward_draws(self.posterior, self.state, DRAWS)
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
        """Return at most 400 means and their weights for each arm, to locate the rewards.

        Half of them are for the tails.
        """
        width = self.cells.width
        root = np.cbrt(self.mass / width) * width
        share = (self.mass + root / root.sum(axis=1, keepdims=True)).mean(axis=0) / 2.0
        group = np.minimum((np.cumsum(share) * 400).astype(np.int64), 399)
        weight = np.stack([np.bincount(group, row, 400) for row in self.mass])
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
    return next_rewards(posterior, many, Keys(45, 0, count), t)


def next_rewards(posterior: Posterior, state: State, keys: Keys, t: int) -> Floats:
    """Draw a reward of each arm in each trial from the predictive distribution, (B, K)."""
    able: Any = posterior
    if hasattr(posterior, "predict"):
        return np.asarray(able.predict(state, Stream(keys, t, "testing/reward")), np.float64)
    theta = posterior.sample(state, Stream(keys, t, "testing/theta"))
    uniform = Stream(keys, t, "testing/reward").uniform(posterior.arms)
    return np.asarray(posterior.draw_reward(theta, uniform), np.float64)


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
    cells = _refined(axis, lambda y: log_rows(np.floor(y)), 8 * MOVING_REWARDS, _half_integers)
    return Cells(cells.edges, np.floor(cells.middle), cells.width)


def _half_integers(edges: Floats) -> Floats:
    return np.asarray(np.rint(edges - 0.5) + 0.5)


def _normalised(log_weight: Floats) -> Floats:
    weight = np.exp(log_weight - log_weight.max(axis=-1, keepdims=True))
    shares: Floats = weight / weight.sum(axis=-1, keepdims=True)
    return shares


def outside(support: Support) -> list[float]:
    """Return numbers that are not rewards of a support."""
    numbers = [float("nan"), float("inf"), float("-inf"), -1.0, 0.5, 1.5]
    if support.listed is not None or support.bounded:
        step = (support.high - support.low) or 1.0
        numbers += [support.low - step / 2.0, support.high + step / 2.0]
    inside: NDArray[np.bool_] = support.contains(np.array(numbers))
    return [x for x, is_reward in zip(numbers, inside.tolist(), strict=True) if not is_reward]
