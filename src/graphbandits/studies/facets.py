"""What one figure or table of a sweep shows: its cells along the axis, all else fixed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from graphbandits.experiments.texts import point_text

if TYPE_CHECKING:
    from graphbandits.experiments import Swept
    from graphbandits.studies.stored import StoredCell, StoredStudy


@dataclass(frozen=True, eq=False)
class Facet:
    """The cells of a sweep at ``fixed`` values of all parameters but the one on its axis.

    ``cells`` has them by the value on the axis, or by all values of their point as a text where
    the sweep is a list. ``key`` is what its files have in their names.
    """

    key: str
    title: str
    sweep: Swept
    fixed: Mapping[str, Any]
    cells: Mapping[Any, StoredCell]

    @property
    def scale(self) -> str:
        """Of its axis; categories have none."""
        return "linear" if any(isinstance(value, str) for value in self.cells) else self.sweep.scale

    @property
    def label(self) -> str:
        """What its axis says."""
        return self.sweep.label


def facets_of(study: StoredStudy) -> list[Facet]:
    """The sweeps of a study, one facet for each combination of what is not on the axis."""
    found: list[Facet] = []
    for number, sweep in enumerate(study.sweeps):
        mine = [cell for cell in study.cells if cell.sweep == number]
        # values alone will do where the axis says what they are, and no comma is within them
        commas = any("," in str(value) for cell in mine for value in cell.point.values())
        alone = sweep.label == ", ".join(sweep.parameters) and not commas
        # an axis has numbers only, or categories only
        texts = any(isinstance(_on_axis(cell, sweep, alone), str | bool) for cell in mine)
        groups: dict[str, list[StoredCell]] = {}
        for cell in mine:
            groups.setdefault(repr(_fixed(cell, sweep)), []).append(cell)
        for cells in groups.values():
            fixed = _fixed(cells[0], sweep)
            key = f"{study.key}-{sweep.facet_name(cells[0].point)}"
            if any(key == facet.key for facet in found):
                key += f"-{number + 1}"  # two sweeps of the same parameters
            title = f"{sweep.title}: {point_text(fixed)}" if fixed else sweep.title
            at = ((_on_axis(cell, sweep, alone), cell) for cell in cells)
            values = {str(value) if texts else value: cell for value, cell in at}
            if len(values) < len(cells):  # texts that read the same, as 1 and '1'
                values = {repr(cell.point): cell for cell in cells}
            found.append(Facet(key, title, sweep, fixed, values))
    return found


def _fixed(cell: StoredCell, sweep: Swept) -> dict[str, Any]:
    """What stays the same along the axis; a list has none."""
    if sweep.x is None:
        return {}
    return {name: value for name, value in cell.point.items() if name != sweep.x}


def _on_axis(cell: StoredCell, sweep: Swept, alone: bool) -> Any:
    """Where a cell is on the axis: a value, or the point in words or its values ``alone``."""
    if sweep.x is not None:
        return cell.point[sweep.x]
    values = (str(cell.point[name]) for name in sweep.parameters)
    return ", ".join(values) if alone else point_text(cell.point)
