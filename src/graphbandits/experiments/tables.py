"""Tables of an experiment file: common types, claims, published means, records, sweeps."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from operator import contains
from typing import Annotated, Any, Literal, Self, TypeGuard, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PlainValidator, model_validator

from graphbandits.engine.answers import check_delay
from graphbandits.engine.plan import point_text
from graphbandits.engine.shard import MAX_POINTS
from graphbandits.engine.trajectories import RECORDS
from graphbandits.errors import InputError, nearest
from graphbandits.experiments import _texts
from graphbandits.experiments._texts import (
    ScalarValue,
    SweepValue,
    display_value,
    file_name_part,
    placeholders,
)
from graphbandits.policies import as_policy
from graphbandits.registry import text_of
from graphbandits.results import Claim, Published
from graphbandits.store.record import SweepRecord

#: Descriptions of valid values, for error messages.
PRIOR = '"A,B", [A, B], "name=value", or a list with one of these per arm'
MEANS = "a list of finite numbers, one per arm"
SHARE = "a probability above 0 and at most 1"
DELAY = "a whole number of at least 0, or two of them, [smallest, largest]"


class MisplacedError(InputError):
    """An error at a place inside the table that is checked."""

    def __init__(self, message: str, *place: str | int) -> None:
        super().__init__(message)
        self.place = place


def suggestion(value: object, words: Iterable[str]) -> str:
    """Return a suggestion of a similar allowed word, if there is one.

    >>> suggestion("lin", ["linear", "log"]), suggestion("square", ["linear", "log"])
    ("; did you mean 'linear'?", '')
    """
    hint, known, _ = nearest(str(value), words).partition(" Known: ")
    return f"; {hint}" if known else ""


def is_number(value: object) -> TypeGuard[int | float]:
    """Return whether a value is a number; booleans are not.

    >>> is_number(0.5), is_number(True), is_number("1")
    (True, False, False)
    """
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_means(value: object) -> bool:
    """Return whether a value is a list of finite numbers.

    >>> is_means([0.2, 1]), is_means([]), is_means([0.2, math.nan])
    (True, False, False)
    """
    if not isinstance(value, list | tuple) or not value:
        return False
    return all(is_number(mean) and math.isfinite(mean) for mean in value)


def _means(value: Any) -> tuple[float, ...]:
    if not is_means(value):
        raise ValueError(f"means must be {MEANS}")
    return tuple(map(float, value))


def is_share(value: object) -> bool:
    """Return whether a value is a number above 0 and at most 1.

    >>> is_share(0.5), is_share(1), is_share(0), is_share(True)
    (True, True, False, False)
    """
    return is_number(value) and 0.0 < value <= 1.0


def _share(value: Any, key: str) -> float:
    if not is_share(value):
        raise ValueError(f"{key} must be {SHARE}")
    return float(value)


def is_delay(value: object) -> bool:
    """Return whether a value is a delay, or the smallest and the largest one.

    >>> is_delay(30), is_delay([0, 60]), is_delay([60, 0]), is_delay(-1)
    (True, True, False, False)
    """
    try:
        check_delay(value)
    except InputError:
        return False
    return True


def _delay(value: Any) -> int | tuple[int, int]:
    if not is_delay(value):
        raise ValueError(f"delay must be {DELAY}")
    return value if isinstance(value, int) else tuple(value)


def check_prior(value: Any) -> SweepValue:
    """Check the form of a prior, and convert lists to tuples and tables to strings.

    The parameters depend on the world and are checked later.

    >>> check_prior([[2, 5], "1,{b}"]), check_prior({"mean": 0, "sd": 2})
    (((2, 5), '1,{b}'), 'mean=0,sd=2')
    """
    entries = prior_entries(value)
    if not entries or not all(isinstance(one, str) or _is_row(one) for one in entries):
        raise InputError(f"a prior must be {PRIOR}")
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return entries[0]  # type: ignore[no-any-return]
    return tuple(value) if _is_row(value) else tuple(map(_as_tuple, entries))


def prior_entries(prior: Any) -> tuple[Any, ...]:
    """Return the entries of a prior: one per arm, or one for all; empty if it is not a prior.

    >>> prior_entries("1,{b}"), prior_entries([2, 5]), prior_entries(((2, 5), "1,1"))
    (('1,{b}',), ([2, 5],), ((2, 5), '1,1'))
    """
    if isinstance(prior, str | dict) or _is_row(prior):
        return (_table_text(prior),)
    return tuple(map(_table_text, prior)) if isinstance(prior, list | tuple) else ()


def _is_row(value: object) -> bool:
    return isinstance(value, list | tuple) and len(value) > 1 and all(map(is_number, value))


def _table_text(value: Any) -> Any:
    """Return a table of numbers and lists of numbers as text; other values unchanged."""
    if not isinstance(value, dict) or not value:
        return value
    numbers = all(is_number(one) or is_means(one) for one in value.values())
    return ",".join(f"{k}={v}" for k, v in value.items()) if numbers else value


def _as_tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


Positive = Annotated[int, Field(ge=1, strict=True)]
Seed = Annotated[int, Field(ge=0, strict=True)]
Text = Annotated[str, Field(min_length=1)]
Texts = Annotated[tuple[Text, ...], Field(min_length=1)]
Prior = Annotated[SweepValue, PlainValidator(check_prior)]
Means = Annotated[tuple[float, ...], PlainValidator(_means)]
Eligible = Annotated[float, PlainValidator(partial(_share, key="eligible"))]
AnswerRate = Annotated[float, PlainValidator(partial(_share, key="answer_rate"))]
Delay = Annotated[int | tuple[int, int], PlainValidator(_delay)]
Accuracy = Literal["simulation", "strict"]
Regret = Literal["pseudo", "realised"]


class Table(BaseModel):
    """Base class of the tables of an experiment file; unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class SimulationTable(Table):
    """Keys of an experiment that a sweep can override."""

    graph: Text | None = None
    arms: Positive | None = None
    horizon: Positive | None = None
    world: Text | None = None
    posterior: Text | None = None
    prior: Prior | None = None
    means: Means | None = None
    policies: Texts | None = None
    eligible: Eligible | None = None
    delay: Delay | None = None
    answer_rate: AnswerRate | None = None


