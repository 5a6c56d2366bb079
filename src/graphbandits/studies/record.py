"""The record of a study, checked when it is read: a damaged one is said to be so in one line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from graphbandits.errors import InputError
from graphbandits.store import Store

#: The layout of a study's record.
FORMAT = 1

Whole = Annotated[int, Field(ge=0, strict=True)]
Positive = Annotated[int, Field(ge=1, strict=True)]
#: Names of files in the store; nothing else gets into a path.
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class _Part(BaseModel):
    # a later version may add to a record what this one has no need of
    model_config = ConfigDict(extra="ignore", strict=True)


class ClaimPart(_Part):
    """A claim on who has less regret."""

    text: str
    source: str
    better: list[str]
    than: list[str]


class PublishedPart(_Part):
    """Means and standard errors that were published."""

    source: str
    means: dict[str, Annotated[list[float], Field(min_length=2, max_length=2)]]


class SweepPart(_Part):
    """What was swept."""

    title: str
    parameters: Annotated[list[str], Field(min_length=1)]
    x: str | None
    label: str
    scale: Literal["linear", "log"]

    @model_validator(mode="after")
    def _axis(self) -> Self:
        if self.x is not None and self.x not in self.parameters:
            raise ValueError(f"x is '{self.x}', which is none of its parameters")
        return self


class CellPart(_Part):
    """One simulation: where it is and which series it is made of."""

    sweep: Whole | None
    point: dict[str, bool | int | float | str]
    name: str
    cell: Sha256
    policies: Annotated[dict[str, Sha256], Field(min_length=1)]
    lines: dict[str, str]

    @model_validator(mode="after")
    def _lines(self) -> Self:
        if self.lines.keys() != self.policies.keys():
            raise ValueError("lines are not of its policies")
        if len(set(self.lines.values())) < len(self.lines):
            raise ValueError("two policies are the same line")
        return self


class Record(_Part):
    """What a run was told of one experiment."""

    format: Positive
    key: str
    title: str
    notes: list[str]
    rerun: str
    seed: Whole
    first_trial: Whole
    trials: Positive
    claims: list[ClaimPart]
    published: PublishedPart | None
    figures: list[dict[str, Any]]
    bounds: bool
    sweeps: list[SweepPart]
    cells: Annotated[list[CellPart], Field(min_length=1)]

    @model_validator(mode="after")
    def _places(self) -> Self:
        for number, cell in enumerate(self.cells, start=1):
            if cell.sweep is None:
                known: list[str] = []
            elif cell.sweep < len(self.sweeps):
                known = self.sweeps[cell.sweep].parameters
            else:
                raise ValueError(f"cell {number} is of a sweep that is not there")
            if cell.point.keys() != set(known):
                raise ValueError(f"the point of cell {number} has other parameters than its sweep")
        return self


def read_record(store: Store, key: str) -> Mapping[str, Any]:
    """The record of a study, or what is wrong with it."""
    path = store.path / "studies" / f"{key}.json"
    record: Any = store.study(key)
    number = record.get("format") if isinstance(record, dict) else None
    if isinstance(number, int) and number > FORMAT:
        raise InputError(
            f"the study '{key}' in {store.path} is of format {number}, and this version of "
            f"graphbandits reads up to {FORMAT}: update graphbandits"
        )
    try:
        found = Record.model_validate(record)
        wrong = "" if found.key == key else f"its key is '{found.key}'"
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        wrong = f"{place}: {first['msg']}" if place else first["msg"]
    if wrong:
        raise InputError(
            f"{path} is damaged ({wrong}): run the experiment again, which writes it anew"
        )
    return dict(record)
