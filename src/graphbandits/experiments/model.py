"""An experiment: what its TOML file says, and the checked simulations that follow from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field, PrivateAttr, model_validator

from graphbandits.engine import Plan
from graphbandits.errors import GraphBanditsError, InputError, nearest
from graphbandits.experiments.tables import (
    SIZES,
    ClaimTable,
    Positive,
    PublishedTable,
    SweepTable,
    Table,
    Text,
    Texts,
)
from graphbandits.experiments.texts import (
    SWEPT,
    Value,
    check_placeholders,
    file_part,
    filled,
    placeholders,
)
from graphbandits.registry import build, name_of, text_of
from graphbandits.results import Claim, Published, Results


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

    def runs(self) -> dict[Value, Plan]:
        """What there is to run: a policy that has met the same problem at an earlier value has not.

        Values at which nothing is left are not there.
        """
        met: set[tuple[object, ...]] = set()
        found: dict[Value, Plan] = {}
        for value, plan in self.plans.items():
            new = {n: p for n, p in plan.policies.items() if (*_problem(plan), n) not in met}
            met.update((*_problem(plan), name) for name in new)
            if new:
                found[value] = replace(plan, policies=new)
        return found

    def whole(self, value: Value, ran: Mapping[Value, Results]) -> Results:
        """The results at a value, of what was run there and at earlier values of its problem."""
        plan = self.plans[value]
        same = [ran[other] for other in ran if _problem(self.plans[other]) == _problem(plan)]
        return Results.concat(same).only(plan.policies)

    def drawn(self, results: Mapping[Any, Results]) -> dict[Any, Results]:
        """The results by value, with the names of the lines for those of the policies."""
        return {value: found.renamed(self.lines[value]) for value, found in results.items()}


def _problem(plan: Plan) -> tuple[object, ...]:
    """What the results of a policy depend on, besides the seed and the trials."""
    return plan.graph_text, plan.process.arms, plan.horizon


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
        # some file systems do not tell capital letters apart
        parameters = [sweep.parameter.casefold() for sweep in self.sweeps]
        for sweep in self.sweeps:
            parameter = sweep.parameter
            if parameters.count(parameter.casefold()) > 1:
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

    def lines(self) -> list[str]:
        """The policies of all simulations, one text for those that differ by the value swept."""
        setups = [self._setup(sweep) for sweep in self.sweeps or (None,)]
        texts = (policy for setup in setups for policy in setup.policies)
        return list(dict.fromkeys(filled(text, SWEPT) for text in texts))

    def plan(
        self,
        *,
        trials: int | None = None,
        seed: int | None = None,
        policies: Sequence[str] = (),
        ratios: str | None = None,
    ) -> Plan:
        """The checked simulation, with other trials or another seed if given, and more policies."""
        if self.sweeps:
            raise InputError(
                f"this experiment has {self.runs} simulations: sweep_plans() gives them"
            )
        check_placeholders(policies)
        plan = self._plan(self._setup(), trials, seed, policies, ratios)
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
            plans = {}
            for value in sweep.values:
                more = [filled(policy, value) for policy in policies]
                try:
                    plans[value] = self._plan(self._at(sweep, value), trials, seed, more)
                except GraphBanditsError as error:
                    raise type(error)(f"at {sweep.parameter} = {value}: {error}") from error
            lines = {
                value: {
                    name: filled(text, SWEPT) if placeholders(text) else name
                    for name, text in zip(plan.policies, texts, strict=True)
                }
                for value, plan in plans.items()
            }
            label = sweep.label or sweep.parameter
            alone = len(self.sweeps) == 1
            title = sweep.title or (self.title if alone else f"{self.title}: by {label}")
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
        sizes: dict[str, Any] = {sweep.parameter: value} if sweep.parameter in SIZES else {}
        return replace(
            setup,
            graph=filled(setup.graph, value),
            policies=tuple(filled(policy, value) for policy in setup.policies),
            **sizes,
        )

    def _plan(
        self,
        setup: Setup,
        trials: int | None,
        seed: int | None,
        policies: Iterable[str],
        ratios: str | None = None,
    ) -> Plan:
        return Plan.of(
            [*setup.policies, *policies],
            graph=setup.graph if self._folder is None else _beside(setup.graph, self._folder),
            arms=setup.arms,
            horizon=setup.horizon,
            trials=self.trials if trials is None else trials,
            seed=self.seed if seed is None else seed,
            ratios=ratios,
        )


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
