"""The page as a whole: head, overview, studies, and who made it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path

from graphbandits.files import write_text
from graphbandits.report.bounds import bounds
from graphbandits.report.claims import all_claims, claims, published
from graphbandits.report.curves import colour_style, figure, plotly_script, sweep_figure
from graphbandits.report.knowledge import knowledge, settings
from graphbandits.report.markup import Html, join, raw_element, tag
from graphbandits.report.study import Study, Sweep, anchors
from graphbandits.report.tables import (
    differences,
    overview,
    plays,
    regrets,
    sweep_overview,
    values,
)
from graphbandits.version import __version__

#: The browser itself refuses whatever is not in the file.
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data: blob:"
)

#: What is told of a study and of a sweep; a section without content is left out.
STUDY: dict[str, tuple[str, Callable[[Study], Html]]] = {
    "claims": ("Claims", claims),
    "published": ("Published and here", published),
    "regrets": ("Regrets", regrets),
    "bounds": ("Bounds on the regret", bounds),
    "differences": ("Paired differences", differences),
    "plays": ("Plays of each arm", plays),
    "knowledge": ("Who may know what, and when", knowledge),
    "settings": ("Settings", settings),
}
SWEEP: dict[str, tuple[str, Callable[[Sweep], Html]]] = {
    "values": ("Regret at each value", values),
    "knowledge": ("Who may know what, and when", knowledge),
    "settings": ("Settings", settings),
}


def write_report(
    path: str | Path, studies: Sequence[Study | Sweep], *, title: str, introduction: str = ""
) -> Path:
    """Write the page: one file that needs no other and no network, whole or not at all."""
    target = Path(path)
    write_text(target, report_html(studies, title=title, introduction=introduction))
    return target


def report_html(studies: Sequence[Study | Sweep], *, title: str, introduction: str = "") -> str:
    """The page; the same studies give the same bytes. Empty lines part paragraphs.

    >>> from graphbandits import simulate
    >>> results = simulate(["ts-n", "ids-n"], graph="paper", horizon=20, trials=10, seed=1)
    >>> study = Study("paper", "Two triangles", results, "graphbandits simulate --seed 1")
    >>> page = report_html([study], title="Who explores best?")
    >>> page.startswith("<!doctype html>"), "<h1>Who explores best?</h1>" in page
    (True, True)
    """
    places = anchors(studies)
    # the only one may have the title of the page
    alone = len(studies) == 1
    titles = ["What came out" if alone and e.title == title else e.title for e in studies]
    plotly = plotly_script()
    body = (
        _head_of_page(studies, places, title, introduction, plotly is not None),
        tag(
            "main",
            *(
                _told(entry, place, shown, plotly is not None)
                for entry, place, shown in zip(studies, places, titles, strict=True)
            ),
        ),
        _about(),
        # before the script that draws with it, and after all that can be read meanwhile
        raw_element("script", plotly) if plotly else "",
        raw_element("script", _asset("report.js")),
    )
    head = (
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="generator", content=f"graphbandits {__version__}"),
        tag("title", title),
        tag("link", rel="icon", href="data:,"),
        raw_element("style", colour_style() + _asset("report.css")),
    )
    inside = ("\n", tag("head", "\n", join(head, "\n")), "\n", tag("body", "\n", join(body, "\n")))
    return f"<!doctype html>\n{tag('html', *inside, lang='en')}\n"


def _head_of_page(
    studies: Sequence[Study | Sweep],
    places: Sequence[str],
    title: str,
    introduction: str,
    plotly: bool,
) -> Html:
    paragraphs = [tag("p", text.strip()) for text in introduction.split("\n\n") if text.strip()]
    links = [
        tag("li", tag("a", study.title, href=f"#{place}"))
        for study, place in zip(studies, places, strict=True)
    ]
    links.append(tag("li", tag("a", "About this page", href="#about")))
    still = tag(
        "p",
        "The curves are still pictures. ",
        tag("code", 'pip install "graphbandits[report]"'),
        " makes them interactive the next time the page is written.",
        class_="hint",
    )
    contents = (
        tag("nav", tag("ul", *links), aria_label="Contents"),
        "\n",
        tag("h2", "Overview", id="overview"),
        _overview(studies, places),
    )
    return tag(
        "header",
        tag("h1", title),
        *paragraphs,
        "" if plotly else still,
        # one study is its own overview
        *(() if len(studies) == 1 else contents),
        id="top",
    )


def _overview(entries: Sequence[Study | Sweep], places: Sequence[str]) -> Html:
    """The studies, the sweeps, and what became of all claims."""
    studies = {place: e for e, place in zip(entries, places, strict=True) if isinstance(e, Study)}
    sweeps = {place: e for e, place in zip(entries, places, strict=True) if isinstance(e, Sweep)}
    found = all_claims(list(studies.values()), list(studies))
    return join(
        (
            overview(list(studies.values()), list(studies)),
            sweep_overview(list(sweeps.values()), list(sweeps)),
            tag("h3", "Claims", id="claims") if found else "",
            found,
        ),
        "\n",
    )


def _told(entry: Study | Sweep, place: str, title: str, interactive: bool) -> Html:
    """A study or a sweep under its title: its picture and its sections."""
    if isinstance(entry, Sweep):
        picture = sweep_figure(entry)
        made = {key: (words, content(entry)) for key, (words, content) in SWEEP.items()}
    else:
        picture = figure(entry, place, interactive)
        made = {key: (words, content(entry)) for key, (words, content) in STUDY.items()}
    command = tag("pre", tag("code", entry.rerun), class_="command", tabindex="0")
    sections = {key: section for key, section in made.items() if section[1]}
    sections["rerun"] = ("Run it again", command)
    jumps = [tag("a", words, href=f"#{place}--{key}") for key, (words, _) in sections.items()]
    parts = [
        tag("h2", title, id=place),
        tag("p", join(jumps, " "), class_="jumps"),
        *(tag("p", note, class_="note") for note in entry.notes),
        picture,
    ]
    for key, (words, content) in sections.items():
        parts += [tag("h3", words, id=f"{place}--{key}"), content]
    parts.append(tag("p", tag("a", "Back to the top", href="#top"), class_="back"))
    return tag("section", "\n", join(parts, "\n"), "\n", aria_labelledby=place)


def _about() -> Html:
    return tag(
        "footer",
        tag("h2", "About this page", id="about"),
        tag(
            "p",
            f"Written by graphbandits {__version__}. The versions that made the numbers are among "
            "the settings of each study.",
        ),
        tag(
            "p",
            "To cite: The graphbandits authors, ",
            tag("cite", "graphbandits: bandits with graph feedback"),
            f", version {__version__}; and the paper whose policies it implements, F. Liu, S. "
            "Buccapatnam and N. Shroff, ",
            tag("cite", "Information Directed Sampling for Stochastic Bandits with Graph Feedback"),
            ", Proceedings of the AAAI Conference on Artificial Intelligence, 2018.",
        ),
    )


def _asset(name: str) -> str:
    return files(__package__).joinpath(name).read_text("utf-8")
