"""Experiment files in TOML: keys, checks, sweeps and plans."""

from __future__ import annotations

import hashlib
import itertools
import math
import os
import re
import tomllib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeGuard

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
from graphbandits.errors import GraphBanditsError, InputError, nearest, short_repr
from graphbandits.graphs import make_process
from graphbandits.plugins import load_plugin
from graphbandits.policies import as_policy
from graphbandits.posteriors import Posterior
from graphbandits.posteriors.base import with_accuracy
from graphbandits.registry import build, name_of, text_of
from graphbandits.simulation.conditions import check_delay
from graphbandits.simulation.plan import Plan, point_text
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
    """Replace the placeholders of a text by their values; those without a value stay.

    >>> fill_placeholders("random(r={r}, low={low})", {"r": "uniform"})
    'random(r=uniform, low={low})'
    """
    return _PLACEHOLDER.sub(lambda found: str(point.get(found[1], found[0])), text)


def has_own_placeholder(key: str, text: object) -> bool:
    """Return whether the value of a key contains a placeholder with the name of the key."""
    return isinstance(text, str) and key in placeholders(text)


def line_label(text: str) -> str:
    """Return the label of a policy in a sweep, which is the same at all values.

    >>> line_label("eps-greedy-lp(c={c})")
    'eps-greedy-lp(c=…)'
    """
    return _PLACEHOLDER.sub(SWEPT, text)


