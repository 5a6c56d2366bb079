"""One style for all figures: looks of the policies, sizes, axes, words and numbers."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, fontManager
from matplotlib.textpath import text_to_path

from graphbandits.errors import InputError
from graphbandits.types import Floats

P = ParamSpec("P")
R = TypeVar("R")

#: Okabe and Ito's colours, told apart by all eyes, with a violet for their yellow, which is hard
#: to see on white; line styles and markers tell them apart in grey.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#E69F00", "#56B4E9", "#7A3FF2")
STYLES = (
    "-",
    "--",
    "-.",
    (0, (1, 1)),
    (0, (5, 1, 1, 1, 1, 1)),
    (0, (7, 2)),
    (0, (3, 3)),
    (0, (9, 2, 3, 2)),
)
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
#: Two times 0 to 7 in the field of eight elements: i ^ t and i ^ TURNS[t] pair up but once.
TURNS = (0, 2, 4, 6, 3, 1, 7, 5)

#: Widths in inches of one and of two columns of a journal.
ONE_COLUMN, TWO_COLUMNS = 3.5, 7.2
#: Sizes in points: axes and titles, legends and tick labels, notes. None is below 7.
TEXT, SMALL, NOTE = 9.0, 8.0, 7.0
INK, GREY, GRID = "#222222", "#555555", "#dddddd"
#: Fonts for letters that DejaVu Sans lacks, such as Chinese, Japanese and Korean ones.
FURTHER_FONTS = (
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "Hiragino Sans",
    "PingFang SC",
    "Microsoft YaHei",
    "Yu Gothic",
    "Malgun Gothic",
    "WenQuanYi Zen Hei",
)
#: What a user's own settings must not change while a figure is made or written.
SETTINGS: Any = {
    "axes.edgecolor": INK,
    "axes.facecolor": "white",
    "axes.formatter.use_locale": False,
    "axes.grid": False,
    "axes.labelcolor": INK,
    "axes.unicode_minus": True,
    "figure.facecolor": "white",
    "font.family": ["sans-serif"],
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": TEXT,
    "legend.labelcolor": INK,
    "pdf.fonttype": 42,  # journals refuse type 3
    "savefig.bbox": None,
    "savefig.dpi": "figure",
    "savefig.facecolor": "auto",
    "savefig.transparent": False,
    "svg.fonttype": "path",  # looks the same where the font is missing
    "svg.hashsalt": "graphbandits",
    "text.color": INK,
    "text.usetex": False,
    "xtick.color": INK,
    "xtick.labelcolor": INK,
    "ytick.color": INK,
    "ytick.labelcolor": INK,
}


def in_style(function: Callable[P, R]) -> Callable[P, R]:
    """Run a function with the house's settings, and leave the user's as they were."""

    @functools.wraps(function)
    def styled(*args: P.args, **kwargs: P.kwargs) -> R:
        with matplotlib.rc_context(SETTINGS | {"font.sans-serif": _fonts()}):
            return function(*args, **kwargs)

    return styled


@dataclass(frozen=True)
class Look:
    """How one policy is drawn."""

    colour: str
    line: Any  # a dash pattern as matplotlib writes them
    marker: str
    filled: bool

    def marks(self, size: float = 4.5) -> dict[str, Any]:
        """Keywords for the markers of a line."""
        face = self.colour if self.filled else "white"
        size *= 1.5 if self.marker == "*" else 1.0  # most of a star is air
        return {"marker": self.marker, "markersize": size, "markerfacecolor": face}


def look(index: int) -> Look:
    """The look of policy number ``index``: any two of the first 64 differ even without colour.

    Colours, lines and markers repeat after 8, each time with other partners (two orthogonal Latin
    squares); hollow markers tell every other eight apart.

    >>> look(0).colour == look(8).colour, look(0).line == look(8).line
    (True, False)
    """
    turn, place = divmod(index, len(COLOURS))
    turn %= len(TURNS)
    return Look(
        colour=COLOURS[place],
        line=STYLES[place ^ turn],
        marker=MARKERS[place ^ TURNS[turn]],
        filled=turn % 2 == 0,
    )


def looks(names: Iterable[str]) -> dict[str, Look]:
    """A look for each policy, by the order in which they were given, whatever their rank."""
    return {name: look(index) for index, name in enumerate(names)}


def new_figure(width: float, height: float) -> Figure:
    """An empty figure of this many inches, outside pyplot's list of open figures."""
    if not (isinstance(width, int | float) and 3.0 <= width <= 50.0):
        raise InputError(
            f"width is in inches, from 3 to 50, not {width!r}: {ONE_COLUMN} is one column of a "
            f"journal, {TWO_COLUMNS} two"
        )
    return Figure(figsize=(width, height), dpi=150, layout="constrained")


def tidy(axes: Axes, grid: str = "both") -> None:
    """Light grid below the data, no box, small tick labels."""
    axes.grid(axis=grid, color=GRID, linewidth=0.6)  # type: ignore[arg-type]
    axes.set_axisbelow(True)
    axes.tick_params(labelsize=SMALL, color=INK, labelcolor=INK)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def heading(figure: Figure, title: str) -> None:
    """The title above everything, at the left, broken where it is too long for the figure."""
    if title:
        width = 72.0 * figure.get_figwidth() - 12.0
        lines = wrap(title, width, TEXT + 1.0)
        figure.suptitle(literal(lines), x=6.0 / (width + 12.0), ha="left", fontsize=TEXT + 1.0)


