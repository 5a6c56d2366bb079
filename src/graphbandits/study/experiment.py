"""Experiment files in TOML: keys, checks, sweeps and plans."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import os
import re
import tomllib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from importlib.resources import files
from operator import contains
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeGuard, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    PrivateAttr,
    ValidationError,
    model_validator,
)

from graphbandits._files import read_bytes
from graphbandits.errors import GraphBanditsError, InputError, nearest
from graphbandits.graphs import as_process, make_process
from graphbandits.plugins import load_plugin
from graphbandits.policies import as_policy
from graphbandits.posteriors import Posterior
from graphbandits.posteriors.base import with_accuracy
from graphbandits.registry import build, name_of, text_of
from graphbandits.rng import Keys
from graphbandits.simulation.conditions import check_delay
from graphbandits.simulation.plan import Plan, check_rewards, point_text
from graphbandits.simulation.shard import MAX_POINTS, RECORDS
from graphbandits.study.claims import Claim, Published
from graphbandits.study.directory import SweepRecord
from graphbandits.worlds import PriorWorld, World, as_posterior, as_world, is_one_prior

#: A value of a sweep as it is displayed and stored.
ScalarValue = int | float | str
#: A value of a sweep as it is written in the file: priors and means may be lists.
SweepValue = int | float | str | tuple[Any, ...]
#: Replaces a placeholder in the label of a line.
SWEPT = "…"
#: Maximum number of characters of a value in a file name.
MAX_PART_LENGTH = 60
#: A name in braces; a dictionary does not match.
_PLACEHOLDER = re.compile(r"\{([^{}:,]*)\}")


def placeholders(text: str) -> list[str]:
    """Return the names in braces, in order."""
    return _PLACEHOLDER.findall(text)


def fill_placeholders(text: str, point: Mapping[str, SweepValue]) -> str:
    """Replace the placeholders of a text by their values.

    >>> fill_placeholders("random(r={r}, low={low})", {"r": "uniform", "low": 0.25})
    'random(r=uniform, low=0.25)'
    """
    return _PLACEHOLDER.sub(lambda found: str(point[found[1]]), text)


def has_own_placeholder(key: str, text: object) -> bool:
    """Return whether the value of a key contains a placeholder with the name of the key."""
    return isinstance(text, str) and key in placeholders(text)


def line_label(text: str) -> str:
    """Return the label of a policy in a sweep, which is the same at all values.

    >>> line_label("eps-greedy-lp(c={c})")
    'eps-greedy-lp(c=…)'
    """
    return _PLACEHOLDER.sub(SWEPT, text)


def check_placeholders(texts: Iterable[str], parameters: Sequence[str] = ()) -> None:
    """Raise an error if a placeholder is not one of the ``parameters`` of the sweep."""
    for text in texts:
        for name in placeholders(text):
            if not parameters:
                raise InputError(
                    f"the placeholder {{{name}}} in '{text}' has no value: add a table [[sweeps]] "
                    f'with parameter = "{name or "r"}" and its values'
                )
            if name not in parameters:
                known = ", ".join(f"{{{parameter}}}" for parameter in parameters)
                raise InputError(
                    f"unknown placeholder {{{name}}} in '{text}': this sweep has {known}"
                )


def display_value(value: SweepValue) -> ScalarValue:
    """Format a value of a sweep for tables and axes: lists become strings.

    >>> display_value(0.5), display_value((2.0, 5)), display_value(((1, 2), "3,4"))
    (0.5, '2,5', '1,2 3,4')
    """
    if not isinstance(value, tuple):
        return value
    parts = [str(display_value(one)).removesuffix(".0") for one in value]
    deep = any(isinstance(one, tuple | str) for one in value)
    return (" " if deep else ",").join(parts)


def file_name_part(value: ScalarValue) -> str:
    """Convert a value to a part of a file name: letters, digits, '.', '+', '-' and '_'.

    A long value is cut and ends with a hash.

    >>> file_name_part(0.25), file_name_part("random(r=0.25)")
    ('0.25', 'random-r-0.25')
    """
    part = re.sub(r"[^\w.+-]+", "-", str(value)).strip("-.")
    if len(part) <= MAX_PART_LENGTH:
        return part
    return f"{part[: MAX_PART_LENGTH - 9]}-{hashlib.sha256(str(value).encode()).hexdigest()[:8]}"


def toml_text(value: object) -> str:
    """Format a value as TOML in one line.

    >>> print(toml_text({"horizon": 3, "my r": [True, "a", 0.5]}))
    { horizon = 3, "my r" = [true, 'a', 0.5] }
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        # a literal string in single quotes has no escape sequences
        return f"'{value}'" if value.isprintable() and "'" not in value else json.dumps(value)
    if isinstance(value, Mapping):
        parts = [f"{_toml_key(key)} = {toml_text(one)}" for key, one in value.items()]
        return f"{{ {', '.join(parts)} }}" if parts else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml_text, value))}]"
    return str(value)


