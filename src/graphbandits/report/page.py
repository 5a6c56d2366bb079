"""The page as a whole: entries in, one self-contained HTML file out."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from graphbandits.files import write_text
from graphbandits.report.curves import colour_style, figure_of, plotly_script
from graphbandits.report.entries import CONFIDENCE, Entry, anchors
from graphbandits.report.sections import overview, sections_of
from graphbandits.version import __version__

#: The browser itself refuses whatever is not in the file.
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data: blob:"
)


def write_report(
    path: str | Path, entries: Sequence[Entry], *, title: str, introduction: str = ""
) -> Path:
    """Write :func:`report_html` to a file, as a whole or not at all."""
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
    plotly = plotly_script()
    alone = len(entries) == 1
    page = (
        _environment()
        .get_template("page.html")
        .render(
            title=title,
            paragraphs=[text.strip() for text in introduction.split("\n\n") if text.strip()],
            policy=POLICY,
            version=__version__,
            style=colour_style() + _asset("report.css"),
            plotly=plotly,
            script=_asset("report.js"),
            # one entry is its own overview
            overview=None if alone else overview(entries, places),
            entries=[
                {
                    "place": place,
                    "title": entry.title,
                    # the only entry may have the title of the page
                    "heading": "What came out" if alone and entry.title == title else entry.title,
                    "notes": entry.notes,
                    "figure": figure_of(entry, plotly is not None),
                    "sections": sections_of(entry),
                }
                for entry, place in zip(entries, places, strict=True)
            ],
        )
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
