"""The content of the page as plain numbers: summary.json."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from graphbandits.report.entries import Entry, SimulationEntry, SweepEntry
from graphbandits.results import Difference, Results
from graphbandits.theory import bounds_summary


def summary_of(entries: Iterable[Entry]) -> dict[str, Any]:
    """The numbers of simulations and sweeps, by their keys.

    Examples
    --------
    >>> from graphbandits import simulate
    >>> results = simulate(["ts-n", "ids-n"], graph="paper", horizon=20, trials=10, seed=1)
    >>> summary = summary_of([SimulationEntry("paper", "Two triangles", results, "")])
    >>> sorted(summary["paper"])
    ['differences', 'policies', 'settings', 'title']
    """
    return {
        entry.key: _sweep(entry) if isinstance(entry, SweepEntry) else _simulation(entry)
        for entry in entries
    }


def _simulation(entry: SimulationEntry) -> dict[str, Any]:
    """A simulation as plain numbers: regrets, differences, claims, bounds, published means."""
    summary = {"title": entry.title, **_numbers(entry.results)}
    if entry.claims:
        summary["claims"] = [
            {
                "text": one.claim.text,
                "source": one.claim.source,
                "better": list(one.claim.better),
                "than": list(one.claim.than),
                "verdict": one.verdict,
                "differences": [
                    {**_difference(d), "simultaneous_interval": [d.low, d.high]}
                    for d in one.differences
                ],
            }
            for one in entry.judgements
        ]
    if entry.bounds:
        summary["bounds"] = bounds_summary(entry.bounds, entry.results)
    if entry.published is not None:
        means = {
            one.policy: {
                "mean": one.mean,
                "standard_error": one.standard_error,
                "published_mean": one.published_mean,
                "published_error": one.published_error,
                "distance": one.distance,
                "within": one.within,
            }
            for one in entry.comparisons
        }
        summary["published"] = {"source": entry.published.source, "means": means}
    return summary


def _sweep(sweep: SweepEntry) -> dict[str, Any]:
    """A sweep as plain numbers; each policy has its own name, and the line it belongs to."""
    runs = []
    for value, found in sweep.results.items():
        lines = sweep.lines.get(value) or {name: name for name in found.policies}
        present = {name: line for name, line in lines.items() if line in found.policies}
        numbers = _numbers(found.renamed({line: name for name, line in present.items()}))
        for name, line in present.items():
            numbers["policies"][name]["line"] = line
        point = {"point": dict(sweep.points[value])} if value in sweep.points else {}
        runs.append({"value": value, **point, **numbers})
    return {
        "title": sweep.title,
        "parameter": sweep.parameter,
        "label": sweep.label,
        "scale": sweep.scale,
        "runs": runs,
    }


def _numbers(results: Results) -> dict[str, Any]:
    """Regrets, plays, settings and paired differences as plain numbers."""
    policies = {
        name: {
            "regret": numbers["regret"] | {"interval": list(results.interval(name))},
            "plays": numbers["plays"],
        }
        for name, numbers in results.summary()["policies"].items()
    }
    together = results.differences(simultaneous=True)
    differences = [
        {
            **_difference(d),
            "interval": [d.low, d.high],
            "simultaneous_interval": [of_all.low, of_all.high],
        }
        for d, of_all in zip(results.differences(), together, strict=True)
    ]
    return {"settings": dict(results.settings), "policies": policies, "differences": differences}


def _difference(d: Difference) -> dict[str, Any]:
    return {
        "first": d.first,
        "second": d.second,
        "mean": d.mean,
        "standard_error": d.standard_error,
    }
