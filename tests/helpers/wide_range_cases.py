"""Hard posteriors over the whole range of parameters, and their true alpha, Delta, h.

``tests/fixtures/wide_truth.json`` has posteriors and the values of ``wide_range_oracle`` at two
resolutions that agree to 1e-14. Values below 1e-40, for which the oracle has no stated
accuracy, are 0. The nightly tests compute the values again.
"""

import json
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from helpers.wide_range_oracle import WideBeliefs

FIXTURE = Path(__file__).parents[1] / "fixtures" / "wide_truth.json"
LEAST, MOST = 1e-3, 1e9
Params = list[tuple[float, float]]


@dataclass(frozen=True)
class Case:
    """Posteriors with a name that describes the difficulty."""

    name: str
    params: Params


def _pair(size: float, logit: float, whole: bool = False) -> tuple[float, float]:
    """Beta parameters of about this sum whose mean has this logit, within the range."""
    a, b = size / (1.0 + math.exp(-logit)), size / (1.0 + math.exp(logit))
    if whole:
        a, b = max(1.0, round(a)), max(1.0, round(b))
    return min(max(a, LEAST), MOST), min(max(b, LEAST), MOST)


def observed(seed: int, arms: int, least: float, most: float, whole: bool = True) -> Params:
    """Sizes log-uniform in [least, most], means within a few standard deviations of another."""
    rng = np.random.default_rng([1, seed])
    sizes = np.exp(rng.uniform(math.log(least), math.log(most), arms))
    centre, spread = rng.uniform(-2.0, 2.0), rng.choice([0.5, 2.0, 6.0])
    # 1 / sqrt(size p (1-p)) is the standard deviation of the logit
    scale = (np.exp(centre / 2) + np.exp(-centre / 2)) / np.sqrt(sizes)
    logits = np.clip(centre + spread * scale * rng.standard_normal(arms), -25.0, 25.0)
    return [_pair(float(n), float(u), whole) for n, u in zip(sizes, logits, strict=True)]


def led(deviations: float, size: float, arms: int, centre: float, ratio: float) -> Params:
    """One arm ahead by so many standard deviations of the difference of the logits."""
    spread = math.exp(centre / 2) + math.exp(-centre / 2)
    gap = deviations * spread * math.sqrt(1.0 / size + ratio / size)
    rest = [_pair(size / ratio, centre - gap * (0.5 + 0.05 * k)) for k in range(arms - 1)]
    return [*rest, _pair(size, centre + 0.5 * gap)]


def log_uniform(seed: int, arms: int) -> Params:
    """Both parameters log-uniform over the whole range, every second one rounded to an integer."""
    rng = np.random.default_rng([5, seed])
    values = np.exp(rng.uniform(math.log(LEAST), math.log(MOST), (arms, 2)))
    round_them = (rng.random((arms, 2)) < 0.5) & (values > 1.0)
    values = np.where(round_them, np.rint(values), values)
    return [(float(a), float(b)) for a, b in values]


def live_cases() -> list[Case]:
    """Smaller posteriors, not in the fixture, whose truths the tests compute as they run."""
    return [
        *(
            Case(f"live observed, seed {s}", observed(s, 2 + s % 3, 1e1, 1e6))
            for s in range(200, 208)
        ),
        *(Case(f"live log-uniform, seed {s}", log_uniform(s, 2 + s % 3)) for s in range(200, 214)),
        *(Case(f"live led by {z:g}", led(z, 3.0**z, 2, -0.4, 2.0)) for z in (4.0, 6.0, 9.0, 11.0)),
        *(
            Case(f"live tie at {n:g}", [(n + 0.3 * k, n - 0.3 * k) for k in range(3)])
            for n in (1.0, 40.0, 3e4, 9e8)
        ),
        # equal arms far below the leader: their joint tail must not come from 1 - F
        Case("live equals behind", [(1.0, 1.0), (1e9, 1e-3), (1.0, 1.0), (1.0, 1.0)]),
        Case("live equals led", [(80.0, 20.0), (20.0, 80.0), (20.0, 80.0), (3.0, 1.0)]),
        Case("live twelve equals", [(1e6, 100.0), *[(7.0, 3.0)] * 12]),
        # a log density that is the difference of terms of 1e9 if taken from the leader's
        Case("live narrow under wide", [(2.0, 1.0), (5e8, 5.1e8)]),
        Case("live two narrow under wide", [(5.0, 0.5), (1e9, 1e9), (999999999.0, 1e9)]),
    ]


def largest_disagreement(one: WideBeliefs, other: WideBeliefs, above: float = 1e-32) -> float:
    """The largest relative difference of alpha, Delta, h, v where the second is above the level.

    Of v where both have it.
    """
    worst = abs(one.rho / other.rho - 1.0)
    both = one.v is not None and other.v is not None
    for name in ("alpha", "delta", "h", "v") if both else ("alpha", "delta", "h"):
        mine, theirs = getattr(one, name), getattr(other, name)
        large = theirs > above
        worst = max(worst, float(np.max(np.abs(mine[large] / theirs[large] - 1.0), initial=0.0)))
    return worst


def read_fixture() -> list[tuple[Case, WideBeliefs]]:
    """The cases of the fixture with their truths."""
    found = []
    for entry in json.loads(FIXTURE.read_text()):
        params = [(float(a), float(b)) for a, b in zip(entry["a"], entry["b"], strict=True)]
        alpha, delta, h = (np.array(entry[name], dtype=float) for name in ("alpha", "delta", "h"))
        truth = WideBeliefs(alpha=alpha, delta=delta, h=h, rho=float(entry["rho"]))
        found.append((Case(entry["name"], params), truth))
    return found