def column_title(axes: Axes, text: str) -> None:
    """What the column of numbers at the right of the axes is."""
    axes.annotate(
        text,
        (1.02, 1.0),
        xycoords="axes fraction",
        xytext=(0.0, 4.0),
        textcoords="offset points",
        va="bottom",
        fontsize=NOTE,
        color=GREY,
    )


def one_line(text: str, most: int = 48) -> str:
    """A name for a list: control characters shown, the end of a long one cut off.

    >>> one_line("a b"), one_line("x" * 60)
    ('a b', 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…')
    """
    shown = "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)
    return shown if len(shown) <= most else f"{shown[: most - 1]}…"


def _fonts() -> list[str]:
    """The one that comes with matplotlib, and what is installed for letters it lacks."""
    installed = {font.name for font in fontManager.ttflist}
    return ["DejaVu Sans", *(name for name in FURTHER_FONTS if name in installed)]


def literal(text: str) -> str:
    r"""The text as matplotlib must be given it to show it as it is: ``$`` starts no formula.

    >>> literal("a_1 costs $5, b $6")
    'a_1 costs \\$5, b \\$6'
    """
    return _drawable(text).replace("$", r"\$")


def _drawable(text: str) -> str:
    """Half a surrogate pair can stand in a name, but has no letter."""
    return text.encode("utf-8", "replace").decode("utf-8")


def text_width(text: str, size: float) -> float:
    """The width of one line in points."""
    font = FontProperties(family="DejaVu Sans", size=size)
    return float(text_to_path.get_text_width_height_descent(_drawable(text), font, False)[0])


def wrap(text: str, width: float, size: float) -> str:
    """The text in lines of at most ``width`` points: broken at blanks, and in a word if it must.

    >>> wrap("mean cumulative regret", 60, 9).splitlines()
    ['mean', 'cumulative', 'regret']
    """
    lines = []
    for given in text.splitlines():
        line = ""
        for word in given.split(" "):
            longer = f"{line} {word}" if line else word
            if text_width(longer, size) <= width:
                line = longer
                continue
            if line:
                lines.append(line)
            *full, line = _pieces(word, width, size)
            lines += full
        lines.append(line)
    return "\n".join(lines)


def _pieces(word: str, width: float, size: float) -> list[str]:
    pieces = [""]
    for letter in word:
        if pieces[-1] and text_width(pieces[-1] + letter, size) > width:
            pieces.append("")
        pieces[-1] += letter
    return pieces


def decimals(halves: Iterable[float]) -> int | None:
    """Places after the point that show two digits of the smallest half width; None: no width."""
    known = [half for half in halves if np.isfinite(half) and half > 0.0]
    return min(6, max(0, 1 - math.floor(math.log10(min(known))))) if known else None


def number(value: float, places: int | None, sign: str = "-") -> str:
    """A number for people, with a real minus.

    >>> number(1.25, 3), number(1234.5678, None), number(0.5, 1, sign="+")
    ('1.250', '1235', '+0.5')
    """
    sign = sign if value else "-"
    text = f"{value:{sign}.4g}" if places is None else f"{value:{sign}.{places}f}"
    return text.replace("-", "−")  # noqa: RUF001


def plus_minus(means: Sequence[float], halves: Sequence[float]) -> list[str]:
    """Means with their half widths, all with the same places; one trial has no width.

    >>> plus_minus([5.2311, 12.5], [0.3123, 1.2])
    ['5.23 ± 0.31', '12.50 ± 1.20']
    """
    places = decimals(halves)
    return [
        f"{number(mean, places)} ± {number(half, places)}"
        if np.isfinite(half)
        else number(mean, places)
        for mean, half in zip(means, halves, strict=True)
    ]


def trials_text(counts: Iterable[int]) -> str:
    """How many trials there were.

    >>> trials_text([50, 50]), trials_text([1]), trials_text([50, 80])
    ('50 trials', '1 trial', '50 to 80 trials')
    """
    known = sorted(set(counts))
    if len(known) > 1:
        return f"{known[0]} to {known[-1]} trials"
    return f"{known[0]} trial{'s' if known[0] > 1 else ''}"


def percent(level: float) -> str:
    """A level as people write it.

    >>> percent(0.95), percent(0.999)
    ('95 %', '99.9 %')
    """
    return f"{100.0 * level:.6g} %"


def zero_based(axes: Axes, curves: Sequence[tuple[Floats, Floats, Floats]]) -> None:
    """Regret is measured from zero: show it, unless realised regret goes below."""
    lowest = min(float(np.nanmin(low)) for _, low, _ in curves)
    highest = max(float(np.nanmax(high)) for _, _, high in curves)
    if highest == lowest == 0.0:
        axes.set_ylim(0.0, 1.0)
    elif lowest >= 0.0:
        axes.set_ylim(bottom=0.0)
