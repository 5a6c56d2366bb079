"""Style of all figures: colours, markers, sizes, panels, scales, legends, files."""

from __future__ import annotations

import functools
import io
import math
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, fontManager
from matplotlib.lines import Line2D
from matplotlib.textpath import text_to_path
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from graphbandits._files import write_bytes
from graphbandits._types import Floats
from graphbandits.errors import InputError, nearest
from graphbandits.simulation.results import Results

P = ParamSpec("P")
R = TypeVar("R")

#: Okabe and Ito's colour-blind-safe colours, with a violet for their yellow, which is hard
#: to see on white; line styles and markers tell them apart in grey.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#E69F00", "#56B4E9", "#7A3FF2")
DASHES = ((1, 1), (5, 1, 1, 1, 1, 1), (7, 2), (3, 3), (9, 2, 3, 2))
STYLES: tuple[Any, ...] = ("-", "--", "-.", *((0, dashes) for dashes in DASHES))
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
#: Two times 0 to 7 in the field of eight elements: i ^ t and i ^ TURNS[t] pair up but once.
TURNS = (0, 2, 4, 6, 3, 1, 7, 5)
#: The policies of this package that have each colour, in the order of their turns (see ``look``).
#: Those of one built-in experiment have different colours; a policy keeps its place for good.
OWNERS = (
    ("ts-n", "bayes-ucb"),
    ("ids-n", "v-ids"),
    ("idsn-lp", "ids", "ts-maxn"),
    ("ids-lp", "moss", "exp3-g"),
    ("ucb-n", "kl-ucb"),
    ("ucb-maxn", "exp3-set", "ucb-tuned", "greedy"),
    ("eps-greedy-lp", "exp3-res", "ucb1", "uniform"),
    ("ucb-lp", "ts", "ts-n-sampled", "exp3-ix", "v-ids-n"),
)

#: Widths in inches of one and of two columns of a journal.
ONE_COLUMN, TWO_COLUMNS = 3.5, 7.2
#: Sizes in points: axes and titles, legends and tick labels, notes. None is below 7.
TEXT, SMALL, NOTE = 9.0, 8.0, 7.0
INK, GREY, GRID = "#222222", "#555555", "#dddddd"
#: Fonts for letters that DejaVu Sans lacks, such as Chinese, Japanese and Korean ones.
FURTHER_FONTS = ["Noto Sans CJK SC", "Noto Sans CJK JP", "Hiragino Sans", "PingFang SC"]
FURTHER_FONTS += ["Microsoft YaHei", "Yu Gothic", "Malgun Gothic", "WenQuanYi Zen Hei"]
#: File formats, each without a date: the same figure gives the same file.
FORMATS: dict[str, Any] = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
#: What a user's own settings must not change while a figure is made or written.
SETTINGS: Any = {
    "axes.facecolor": "white",
    "axes.formatter.use_locale": False,
    "axes.grid": False,
    "axes.unicode_minus": True,
    "figure.facecolor": "white",
    "font.family": ["sans-serif"],
    "font.size": TEXT,
    "pdf.fonttype": 42,  # journals refuse type 3
    "savefig.bbox": None,
    "savefig.dpi": "figure",
    "savefig.facecolor": "auto",
    "savefig.transparent": False,
    "svg.fonttype": "path",  # looks the same where the font is missing
    "svg.hashsalt": "graphbandits",
    "text.usetex": False,
}
SETTINGS |= {f"axes.{part}": INK for part in ("edgecolor", "labelcolor")}
SETTINGS |= {f"{axis}tick.{part}": INK for axis in "xy" for part in ("color", "labelcolor")}
SETTINGS |= {"legend.labelcolor": INK, "text.color": INK}


def in_style(function: Callable[P, R]) -> Callable[P, R]:
    """Run a function with the settings of this style, and restore the user's afterwards."""

    @functools.wraps(function)
    def styled(*args: P.args, **kwargs: P.kwargs) -> R:
        with matplotlib.rc_context(SETTINGS | {"font.sans-serif": _fonts()}):
            return function(*args, **kwargs)

    return styled


@dataclass(frozen=True)
class Look:
    """Colour, line and marker of one policy."""

    colour: str
    line: Any  # a dash pattern as matplotlib writes them
    marker: str
    filled: bool

    def marks(self, size: float = 4.5) -> dict[str, Any]:
        face = self.colour if self.filled else "white"
        size *= 1.5 if self.marker == "*" else 1.0  # a star covers less of its box
        return {"marker": self.marker, "markersize": size, "markerfacecolor": face}

    def line_options(self) -> dict[str, Any]:
        return {"color": self.colour, "linestyle": self.line, **self.marks()}


