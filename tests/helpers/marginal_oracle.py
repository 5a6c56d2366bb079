"""Oracle of alpha, Delta, h and v for families with one-dimensional densities.

It is independent of the package: extended precision (NumPy's longdouble), unnormalised densities
that are normalised by quadrature, a fixed fine grid over all arms without neglected intervals, and
no closed form of a distribution function, a moment or a constant. Outcomes of counts are summed one
by one, or with a stride (the trapezoidal rule is exact up to rounding for a smooth sum).
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

#: Extended precision: 64 bits of mantissa and an exponent range of 1e4932 on x86.
Long = np.longdouble
NODES = 20
#: Log densities below the largest by this much are neglected: exp(-115) = 1e-50.
DEPTH = 115.0


def _gauss(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Nodes, weights and the matrix of integrals from -1 to each node, in extended precision."""
    x = np.polynomial.legendre.leggauss(n)[0].astype(Long)
    for _ in range(3):  # Newton's method on P_n
        p = _legendre(x, n)
        slope = n * (p[n - 1] - x * p[n]) / (1 - x * x)
        x = x - p[n] / slope
    p = _legendre(x, n)
    slope = n * (p[n - 1] - x * p[n]) / (1 - x * x)
    w = 2 / ((1 - x * x) * slope * slope)
    p = _legendre(x, n)
    integrals = np.empty((n, n), Long)
    integrals[0] = x + 1
    for k in range(1, n):
        integrals[k] = (p[k + 1] - p[k - 1]) / Long(2 * k + 1)
    coefficients = (np.arange(n).astype(Long) + Long(0.5))[:, None] * p[:n] * w
    return x, w, np.einsum("kj,ki->ji", coefficients, integrals)


def _legendre(x: np.ndarray, n: int) -> list[np.ndarray]:
    p = [np.ones_like(x), x]
    for k in range(1, n + 1):
        p.append(((2 * k + 1) * x * p[k] - k * p[k - 1]) / Long(k + 1))
    return p


NODE, WEIGHT, CUMULATE = _gauss(NODES)


@dataclass(frozen=True)
class Family:
    """A family: places t with x(t), log densities on the axis, scales, and outcomes.

    ``after`` returns the log of the ratio L(y | x) / p(y) at places t up to a constant for each y,
    and the log weight of each outcome (log of dy times a factor common to all y).
    """

    name: str

    def centre(self, arm, origin):
        raise NotImplementedError

    def x(self, t, origin):
        return origin + t

    def dx(self, t, origin):
        return np.ones_like(t)

    def log_constant(self, arm, y):
        """Return the log of a factor of L that depends on y only."""
        return np.zeros_like(y)


class NormalFamily(Family):
    """Parameters (mean, sd, noise)."""

    def mean(self, arm):
        return Long(arm[0])

    def centre(self, arm, origin):
        return Long(arm[0]) - origin

    def log_density(self, arm, origin, t):
        z = (t - self.centre(arm, origin)) / Long(arm[1])
        return -z * z / 2

    def ends(self, arm, origin):
        far = np.sqrt(Long(2 * DEPTH)) * arm[1]
        return self.centre(arm, origin) - far, self.centre(arm, origin) + far

    def scale(self, arm, origin, t):
        return Long(arm[1])

    def slope(self, arm, origin, t):
        return abs(t - self.centre(arm, origin)) / Long(arm[1]) ** 2

    def narrow(self, arm):
        """Scale after an outcome relative to that before."""
        return Long(arm[2]) / np.hypot(Long(arm[1]), Long(arm[2]))

    def outcomes(self, arm, origin, width):
        """Outcomes y - m and their weights dy."""
        sd = np.hypot(Long(arm[1]), Long(arm[2]))
        far = np.sqrt(Long(2 * DEPTH))
        y, w = _panels(-far, far, lambda e: min(Long(2), width / (Long(arm[1]) ** 2 / sd)))
        return y * sd, w

    def log_likelihood(self, arm, origin, y, t):
        """Log L(y | x) up to a constant, with one row per outcome."""
        z = (y[:, None] - (t - self.centre(arm, origin))) / Long(arm[2])
        return -z * z / 2


