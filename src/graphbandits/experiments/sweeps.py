"""Sweeps: one simulation for each point, by values of one parameter, by a grid or by a list."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from operator import contains
from typing import Annotated, Literal, Self, get_args

from pydantic import AfterValidator, Field, PlainValidator, model_validator

from graphbandits.engine.plan import point_text
from graphbandits.errors import InputError, nearest
from graphbandits.experiments.tables import (
    MEANS,
    PRIOR,
    Accuracy,
    MisplacedError,
    Regret,
    SimulationTable,
    Text,
    check_prior,
    is_means,
    is_number,
    meant,
)
from graphbandits.experiments.texts import (
    Given,
    Value,
    file_part,
    line_of,
    placeholders,
    shown_value,
    toml_text,
    varies_itself,
)
from graphbandits.store.record import SweepRecord


def _is_whole(value: object, least: int) -> bool:
    return isinstance(value, int) and value >= least


#: Keys whose values are some words.
WORDS = {"accuracy": get_args(Accuracy), "regret": get_args(Regret)}
#: Keys of the experiment that a sweep may set: what their values are, and whether one is.
KEYS: dict[str, tuple[str, Callable[[object], bool]]] = {
    "arms": ("whole numbers of at least 1", partial(_is_whole, least=1)),
    "horizon": ("whole numbers of at least 1", partial(_is_whole, least=1)),
    "seed": ("whole numbers of at least 0", partial(_is_whole, least=0)),
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


class SweepTable(SimulationTable):
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
    accuracy: Accuracy | None = None

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of what it varies, in their order."""
        return tuple(self.listed[0] if self.listed else self.grid or [self.parameter or ""])

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

    def shown_points(self) -> list[dict[str, Value]]:
        """The points, lists as texts."""
        return [{name: shown_value(v) for name, v in point.items()} for point in self.points()]

    def record(self, title: str, alone: bool) -> SweepRecord:
        """What a study keeps of it, in an experiment of this title, where it may be alone."""
        label = self.label or self.axis or ", ".join(self.parameters)
        return SweepRecord(
            title=self.title or (title if alone else f"{title}: by {label}"),
            parameters=list(self.parameters),
            x=self.axis,
            label=label,
            scale=self.scale,
        )

    @model_validator(mode="after")
    def _is_sound(self) -> Self:
        self._check_kind()
        for number, point in enumerate(self.listed or ()):
            if set(point) != set(self.parameters):
                names = ", ".join(self.parameters)
                message = f"every point has the same parameters, those of the first: {names}"
                raise MisplacedError(message, "list", number)
        for parameter in self.parameters:
            self._check_types(parameter, self._column(parameter))
        on_axis = [] if self.axis is None else list(self._column(self.axis).values())
        if self.scale == "log" and not (on_axis and all(is_number(v) and v > 0 for v in on_axis)):
            raise InputError("scale = 'log' goes with numbers above 0")
        shown = self.shown_points() if self.listed else []
        for place, values in enumerate(shown):
            if values in shown[:place]:
                raise InputError(f"the point {point_text(values)} is given twice")
        for parameter in self.parameters:
            self._check_apart(parameter, self._column(parameter))
        for parameter in filter(KEYS.__contains__, self.parameters):
            self._check_key(parameter, self._column(parameter))
        return self

    def _check_kind(self) -> None:
        one = self.values if self.parameter is None else self.parameter
        given = {"parameter": one, "grid": self.grid, "list": self.listed}
        kinds = [key for key, part in given.items() if part is not None]
        if len(kinds) != 1:
            got = f", not {' and '.join(kinds)}" if kinds else ""
            raise InputError(f"a sweep has parameter and values, or grid, or list{got}")
        for key in ("parameter", "values"):
            if kinds == ["parameter"] and getattr(self, key) is None:
                raise InputError(f"the key '{key}' is missing, and needed")
        if self.x is not None and self.grid is None:
            raise MisplacedError("x is for a grid: it says which parameter the axis has", "x")
        if self.grid is not None and self.x is not None and self.x not in self.grid:
            raise MisplacedError(f"no parameter of the grid: {nearest(self.x, self.grid)}", "x")

    def _column(self, parameter: str) -> dict[tuple[str | int, ...], Given]:
        """The values of a parameter by their places in the table."""
        if self.listed is not None:
            return {("list", i, parameter): point[parameter] for i, point in enumerate(self.listed)}
        if self.grid is not None:
            return {("grid", parameter, i): v for i, v in enumerate(self.grid[parameter])}
        return {("values", i): value for i, value in enumerate(self.values or ())}

    def _of(self, parameter: str) -> str:
        return "values" if self.values is not None else f"values of {parameter}"

    def _check_types(self, parameter: str, column: Mapping[tuple[str | int, ...], Given]) -> None:
        first = next(iter(column.values()))
        kind = "number" if is_number(first) else "text" if isinstance(first, str) else "list"
        for place, value in column.items():
            if isinstance(value, tuple) and parameter not in LISTS:
                message = "a value is a finite number, or a text that is not empty; lists are for "
                raise MisplacedError(message + " and ".join(LISTS), *place)
            if is_number(value) != is_number(first):
                message = f"{self._of(parameter)} are all numbers or all texts, and the first is "
                raise MisplacedError(f"{message}a {kind}", *place)

    def _check_apart(self, parameter: str, column: Mapping[tuple[str | int, ...], Given]) -> None:
        """Refuse values that are the same, or would be in the names of files."""
        values = [shown_value(value) for value in column.values()]
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

    def _check_key(self, parameter: str, column: Mapping[tuple[str | int, ...], Given]) -> None:
        """Refuse values that the key cannot have, and a key that would have two values."""
        what, check = KEYS[parameter]
        for place, value in column.items():
            message = f"values of {parameter} are {what}{meant(value, WORDS.get(parameter, ()))}"
            try:
                fits = check(value)
            except InputError as error:
                fits, message = False, str(error)
            if not fits:
                raise MisplacedError(message, *place)
        own = getattr(self, parameter, None)
        if own is not None and not varies_itself(parameter, own):
            raise InputError(
                f"{parameter} is what this sweep varies: leave the key '{parameter}' out"
            )

    def check_texts(self, texts: Iterable[str]) -> None:
        """Refuse parameters that change nothing, and lists in texts."""
        used = {name: text for text in texts for name in placeholders(text)}
        for parameter in self.parameters:
            lists = any(isinstance(value, tuple) for value in self._column(parameter).values())
            if parameter in used and lists:
                raise InputError(
                    f"{{{parameter}}} in '{used[parameter]}': its values are lists, which cannot "
                    "stand in a text"
                )
            if parameter not in KEYS and parameter not in used:
                raise InputError(
                    f"the sweep of '{parameter}' changes nothing: write {{{parameter}}} where its "
                    "value belongs, in the graph, the prior or a policy"
                )


def line_names(texts: Iterable[str]) -> dict[str, str]:
    """What policies with placeholders are called as lines, by their texts.

    >>> line_names(["ts-n", "ucb(c={c})"])
    {'ucb(c={c})': 'ucb(c=…)'}
    >>> line_names(["ucb(c={low})", "ucb(c={high})"])
    {'ucb(c={low})': 'ucb(c={low})', 'ucb(c={high})': 'ucb(c={high})'}
    """
    lines = {text: line_of(text) for text in texts if placeholders(text)}
    alike = list(lines.values())
    return {text: line if alike.count(line) == 1 else text for text, line in lines.items()}


def cell_name(point: Mapping[str, Value]) -> str:
    """What the files of a point have in their names.

    >>> cell_name({"r": 0.25, "arms": 5})
    'r-0.25-arms-5'
    """
    return "-".join(f"{parameter}-{file_part(value)}" for parameter, value in point.items())


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
