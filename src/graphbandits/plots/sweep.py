"""Final regret against a parameter that was swept."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from matplotlib.transforms import ScaledTranslation

from graphbandits.errors import InputError
from graphbandits.plots import canvas, style
from graphbandits.plots.canvas import Curve
from graphbandits.plots.style import SMALL, TEXT, TWO_COLUMNS, literal, percent, wrap
from graphbandits.results import Results
from graphbandits.types import Floats

#: Of at most so many values on a log axis each has its own tick.
TICKS = 12


@style.in_style
def sweep_figure(
    sweep: Mapping[float, Results] | Mapping[str, Results],
    parameter: str,
    title: str = "",
    confidence: float = 0.95,
    scale: str = "linear",
    width: float = TWO_COLUMNS,
    order: Sequence[str] = (),
    yscale: str = "linear",
) -> Figure:
    """Mean final regret with its interval against the value of ``parameter``, a line a policy.

    Numbers are on an axis (``scale`` "linear", "log" or "symlog"), texts are categories in the
    given order; ``yscale`` is that of the regret. A policy that is missing at a value leaves a gap.
    Points at the same value stand beside each other by two points of print, so that their
    intervals can be seen. The legend is ordered by the regret at the right. Far larger regrets
    leave the others a second panel, as in :func:`~.regret.regret_figure`; notes on policies are
    below the picture. ``order`` names the policies of several figures, so that none of them has
    the colour of another.

    >>> from graphbandits import simulate
    >>> sweep = {
    ...     r: simulate("ids-n", graph=f"random(r={r})", horizon=20, trials=10) for r in (0, 0.5, 1)
    ... }
    >>> sweep_figure(sweep, "r").axes[0].get_xlabel()
    'r'
    """
    ordered = in_order(sweep, scale)
    style.check_word(yscale, "yscale", canvas.SCALES)
    keys, runs = list(ordered), list(ordered.values())
    names = list(dict.fromkeys(name for run in runs for name in run.policies))
    points = {name: _points(runs, name, confidence) for name in names}
    # the largest of each policy: an enlargement shows all of its points
    lower = canvas.near_ground(
        {name: float(np.nanmax(mean)) for name, (mean, _, _) in points.items()}
    )
    # two lines alone would hide where a third one leaves
    lower = lower if len(lower) > 2 and yscale == "linear" else []
    figure, panels = canvas.panels_for(lower, width)
    looks = style.looks((*order, *names))
    for axes in panels:
        _axis_of_values(axes, keys, scale)
        handles, curves = _lines(axes, keys, points, looks, width / len(panels))
    room = 60.0 * width / len(panels)
    panels[-1].set_xlabel(literal(wrap(str(parameter), room, TEXT)), fontsize=TEXT)
    ends = {int(run.rounds[-1]) for run in runs}
    what = f"mean regret after round {ends.pop()}" if len(ends) == 1 else "mean final regret"
    panels[0].set_ylabel(what, fontsize=TEXT)
    means = np.concatenate([mean for mean, _, _ in points.values()])
    canvas.set_scale(panels[0], "y", yscale, means)
    if yscale != "log":
        canvas.zero_based(panels[0], list(curves.values()))
    shade = canvas.enlarge(panels, [curves[name] for name in lower]) if lower else ""
    canvas.heading(figure, title)
    counts = [len(result.final) for run in runs for result in run.policies.values()]
    bars_text = f"bars: {percent(confidence)} interval of the mean; " if max(counts) > 1 else ""
    marks, footnotes = canvas.marked(sweep_notes(ordered))
    said = f"{shade}{bars_text}{style.trials_text(counts)} at each value"
    canvas.note(figure, said, footnotes)
    ranked = sorted(names, key=lambda name: _last(points[name][0]))
    labels = [f"{name}{marks.get(name, '')}" for name in ranked]
    drawn = [handles[name] for name in ranked]
    canvas.add_legend(figure, panels, drawn, labels, "", list(curves.values()))
    return figure


def _lines(
    axes: Axes,
    keys: Sequence[float | str],
    points: Mapping[str, Curve],
    looks: Mapping[str, style.Look],
    room: float,
) -> tuple[dict[str, ErrorbarContainer], dict[str, Curve]]:
    """A line for each policy with its intervals; the line, and its x with the lowest and highest y.

    Policies stand beside each other by points of print, categories by more where there is ``room``.
    """
    numeric, x = not isinstance(keys[0], str), _places(keys)
    apart = 2.0 if numeric else min(7.0, 24.0 * room / len(keys) / len(points))
    thin: dict[str, Any] = {"linewidth": 1.4 if numeric else 0.7, "elinewidth": 1.0, "capsize": 2.0}
    handles: dict[str, ErrorbarContainer] = {}
    curves: dict[str, Curve] = {}
    for index, (name, (mean, low, high)) in enumerate(points.items()):
        places = (index - (len(points) - 1) / 2.0) * apart / 72.0
        shift = ScaledTranslation(places, 0.0, axes.figure.dpi_scale_trans)
        bars = np.nan_to_num(np.array([mean - low, high - mean]))
        look = looks[name].line_options() | {"transform": axes.transData + shift}
        handles[name] = axes.errorbar(x, mean, yerr=bars, label=name, **thin, **look)
        for drawn in handles[name].lines[2]:
            drawn.set_linestyle("solid")
        curves[name] = (x, np.fmin(low, mean), np.fmax(high, mean))
        # lines that are shifted on the page do not count for the limits by themselves
        axes.update_datalim([pair for y in curves[name][1:] for pair in zip(x, y, strict=True)])
    axes.autoscale_view(scalex=numeric)
    return handles, curves


def _places(keys: Sequence[float | str]) -> Floats:
    numeric = not isinstance(keys[0], str)
    return np.array(keys, np.float64) if numeric else np.arange(len(keys), dtype=np.float64)


def _axis_of_values(axes: Axes, keys: Sequence[Any], scale: str) -> None:
    """The axis of numbers, with ticks where they are whole or few, or that of texts."""
    numeric = not isinstance(keys[0], str)
    canvas.tidy(axes, "both" if numeric else "y")
    if not numeric:
        _categories(axes, keys)
    elif scale != "linear":
        canvas.set_scale(axes, "x", scale, _places(keys))
        axes.autoscale(axis="x")
        if len(keys) <= TICKS:
            axes.set_xticks(_places(keys), [f"{value:g}" for value in keys])
            axes.set_xticks([], minor=True)
    elif all(isinstance(key, Integral) for key in keys):
        axes.xaxis.set_major_locator(MaxNLocator("auto", integer=True, min_n_ticks=1))


def _categories(axes: Axes, keys: Sequence[str]) -> None:
    """Texts below the axis: in lines where they fit, else slanted."""
    columns = axes.get_subplotspec().get_gridspec().ncols  # type: ignore[union-attr]
    room = 60.0 * axes.figure.get_figwidth() / columns / len(keys)  # type: ignore[union-attr]
    longest = max(style.text_width(word, SMALL) for key in keys for word in key.split())
    axes.set_xlim(-0.5, len(keys) - 0.5)
    fits = longest <= 0.92 * room
    labels = [literal(wrap(key, 0.92 * room if fits else 110.0, SMALL)) for key in keys]
    slant = {} if fits else {"rotation": 35, "ha": "right", "rotation_mode": "anchor"}
    axes.set_xticks(range(len(keys)), labels, **slant)  # type: ignore[arg-type]


def _last(mean: Floats) -> tuple[int, float]:
    """Where a policy stands at the right: by its last value, and by the regret there."""
    there = np.flatnonzero(np.isfinite(mean))
    return -int(there[-1]), float(mean[there[-1]])


def in_order(
    sweep: Mapping[float, Results] | Mapping[str, Results], scale: str = "linear"
) -> dict[float | str, Results]:
    """The sweep with its numbers sorted, or its texts as they are; what is none is refused.

    >>> from graphbandits import simulate
    >>> results = simulate("ts-n", horizon=2, trials=2)
    >>> list(in_order({2: results, 1: results})), list(in_order({"b": results, "a": results}))
    ([1, 2], ['b', 'a'])
    """
    style.check_word(scale, "scale", canvas.SCALES)
    values: dict[Any, Results] = dict(sweep) if isinstance(sweep, Mapping) else {}
    return {key: values[key] for key in (sorted(values) if _are_numbers(values, scale) else values)}


def shown(value: float | str) -> str:
    """A value of a parameter as people write it, with all its digits.

    >>> shown(0.5), shown(1000001.0), shown(0.12345678), shown("star")
    ('0.5', '1000001', '0.12345678', 'star')
    """
    return value if isinstance(value, str) else str(value).removesuffix(".0")


def sweep_notes(runs: Mapping[Any, Results]) -> dict[str, str]:
    """The notes on the policies; one that is not the same at all values says at which it is."""
    found: dict[str, dict[str, list[str]]] = {}
    for value, run in runs.items():
        for name, text in run.notes.items():
            there = found.setdefault(name, {})
            there.setdefault(text, []).append(shown(value))
    notes = {}
    for name, texts in found.items():
        present = sum(name in run.policies for run in runs.values())
        everywhere = len(next(iter(texts.values()))) == present
        notes[name] = "; ".join(
            text if everywhere else f"at {', '.join(values)}: {text}"
            for text, values in texts.items()
        )
    return notes


def _are_numbers(sweep: Mapping[Any, Results], scale: str) -> bool:
    """Whether the values are numbers (True) or texts (False); anything else is refused."""
    if not sweep:
        raise InputError("a sweep has at least one value: give {value: results, ...}")
    for value, results in sweep.items():
        if not isinstance(results, Results):
            raise InputError(f"a sweep is {{value: results}}; {value!r} has {results!r}")
    texts = [isinstance(key, str) for key in sweep]
    if all(texts):
        if scale != "linear":
            raise InputError(
                f"scale={scale!r} goes with numbers; the values of this sweep are texts"
            )
        return False
    for key in sweep:
        if isinstance(key, bool) or not isinstance(key, Real) or not math.isfinite(key):
            raise InputError(
                f"the values of a sweep are all finite numbers or all texts, not {key!r}"
            )
        if scale == "log" and key <= 0:
            raise InputError(f"scale='log' goes with values above 0, not {key!r}")
    return True


def _points(runs: Sequence[Results], name: str, confidence: float) -> tuple[Floats, Floats, Floats]:
    """Mean, low and high of the final regret at each value; NaN where there is nothing."""
    points = np.full((3, len(runs)), np.nan)
    for place, run in enumerate(runs):
        if name in run.policies:
            points[:, place] = run[name].mean[-1], *run.interval(name, confidence)
    return points[0], points[1], points[2]
