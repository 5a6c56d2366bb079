"""What a run leaves behind: figures, results, a summary and the report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from graphbandits.cli.show import as_json
from graphbandits.errors import InputError
from graphbandits.files import make_directory, write_text
from graphbandits.plots import (
    final_figure,
    forest_figure,
    plays_figure,
    regret_figure,
    save_figure,
)
from graphbandits.report import Study, write_report
from graphbandits.results import Results, check_place

#: The figures of a study, by what is added to their file names.
FIGURES: dict[str, Callable[..., Figure]] = {
    "": regret_figure,
    "-final": final_figure,
    "-differences": forest_figure,
    "-plays": plays_figure,
}
#: Files of an output directory besides figures and results.
PAGES = ("summary.json", "report.html")


def check_output(output: Path, keys: Sequence[str]) -> None:
    """Notice before the work, not after it, that something could not be written."""
    make_directory(output)
    names = [
        f"figure-{key}{part}.{kind}" for key in keys for part in FIGURES for kind in ("png", "svg")
    ]
    for name in (*names, *PAGES):
        if (output / name).is_dir():
            raise InputError(f"{output / name} is a directory: choose another --output")
    for key in keys:
        check_place(output / f"results-{key}")


def keep(study: Study, output: Path) -> list[Path]:
    """Write figures and results of one study; the pictures written."""
    results = study.results
    drawn = []
    for part, figure in FIGURES.items():
        if part == "-differences" and len(results.policies) < 2:
            continue
        name = output / f"figure-{study.key}{part}"
        drawn.append(save_figure(figure(results, title=study.title), name)[0])
    results.save(output / f"results-{study.key}")
    return drawn


def write_pages(studies: Sequence[Study], output: Path, *, title: str, introduction: str) -> None:
    """Write report.html and summary.json over all studies."""
    summary = {study.key: _numbers(study.title, study.results) for study in studies}
    write_text(output / "summary.json", as_json(summary) + "\n")
    write_report(output / "report.html", studies, title=title, introduction=introduction)


def _numbers(title: str, results: Results) -> dict[str, Any]:
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
            "first": d.first,
            "second": d.second,
            "mean": d.mean,
            "standard_error": d.standard_error,
            "interval": [d.low, d.high],
            "simultaneous_interval": [of_all.low, of_all.high],
        }
        for d, of_all in zip(results.differences(), together, strict=True)
    ]
    return {
        "title": title,
        "settings": dict(results.settings),
        "policies": policies,
        "differences": differences,
    }
