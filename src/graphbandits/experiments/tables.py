"""Tables of an experiment's file: common types, claims, published means, records, sweeps."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from operator import contains
from typing import Annotated, Any, Literal, Self, TypeGuard, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PlainValidator, model_validator

from graphbandits.engine.plan import point_text
from graphbandits.engine.shard import MAX_POINTS
from graphbandits.errors import InputError, nearest
from graphbandits.experiments import _texts
from graphbandits.experiments._texts import Given, Value, file_part, placeholders, shown_value
from graphbandits.policies import as_policy
from graphbandits.posteriors.beta_bernoulli import beta_pair, check_parameters
from graphbandits.registry import text_of
from graphbandits.results import Claim, Published
from graphbandits.store.record import SweepRecord

#: What a prior is, for those who gave something else.
PRIOR = '"A,B", [A, B], or a list with one of these for each arm'
MEANS = "a list of numbers in [0, 1], one for each arm"


class MisplacedError(InputError):
    """A mistake at a place inside of the table that is being checked."""

    def __init__(self, message: str, *place: str | int) -> None:
        super().__init__(message)
        self.place = place


def meant(given: object, words: Iterable[str]) -> str:
    """A hint at the nearest of the words that are allowed, if one is near.

    >>> meant("lin", ["linear", "log"]), meant("square", ["linear", "log"])
    ("; did you mean 'linear'?", '')
    """
    hint = nearest(str(given), words).partition("Known: ")[0].strip()
    return f"; {hint}" if hint else ""


def is_number(value: object) -> TypeGuard[int | float]:
    """Whether it is a number; true and false are none.

    >>> is_number(0.5), is_number(True), is_number("1")
    (True, False, False)
    """
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_means(value: object) -> bool:
    """Whether it is a list of probabilities.

    >>> is_means([0.2, 1]), is_means([]), is_means([0.2, 1.5])
    (True, False, False)
    """
    if not isinstance(value, list | tuple) or not value:
        return False
    return all(is_number(mean) and 0 <= mean <= 1 for mean in value)


def _means(given: Any) -> tuple[float, ...]:
    if not is_means(given):
        raise ValueError(f"means are {MEANS}")
    return tuple(map(float, given))


def check_prior(given: Any) -> Given:
    """A prior as it is written, with lists as tuples; texts may have placeholders.

    >>> check_prior([[2, 5], "1,{b}"])
    ((2, 5), '1,{b}')
    """
    pairs = prior_pairs(given)
    if not pairs or not all(isinstance(one, str) or _is_pair(one) for one in pairs):
        raise InputError(f"a prior is {PRIOR}")
    for one in pairs:
        if not (isinstance(one, str) and placeholders(one)):
            check_parameters(beta_pair(one) if isinstance(one, str) else one)
    if isinstance(given, str):
        return given
    return tuple(tuple(one) if isinstance(one, list) else one for one in given)


def prior_pairs(prior: Any) -> tuple[Any, ...]:
    """The pairs of a prior: one for each arm, or one for all; empty if it is no prior.

    >>> prior_pairs("1,{b}"), prior_pairs([2, 5]), prior_pairs(((2, 5), "1,1"))
    (('1,{b}',), ([2, 5],), ((2, 5), '1,1'))
    """
    if isinstance(prior, str) or _is_pair(prior):
        return (prior,)
    return tuple(prior) if isinstance(prior, list | tuple) else ()


def _is_pair(given: object) -> bool:
    return isinstance(given, list | tuple) and len(given) == 2 and all(map(is_number, given))


Positive = Annotated[int, Field(ge=1, strict=True)]
Seed = Annotated[int, Field(ge=0, strict=True)]
Text = Annotated[str, Field(min_length=1)]
Texts = Annotated[tuple[Text, ...], Field(min_length=1)]
Prior = Annotated[Given, PlainValidator(check_prior)]
Means = Annotated[tuple[float, ...], PlainValidator(_means)]
Accuracy = Literal["simulation", "strict"]
Regret = Literal["pseudo", "realised"]


class Table(BaseModel):
    """A table of the file: no other keys than its fields."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class SimulationTable(Table):
    """Keys that an experiment has, and each of its sweeps may have instead."""

    graph: Text | None = None
    arms: Positive | None = None
    horizon: Positive | None = None
    prior: Prior | None = None
    means: Means | None = None
    policies: Texts | None = None


class ClaimTable(Table):
    """Each policy of ``better`` is said to have less regret than each of ``than``."""

    text: Text
    source: str = ""
    better: Texts
    than: Texts

    @model_validator(mode="after")
    def _can_be_claimed(self) -> Self:
        Claim(self.text, self.better, self.than)
        return self

    def claim(self) -> Claim:
        """The claim, its policies called as in results."""
        what = f"the claim '{self.text}'"
        better, than = (
            tuple(policy_name(policy, what) for policy in side) for side in (self.better, self.than)
        )
        return Claim(self.text, better, than, self.source)


