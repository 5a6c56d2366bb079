"""The page as a whole: head, overview, studies, and who made it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path

from graphbandits.files import write_text
from graphbandits.report.curves import colour_style, figure, plotly_script
from graphbandits.report.knowledge import knowledge, settings
from graphbandits.report.markup import Html, join, raw_element, tag
from graphbandits.report.study import Study, anchors
from graphbandits.report.tables import differences, overview, plays, regrets
from graphbandits.version import __version__

#: The browser itself refuses whatever is not in the file.
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data: blob:"
)

SECTIONS: dict[str, tuple[str, Callable[[Study], Html]]] = {
    "regrets": ("Regrets", regrets),
    "differences": ("Paired differences", differences),
    "plays": ("Plays of each arm", plays),
    "knowledge": ("Who may know what, and when", knowledge),
    "settings": ("Settings", settings),
}


def write_report(
    path: str | Path, studies: Sequence[Study], *, title: str, introduction: str = ""
) -> Path:
    """Write the page: one file that needs no other and no network, whole or not at all."""
    target = Path(path)
    write_text(target, report_html(studies, title=title, introduction=introduction))
    return target


def report_html(studies: Sequence[Study], *, title: str, introduction: str = "") -> str:
    """The page; the same studies give the same bytes. Empty lines part paragraphs.

    >>> from graphbandits import simulate
    >>> results = simulate(["ts-n", "ids-n"], graph="paper", horizon=20, trials=10, seed=1)
    >>> study = Study("paper", "Two triangles", results, "graphbandits simulate --seed 1")
    >>> page = report_html([study], title="Who explores best?")
    >>> page.startswith("<!doctype html>"), "<h1>Who explores best?</h1>" in page
    (True, True)
    """
    places = anchors(studies)
    plotly = plotly_script()
    body = (
        _head_of_page(studies, places, title, introduction, plotly is not None),
        tag(
            "main",
            *(
                _study(study, place, title, plotly is not None)
                for study, place in zip(studies, places, strict=True)
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
    studies: Sequence[Study], places: Sequence[str], title: str, introduction: str, plotly: bool
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
        overview(studies, places),
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


def _study(study: Study, place: str, title: str, interactive: bool) -> Html:
    heading = "What came out" if study.title == title else study.title
    parts = [tag("h2", heading, id=place)]
    links = {**{key: words for key, (words, _) in SECTIONS.items()}, "rerun": "Run it again"}
    jumps = [tag("a", words, href=f"#{place}--{key}") for key, words in links.items()]
    parts.append(tag("p", join(jumps, " "), class_="jumps"))
    parts += [tag("p", note, class_="note") for note in study.notes]
    parts.append(figure(study, place, interactive))
    for key, (words, content) in SECTIONS.items():
        parts += [tag("h3", words, id=f"{place}--{key}"), content(study)]
    parts.append(tag("h3", "Run it again", id=f"{place}--rerun"))
    parts.append(tag("pre", tag("code", study.rerun), class_="command", tabindex="0"))
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
