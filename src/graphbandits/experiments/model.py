"""An experiment: what its TOML file says, and the checked simulations that follow from it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    PrivateAttr,
    model_validator,
)

from graphbandits.engine import Plan
from graphbandits.errors import InputError, nearest
from graphbandits.experiments.texts import (
    Value,
    check_placeholders,
    file_part,
    filled,
    placeholders,
)
from graphbandits.policies import as_policy
from graphbandits.registry import build, name_of, text_of
from graphbandits.results import Claim, Published, Results

#: Parameters of a sweep that set a key of the experiment.
SIZES = ("arms", "horizon")


def _number_or_text(value: object) -> Value:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if number and math.isfinite(value) or isinstance(value, str) and value:
        return value
    raise ValueError("a value is a finite number, or a text that is not empty")


def _word(text: str) -> str:
    if not text.isidentifier():
        raise ValueError("a parameter is a word such as r, which stands in texts as {r}")
    return text


Positive = Annotated[int, Field(ge=1, strict=True)]
Text = Annotated[str, Field(min_length=1)]
Texts = Annotated[tuple[Text, ...], Field(min_length=1)]
Values = Annotated[
    tuple[Annotated[Value, PlainValidator(_number_or_text)], ...], Field(min_length=1)
]


class Table(BaseModel):
    """A table of the file: no other keys than its fields."""

    model_config = ConfigDict(extra="forbid", frozen=True)


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
        better, than = ([_name(policy) for policy in side] for side in (self.better, self.than))
        return Claim(self.text, tuple(better), tuple(than), self.source)


class PublishedTable(Table):
    """Mean regrets and their standard errors that ``source`` has published."""

    source: Text
    means: dict[str, Any]

    @model_validator(mode="after")
    def _can_be_published(self) -> Self:
        Published(self.means, self.source)
        return self

    def published(self) -> Published:
        """The means, their policies called as in results."""
        means = {_name(policy): tuple(pair) for policy, pair in self.means.items()}
        return Published(means, self.source)


class SweepTable(Table):
    """One simulation for each of the ``values`` of a ``parameter``.

    ``{parameter}`` in the texts of graph and policies becomes the value; ``arms`` and ``horizon``
    set the key of that name. What is not given here is that of the experiment.
    """

    parameter: Annotated[str, AfterValidator(_word)]
    values: Values
    title: str = ""
    label: str = ""
    scale: Literal["linear", "log"] = "linear"
    graph: Text | None = None
    policies: Texts | None = None
    arms: Positive | None = None
    horizon: Positive | None = None

    @model_validator(mode="after")
    def _can_be_drawn(self) -> Self:
        texts = [isinstance(value, str) for value in self.values]
        if any(texts) and not all(texts):
            raise InputError("values are all numbers or all texts, not some of each")
        if self.scale == "log" and any(isinstance(v, str) or v <= 0 for v in self.values):
            raise InputError("scale = 'log' goes with numbers above 0")
        files: dict[str, Value] = {}
        for value in self.values:  # some file systems do not tell capital letters apart
            other = files.setdefault(file_part(value).casefold(), value)
            if other is not value or not file_part(value):
                raise InputError(
                    f"values {other!r} and {value!r} cannot be told apart in the name of a file"
                    if other is not value
                    else f"the value {value!r} has nothing that could stand in the name of a file"
                )
        if self.parameter in SIZES:
            for value in self.values:
                if not isinstance(value, int) or value < 1:
                    raise InputError(
                        f"values of {self.parameter} are whole numbers of at least 1, not {value!r}"
                    )
            if getattr(self, self.parameter) is not None:
                raise InputError(
                    f"{self.parameter} is what this sweep varies: leave the key "
                    f"'{self.parameter}' out"
                )
        return self


@dataclass(frozen=True)
class Setup:
    """One simulation in texts, every placeholder filled."""

    graph: str
    policies: tuple[str, ...]
    arms: int | None
    horizon: int


@dataclass(frozen=True, eq=False)
class SweepPlan:
    """The checked simulations of one sweep, by the value of its parameter.

    ``lines`` has, for each value, the line that a policy of its results belongs to: a text with
    a placeholder makes a policy of another name at each value, and one line.
    """

    parameter: str
    title: str
    label: str
    scale: str
    plans: Mapping[Value, Plan]
    lines: Mapping[Value, Mapping[str, str]]

    def file_part(self, value: Value) -> str:
        """What the files of a value have in their names.

        >>> sweep = SweepPlan("r", "", "r", "linear", {}, {})
        >>> sweep.file_part(0.25)
        'r-0.25'
        """
        return f"{self.parameter}-{file_part(value)}"

    def drawn(self, results: Mapping[Value, Results]) -> dict[Value, Results]:
        """The results with the names of the lines for those of the policies."""
        return {value: found.renamed(self.lines[value]) for value, found in results.items()}


class Experiment(Table):
    """World, graph, policies and size of one experiment; ``plugins`` are Python files it needs.

    It is one simulation (:meth:`plan`), which claims and published means may be held against,
    or one for each value of its sweeps (:meth:`sweep_plans`).
    """

    title: Text
    graph: Text | None = None
    arms: Positive | None = None
    horizon: Positive | None = None
    trials: Positive
    policies: Texts | None = None
    seed: Annotated[int, Field(ge=0, strict=True)] = 0
    plugins: tuple[Text, ...] = ()
    notes: tuple[Text, ...] = ()
    claims: tuple[ClaimTable, ...] = ()
    published: PublishedTable | None = None
    sweeps: tuple[SweepTable, ...] = ()
    _folder: Path | None = PrivateAttr(default=None)  # that paths are relative to

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if not self.sweeps:
            setup = self._setup()
            check_placeholders((setup.graph, *setup.policies))
            return self
        held = "claims" if self.claims else "published" if self.published else ""
        if held:
            raise InputError(
                f"an experiment has sweeps or {held}, not both: {held} are about one simulation"
            )
        parameters = [sweep.parameter for sweep in self.sweeps]
        for sweep in self.sweeps:
            parameter = sweep.parameter
            if parameters.count(parameter) > 1:
                raise InputError(
                    f"two sweeps have the parameter '{parameter}', and so the same files: give "
                    "one of them another name"
                )
            setup = self._setup(sweep)
            texts = (setup.graph, *setup.policies)
            check_placeholders(texts, parameter)
            if parameter not in SIZES and not any(map(placeholders, texts)):
                raise InputError(
                    f"the sweep of '{parameter}' changes nothing: write {{{parameter}}} where its "
                    "value belongs, in the graph or in a policy"
                )
        return self

    def beside(self, folder: Path) -> Self:
        """The same experiment, the paths of its graphs relative to a folder."""
        moved = self.model_copy()
        moved._folder = folder
        return moved

    @property
    def runs(self) -> int:
        """How many simulations it has."""
        return sum(len(sweep.values) for sweep in self.sweeps) or 1

    def setups(self) -> list[Setup]:
        """All simulations in texts.

        >>> from graphbandits.experiments import load_experiment
        >>> [setup.graph for setup in load_experiment("paper-2a").setups()]
        ['random(r=0.25)']
        """
        if not self.sweeps:
            return [self._setup()]
        return [self._at(sweep, value) for sweep in self.sweeps for value in sweep.values]

    def plan(
        self,
        *,
        trials: int | None = None,
        seed: int | None = None,
        policies: Sequence[str] = (),
    ) -> Plan:
        """The checked simulation, with other trials or another seed if given, and more policies."""
        if self.sweeps:
            raise InputError(
                f"this experiment has {self.runs} simulations: sweep_plans() gives them"
            )
        check_placeholders(policies)
        plan = self._plan(self._setup(), trials, seed, policies)
        for claim in self.judged_claims():
            _check_known((*claim.better, *claim.than), plan, f"the claim '{claim.text}'")
        if published := self.published_means():
            _check_known(published.means, plan, f"published by {published.source}")
        return plan

    def sweep_plans(
        self,
        *,
        trials: int | None = None,
        seed: int | None = None,
        policies: Sequence[str] = (),
    ) -> list[SweepPlan]:
        """The checked simulations of each sweep, with the same changes as in :meth:`plan`."""
        found = []
        for sweep in self.sweeps:
            check_placeholders(policies, sweep.parameter)
            texts = (*self._setup(sweep).policies, *policies)
            plans = {
                value: self._plan(
                    self._at(sweep, value),
                    trials,
                    seed,
                    [filled(policy, value) for policy in policies],
                )
                for value in sweep.values
            }
            lines = {
                value: {
                    name: filled(text, "…") if placeholders(text) else name
                    for name, text in zip(plan.policies, texts, strict=True)
                }
                for value, plan in plans.items()
            }
            label = sweep.label or sweep.parameter
            title = sweep.title or self.title
            found.append(SweepPlan(sweep.parameter, title, label, sweep.scale, plans, lines))
        return found

    def judged_claims(self) -> tuple[Claim, ...]:
        """The claims, their policies called as in results."""
        return tuple(entry.claim() for entry in self.claims)

    def published_means(self) -> Published | None:
        """The published means, their policies called as in results."""
        return None if self.published is None else self.published.published()

    def _setup(self, sweep: SweepTable | None = None) -> Setup:
        """The keys of a sweep over those of the experiment, placeholders still in the texts."""
        given = {key: getattr(self, key) for key in ("graph", "policies", "arms", "horizon")}
        if sweep is not None:
            own = {key: getattr(sweep, key) for key in given}
            given |= {key: value for key, value in own.items() if value is not None}
            given |= {sweep.parameter: sweep.values[0]} if sweep.parameter in SIZES else {}
        for key, value in given.items():
            if value is None and key != "arms":
                raise InputError(f"the key '{key}' is missing: an experiment needs it")
        return Setup(**given)

    def _at(self, sweep: SweepTable, value: Value) -> Setup:
        setup = self._setup(sweep)
        return replace(
            setup,
            graph=filled(setup.graph, value),
            policies=tuple(filled(policy, value) for policy in setup.policies),
            **({sweep.parameter: value} if sweep.parameter in SIZES else {}),
        )

    def _plan(
        self, setup: Setup, trials: int | None, seed: int | None, policies: Iterable[str]
    ) -> Plan:
        return Plan.of(
            [*setup.policies, *policies],
            graph=setup.graph if self._folder is None else _beside(setup.graph, self._folder),
            arms=setup.arms,
            horizon=setup.horizon,
            trials=self.trials if trials is None else trials,
            seed=self.seed if seed is None else seed,
        )


def _name(policy: str) -> str:
    """What a policy is called in results."""
    return text_of(as_policy(policy))


def _check_known(names: Iterable[str], plan: Plan, what: str) -> None:
    for name in names:
        if name not in plan.policies:
            raise InputError(
                f"{what}: '{name}' is not among the policies: {nearest(name, plan.policies)}"
            )


def _beside(graph: str, folder: Path) -> str:
    """The text of a graph, with the path of its file relative to the experiment's."""
    if graph.startswith("file:"):
        return f"file:{folder / graph.removeprefix('file:')}"
    recipe = build("graph", graph)
    if name_of(recipe) == "file":
        return text_of(replace(recipe, path=str(folder / recipe.path)))
    return graph