class PublishedTable(Table):
    """Mean regrets and their standard errors that ``source`` has published."""

    source: Text
    means: dict[str, Any]

    @model_validator(mode="after")
    def _can_be_published(self) -> Self:
        if not self.means:
            message = "published regrets are policy = [mean, standard error], one or more"
            raise MisplacedError(message, "means")
        for policy, pair in self.means.items():
            try:
                Published({policy: pair}, self.source)
            except InputError:
                message = f"the published regret of '{policy}' is [mean, standard error], two "
                message += "numbers, the second at least 0"
                raise MisplacedError(message, "means", policy) from None
        return self

    def published(self) -> Published:
        """The means, their policies called as in results."""
        what = f"published by {self.source}"
        means: dict[str, tuple[float, float]] = {}
        for policy, pair in self.means.items():
            name = policy_name(policy, what)
            if name in means:
                raise InputError(f"{what}: policy '{name}' is given twice")
            means[name] = tuple(pair)
        return Published(means, self.source)


class RecordTable(Table):
    """What is kept of each trial: at how many rounds, or at which, which regret, which ratios."""

    points: Positive = MAX_POINTS
    rounds: Annotated[tuple[Positive, ...], Field(min_length=1)] | None = None
    regret: Regret = "pseudo"
    ratios: Literal["bound", "joint"] | None = None

    @model_validator(mode="after")
    def _goes_together(self) -> Self:
        if self.rounds is None:
            return self
        if "points" in self.model_fields_set:
            raise InputError("points says how many rounds, and rounds says which: give one of them")
        if list(self.rounds) != sorted(set(self.rounds)):
            raise MisplacedError("rounds go up, each of them once", "rounds")
        return self


def policy_name(policy: str, what: str) -> str:
    """What a policy is called in results; ``what`` speaks of it."""
    with _texts.errors_at(what):
        return text_of(as_policy(policy))


def check_known(names: Iterable[str], known: Collection[str], what: str) -> None:
    """Refuse names that are not among those of policies."""
    for name in names:
        if name not in known:
            raise InputError(f"{what}: '{name}' is not among the policies: {nearest(name, known)}")


# --- sweeps: one simulation for each point


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
    **dict.fromkeys(("points", "rounds", "ratios"), "it says what is kept, not what is simulated"),
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
            self._check_types(parameter)
        on_axis = [] if self.axis is None else list(self._column(self.axis).values())
        if self.scale == "log" and not (on_axis and all(is_number(v) and v > 0 for v in on_axis)):
            raise InputError("scale = 'log' goes with numbers above 0")
        shown = self.shown_points() if self.listed else []
        for place, values in enumerate(shown):
            if values in shown[:place]:
                raise InputError(f"the point {point_text(values)} is given twice")
        for parameter in self.parameters:
            self._check_apart(parameter)
        for parameter in filter(KEYS.__contains__, self.parameters):
            self._check_key(parameter)
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

    def _check_types(self, parameter: str) -> None:
        column = self._column(parameter)
        first = next(iter(column.values()))
        kind = "number" if is_number(first) else "text" if isinstance(first, str) else "list"
        for place, value in column.items():
            if isinstance(value, tuple) and parameter not in LISTS:
                message = "a value is a finite number, or a text that is not empty; lists are for "
                raise MisplacedError(message + " and ".join(LISTS), *place)
            if is_number(value) != is_number(first):
                message = f"{self._of(parameter)} are all numbers or all texts, and the first is "
                raise MisplacedError(f"{message}a {kind}", *place)

    def _check_apart(self, parameter: str) -> None:
        """Refuse values that are the same, or would be in the names of files."""
        values = [shown_value(value) for value in self._column(parameter).values()]
        if self.listed is not None:  # where a value may be that of several points
            values = list(dict.fromkeys(values))
        for place, value in enumerate(values):
            if value in values[:place]:
                raise InputError(f"the value {_texts.toml_text(value)} is given twice")
        # some file systems do not tell capital letters apart
        files = {file_part(value).casefold() for value in values}
        if len(files) < len(values) or "" in files:
            raise InputError(
                f"{self._of(parameter)} are in the names of files, where letters, digits, points "
                f"and signs must tell them apart; got {', '.join(map(str, values))}"
            )

    def _check_key(self, parameter: str) -> None:
        """Refuse values that the key cannot have, and a key that would have two values."""
        what, check = KEYS[parameter]
        for place, value in self._column(parameter).items():
            message = f"values of {parameter} are {what}{meant(value, WORDS.get(parameter, ()))}"
            try:
                fits = check(value)
            except InputError as error:
                fits, message = False, str(error)
            if not fits:
                raise MisplacedError(message, *place)
        own = getattr(self, parameter, None)
        if own is not None and not _texts.varies_itself(parameter, own):
            raise InputError(
                f"{parameter} is what this sweep varies: leave the key '{parameter}' out"
            )

    def check_texts(self, written: Iterable[str]) -> None:
        """Refuse parameters that change nothing, and lists in texts."""
        used = {name: text for text in written for name in placeholders(text)}
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


def line_names(policies: Iterable[str]) -> dict[str, str]:
    """What policies with placeholders are called as lines, by their texts.

    >>> line_names(["ts-n", "ucb(c={c})"])
    {'ucb(c={c})': 'ucb(c=…)'}
    >>> line_names(["ucb(c={low})", "ucb(c={high})"])
    {'ucb(c={low})': 'ucb(c={low})', 'ucb(c={high})': 'ucb(c={high})'}
    """
    lines = {text: _texts.line_of(text) for text in policies if placeholders(text)}
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