def look(index: int) -> Look:
    """Return the style of policy number ``index``; the first 64 differ even without colour.

    Colours, lines and markers repeat after 8, each time in other combinations (two orthogonal
    Latin squares); hollow markers distinguish every other eight.
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
    """Return a style for each policy by its name, in any order and company.

    Policies of this package have fixed styles (``OWNERS``). Others get one by their checksum, or
    the next colour that the fewest of these names have.

    >>> looks(["mine", "ids-n"])["ids-n"] == looks(["ids-n", "ts-n"])["ids-n"] == look(1)
    True
    """
    given = list(dict.fromkeys(names))
    own = {name: (turn, place) for place, e in enumerate(OWNERS) for turn, name in enumerate(e)}
    found = {name: look(8 * turn + place) for name, (turn, place) in own.items() if name in given}
    eight = np.arange(8)
    for name in sorted(set(given) - set(found)):
        start = zlib.crc32(name.encode("utf-8", "replace"))
        used = Counter(one.colour for one in found.values())
        place = min((start + eight) % 8, key=lambda place: used[COLOURS[place]])
        turns = (look(int(8 * turn + place)) for turn in (start // 8 + eight) % 8)
        found[name] = min(turns, key=lambda one: one in found.values())
    return {name: found[name] for name in given}


def new_figure(width: float, height: float) -> Figure:
    """Make an empty figure of this size in inches, without pyplot."""
    if not (isinstance(width, int | float) and 3.0 <= width <= 50.0):
        raise InputError(
            f"width must be from 3 to 50 inches, not {width!r}: use {ONE_COLUMN} for one column "
            f"of a journal, {TWO_COLUMNS} for two"
        )
    return Figure(figsize=(width, height), dpi=150, layout="constrained")


def one_line(text: str, most: int = 48) -> str:
    """Format a name for a list: escape control characters and shorten long names.

    >>> one_line("a b"), one_line("x" * 60)
    ('a b', 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…')
    """
    shown = "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)
    return shown if len(shown) <= most else f"{shown[: most - 1]}…"


def _fonts() -> list[str]:
    """Return matplotlib's font, and installed fonts for letters that it lacks."""
    installed = {font.name for font in fontManager.ttflist}
    return ["DejaVu Sans", *(name for name in FURTHER_FONTS if name in installed)]


def literal(text: str) -> str:
    r"""Escape a text for matplotlib: ``$`` does not start a formula.

    >>> literal("a_1 costs $5, b $6")
    'a_1 costs \\$5, b \\$6'
    """
    return _drawable(text).replace("$", r"\$")


def _drawable(text: str) -> str:
    """Replace lone surrogates, which cannot be drawn."""
    return text.encode("utf-8", "replace").decode("utf-8")


def text_width(text: str, size: float) -> float:
    """Return the width of one line in points."""
    font = FontProperties(family="DejaVu Sans", size=size)
    return float(text_to_path.get_text_width_height_descent(_drawable(text), font, False)[0])


def wrap(text: str, width: float, size: float) -> str:
    """Break a text into lines of at most ``width`` points, at blanks if possible.

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
    """Return the decimals that show two digits of the smallest half width; None without one."""
    known = [half for half in halves if np.isfinite(half) and half > 0.0]
    return min(6, max(0, 1 - math.floor(math.log10(min(known))))) if known else None


def number(value: float, places: int | None, sign: str = "-") -> str:
    """Format a number with a typographic minus; zero has no sign.

    >>> number(1.25, 3), number(1234.5678, None), number(0.5, 1, sign="+"), number(-0.004, 2)
    ('1.250', '1235', '+0.5', '0.00')
    """
    text = f"{value:{sign}.4g}" if places is None else f"{value:{sign}.{places}f}"
    if float(text) == 0.0:
        text = text.lstrip("+-")
    return text.replace("-", "−")  # noqa: RUF001


def plus_minus(means: Sequence[float], halves: Sequence[float]) -> list[str]:
    """Format means with half widths, all with the same decimals; NaN has no width.

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
    """Format the number of trials."""
    known = sorted(set(counts))
    if len(known) > 1:
        return f"{known[0]} to {known[-1]} trials"
    return f"{known[0]} trial{'s' if known[0] > 1 else ''}"


def ink_on(colour: Any) -> str:
    """Return a text colour that is readable on a background."""
    return "white" if np.dot(to_rgb(colour), [0.299, 0.587, 0.114]) < 0.6 else INK


def percent(level: float) -> str:
    """Format a level as a percentage."""
    return f"{100.0 * level:.6g} %"


def check_word(value: str, what: str, known: Iterable[str]) -> None:
    if value not in known:
        raise InputError(f"unknown {what} {value!r}: {nearest(str(value), known)}")


@in_style
def save_figure(
    figure: Figure, path: str | Path, kinds: str | Iterable[str] | None = None
) -> list[Path]:
    """Write a figure as PNG, SVG or PDF, and return the files written.

    Text is stored as outlines in SVG and as embedded TrueType in PDF: a figure looks the same on
    every machine.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        The figure.
    path : str or Path
        File to write. Its suffix selects the format.
    kinds : str, iterable of str or None
        Formats to write if ``path`` has no suffix: "png", "svg", "pdf"; all three by default.
    """
    target = Path(path)
    ending = target.suffix.removeprefix(".").lower()
    if ending in FORMATS and kinds is None:
        target, kinds = target.with_suffix(""), ending
    chosen = [kinds] if isinstance(kinds, str) else list(kinds or FORMATS)
    for kind in chosen:
        check_word(kind, "file format", FORMATS)
    if target.suffix.removeprefix(".") in FORMATS:
        raise InputError(
            f"'{target}' has a suffix, but kinds={kinds!r} is given too: remove one of them"
        )
    pictures = {}
    for kind in chosen:
        buffer = io.BytesIO()
        figure.savefig(buffer, format=kind, metadata=FORMATS[kind])
        pictures[target.with_name(f"{target.name}.{kind}")] = buffer.getvalue()
    for place, picture in pictures.items():
        write_bytes(place, picture)
    return list(pictures)


#: Scales of an axis; "symlog" is linear around zero and logarithmic beyond.
SCALES = ("linear", "log", "symlog")
#: Largest ratio of the largest to the least mean in one panel.
TOGETHER = 6.0
#: Largest ratio of means in an enlarged panel, if possible.
CLOSE = 4.0
#: Footnote marks; further ones are numbers.
MARKS = "*†‡§¶"
#: The height of a line of a note in points.
LINE = 1.35 * NOTE
#: Two panels are beside each other in figures wider than this, in inches.
BESIDE = 5.0


# --- axes -------------------------------------------------------------------------------------


def tidy(axes: Axes, grid: str = "both") -> None:
    """Apply the style of an axis: light grid, no box, small tick labels."""
    axes.grid(axis=grid, color=GRID, linewidth=0.6)  # type: ignore[arg-type]
    axes.set_axisbelow(True)
    axes.tick_params(labelsize=SMALL, color=INK, labelcolor=INK)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def rows(axes: Axes, names: Sequence[str], room: float, margin: float = 0.0) -> None:
    """Label a row for each name, the first on top."""
    axes.set_yticks(range(len(names)), [literal(wrap(name, room, SMALL)) for name in names])
    axes.set_ylim(len(names) - 0.5 + margin, -0.5 - margin)
    tidy(axes, "x")
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)


