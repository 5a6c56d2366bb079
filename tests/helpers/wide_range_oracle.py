"""A slow oracle for alpha, Delta, h, v at Beta parameters from 1e-3 to 1e9, mixed as one likes.

The definitions are those of ``oracles.py``; nothing here shares code with the library.  With
u = logit x (so that parameters of 1e-3, whose mass lies within 1e-300 of the ends, are ordinary),
p_i(u) = x^a_i (1-x)^b_i / B(a_i, b_i) the density of logit theta_i, n_i = a_i + b_i, G_i = 1 - F_i:

    alpha_j = int p_j prod_{k != j} F_k du
    W_ij    = int p_i p_j prod_{k != i,j} F_k du                                  (i != j)
    alpha_j (M_{j,i} - m_i) = -W_ij / n_i   (i != j),    sum_{j != i} W_ij / n_i   (i = j)
    Delta_l = int F_l (1 - prod_{k != l} F_k) x (1-x) du,   l an arm with the largest mean
    Delta_i = (m_l - m_i) + Delta_l

The third line is m F(x) - Q(x) = x (1-x) f(x) / n (compare derivatives) under the integral.  Every
term is positive, so nothing cancels and small values are as accurate as large ones.

The line is cut into panels with Gauss-Legendre nodes; F_i and G_i at the nodes are running
integrals of p_i from the left and from the right.  All p_i and F_i are log-concave in u.  Panels
are so short that no ln p_i above _LEVEL moves by more than _STEP in one, nor ln prod_k F_k by more
than _RISE, and short against the distance to the singularities of the logistic function at
u = +-i pi.  ``resolution=2`` halves them, which shows the error of the rule; ball arithmetic shows
that of rounding.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from flint import arb, arb_mat, ctx

FloatArray = npt.NDArray[np.float64]

_PRECISION = 192  # bits; ln p_i cancels terms near 1e11, that is 37 of them
_LEVEL = -200.0  # what has ln p_i below this is left out: an absolute error near 1e-80
_START = -280.0  # ... except in the lower tail F_i(u), which is summed from here
_NODES = 30
_STEP = 6.0
_RISE = 12.0
_REACH = 0.5


@dataclass(frozen=True, eq=False)
class WideBeliefs:
    """alpha, Delta, h, v per arm and rho = E[max theta], correctly rounded or nearly so.

    Truths that were stored have no v.
    """

    alpha: FloatArray
    delta: FloatArray
    h: FloatArray
    rho: float
    v: FloatArray | None = None


@dataclass(frozen=True)
class _Arm:
    """One Beta(a, b), as floats to place panels and as balls to integrate."""

    a: float
    b: float
    log_beta: arb
    size: arb
    mean: arb

    def level(self, u: float) -> float:
        """ln p(u) in floats: good enough (1e-5) to place panels."""
        distance = math.log1p(math.exp(-abs(u)))
        lead = self.a * u if u < 0.0 else -self.b * u
        return lead - (self.a + self.b) * distance - float(self.log_beta)

    def slope(self, u: float) -> float:
        """(ln p)'(u) = a - n x."""
        small = math.exp(-abs(u))
        part = small / (1.0 + small)  # x or 1 - x, whichever is smaller
        return self.a - (self.a + self.b) * part if u < 0.0 else (self.a + self.b) * part - self.b

    def tail(self, u: float) -> float:
        """An upper bound of ln F(u): as p is log-concave, F <= p / (ln p)' left of the mode."""
        slope = self.slope(u)
        return min(0.0, self.level(u) - math.log(slope)) if slope > 0.0 else 0.0

    def hazard(self, u: float) -> float:
        """About (ln F)'(u), which falls: Mills' ratio of the normal of p's slope and curvature."""
        slope, small = self.slope(u), math.exp(-abs(u))
        curvature = (self.a + self.b) * small / (1.0 + small) ** 2
        mills = 0.5 * (slope + math.sqrt(slope * slope + 4.0 * curvature))
        # Right of the mode F >= 1/4 or thereabouts.
        return mills if slope > 0.0 else min(mills, 4.0 * math.exp(min(self.level(u), 50.0)))

    def cut(self, level: float, side: int) -> float:
        """The u on this side (-1 or 1) of the mode where ln p(u) falls to the level."""
        mode = math.log(self.a) - math.log(self.b)
        step = 1e-6
        while self.level(mode + side * step) > level:
            step *= 2.0
        inside, outside = mode, mode + side * step
        for _ in range(60):
            middle = 0.5 * (inside + outside)
            if self.level(middle) > level:
                inside = middle
            else:
                outside = middle
        return outside


