"""Regret against the round, with bands."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from graphbandits.errors import InputError, nearest
from graphbandits.plots.style import (
    TEXT,
    TWO_COLUMNS,
    add_legend,
    decimals,
    heading,
    in_style,
    looks,
    new_figure,
    note,
    number,
    percent,
    plus_minus,
    tidy,
    trials_text,
    zero_based,
)
from graphbandits.results import QUANTILES, Results
from graphbandits.types import Floats

BANDS = ("interval", "quantiles", "none")
SCALES = ("linear", "log")
#: The levels of the band "quantiles": eight of ten trials are inside.
LOW, HIGH = QUANTILES.index(0.1), QUANTILES.index(0.9)


@in_style
def regret_figure(
    results: Results,
    title: str = "",
    confidence: float = 0.95,
    band: str = "interval",
    scale: str = "linear",
    width: float = TWO_COLUMNS,
) -> Figure:
    """Mean cumulative regret against the round; the legend is ordered by final regret.

    ``band`` is "interval" (a Student's t interval of the mean at each round), "quantiles" (from
    10 % to 90 % of the trials) or "none"; ``scale`` of the rounds is "linear" or "log". A policy
    has the same colour, line and marker in every figure of a result.

    >>> from graphbandits import simulate
    >>> results = simulate(["ts-n", "ids-n"], horizon=20, trials=10)
    >>> regret_figure(results, band="quantiles").axes[0].get_ylabel()
    'mean cumulative regret'
    """
    _check(band, "band", BANDS)
    check_scale(scale)
    figure = new_figure(width, min(4.6, 0.45 * width + 1.36))
    axes = figure.add_subplot()
    rounds = results.rounds.astype(np.float64)
    ranking = results.ranking()
    ends = [results.interval(name, confidence) for name in ranking]  # checks the confidence
    means = [float(results[name].mean[-1]) for name in ranking]
    halves = [(high - low) / 2.0 for low, high in ends]

    handles, curves = {}, []
    for index, (name, look) in enumerate(looks(results.policies).items()):
        result = results[name]
        low, high = _band(results, name, confidence, band)
        rank = ranking.index(name)
        if band != "none":
            axes.fill_between(
                rounds, low, high, color=look.colour, alpha=0.18, lw=0, zorder=2.0 - 0.01 * rank
            )
        (handles[name],) = axes.plot(
            rounds,
            result.mean,
            color=look.colour,
            linestyle=look.line,
            markevery=(0.04 * (index + 1) / len(ranking), 0.125),
            linewidth=1.6,
            zorder=3.0 - 0.01 * rank,  # the best on top
            label=name,
            clip_on=False,  # markers at the edges are whole
            **look.marks(),
        )
        curves.append((rounds, np.fmin(low, result.mean), np.fmax(high, result.mean)))

    axes.set_xlabel("round", fontsize=TEXT)
    axes.set_ylabel("mean cumulative regret", fontsize=TEXT)
    first, last = float(rounds[0]), float(rounds[-1])
    if scale == "log":
        axes.set_xscale("log")
        axes.set_xlim(first, last if last > first else 10.0 * first)
    else:
        axes.set_xlim(0.0, last)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    zero_based(axes, curves)
    tidy(axes)
    heading(figure, title)
    counts = [len(results[name].final) for name in ranking]
    note(figure, _band_text(band if max(counts) > 1 else "none", confidence) + trials_text(counts))
    if band == "quantiles":
        places = decimals(halves)
        spans = [results[name].quantiles[[LOW, HIGH], -1] for name in ranking]
        numbers = [
            f"{number(mean, places)} ({number(low, places)} to {number(high, places)})"
            for mean, (low, high) in zip(means, spans, strict=True)
        ]
        what = f"mean regret after round {int(last)} (10 % to 90 % of trials)"
    else:
        numbers = plus_minus(means, halves)
        what = f"mean regret after round {int(last)}"
        if np.isfinite(halves).any():
            what += f" ± {percent(confidence)} interval"
    labels = [f"{name}  {text}" for name, text in zip(ranking, numbers, strict=True)]
    add_legend(figure, axes, [handles[name] for name in ranking], labels, what, curves)
    return figure


def check_scale(scale: str) -> None:
    """Refuse an axis that there is not."""
    _check(scale, "scale", SCALES)


def _check(value: str, what: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise InputError(f"unknown {what} {value!r}: {nearest(str(value), known)}")


def _band(results: Results, name: str, confidence: float, band: str) -> tuple[Floats, Floats]:
    if band == "none":
        return results[name].mean, results[name].mean
    return results.band(name, band, confidence)


def _band_text(band: str, confidence: float) -> str:
    if band == "interval":
        return f"band: {percent(confidence)} interval of the mean; "
    return "band: 10 % to 90 % of the trials; " if band == "quantiles" else ""
