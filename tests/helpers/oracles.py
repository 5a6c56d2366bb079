"""Slow, independent oracles for the tests: nothing here shares code with the library.

Notation for independent theta_i ~ Beta(a_i, b_i), i = 0..K-1, all logarithms natural:
f_i and F_i are the density and the distribution function, m_i = a_i / (a_i + b_i) the mean,
Q_i(x) = int_0^x y f_i(y) dy, and

    alpha_j = int_0^1 f_j prod_{k != j} F_k dx                          = P(theta_j is largest)
    M_{j,i} = (1 / alpha_j) int_0^1 f_j Q_i prod_{k != i,j} F_k dx      (i != j)
    M_{j,j} = (1 / alpha_j) int_0^1 x f_j prod_{k != j} F_k dx
    rho     = sum_j alpha_j M_{j,j}                                     = E[max_k theta_k]
    Delta_i = rho - m_i
    h_i     = sum_j alpha_j KL(Bernoulli(M_{j,i}) || Bernoulli(m_i))
    v_i     = sum_j alpha_j (M_{j,i} - m_i)^2.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from flint import arb, ctx, fmpq, fmpz, fmpz_poly
from scipy.optimize import linprog, minimize_scalar

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Beliefs:
    """Posterior quantities of the module docstring; ``conditional_means[j, i]`` is M_{j,i}."""

    alpha: FloatArray
    delta: FloatArray
    h: FloatArray
    v: FloatArray
    rho: float
    conditional_means: FloatArray


def _kl(p: arb, q: arb) -> arb:
    """KL(Bernoulli(p) || Bernoulli(q)) = p ln(p/q) + (1-p) ln((1-p)/(1-q))."""
    return p * (p / q).log() + (1 - p) * ((1 - p) / (1 - q)).log()


# 1. Exact rational arithmetic, integer parameters.
#
# With w = 1 - x, every factor is a homogeneous polynomial in (x, w) with rational coefficients:
#     f_i = c_i x^(a-1) w^(b-1),               c_i = n C(n-1, a-1),  n = a + b - 1
#     F_i = sum_{k=a}^n C(n, k) x^k w^(n-k)                           (a binomial tail)
#     Q_i = m_i sum_{k=a+1}^{n+1} C(n+1, k) x^k w^(n+1-k)             (m_i times Beta(a+1, b)'s)
# A homogeneous polynomial of known degree D is stored by its coefficients of x^k w^(D-k), so that
# products are products of ordinary polynomials in one variable, all coefficients stay
# non-negative, and int_0^1 x^k w^(D-k) dx = 1 / ((D + 1) C(D, k)).


def _binomial_tail(n: int, first: int) -> fmpz_poly:
    """Coefficients of sum_{k=first}^n C(n, k) x^k w^(n-k)."""
    return fmpz_poly([0] * first + [math.comb(n, k) for k in range(first, n + 1)])


def _monomial_integrals(degree: int) -> tuple[int, list[fmpz]]:
    """(L, W) with int_0^1 x^k (1-x)^(D-k) dx = 1 / ((D+1) C(D,k)) = W[k] / L, L = lcm(1..D+1)."""
    common = math.lcm(*range(1, degree + 2))
    weights = []
    binomial = 1
    for k in range(degree + 1):
        quotient, remainder = divmod(common, (degree + 1) * binomial)
        assert remainder == 0
        weights.append(fmpz(quotient))
        binomial = binomial * (degree - k) // (k + 1)
    return common, weights


def _integral(table: tuple[int, list[fmpz]], poly: fmpz_poly, shift: int) -> fmpq:
    """int_0^1 x^shift (1-x)^(...) poly dx, the whole being homogeneous of the table's degree."""
    common, weights = table
    total = fmpz(0)
    for k, coefficient in enumerate(poly.coeffs()):
        if coefficient != 0:
            total += coefficient * weights[k + shift]
    return fmpq(total, fmpz(common))