def column(axes: Axes, texts: Sequence[str], title: str) -> None:
    """Write a text at the right of each row, with a header."""
    for row, text in enumerate(texts):
        transform = axes.get_yaxis_transform()
        axes.text(1.02, row, text, transform=transform, va="center", fontsize=SMALL)
    place: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points"}
    axes.annotate(
        title, (1.02, 1.0), xytext=(0.0, 4.0), va="bottom", fontsize=NOTE, color=GREY, **place
    )


def set_scale(axes: Axes, axis: str, scale: str, values: Floats) -> None:
    """Scale the axis "x" or "y" for these values; "log" shows positive ones."""
    sizes = np.abs(
        values[np.isfinite(values) & (values > 0.0 if scale == "log" else values != 0.0)]
    )
    if scale == "linear" or not sizes.size:
        return
    least, most = float(sizes.min()), float(sizes.max())
    if scale == "log":
        axes.set(**{f"{axis}scale": "log"})
        subs = (1.0,) if most > 1e3 * least else (1.0, 2.0, 5.0)
        getattr(axes, f"{axis}axis").set_major_locator(LogLocator(subs=subs))
        getattr(axes, f"set_{axis}lim")(0.8 * least)
        if (values <= 0.0).any():  # outside of a log axis
            for artist in (*axes.get_lines(), *axes.collections):
                artist.set_clip_on(True)
    else:
        threshold = 10.0 ** math.ceil(math.log10(max(least, 1e-4 * most)))
        getattr(axes, f"set_{axis}scale")("symlog", linthresh=threshold)
    plain = FuncFormatter(lambda value, _: number(value, None))
    getattr(axes, f"{axis}axis").set_major_formatter(plain)
    getattr(axes, f"{axis}axis").set_minor_formatter(NullFormatter())


