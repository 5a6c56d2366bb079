"""Figures that an experiment asks for."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from graphbandits.engine import Plan
from graphbandits.engine.plan import point_text
from graphbandits.errors import InputError, nearest
from graphbandits.experiments import tables
from graphbandits.experiments._texts import file_part, line_of, placeholders
from graphbandits.experiments.tables import MisplacedError, Table, Text, Texts
from graphbandits.results.data_frames import QUANTILES

Kind = Literal["regret", "final", "differences", "plays", "sweep"]
Format = Literal["png", "svg", "pdf"]
Scale = Literal["linear", "log", "symlog"]
#: Options of some kinds only; all others go with every kind.
OPTIONS: dict[str, tuple[str, ...]] = {
    "regret": ("band", "levels", "confidence", "scale", "yscale"),
    "final": ("confidence", "xscale"),
    "differences": ("confidence", "reference", "all_pairs", "simultaneous", "xscale"),
    "plays": ("by",),
    "sweep": ("confidence", "yscale"),
}
#: What is drawn of one simulation that asks for no figures; of sweeps it is "sweep".
FIGURES = ("regret", "final", "differences", "plays")
#: What a figure without a name has in the names of its files.
PARTS = {kind: "" if kind in ("regret", "sweep") else kind for kind in OPTIONS}


class FigureTable(Table):
    """A figure of some ``kind``, with options that go with it."""

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

    def plain(self) -> dict[str, Any]:
        """The kind and what differs from the defaults, as JSON can hold it.

        >>> FigureTable(kind="regret", band="quantiles", levels=(0.25, 0.75)).plain()
        {'kind': 'regret', 'band': 'quantiles', 'levels': [0.25, 0.75]}
        """
        return self.model_dump(mode="json", exclude_defaults=True)

    @model_validator(mode="after")
    def _goes_together(self) -> Self:
        some = {option for options in OPTIONS.values() for option in options}
        given = [key for key in type(self).model_fields if key in self.model_fields_set]
        for key in given:
            if key in some and key not in OPTIONS[self.kind]:
                kinds = [repr(kind) for kind, options in OPTIONS.items() if key in options]
                raise InputError(
                    f"{key} does not go with kind = '{self.kind}': it is an option of "
                    f"{' and '.join(kinds)}"
                )
        quantiles, names = self.band == "quantiles", self.policies or ()
        if "levels" in given and not quantiles:
            raise InputError("levels go with band = 'quantiles'")
        if "confidence" in given and quantiles:
            raise InputError("confidence does not go with band = 'quantiles', which has levels")
        if self.all_pairs and self.reference is not None:
            raise InputError("all_pairs does not go with a reference: give one of them")
        if self.kind == "differences" and self.xscale == "log":
            raise MisplacedError("differences can be below zero: 'linear' or 'symlog'", "xscale")
        pair = len(self.levels) == 2 and all(level in QUANTILES for level in self.levels)
        if not pair or self.levels[0] >= self.levels[1]:
            kept = ", ".join(f"{level:g}" for level in QUANTILES)
            raise MisplacedError(f"levels are a lower and an upper one of {kept}", "levels")
        if len(set(self.formats)) < len(self.formats):
            raise MisplacedError("each format once", "formats")
        if self.name is not None and file_part(self.name) != self.name:
            message = "it is in the names of files: letters, digits, points and signs, such as "
            raise MisplacedError(message + (file_part(self.name) or "mine"), "name")
        for place, name in enumerate(names):
            if name in names[:place]:
                raise MisplacedError("this policy is given twice", "policies", place)
        if self.kind == "differences" and len(names) == 1:
            raise MisplacedError("differences are of two policies or more", "policies")
        if names and self.reference is not None and self.reference not in names:
            message = "it is not among the policies of the figure: "
            raise MisplacedError(message + nearest(self.reference, names), "reference")
        return self


def part_of(figure: Mapping[str, Any]) -> str:
    """What the files of a figure in plain data have in their names, besides those of its study.

    >>> part_of({"kind": "final"}), part_of({"kind": "regret", "name": "zoom"})
    ('final', 'zoom')
    """
    return str(figure.get("name", PARTS[figure["kind"]]))


def requested(figures: Sequence[FigureTable] | None, plans: Sequence[Plan]) -> list[dict[str, Any]]:
    """Figures of these plans as plain data, their policies by the names of lines; checked.

    Without any, those that are usual: all kinds of one simulation, or that of sweeps.
    """
    if figures is None:
        if plans[0].sweep is not None:
            return [{"kind": "sweep"}]
        alone = len(plans[0].lines) == 1  # there is nothing to compare it with
        return [{"kind": kind} for kind in FIGURES if not (alone and kind == "differences")]
    known = dict.fromkeys(line for plan in plans for line in plan.lines.values())
    found = []
    for number, figure in enumerate(figures, 1):
        plain, what = figure.plain(), f"figures {number}"
        if figure.policies is not None:
            plain["policies"] = [_line(policy, known, what) for policy in figure.policies]
        if figure.reference is not None:
            plain["reference"] = _line(figure.reference, known, what)
        _check_shown(plain, plans, what)
        found.append(plain)
    return found


def _line(policy: str, known: Collection[str], what: str) -> str:
    """The line that a policy is, written as among the policies of the experiment."""
    line = policy
    if not placeholders(policy):
        line = tables.policy_name(policy, what)
    elif policy not in known and line_of(policy) in known:
        line = line_of(policy)
    tables.check_known([line], known, what)
    return line


def _check_shown(plain: dict[str, Any], plans: Sequence[Plan], what: str) -> None:
    """Refuse figures that would have nothing to show."""
    named = plain.get("policies", [])
    least = 2 if plain["kind"] == "differences" else 1
    for plan in plans:
        shown = [line for line in plan.lines.values() if not named or line in named]
        where = f"{what}, at {point_text(plan.point)}" if plan.point else what
        if len(shown) < least:
            raise InputError(
                f"{where}: kind = '{plain['kind']}' shows {least} or more policies, and there "
                f"{'is' if len(shown) == 1 else 'are'} {len(shown)} to show"
            )
        if plain.get("reference", shown[0]) not in shown:
            raise InputError(f"{where}: the reference '{plain['reference']}' is not there")
