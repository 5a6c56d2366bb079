"""The yard-stick: Algorithm 2 of Russo and Van Roy in batched NumPy, on a grid of 1000 points.

This is how IDS is usually computed: densities on a uniform grid, distribution functions by
cumulative sums, all pairs of arms by one matrix product for each trial, then the best pair of
arms in closed form. It is written as a good NumPy programmer would write it, for B trials at
once; the block size that is fastest is measured, not assumed.
"""

from __future__ import annotations

import os

# One thread, as the library under test: otherwise a matrix product would count several cores.
for _variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

import numpy as np  # noqa: E402
from numpy.typing import NDArray  # noqa: E402

Floats = NDArray[np.float64]

GRID = 1000
BLOCKS = (1, 10, 100)
_X = (np.arange(GRID) + 0.5) / GRID
_LOG_X = np.log(_X)
_LOG_1MX = np.log1p(-_X)


def beliefs(a: Floats, b: Floats) -> tuple[Floats, Floats, Floats]:
    """alpha, Delta and h of the posteriors Beta(a, b), all (B, K)."""
    f = (a - 1.0)[:, :, None] * _LOG_X
    f += (b - 1.0)[:, :, None] * _LOG_1MX
    f -= f.max(axis=2, keepdims=True)
    np.exp(f, out=f)
    f /= f.sum(axis=2, keepdims=True)
    big_f = np.cumsum(f, axis=2)
    q = np.cumsum(f * _X, axis=2)
    np.maximum(big_f, 1e-300, out=big_f)
    density = f / big_f * big_f.prod(axis=1, keepdims=True)  # of arm j being the best, at x
    alpha = density.sum(axis=2)
    # M[j, i]: mean of theta_i where j is best
    means = np.matmul(density, np.swapaxes(q / big_f, 1, 2))
    arms = np.arange(a.shape[1])
    means[:, arms, arms] = density @ _X
    means /= np.maximum(alpha, 1e-300)[:, :, None]
    alpha /= alpha.sum(axis=1, keepdims=True)
    mean = a / (a + b)
    delta = (alpha * means[:, arms, arms]).sum(axis=1, keepdims=True) - mean
    m = mean[:, None, :]
    means = np.clip(means, 1e-12, 1.0 - 1e-12)
    divergence = means * np.log(means / m) + (1.0 - means) * np.log((1.0 - means) / (1.0 - m))
    h = (alpha[:, :, None] * divergence).sum(axis=1)
    return alpha, np.maximum(delta, 0.0), np.maximum(h, 0.0)


def ids_n(delta: Floats, gain: Floats) -> Floats:
    """min (pi.delta)^2 / (pi.gain) over all pairs of arms, in closed form, (B, K) -> (B, K)."""
    trials, arms = delta.shape
    first, second = (index.ravel() for index in np.indices((arms, arms)))
    d1, d2, i1, i2 = delta[:, first], delta[:, second], gain[:, first], gain[:, second]
    d_step, i_step = d2 - d1, i2 - i1
    with np.errstate(divide="ignore", invalid="ignore"):
        weight = np.clip(np.nan_to_num(d1 / d_step - 2.0 * i1 / i_step), 0.0, 1.0)
        weight = np.where((d_step > 0.0) & (i_step > 0.0), weight, 0.0)
        value = (d1 + weight * d_step) ** 2 / (i1 + weight * i_step)
    best = np.where(np.isnan(value), np.inf, value).argmin(axis=1)
    rows = np.arange(trials)
    pi = np.zeros((trials, arms))
    pi[rows, second[best]] += weight[rows, best]
    pi[rows, first[best]] += 1.0 - weight[rows, best]
    return pi


def decide(a: Floats, b: Floats, graph: Floats) -> Floats:
    """One IDS-N decision for each trial; row i of ``graph`` is what playing i reveals."""
    _, delta, h = beliefs(a, b)
    return ids_n(delta, h @ graph.T)


def paper_graph() -> Floats:
    """Two triangles that share arm 3."""
    graph = np.eye(5)
    for i, j in ((0, 1), (0, 2), (1, 2), (2, 3), (2, 4), (3, 4)):
        graph[i, j] = graph[j, i] = 1.0
    return graph


def keep_memory() -> None:
    """Make the allocator of glibc keep what is freed, up to 30 MB, for the rest of the process.

    Otherwise it hands the temporary arrays of a block of 10 back to the system after every
    decision, and half of the time goes into getting them again.
    """
    np.ones(30 << 17).sum()