def regret_axis(axes: Axes, axis: str, scale: str, values: Floats) -> None:
    """Scale the axis of a regret; it starts at zero unless a realised regret is negative."""
    set_scale(axes, axis, scale, values)
    low, high = getattr(axes.dataLim, f"interval{axis}")
    if scale != "log" and low >= 0.0:
        getattr(axes, f"set_{axis}lim")(0.0, None if high > 0.0 else 1.0)


# --- panels -----------------------------------------------------------------------------------


def near_ground(means: Mapping[str, float]) -> list[str]:
    """Select the policies of least regret for an enlarged panel; none if not needed.

    They end where the next mean is furthest away, as a ratio: among those within ``CLOSE`` times
    the least if there are two, and else among all.

    >>> near_ground({"a": 5.0, "b": 150.0, "c": 6.0, "d": 25.0}), near_ground({"a": 5.0, "b": 20.0})
    (['a', 'c'], [])
    """
    ranking = sorted(means, key=lambda name: means[name])
    values = [means[name] for name in ranking]
    if len(values) < 3 or values[0] <= 0.0 or values[-1] <= TOGETHER * values[0]:
        return []
    counts = range(2, len(values))
    close = [count for count in counts if values[count - 1] <= CLOSE * values[0]]
    chosen = max(close or counts, key=lambda count: values[count] / values[count - 1])
    return ranking[:chosen]


def final_means(results: Results) -> dict[str, float]:
    return {name: float(result.mean[-1]) for name, result in results.policies.items()}


def panels_for(lower: Sequence[str], width: float) -> tuple[Figure, list[Axes]]:
    """Make a figure with one panel, or two, side by side if wide enough."""
    height = min(4.6, 0.45 * width + 1.36)
    if not lower:
        figure = new_figure(width, height)
        return figure, [figure.add_subplot()]
    figure = new_figure(width, height if width > BESIDE else 1.7 * height)
    shape = (1, 2) if width > BESIDE else (2, 1)
    return figure, list(figure.subplots(*shape, sharex=True).flat)


def panel_width(axes: Axes) -> float:
    """Return the width in inches of the column of panels."""
    columns = axes.get_subplotspec().get_gridspec().ncols  # type: ignore[union-attr]
    return float(axes.figure.get_figwidth() / columns)  # type: ignore[union-attr]


def enlarge(panels: Sequence[Axes], reached: Floats) -> str:
    """Fit the second panel to some policies, one row each; return its part of the note."""
    whole, part = panels
    bottom, top = min(0.0, float(np.nanmin(reached))), 1.05 * float(np.nanmax(reached))
    part.set_ylim(bottom, top)
    for artist in (*part.get_lines(), *part.collections):
        artist.set_clip_on(True)  # the others leave the panel at the top
    whole.axhspan(bottom, top, color=GREY, alpha=0.2, lw=0, zorder=0.5, gid="enlarged")
    whole.set_title("all policies", fontsize=SMALL, loc="left")
    part.set_title(
        f"enlarged: the {len(reached)} policies with the least regret", fontsize=SMALL, loc="left"
    )
    beside = whole.figure.get_figwidth() > BESIDE  # type: ignore[union-attr]
    if beside:
        whole.set_xlabel(part.get_xlabel(), fontsize=part.xaxis.label.get_fontsize())
    else:
        part.set_ylabel(whole.get_ylabel(), fontsize=whole.yaxis.label.get_fontsize())
    return f"grey: what the {'right' if beside else 'lower'} panel shows; "


# --- words ------------------------------------------------------------------------------------


def heading(figure: Figure, title: str) -> None:
    """Write the title at the top left, in several lines if needed."""
    if title:
        width = 72.0 * figure.get_figwidth() - 12.0
        lines = wrap(title, width, TEXT + 1.0)
        figure.suptitle(literal(lines), x=6.0 / (width + 12.0), ha="left", fontsize=TEXT + 1.0)


