"""Solution of P1, P2 and P3 on the frontier of the points (gain, Delta), in O(K log K).

Each objective decreases with the expected gain and increases with the expected regret. So only
the lower right convex hull of the points (gain_i, Delta_i) matters, from the smallest Delta to the
largest gain, and an optimum needs at most two of its points.

Arms whose Delta differ only by rounding form one point, with their largest gain. The arms that have
this gain (up to rounding) divide the probability of the point evenly. Otherwise the last bit would
decide between equal arms.
"""

from __future__ import annotations

import math

import numpy as np

from graphbandits._jit import kernel
from graphbandits._types import Floats, Ints

#: Two values are equal if they differ by less than this fraction of the largest one.
TIE = 1e-12
#: A largest gain below this means that nothing is left to learn.
NOTHING_TO_LEARN = 1e-30
#: Up to FEW arms are sorted by insertion; above MANY arms, into buckets first.
FEW = 32
MANY = 5000


@kernel()
def _insertion_sort(values: Floats, order: Ints) -> None:
    """Sort ``order`` by increasing value; a stable sort."""
    for k in range(1, order.size):
        arm = order[k]
        place = k
        while place > 0 and values[order[place - 1]] > values[arm]:
            order[place] = order[place - 1]
            place -= 1
        order[place] = arm


@kernel()
def _rising(values: Floats, order: Ints) -> bool:
    """Return whether ``order`` is sorted already."""
    k = 1
    while k < order.size and values[order[k - 1]] <= values[order[k]]:
        k += 1
    return k >= order.size


@kernel()
def _merge_sort(values: Floats, order: Ints) -> None:
    """Sort ``order`` by increasing value; a stable sort."""
    # NumPy's stable sort takes four seconds to compile
    size = order.size
    for first in range(0, size, FEW):
        _insertion_sort(values, order[first : min(first + FEW, size)])
    given = np.empty(size, np.int64)
    length = FEW
    while length < size:
        for k in range(size):
            given[k] = order[k]
        for first in range(0, size, 2 * length):
            left = first
            middle = min(first + length, size)
            right = middle
            end = min(first + 2 * length, size)
            for k in range(first, end):
                if right == end or (
                    left < middle and not values[given[left]] > values[given[right]]
                ):
                    order[k] = given[left]
                    left += 1
                else:
                    order[k] = given[right]
                    right += 1
        length *= 2


@kernel()
def _sort(values: Floats, order: Ints) -> None:
    """Sort ``order`` by increasing value: by insertion, merge sort or buckets, by its size."""
    if order.size <= FEW:
        _insertion_sort(values, order)
        return
    if _rising(values, order):
        return
    least = np.inf
    most = -np.inf
    comparable = True
    for arm in order:
        comparable = comparable and not np.isnan(values[arm])
        least = min(least, values[arm])
        most = max(most, values[arm])
    # outside of these bounds the scale is not a positive number
    if order.size <= MANY or not comparable or not 1e-289 < most - least < 1e300:
        _merge_sort(values, order)
        return
    buckets = order.size // 4
    scale = (buckets - 1) / (most - least)
    end = np.zeros(buckets + 1, np.int64)
    for arm in order:
        end[int((values[arm] - least) * scale) + 1] += 1
    for k in range(buckets):
        end[k + 1] += end[k]
    given = order.copy()
    for arm in given:  # end[k] moves from the start of bucket k to its end
        k = int((values[arm] - least) * scale)
        order[end[k]] = arm
        end[k] += 1
    first = 0
    for k in range(buckets):
        bucket = order[first : end[k]]
        first = end[k]
        if bucket.size <= FEW:
            _insertion_sort(values, bucket)
        elif not _rising(values, bucket):
            _merge_sort(values, bucket)


@kernel()
def _candidates(delta: Floats, gain: Floats, order: Ints) -> int:
    """Write the arms that can be on the hull to ``order``; return their number."""
    largest_delta = 0.0
    largest_gain = 0.0
    for i in range(delta.size):
        largest_delta = max(largest_delta, delta[i])
        largest_gain = max(largest_gain, gain[i])
    # the hull ends at the first point of the largest gain
    enough = np.inf
    for i in range(delta.size):
        if gain[i] == largest_gain:
            enough = min(enough, delta[i])
    enough += TIE * largest_delta
    arms = 0
    for i in range(delta.size):
        if not delta[i] > enough:
            order[arms] = i
            arms += 1
    return arms


@kernel()
def _hull_of(delta: Floats, gain: Floats, order: Ints, arms: int, hull: Ints, group: Ints) -> int:
    """Find the hull of ``arms`` arms that are sorted by Delta; see :func:`frontier`."""
    largest_delta = 0.0
    largest_gain = 0.0
    for i in range(delta.size):
        largest_delta = max(largest_delta, delta[i])
        largest_gain = max(largest_gain, gain[i])
        group[i] = -1
    delta_tie = TIE * largest_delta
    gain_tie = TIE * largest_gain
    count = 0
    first = 0
    while first < arms:
        last = first
        best = order[first]
        while last + 1 < arms and delta[order[last + 1]] <= delta[order[first]] + delta_tie:
            last += 1
            if gain[order[last]] > gain[best]:
                best = order[last]
        for k in range(first, last + 1):
            i = order[k]
            if gain[i] >= gain[best] - gain_tie:
                group[i] = best
        first = last + 1
        # add the point (gain[best], delta[best]) if its gain is larger; keep the hull convex
        if count > 0 and gain[best] <= gain[hull[count - 1]] + gain_tie:
            continue
        while count > 1:
            q = hull[count - 1]
            p = hull[count - 2]
            # slopes in units of the largest values: products of tiny numbers would underflow
            here = (gain[q] - gain[p]) / largest_gain * ((delta[best] - delta[p]) / largest_delta)
            there = (gain[best] - gain[p]) / largest_gain * ((delta[q] - delta[p]) / largest_delta)
            if here > there:
                break
            count -= 1
        hull[count] = best
        count += 1
    return count


