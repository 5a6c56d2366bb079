"""Statistics of arms whose posteriors all differ: by moments and from all pairs of arms."""

from __future__ import annotations

from typing import Any

import numpy as np
from display import Table, count, digits, seconds
from processes import MEGABYTE, forget_peak, in_fresh_process, memory_now, peak_memory
from settings import Settings
from timing import growth_exponent, least_wall_and_cpu, wall_and_cpu

from graphbandits import BetaBernoulli
from graphbandits._types import Floats
from graphbandits.posteriors._beta_kernels import beliefs_kernel
from graphbandits.posteriors._shape_kernels import SIMULATION

#: The time of all pairs of more arms is not measured: it would take minutes.
MOST_PAIRED = 10_000
KINDS = {
    "scattered": "a and b uniform from 1 to 21",
    "uniform priors": "a and b uniform from 1 to 1.01",
    "near ties": "means 0.5 with a deviation of 0.001, a + b uniform from 10 to 1000",
}


def parameters(kind: str, arms: int, seed: int) -> Floats:
    """Parameters a and b of all arms."""
    rng = np.random.default_rng(seed)
    if kind == "near ties":
        mean = rng.normal(0.5, 1e-3, arms)
        return rng.uniform(10.0, 1000.0, arms) * np.array([mean, 1.0 - mean])
    return rng.uniform(1.0, 21.0 if kind == "scattered" else 1.01, (2, arms))


def measure(settings: Settings, earlier: dict[str, Any]) -> dict[str, Any]:
    """Every kind and number of arms, each in a fresh process."""
    cases = [
        in_fresh_process(statistics_of, kind, arms, settings.seed, settings.seconds)
        for kind in KINDS
        for arms in settings.different_arms
    ]
    slopes = {}
    for kind in KINDS:
        mine = [case for case in cases if case["kind"] == kind]
        arms = [case["arms"] for case in mine]
        slopes[kind] = growth_exponent(arms, [case["here"] for case in mine])
    return {"cases": cases, "slopes": slopes}


def statistics_of(kind: str, arms: int, seed: int, share: float) -> dict[str, Any]:
    """Times of both ways, their largest difference, and the memory of the first call."""
    warm = BetaBernoulli(*parameters(kind, 1000, seed))
    warm.beliefs(warm.init(trials=1))
    posterior = BetaBernoulli(*parameters(kind, arms, seed))
    state = posterior.init(trials=1)
    forget_peak()
    before = memory_now()
    found = posterior.beliefs(state)
    more = peak_memory() - before
    case = {
        "kind": kind,
        "arms": arms,
        "active": int((found.alpha > 0.0).sum()),
        "here": least_wall_and_cpu(lambda: posterior.beliefs(state), share / 4)["cpu"],
        "pairs": None,
        "difference": None,
        "more": more,
    }
    if arms <= MOST_PAIRED:
        alpha, delta, h = np.empty((3, 1, arms))
        rho, defect = np.empty((2, 1))
        results = alpha, delta, h, np.empty((0, 0)), rho, defect

        def from_pairs() -> None:
            beliefs_kernel(state["a"], state["b"], SIMULATION, False, 1.0, arms, *results)

        case["pairs"] = min(wall_and_cpu(from_pairs)[1] for _ in range(2))
        case["difference"] = float(np.abs(found.h - h).max())
    return case


def tables(section: dict[str, Any]) -> list[Table]:
    """A row for each kind and number of arms, and the slopes."""
    rows = []
    for case in section["cases"]:
        pairs = case["pairs"]
        rows.append(
            [
                case["kind"],
                count(case["arms"]),
                count(case["active"]),
                seconds(case["here"]),
                "" if pairs is None else seconds(pairs),
                "" if pairs is None else digits(pairs / case["here"]),
                "" if pairs is None else f"{case['difference']:.0e}",
                f"{case['more'] / MEGABYTE:.0f}",
            ]
        )
    for kind, slope in section["slopes"].items():
        rows.append([kind, "slope", "", "" if slope is None else digits(slope), "", "", "", ""])
    kinds = "; ".join(f"{name}: {text}" for name, text in KINDS.items())
    return [
        Table(
            "Statistics of arms whose posteriors all differ",
            ["kind", "arms", "can be best", "here", "all pairs", "ratio", "difference", "MB"],
            rows,
            f"CPU time of beliefs(state); minimum of several passes. {kinds}. Difference: largest "
            "absolute difference of h. MB: peak memory beyond the posteriors. Slope: of log time "
            "against log arms.",
            texts=2,
        )
    ]