def note(figure: Figure, text: str, footnotes: str = "") -> None:
    """Write small print at the bottom right, and ``footnotes`` below it, each on its own line.

    More than one line makes the figure higher, not the axes lower.
    """
    lines = 0
    small: dict[str, Any] = {"va": "bottom", "fontsize": NOTE, "color": GREY, "linespacing": 1.2}
    for words, place, side in ((footnotes, 0.01, "left"), (text, 0.99, "right")):
        if words:
            wrapped = wrap(words, 72.0 * figure.get_figwidth() - 36.0, NOTE)
            lines += wrapped.count("\n") + 1
            figure.text(place, 0.0, literal(wrapped), ha=side, gid="note", **small)
    figure.set_figheight(figure.get_figheight() + (lines - 1) * LINE / 72.0)
    _reserve(figure)


def marked(notes: Mapping[str, str]) -> tuple[dict[str, str], str]:
    """Return a footnote mark for each policy with a note, and the text of the footnotes.

    >>> marked({"b": "Slow.", "c": "Old.", "d": "Slow."})
    ({'b': '*', 'c': '†', 'd': '*'}, '* b, d: Slow.\\n† c: Old.')
    """
    texts = list(dict.fromkeys(notes.values()))
    marks = [MARKS[i] if i < len(MARKS) else f"({i + 1})" for i in range(len(texts))]
    lines = [
        f"{mark} {', '.join(name for name in notes if notes[name] == text)}: {text}"
        for mark, text in zip(marks, texts, strict=True)
    ]
    return {name: marks[texts.index(text)] for name, text in notes.items()}, "\n".join(lines)


def colour_bar(figure: Figure, drawn: Any, axes: Any, label: str, shrink: float) -> None:
    """Add a colour bar of shares in percent."""
    bar = figure.colorbar(drawn, ax=axes, shrink=shrink, aspect=30, pad=0.01)
    bar.set_label(label, fontsize=SMALL)
    bar.ax.tick_params(labelsize=SMALL)
    bar.locator = MaxNLocator(5)
    bar.formatter = FuncFormatter(lambda share, _: f"{100.0 * share:.3g} %")
    bar.outline.set_linewidth(0.5)


def legend_of(figure: Figure, entries: Mapping[str, dict[str, Any]], length: float) -> None:
    """Add a legend of marks and lines, by their texts."""
    if entries:
        marks: dict[str, Any] = {"linestyle": "none"}
        handles = [Line2D([], [], **(marks | look)) for look in entries.values()]
        legend_below(figure, handles, list(entries), handlelength=length)


def legend_below(
    figure: Figure, handles: Sequence[Any], labels: Sequence[str], title: str = "", **options: Any
) -> None:
    """Add a legend below the axes and above the note; the figure grows by its height."""
    width = 72.0 * figure.get_figwidth()
    texts = [literal(wrap(label, 0.75 * width, SMALL)) for label in labels]
    widest = max(text_width(line, SMALL) for text in texts for line in text.split("\n"))
    columns = max(1, min(4, len(texts), int(width / (widest + 6.5 * SMALL))))
    every: dict[str, Any] = {"title": title, "title_fontsize": SMALL, "fontsize": SMALL}
    every |= {"loc": "lower center", "ncols": columns, "alignment": "left", "handlelength": 4}
    every |= {"frameon": False, "borderaxespad": 0.0} | options
    legend = figure.legend(handles, texts, **every)
    legend.set_gid("below")
    figure.set_figheight(figure.get_figheight() + legend.get_window_extent().height / figure.dpi)
    _reserve(figure)


def _reserve(figure: Figure) -> None:
    """Stack note and legends at the bottom, and leave the rest of the figure to the axes.

    Repeated after each change of the height, because shares depend on it.
    """
    height = 72.0 * figure.get_figheight()
    used = 3.0
    for text in figure.texts:
        if text.get_gid() == "note":
            text.set_y(used / height)
            used += LINE * (text.get_text().count("\n") + 1)
    for legend in figure.legends:
        legend.set_bbox_to_anchor((0.01, used / height, 0.98, 1.0), figure.transFigure)
        used += legend.get_window_extent().height * 72.0 / figure.dpi
    figure.set_layout_engine("constrained", rect=(0.0, used / height, 1.0, 1.0 - used / height))