class StudentFamily(NormalFamily):
    """Parameters (mean, count, shape, scale)."""

    def _scale(self, arm):
        return np.sqrt(Long(arm[3]) / (Long(arm[1]) * Long(arm[2])))

    def log_density(self, arm, origin, t):
        z = (t - self.centre(arm, origin)) ** 2 * Long(arm[1]) / (2 * Long(arm[3]))
        return -(Long(arm[2]) + Long(0.5)) * np.log1p(z)

    def ends(self, arm, origin):
        a = Long(arm[2])
        far = np.sqrt(2 * a * np.expm1(np.minimum(DEPTH / max(a - 1, Long(0.05)), Long(80.0))))
        far = min(far, Long(1e18)) * self._scale(arm)
        return self.centre(arm, origin) - far, self.centre(arm, origin) + far

    def scale(self, arm, origin, t):
        s, a = self._scale(arm), Long(arm[2])
        z = (t - self.centre(arm, origin)) / s
        return s * np.sqrt((2 * a + z * z) * min(1 / (2 * a + 1), Long(0.2)))

    def slope(self, arm, origin, t):
        return Long(0)

    def narrow(self, arm):
        n = Long(arm[1])
        return np.sqrt(n / (n + 1))

    def outcomes(self, arm, origin, width):
        n, a, b = (Long(v) for v in arm[1:])
        sd = np.sqrt(b * (n + 1) / (a * n))
        far = np.sqrt(2 * a * np.expm1(min((75 if a < 5 else 105) / a, Long(110.0))))
        most = width * (n + 1) / sd

        def step(e):
            grown = np.sqrt((2 * a + e * e) * min(1 / (2 * a + 1), Long(0.2)))
            return min(grown, max(most, Long(0.5) * abs(e)))

        y, w = _panels(-far, far, step)
        return y * sd, w

    def log_likelihood(self, arm, origin, y, t):
        x = t - self.centre(arm, origin)
        q = Long(arm[3]) + Long(arm[1]) * x * x / 2
        apart = (y[:, None] - x) ** 2 / (2 * q)
        return -np.log(q) / 2 - (Long(arm[2]) + 1) * np.log1p(apart)


class GammaFamily(Family):
    """Parameters (shape, rate), on the axis t = log(x / origin)."""

    def mean(self, arm):
        return Long(arm[0]) / Long(arm[1])

    def centre(self, arm, origin):
        return np.log(self.mean(arm) / origin)

    def x(self, t, origin):
        return origin * np.exp(t)

    def dx(self, t, origin):
        return origin * np.exp(t)

    def log_density(self, arm, origin, t):
        d = t - self.centre(arm, origin)
        return -Long(arm[0]) * (np.expm1(d) - d)

    def ends(self, arm, origin):
        y = DEPTH / Long(arm[0])
        far = y + np.sqrt(2 * y)
        d = np.log1p(far)
        d -= (np.expm1(d) - d - y) / np.expm1(d)  # a Newton step ends outside
        return self.centre(arm, origin) - far, self.centre(arm, origin) + d

    def scale(self, arm, origin, t):
        bx = Long(arm[0]) * np.exp(t - self.centre(arm, origin))
        return min(1 / np.sqrt(bx), max(Long(0.7), -Long(0.1) * np.log(bx)))

    def slope(self, arm, origin, t):
        return Long(arm[0]) * abs(np.expm1(t - self.centre(arm, origin)))

    def narrow(self, arm):
        b = Long(arm[1])
        return np.sqrt(b / (b + 1))

    def outcomes(self, arm, origin, width):
        a, b = float(arm[0]), float(arm[1])
        sd = np.sqrt(a / b * (1 + 1 / b))
        high = np.ceil(a / b + 22 * sd + 260 * (1 + 1 / b))
        low = max(0.0, np.floor(a / b - 16 * sd))
        stride = max(1.0, np.floor(np.sqrt(a / b) / 8.0)) if low > 0.0 else 1.0
        y = np.arange(low, high + 1.0, stride).astype(Long)
        return y, np.full(y.shape, Long(stride))

    def log_likelihood(self, arm, origin, y, t):
        d = t - self.centre(arm, origin)
        m = self.mean(arm)
        return (y[:, None] - m) * d - m * (np.expm1(d) - d)

    def log_constant(self, arm, y):
        """Log of m^y / y!, relative to its largest value, by sums of logarithms."""
        found = self._log_poisson(y, self.mean(arm))
        return found - found.max()

    def _log_poisson(self, y, m):
        if len(y) < 2 or y[1] - y[0] == 1:
            steps = np.log(m / np.maximum(y, 1))
            steps[0] = 0
            return np.cumsum(steps)
        u = 1 / (y * y)
        series = (Long(1) / 12 - u * (Long(1) / 360 - u * (Long(1) / 1260))) / y
        return y * np.log(m / y) + y - np.log(y) / 2 - series


