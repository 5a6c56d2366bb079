"""What a run leaves behind: figures, results, a summary and the report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from graphbandits.cli.bounds import bounds_summary
from graphbandits.cli.show import as_json
from graphbandits.errors import InputError
from graphbandits.experiments import SweepPlan
from graphbandits.files import check_name, make_directory, write_text
from graphbandits.plots import (
    final_figure,
    forest_figure,
    plays_figure,
    regret_figure,
    save_figure,
)
from graphbandits.report import Study, Sweep, write_report
from graphbandits.results import Difference, Results, check_place

#: The figures of a study, by what is added to their file names.
FIGURES: dict[str, Callable[..., Figure]] = {
    "": regret_figure,
    "-final": final_figure,
    "-differences": forest_figure,
    "-plays": plays_figure,
}
#: Files of an output directory besides figures and results.
PAGES = ("summary.json", "report.html")


def figure_names(keys: Iterable[str]) -> list[str]:
    """The figures of studies, without the endings of their files.

    >>> figure_names(["1a"])
    ['figure-1a', 'figure-1a-final', 'figure-1a-differences', 'figure-1a-plays']
    """
    return [f"figure-{key}{part}" for key in keys for part in FIGURES]


def check_output(output: Path, figures: Iterable[str], results: Iterable[str]) -> None:
    """Notice before the work, not after it, that something could not be written."""
    make_directory(output)
    pictures = (f"{figure}.{kind}" for figure in figures for kind in ("png", "svg"))
    for name in (*pictures, *PAGES):
        check_name(output / name)
        if (output / name).is_dir():
            raise InputError(f"{output / name} is a directory: choose another --output")
    for key in results:
        check_name(output / f"results-{key}")
        check_place(output / f"results-{key}")


def keep(study: Study, output: Path, bounds: bool = False) -> list[Path]:
    """Write figures and results of one study, with its bounds if asked; the pictures written."""
    results = study.results
    drawn = []
    for part, figure in FIGURES.items():
        if part == "-differences" and len(results.policies) < 2:
            continue
        name = output / f"figure-{study.key}{part}"
        more = {"bounds": study.drawn_bounds} if bounds and figure is regret_figure else {}
        drawn.append(save_figure(figure(results, title=study.title, **more), name)[0])
    results.save(output / f"results-{study.key}")
    return drawn


def write_pages(
    studies: Sequence[Study | Sweep],
    summary: Mapping[str, Any],
    output: Path,
    *,
    title: str,
    introduction: str,
) -> None:
    """Write report.html and summary.json over all studies."""
    write_text(output / "summary.json", as_json(summary) + "\n")
    write_report(output / "report.html", studies, title=title, introduction=introduction)


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


def sweep_summary(sweep: SweepPlan, results: Mapping[Any, Results]) -> dict[str, Any]:
    """A sweep as plain numbers; each policy has its own name, and the line it belongs to."""
    runs = []
    for value, found in results.items():
        numbers = _numbers(found)
        for name, line in sweep.lines[value].items():
            numbers["policies"][name]["line"] = line
        runs.append({"value": value, **numbers})
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