@kernel()
def frontier(delta: Floats, gain: Floats, hull: Ints, order: Ints, group: Ints) -> int:
    """Find the vertices of the hull, by increasing Delta and gain; return their number."""
    # ``hull[v]`` is an arm that represents its point; ``group[i]`` is equal for all arms of a
    # point, and -1 for arms that are dominated by one of the same Delta, or of the largest gain
    arms = _candidates(delta, gain, order)
    _sort(delta, order[:arms])
    return _hull_of(delta, gain, order, arms, hull, group)


@kernel()
def _sort_kernel(delta: Floats, gain: Floats, order: Ints) -> None:
    trials, arms = delta.shape
    for b in range(trials):
        count = _candidates(delta[b], gain[b], order[b])
        _sort(delta[b], order[b, :count])
        order[b, arms] = count


def sort_many(delta: Floats, gain: Floats) -> Ints:
    """Sort the candidates of each trial if there are many arms."""
    # few arms are sorted where they are used; a separate kernel is compiled only if it is needed
    trials, arms = delta.shape
    if arms <= FEW:
        return np.empty((0, arms + 1), np.int64)
    order = np.empty((trials, arms + 1), np.int64)
    _sort_kernel(delta, gain, order)
    return order


def work_space(arms: int) -> Ints:
    """Return the work space of one trial: an order, the hull and the group of each arm."""
    return np.empty((3, arms), np.int64)


@kernel()
def _hull_of_trial(delta: Floats, gain: Floats, order: Ints, b: int, space: Ints) -> int:
    """Find the hull of trial ``b``, from :func:`sort_many`, in :func:`work_space`."""
    if order.shape[0] > 0:
        arms = order[b, delta.size]
        return _hull_of(delta, gain, order[b], arms, space[1], space[2])
    arms = _candidates(delta, gain, space[0])
    _insertion_sort(delta, space[0, :arms])
    return _hull_of(delta, gain, space[0], arms, space[1], space[2])


@kernel()
def share(pi: Floats, group: Ints, arm: int, probability: float) -> None:
    """Divide the probability of a point evenly among its arms."""
    members = 0
    for i in range(pi.size):
        if group[i] == arm:
            members += 1
    for i in range(pi.size):
        if group[i] == arm:
            pi[i] += probability / members


@kernel()
def _mean_above(alpha: Floats, worth: Floats, level: float) -> float:
    """Compute alpha.(worth - level)."""
    # alpha.worth - level would cancel if nearly all of alpha is on one arm
    total = 0.0
    for i in range(alpha.size):
        total += alpha[i] * (worth[i] - level)
    return total


@kernel()
def least_regret_kernel(
    delta: Floats,
    gain: Floats,
    alpha: Floats,
    worth: Floats,
    order: Ints,
    space: Ints,
    pi: Floats,
) -> None:
    """Minimise pi.delta subject to pi.gain >= min(alpha.worth, largest gain), for each trial."""
    # ``order`` is from sort_many, ``space`` from work_space; all of pi is 0
    hull, group = space[1], space[2]
    for b in range(delta.shape[0]):
        count = _hull_of_trial(delta[b], gain[b], order, b, space)
        least = _mean_above(alpha[b], worth[b], 0.0) * (1.0 - TIE)
        v = 0
        while v < count - 1 and gain[b, hull[v]] < least:
            v += 1
        here = hull[v]
        if v == 0 or gain[b, here] <= least:
            share(pi[b], group, here, 1.0)
        else:
            before = hull[v - 1]
            step = gain[b, here] - gain[b, before]
            above = _mean_above(alpha[b], worth[b], gain[b, before])
            weight = min(1.0, max(0.0, above / step))
            share(pi[b], group, here, weight)
            share(pi[b], group, before, 1.0 - weight)


@kernel()
def least_ratio_kernel(delta: Floats, gain: Floats, order: Ints, space: Ints, pi: Floats) -> None:
    """Minimise (pi.delta)^2 / (pi.gain) for each trial; argmin delta if all gains are zero."""
    # ``order`` is from sort_many, ``space`` from work_space; all of pi is 0
    hull, group = space[1], space[2]
    for b in range(delta.shape[0]):
        count = _hull_of_trial(delta[b], gain[b], order, b, space)
        first = hull[0]
        if gain[b, hull[count - 1]] <= NOTHING_TO_LEARN or delta[b, first] <= 0.0 or count == 1:
            share(pi[b], group, first, 1.0)
            continue
        best = np.inf
        best_edge = 0
        best_weight = 0.0
        for v in range(count - 1):
            p = hull[v]
            q = hull[v + 1]
            d1 = delta[b, p]
            i1 = gain[b, p]
            d_step = delta[b, q] - d1
            i_step = gain[b, q] - i1
            # the stationary point of (d1 + w d_step)^2 / (i1 + w i_step)
            weight = min(1.0, max(0.0, d1 / d_step - 2.0 * (i1 / i_step)))
            value = (d1 + weight * d_step) / math.sqrt(i1 + weight * i_step)
            if value < best:
                best = value
                best_edge = v
                best_weight = weight
        share(pi[b], group, hull[best_edge + 1], best_weight)
        share(pi[b], group, hull[best_edge], 1.0 - best_weight)