def check_placeholders(texts: Iterable[str]) -> None:
    """Raise an error if a placeholder is left."""
    for text in texts:
        for name in placeholders(text):
            raise InputError(
                f"the placeholder {{{name}}} in '{text}' has no value: add a table [[sweeps]] with "
                f'the parameter "{name or "r"}" and its values'
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


@contextmanager
def prefix_errors(place: str) -> Iterator[None]:
    """Prefix error messages with a place in the experiment file."""
    try:
        yield
    except GraphBanditsError as error:
        raise type(error)(f"{place}: {error}") from error


def is_number(value: object) -> TypeGuard[int | float]:
    """Return whether a value is a number; booleans are not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def prior_value(value: Any) -> Any:
    """Convert the lists of a prior to tuples, and its tables to texts.

    >>> prior_value([[2, 5], "1,{b}"]), prior_value({"mean": 0, "sd": 2})
    (((2, 5), '1,{b}'), 'mean=0,sd=2')
    """
    if isinstance(value, dict):
        return ",".join(f"{key}={one}" for key, one in value.items())
    return tuple(map(prior_value, value)) if isinstance(value, list | tuple) else value


def _checked_by(check: Callable[[Any], object]) -> PlainValidator:
    """Check a value by the function that checks it in a simulation; lists become tuples."""

    def checked(value: Any) -> Any:
        check(value)
        return tuple(value) if isinstance(value, list) else value

    return PlainValidator(checked)


Positive = Annotated[int, Field(ge=1, strict=True)]
Seed = Annotated[int, Field(ge=0, strict=True)]
Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Text = Annotated[str, Field(min_length=1)]
Texts = Annotated[tuple[Text, ...], Field(min_length=1)]
Prior = Annotated[SweepValue, PlainValidator(prior_value)]
Means = Annotated[tuple[Number, ...], Field(min_length=1)]
Share = Annotated[float, Field(gt=0.0, le=1.0, strict=True)]
Delay = Annotated[int | tuple[int, int], _checked_by(check_delay)]
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
    eligible: Share | None = None
    delay: Delay | None = None
    answer_rate: Share | None = None


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
            raise InputError(f"rounds must be increasing, not {list(self.rounds)}")
        return self


def policy_names(policies: Iterable[str], known: Collection[str] | None = None) -> list[str]:
    """Return the names of policies in results; raise an error for those that are not ``known``."""
    names = [text_of(as_policy(policy)) for policy in policies]
    for name in names:
        if known is not None and name not in known:
            raise InputError(f"'{name}' is not one of the policies: {nearest(name, known)}")
    return names


# --- sweeps: one simulation per point

#: Keys of the experiment that a sweep can vary.
SWEEPABLE = [*SimulationTable.model_fields, "accuracy", "seed", "regret"]
SWEEPABLE.remove("policies")


def _check_parameter(text: str) -> str:
    if not text.isidentifier():
        raise ValueError(f"must be an identifier such as r, used as {{r}} in texts, not {text!r}")
    if text in {*Experiment.model_fields, *RecordTable.model_fields} - {*SWEEPABLE}:
        raise ValueError(
            f"the key '{text}' cannot be swept: use {', '.join(SWEEPABLE)}, or another word, which "
            "replaces {word} in texts"
        )
    return text


def _check_value(value: object) -> SweepValue:
    if isinstance(value, str) and value:
        return value
    if is_number(value) and abs(value) < math.inf:
        return value
    if isinstance(value, list) and value:
        return tuple(_check_value(one) for one in value)
    raise ValueError(f"must be a finite number or a non-empty string, not {short_repr(value)}")


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
        given = {"parameter": self.parameter, "grid": self.grid, "list": self.point_list}
        kinds = [key for key, part in given.items() if part is not None]
        if len(kinds) != 1 or (self.parameter is None) != (self.values is None):
            raise InputError("a sweep needs either parameter and values, or grid, or list")
        if self.x is not None and self.x not in (self.grid or ()):
            raise InputError(f"x must be a parameter of a grid, not '{self.x}'")
        for number, point in enumerate(self.point_list or (), 1):
            if set(point) != set(self.parameters):
                names = ", ".join(self.parameters)
                raise InputError(f"list {number} must have the parameters of the first: {names}")
        seen = set()
        for shown in self.display_points():
            if (values := tuple(shown.values())) in seen:
                raise InputError(f"the point {point_text(shown)} is given twice")
            seen.add(values)
        for parameter in self.parameters:
            column = self._column(parameter)
            if len({is_number(value) for value in column}) > 1:
                raise InputError(f"the values of {parameter} must be all numbers or all texts")
            own = getattr(self, parameter, None) if parameter in SWEEPABLE else None
            if own is not None and not has_own_placeholder(parameter, own):
                raise InputError(f"this sweep varies {parameter}: remove the key '{parameter}'")
        on_axis = [] if self.axis is None else self._column(self.axis)
        if self.scale == "log" and not (on_axis and all(is_number(v) and v > 0 for v in on_axis)):
            raise InputError("scale = 'log' needs positive numbers")
        return self

    def _column(self, parameter: str) -> list[SweepValue]:
        return [point[parameter] for point in self.points()]

    def check_texts(self, texts: Iterable[str]) -> None:
        """Raise an error for parameters without effect, and for lists in placeholders."""
        used = {name: text for text in texts for name in placeholders(text)}
        for parameter in self.parameters:
            lists = any(isinstance(value, tuple) for value in self._column(parameter))
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
    claims: tuple[Claim, ...] = ()
    published: Published | None = None
    sweeps: tuple[SweepTable, ...] = ()
    _folder: Path | None = PrivateAttr(default=None)  # base directory of paths in the file

    @model_validator(mode="after")
    def _check_consistency(self) -> Self:
        if not self.sweeps:
            for key in ("graph", "policies", "horizon"):
                if getattr(self, key) is None:
                    raise InputError(f"the required key '{key}' is missing")
            check_placeholders(self._texts())
        elif self.claims or self.published:
            raise InputError("sweeps cannot be combined with claims or published: remove them")
        for number, sweep in enumerate(self.sweeps, 1):
            base = self._base(sweep)
            points = sweep.points()
            for point, shown in zip(points, sweep.display_points(), strict=True):
                with prefix_errors(f"sweeps {number}, at {point_text(shown)}"):
                    base.at(point)
            setups = [base._with_keys(point) for point in points]
            with prefix_errors(f"sweeps {number}"):
                sweep.check_texts(text for setup in setups for text in setup._texts())
        return self

    def _texts(self) -> Iterator[str]:
        """Yield all texts that may contain placeholders."""
        yield from (self.graph or "", self.world or "", self.posterior or "")
        priors = self.prior if isinstance(self.prior, tuple) else [self.prior]
        yield from (one for one in priors if isinstance(one, str))
        yield from self.policies or ()

    @property
    def sweeps_seed(self) -> bool:
        return any("seed" in sweep.parameters for sweep in self.sweeps)

    def setups(self) -> list[Experiment]:
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
        """Set the keys that are parameters of a point, unchecked; other placeholders are kept.

        If the text of a key contains its own placeholder, only the placeholder is replaced.
        """
        keys: dict[str, Any] = {key: value for key, value in point.items() if key in SWEEPABLE}
        for key, value in keys.items():
            text = getattr(self, key, None)
            if has_own_placeholder(key, text):
                keys[key] = fill_placeholders(str(text), {key: value})
        if "regret" in keys:
            record = self.record.model_dump(exclude_unset=True)
            keys["record"] = record | {"regret": keys.pop("regret")}
        return self.model_copy(update=keys)

    def at(self, point: Mapping[str, SweepValue]) -> Experiment:
        """Return the simulation at a point of a sweep, given as values by parameter."""
        values = dict(self._with_keys(point))
        for key in ("graph", "world", "posterior", "prior", "policies"):
            values[key] = _fill_value(values[key], point)
        setup = _checked(values)
        setup._folder = self._folder
        return setup

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
            plans.append(self._plan(policies, changes))
            self.resolved_claims(plans[0].policies)
            self.published_means(plans[0].policies)
        for number, sweep in enumerate(self.sweeps):
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
            raise InputError("this experiment has sweeps: use plans()")
        return self.plans(**changes)[0]

    def resolved_claims(self, known: Collection[str] | None = None) -> list[Claim]:
        """Return the claims with the policy names of the results, which must be ``known``."""
        found = []
        for claim in self.claims:
            with prefix_errors(f"the claim '{claim.text}'"):
                better, than = (policy_names(one, known) for one in (claim.better, claim.than))
                found.append(replace(claim, better=tuple(better), than=tuple(than)))
        return found

    def published_means(self, known: Collection[str] | None = None) -> Published | None:
        """Return the published means with the policy names of the results, or None."""
        if self.published is None:
            return None
        with prefix_errors(f"published by {self.published.source}"):
            names = policy_names(self.published.means, known)
            for name in names:
                if names.count(name) > 1:
                    raise InputError(f"policy '{name}' is given twice")
        return replace(
            self.published, means=dict(zip(names, self.published.means.values(), strict=True))
        )

    def _plan(self, policies: Sequence[str], changes: Mapping[str, Any]) -> Plan:
        """Return the checked simulation, with additional policies and changes."""
        record, written = self.record, [*(self.policies or ()), *policies]
        check_placeholders(policies)
        with prefix_errors("graph"):
            graph = _resolve_graph_path(self.graph or "", self._folder)
        for number, policy in enumerate(written, 1):
            with prefix_errors(f"policies {number}"):
                as_policy(policy)
        models = {key: getattr(self, key) for key in ("prior", "means", "posterior", "accuracy")}
        world, posterior = build_models(graph, self.arms, self.world, **models)
        answers: dict[str, Any] = {"delay": self.delay, "answer_rate": self.answer_rate}
        settings = {"trials": self.trials, "seed": self.seed, "ratios": record.ratios, **changes}
        return Plan.of(
            written,
            world,
            graph,
            arms=self.arms,
            posterior=posterior,
            horizon=self.horizon or 0,
            regret=record.regret,
            rounds=record.points if record.rounds is None else record.rounds,
            record=record.trajectories,
            eligible=self.eligible,
            **{key: value for key, value in answers.items() if value is not None},
            **settings,
        )


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
    count = arms
    if count is None:
        lists = [prior] if isinstance(prior, tuple) and not is_one_prior(prior) else []
        sizes = [len(one) for one in (*lists, means) if one is not None]
        with prefix_errors("graph"):
            count = make_process(graph, sizes[0] if sizes else None).arms
    with prefix_errors("world"):
        made: Any = as_world(world, count, prior, means)
    with prefix_errors("posterior"):
        other = None if posterior is None else as_posterior(posterior, count)
    if accuracy != "simulation":
        if other is None and isinstance(made, PriorWorld):
            made = replace(made, prior=with_accuracy(made.prior, accuracy))
        else:
            other = with_accuracy(other or made.prior, accuracy)
    return made, other


def _fill_value(value: Any, point: Mapping[str, SweepValue]) -> Any:
    if isinstance(value, tuple):
        return tuple(_fill_value(one, point) for one in value)
    return fill_placeholders(value, point) if isinstance(value, str) else value


def _resolve_graph_path(graph: str, folder: Path | None) -> str:
    """Check the text of a graph; resolve the path of a file relative to the experiment file."""
    if folder is not None and graph.startswith("file:"):
        return f"file:{folder / graph.removeprefix('file:')}"
    recipe = build("graph", graph)
    if folder is not None and name_of(recipe) == "file":
        return text_of(replace(recipe, path=str(folder / recipe.path)))
    return graph


# --- reading a file

#: The tables inside an experiment, by their key.
TABLES: dict[str, type[Any]] = {
    "claims": Claim,
    "published": Published,
    "record": RecordTable,
    "sweeps": SweepTable,
}
#: Maximum number of digits of a number in a file.
MAX_DIGITS = 300
#: Types of pydantic's errors for an unknown key.
UNKNOWN_KEY = ("extra_forbidden", "unexpected_keyword_argument")


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
    except UnicodeDecodeError:
        raise InputError(f"{where} is not UTF-8 text") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{where} is not valid TOML: {error}") from None
    except RecursionError:
        raise InputError(f"{where}: brackets or tables are nested too deeply") from None
    except (OverflowError, ValueError):  # ValueError: too many digits for Python
        raise InputError(f"{where}: a number has more than {MAX_DIGITS} digits") from None
    with prefix_errors(where):
        return _checked(table)


def _has_huge_number(value: object) -> bool:
    if isinstance(value, dict | list):
        return any(map(_has_huge_number, value.values() if isinstance(value, dict) else value))
    return isinstance(value, int) and abs(value) >= 10**MAX_DIGITS


def keys_of(table: type[Any]) -> list[str]:
    """Return the keys of a table as written in the file."""
    if issubclass(table, Table):
        return [field.alias or name for name, field in table.model_fields.items()]
    return [field.name for field in fields(table)]


def _checked(values: Mapping[str, Any]) -> Experiment:
    """Validate an experiment; of pydantic's errors, report the first and the number of others."""
    try:
        return Experiment.model_validate(values)
    except ValidationError as error:
        # a non-empty list counts as too short only because its entries are invalid
        found: list[Any] = [e for e in error.errors() if e["type"] != "too_short" or not e["input"]]
        # unknown keys first: they are often misspelled required keys
        first = min(found, key=lambda one: one["type"] not in UNKNOWN_KEY)
        loc, message = first["loc"], first["msg"].removeprefix("Value error, ")
        if first["type"] in UNKNOWN_KEY:
            known = keys_of(TABLES[loc[0]] if len(loc) > 1 else Experiment)
            message = f"unknown key: {nearest(loc[-1], known)}"
        elif first["type"] == "tuple_type":
            message = "must be a list"
        if first["type"] not in (*UNKNOWN_KEY, "missing", "too_short", "value_error"):
            message += f", not {short_repr(first['input'])}"
        others = len(found) - 1
        more = f" (and {others} more error{'s' if others > 1 else ''})" if others else ""
        place = f"{_location(loc)}: " if loc else ""
        raise InputError(f"{place}{message}{more}") from None


def _location(loc: Sequence[str | int]) -> str:
    """Format a place in the file, with numbers that start at 1.

    >>> _location(("sweeps", 0, "values", 2))
    'sweeps 1, values 3'
    """
    words = (f" {part + 1}" if isinstance(part, int) else f", {part}" for part in loc)
    return "".join(words).removeprefix(", ")
