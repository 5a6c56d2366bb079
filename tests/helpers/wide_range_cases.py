"""Hard posteriors over the whole range of parameters, and their true alpha, Delta, h.

``python -m helpers.wide_range_cases`` writes ``tests/fixtures/wide_truth.json``: the posteriors of
``stored_cases()`` with the values of ``wide_range_oracle.wide_beliefs``, each computed at two
resolutions that must agree to 1e-14 (it stops otherwise). Run it in ``tests/``. Parameters are
written by repr, which is exact; values have 17 digits, and values below 1e-40, for which the
oracle has no stated accuracy, are written as 0.
"""

import json
import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from helpers.wide_range_oracle import WideBeliefs, wide_beliefs

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


def tie(arms: int, size: float, gap: float, whole: bool = True) -> Params:
    """Arm k has mean (size + 2 k gap) / (2 size): Beta(size + k gap, size - k gap)."""
    step = max(1.0, round(gap)) if whole else gap
    return [(size + k * step, size - k * step) for k in range(arms)]


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


TINY = 1e-3
_TINY_PRIORS: list[Params] = [
    [(TINY, TINY)] * 2,
    [(TINY, TINY)] * 3,
    [(TINY, TINY)] * 10,
    [(TINY, TINY)] * 50,
    [(TINY, TINY), (1.0, 1.0)],
    [(TINY, TINY), (1e3, 1e3), (1e9, 1e9)],
    [(TINY, TINY), (1.0, 1.0), (1e3, 2e3), (1e9, 7e8), (TINY, 1e9), (1e9, TINY)],
    [(TINY, 1e9), (1e9, TINY)],
    [(TINY, 1e9), (TINY, 1e9)],
    [(TINY, 1e9), (2e-3, 9e8), (TINY, 1e8)],
    [(1e9, TINY), (1e9, TINY)],
    [(1e9, TINY), (9e8, 2e-3), (1e8, TINY)],
    [(TINY, 1e9), (TINY, 1.0), (TINY, TINY)],
    [(1e9, TINY), (1.0, TINY), (TINY, TINY)],
    [(TINY, 1.0), (1.0, TINY)],
    [(TINY, 1.0)] * 5,
    [(1.0, TINY)] * 5,
    [(1.001, TINY), (TINY, 1.001), (1.0, 1.0)],
    [(3.001, TINY), (TINY, 2.001), (TINY, TINY), (TINY, TINY)],
    [(57.001, 31.001), (TINY, 4.001), (12.001, TINY)],
    [(0.01, 0.02), (0.03, 0.001), (0.002, 0.5)],
    [(TINY, TINY), (1e9, 1e9)],
    [(1e9, 1e3), (TINY, TINY), (1e9, 1.5e3)],
    [(1e3, 1e9), (TINY, TINY), (1.1e3, 1e9), (TINY, 0.3)],
]
_NEAR_THE_ENDS: list[Params] = [
    [(0.5, 1e6), (0.5, 1e6)],
    [(0.5, 1e6), (3.7, 1e9), (1.0, 2e6)],
    [(1e6, 0.5), (1e6, 0.7)],
    [(1e6, 0.5), (1e9, 3.7), (2e6, 1.0)],
    [(0.5, 1e6), (1e6, 0.5)],
    [(3.7, 1e9), (4.1, 1e9), (3.9, 0.9e9), (1e-3, 1e6)],
    [(1e9, 3.7), (1e9, 4.1), (0.9e9, 3.9), (1e6, 1e-3)],
    [(3.7, 1e9), (1e9, 3.7), (2.5, 2.5)],
    [(1.0, 1e9), (1.0, 1e9), (2.0, 1e9), (30.0, 1e9)],
    [(1e9, 1.0), (1e9, 1.0), (1e9, 2.0), (1e9, 30.0)],
    [(400.0, 1e9), (420.0, 1e9), (300.0, 9e8)],
    [(1e9, 400.0), (1e9, 420.0), (9e8, 300.0)],
    [(0.5, 1e6)] * 20 + [(0.6, 1e6)],
    [(1e6, 0.5)] * 20 + [(1e6, 0.4)],
    [(1.5, 1e5), (15.5, 1e6), (155.5, 1e7), (1555.5, 1e8)],
    [(1e5, 1.5), (1e6, 15.5), (1e7, 155.5), (1e8, 1555.5)],
]


