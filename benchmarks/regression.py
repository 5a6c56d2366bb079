"""``--compare``: the ratios of this run beside the stored ones, and which of them became worse."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from display import Table, digits

from graphbandits.errors import InputError

#: A ratio is a regression if it is this many times worse than the stored one. Ratios of two runs
#: on a shared machine differ by up to a third.
THRESHOLD = 1.5
#: Sections whose column "ratio" compares measurements of one run, and whether more is better.
#: (The ratio of a live agent to a commit depends on the disk, so it is not compared.)
MORE_IS_BETTER = {"baseline": True, "strict": False, "different": True, "start": False}
COLUMN = "ratio"


@dataclass(frozen=True)
class Comparison:
    """A ratio that was stored and measured again; ``worse`` is 1 if both are the same."""

    section: str
    row: str
    stored: float
    now: float
    worse: float

    @property
    def is_regression(self) -> bool:
        """Whether it is worse by more than the threshold."""
        return self.worse > THRESHOLD


def compare(
    stored: Mapping[str, Sequence[Table]], now: Mapping[str, Sequence[Table]]
) -> list[Comparison]:
    """Compare the ratios of all rows that both have."""
    found = []
    for section, more_is_better in MORE_IS_BETTER.items():
        before = dict(_ratios(stored.get(section, ())))
        for row, ratio in _ratios(now.get(section, ())):
            if row in before:
                worse = before[row] / ratio if more_is_better else ratio / before[row]
                found.append(Comparison(section, row, before[row], ratio, worse))
    if not found:
        raise InputError(
            "nothing to compare: the stored results and this run have no ratio in common; "
            f"--compare needs one of the sections {', '.join(MORE_IS_BETTER)}"
        )
    return found


def _ratios(tables: Sequence[Table]) -> Iterator[tuple[str, float]]:
    for table in tables:
        if COLUMN in table.columns:
            place = list(table.columns).index(COLUMN)
            for row in table.rows:
                if row[place]:
                    name = f"{table.title}: {', '.join(row[: max(1, table.texts)])}"
                    yield name, float(row[place])


def table_of(found: Sequence[Comparison]) -> Table:
    """All comparisons, the worst first."""
    ranked = sorted(found, key=lambda one: one.worse, reverse=True)
    rows = [
        (
            one.section,
            one.row,
            digits(one.stored),
            digits(one.now),
            digits(one.worse),
            "regression" if one.is_regression else "",
        )
        for one in ranked
    ]
    note = f"Worse: how many times worse than stored. Above {THRESHOLD:g} it is a regression."
    columns = ("section", "row", "stored", "now", "worse", "")
    return Table("Ratios compared with the stored ones", columns, rows, note, texts=2)