def _arm(a: float, b: float) -> _Arm:
    ball_a, ball_b = arb(a), arb(b)
    size = ball_a + ball_b
    return _Arm(a, b, ball_a.lgamma() + ball_b.lgamma() - size.lgamma(), size, ball_a / size)


@dataclass(frozen=True)
class _Span:
    """A log-concave function's logarithm, and the interval outside of which it is negligible."""

    level: Callable[[float], float]
    lo: float
    hi: float


# ln(x (1-x)), which Delta integrates and which panels must resolve as they do the p_i.
_JACOBIAN = _Span(lambda u: -abs(u) - 2.0 * math.log1p(math.exp(-abs(u))), lo=_LEVEL, hi=-_LEVEL)


@lru_cache(maxsize=1)
def _legendre_rule() -> tuple[list[arb], list[arb], arb_mat, arb_mat]:
    """Nodes y_k, weights w_l on [-1, 1]; int_{-1}^{y_k} and int_{y_k}^1 of Lagrange polynomial l.

    The l-th Lagrange polynomial is sum_n (2n+1)/2 w_l P_n(y_l) P_n(y), and
    (2n+1) int_{-1}^y P_n = P_{n+1}(y) - P_{n-1}(y), with P_{-1} = -1 for n = 0.
    """
    with ctx.workprec(_PRECISION + 64):
        rule = [arb.legendre_p_root(_NODES, k, True) for k in range(_NODES)][::-1]
        nodes, weights = [node for node, _ in rule], [weight for _, weight in rule]
        p = [[y.legendre_p(n) for n in range(_NODES + 1)] for y in nodes]
        primitive = [
            [1 + y, *(row[n + 1] - row[n - 1] for n in range(1, _NODES))]
            for y, row in zip(nodes, p, strict=True)
        ]
        coefficient = [
            [w * row[n] / 2 for w, row in zip(weights, p, strict=True)] for n in range(_NODES)
        ]
        left = arb_mat(primitive) * arb_mat(coefficient)
        right = arb_mat([weights] * _NODES) - left
    return nodes, weights, left, right


def _lowest(arms: Sequence[_Arm]) -> float:
    """Where ln prod_k F_k comes above _LEVEL; alpha has no more than exp(_LEVEL) below."""
    below = max(arm.cut(_LEVEL, -1) for arm in arms)
    above = max(math.log(arm.a) - math.log(arm.b) for arm in arms)
    for _ in range(60):
        middle = 0.5 * (below + above)
        if sum(arm.tail(middle) for arm in arms) < _LEVEL:
            below = middle
        else:
            above = middle
    return below


def _panels(
    arms: Sequence[_Arm], spans: Sequence[_Span], lo: float, hi: float, resolution: int
) -> Iterator[float]:
    """Ends of panels from lo to hi, as the module docstring says.

    A panel lies within a span or outside, where the function is negligible, except that it may
    run over the span's end.  By log-concavity both ends and the middle show every change within.
    """
    yield lo
    while lo < hi:
        active = [span.level for span in spans if span.lo <= lo < span.hi]
        following = min((span.lo for span in spans if span.lo > lo), default=hi)
        bound = min(hi, following)
        rise = sum(arm.hazard(lo) for arm in arms)
        width = min(_REACH * math.hypot(lo, math.pi), bound - lo, _RISE / max(rise, 1e-9))
        while True:
            middle, end = lo + 0.5 * width, lo + width
            change = 0.0
            for level in active:
                centre = level(middle)
                change = max(change, abs(centre - level(lo)) + abs(level(end) - centre))
            if change <= _STEP:
                break
            width *= min(0.8, max(0.1, _STEP / change))
        end = bound if end >= bound else end
        yield from (lo + (end - lo) * part / resolution for part in range(1, resolution))
        yield end
        lo = end


