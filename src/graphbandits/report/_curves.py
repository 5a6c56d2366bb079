"""Figures of the page: data of interactive curves, and still pictures."""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure

from graphbandits import plots
from graphbandits._types import Floats
from graphbandits.plots import ONE_COLUMN, TWO_COLUMNS
from graphbandits.plots._canvas import final_means, marked, near_ground
from graphbandits.plots.style import COLOURS, looks
from graphbandits.report.entries import CONFIDENCE, Entry, SimulationEntry, SweepEntry

#: The width of a line in pixels; dashes are multiples of it.
WIDTH = 2.0
#: Matplotlib's line styles that have a name, in widths of the line.
DASHES = {"-": (), "--": (3.7, 1.6), "-.": (6.4, 1.6, 1.0, 1.6), ":": (1.0, 1.65)}
#: The background of the page in dark mode, as in report.css.
DARK = "#15181c"
#: The two kinds of bands.
BANDS = {
    "interval": f"{CONFIDENCE:.0%} confidence interval of the mean",
    "quantiles": "10% to 90% of the trials",
}
#: Policies are outliers if the largest mean is at least this many times that of the other ones ...
FLAT = 3.0
#: ... and the least mean of an outlier is this many times the largest of the other ones.
GAP = 1.5


def figure_of(entry: Entry) -> dict[str, Any]:
    """The figure of an entry: a still picture with a description, and interactive curves."""
    if isinstance(entry, SweepEntry):
        return {"picture": _sweep_picture(entry)}
    return {
        "picture": _still(entry),
        "trials": entry.trials,
        "bands": BANDS,
        "data": curve_data(entry),
        "ranges": _ranges(entry),
        "notes": marked(entry.results.notes)[1].splitlines(),
    }


def curve_data(entry: SimulationEntry) -> dict[str, Any]:
    """What report.js draws: the policies from best to worst, each with its style."""
    results = entry.results
    drawn = looks(results.policies)
    marks, _ = marked(results.notes)

    def numbers(values: Floats) -> list[float | None]:
        """Numbers with three digits more than are shown, which keeps the page small."""
        digits = entry.digits + 3
        return [round(float(v), digits) if math.isfinite(v) else None for v in values]

    policies = []
    for name in results.ranking():
        policy: dict[str, Any] = {
            "name": name,
            "mark": marks.get(name, ""),
            "value": entry.number(float(results[name].mean[-1])),
            "colour": COLOURS.index(drawn[name].colour),
            "dash": dash(drawn[name].line),
            "mean": numbers(results[name].mean),
        }
        if entry.trials > 1:
            for kind in BANDS:
                low, high = results.band(name, kind=kind)
                policy[kind] = [numbers(low), numbers(high)]
        policies.append(policy)
    return {
        "rounds": results.rounds.tolist(),
        "digits": entry.digits,
        "width": WIDTH,
        "policies": policies,
        "bounds": [
            {"name": bound.name, "values": numbers(bound.values)} for bound in entry.drawn_bounds
        ],
    }


def _ranges(entry: SimulationEntry) -> list[dict[str, Any]]:
    """The ranges of the axis that can be chosen: that of all policies, and those of the best.

    Each range has the number of policies that it shows as a whole and, of the other ones, the
    names and final means.
    """
    means = final_means(entry.results)
    ranking = entry.results.ranking()
    bulk = without_outliers([means[name] for name in ranking])
    counts = {bulk, len(near_ground(means)) or bulk, len(ranking)}
    if len(counts) == 1:
        return []
    return [
        {
            "count": count,
            "chosen": count == bulk,
            "cut": [f"{name} ({entry.number(means[name])})" for name in ranking[count:]],
        }
        for count in sorted(counts, reverse=True)
    ]


def without_outliers(means: Sequence[float]) -> int:
    """How many of the policies, best first, are no outliers; more than half of them.

    Outliers would leave the other curves less than a third of the axis, and there is a gap between
    them and the others.

    >>> without_outliers([4, 6, 12, 20, 81]), without_outliers([4, 6, 12, 20, 33])
    (4, 5)
    """
    count = len(means)
    gaps = {
        kept: means[kept] / means[kept - 1]
        for kept in range(count // 2 + 1, count)
        if 0.0 < FLAT * means[kept - 1] <= means[-1]
    }
    best = max(gaps, key=lambda kept: gaps[kept], default=count)
    return best if gaps.get(best, 0.0) >= GAP else count


def dash(style: object) -> str:
    """A line style of matplotlib as the lengths of SVG in pixels.

    >>> dash("-"), dash("--"), dash((0, (1, 1)))
    ('', '7.4,3.2', '2,2')
    """
    pattern = DASHES[style] if isinstance(style, str) else style[1]  # type: ignore[index]
    return ",".join(f"{WIDTH * float(length):g}" for length in pattern)


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
    rgb = np.array(to_rgb(colour))
    mixed = (1.0 - (1.0 - rgb) * (1.0 - step / 100.0) for step in range(101))
    wanted = contrast * (_luminance(np.array(to_rgb(DARK))) + 0.05) - 0.05
    return to_hex(next(mix for mix in mixed if _luminance(mix) >= wanted).tolist())


def _luminance(rgb: Floats) -> float:
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def _sweep_picture(sweep: SweepEntry) -> dict[str, str]:
    """Final regret against the value of the parameter."""
    label = sweep.label or sweep.parameter
    best = "; ".join(f"at {e.title} {e.results.ranking()[0]}" for e in sweep.simulations)
    about = (
        f"Mean final regret against {label}, a line a policy; the least mean: {best}. The numbers "
        "are in the table of values."
    )
    given: dict[str, Any] = {"scale": sweep.scale, "order": sweep.order, "confidence": CONFIDENCE}
    draw = partial(plots.sweep_figure, sweep.results, label, **given)
    return _picture(sweep, draw, about)


def _still(entry: SimulationEntry) -> dict[str, str]:
    ends = ", ".join(
        f"{name} {entry.number(float(entry.results[name].mean[-1]))}"
        for name in entry.results.ranking()
    )
    about = f"Curves of mean cumulative regret by round; at the end, from best to worst: {ends}."
    draw = partial(plots.regret_figure, entry.results, confidence=CONFIDENCE)
    return _picture(entry, draw, about)


def _picture(entry: Entry, draw: Callable[..., Figure], about: str) -> dict[str, str]:
    """The figure in two columns of a journal and in one, and its description with its notes."""
    notes = "".join(f" {name}: {text}" for name, text in entry.notes_on_policies.items())
    wide, narrow = _image(draw(width=TWO_COLUMNS)), _image(draw(width=ONE_COLUMN))
    return {"wide": wide, "narrow": narrow, "about": about + notes}


def _image(drawn: Figure) -> str:
    """An image as a data address. Curves with bands are three times as large in SVG."""
    buffer = io.BytesIO()
    drawn.savefig(buffer, format="webp", dpi=150, pil_kwargs={"lossless": True})
    return f"data:image/webp;base64,{base64.b64encode(buffer.getvalue()).decode('ascii')}"