def _panels(low, high, width):
    """Gauss-Legendre nodes and weights on panels from low to high, of the given local widths."""
    edges = [Long(low)]
    while edges[-1] < high:
        t = edges[-1]
        w = width(t)
        while w > Long(1.3) * min(width(t + w / 2), width(t + w)):
            w = w * Long(0.8)
        edges.append(Long(high) if t + Long(1.2) * w > high else t + w)
    edge = np.array(edges, Long)
    half = np.diff(edge) / 2
    return (
        (edge[:-1, None] + half[:, None] * (1 + NODE)).ravel(),
        (half[:, None] * WEIGHT).ravel(),
    )


def oracle(family, arms, with_h=True):
    """Return alpha, Delta, h, v as lists of floats, for a list of parameters of arms."""
    arms = [tuple(map(float, arm)) for arm in arms]
    origin = max(family.mean(arm) for arm in arms)
    ends = [family.ends(arm, origin) for arm in arms]
    low, high = min(e[0] for e in ends), max(e[1] for e in ends)
    starts = sorted({e[0] for e in ends} | {e[1] for e in ends} | {low, high})
    places, weights = [], []
    for left, right in itertools.pairwise(starts):
        alive = [k for k, e in enumerate(ends) if e[0] < right and e[1] > left]

        def width(t, alive=alive):
            return min(
                min(
                    Long(2)
                    * family.scale(arms[k], origin, t)
                    * (family.narrow(arms[k]) if with_h else 1),
                    8 / max(family.slope(arms[k], origin, t), Long(1e-300)),
                )
                for k in alive
            )

        if not alive:
            alive = list(range(len(arms)))
            t, w = _panels(left, right, lambda _t, gap=right - left: gap)
        else:
            t, w = _panels(left, right, width)
        places.append(t)
        weights.append(w)
    t, dt = np.concatenate(places), np.concatenate(weights)
    panels = len(t) // NODES
    half = (dt.reshape(panels, NODES).sum(axis=1) / 2)[:, None]

    def cumulated(values):
        """Integrals from the left and from the right to each node."""
        table = values.reshape(panels, NODES)
        inside = np.einsum("pj,ji->pi", table, CUMULATE) * half
        mass = np.einsum("pj,j->p", table, WEIGHT) * half[:, 0]
        before = np.concatenate([[Long(0)], np.cumsum(mass)[:-1]])[:, None]
        behind = np.concatenate([np.cumsum(mass[::-1])[::-1][1:], [Long(0)]])[:, None]
        return (before + inside).ravel(), (behind + (mass[:, None] - inside)).ravel()

    count = len(arms)
    dx = family.dx(t, origin) * dt
    g = [np.exp(family.log_density(arm, origin, t)) for arm in arms]
    g = [one / (one * dt).sum() for one in g]
    lower, upper = zip(*(cumulated(one) for one in g), strict=True)
    lower = [np.maximum(one, Long("1e-4000")) for one in lower]
    upper = [np.maximum(one, Long(0)) for one in upper]
    log_f = [
        np.where(s < 0.5, np.log1p(-np.minimum(s, Long(0.5))), np.log(f))
        for f, s in zip(lower, upper, strict=True)
    ]
    total = sum(log_f)
    alpha = [(g[k] * np.exp(total - log_f[k]) * dt).sum() for k in range(count)]
    leader = max(range(count), key=lambda k: family.mean(arms[k]))
    top = family.mean(arms[leader])
    others = sum(log_f[k] for k in range(count) if k != leader)
    regret = (np.exp(log_f[leader]) * -np.expm1(others) * dx).sum()
    delta = [regret + (top - family.mean(arm)) for arm in arms]
    v = []
    for i in range(count):
        m = family.mean(arms[i])
        if isinstance(family, GammaFamily):
            gap = -m * np.expm1(t - family.centre(arms[i], origin))
        else:
            gap = family.centre(arms[i], origin) - t
        left = cumulated(gap * g[i])[0]
        right = cumulated(-gap * g[i])[1]
        moment = np.where(gap > 0, left, right)
        w = [
            (moment * g[j] * np.exp(total - log_f[i] - log_f[j]) * dt).sum() if j != i else Long(0)
            for j in range(count)
        ]
        v.append(sum(w[j] ** 2 / alpha[j] for j in range(count) if j != i) + sum(w) ** 2 / alpha[i])
    h = []
    for i in range(count if with_h else 0):
        rest = total - log_f[i]
        pivot = int(np.argmax(lower[i] >= 0.5)) // NODES * NODES
        table = []
        for j in range(count):
            if j == i:
                continue
            # V_j(x) - V_j(pivot), summed from the pivot outward
            by_panel = (g[j] * np.exp(rest - log_f[j])).reshape(panels, NODES)
            inside = np.einsum("pj,ji->pi", by_panel, CUMULATE) * half
            mass = np.einsum("pj,j->p", by_panel, WEIGHT) * half[:, 0]
            p0 = pivot // NODES
            value = np.empty((panels, NODES), Long)
            running = Long(0)
            for p in range(p0, panels):
                value[p] = -(running + inside[p])
                running += mass[p]
            running = Long(0)
            for p in range(p0 - 1, -1, -1):
                value[p] = running + (mass[p] - inside[p])
                running += mass[p]
            table.append(value.ravel())
        kept = g[i] * dt > 1e-50
        density = (g[i] * dt)[kept]
        value = np.stack(table)[:, kept]
        here = t[kept]
        others = [alpha[j] for j in range(count) if j != i]
        # probabilities change on the scale of the posterior after the outcome
        scale = family.scale(arms[i], origin, family.centre(arms[i], origin))
        width = Long(1.7) * scale * family.narrow(arms[i])
        y, weight = family.outcomes(arms[i], origin, width)
        found, mass = Long(0), Long(0)
        constant = family.log_constant(arms[i], y)
        for begin in range(0, len(y), 64):
            part = slice(begin, begin + 64)
            log_l = family.log_likelihood(arms[i], origin, y[part], here)
            # relative to the value at the mode of the posterior after the outcome
            mode = (log_l + np.log(density)).argmax(axis=1)[:, None]
            reference = np.take_along_axis(log_l, mode, axis=1)
            change = np.expm1(log_l - reference)  # L(y | x) / L(y | x0) - 1
            mean = (density * change).sum(axis=1)[:, None]
            lift = np.exp(log_l - reference)
            norm = (density * lift).sum(axis=1)[:, None]
            p = np.exp(reference[:, 0] + constant[part]) * norm[:, 0] * weight[part]
            # (1 + change cancels if most of the density is at places with a tiny likelihood)
            tilt = np.where(norm < 0.5, lift / norm - 1, (change - mean) / norm)
            u = np.einsum("yx,jx->yj", tilt * density, value)
            own = -u.sum(axis=1)
            d = sum(_alpha_phi(u[:, k], others[k]) for k in range(len(others)))
            found += (p * (d + _alpha_phi(own, alpha[i]))).sum()
            mass += p.sum()
        h.append(found / mass)
    return {
        "alpha": [float(a) for a in alpha],
        "delta": [float(d) for d in delta],
        "h": [float(a) for a in h],
        "v": [float(a) for a in v],
    }


def _alpha_phi(change, alpha):
    """alpha phi(change / alpha), phi(u) = (1 + u) log(1 + u) - u."""
    u = np.maximum(change / alpha, Long(-1))
    small = np.abs(u) < 1e-3
    w = np.where(small, u, 0)
    series = (
        w * w * (Long(1) / 2 - w * (Long(1) / 6 - w * (Long(1) / 12 - w * (Long(1) / 20 - w / 30))))
    )
    series -= w**7 * (Long(1) / 42 - w / 56)
    big = np.where(small, 0, u)
    direct = np.where(big > -1, (1 + big) * np.log1p(np.maximum(big, Long(-1) + Long(1e-19))), 0)
    return alpha * np.where(small, series, direct - big)