def _to_float(q: fmpq) -> float:
    """Round correctly to a float (true division of Python integers rounds correctly)."""
    return int(q.p) / int(q.q)


def _exact_h(alpha: list[fmpq], column: list[fmpq], mean: fmpq) -> float:
    """h_i = sum_j alpha_j KL(M_{j,i} || m_i), precision doubled until 80 bits are certain."""
    precision = 400
    while True:
        with ctx.workprec(precision):
            h = arb(0)
            for weight, p in zip(alpha, column, strict=True):
                if p != mean:
                    h += arb(weight) * _kl(arb(p), arb(mean))
            if h.is_exact() or h.rel_accuracy_bits() >= 80:
                return float(h)
        precision *= 2


def _exact_v(alpha: list[fmpq], column: list[fmpq], mean: fmpq) -> float:
    """v_i = sum_j alpha_j (M_{j,i} - m_i)^2, rounded once."""
    terms = (weight * (p - mean) ** 2 for weight, p in zip(alpha, column, strict=True))
    return _to_float(sum(terms, fmpq(0)))


def exact_beliefs(params: Sequence[tuple[int, int]]) -> Beliefs:
    """All quantities for integer Beta parameters >= 1, in exact rationals, rounded at the end."""
    arms = [(int(a), int(b)) for a, b in params]
    if len(arms) < 2 or any(a < 1 or b < 1 for a, b in arms) or arms != [(*p,) for p in params]:
        raise ValueError("at least two arms with integer parameters >= 1 are needed")
    k_arms = len(arms)
    degrees = [a + b - 1 for a, b in arms]
    means = [fmpq(a, a + b) for a, b in arms]
    scale = [n * math.comb(n - 1, a - 1) for n, (a, _) in zip(degrees, arms, strict=True)]
    cdf = [_binomial_tail(n, a) for n, (a, _) in zip(degrees, arms, strict=True)]
    partial = [_binomial_tail(n + 1, a + 1) for n, (a, _) in zip(degrees, arms, strict=True)]
    prefix = [fmpz_poly([1])]  # prefix[i] = prod_{k < i} F_k
    suffix = [fmpz_poly([1])]  # reversed below: suffix[i] = prod_{k >= i} F_k
    for i in range(k_arms):
        prefix.append(prefix[-1] * cdf[i])
        suffix.append(suffix[-1] * cdf[k_arms - 1 - i])
    suffix.reverse()

    degree = sum(degrees)
    density_table, moment_table = _monomial_integrals(degree - 1), _monomial_integrals(degree)
    alpha: list[fmpq] = []
    moment = [[fmpq(0)] * k_arms for _ in arms]  # moment[j][i] = alpha_j M_{j,i}
    for j, (a_j, _) in enumerate(arms):
        others = prefix[j] * suffix[j + 1]
        alpha.append(scale[j] * _integral(density_table, others, a_j - 1))
        moment[j][j] = scale[j] * _integral(moment_table, others, a_j)
    for i in range(k_arms):
        running = prefix[i]  # prod_{k < j, k != i} F_k
        for j in range(i + 1, k_arms):
            others = running * suffix[j + 1]
            for s, t in ((i, j), (j, i)):  # density of s, partial mean of t
                value = _integral(moment_table, others * partial[t], arms[s][0] - 1)
                moment[s][t] = scale[s] * means[t] * value
            running *= cdf[j]

    assert sum(alpha, fmpq(0)) == 1
    conditional = [[moment[j][i] / alpha[j] for i in range(k_arms)] for j in range(k_arms)]
    rho = sum((moment[j][j] for j in range(k_arms)), fmpq(0))
    columns = [[row[i] for row in conditional] for i in range(k_arms)]
    return Beliefs(
        alpha=np.array([_to_float(q) for q in alpha]),
        delta=np.array([_to_float(rho - m) for m in means]),
        h=np.array([_exact_h(alpha, columns[i], means[i]) for i in range(k_arms)]),
        v=np.array([_exact_v(alpha, columns[i], means[i]) for i in range(k_arms)]),
        rho=_to_float(rho),
        conditional_means=np.array([[_to_float(q) for q in row] for row in conditional]),
    )