class ClaimTable(Table):
    """A claim: each policy of ``better`` has less regret than each policy of ``than``."""

    text: Text
    source: str = ""
    better: Texts
    than: Texts

    @model_validator(mode="after")
    def _check_claim(self) -> Self:
        Claim(self.text, self.better, self.than)
        return self

    def claim(self) -> Claim:
        """Return the claim with the policy names of the results."""
        what = f"the claim '{self.text}'"
        better, than = (
            tuple(policy_name(policy, what) for policy in side) for side in (self.better, self.than)
        )
        return Claim(self.text, better, than, self.source)


class PublishedTable(Table):
    """Published mean regrets with their standard errors, and their source."""

    source: Text
    means: dict[str, Any]

    @model_validator(mode="after")
    def _check_published(self) -> Self:
        if not self.means:
            message = "must have at least one entry policy = [mean, standard error]"
            raise MisplacedError(message, "means")
        for policy, pair in self.means.items():
            try:
                Published({policy: pair}, self.source)
            except InputError:
                message = f"the published regret of '{policy}' must be two numbers [mean, standard "
                message += "error], with a standard error of at least 0"
                raise MisplacedError(message, "means", policy) from None
        return self

    def published(self) -> Published:
        """Return the published means with the policy names of the results."""
        what = f"published by {self.source}"
        means: dict[str, tuple[float, float]] = {}
        for policy, pair in self.means.items():
            name = policy_name(policy, what)
            if name in means:
                raise InputError(f"{what}: policy '{name}' is given twice")
            means[name] = tuple(pair)
        return Published(means, self.source)


