"""The regret curves: data for plotly where it is installed, else a still picture."""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Callable, Mapping
from functools import partial

import matplotlib
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure

from graphbandits import plots
from graphbandits.plots import COLOURS, ONE_COLUMN, TWO_COLUMNS
from graphbandits.plots.canvas import final_means, marked, near_ground
from graphbandits.plots.style import looks
from graphbandits.report.markup import Html, escape, join, json_script, tag
from graphbandits.report.study import CONFIDENCE, Study, Sweep
from graphbandits.types import Floats

#: The width of a line in pixels; dashes are multiples of it.
WIDTH = 2.0
#: Matplotlib's line styles that have a name, in widths of the line.
DASHES = {"-": (), "--": (3.7, 1.6), "-.": (6.4, 1.6, 1.0, 1.6), ":": (1.0, 1.65)}
#: The ground of the page in the dark, as in report.css.
DARK = "#15181c"
#: The two bands, as the reader chooses between them.
BANDS = {
    "interval": f"{CONFIDENCE:.0%} confidence interval of the mean",
    "quantiles": "10% to 90% of the trials",
}


def plotly_script() -> str | None:
    """plotly.js, or None where plotly is not installed.

    The package brings only the full bundle, of nearly 5 MB; it goes in once, for all figures. A
    smaller one would have to be fetched, and the page must work without a network.
    """
    try:
        from plotly.offline import get_plotlyjs
    except ImportError:
        return None
    script: str = get_plotlyjs()
    return script


def figure(study: Study, place: str, interactive: bool) -> Html:
    """The curves of a study."""
    caption = tag(
        "figcaption",
        f"Mean cumulative regret over {study.trials} trial{'s' if study.trials > 1 else ''}, with ",
        f"a band: {BANDS['interval']}." if not interactive and study.trials > 1 else "",
        "no band, for one trial does not tell how much trials differ." if study.trials < 2 else "",
        _choice(f"{place}--band", "Band", BANDS, "interval")
        if interactive and study.trials > 1
        else "",
        _scope(study, place) if interactive else "",
        _bounds(study, place) if interactive else "",
    )
    if not interactive:
        return tag("figure", _still(study), caption)
    ranking = ", ".join(study.results.ranking())
    plot = tag(
        "div",
        id=f"{place}--plot",
        class_="plot",
        role="img",
        aria_label=f"Curves of mean cumulative regret by round; from best to worst at the end: "
        f"{ranking}. The numbers at the end are in the table of regrets.",
    )
    without = tag("noscript", tag("p", "The curves need JavaScript; the tables do not."))
    _, notes = marked(study.results.notes)
    below = [tag("p", line, class_="hint policy-note") for line in notes.splitlines()]
    data = json_script(curve_data(study))
    parts = ("\n", caption, _legend(study), plot, without, *below, "\n", data)
    return tag("figure", *parts, "\n", class_="curves", data_key=study.key)


def curve_data(study: Study) -> dict[str, object]:
    """What report.js draws: the policies from best to worst, each with its look."""
    results = study.results
    policies = []
    for name in results.ranking():
        colour, line = look(study, name)
        entry: dict[str, object] = {
            # plotly reads tags and entities in names
            "name": str(escape(name)),
            "colour": colour,
            "dash": line,
            "mean": _finite(results[name].mean),
        }
        if study.trials > 1:
            for kind in BANDS:
                low, high = results.band(name, kind=kind)
                entry[kind] = [_finite(low), _finite(high)]
        policies.append(entry)
    return {
        "rounds": results.rounds.tolist(),
        "digits": study.digits,
        "width": WIDTH,
        # how many of the best are shown without the others
        "near": len(near_ground(final_means(results))),
        "policies": policies,
        "bounds": [
            {"name": str(escape(bound.name)), "values": _finite(bound.values)}
            for bound in study.drawn_bounds
        ],
    }


def look(study: Study, name: str) -> tuple[int, str]:
    """The number of a policy's colour, and its dashes: as in the plots, by the order given."""
    drawn = looks(study.results.policies)[name]
    return COLOURS.index(drawn.colour), dash(drawn.line)


def dash(style: object) -> str:
    """A line style of matplotlib as plotly's, and as SVG's.

    >>> dash("-"), dash("--"), dash((0, (1, 1)))
    ('solid', '7.4px,3.2px', '2px,2px')
    """
    pattern = DASHES[style] if isinstance(style, str) else style[1]  # type: ignore[index]
    if not pattern:
        return "solid"
    return ",".join(f"{WIDTH * float(length):g}px" for length in pattern)


def colour_style() -> str:
    """The colours of the policies as CSS: those of the plots, lighter in the dark."""
    light = " ".join(f"--policy-{i}: {to_hex(c)};" for i, c in enumerate(COLOURS))
    dark = " ".join(f"--policy-{i}: {on_dark(c)};" for i, c in enumerate(COLOURS))
    return (
        f":root {{ {light} }}\n"
        f"@media screen and (prefers-color-scheme: dark) {{ :root:not(.printing) {{ {dark} }} }}\n"
    )