# 2. Optimisation over the simplex, entropy.


def _ratio(cost: float, information: float) -> float:
    """cost^2 / information, with 0 at cost 0 and +inf at positive cost without information."""
    if cost == 0.0:
        return 0.0
    return cost * (cost / information) if information > 0.0 else math.inf


def _bounded_minimum(function: Callable[[float], float]) -> float:
    """Minimum of a unimodal function over [0, 1], the end points included."""
    found = minimize_scalar(
        function, bounds=(0.0, 1.0), method="bounded", options={"xatol": 1e-14, "maxiter": 1000}
    )
    return min(function(0.0), function(1.0), float(found.fun))


def p1_bruteforce(delta: npt.ArrayLike, gain: npt.ArrayLike) -> float:
    """Minimum over pi on the simplex of (pi.delta)^2 / (pi.gain), by search over pairs of arms.

    Two arms suffice.  A mixture with pi.delta = 0 is worth 0, one with pi.gain = 0 < pi.delta is
    worth +inf, and nan is returned when all gains are zero.  Each pair (i, j) is searched over the
    probability q of j, and again over s with q = s d_i / (s d_i + (1-s) d_j): the optimal q is of
    the order of d_i / d_j, which an absolute tolerance in q misses when d_i is far below d_j.
    """
    d = [float(v) for v in np.asarray(delta, dtype=np.float64)]
    g = [float(v) for v in np.asarray(gain, dtype=np.float64)]
    if len(d) != len(g) or not d or min(g) < 0.0:
        raise ValueError("delta and gain must have one length, and gain no negative entry")
    if max(g) == 0.0:
        return math.nan
    if min(d) <= 0.0 <= max(d):
        return 0.0  # some mixture of at most two arms has pi.delta = 0
    order = sorted(range(len(d)), key=lambda arm: abs(d[arm]))
    best = min(_ratio(d[i], g[i]) for i in order)
    for position, i in enumerate(order):
        for j in order[position + 1 :]:

            def mixture(q: float, i: int = i, j: int = j) -> float:
                return _ratio((1.0 - q) * d[i] + q * d[j], (1.0 - q) * g[i] + q * g[j])

            def rescaled(s: float, i: int = i, j: int = j) -> float:
                return mixture(s * d[i] / (s * d[i] + (1.0 - s) * d[j]), i, j)

            best = min(best, _bounded_minimum(mixture), _bounded_minimum(rescaled))
    return best


def lp_value(delta: npt.ArrayLike, gain: npt.ArrayLike, threshold: float) -> float:
    """Minimise pi.delta subject to pi.gain >= min(threshold, max gain), pi on the simplex (HiGHS).

    Gain and delta are both divided by their largest size first, HiGHS having absolute tolerances
    (1e-10 here; it also reads matrix entries below 1e-9 as zero).
    """
    d = np.asarray(delta, dtype=np.float64)
    g = np.asarray(gain, dtype=np.float64)
    top, size = float(g.max()), float(np.abs(d).max())
    if size == 0.0:
        return 0.0
    constrained = top > 0.0
    solution = linprog(
        d / size,
        A_ub=-(g / top)[np.newaxis, :] if constrained else None,
        b_ub=[-min(threshold / top, 1.0)] if constrained else None,
        A_eq=np.ones((1, d.size)),
        b_eq=[1.0],
        bounds=(0.0, None),
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if not solution.success or solution.fun is None:
        raise ArithmeticError(f"linprog: {solution.message}")
    return float(solution.fun) * size


def entropy(alpha: npt.ArrayLike) -> float:
    """-sum_i alpha_i ln alpha_i in nats, with 0 ln 0 = 0."""
    return math.fsum(-v * math.log(v) for v in np.asarray(alpha, dtype=np.float64) if v > 0.0)
