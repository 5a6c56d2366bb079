"""Results for figures, and checks of what a figure shows."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from graphbandits import Results
from graphbandits.simulation.results import PolicyResult

FOUR = ["ts-n", "ids-n", "idsn-lp", "ids-lp"]
NAMES = ("São Paulo", "bob lee", "Zürich Hauptbahnhof", "Łódź", "cost_$5_$6", "x" * 40)


class Paired(Results):
    """Results with given differences, which record the arguments of the call."""

    def differences(self, reference=None, confidence=0.95, simultaneous=True):  # type: ignore[override]
        self.settings["asked"] = (reference, confidence, simultaneous)  # type: ignore[index]
        return self.settings["differences"]


def made(finals: dict[str, list[float]], plays: object = (1, 2, 3), arms: object = None) -> Results:
    """Return results of two rounds with these final regrets."""
    counts = np.asarray(plays, np.int64)
    policies = {
        name: PolicyResult.from_trials(np.column_stack([np.array(v) / 2.0, v]), counts)
        for name, v in finals.items()
    }
    names = tuple(str(i + 1) for i in range(len(counts))) if arms is None else arms
    return Results(np.array([1, 2]), policies, names, {})  # type: ignore[arg-type]


def renamed(results: Results, names: list[str]) -> Results:
    policies = dict(zip(names, results.policies.values(), strict=True))
    return Results(results.rounds, policies, results.arms, results.settings)


def gid(figure: Figure, name: str, axes: int = 0) -> list:
    return [child for child in figure.axes[axes].get_children() if child.get_gid() == name]


def shown(figure: Figure) -> list[Text]:
    """Return the visible texts of a figure."""
    figure.draw_without_rendering()
    return [t for t in figure.findobj(Text) if t.get_visible() and t.get_text().strip()]


def check_page(figure: Figure) -> None:
    """Check that texts are on the page and legible, and legend and notes do not overlap."""
    inside = figure.bbox.padded(1.5)
    figure.draw_without_rendering()
    hidden = set()
    for axis in itertools.chain.from_iterable((a.xaxis, a.yaxis) for a in figure.axes):
        hidden |= {id(text) for tick in axis.get_major_ticks() for text in tick.findobj(Text)}
        hidden |= {id(text) for tick in axis.get_minor_ticks() for text in tick.findobj(Text)}
        if axis.axes.axison:  # ticks beyond the limits are there, and not drawn
            drawn = axis._update_ticks()
            hidden -= {id(text) for tick in drawn for text in tick.findobj(Text)}
    for text in shown(figure):
        if id(text) in hidden:
            continue
        box = text.get_window_extent()
        here = f"{text.get_text()!r} at {box.extents} of {figure.bbox.extents}"
        assert inside.contains(box.x0, box.y0), here
        assert inside.contains(box.x1, box.y1), here
        assert text.get_fontsize() >= 7.0, here
    below = [legend.get_window_extent() for legend in figure.legends]
    below += [text.get_window_extent() for text in figure.texts if text.get_gid() == "note"]
    for first, second in itertools.combinations(below, 2):
        assert not first.padded(-1).overlaps(second.padded(-1))
    for axes in figure.axes:
        box = axes.get_tightbbox()
        assert not any(box.padded(-1).overlaps(other.padded(-1)) for other in below)


def legend_of(figure: Figure):
    legend = figure.axes[0].get_legend()
    return figure.legends[0] if legend is None else legend


def eight(worst: float = 150.0, notes: dict[str, str] | None = None) -> Results:
    """Return results of five similar policies, two with larger regrets and a very large one."""
    rng = np.random.default_rng(4)
    finals = [5.0, 7.5, 5.2, 6.0, 7.4, 19.0, 25.0, worst]
    names = [*FOUR, "ts-n-sampled", "eps-greedy-lp", "ucb-maxn", "exp3-res"]
    rounds = np.arange(1, 101)
    policies = {
        name: PolicyResult.from_trials(
            final * rng.gamma(4.0, 0.25, (40, 1)) * np.sqrt(rounds / 100.0), np.array([30, 50, 20])
        )
        for name, final in zip(names, finals, strict=True)
    }
    facts = {name: {"note": text} for name, text in (notes or {}).items()}
    return Results(rounds, policies, ("1", "2", "3"), {"policies": facts})


def check_enlarged(figure: Figure, count: int) -> None:
    """Check two panels with the same x axis, one legend, titles and a note."""
    whole, part = figure.axes
    assert whole.get_xlim() == part.get_xlim()
    assert whole.get_title("left") == "all policies"
    assert part.get_title("left") == f"enlarged: the {count} policies with the least regret"
    assert len(figure.legends) == 1
    assert whole.get_legend() is None
    (shade,) = gid(figure, "enlarged")
    assert (shade.get_y(), shade.get_y() + shade.get_height()) == pytest.approx(part.get_ylim())
    assert any("grey: what the" in text.get_text() for text in figure.texts)
    check_page(figure)