def on_dark(colour: str, contrast: float = 4.5) -> str:
    """The colour mixed with white until it stands out from the dark ground (WCAG 2.2 contrast).

    >>> on_dark("#E69F00"), on_dark("#000000")
    ('#e69f00', '#828282')
    """
    red, green, blue = to_rgb(colour)
    ground = _luminance(to_rgb(DARK))
    for step in range(101):
        rest = 1.0 - step / 100.0
        mixed = (1 - (1 - red) * rest, 1 - (1 - green) * rest, 1 - (1 - blue) * rest)
        if (_luminance(mixed) + 0.05) / (ground + 0.05) >= contrast:
            break
    return to_hex(mixed)


def _luminance(rgb: tuple[float, ...]) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in rgb]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _choice(name: str, about: str, words: Mapping[str, str], chosen: str) -> Html:
    """Radio buttons."""
    options = [
        tag(
            "label",
            tag("input", type="radio", name=name, value=kind, checked=kind == chosen),
            " ",
            text,
        )
        for kind, text in words.items()
    ]
    return tag("span", join(options, " "), class_="choice", role="radiogroup", aria_label=about)


def _scope(study: Study, place: str) -> Html:
    """The choice of the best policies alone, where the others hide them."""
    near = near_ground(final_means(study.results))
    if not near:
        return Html("")
    words = {"all": "all policies", "near": f"the {len(near)} with least regret"}
    return tag("span", "Shown: ", _choice(f"{place}--scope", "Policies", words, "all"))


def _bounds(study: Study, place: str) -> Html:
    """Whether the bounds are drawn, which are far above most curves."""
    if not study.drawn_bounds:
        return Html("")
    names = ", ".join(bound.name for bound in study.drawn_bounds)
    box = tag("input", type="checkbox", name=f"{place}--bounds")
    words = f" bounds on the expected regret ({names})"
    return tag("span", tag("label", box, words, class_="bounds-box"))


def _legend(study: Study) -> Html:
    """A button for each policy, best first: what plotly draws no keyboard can reach."""
    results = study.results
    marks, _ = marked(results.notes)
    buttons = []
    for name in results.ranking():
        colour, pattern = look(study, name)
        line = tag(
            "line",
            x1="0",
            y1="6",
            x2="44",
            y2="6",
            stroke_width=WIDTH,
            stroke_dasharray=None if pattern == "solid" else pattern,
        )
        key = tag(
            "svg",
            line,
            width="44",
            height="12",
            aria_hidden="true",
            style=f"stroke: var(--policy-{colour})",
        )
        value = tag("span", study.number(float(results[name].mean[-1])), class_="value")
        named = tag("span", name, marks.get(name, ""), class_="name")
        buttons.append(tag("button", key, named, value, type="button", aria_pressed="true"))
    hint = tag(
        "p",
        "Beside each policy: its mean regret after the last round. Click a policy to hide or show "
        "it, double-click to see it alone. Zoom by dragging in the plot or with its buttons; a "
        "double click there zooms out.",
        class_="hint",
    )
    group = tag("div", *buttons, class_="legend", role="group", aria_label="Policies shown")
    return join((group, hint))


def sweep_figure(sweep: Sweep) -> Html:
    """Final regret against the value of the parameter, as a still picture."""
    words = sweep.label or sweep.parameter
    best = "; ".join(f"at {study.title} {study.results.ranking()[0]}" for study in sweep.studies)
    about = (
        f"Mean final regret against {words}, a line a policy; the least mean: {best}. The numbers "
        "are in the table of values."
    )
    draw = partial(
        plots.sweep_figure,
        sweep.results,
        words,
        confidence=CONFIDENCE,
        scale=sweep.scale,
        order=sweep.order,
    )
    return tag("figure", _picture(draw, about + _spoken(sweep)))


def _still(study: Study) -> Html:
    ends = ", ".join(
        f"{name} {study.number(float(study.results[name].mean[-1]))}"
        for name in study.results.ranking()
    )
    about = f"Curves of mean cumulative regret by round; at the end, from best to worst: {ends}."
    draw = partial(plots.regret_figure, study.results, confidence=CONFIDENCE)
    return _picture(draw, about + _spoken(study))


def _spoken(entry: Study | Sweep) -> str:
    """The notes that are in a picture, for those who cannot see it."""
    return "".join(f" {name}: {text}" for name, text in entry.notes_on_policies.items())


def _picture(draw: Callable[..., Figure], about: str) -> Html:
    """The figure in two columns of a journal, and in one for narrow windows."""
    narrow = tag("source", media="(max-width: 600px)", srcset=_svg(draw(width=ONE_COLUMN)))
    return tag("picture", narrow, tag("img", src=_svg(draw(width=TWO_COLUMNS)), alt=about))


def _svg(drawn: Figure) -> str:
    """An SVG as an address: inside an image its ids and styles meet no others."""
    buffer = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "graphbandits"}):
        drawn.savefig(buffer, format="svg", metadata={"Date": None})
    return f"data:image/svg+xml;base64,{base64.b64encode(buffer.getvalue()).decode('ascii')}"


def _finite(values: Floats) -> list[float | None]:
    return [float(v) if math.isfinite(v) else None for v in values]
