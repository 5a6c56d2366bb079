"""Sweeps: one simulation for each point, by values of one parameter, by a grid or by a list."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from functools import partial
from operator import contains
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import AfterValidator, Field, PlainValidator, model_validator

from graphbandits.engine.plan import point_text
from graphbandits.errors import InputError, nearest
from graphbandits.experiments.tables import (
    Accuracy,
    Means,
    MisplacedError,
    Positive,
    Prior,
    Regret,
    Table,
    Text,
    Texts,
    meant,
)
from graphbandits.experiments.texts import (
    Given,
    Value,
    file_part,
    shown_value,
    toml_text,
    varies_itself,
)
from graphbandits.experiments.worlds import MEANS, PRIOR, check_prior, is_means, is_number
from graphbandits.store.record import SweepRecord


def _is_whole(value: object, least: int) -> bool:
    return isinstance(value, int) and value >= least


#: Keys whose values are some words.
WORDS = {"accuracy": get_args(Accuracy), "regret": get_args(Regret)}
#: Keys of the experiment that a sweep may set: what their values are, and whether one is.
KEYS: dict[str, tuple[str, Callable[[object], bool]]] = {
    "arms": ("whole numbers of at least 1", lambda value: _is_whole(value, 1)),
    "horizon": ("whole numbers of at least 1", lambda value: _is_whole(value, 1)),
    "seed": ("whole numbers of at least 0", lambda value: _is_whole(value, 0)),
    "graph": ("texts", lambda value: isinstance(value, str)),
    "prior": (f"each {PRIOR}", lambda value: bool(check_prior(value))),
    "means": (f"each {MEANS}", is_means),
    **{
        key: (" or ".join(map(repr, words)), partial(contains, words))
        for key, words in WORDS.items()
    },
}
#: Keys whose values may be lists.
LISTS = ("prior", "means")
#: Keys that are texts, in which {key} may stand for the value of the sweep.
TEXTS = ("graph", "prior")
#: Other keys, which have one value in all simulations.
FIXED = {
    "trials": "it says how well the means are known, not what is simulated",
    "points": "it says what is kept, not what is simulated",
    "rounds": "it says what is kept, not what is simulated",
    "ratios": "it says what is kept, not what is simulated",
    "policies": "write a placeholder into the texts of policies",
    "world": "there is one world",
} | dict.fromkeys(
    ("title", "plugins", "notes", "record", "claims", "published", "sweeps", "figures"),
    "it is the same in all simulations",
)


def _word(text: str) -> str:
    if not text.isidentifier():
        raise ValueError("a parameter is a word such as r, which stands in texts as {r}")
    if text in FIXED:
        raise ValueError(
            f"the key '{text}' cannot be swept: {FIXED[text]}; keys that can: "
            f"{', '.join(sorted(KEYS))}; any other word fills {{word}} in texts"
        )
    return text


def _given(value: object) -> Given:
    if isinstance(value, str) and value:
        return value
    if is_number(value) and abs(value) < math.inf:
        return value
    if isinstance(value, list) and value:
        return tuple(_given(one) for one in value)
    raise ValueError("a value is a finite number, or a text that is not empty")


Word = Annotated[str, AfterValidator(_word)]
OneValue = Annotated[Given, PlainValidator(_given)]
Values = Annotated[tuple[OneValue, ...], Field(min_length=1)]
Point = Annotated[dict[Word, OneValue], Field(min_length=1)]


class SweepTable(Table):
    """One simulation for each point: ``values`` of a ``parameter``, a ``grid`` or a ``list``.

    ``{parameter}`` in the texts of graph, prior and policies becomes the value; a parameter of
    ``KEYS`` sets the key of that name. What is not given here is that of the experiment.
    """

    parameter: Word | None = None
    values: Values | None = None
    grid: Annotated[dict[Word, Values], Field(min_length=1)] | None = None
    x: Text | None = None
    listed: Annotated[tuple[Point, ...], Field(min_length=1)] | None = Field(None, alias="list")
    title: str = ""
    label: str = ""
    scale: Literal["linear", "log"] = "linear"
    graph: Text | None = None
    arms: Positive | None = None
    horizon: Positive | None = None
    prior: Prior | None = None
    means: Means | None = None
    accuracy: Accuracy | None = None
    policies: Texts | None = None

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of what it varies, in their order."""
        if self.grid is not None:
            return tuple(self.grid)
        return tuple(self.listed[0]) if self.listed is not None else (self.parameter or "",)

    @property
    def axis(self) -> str | None:
        """The parameter on the axis; None where the points are categories."""
        return None if self.listed and len(self.parameters) > 1 else self.x or self.parameters[0]

    def points(self) -> list[dict[str, Given]]:
        """All points, in their order; of a grid the last parameter changes first.

        >>> table = SweepTable(grid={"r": [0, 0.5], "arms": [5, 10]})
        >>> [tuple(point.values()) for point in table.points()]
        [(0, 5), (0, 10), (0.5, 5), (0.5, 10)]
        """
        if self.listed is not None:
            return [{name: point[name] for name in self.parameters} for point in self.listed]
        grid = self.grid or {self.parameters[0]: self.values or ()}
        return [dict(zip(grid, point, strict=True)) for point in itertools.product(*grid.values())]

    def record(self, title: str, alone: bool) -> SweepRecord:
        """What a study keeps of it, in an experiment of this title, where it may be alone."""
        label = self.label or self.axis or ", ".join(self.parameters)
        own = self.title or (title if alone else f"{title}: by {label}")
        return SweepRecord(
            title=own,
            parameters=list(self.parameters),
            x=self.axis,
            label=label,
            scale=self.scale,
        )

    @model_validator(mode="after")
    def _is_one_kind(self) -> Self:
        kinds = [key for key, part in self._kinds().items() if part is not None]
        if len(kinds) != 1:
            got = f", not {' and '.join(kinds)}" if kinds else ""
            raise InputError(f"a sweep has parameter and values, or grid, or list{got}")
        if kinds == ["parameter"]:
            for key in ("parameter", "values"):
                if getattr(self, key) is None:
                    raise InputError(f"the key '{key}' is missing, and needed")
        if self.x is not None and self.grid is None:
            message = "x is for a grid: it says which parameter the axis has"
            raise MisplacedError(("x",), self.x, message)
        if self.grid is not None and self.x is not None and self.x not in self.grid:
            raise MisplacedError(
                ("x",), self.x, f"no parameter of the grid: {nearest(self.x, self.grid)}"
            )
        return self

    def _kinds(self) -> Mapping[str, Any]:
        one = self.values if self.parameter is None else self.parameter
        return {"parameter": one, "grid": self.grid, "list": self.listed}

    @model_validator(mode="after")
    def _has_points(self) -> Self:
        for number, point in enumerate(self.listed or ()):
            if set(point) != set(self.parameters):
                raise MisplacedError(
                    ("list", number),
                    _plain(point),
                    "every point has the same parameters, those of the first: "
                    f"{', '.join(self.parameters)}",
                )
        for parameter in self.parameters:
            column = self._column(parameter)
            for place, value in column.items():
                if isinstance(value, tuple) and parameter not in LISTS:
                    raise MisplacedError(
                        place,
                        _plain(value),
                        "a value is a finite number, or a text that is not empty; lists are for "
                        f"{' and '.join(LISTS)}",
                    )
            first = next(iter(column.values()))
            kind = "number" if is_number(first) else "text" if isinstance(first, str) else "list"
            for place, value in column.items():
                if is_number(value) != is_number(first):
                    raise MisplacedError(
                        place,
                        _plain(value),
                        f"{self._of(parameter)} are all numbers or all texts, and the first is "
                        f"a {kind}",
                    )
        return self

    def _column(self, parameter: str) -> dict[tuple[str | int, ...], Given]:
        """The values of a parameter by their places in the table."""
        if self.listed is not None:
            return {("list", i, parameter): point[parameter] for i, point in enumerate(self.listed)}
        if self.grid is not None:
            return {("grid", parameter, i): v for i, v in enumerate(self.grid[parameter])}
        return {("values", i): value for i, value in enumerate(self.values or ())}

    def _of(self, parameter: str) -> str:
        return "values" if self.values is not None else f"values of {parameter}"

    @model_validator(mode="after")
    def _can_be_drawn(self) -> Self:
        on_axis = [] if self.axis is None else list(self._column(self.axis).values())
        if self.scale == "log" and not (on_axis and all(map(_is_above_zero, on_axis))):
            raise InputError("scale = 'log' goes with numbers above 0")
        if self.listed is not None:
            points = [{k: shown_value(v) for k, v in point.items()} for point in self.points()]
            for place, point in enumerate(points):
                if point in points[:place]:
                    raise InputError(f"the point {point_text(point)} is given twice")
        for parameter in self.parameters:
            self._check_apart(parameter)
        return self

    def _check_apart(self, parameter: str) -> None:
        """Refuse values that are the same, or would be in the names of files."""
        values = [shown_value(value) for value in self._column(parameter).values()]
        if self.listed is not None:  # where a value may be that of several points
            values = list(dict.fromkeys(values))
        for place, value in enumerate(values):
            if value in values[:place]:
                raise InputError(f"the value {toml_text(value)} is given twice")
        # some file systems do not tell capital letters apart
        files = {file_part(value).casefold() for value in values}
        if len(files) < len(values) or "" in files:
            raise InputError(
                f"{self._of(parameter)} are in the names of files, where letters, digits, points "
                f"and signs must tell them apart; got {', '.join(map(str, values))}"
            )

    @model_validator(mode="after")
    def _can_be_set(self) -> Self:
        for parameter in (name for name in self.parameters if name in KEYS):
            what, check = KEYS[parameter]
            for place, value in self._column(parameter).items():
                try:
                    fits = check(value)
                except InputError as error:
                    raise MisplacedError(place, _plain(value), str(error)) from None
                if not fits:
                    message = f"values of {parameter} are {what}"
                    message += meant(value, WORDS.get(parameter, ()))
                    raise MisplacedError(place, _plain(value), message)
            own = getattr(self, parameter, None)
            if own is not None and not varies_itself(parameter, own):
                raise InputError(
                    f"{parameter} is what this sweep varies: leave the key '{parameter}' out"
                )
        return self


def cell_name(point: Mapping[str, Value]) -> str:
    """What the files of a point have in their names.

    >>> cell_name({"r": 0.25, "arms": 5})
    'r-0.25-arms-5'
    """
    return "-".join(f"{parameter}-{file_part(value)}" for parameter, value in point.items())


def _is_above_zero(value: Given) -> bool:
    return is_number(value) and value > 0


def _plain(value: object) -> Any:
    """As it is in the file: lists, not tuples."""
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, tuple) else value


def sweep_name(sweep: SweepRecord) -> str:
    """What a sweep is called: its parameters."""
    return "-".join(sweep.parameters)


def slice_name(sweep: SweepRecord, point: Mapping[str, Value]) -> str:
    """What a figure has in its name: what is on its axis, and at which values of all else.

    >>> sweep = SweepTable(grid={"r": [0, 1], "arms": [5]}).record("", alone=True)
    >>> slice_name(sweep, {"r": 0, "arms": 5})
    'r-arms-5'
    """
    if sweep.x is None:  # a list is one slice
        return sweep_name(sweep)
    fixed = {name: value for name, value in point.items() if name != sweep.x}
    return "-".join(filter(None, (sweep.x, cell_name(fixed))))
