"""Which columns of a table hold the edges: by their usual names, or as the user says."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from graphbandits.errors import InputError, nearest
from graphbandits.graphs.io.edges import is_number

#: Names that are understood by default; the first one that a table has counts.
SOURCES = ("source", "from", "src", "u", "fromnodeid", "source_id", "from_id", "node_1", "id_1")
TARGETS = ("target", "to", "dst", "v", "tonodeid", "target_id", "to_id", "node_2", "id_2")
PROBABILITIES = ("probability", "p", "weight", "prob", "chance")
#: The column in which Gephi says of each edge whether it is directed.
TYPE = "type"


@dataclass(frozen=True)
class Columns:
    """The places of the source, the target and the probability (None: every edge is sure).

    ``type`` is the place of the column that may say Directed or Undirected.
    """

    source: int
    target: int
    probability: int | None
    type: int | None = None

    @classmethod
    def find(
        cls,
        header: Sequence[str],
        source: str | None,
        target: str | None,
        probability: str | None,
        where: str,
    ) -> Columns:
        """Find the columns by their names; None and 'auto' stand for the usual names.

        The case of the letters does not count, unless it tells two columns apart that are given.

        >>> Columns.find(["To", "From", "note", "weight"], None, None, "auto", "a.csv, line 1")
        Columns(source=1, target=0, probability=3, type=None)
        """
        ends = []
        for what, said, usual in (("source", source, SOURCES), ("target", target, TARGETS)):
            found = _find(header, usual if said is None else said, where)
            if found is None:
                raise InputError(
                    f"{where}: no column is called {_listed(usual)}; say {what}= one of: "
                    f"{', '.join(header)}"
                )
            ends.append(found)
        sought = PROBABILITIES if probability == "auto" else probability
        chance = None if sought is None else _find(header, sought, where)
        if len({*ends, chance}) < 3:
            raise InputError(f"{where}: source, target and probability are different columns")
        kinds = [place for place, name in enumerate(header) if _folded(name) == TYPE]
        kind = kinds[0] if len(kinds) == 1 and kinds[0] not in (*ends, chance) else None
        return cls(ends[0], ends[1], chance, kind)


def check_ignored(
    header: Sequence[str], columns: Columns, rows: Iterable[Sequence[object]], where: str
) -> None:
    """Refuse a table in which a column that would be ignored looks like probabilities."""
    used = {columns.source, columns.target, columns.type}
    fractional = {place: False for place in range(len(header)) if place not in used}
    for row in rows:
        for place in list(fractional):
            word = str(row[place]).strip() if place < len(row) and row[place] is not None else ""
            if not word:
                continue
            chance = float(word) if is_number(word) else -1.0
            if 0.0 <= chance <= 1.0:
                fractional[place] |= 0.0 < chance < 1.0
            else:
                del fractional[place]
    for name in (header[place] for place, found in fractional.items() if found):
        raise InputError(
            f"{where}: the column '{name}' looks like probabilities, but no column is called "
            f"{_listed(PROBABILITIES)}; say probability={name}, or probability=none to make every "
            "edge sure"
        )


def names_edges(header: Sequence[str]) -> bool:
    """Whether a header has a usual name for the source and one for the target.

    >>> names_edges(["FromNodeId", "ToNodeId"]), names_edges(["ann", "bob"])
    (True, False)
    """
    known = {_folded(name) for name in header}
    return not known.isdisjoint(SOURCES) and not known.isdisjoint(TARGETS)


def names_an_end(name: str) -> bool:
    """Whether this is a usual name for a source or a target."""
    return _folded(name) in SOURCES + TARGETS


def _folded(name: str) -> str:
    return name.strip().casefold()


def _listed(names: tuple[str, ...]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"


def _find(header: Sequence[str], sought: str | tuple[str, ...], where: str) -> int | None:
    """Find a column that the user names, or the first of the usual names, or None for these.

    The case of the letters does not count, unless a column is called exactly as the user says.
    """
    folded = [_folded(name) for name in header]
    usual = sought if isinstance(sought, tuple) else (_folded(str(sought)),)
    known = header if sought in header else folded
    for name in (sought,) if sought in header else usual:
        found = [place for place, one in enumerate(known) if one == name]
        if len(found) > 1:
            called = " and ".join(dict.fromkeys(f"'{header[place]}'" for place in found))
            raise InputError(f"{where}: two columns are called {called}")
        if found:
            return found[0]
    if isinstance(sought, tuple):
        return None
    raise InputError(f"{where}: there is no column '{sought}': {nearest(str(sought), header)}")
