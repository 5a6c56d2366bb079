"""What the page tells, as plain numbers: summary.json."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from graphbandits.report.study import Study, Sweep
from graphbandits.results import Difference, Results
from graphbandits.theory import bounds_summary


def summary_of(entries: Iterable[Study | Sweep]) -> dict[str, Any]:
    """Studies and sweeps by their keys.

    >>> from graphbandits import simulate
    >>> results = simulate(["ts-n", "ids-n"], graph="paper", horizon=20, trials=10, seed=1)
    >>> summary = summary_of([Study("paper", "Two triangles", results, "sh paper.sh")])
    >>> sorted(summary["paper"])
    ['differences', 'policies', 'settings', 'title']
    """
    return {
        entry.key: sweep_summary(entry) if isinstance(entry, Sweep) else study_summary(entry)
        for entry in entries
    }


def study_summary(study: Study) -> dict[str, Any]:
    """A study as plain numbers: regrets, paired differences, claims, bounds, published means."""
    summary = {"title": study.title, **_numbers(study.results)}
    if study.claims:
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
            for one in study.judgements
        ]
    if study.bounds:
        summary["bounds"] = bounds_summary(study.bounds, study.results)
    if study.published is not None:
        means = {
            one.policy: {
                "mean": one.mean,
                "standard_error": one.standard_error,
                "published_mean": one.published_mean,
                "published_error": one.published_error,
                "distance": one.distance,
                "within": one.within,
            }
            for one in study.comparisons
        }
        summary["published"] = {"source": study.published.source, "means": means}
    return summary


def sweep_summary(sweep: Sweep) -> dict[str, Any]:
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