class RecordTable(Table):
    """What to record of each trial: rounds (number or list), regret, ratios, trajectories."""

    points: Positive = MAX_POINTS
    rounds: Annotated[tuple[Positive, ...], Field(min_length=1)] | None = None
    regret: Regret = "pseudo"
    ratios: Literal["bound", "joint"] | None = None
    actions: Annotated[bool, Field(strict=True)] = False
    observations: Annotated[bool, Field(strict=True)] = False
    eligible: Annotated[bool, Field(strict=True)] = False

    @property
    def trajectories(self) -> tuple[str, ...]:
        """The trajectories to record, a part of ``("actions", "observations", "eligible")``."""
        return tuple(word for word in RECORDS if getattr(self, word))

    @model_validator(mode="after")
    def _check_options(self) -> Self:
        if self.rounds is None:
            return self
        if "points" in self.model_fields_set:
            raise InputError("points (a number) and rounds (a list) cannot be combined: remove one")
        if list(self.rounds) != sorted(set(self.rounds)):
            raise MisplacedError("rounds must be increasing", "rounds")
        return self


def policy_name(policy: str, what: str) -> str:
    """Return the name of a policy in results; ``what`` is the prefix of errors."""
    with _texts.prefix_errors(what):
        return text_of(as_policy(policy))


def check_known(names: Iterable[str], known: Collection[str], what: str) -> None:
    """Raise an error if a name is not a known policy."""
    for name in names:
        if name not in known:
            raise InputError(f"{what}: '{name}' is not one of the policies: {nearest(name, known)}")


# --- sweeps: one simulation per point


def _is_integer(value: object, least: int) -> bool:
    return isinstance(value, int) and value >= least


#: Keys with a fixed set of values.
KEYWORDS = {"accuracy": get_args(Accuracy), "regret": get_args(Regret)}
#: Keys of the experiment that a sweep can vary: description and check of their values.
SWEEPABLE: dict[str, tuple[str, Callable[[object], bool]]] = {
    "arms": ("integers of at least 1", partial(_is_integer, least=1)),
    "horizon": ("integers of at least 1", partial(_is_integer, least=1)),
    "seed": ("integers of at least 0", partial(_is_integer, least=0)),
    **dict.fromkeys(
        ("graph", "world", "posterior"), ("strings", lambda value: isinstance(value, str))
    ),
    "prior": (f"priors: {PRIOR}", lambda value: bool(check_prior(value))),
    "means": ("lists of finite numbers, one number per arm", is_means),
    **dict.fromkeys(("eligible", "answer_rate"), ("probabilities above 0 and at most 1", is_share)),
    "delay": ("whole numbers of at least 0, or pairs [smallest, largest] of them", is_delay),
    **{
        key: (" or ".join(map(repr, words)), partial(contains, words))
        for key, words in KEYWORDS.items()
    },
}
#: Keys whose values can be lists.
LIST_KEYS = ("prior", "means", "delay")
#: Keys that a sweep cannot vary, with the reason.
NOT_SWEEPABLE = {
    "trials": "it is the number of repetitions",
    **dict.fromkeys(
        ("points", "rounds", "ratios", "actions", "observations"),
        "it only affects what is recorded",
    ),
    "policies": "use a placeholder in the policies",
} | dict.fromkeys(
    ("title", "plugins", "notes", "record", "claims", "published", "sweeps"),
    "it is the same in all simulations",
)


def _check_parameter(text: str) -> str:
    if not text.isidentifier():
        raise ValueError("must be an identifier such as r, which is used as {r} in texts")
    if text in NOT_SWEEPABLE:
        raise ValueError(
            f"the key '{text}' cannot be swept: {NOT_SWEEPABLE[text]}; keys that can: "
            f"{', '.join(sorted(SWEEPABLE))}; any other word replaces {{word}} in texts"
        )
    return text


def _check_value(value: object) -> SweepValue:
    if isinstance(value, str) and value:
        return value
    if is_number(value) and abs(value) < math.inf:
        return value
    if isinstance(value, list) and value:
        return tuple(_check_value(one) for one in value)
    raise ValueError("a value must be a finite number or a non-empty string")


ParameterName = Annotated[str, AfterValidator(_check_parameter)]
CheckedValue = Annotated[SweepValue, PlainValidator(_check_value)]
Values = Annotated[tuple[CheckedValue, ...], Field(min_length=1)]
Point = Annotated[dict[ParameterName, CheckedValue], Field(min_length=1)]


