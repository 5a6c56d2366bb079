"""Render entries as one self-contained HTML file, or as plain numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from graphbandits._io import write_text
from graphbandits._version import __version__
from graphbandits.report._curves import colour_style, figure_of
from graphbandits.report._sections import overview, sections_of
from graphbandits.report.entries import CONFIDENCE, Entry, SimulationEntry, SweepEntry, anchors
from graphbandits.results import Difference, Results
from graphbandits.theory.simulation_bounds import bounds_summary

#: Content security policy: browsers load nothing from outside of the file.
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data: blob:"
)


def write_report(
    path: str | Path, entries: Sequence[Entry], *, title: str, introduction: str = ""
) -> Path:
    """Write :func:`report_html` to a file, completely or not at all.

    Parameters
    ----------
    path : str or Path
        File to write.
    entries : sequence of SimulationEntry or SweepEntry
        Simulations and sweeps, with unique keys.
    title : str
        Title of the page.
    introduction : str
        Plain text below the title; empty lines separate paragraphs.

    Returns
    -------
    Path
        The file.
    """
    target = Path(path)
    write_text(target, report_html(entries, title=title, introduction=introduction))
    return target


def report_html(entries: Sequence[Entry], *, title: str, introduction: str = "") -> str:
    """One HTML page that needs no other file and no network.

    Parameters
    ----------
    entries
        Simulations and sweeps, with unique keys.
    title
        Title of the page.
    introduction
        Plain text below the title; empty lines separate paragraphs.

    Returns
    -------
    str
        The page. The same input gives the same bytes.

    Examples
    --------
    >>> from graphbandits import simulate
    >>> from graphbandits.report import SimulationEntry
    >>> results = simulate(["ts-n", "ids-n"], graph="paper", horizon=20, trials=10, seed=1)
    >>> entry = SimulationEntry("paper", "Two triangles", results, "graphbandits simulate")
    >>> page = report_html([entry], title="Who explores best?")
    >>> page.startswith("<!doctype html>"), "<h1>Who explores best?</h1>" in page
    (True, True)
    """
    places = anchors(entries)
    alone = len(entries) == 1
    template = _environment().get_template("page.html")
    page = template.render(
        title=title,
        paragraphs=[text.strip() for text in introduction.split("\n\n") if text.strip()],
        policy=POLICY,
        version=__version__,
        style=colour_style()
        + _shared("vendor/uPlot.min.css")
        + _shared("plot.css")
        + _asset("report.css"),
        uplot=f"/*\n{_shared('vendor/LICENSE-uplot.txt')}*/\n{_shared('vendor/uPlot.iife.min.js')}",
        script=_shared("plot.js") + _asset("report.js"),
        # one entry is its own overview
        overview=None if alone else overview(entries, places),
        entries=[
            {
                "place": place,
                "title": entry.title,
                # the only entry may have the title of the page
                "heading": "Results" if alone and entry.title == title else entry.title,
                "notes": entry.notes,
                "figure": figure_of(entry),
                "sections": sections_of(entry),
            }
            for entry, place in zip(entries, places, strict=True)
        ],
    )
    # half a surrogate pair can be in a name but not in a file
    return page.encode("utf-8", "replace").decode("utf-8")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("graphbandits.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "allow_nan": False}
    environment.filters["inside"] = inside
    environment.globals["level"] = f"{CONFIDENCE:.0%}"
    return environment


def inside(content: str, element: str) -> Markup:
    """The content of a script or style element, which is not escaped.

    Raises
    ------
    ValueError
        If the content has the end tag of its element.
    """
    if f"</{element}" in content.lower():
        raise ValueError(f"the content of <{element}> holds its own end tag")
    return Markup(content)


def _asset(name: str) -> str:
    return files(__package__).joinpath(name).read_text("utf-8")


def _shared(name: str) -> str:
    """A file of the dashboard, which draws its charts by the same code."""
    return files("graphbandits").joinpath("service", "static", name).read_text("utf-8")


# --- summary.json


def summary_of(entries: Iterable[Entry]) -> dict[str, Any]:
    """Collect the numbers of simulations and sweeps, by their keys.

    Parameters
    ----------
    entries : iterable of SimulationEntry or SweepEntry
        Simulations and sweeps, with unique keys.

    Returns
    -------
    dict
        The content of ``summary.json``.

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
        listed = [asdict(one) for one in entry.comparisons]
        means = {one.pop("policy"): one for one in listed}
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
    return {key: getattr(d, key) for key in ("first", "second", "mean", "standard_error")}
