"""Bounds on the expected regret, as lines far above the curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke

from graphbandits.errors import InputError
from graphbandits.plots.enlarge import TOGETHER, Curve, near_ground
from graphbandits.plots.style import GREY, NOTE, literal, number
from graphbandits.results import Results
from graphbandits.theory import Bound

#: How bounds are drawn, one pattern after the other: all thin and grey, no policy is.
PATTERNS = ((0, (6, 2)), (0, (2, 2)), (0, (8, 2, 2, 2)), (0, (1, 2)))
#: A name needs this many points above or below its line, and as many to the next name.
ROOM = 1.4 * NOTE


def check_bounds(bounds: Sequence[Bound], results: Results) -> dict[str, list[Bound]]:
    """The bounds that are for a policy of the results; those that look the same share a line."""
    groups: list[list[Bound]] = []
    for bound in bounds:
        if not np.array_equal(bound.rounds, results.rounds):
            raise InputError(
                f"the bound '{bound.name}' is for other rounds than the {len(results.rounds)} that "
                "are recorded: compute it for results.rounds"
            )
        if not any(map(bound.is_for, results.policies)):
            continue
        same = (group for group in groups if _looks_like(group[0], bound))
        if (group := next(same, None)) is None:
            groups.append([bound])
        else:
            group.append(bound)
    return {", ".join(bound.name for bound in group): group for group in groups}


def _looks_like(first: Bound, second: Bound) -> bool:
    apart = float(np.abs(first.values - second.values).max())
    return apart <= 0.01 * first.final and _value(first) == _value(second)


def _value(bound: Bound) -> str:
    return number(bound.final, None)


def near_bounds(means: Mapping[str, float], lines: Mapping[str, list[Bound]]) -> list[str]:
    """The policies that a second panel shows enlarged because bounds are far above them."""
    top = max(group[0].final for group in lines.values())
    alone = near_ground(means)
    if alone or not 0.0 < TOGETHER * max(means.values()) < top:
        return alone
    return sorted(means, key=lambda name: means[name])


def draw_bounds(axes: Axes, lines: Mapping[str, list[Bound]]) -> list[Curve]:
    """Draw each line; the curves that it follows."""
    curves: list[Curve] = []
    for index, (name, group) in enumerate(lines.items()):
        rounds, values = group[0].rounds.astype(np.float64), group[0].values
        axes.plot(
            rounds,
            values,
            color=GREY,
            linewidth=0.9,
            linestyle=PATTERNS[index % len(PATTERNS)],
            zorder=1.5,
            label=name,
            gid="bound",
        )
        curves.append((rounds, values, values))
    return curves


def label_bounds(axes: Axes, lines: Mapping[str, list[Bound]]) -> None:
    """The name of each bound at the end of its line, above it, or below it where one is above."""
    figure = axes.figure
    figure.draw_without_rendering()  # type: ignore[union-attr]
    ranked = sorted(lines, key=lambda name: -lines[name][0].final)
    below_last = np.inf  # points from the bottom at which the name above ends
    for name in ranked:
        bound = lines[name][0]
        at = float(axes.transData.transform((bound.rounds[-1], bound.final))[1])
        at *= 72.0 / figure.dpi
        above = at + ROOM <= below_last
        below_last = at if above else min(at, below_last) - ROOM
        axes.annotate(
            literal(f"{name}: {_value(bound)}"),
            (float(bound.rounds[-1]), bound.final),
            xytext=(-2.0, 2.5 if above else -2.5),
            textcoords="offset points",
            ha="right",
            va="bottom" if above else "top",
            fontsize=NOTE,
            color=GREY,
            gid="bound-name",
            annotation_clip=False,
        ).set_path_effects([withStroke(linewidth=2.0, foreground="white")])


def bounds_text(lines: Mapping[str, list[Bound]], results: Results) -> str:
    """What the note says of the lines: which policies each of them is for."""
    if not lines:
        return ""
    told: dict[tuple[str, ...], list[str]] = {}
    for bound in (bound for group in lines.values() for bound in group):
        told.setdefault(tuple(filter(bound.is_for, results.policies)), []).append(bound.name)
    said = "; ".join(f"{', '.join(names)} for {', '.join(who)}" for who, names in told.items())
    return f"grey lines: upper bounds on the expected regret ({said}); "