def _toml_key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else json.dumps(key)


@contextmanager
def prefix_errors(place: str) -> Iterator[None]:
    """Prefix error messages with a place in the experiment file."""
    try:
        yield
    except GraphBanditsError as error:
        raise type(error)(f"{place}: {error}") from error


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
    """Return whether a value is a number; booleans are not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_means(value: object) -> bool:
    """Return whether a value is a list of finite numbers."""
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
    model_config = ConfigDict(extra="forbid", frozen=True)


class SimulationTable(Table):
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
    text: Text
    source: str = ""
    better: Texts
    than: Texts

    @model_validator(mode="after")
    def _check_claim(self) -> Self:
        Claim(self.text, self.better, self.than)
        return self

    def claim(self) -> Claim:
        what = f"the claim '{self.text}'"
        better, than = (
            tuple(policy_name(policy, what) for policy in side) for side in (self.better, self.than)
        )
        return Claim(self.text, better, than, self.source)


class PublishedTable(Table):
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
    with prefix_errors(what):
        return text_of(as_policy(policy))


def check_known(names: Iterable[str], known: Collection[str], what: str) -> None:
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
        return tuple(self.point_list[0] if self.point_list else self.grid or [self.parameter or ""])

    @property
    def axis(self) -> str | None:
        """The parameter on the axis; None if the points are categories."""
        return (
            None if self.point_list and len(self.parameters) > 1 else self.x or self.parameters[0]
        )

    def points(self) -> list[dict[str, SweepValue]]:
        """Return all points, in order; the last parameter of a grid varies fastest."""
        if self.point_list is not None:
            return [{name: point[name] for name in self.parameters} for point in self.point_list]
        grid = self.grid or {self.parameters[0]: self.values or ()}
        return [dict(zip(grid, point, strict=True)) for point in itertools.product(*grid.values())]

    def display_points(self) -> list[dict[str, ScalarValue]]:
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
        values = [display_value(value) for value in self._column(parameter).values()]
        if self.point_list is not None:  # several points can share a value
            values = list(dict.fromkeys(values))
        for place, value in enumerate(values):
            if value in values[:place]:
                raise InputError(f"the value {toml_text(value)} is given twice")

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
        if own is not None and not has_own_placeholder(parameter, own):
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
    lines = {text: line_label(text) for text in policies if placeholders(text)}
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


#: A policy that runs on every graph, used to find the invalid key of an experiment.
ANY_GRAPH_POLICY = "uniform"


class Experiment(SimulationTable):
    """An experiment: one simulation, or one simulation per point of its sweeps.

    Attributes
    ----------
    graph : feedback graph, such as "random(r=0.25)"
    arms : number of arms; not needed if the graph fixes it
    horizon : rounds per trial
    world : reward model, such as "gaussian(noise=0.5)"; default "bernoulli"
    posterior : prior that policies start from, such as "normal(sd=2)"; default that of the world
    prior : of the world: "A,B", [A, B], "name=value,...", or a list with one of these per arm
    means : means of the arms; default: drawn from the prior
    policies : policies to compare
    eligible : probability that an arm is eligible in a round; default: all arms are eligible
    delay : rounds from a play to its outcomes: a number, or [smallest, largest]; default 0
    answer_rate : probability that an outcome arrives; default: all outcomes arrive
    title : title of the experiment
    accuracy : accuracy of the posterior computations: "simulation" or "strict"
    trials : trials per policy
    seed : random seed
    plugins : plug-in files, relative to the experiment file
    notes : notes for the report
    record : what to record of each trial
    claims : claims about the order of policies, which are compared with the results
    published : published mean regrets, which are compared with the results
    sweeps : parameters to vary, with their values
    """

    title: Text
    accuracy: Accuracy = "simulation"
    trials: Positive
    seed: Seed = 0
    plugins: tuple[Text, ...] = ()
    notes: tuple[Text, ...] = ()
    record: RecordTable = RecordTable()
    claims: tuple[ClaimTable, ...] = ()
    published: PublishedTable | None = None
    sweeps: tuple[SweepTable, ...] = ()
    _folder: Path | None = PrivateAttr(default=None)  # base directory of paths in the file

    @model_validator(mode="after")
    def _check_consistency(self) -> Self:
        if not self.sweeps:
            self._check_complete()
            check_placeholders(self._texts())
        single = "claims" if self.claims else "published" if self.published else ""
        if self.sweeps and single:
            raise InputError(f"sweeps and {single} cannot be combined: remove one of them")
        for number, sweep in enumerate(self.sweeps, 1):
            with prefix_errors(f"sweeps {number}"):
                base = self._base(sweep)
                cells = [base._with_keys(point) for point in sweep.points()]
                cells[0]._check_complete()
                written = list(dict.fromkeys(text for cell in cells for text in cell._texts()))
                check_placeholders(written, sweep.parameters)
                sweep.check_texts(written)
        return self

    def _check_complete(self) -> None:
        for key in ("graph", "policies", "horizon"):
            if getattr(self, key) is None:
                raise InputError(f"the required key '{key}' is missing")

    def _texts(self) -> Iterator[str]:
        """Yield all texts that may contain placeholders."""
        yield from (self.graph or "", self.world or "", self.posterior or "")
        yield from (one for one in prior_entries(self.prior) if isinstance(one, str))
        yield from self.policies or ()

    @property
    def runs(self) -> int:
        return sum(len(sweep.points()) for sweep in self.sweeps) or 1

    @property
    def sweeps_seed(self) -> bool:
        return any("seed" in sweep.parameters for sweep in self.sweeps)

    def setups(self) -> list[Self]:
        """Return one experiment without sweeps and placeholders per simulation."""
        if not self.sweeps:
            return [self]
        return [self._base(sweep).at(point) for sweep in self.sweeps for point in sweep.points()]

    def _base(self, sweep: SweepTable) -> Self:
        """Return the experiment with the keys of a sweep; placeholders are kept."""
        keys = (*SimulationTable.model_fields, "accuracy")
        own = {key: getattr(sweep, key) for key in keys}
        overrides = {key: value for key, value in own.items() if value is not None}
        return self.model_copy(update={**overrides, "sweeps": ()})

    def _with_keys(self, point: Mapping[str, SweepValue]) -> Self:
        """Set the keys that are parameters of a point; other placeholders are kept.

        If the text of a key contains its own placeholder, only the placeholder is replaced.
        """
        keys: dict[str, Any] = {key: value for key, value in point.items() if key in SWEEPABLE}
        for key, value in keys.items():
            text = getattr(self, key, None)
            if has_own_placeholder(key, text):
                keys[key] = str(text).replace(f"{{{key}}}", str(value))
        regret = keys.pop("regret", self.record.regret)
        keys["record"] = self.record.model_copy(update={"regret": regret})
        return self.model_copy(update=keys)

    def at(self, point: Mapping[str, SweepValue]) -> Self:
        """Return the simulation at a point of a sweep, given as values by parameter."""
        setup = self._with_keys(point)
        keys = ("graph", "world", "posterior", "prior", "policies")
        filled = {key: _fill_value(getattr(setup, key), point) for key in keys}
        return setup.model_copy(update=filled)

    def lines(self) -> list[str]:
        """Return one label per policy; if its parameter is swept, the same label for all values."""
        bases = [self._base(sweep) for sweep in self.sweeps] or [self]
        policies = [policy for base in bases for policy in base.policies or ()]
        names = line_labels(policies)
        return list(dict.fromkeys(names.get(policy, policy) for policy in policies))

    def sweep_records(self) -> list[SweepRecord]:
        """Return titles, parameters and axes of the sweeps."""
        return [sweep.record(self.title, len(self.sweeps) == 1) for sweep in self.sweeps]

    def plans(
        self,
        *,
        trials: int | None = None,
        seed: int | None = None,
        policies: Sequence[str] = (),
        ratios: str | None = None,
    ) -> list[Plan]:
        """Check all simulations and return them, one per point of the sweeps.

        Parameters
        ----------
        trials
            Trials per policy. Default: from the file.
        seed
            Random seed. Default: from the file.
        policies
            Additional policies.
        ratios
            Information ratios to record: "bound" or "joint". Default: from the file.

        Examples
        --------
        >>> from graphbandits.study.experiment import load_experiment
        >>> plan = load_experiment("arms").plans(trials=3)[1]
        >>> plan.sweep, plan.point, plan.process.arms
        (0, {'arms': 3}, 3)
        """
        arguments = {"trials": trials, "seed": seed, "ratios": ratios}
        changes = {key: value for key, value in arguments.items() if value is not None}
        if seed is not None and self.sweeps_seed:
            raise InputError("a sweep varies the seed: remove the seed argument")
        plans = []
        if not self.sweeps:
            check_placeholders(policies)
            plans.append(self._plan(policies, changes))
            self._check_claimed_policies(plans[0])
        for number, sweep in enumerate(self.sweeps):
            check_placeholders(policies, sweep.parameters)
            base = self._base(sweep)
            written = (*(base.policies or ()), *policies)
            names = line_labels(written)
            for values, point in zip(sweep.points(), sweep.display_points(), strict=True):
                more = [fill_placeholders(policy, values) for policy in policies]
                with prefix_errors(f"sweeps {number + 1}, at {point_text(point)}"):
                    plan = base.at(values)._plan(more, changes)
                named = zip(plan.policies, written, strict=True)
                lines = {name: names.get(text, name) for name, text in named}
                plans.append(replace(plan, lines=lines, sweep=number, point=point))
        return plans

    def plan(self, **changes: Any) -> Plan:
        """Return the simulation of an experiment without sweeps; arguments as in :meth:`plans`."""
        if self.sweeps:
            raise InputError(f"this experiment has {self.runs} simulations: use plans()")
        return self.plans(**changes)[0]

    def resolved_claims(self) -> tuple[Claim, ...]:
        """Return the claims with the policy names of the results."""
        return tuple(entry.claim() for entry in self.claims)

    def published_means(self) -> Published | None:
        """Return the published means with the policy names of the results, or None."""
        return None if self.published is None else self.published.published()

    def _check_claimed_policies(self, plan: Plan) -> None:
        for claim in self.resolved_claims():
            names = (*claim.better, *claim.than)
            check_known(names, plan.policies, f"the claim '{claim.text}'")
        if published := self.published_means():
            check_known(published.means, plan.policies, f"published by {published.source}")

    def _plan(self, policies: Sequence[str], changes: Mapping[str, Any]) -> Plan:
        """Return the checked simulation, with additional policies and changes."""
        record = self.record
        with prefix_errors("graph"):
            graph = _resolve_graph_path(self.graph or "", self._folder)
        models = {key: getattr(self, key) for key in ("prior", "means", "posterior", "accuracy")}
        world, posterior = build_models(graph, self.arms, self.world, **models)
        settings = {"trials": self.trials, "seed": self.seed, "ratios": record.ratios, **changes}
        try:
            return Plan.of(
                [*(self.policies or ()), *policies],
                world,
                graph,
                arms=self.arms,
                posterior=posterior,
                horizon=self.horizon or 0,
                regret=record.regret,
                rounds=record.points if record.rounds is None else record.rounds,
                record=record.trajectories,
                eligible=self.eligible,
                **self._answers(),
                **settings,
            )
        except GraphBanditsError:
            # find the invalid key, if the error is in the file
            self._check_keys(graph, world, posterior, 1 if "trials" in changes else self.trials)
            raise

    def _answers(self) -> dict[str, Any]:
        given = {"delay": self.delay, "answer_rate": self.answer_rate}
        return {key: value for key, value in given.items() if value is not None}

    def _check_keys(
        self, graph: str, world: World | None, posterior: Posterior | None, trials: int
    ) -> None:
        """Check the keys one by one, and raise an error that names the first invalid key."""
        with prefix_errors(f"arms = {self.arms}" if self.arms and _sets_arms(graph) else "graph"):
            process = as_process(graph, self.arms if world is None else world.arms)
        with prefix_errors(f"trials = {trials}"):
            Keys(self.seed, 0, trials)
        horizon, policies = self.horizon or 0, self.policies or ()
        plan = partial(
            Plan.of,
            world=world,
            graph=process,
            posterior=posterior,
            trials=trials,
            horizon=horizon,
        )
        with prefix_errors(f"horizon = {horizon}"):
            plan(ANY_GRAPH_POLICY)
        if self.record.rounds is not None:
            with prefix_errors(f"record, rounds = {toml_text(self.record.rounds)}"):
                plan(ANY_GRAPH_POLICY, rounds=self.record.rounds)
        if self.record.ratios is not None:
            with prefix_errors(f"record, ratios = {toml_text(self.record.ratios)}"):
                how = {"eligible": self.eligible, **self._answers()}
                plan(ANY_GRAPH_POLICY, ratios=self.record.ratios, **how)
        if self.record.eligible:
            with prefix_errors("record, eligible = true"):
                plan(ANY_GRAPH_POLICY, record="eligible", eligible=self.eligible)
        for number in range(1, len(policies) + 1):
            with prefix_errors(f"policies {number}"):
                plan(policies[:number], eligible=self.eligible)


def build_models(
    graph: str,
    arms: int | None,
    world: str | None = None,
    *,
    prior: SweepValue | None = None,
    means: Sequence[float] | None = None,
    posterior: str | None = None,
    accuracy: str = "simulation",
) -> tuple[World | None, Posterior | None]:
    """Return the world, None if all options are the defaults, and the posterior if it differs."""
    if (world, prior, means, posterior, accuracy) == (None, None, None, None, "simulation"):
        return None, None
    sizes = {
        "arms": arms,
        "prior": None if prior is None or is_one_prior(prior) else len(prior),  # type: ignore[arg-type]
        "means": None if means is None else len(means),
    }
    known = {key: count for key, count in sizes.items() if count is not None}
    if arms is None:
        with prefix_errors("graph"):
            known["graph"] = make_process(graph, next(iter(known.values()), None)).arms
    if len(set(known.values())) > 1:
        numbers = ", ".join(f"{count} in {key}" for key, count in known.items())
        raise InputError(f"the numbers of arms differ: {numbers}; use the same number")
    count = next(iter(known.values()))
    with prefix_errors(f"world = {toml_text(world)}"):
        made: Any = as_world(world, count)
    if prior is not None:
        with prefix_errors(f"prior = {toml_text(prior)}"):
            made = as_world(world, count, prior)
    if means is not None:
        with prefix_errors(f"means = {toml_text(means)}"):
            made = as_world(world, count, prior, means)
    other = None
    if posterior is not None:
        with prefix_errors(f"posterior = {toml_text(posterior)}"):
            other = as_posterior(posterior, count)
            check_rewards(made, other)
    if accuracy != "simulation":
        with prefix_errors(f"accuracy = {toml_text(accuracy)}"):
            if other is not None:
                other = with_accuracy(other, accuracy)
            elif isinstance(made, PriorWorld):
                made = replace(made, prior=with_accuracy(made.prior, accuracy))
            else:
                other = with_accuracy(made.prior, accuracy)
    return made, other


def _fill_value(value: Any, point: Mapping[str, SweepValue]) -> Any:
    if isinstance(value, tuple):
        return tuple(_fill_value(one, point) for one in value)
    return fill_placeholders(value, point) if isinstance(value, str) else value


def _resolve_graph_path(graph: str, folder: Path | None) -> str:
    """Resolve the path of a graph file relative to the experiment file."""
    if folder is None:
        return graph
    if graph.startswith("file:"):
        return f"file:{folder / graph.removeprefix('file:')}"
    recipe = build("graph", graph)
    if name_of(recipe) == "file":
        return text_of(replace(recipe, path=str(folder / recipe.path)))
    return graph


def _sets_arms(graph: str) -> bool:
    try:
        make_process(graph, None)
    except GraphBanditsError:
        return False
    return True


# --- reading a file

#: The tables inside an experiment, by their key.
TABLES: dict[str, type[Table]] = {
    "claims": ClaimTable,
    "published": PublishedTable,
    "record": RecordTable,
    "sweeps": SweepTable,
}
#: Maximum number of digits of a number in a file.
MAX_DIGITS = 300
#: Messages for error types of pydantic; fields in braces are filled from its error context.
MESSAGES = {
    "tuple_type": "must be a list in brackets",
    "too_short": "must have at least one entry",
    "dict_type": "must be a table in braces",
    "model_type": "must be a table",
    "int_type": "must be an integer",
    "bool_type": "must be true or false",
    "string_type": "must be a string in quotes",
    "string_too_short": "must not be empty",
    "greater_than_equal": "must be at least {ge}",
    "literal_error": "must be {expected}",
}


def experiment_names() -> list[str]:
    """Return the names of the built-in experiments."""
    names = (entry.name for entry in files(__package__).joinpath("experiments").iterdir())
    return sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml"))


def load_experiment(name_or_path: str | Path) -> Experiment:
    """Load a built-in experiment by name, or an experiment file with its plug-ins.

    Parameters
    ----------
    name_or_path
        Name of a built-in experiment, or path of a TOML file.

    Returns
    -------
    Experiment
        The checked experiment.

    Raises
    ------
    InputError
        If the experiment is unknown or its file is invalid.

    Examples
    --------
    >>> load_experiment("paper-1a").graph
    'paper'
    """
    known = experiment_names()
    if isinstance(name_or_path, str) and name_or_path in known:
        data = files(__package__).joinpath("experiments", f"{name_or_path}.toml").read_bytes()
        return _parse(data, name_or_path)
    path = Path(name_or_path)
    if path.suffix != ".toml" and not os.path.isfile(path):
        raise InputError(
            f"unknown experiment '{name_or_path}': {nearest(str(name_or_path), known)}; or give "
            "the path of a .toml file"
        )
    experiment = _parse(read_bytes(path, "experiment"), str(path))
    for number, plugin in enumerate(experiment.plugins, 1):
        with prefix_errors(f"{path}: plugins {number}"):
            load_plugin(path.parent / plugin)
    experiment._folder = path.parent
    return experiment


def _parse(data: bytes, where: str) -> Experiment:
    try:
        table = tomllib.loads(data.decode("utf-8-sig"))
        if _has_huge_number(table):
            raise OverflowError
        return Experiment.model_validate(table)
    except UnicodeDecodeError:
        raise InputError(f"{where} is not UTF-8 text") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{where} is not valid TOML: {error}") from None
    except ValidationError as error:
        raise InputError(f"{where}: {_first_error(error)}") from None
    except RecursionError:
        raise InputError(f"{where}: brackets or tables are nested too deeply") from None
    except (OverflowError, ValueError):  # ValueError: too many digits for Python
        raise InputError(f"{where}: a number has more than {MAX_DIGITS} digits") from None


def _has_huge_number(value: object) -> bool:
    if isinstance(value, dict | list):
        return any(map(_has_huge_number, value.values() if isinstance(value, dict) else value))
    return isinstance(value, int) and abs(value) >= 10**MAX_DIGITS


def keys_of(table: type[Table]) -> list[str]:
    """Return the keys of a table as written in the file."""
    return [field.alias or name for name, field in table.model_fields.items()]


def _first_error(error: ValidationError) -> str:
    """Return the message of the first error of pydantic, and the number of other errors."""
    # a non-empty list counts as too short only because its entries are invalid
    found: list[Any] = [e for e in error.errors() if e["type"] != "too_short" or not e["input"]]
    # unknown keys first: they are often misspelled required keys
    first = min(found, key=lambda one: one["type"] != "extra_forbidden")
    others = len(found) - 1
    more = f" (and {others} more error{'s' if others > 1 else ''})" if others else ""
    return _error_text(first) + more


def _error_text(error: Any) -> str:
    """Format an error of pydantic with the place in the file, the value, and what is allowed."""
    kind, value, loc = error["type"], error["input"], tuple(error["loc"])
    *table, key = loc or ("",)
    where = f"{_location(table)}: " if table else ""
    if kind == "extra_forbidden":
        known = keys_of(TABLES[table[0]] if table else Experiment)
        return f"{where}unknown key '{key}': {nearest(key, known)}"
    if kind == "missing":
        return f"{where}the required key '{key}' is missing"
    if kind == "tuple_type" and key in TABLES and isinstance(value, dict):
        return f"{key} is a list of tables: write [[{key}]] instead of [{key}]"
    if kind == "model_type" and key in TABLES and isinstance(value, list):
        return f"{key} is a single table: write [{key}] instead of [[{key}]]"
    message = MESSAGES.get(kind, error["msg"])
    if kind in MESSAGES:
        message = message.format(**error.get("ctx", {}))
    if kind == "literal_error" and isinstance(value, str):
        message += suggestion(value, re.findall(r"'([^']*)'", error["ctx"]["expected"]))
    place: Sequence[str | int] = ()
    if kind == "value_error":
        message = str(error["ctx"]["error"])
        place = getattr(error["ctx"]["error"], "place", ())
    for part in place:
        loc, value = (*loc, part), value[part]
    if key == "[key]":  # an invalid key in a table with user-defined keys
        return f"{_location(loc[:-2])} = {toml_text(value)}: {message}"
    if isinstance(value, dict) and not place:  # inconsistent keys of a table
        return f"{_location(loc)}: {message}" if loc else message
    return f"{_location(loc)} = {toml_text(value)}: {message}"


def _location(loc: Sequence[str | int]) -> str:
    """Format a place in the file, with numbers that start at 1.

    >>> _location(("sweeps", 0, "values", 2))
    'sweeps 1, values 3'
    """
    words = (f" {part + 1}" if isinstance(part, int) else f", {part}" for part in loc)
    return "".join(words).removeprefix(", ")