class _Panel:
    """At the nodes of one panel: x, and x (1-x) and the p_i times half the panel's width."""

    def __init__(self, arms: Sequence[_Arm], lo: float, hi: float) -> None:
        nodes = _legendre_rule()[0]
        centre, half = (arb(hi) + arb(lo)) / 2, (arb(hi) - arb(lo)) / 2
        self.half = half
        self.x: list[arb] = []
        self.jacobian: list[arb] = []
        active = [max(arm.level(lo), arm.level(hi)) > _START for arm in arms]
        self.density: list[list[arb]] = []
        for y in nodes:
            u = centre + half * y
            small = (-abs(u)).exp()
            log1p = small.log1p()
            upper = 1 / (1 + small)
            self.x.append(small * upper if u < 0 else upper)
            self.jacobian.append(small * upper * upper * half)
            self.density.append(
                [
                    ((arm.a * u if u < 0 else -arm.b * u) - arm.size * log1p - arm.log_beta).exp()
                    * half
                    if moving
                    else arb(0)
                    for arm, moving in zip(arms, active, strict=True)
                ]
            )


def _lower_tail(arm: _Arm, hi: float, resolution: int) -> tuple[arb, arb]:
    """F(hi) and int_0^{x(hi)} F dx = int p (x(hi) - x) du over u < hi."""
    top = 1 / (1 + (-arb(hi)).exp())
    mass, area = arb(0), arb(0)
    span = _Span(arm.level, arm.cut(_START, -1), arm.cut(_START, 1))
    hi = min(hi, span.hi)
    ends = list(_panels([arm], [span, _JACOBIAN], span.lo, hi, resolution))
    weights = _legendre_rule()[1]
    for left, right in pairwise(ends):
        panel = _Panel([arm], left, right)
        for weight, x, (density,) in zip(weights, panel.x, panel.density, strict=True):
            mass += weight * density
            area += weight * density * (top - x)
    return mass, area


def _others(cdf: Sequence[arb], tail: Sequence[arb], leader: int) -> tuple[arb, arb]:
    """prod_k F_k over all k, and 1 - prod_{k != leader} F_k as a sum of positive terms."""
    product, complement = arb(1), arb(0)
    for k, (f, g) in enumerate(zip(cdf, tail, strict=True)):
        if k != leader:
            complement += product * g
            product *= f
    return product * cdf[leader], complement


def _integrals(
    arms: Sequence[_Arm], leader: int, resolution: int
) -> tuple[list[arb], list[list[arb]], arb]:
    """alpha_j, W_ij and Delta of the leader."""
    count = len(arms)
    _, weights, from_left, from_right = _legendre_rule()
    # Below lo prod_k F_k < exp(_LEVEL), which leaves nothing but int F_leader dx in Delta.
    spans = [_Span(arm.level, arm.cut(_LEVEL, -1), arm.cut(_LEVEL, 1)) for arm in arms]
    lo, hi = _lowest(arms), max(span.hi for span in spans)
    ends = list(_panels(arms, [*spans, _JACOBIAN], lo, hi, resolution))
    panels = [_Panel(arms, left, right) for left, right in pairwise(ends)]
    row_of_weights = arb_mat([weights])
    masses = [(row_of_weights * arb_mat(panel.density)).tolist()[0] for panel in panels]
    above = [[arb(0)] * count]  # G_i at the right end of each panel, from the last to the first
    for mass in reversed(masses):
        above.append([g + m for g, m in zip(above[-1], mass, strict=True)])
    above.reverse()

    below = [_lower_tail(arm, lo, resolution)[0] for arm in arms]
    for f, g in zip(below, above[0], strict=True):
        assert abs(f + g - 1) < 1e-20, "the densities do not integrate to 1"
    delta = _lower_tail(arms[leader], lo, resolution)[1]
    alpha, pairs = [arb(0)] * count, arb_mat(count, count)
    for number, (panel, mass) in enumerate(zip(panels, masses, strict=True)):
        density = arb_mat(panel.density)
        left, right = (from_left * density).tolist(), (from_right * density).tolist()
        hazards, weighted = [], []
        for row, weight in enumerate(weights):
            cdf = [f + running for f, running in zip(below, left[row], strict=True)]
            tail = [g + running for g, running in zip(above[number + 1], right[row], strict=True)]
            product, complement = _others(cdf, tail, leader)
            delta += weight * panel.jacobian[row] * cdf[leader] * complement
            hazard = [p / f for p, f in zip(panel.density[row], cdf, strict=True)]
            hazards.append(hazard)
            weighted.append([weight * product * value for value in hazard])
            for j in range(count):
                alpha[j] += weighted[row][j]
        pairs += arb_mat(weighted).transpose() * arb_mat(hazards) * (1 / panel.half)
        below = [f + m for f, m in zip(below, mass, strict=True)]
    return alpha, pairs.tolist(), delta


