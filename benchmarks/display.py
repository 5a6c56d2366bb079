"""Tables as data, shown on a terminal and written into a document alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rich import box
from rich.console import Console
from rich.table import Table as RichTable


@dataclass(frozen=True)
class Table:
    """Texts in rows; ``note`` says what they mean. The first ``texts`` columns are aligned left."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str
    texts: int = 0

    def show(self, console: Console) -> None:
        """Print it as narrow as its cells allow, headings in several lines, the note below."""
        table = RichTable(
            box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0)
        )
        for place, column in enumerate(self.columns):
            texts = [*(row[place] for row in self.rows), *column.split()]
            justify: Literal["left", "right"] = "left" if place < self.texts else "right"
            table.add_column(column, justify=justify, width=max(map(len, texts), default=0))
        for row in self.rows:
            table.add_row(*row)
        console.print(self.title, style="bold", highlight=False)
        console.print(table)
        console.print()
        console.print(self.note, style="dim", highlight=False)
        console.print()

    def markdown(self) -> str:
        """The same in Markdown."""
        aligned = [":--" if place < self.texts else "--:" for place in range(len(self.columns))]
        lines = [self.columns, aligned, *self.rows]
        table = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
        return f"**{self.title}.** {self.note}\n\n{table}\n"


def digits(value: float, count: int = 3) -> str:
    """A number with ``count`` significant digits and no exponent.

    >>> digits(1234.5), digits(12.345), digits(0.012345)
    ('1230', '12.3', '0.0123')
    """
    if value == 0.0:
        return "0"
    rounded = float(f"{value:.{count - 1}e}")
    places = max(0, count - 1 - int(f"{rounded:e}".split("e")[1]))
    return f"{rounded:.{places}f}"


def seconds(value: float) -> str:
    """A time in the unit that suits it.

    >>> seconds(4.5e-8), seconds(5.31e-6), seconds(0.0213), seconds(2.5)
    ('45.0 ns', '5.31 us', '21.3 ms', '2.50 s')
    """
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if value >= size:
            return f"{digits(value / size)} {unit}"
    return f"{digits(value / 1e-9)} ns"


def count(value: float) -> str:
    """A whole number, a power of ten as such.

    >>> count(1_000_000), count(200)
    ('10^6', '200')
    """
    text = f"{value:.0f}"
    power = len(text) - 1
    return f"10^{power}" if power >= 3 and int(text) == 10**power else text


def error(value: float) -> str:
    """An absolute error: its size is all that matters.

    >>> error(3.14e-13), error(0.0)
    ('3e-13', '0')
    """
    return "0" if value == 0.0 else f"{value:.0e}".replace("e-0", "e-")