class SweepTable(SimulationTable):
    """A sweep, with one simulation per point: ``parameter`` and ``values``, ``grid``, or ``list``.

    ``{parameter}`` in the texts of graph, world, posterior, prior and policies is replaced by the
    value. A parameter in ``SWEEPABLE`` sets the key of that name. Other keys are taken from the
    experiment.
    """

    parameter: ParameterName | None = None
    values: Values | None = None
    grid: Annotated[dict[ParameterName, Values], Field(min_length=1)] | None = None
    x: Text | None = None
    point_list: Annotated[tuple[Point, ...], Field(min_length=1)] | None = Field(None, alias="list")
    title: str = ""
    label: str = ""
    scale: Literal["linear", "log"] = "linear"
    accuracy: Accuracy | None = None

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the swept parameters, in order."""
        return tuple(self.point_list[0] if self.point_list else self.grid or [self.parameter or ""])

    @property
    def axis(self) -> str | None:
        """The parameter on the axis; None if the points are categories."""
        return (
            None if self.point_list and len(self.parameters) > 1 else self.x or self.parameters[0]
        )

    def points(self) -> list[dict[str, SweepValue]]:
        """Return all points, in order; the last parameter of a grid varies fastest.

        >>> table = SweepTable(grid={"r": [0, 0.5], "arms": [5, 10]})
        >>> [tuple(point.values()) for point in table.points()]
        [(0, 5), (0, 10), (0.5, 5), (0.5, 10)]
        """
        if self.point_list is not None:
            return [{name: point[name] for name in self.parameters} for point in self.point_list]
        grid = self.grid or {self.parameters[0]: self.values or ()}
        return [dict(zip(grid, point, strict=True)) for point in itertools.product(*grid.values())]

    def display_points(self) -> list[dict[str, ScalarValue]]:
        """Return the points with lists formatted as strings."""
        return [{name: display_value(v) for name, v in point.items()} for point in self.points()]

    def record(self, title: str, alone: bool) -> SweepRecord:
        """Return the record of the sweep in a study; ``alone`` if it is the only sweep."""
        label = self.label or self.axis or ", ".join(self.parameters)
        return SweepRecord(
            title=self.title or (title if alone else f"{title}: by {label}"),
            parameters=list(self.parameters),
            x=self.axis,
            label=label,
            scale=self.scale,
        )

    @model_validator(mode="after")
    def _check_sweep(self) -> Self:
        self._check_kind()
        for number, point in enumerate(self.point_list or ()):
            if set(point) != set(self.parameters):
                names = ", ".join(self.parameters)
                message = f"all points must have the parameters of the first point: {names}"
                raise MisplacedError(message, "list", number)
        for parameter in self.parameters:
            self._check_types(parameter)
        on_axis = [] if self.axis is None else list(self._column(self.axis).values())
        if self.scale == "log" and not (on_axis and all(is_number(v) and v > 0 for v in on_axis)):
            raise InputError("scale = 'log' needs positive numbers")
        shown = self.display_points() if self.point_list else []
        for place, values in enumerate(shown):
            if values in shown[:place]:
                raise InputError(f"the point {point_text(values)} is given twice")
        for parameter in self.parameters:
            self._check_distinct(parameter)
        for parameter in filter(SWEEPABLE.__contains__, self.parameters):
            self._check_key(parameter)
        return self

    def _check_kind(self) -> None:
        one = self.values if self.parameter is None else self.parameter
        alternatives = {"parameter": one, "grid": self.grid, "list": self.point_list}
        kinds = [key for key, part in alternatives.items() if part is not None]
        if len(kinds) != 1:
            given_keys = f"; it has {' and '.join(kinds)}" if kinds else ""
            raise InputError(f"a sweep needs parameter and values, or grid, or list{given_keys}")
        for key in ("parameter", "values"):
            if kinds == ["parameter"] and getattr(self, key) is None:
                raise InputError(f"the required key '{key}' is missing")
        if self.x is not None and self.grid is None:
            raise MisplacedError(
                "x is the parameter on the axis of a grid; this sweep has no grid: remove x", "x"
            )
        if self.grid is not None and self.x is not None and self.x not in self.grid:
            raise MisplacedError(f"not a parameter of the grid: {nearest(self.x, self.grid)}", "x")

    def _column(self, parameter: str) -> dict[tuple[str | int, ...], SweepValue]:
        """Return the values of a parameter by their places in the table."""
        if self.point_list is not None:
            return {
                ("list", i, parameter): point[parameter] for i, point in enumerate(self.point_list)
            }
        if self.grid is not None:
            return {("grid", parameter, i): v for i, v in enumerate(self.grid[parameter])}
        return {("values", i): value for i, value in enumerate(self.values or ())}

    def _values_of(self, parameter: str) -> str:
        return "values" if self.values is not None else f"values of {parameter}"

    def _check_types(self, parameter: str) -> None:
        column = self._column(parameter)
        first = next(iter(column.values()))
        kind = "number" if is_number(first) else "string" if isinstance(first, str) else "list"
        for place, value in column.items():
            if isinstance(value, tuple) and parameter not in LIST_KEYS:
                keys = f"{', '.join(LIST_KEYS[:-1])} and {LIST_KEYS[-1]}"
                message = "must be a finite number or a non-empty string; lists are allowed for "
                raise MisplacedError(message + keys, *place)
            if is_number(value) != is_number(first):
                other = "lists" if isinstance(first, tuple) else "strings"
                message = f"{self._values_of(parameter)} must be all numbers or all {other}"
                raise MisplacedError(f"{message}; the first is a {kind}", *place)

    def _check_distinct(self, parameter: str) -> None:
        """Raise an error if two values are equal."""
        values = [display_value(value) for value in self._column(parameter).values()]
        if self.point_list is not None:  # several points can share a value
            values = list(dict.fromkeys(values))
        for place, value in enumerate(values):
            if value in values[:place]:
                raise InputError(f"the value {_texts.toml_text(value)} is given twice")

    def _check_key(self, parameter: str) -> None:
        """Raise an error for invalid values of a key, or for a key that is also set."""
        what, check = SWEEPABLE[parameter]
        for place, value in self._column(parameter).items():
            hint = suggestion(value, KEYWORDS.get(parameter, ()))
            message = f"values of {parameter} must be {what}{hint}"
            try:
                fits = check(value)
            except InputError as error:
                fits, message = False, str(error)
            if not fits:
                raise MisplacedError(message, *place)
        own = getattr(self, parameter, None)
        if own is not None and not _texts.has_own_placeholder(parameter, own):
            raise InputError(f"this sweep varies {parameter}: remove the key '{parameter}'")

    def check_texts(self, texts: Iterable[str]) -> None:
        """Raise an error for parameters without effect, and for lists in placeholders."""
        used = {name: text for text in texts for name in placeholders(text)}
        for parameter in self.parameters:
            lists = any(isinstance(value, tuple) for value in self._column(parameter).values())
            if parameter in used and lists:
                raise InputError(
                    f"{{{parameter}}} in '{used[parameter]}': a placeholder cannot have lists as "
                    "values"
                )
            if parameter not in SWEEPABLE and parameter not in used:
                raise InputError(
                    f"the parameter '{parameter}' has no effect: use {{{parameter}}} in the graph, "
                    "the prior or a policy"
                )


def line_labels(policies: Iterable[str]) -> dict[str, str]:
    """Return the labels of policies with placeholders, by their texts.

    >>> line_labels(["ts-n", "ucb(c={c})"])
    {'ucb(c={c})': 'ucb(c=…)'}
    >>> line_labels(["ucb(c={low})", "ucb(c={high})"])
    {'ucb(c={low})': 'ucb(c={low})', 'ucb(c={high})': 'ucb(c={high})'}
    """
    lines = {text: _texts.line_label(text) for text in policies if placeholders(text)}
    alike = list(lines.values())
    return {text: line if alike.count(line) == 1 else text for text, line in lines.items()}


def slice_name(sweep: SweepRecord, point: Mapping[str, ScalarValue]) -> str:
    """Return the name of a slice: the parameter on the axis, and the values of all others.

    >>> sweep = SweepTable(grid={"r": [0, 1], "arms": [5]}).record("", alone=True)
    >>> slice_name(sweep, {"r": 0, "arms": 5})
    'r-arms-5'
    """
    if sweep.x is None:  # a list is one slice
        return "-".join(sweep.parameters)
    fixed = (f"{key}-{file_name_part(value)}" for key, value in point.items() if key != sweep.x)
    return "-".join([sweep.x, *fixed])