def _kl_from(mean: arb, step: arb) -> arb:
    """KL(Bernoulli(mean + step) || Bernoulli(mean)), for a step of any size within [0, 1].

    A step that rounding carries over an end is set to the end, where y ln y = 0.
    """
    up, down = step / mean, -step / (1 - mean)
    first = (mean + step) * up.log1p() if up > -1 else arb(0)
    second = (1 - mean - step) * down.log1p() if down > -1 else arb(0)
    return first + second


def wide_beliefs(params: Sequence[tuple[float, float]], resolution: int = 1) -> WideBeliefs:
    """alpha, Delta, h, v to a relative 1e-12 or better where above 1e-32, for a, b in [1e-3, 1e9].

    >>> found = wide_beliefs([(1.0, 2.0), (1e-3, 1e9), (5e8, 7e8)])
    >>> float(found.alpha.sum())
    1.0
    """
    if len(params) < 2 or any(not 1e-3 <= value <= 1e9 for pair in params for value in pair):
        raise ValueError("at least two arms with parameters from 1e-3 to 1e9 are needed")
    with ctx.workprec(_PRECISION):
        arms = [_arm(float(a), float(b)) for a, b in params]
        leader = max(range(len(arms)), key=lambda i: float(arms[i].mean))
        alpha, pairs, lead = _integrals(arms, leader, resolution)
        assert abs(sum(alpha, arb(0)) - 1) < 1e-20, "the alphas do not sum to 1"
        # Midpoints from here on: the quantities are known to far more than is asked for, and
        # KL of a tiny step needs twice its digits to start from.
        with ctx.workprec(4 * _PRECISION):
            h, v = [], []
            for i, arm in enumerate(arms):
                mean, total, own = arb(arm.a) / (arb(arm.a) + arb(arm.b)), arb(0), arb(0)
                spread = arb(0)
                for j in range(len(arms)):
                    if j != i and alpha[j] > 0:
                        shift = pairs[i][j].mid() / arm.size
                        own += shift
                        chance = alpha[j].mid()
                        total += chance * _kl_from(mean, -shift / chance)
                        spread += shift * shift / chance
                if alpha[i] > 0:
                    total += alpha[i].mid() * _kl_from(mean, own / alpha[i].mid())
                    spread += own * own / alpha[i].mid()
                h.append(total)
                v.append(spread)
            delta = [arms[leader].mean - arm.mean + lead for arm in arms]
            rho = float(arms[leader].mean + lead)
        _check_rounding([*alpha, lead, *(value for row in pairs for value in row)])
    return WideBeliefs(
        alpha=np.array([float(value) for value in alpha]),
        delta=np.array([float(value) for value in delta]),
        h=np.array([float(value) for value in h]),
        rho=rho,
        v=np.array([float(value) for value in v]),
    )


def _check_rounding(values: Sequence[arb]) -> None:
    """Rounding alone must leave 1e-20 relatively, down to values far below the stated range."""
    for value in values:
        assert value.rad() <= 1e-20 * abs(value.mid()) or abs(value) < 1e-60, value
