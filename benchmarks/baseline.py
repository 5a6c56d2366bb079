"""A yard-stick: Russo and Van Roy's Algorithm 2 on a grid, in batched NumPy.

The algorithm computes what information-directed sampling needs to know about independent
Beta-Bernoulli arms (the chance that each arm is the best, the expected regret of each arm, the
information each arm's outcome carries about which arm is best) with plain sums over a uniform
grid of 1000 points on [0, 1].  It is written here the way a careful NumPy programmer would write
it, for a batch of independent trials at once, and it is meant to be as fast as NumPy allows, so
that a speed quoted against it means something.  ``python benchmarks/baseline.py`` prints the CPU
time per decision for several block sizes and names the best of them on the machine at hand.

Where the time went, and what was done about it:

* ``numpy.cumsum`` takes about 4 ns per number, ten times as long as an addition.  The grid is
  therefore stored in lanes: lane k holds the points k, k + 10, k + 20, ..., so that a running sum
  is one short ``cumsum`` over the totals of ten consecutive points and ten whole-array additions.
* ``numpy.exp`` takes about 5 ns per number.  Bernoulli outcomes on a uniform prior leave whole
  numbers in a and b, so the densities are products of two rows of a table of powers of x and of
  1 - x (``powers=True``, the default).  Other values of a and b, a total count above 1000, or
  ``powers=False``, go through the cached log x and log(1 - x), one small matrix product and one
  ``exp``.
* All pairs of arms share one batched matrix product over the grid; two more rows of it, the
  constant 1 and x, give alpha and the diagonal of M.
* Every large array is reused from call to call, and large batches are cut into slabs that stay
  in the processor's cache.

Conventions.  The points are the midpoints (k + 1/2) / 1000, and F includes the point itself, so
results carry a discretisation error of about one part in a thousand; an expected regret that
comes out below zero for that reason is set to zero.  All arithmetic is in float64.  The scratch
arrays are shared: call this module from one thread at a time.
"""

import os

# One thread: process_time() adds up the time of all threads, and BLAS threads that wait for work
# spin, which would be charged to the baseline.  NumPy reads these when it is first imported.
os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["MKL_NUM_THREADS"] = "1"

import argparse
import math
import time
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

GRID = 1000
LANES = 10  # consecutive grid points that are summed by whole-array additions
SLAB = 128  # densities (trials times arms) handled at once: their arrays fit the cache
MAX_COUNT = 1000  # rows of the table of powers; (2 x)^1000 is still a float64
MAX_ARMS = 80  # the product of all F is at most about 1000^K
FLOOR = -600.0  # smallest log density, relative to the density at the mean
TINY = 1e-290  # guards divisions
EDGE = 1e-12  # guards logarithms
MIN_CPU = 1.0  # seconds of CPU to spend on every block size


@lru_cache(maxsize=4)
def _points(grid: int) -> Array:
    """The grid, shape (lanes, groups): entry (k, g) is point number g * lanes + k."""
    lanes = max(n for n in range(1, LANES + 1) if grid % n == 0)
    x = (np.arange(grid) + 0.5) / grid
    return np.ascontiguousarray(x.reshape(-1, lanes).T)


@lru_cache(maxsize=4)
def _logs(grid: int) -> Array:
    """log x, log(1 - x) and 1 on the grid, shape (lanes, 3, groups)."""
    x = _points(grid)
    return np.stack([np.log(x), np.log1p(-x), np.ones_like(x)], axis=1)


@lru_cache(maxsize=2)
def _powers(grid: int) -> tuple[Array, Array]:
    """(2 x)^n and (2 - 2 x)^n on the grid for n up to MAX_COUNT, shape (lanes, n, groups).

    The factor 2 keeps the product of two rows within the range of float64: its largest value is
    between 1 and 2^1000 as long as the two powers add up to 1000 at most.
    """
    counts = np.arange(MAX_COUNT + 1)[:, None]
    rising = np.exp(counts * np.log(2.0 * _points(grid))[:, None, :])
    falling = np.ascontiguousarray(rising[::-1, :, ::-1])  # the grid is symmetric about 1/2
    return rising, falling


