"""Figures of an experiment: their options, checks, and defaults."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from graphbandits.engine import Plan
from graphbandits.engine.plan import point_text
from graphbandits.errors import InputError, nearest
from graphbandits.experiments import tables
from graphbandits.experiments._texts import file_name_part, line_label, placeholders
from graphbandits.experiments.tables import MisplacedError, Table, Text, Texts
from graphbandits.results.data_frames import QUANTILES

Kind = Literal["regret", "final", "differences", "plays", "sweep"]
Format = Literal["png", "svg", "pdf"]
Scale = Literal["linear", "log", "symlog"]
#: Options that only some kinds have; all other options are common to all kinds.
OPTIONS: dict[str, tuple[str, ...]] = {
    "regret": ("band", "levels", "confidence", "scale", "yscale"),
    "final": ("confidence", "xscale"),
    "differences": ("confidence", "reference", "all_pairs", "simultaneous", "xscale"),
    "plays": ("by",),
    "sweep": ("confidence", "yscale"),
}
#: Default figures of a single simulation. The default of sweeps is "sweep".
FIGURES = ("regret", "final", "differences", "plays")
#: Default names of figures in file names.
DEFAULT_NAMES = {kind: "" if kind in ("regret", "sweep") else kind for kind in OPTIONS}


class FigureTable(Table):
    """A table ``[[figures]]``: a ``kind`` of figure, and its options."""

    kind: Kind
    name: Text | None = None
    title: Text | None = None
    policies: Texts | None = None
    width: Literal["one", "two"] = "two"
    formats: Annotated[tuple[Format, ...], Field(min_length=1)] = ("png", "svg", "pdf")
    band: Literal["interval", "quantiles", "none"] = "interval"
    levels: tuple[Annotated[float, Field(strict=True)], ...] = (0.1, 0.9)
    confidence: Annotated[float, Field(gt=0, lt=1, strict=True)] = 0.95
    scale: Scale = "linear"
    xscale: Scale = "linear"
    yscale: Scale = "linear"
    by: Literal["rank", "arm"] | None = None
    reference: Text | None = None
    all_pairs: Annotated[bool, Field(strict=True)] = False
    simultaneous: Annotated[bool, Field(strict=True)] = True

    def to_dict(self) -> dict[str, Any]:
        """Return the kind and all options that differ from their defaults, as JSON data.

        >>> FigureTable(kind="regret", band="quantiles", levels=(0.25, 0.75)).to_dict()
        {'kind': 'regret', 'band': 'quantiles', 'levels': [0.25, 0.75]}
        """
        return self.model_dump(mode="json", exclude_defaults=True)

    @model_validator(mode="after")
    def _check_figure(self) -> Self:
        self._check_combinations()
        self._check_values()
        self._check_policies()
        return self

    def _check_combinations(self) -> None:
        """Raise an error if options cannot be combined."""
        some = {option for options in OPTIONS.values() for option in options}
        set_keys = [key for key in type(self).model_fields if key in self.model_fields_set]
        for key in set_keys:
            if key in some and key not in OPTIONS[self.kind]:
                kinds = [repr(kind) for kind, options in OPTIONS.items() if key in options]
                raise InputError(
                    f"{key} cannot be used with kind = '{self.kind}': it is an option of "
                    f"{' and '.join(kinds)}"
                )
        quantiles = self.band == "quantiles"
        if "levels" in set_keys and not quantiles:
            raise InputError("levels can only be used with band = 'quantiles'")
        if "confidence" in set_keys and quantiles:
            raise InputError("confidence cannot be used with band = 'quantiles': use levels")
        if self.all_pairs and self.reference is not None:
            raise InputError("all_pairs and reference cannot be combined: remove one of them")

    def _check_values(self) -> None:
        """Raise an error if the value of an option is invalid."""
        if self.kind == "differences" and self.xscale == "log":
            raise MisplacedError("differences can be negative: use 'linear' or 'symlog'", "xscale")
        pair = len(self.levels) == 2 and all(level in QUANTILES for level in self.levels)
        if not pair or self.levels[0] >= self.levels[1]:
            allowed = ", ".join(f"{level:g}" for level in QUANTILES)
            message = f"levels must be a lower and an upper level out of {allowed}"
            raise MisplacedError(message, "levels")
        if len(set(self.formats)) < len(self.formats):
            raise MisplacedError("a format is given twice", "formats")
        if self.name is not None and file_name_part(self.name) != self.name:
            message = (
                "a name is part of file names: use letters, digits, '.', '+', '-' and '_', as in "
            )
            raise MisplacedError(message + (file_name_part(self.name) or "mine"), "name")

    def _check_policies(self) -> None:
        """Raise an error if the policies or the reference are invalid."""
        names = self.policies or ()
        for place, name in enumerate(names):
            if name in names[:place]:
                raise MisplacedError("this policy is given twice", "policies", place)
        if self.kind == "differences" and len(names) == 1:
            raise MisplacedError("differences need at least two policies", "policies")
        if names and self.reference is not None and self.reference not in names:
            message = "the reference is not one of the policies of the figure: "
            raise MisplacedError(message + nearest(self.reference, names), "reference")


def figure_name_part(figure: Mapping[str, Any]) -> str:
    """Return the part of the file names that identifies a figure of a study.

    >>> figure_name_part({"kind": "final"}), figure_name_part({"kind": "regret", "name": "zoom"})
    ('final', 'zoom')
    """
    return str(figure.get("name", DEFAULT_NAMES[figure["kind"]]))


def resolve_figures(
    figures: Sequence[FigureTable] | None, plans: Sequence[Plan]
) -> list[dict[str, Any]]:
    """Check the figures of an experiment and return them as JSON data.

    Policies are identified by the labels of their lines. Without figures, return the default: all
    kinds for a single simulation, or the kind "sweep".
    """
    if figures is None:
        if plans[0].sweep is not None:
            return [{"kind": "sweep"}]
        alone = len(plans[0].lines) == 1  # nothing to compare
        return [{"kind": kind} for kind in FIGURES if not (alone and kind == "differences")]
    known = dict.fromkeys(line for plan in plans for line in plan.lines.values())
    found = []
    for number, figure in enumerate(figures, 1):
        plain, what = figure.to_dict(), f"figures {number}"
        if figure.policies is not None:
            plain["policies"] = [_line(policy, known, what) for policy in figure.policies]
        if figure.reference is not None:
            plain["reference"] = _line(figure.reference, known, what)
        _check_has_policies(plain, plans, what)
        found.append(plain)
    return found


def _line(policy: str, known: Collection[str], what: str) -> str:
    """Return the label of the line of a policy, as written in the experiment."""
    line = policy
    if not placeholders(policy):
        line = tables.policy_name(policy, what)
    elif policy not in known and line_label(policy) in known:
        line = line_label(policy)
    tables.check_known([line], known, what)
    return line


def _check_has_policies(plain: dict[str, Any], plans: Sequence[Plan], what: str) -> None:
    """Raise an error if a figure would show too few policies."""
    named = plain.get("policies", [])
    least = 2 if plain["kind"] == "differences" else 1
    for plan in plans:
        shown = [line for line in plan.lines.values() if not named or line in named]
        where = f"{what}, at {point_text(plan.point)}" if plan.point else what
        if len(shown) < least:
            raise InputError(
                f"{where}: kind = '{plain['kind']}' needs at least {least} "
                f"polic{'ies' if least > 1 else 'y'}, but there "
                f"{'is' if len(shown) == 1 else 'are'} {len(shown)}"
            )
        if plain.get("reference", shown[0]) not in shown:
            raise InputError(
                f"{where}: the reference '{plain['reference']}' is not one of the policies"
            )
