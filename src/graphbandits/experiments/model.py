"""An experiment: what its TOML file says, and the checked simulations that follow from it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import PrivateAttr, model_validator

from graphbandits.engine import Plan
from graphbandits.engine.plan import point_text
from graphbandits.errors import GraphBanditsError, InputError
from graphbandits.experiments.figures import FIGURES, FigureTable, requested
from graphbandits.experiments.setups import (
    Setup,
    check_keys,
    check_known,
    check_sweep,
    line_names,
    shown_points,
)
from graphbandits.experiments.sweeps import KEYS, SweepTable, cell_name, slice_name, sweep_name
from graphbandits.experiments.tables import (
    Accuracy,
    ClaimTable,
    Means,
    Positive,
    Prior,
    PublishedTable,
    RecordTable,
    Seed,
    Table,
    Text,
    Texts,
)
from graphbandits.experiments.texts import (
    check_placeholders,
    errors_at,
    filled,
    varies_itself,
)
from graphbandits.experiments.worlds import world_of
from graphbandits.registry import build, name_of, text_of
from graphbandits.results import Claim, Published
from graphbandits.store.record import SweepRecord


class Experiment(Table):
    """World, graph, policies and size of one experiment; ``plugins`` are Python files it needs.

    It is one simulation, which claims and published means may be held against, or one for each
    point of its sweeps: :meth:`plans` has them all, checked.
    """

    title: Text
    world: Literal["bernoulli"] = "bernoulli"
    prior: Prior | None = None
    means: Means | None = None
    accuracy: Accuracy = "simulation"
    graph: Text | None = None
    arms: Positive | None = None
    horizon: Positive | None = None
    trials: Positive
    policies: Texts | None = None
    seed: Seed = 0
    plugins: tuple[Text, ...] = ()
    notes: tuple[Text, ...] = ()
    record: RecordTable = RecordTable()
    claims: tuple[ClaimTable, ...] = ()
    published: PublishedTable | None = None
    sweeps: tuple[SweepTable, ...] = ()
    figures: tuple[FigureTable, ...] | None = None
    _folder: Path | None = PrivateAttr(default=None)  # that paths are relative to

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if not self.sweeps:
            check_placeholders(self._setup().texts())
        held = "claims" if self.claims else "published" if self.published else ""
        if self.sweeps and held:
            raise InputError(
                f"an experiment has sweeps or {held}, not both: {held} are about one simulation"
            )
        named = [sweep_name(sweep) for sweep in self.swept()]
        if (twice := _first_twice(named)) is not None:
            raise InputError(
                f"two sweeps have the parameter{'s' if '-' in twice else ''} "
                f"'{twice.replace('-', ', ')}', and so the same files: {self._way_out(twice)}"
            )
        for number, sweep in enumerate(self.sweeps, 1):
            try:
                check_sweep(sweep, self._setup(sweep))
            except InputError as error:
                raise InputError(f"sweeps {number}: {error}") from error
        self._check_files()
        return self

    def _way_out(self, twice: str) -> str:
        """What to do about two sweeps of the same name: keys have the names that they have."""
        alike = [s for s in self.swept() if sweep_name(s).casefold() == twice.casefold()]
        if all(parameter in KEYS for sweep in alike for parameter in sweep.parameters):
            return "put all values into one sweep"
        return "give one of them another name, or put all values into one sweep"

    def _check_files(self) -> None:
        """Refuse what would be written to the same files."""
        slices = {
            slice_name(swept, point): None
            for swept, sweep in zip(self.swept(), self.sweeps, strict=True)
            for point in shown_points(sweep)
        }
        cells = [cell_name(point) for sweep in self.sweeps for point in shown_points(sweep)]
        if (twice := _first_twice(cells)) is not None:
            raise InputError(
                f"points of two sweeps have the same name in files, '{twice}': choose other values"
            )
        files = []
        for number, figure in enumerate(self.figures or (), 1):
            if figure.kind == "sweep" and not self.sweeps:
                raise InputError(
                    f"figures {number}: kind = 'sweep' is for an experiment with [[sweeps]]; "
                    f"without, there are {', '.join(FIGURES)}"
                )
            places = list(slices) if figure.kind == "sweep" else cells if self.sweeps else [""]
            files += ["-".join(filter(None, (place, figure.part))) for place in places]
            if _first_twice(files) is not None:
                raise InputError(
                    f"figures {number}: another figure has the same files: give it a name of its "
                    f'own, such as name = "{figure.kind}-{number}"'
                )

    def beside(self, folder: Path) -> Self:
        """The same experiment, the paths of its graphs relative to a folder."""
        moved = self.model_copy()
        moved._folder = folder
        return moved

    @property
    def runs(self) -> int:
        """How many simulations it has."""
        return sum(len(sweep.points()) for sweep in self.sweeps) or 1

    @property
    def sweeps_seed(self) -> bool:
        """Whether a sweep says which seeds there are."""
        return any("seed" in sweep.parameters for sweep in self.sweeps)

    def setups(self) -> list[Setup]:
        """All simulations in texts.

        >>> from graphbandits.experiments import load_experiment
        >>> [setup.graph for setup in load_experiment("paper-2a").setups()]
        ['random(r=0.25)']
        """
        if not self.sweeps:
            return [self._setup()]
        return [self._setup(sweep).at(point) for sweep in self.sweeps for point in sweep.points()]

    def lines(self) -> list[str]:
        """The policies of all simulations, one text for those that differ by the value swept."""
        setups = [self._setup(sweep) for sweep in self.sweeps or (None,)]
        texts = [policy for setup in setups for policy in setup.policies]
        names = line_names(texts)
        return list(dict.fromkeys(names.get(text, text) for text in texts))

    def swept(self) -> list[SweepRecord]:
        """Titles, parameters and axes of the sweeps."""
        return [sweep.record(self.title, len(self.sweeps) == 1) for sweep in self.sweeps]

    def plans(
        self,
        *,
        trials: int | None = None,
        seed: int | None = None,
        policies: Sequence[str] = (),
        ratios: str | None = None,
    ) -> list[Plan]:
        """All simulations, checked, with the changes of :meth:`plan`; a point of a sweep each.

        >>> from graphbandits.experiments import load_experiment
        >>> plan = load_experiment("arms").plans(trials=3)[1]
        >>> plan.sweep, plan.point, plan.name, plan.process.arms
        (0, {'arms': 3}, 'arms-3', 3)
        """
        if not self.sweeps:
            plans = [self.plan(trials=trials, seed=seed, policies=policies, ratios=ratios)]
        else:
            plans = [
                plan
                for number in range(len(self.sweeps))
                for plan in self._plans_of(number, trials, seed, policies, ratios)
            ]
        self.drawn(plans)  # refuses figures of policies that there are not
        return plans

    def _plans_of(
        self,
        number: int,
        trials: int | None,
        seed: int | None,
        policies: Sequence[str],
        ratios: str | None,
    ) -> Iterator[Plan]:
        sweep = self.sweeps[number]
        if seed is not None and "seed" in sweep.parameters:
            raise InputError("a sweep says which seeds there are: give no other seed")
        check_placeholders(policies, sweep.parameters)
        setup = self._setup(sweep)
        texts = (*setup.policies, *policies)
        names = line_names(texts)
        for given, point in zip(sweep.points(), shown_points(sweep), strict=True):
            more = [filled(policy, given) for policy in policies]
            with errors_at(f"sweeps {number + 1}, at {point_text(point)}"):
                plan = self._plan(setup.at(given), trials, seed, more, ratios)
            lines = {
                name: names.get(text, name) for name, text in zip(plan.policies, texts, strict=True)
            }
            yield replace(plan, sweep=number, point=point, name=cell_name(point), lines=lines)

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
            raise InputError(f"this experiment has {self.runs} simulations: plans() gives them")
        check_placeholders(policies)
        plan = self._plan(self._setup(), trials, seed, policies, ratios)
        for claim in self.judged_claims():
            check_known((*claim.better, *claim.than), plan.policies, f"the claim '{claim.text}'")
        if published := self.published_means():
            check_known(published.means, plan.policies, f"published by {published.source}")
        return plan

    def drawn(self, plans: Sequence[Plan]) -> list[dict[str, Any]]:
        """The figures to draw of these plans, as plain data: those asked for, else the usual.

        >>> from graphbandits.experiments import load_experiment
        >>> arms = load_experiment("arms")
        >>> arms.drawn(arms.plans(trials=3))
        [{'kind': 'sweep'}]
        """
        return requested(self.figures, plans)

    def judged_claims(self) -> tuple[Claim, ...]:
        """The claims, their policies called as in results."""
        return tuple(entry.claim() for entry in self.claims)

    def published_means(self) -> Published | None:
        """The published means, their policies called as in results."""
        return None if self.published is None else self.published.published()

    def _setup(self, sweep: SweepTable | None = None) -> Setup:
        """The keys of a sweep over those of the experiment, placeholders still in the texts."""
        given: dict[str, Any] = {
            "regret": self.record.regret,
            **{key: getattr(self, key) for key in Setup.__dataclass_fields__ if key != "regret"},
        }
        if sweep is not None:
            own = {key: getattr(sweep, key, None) for key in given}
            given |= {key: value for key, value in own.items() if value is not None}
            first = sweep.points()[0]
            given |= {
                key: first[key]
                for key in KEYS.keys() & set(first)
                if not varies_itself(key, given[key])
            }
        for key in ("graph", "policies", "horizon"):
            if given[key] is None:
                raise InputError(f"the key '{key}' is missing: an experiment needs it")
        return Setup(**given)

    def _plan(
        self,
        setup: Setup,
        trials: int | None,
        seed: int | None,
        policies: Iterable[str],
        ratios: str | None,
    ) -> Plan:
        with errors_at("graph"):
            graph = setup.graph if self._folder is None else _beside(setup.graph, self._folder)
        world = world_of(graph, setup.arms, setup.prior, setup.means, setup.accuracy)
        try:
            return Plan.of(
                [*setup.policies, *policies],
                world,
                graph,
                arms=setup.arms,
                horizon=setup.horizon,
                trials=self.trials if trials is None else trials,
                seed=setup.seed if seed is None else seed,
                regret=setup.regret,
                ratios=self.record.ratios if ratios is None else ratios,
                rounds=self.record.points if self.record.rounds is None else self.record.rounds,
            )
        except GraphBanditsError:
            # tells of what key it is; what was given besides has none
            check_keys(
                replace(setup, graph=graph),
                world,
                self.record,
                self.trials if trials is None else 1,
            )
            raise


def _first_twice(names: Sequence[str]) -> str | None:
    """The first name that another is like; some file systems do not tell capital letters apart.

    >>> _first_twice(["r", "c", "C"])
    'c'
    """
    met: dict[str, str] = {}
    for name in names:
        if name.casefold() in met:
            return met[name.casefold()]
        met[name.casefold()] = name
    return None


def _beside(graph: str, folder: Path) -> str:
    """The text of a graph, with the path of its file relative to the experiment's."""
    if graph.startswith("file:"):
        return f"file:{folder / graph.removeprefix('file:')}"
    recipe = build("graph", graph)
    if name_of(recipe) == "file":
        return text_of(replace(recipe, path=str(folder / recipe.path)))
    return graph
