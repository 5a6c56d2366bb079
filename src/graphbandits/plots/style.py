"""One style for all figures: colours and markers of policies, sizes, text, numbers, files."""

from __future__ import annotations

import functools
import io
import math
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import matplotlib
import numpy as np
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, fontManager
from matplotlib.textpath import text_to_path

from graphbandits._io import write_bytes
from graphbandits.errors import InputError, nearest

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
        """Return keywords for the markers of a line."""
        face = self.colour if self.filled else "white"
        size *= 1.5 if self.marker == "*" else 1.0  # a star covers less of its box
        return {"marker": self.marker, "markersize": size, "markerfacecolor": face}

    def line_options(self) -> dict[str, Any]:
        """Return keywords for a line with markers."""
        return {"color": self.colour, "linestyle": self.line, **self.marks()}


def look(index: int) -> Look:
    """Return the style of policy number ``index``; the first 64 differ even without colour.

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
    """Return a style for each policy by its name, in any order and company.

    Policies of this package have looks of their own (``OWNERS``). Any other text has a colour and
    a turn by its checksum, or the next colour that fewest of these names have, so that a colour is
    shared only where all are taken, and a look only by more than 64.

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
    """Format the number of trials.

    >>> trials_text([50, 50]), trials_text([1]), trials_text([50, 80])
    ('50 trials', '1 trial', '50 to 80 trials')
    """
    known = sorted(set(counts))
    if len(known) > 1:
        return f"{known[0]} to {known[-1]} trials"
    return f"{known[0]} trial{'s' if known[0] > 1 else ''}"


def ink_on(colour: Any) -> str:
    """Return a text colour that is readable on a background."""
    return "white" if np.dot(to_rgb(colour), [0.299, 0.587, 0.114]) < 0.6 else INK


def percent(level: float) -> str:
    """Format a level as a percentage.

    >>> percent(0.95), percent(0.999)
    ('95 %', '99.9 %')
    """
    return f"{100.0 * level:.6g} %"


def check_word(value: str, what: str, known: Iterable[str]) -> None:
    """Refuse an unknown word."""
    if value not in known:
        raise InputError(f"unknown {what} {value!r}: {nearest(str(value), known)}")


@in_style
def save_figure(
    figure: Figure, path: str | Path, kinds: str | Iterable[str] | None = None
) -> list[Path]:
    """Write a figure as PNG, SVG or PDF.

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

    Returns
    -------
    list of Path
        The files written.
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
