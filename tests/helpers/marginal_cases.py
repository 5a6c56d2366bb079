"""Random posteriors of the families with one-dimensional densities, and their stored truth."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

FIXTURES = Path(__file__).parents[1] / "fixtures"
#: Parameters of an arm, in the order of the kernels.
Arms = list[list[float]]


@dataclass(frozen=True)
class MarginalCase:
    """Parameters of the arms, and the exact statistics.

    Attributes
    ----------
    name : str
        Unique name.
    arms : list of list of float
        Parameters of the posterior of each arm.
    truth : dict of str to ndarray
        alpha, delta, h and v.
    """

    name: str
    arms: Arms
    truth: dict[str, np.ndarray]


def read_truth(family: str) -> list[MarginalCase]:
    """Read the stored cases of a family."""
    stored = json.loads((FIXTURES / f"{family}_truth.json").read_text())
    return [
        MarginalCase(
            name,
            case["arms"],
            {key: np.array(case[key]) for key in ("alpha", "delta", "h", "v")},
        )
        for name, case in stored.items()
    ]


def normal_case(kind: str, rng: np.random.Generator) -> Arms:
    """Parameters (mean, sd, noise) of a random problem; the noise is the same for all arms."""
    count = int(rng.integers(2, 6))
    mean, sd = rng.normal(0.0, 1.0, count), np.exp(rng.normal(-0.5, 0.7, count))
    noise = 10.0 ** rng.uniform(-0.5, 1.5)
    if kind == "far":  # the first arm is far below: values down to 1e-30
        mean[0] = mean[1:].max() - rng.uniform(4.0, 11.0) * np.hypot(sd[0], sd[1])
    elif kind == "wide":  # one wide arm and narrow ones
        sd[1:] *= 10.0 ** rng.uniform(-4.0, -1.0)
        mean[1:] = rng.normal(0.0, 3.0) * sd[0] + rng.normal(0.0, 2.0, count - 1) * sd[1:]
        noise = max(noise, 0.3 * sd[0])
    elif kind == "equal":
        same = rng.integers(0, 2, count)
        mean, sd = mean[same], sd[same]
    elif kind == "quiet":  # a tiny noise
        noise = 10.0 ** rng.uniform(-0.9, -0.4) * sd.max()
    elif kind == "noisy":  # a huge noise
        noise = 10.0 ** rng.uniform(1.0, 5.0)
    elif kind == "narrow":  # many observations
        sd *= 10.0 ** rng.uniform(-3.0, -1.0)
        mean *= 4.0 * sd.max()
    elif kind == "many":
        count = int(rng.choice([10, 20, 50], p=[0.7, 0.2, 0.1]))
        mean, sd = rng.normal(0.0, 1.0, count), np.exp(rng.normal(-0.5, 0.4, count))
        noise = 10.0 ** rng.uniform(0.0, 1.0)
    scale = 10.0 ** rng.uniform(-8.0, 8.0)
    shift = rng.choice([0.0, 0.0, 1.0, -1e3, 1e6])
    return [[m, s, noise * scale] for m, s in zip((mean + shift) * scale, sd * scale, strict=True)]


def student_case(kind: str, rng: np.random.Generator) -> Arms:
    """Parameters (mean, count, shape, scale) of a random problem."""
    count = int(rng.integers(2, 5))
    mean = rng.normal(0.0, 1.0, count)
    number = 10.0 ** rng.uniform(0.0, 1.5, count)
    shape = 2.0 + number / 2.0 + rng.uniform(0.0, 3.0, count)
    variance = np.exp(rng.normal(0.0, 0.7, count))
    if kind == "heavy":  # few degrees of freedom
        number, shape = rng.uniform(0.5, 3.0, count), rng.uniform(1.3, 3.0, count)
    elif kind == "far":
        number += 40.0
        shape += 20.0
        mean[0] = mean[1:].max() - rng.uniform(1.0, 2.5)
    elif kind == "equal":
        same = rng.integers(0, 2, count)
        mean, number, shape, variance = (v[same] for v in (mean, number, shape, variance))
    elif kind == "narrow":
        number *= 10.0 ** rng.uniform(1.0, 5.0)
        shape = 1.0 + number / 2.0
        mean *= 3.0 / np.sqrt(number.min())
    elif kind == "wide":
        number[1:] *= 10.0 ** rng.uniform(1.0, 4.0)
        shape[1:] += number[1:] / 2.0
    elif kind == "many":
        count = 10
        mean, number = rng.normal(0.0, 0.5, count), rng.uniform(3.0, 12.0, count)
        shape, variance = 2.0 + number / 2.0, np.exp(rng.normal(0.0, 0.3, count))
    scale = 10.0 ** rng.uniform(-8.0, 8.0)
    shift = rng.choice([0.0, 0.0, 1.0, 1e3])
    b = shape * variance * scale**2
    return [
        [float(v) for v in arm]
        for arm in zip((mean + shift) * scale, number, shape, b, strict=True)
    ]


def gamma_case(kind: str, rng: np.random.Generator) -> Arms:
    """Parameters (shape, rate) of a random problem."""
    count = int(rng.integers(2, 6))
    shape, rate = 10.0 ** rng.uniform(-0.5, 1.5, count), 10.0 ** rng.uniform(-0.3, 1.0, count)
    if kind == "small":  # rates near 0
        shape = 10.0 ** rng.uniform(-2.0, 0.0, count)
    elif kind == "far":
        mean = 10.0 ** rng.uniform(0.0, 1.0, count)
        rate = 10.0 ** rng.uniform(0.7, 2.0, count)
        mean[0] = mean[1:].max() / rng.uniform(1.5, 6.0)
        shape = mean * rate
    elif kind == "equal":
        same = rng.integers(0, 2, count)
        shape, rate = shape[same], rate[same]
    elif kind == "narrow":  # many observations
        mean = 10.0 ** rng.uniform(-1.0, 1.5)
        rate = 10.0 ** rng.uniform(2.0, 6.0, count)
        shape = mean * rate * (1.0 + rng.normal(0.0, 2.0, count) / np.sqrt(mean * rate.min()))
        shape = np.maximum(shape, 0.5)
    elif kind == "large":  # large counts
        mean = 10.0 ** rng.uniform(2.0, 4.0)
        rate = 10.0 ** rng.uniform(0.0, 2.0, count)
        shape = mean * rate * np.maximum(0.05, 1.0 + rng.normal(0.0, 2.0, count) / np.sqrt(mean))
    elif kind == "many":
        count = 10
        shape, rate = rng.uniform(2.0, 30.0, count), rng.uniform(2.0, 5.0, count)
    return [[float(a), float(b)] for a, b in zip(shape, rate, strict=True)]


MAKERS = {"normal": normal_case, "student": student_case, "gamma": gamma_case}
KINDS = {
    "normal": ("plain", "far", "wide", "equal", "quiet", "noisy", "narrow", "plain", "far", "many"),
    "student": ("plain", "heavy", "far", "equal", "narrow", "wide", "plain", "far", "many"),
    "gamma": ("plain", "small", "far", "equal", "narrow", "large", "plain", "far", "many"),
}


def random_case(family: str, number: int) -> tuple[str, Arms]:
    """Return the name and the parameters of a random problem."""
    kinds = KINDS[family]
    kind = kinds[number % len(kinds)]
    rng = np.random.default_rng([number, len(family)])
    arms = MAKERS[family](kind, rng)
    return f"{kind} {number}", [[float(v) for v in arm] for arm in arms]