def _observed_cases() -> Iterator[Case]:
    for seed, arms in enumerate([2, 2, 3, 3, 4, 5, 6, 8, 10, 10, 15, 20, 30, 50]):
        for least, most in ((1e3, 1e6), (1e6, 1e6)):
            params = observed(seed, arms, least, most)
            yield Case(f"observed {least:g} to {most:g}, {arms} arms, seed {seed}", params)
    for seed, arms in enumerate([2, 3, 5, 10]):
        for least in (1e3, 1e9):
            params = observed(100 + seed, arms, least, 1e9, whole=seed % 2 == 0)
            yield Case(f"observed {least:g} to 1e9, {arms} arms, seed {100 + seed}", params)
    for seed, arms in enumerate([2, 3, 3, 4, 4, 5, 6, 8, 10, 12], start=150):
        params = observed(seed, arms, 2e-3, 1e9, whole=False)
        yield Case(f"observed 0.002 to 1e9, {arms} arms, seed {seed}", params)


def _tie_cases() -> Iterator[Case]:
    for arms in (2, 3, 10):
        yield Case(f"tie at 500000, {arms} arms", tie(arms, 500000.0, 100.0))
        for size in (1e3, 1e5, 5e8):
            for share in (0.02, 0.5):
                gap = share * math.sqrt(size / 2)
                whole = share == 0.5
                name = f"tie at {size:g}, {share:g} deviations, {arms} arms"
                yield Case(name, tie(arms, size, gap, whole))


def _led_cases() -> Iterator[Case]:
    shapes = [(2, 0.0, 1.0), (3, 0.7, 1.0), (2, -1.5, 7.0), (4, 2.0, 1 / 3), (2, 0.3, 1e4)]
    every, some = [10.0**k for k in range(1, 10)], [1e1, 1e3, 1e5, 1e7, 1e9]
    number = 0
    for deviations in (5, 7, 8.5, 10, 11, 12, 40):
        for size in every if deviations in (5, 10, 12) else some:
            arms, centre, ratio = shapes[number % len(shapes)]
            number += 1
            name = f"led by {deviations}, size {size:g}, {arms} arms, ratio {ratio:.3g}"
            yield Case(name, led(deviations, size, arms, centre, ratio))
        number += 1  # so that a size meets other shapes


def _equal_cases() -> Iterator[Case]:
    for count in (2, 9, 25, 49):
        for many, one in (
            ((1.0, 1.0), (3.0, 2.0)),
            ((0.001, 0.7), (12.5, 900.25)),
            ((4e5, 6e5), (400900.0, 599100.0)),
            ((1e9, 1e8), (30.0, 3.0)),
        ):
            name = f"{count} times Beta({many[0]:g}, {many[1]:g}) and Beta({one[0]:g}, {one[1]:g})"
            yield Case(name, [many] * count + [one])


def stored_cases() -> list[Case]:
    """The posteriors of the fixture."""
    return [
        *_observed_cases(),
        *_tie_cases(),
        *_led_cases(),
        *(Case(f"tiny priors {k}", params) for k, params in enumerate(_TINY_PRIORS)),
        *(Case(f"log-uniform, seed {s}", log_uniform(s, 2 + s % 7)) for s in range(42)),
        *_equal_cases(),
        *(Case(f"near the ends {k}", params) for k, params in enumerate(_NEAR_THE_ENDS)),
    ]


def live_cases() -> list[Case]:
    """Smaller posteriors, not in the fixture, whose truths the tests compute as they run."""
    return [
        *(
            Case(f"live observed, seed {s}", observed(s, 2 + s % 3, 1e1, 1e6))
            for s in range(200, 208)
        ),
        *(Case(f"live log-uniform, seed {s}", log_uniform(s, 2 + s % 3)) for s in range(200, 214)),
        *(Case(f"live led by {z:g}", led(z, 3.0**z, 2, -0.4, 2.0)) for z in (4.0, 6.0, 9.0, 11.0)),
        *(Case(f"live tie at {n:g}", tie(3, n, 0.3, whole=False)) for n in (1.0, 40.0, 3e4, 9e8)),
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


def _strings(values: np.ndarray) -> list[str]:
    return [format(float(value), ".17g") if value >= 1e-40 else "0" for value in values]


def write_fixture() -> None:
    """Compute every truth twice and write the file."""
    entries = []
    for case in stored_cases():
        truth = wide_beliefs(case.params, resolution=2)
        apart = largest_disagreement(wide_beliefs(case.params), truth)
        if apart > 1e-14:
            sys.exit(f"{case.name}: resolutions 1 and 2 differ by {apart:g}; nothing is written")
        entry = {
            "name": case.name,
            "a": [repr(a) for a, _ in case.params],
            "b": [repr(b) for _, b in case.params],
            "alpha": _strings(truth.alpha),
            "delta": _strings(truth.delta),
            "h": _strings(truth.h),
            "rho": format(truth.rho, ".17g"),
        }
        entries.append(json.dumps(entry))
        print(f"{case.name}: resolutions differ by {apart:.1g}", flush=True)
    FIXTURE.write_text("[\n" + ",\n".join(entries) + "\n]\n")


if __name__ == "__main__":
    write_fixture()