class _Scratch:
    """Arrays for one slab.  Large ones have the axes lane, arm, trial, group."""

    def __init__(self, trials: int, arms: int, grid: int) -> None:
        x = _points(grid)
        lanes, groups = x.shape
        shape = (lanes, arms, trials, groups)
        rows = -(-(arms + 2) // 4) * 4  # BLAS works on multiples of four
        self.x = x[:, None, None, :]
        self.counts = np.empty((2, arms, trials))  # a - 1 and b - 1
        self.index = np.empty((2, arms, trials), dtype=np.intp)
        self.weights = np.empty((3, arms, trials))
        self.other = np.empty(shape)
        self.terms = np.empty((2, *shape))  # f and x f
        self.f, self.xf = self.terms
        self.first = self.f[0, :, :, 0]  # the leftmost point
        self.flat = self.f.reshape(lanes, arms * trials, groups)
        self.totals = np.empty((2, arms, trials, groups))
        self.before = np.zeros((2, arms, trials, groups))  # sums over all earlier groups
        self.totals_in, self.before_out = self.totals[..., :-1], self.before[..., 1:]
        self.sums = np.empty((2, *shape))  # F and Q
        self.cdf, self.partial = self.sums
        self.steps = [
            (self.sums[:, k - 1] if k else self.before, self.terms[:, k], self.sums[:, k])
            for k in range(lanes)
        ]
        self.product = np.empty((lanes, 1, trials, groups))
        self.right = np.zeros((lanes, rows, trials, groups))  # Q / F, then 1, then x
        self.right[:, arms] = 1.0
        self.right[:, arms + 1] = x[:, None, :]
        self.ratio = self.right[:, :arms]
        self.left_matrix = self.f.transpose(0, 2, 1, 3)
        self.right_matrix = self.right.transpose(0, 2, 3, 1)
        self.by_lane = np.empty((lanes, trials, arms, rows))
        self.pairs = np.empty((trials, arms, rows))
        self.diagonal = self.pairs.reshape(trials, -1)[:, :: rows + 1]
        self.m = self.pairs[:, :, :arms]
        self.mass = self.pairs[:, :, arms]
        self.moment = self.pairs[:, :, arms + 1]


_scratch = lru_cache(maxsize=8)(_Scratch)


def _densities(s: _Scratch, grid: int, peak: Array, powers: bool) -> None:
    """Fill s.f with the densities for the counts in s.counts, each about 1 at its mean.

    peak is the log density at the mean, shape (arms, trials).
    """
    if powers:
        total = s.counts[0] + s.counts[1]
        s.index[...] = s.counts
        powers = (
            bool(np.logical_and.reduce(s.index == s.counts, axis=None))
            and np.minimum.reduce(s.counts, axis=None) >= 0
            and np.maximum.reduce(total, axis=None) <= MAX_COUNT
        )
    if powers:
        rising, falling = _powers(grid)
        np.take(rising, s.index[0], axis=1, out=s.f, mode="clip")
        np.take(falling, s.index[1], axis=1, out=s.other, mode="clip")
        np.multiply(s.f, s.other, out=s.f)
        total *= -math.log(2.0)
        total -= peak
        np.multiply(s.f, np.exp(total, out=total)[:, :, None], out=s.f)
        s.first += TINY  # F > 0 everywhere
    else:
        s.weights[:2] = s.counts
        np.negative(peak, out=s.weights[2])
        np.matmul(s.weights.reshape(3, -1).T, _logs(grid), out=s.flat)
        np.maximum(s.flat, FLOOR, out=s.flat)  # F > 0 everywhere, and exp is slow below -700
        np.exp(s.flat, out=s.flat)


def _slab(a: Array, b: Array, grid: int, powers: bool) -> tuple[Array, Array, Array]:
    """beliefs() for a batch that is small enough."""
    trials, arms = a.shape
    s = _scratch(trials, arms, grid)
    mean = a / (a + b)
    log_mean, log_miss = np.log(mean), np.log(1.0 - mean)
    np.subtract(a.T, 1.0, out=s.counts[0])
    np.subtract(b.T, 1.0, out=s.counts[1])
    _densities(s, grid, s.counts[0] * log_mean.T + s.counts[1] * log_miss.T, powers)

    # F and Q: sums over the groups of points to the left, then lane by lane.
    np.multiply(s.f, s.x, out=s.xf)
    np.add.reduce(s.terms, axis=1, out=s.totals)
    np.add.accumulate(s.totals_in, axis=-1, out=s.before_out)
    for previous, term, total in s.steps:
        np.add(previous, term, out=total)

    # The sum of each density cancels from f / F and Q / F; what is left of it in the product of
    # all F is one factor per trial, which cancels when alpha is normalised.
    np.divide(s.partial, s.cdf, out=s.ratio)
    np.divide(s.f, s.cdf, out=s.f)
    np.multiply.reduce(s.cdf, axis=1, keepdims=True, out=s.product)
    np.multiply(s.f, s.product, out=s.f)
    np.matmul(s.left_matrix, s.right_matrix, out=s.by_lane)
    np.add.reduce(s.by_lane, axis=0, out=s.pairs)

    s.diagonal[...] = s.moment
    alpha = s.mass / np.add.reduce(s.mass, axis=1, keepdims=True)
    rho = np.add.reduce(s.moment, axis=1, keepdims=True)
    rho /= np.add.reduce(s.mass, axis=1, keepdims=True)
    hit = s.m / np.maximum(s.mass, TINY)[:, :, None]
    np.maximum(hit, EDGE, out=hit)
    np.minimum(hit, 1.0 - EDGE, out=hit)
    miss = 1.0 - hit
    divergence = np.log(hit)
    divergence -= log_mean[:, None]
    divergence *= hit
    rest = np.log(miss)
    rest -= log_miss[:, None]
    rest *= miss
    divergence += rest
    h = np.matmul(alpha[:, None], divergence)[:, 0]
    return alpha, np.maximum(rho - mean, 0.0), np.maximum(h, 0.0)


def beliefs(
    a: Array, b: Array, grid: int = GRID, *, powers: bool = True
) -> tuple[Array, Array, Array]:
    """Algorithm 2 for arms with Beta(a, b) beliefs, a and b of shape (trials, arms).

    Returns, each of shape (trials, arms): alpha, the probability that the arm is the best; delta,
    its expected regret; h, the mutual information in nats between its outcome and the identity of
    the best arm.
    """
    trials, arms = a.shape
    if arms > MAX_ARMS:
        raise ValueError(f"at most {MAX_ARMS} arms, got {arms}")
    slabs = min(trials, -(-trials * arms // SLAB))
    if slabs <= 1:
        return _slab(a, b, grid, powers)
    size = -(-trials // slabs)
    parts = [
        _slab(a[start : start + size], b[start : start + size], grid, powers)
        for start in range(0, trials, size)
    ]
    alpha, delta, h = (np.concatenate(part) for part in zip(*parts, strict=True))
    return alpha, delta, h


@lru_cache(maxsize=8)
def _pairs(arms: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """All pairs of arms, and every arm paired with itself."""
    first, second = np.triu_indices(arms)
    return first, second


def ids_n(delta: Array, gain: Array) -> Array:
    """The distribution over arms that minimises (pi . delta)^2 / (pi . gain), trial by trial.

    Some minimiser has at most two arms.  On a pair, with weight q on the first arm, the ratio is
    convex in q, and stationary (other than at a zero of the numerator) only at
    q = d2 / (d1 - d2) - 2 g2 / (g1 - g2).  If that is outside [0, 1], the minimum is at one of the
    two arms, and these are on the list as pairs of an arm with itself.
    """
    first, second = _pairs(delta.shape[1])
    d2, g2 = delta[:, second], gain[:, second]
    d_diff, g_diff = delta[:, first] - d2, gain[:, first] - g2
    scale = d_diff * g_diff
    scale[np.abs(scale) < TINY] = 1.0  # any q in [0, 1] will do
    q = (g_diff * d2 - 2.0 * d_diff * g2) / scale
    np.maximum(q, 0.0, out=q)
    np.minimum(q, 1.0, out=q)
    d_diff *= q
    d_diff += d2
    d_diff *= d_diff
    g_diff *= q
    g_diff += g2
    d_diff /= np.maximum(g_diff, TINY, out=g_diff)
    best = d_diff.argmin(axis=1)
    trial = np.arange(len(best))
    weight = q[trial, best]
    pi = np.zeros_like(delta)
    pi[trial, second[best]] = 1.0 - weight
    pi[trial, first[best]] += weight
    return pi


def decide(a: Array, b: Array, graph: Array, *, powers: bool = True) -> Array:
    """Action probabilities, shape (trials, arms); graph[i, j] is 1 if playing i reveals arm j."""
    _, delta, h = beliefs(a, b, powers=powers)
    return ids_n(delta, h @ graph.T)


def default_graph(arms: int) -> Array:
    """Self-loops, and for five arms the undirected edges 1-2, 1-3, 2-3, 3-4, 3-5, 4-5."""
    graph = np.eye(arms)
    if arms == 5:
        for i, j in ((0, 1), (0, 2), (1, 2), (2, 3), (2, 4), (3, 4)):
            graph[i, j] = graph[j, i] = 1.0
    return graph


def _play(
    block: int, rounds: int, graph: Array, rng: np.random.Generator, powers: bool
) -> tuple[float, int]:
    """CPU seconds spent in decide(), and decisions made, in one game of a block of trials."""
    arms = len(graph)
    theta = rng.random((block, arms))
    a, b = np.ones((block, arms)), np.ones((block, arms))
    cpu = 0.0
    for _ in range(rounds):
        start = time.process_time()
        pi = decide(a, b, graph, powers=powers)
        cpu += time.process_time() - start
        below = np.cumsum(pi, axis=1) <= rng.random((block, 1))
        action = np.minimum(below.sum(axis=1), arms - 1)
        seen = graph[action]
        reward = seen * (rng.random((block, arms)) < theta)
        a += reward
        b += seen - reward
    return cpu, rounds * block


def cpu_per_decision(
    arms: int = 5,
    blocks: Sequence[int] = (1, 10, 100),
    rounds: int = 1000,
    seed: int = 0,
    *,
    graph: Array | None = None,
    powers: bool = True,
) -> dict[int, float]:
    """CPU seconds per decision of one trial, for each block size.

    Games of the given number of rounds are played from the uniform prior with theta ~ Beta(1, 1),
    always to the end, so that every block size meets early and late beliefs in the same measure,
    until decide() alone has used MIN_CPU seconds.  Only decide() is timed.
    """
    graph = default_graph(arms) if graph is None else np.asarray(graph, dtype=np.float64)
    result = {}
    for block in blocks:
        rng = np.random.default_rng(seed)
        _play(block, 2, graph, rng, powers)  # fill the caches
        cpu, decisions = 0.0, 0
        while cpu < MIN_CPU:
            more_cpu, more_decisions = _play(block, rounds, graph, rng, powers)
            cpu += more_cpu
            decisions += more_decisions
        result[block] = cpu / decisions
    return result


def main() -> None:
    """Print CPU time per decision by block size, and the best block size."""
    parser = argparse.ArgumentParser(description="CPU time per decision of grid Algorithm 2.")
    parser.add_argument("--arms", type=int, nargs="+", default=[5])
    parser.add_argument("--blocks", type=int, nargs="+", default=[1, 10, 100])
    parser.add_argument("--rounds", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    print(f"grid Algorithm 2, NumPy {np.__version__}, {GRID} points, one thread")
    print(f"{'arms':>5} {'densities':>10} {'block':>6} {'us/decision':>12}")
    for arms in args.arms:
        best: tuple[float, str, int] | None = None
        for name, powers in (("powers", True), ("logs", False)):
            times = cpu_per_decision(arms, args.blocks, args.rounds, args.seed, powers=powers)
            for block, seconds in times.items():
                print(f"{arms:>5} {name:>10} {block:>6} {seconds * 1e6:>12.1f}")
                if best is None or seconds < best[0]:
                    best = seconds, name, block
        if best is not None:
            print(f"best for {arms} arms: {best[0] * 1e6:.1f} us, {best[1]}, block {best[2]}")


if __name__ == "__main__":
    main()
