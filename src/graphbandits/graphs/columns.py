"""Which columns of a table hold the edges: by their usual names, or as the user says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from graphbandits.errors import InputError, nearest

#: Names that are understood without being told; the first one that a table has counts.
SOURCES = ("source", "from", "src", "u", "fromnodeid")
TARGETS = ("target", "to", "dst", "v", "tonodeid")
PROBABILITIES = ("probability", "p", "weight")


@dataclass(frozen=True)
class Columns:
    """The places of the source, the target and the probability (None: every edge is sure)."""

    source: int
    target: int
    probability: int | None

    @classmethod
    def find(
        cls,
        header: Sequence[str],
        source: str | None,
        target: str | None,
        probability: str | None,
        where: str,
    ) -> Columns:
        """From the names of a table's columns; None and 'auto' stand for the usual names.

        >>> Columns.find(["To", "From", "note", "weight"], None, None, "auto", "a.csv, line 1")
        Columns(source=1, target=0, probability=3)
        """
        ends = []
        for what, said, usual in (("source", source, SOURCES), ("target", target, TARGETS)):
            found = _place(header, said, where) if said is not None else _usual(header, usual)
            if found is None:
                raise InputError(
                    f"{where}: no column is called {', '.join(usual[:-1])} or {usual[-1]}; say "
                    f"{what}= one of: {', '.join(header)}"
                )
            ends.append(found)
        if probability is None:
            chance = None
        elif probability == "auto":
            chance = _usual(header, PROBABILITIES)
        else:
            chance = _place(header, probability, where)
        if len({*ends, chance}) < 3:
            raise InputError(f"{where}: source, target and probability are different columns")
        for place in (*ends, chance):
            if place is not None and list(header).count(header[place]) > 1:
                raise InputError(f"{where}: two columns are called '{header[place]}'")
        return cls(ends[0], ends[1], chance)


def names_edges(header: Sequence[str]) -> bool:
    """Whether a header has a usual name for the source and one for the target."""
    return _usual(header, SOURCES) is not None and _usual(header, TARGETS) is not None


def names_an_end(name: str) -> bool:
    """Whether this is a usual name for a source or a target."""
    return name.casefold() in SOURCES + TARGETS


def _usual(header: Sequence[str], usual: tuple[str, ...]) -> int | None:
    known = [name.strip().casefold() for name in header]
    return next((known.index(name) for name in usual if name in known), None)


def _place(header: Sequence[str], name: str, where: str) -> int:
    if name not in header:
        raise InputError(f"{where}: there is no column '{name}': {nearest(str(name), header)}")
    return list(header).index(name)
