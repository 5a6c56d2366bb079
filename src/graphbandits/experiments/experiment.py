"""An experiment: its TOML file, read and checked, and the simulations that follow from it."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from pydantic import PrivateAttr, ValidationError, model_validator

from graphbandits._io import read_bytes
from graphbandits.engine import Plan
from graphbandits.engine.plan import point_text
from graphbandits.errors import GraphBanditsError, InputError, nearest
from graphbandits.experiments import _texts, tables
from graphbandits.experiments._texts import Given, check_placeholders, errors_at, filled
from graphbandits.experiments.figures import FIGURES, FigureTable, part_of, requested
from graphbandits.graphs import as_process, make_process
from graphbandits.plugins import load_plugin
from graphbandits.posteriors import BetaBernoulli
from graphbandits.posteriors.beta_bernoulli import beta_pair, check_parameters
from graphbandits.registry import build, name_of, text_of
from graphbandits.results import Claim, Published
from graphbandits.rng import Keys
from graphbandits.store.record import SweepRecord
from graphbandits.worlds import Bernoulli, World

#: A policy that plays on every graph, whatever else is wrong.
ANY = "uniform"


class Experiment(tables.SimulationTable):
    """World, graph, policies and size of one experiment; ``plugins`` are Python files it needs.

    It is one simulation, which claims and published means may be held against, or one for each
    point of its sweeps: :meth:`plans` has them all, checked.
    """

    title: tables.Text
    world: Literal["bernoulli"] = "bernoulli"
    accuracy: tables.Accuracy = "simulation"
    trials: tables.Positive
    seed: tables.Seed = 0
    plugins: tuple[tables.Text, ...] = ()
    notes: tuple[tables.Text, ...] = ()
    record: tables.RecordTable = tables.RecordTable()
    claims: tuple[tables.ClaimTable, ...] = ()
    published: tables.PublishedTable | None = None
    sweeps: tuple[tables.SweepTable, ...] = ()
    figures: tuple[FigureTable, ...] | None = None
    _folder: Path | None = PrivateAttr(default=None)  # that paths are relative to

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if not self.sweeps:
            self._check_complete()
            check_placeholders(self._texts())
        held = "claims" if self.claims else "published" if self.published else ""
        if self.sweeps and held:
            raise InputError(
                f"an experiment has sweeps or {held}, not both: {held} are about one simulation"
            )
        named = [tables.sweep_name(sweep) for sweep in self.swept()]
        if (twice := _first_twice(named)) is not None:
            raise InputError(
                f"two sweeps have the parameter{'s' if '-' in twice else ''} "
                f"'{twice.replace('-', ', ')}', and so the same files: {self._way_out(twice)}"
            )
        for number, sweep in enumerate(self.sweeps, 1):
            with errors_at(f"sweeps {number}"):
                base = self._base(sweep)
                cells = [base._with_keys(point) for point in sweep.points()]
                cells[0]._check_complete()
                written = list(dict.fromkeys(text for cell in cells for text in cell._texts()))
                check_placeholders(written, sweep.parameters)
                sweep.check_texts(written)
        self._check_files()
        return self

    def _check_complete(self) -> None:
        for key in ("graph", "policies", "horizon"):
            if getattr(self, key) is None:
                raise InputError(f"the key '{key}' is missing: an experiment needs it")

    def _texts(self) -> Iterator[str]:
        """All texts in which placeholders may stand."""
        yield self.graph or ""
        yield from (one for one in tables.prior_pairs(self.prior) if isinstance(one, str))
        yield from self.policies or ()

    def _way_out(self, twice: str) -> str:
        """What to do about two sweeps of the same name: keys have the names that they have."""
        alike = [s for s in self.swept() if tables.sweep_name(s).casefold() == twice.casefold()]
        if all(parameter in tables.KEYS for sweep in alike for parameter in sweep.parameters):
            return "put all values into one sweep"
        return "give one of them another name, or put all values into one sweep"

    def _check_files(self) -> None:
        """Refuse what would be written to the same files."""
        points = [
            (swept, point)
            for swept, sweep in zip(self.swept(), self.sweeps, strict=True)
            for point in sweep.shown_points()
        ]
        cells = [tables.cell_name(point) for _, point in points]
        slices = list(dict.fromkeys(tables.slice_name(swept, point) for swept, point in points))
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
            places = slices if figure.kind == "sweep" else cells if self.sweeps else [""]
            files += ["-".join(filter(None, (place, part_of(figure.plain())))) for place in places]
            if _first_twice(files) is not None:
                raise InputError(
                    f"figures {number}: another figure has the same files: give it a name of its "
                    f'own, such as name = "{figure.kind}-{number}"'
                )

    @property
    def runs(self) -> int:
        """How many simulations it has."""
        return sum(len(sweep.points()) for sweep in self.sweeps) or 1

    @property
    def sweeps_seed(self) -> bool:
        """Whether a sweep says which seeds there are."""
        return any("seed" in sweep.parameters for sweep in self.sweeps)

    def setups(self) -> list[Self]:
        """All simulations in texts, an experiment without sweeps each.

        >>> from graphbandits.experiments import load_experiment
        >>> [setup.graph for setup in load_experiment("paper-2a").setups()]
        ['random(r=0.25)']
        """
        if not self.sweeps:
            return [self]
        return [self._base(sweep).at(point) for sweep in self.sweeps for point in sweep.points()]

    def _base(self, sweep: tables.SweepTable) -> Self:
        """The keys of a sweep over those of the experiment, placeholders still in the texts."""
        keys = (*tables.SimulationTable.model_fields, "accuracy")
        own = {key: getattr(sweep, key) for key in keys}
        given = {key: value for key, value in own.items() if value is not None}
        return self.model_copy(update={**given, "sweeps": ()})

    def _with_keys(self, point: Mapping[str, Given]) -> Self:
        """The keys that are parameters set to their values, other placeholders as they are.

        A text that has a placeholder for its own value keeps what stands around it.
        """
        keys: dict[str, Any] = {key: value for key, value in point.items() if key in tables.KEYS}
        for key, value in keys.items():
            text = getattr(self, key, None)
            if _texts.varies_itself(key, text):
                keys[key] = str(text).replace(f"{{{key}}}", str(value))
        regret = keys.pop("regret", self.record.regret)
        keys["record"] = self.record.model_copy(update={"regret": regret})
        return self.model_copy(update=keys)

    def at(self, point: Mapping[str, Given]) -> Self:
        """The simulation at a point, every placeholder filled."""
        there = self._with_keys(point)
        keys = ("graph", "prior", "policies")
        return there.model_copy(update={key: _filled(getattr(there, key), point) for key in keys})

    def lines(self) -> list[str]:
        """The policies of all simulations, one text for those that differ by the value swept."""
        bases = [self._base(sweep) for sweep in self.sweeps] or [self]
        policies = [policy for base in bases for policy in base.policies or ()]
        names = tables.line_names(policies)
        return list(dict.fromkeys(names.get(policy, policy) for policy in policies))

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
        """All simulations, checked; a point of a sweep each.

        ``trials``, ``seed`` and ``ratios`` replace those of the file, ``policies`` are added.

        >>> from graphbandits.experiments import load_experiment
        >>> plan = load_experiment("arms").plans(trials=3)[1]
        >>> plan.sweep, plan.point, plan.name, plan.process.arms
        (0, {'arms': 3}, 'arms-3', 3)
        """
        given = {"trials": trials, "seed": seed, "ratios": ratios}
        changes = {key: value for key, value in given.items() if value is not None}
        if seed is not None and self.sweeps_seed:
            raise InputError("a sweep says which seeds there are: give no other seed")
        plans = []
        if not self.sweeps:
            check_placeholders(policies)
            plans.append(self._plan(policies, changes))
            self._check_held(plans[0])
        for number, sweep in enumerate(self.sweeps):
            check_placeholders(policies, sweep.parameters)
            base = self._base(sweep)
            written = (*(base.policies or ()), *policies)
            names = tables.line_names(written)
            for values, point in zip(sweep.points(), sweep.shown_points(), strict=True):
                more = [filled(policy, values) for policy in policies]
                with errors_at(f"sweeps {number + 1}, at {point_text(point)}"):
                    plan = base.at(values)._plan(more, changes)
                named = zip(plan.policies, written, strict=True)
                lines = {name: names.get(text, name) for name, text in named}
                place = {"sweep": number, "point": point, "name": tables.cell_name(point)}
                plans.append(replace(plan, lines=lines, **place))  # type: ignore[arg-type]
        self.drawn(plans)  # refuses figures of policies that there are not
        return plans

    def plan(self, **changes: Any) -> Plan:
        """The one simulation of an experiment without sweeps; ``changes`` as for :meth:`plans`."""
        if self.sweeps:
            raise InputError(f"this experiment has {self.runs} simulations: plans() gives them")
        return self.plans(**changes)[0]

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

    def _check_held(self, plan: Plan) -> None:
        """Refuse claims and published means on policies that there are not."""
        for claim in self.judged_claims():
            names = (*claim.better, *claim.than)
            tables.check_known(names, plan.policies, f"the claim '{claim.text}'")
        if published := self.published_means():
            tables.check_known(published.means, plan.policies, f"published by {published.source}")

    def _plan(self, policies: Sequence[str], changes: Mapping[str, Any]) -> Plan:
        """The checked simulation, with more policies, and these changes of :meth:`plans`."""
        record = self.record
        with errors_at("graph"):
            graph = _beside(self.graph or "", self._folder)
        world = world_of(graph, self.arms, self.prior, self.means, self.accuracy)
        given = {"trials": self.trials, "seed": self.seed, "ratios": record.ratios, **changes}
        try:
            return Plan.of(
                [*(self.policies or ()), *policies],
                world,
                graph,
                arms=self.arms,
                horizon=self.horizon or 0,
                regret=record.regret,
                rounds=record.points if record.rounds is None else record.rounds,
                **given,
            )
        except GraphBanditsError:
            # tells of what key it is; what was given besides has none
            self._check_keys(graph, world, 1 if "trials" in changes else self.trials)
            raise

    def _check_keys(self, graph: str, world: World | None, trials: int) -> None:
        """Add one key after the other to a simulation, and refuse the first that does not fit."""
        with errors_at(f"arms = {self.arms}" if self.arms and _has_arms(graph) else "graph"):
            process = as_process(graph, self.arms if world is None else world.arms)
        with errors_at(f"trials = {trials}"):
            Keys(self.seed, 0, trials)
        horizon, policies = self.horizon or 0, self.policies or ()
        plan = partial(Plan.of, world=world, graph=process, trials=trials, horizon=horizon)
        with errors_at(f"horizon = {horizon}"):
            plan(ANY)
        if self.record.rounds is not None:
            with errors_at(f"record, rounds = {_texts.toml_text(self.record.rounds)}"):
                plan(ANY, rounds=self.record.rounds)
        if self.record.ratios is not None:
            with errors_at(f"record, ratios = {_texts.toml_text(self.record.ratios)}"):
                plan(ANY, ratios=self.record.ratios)
        for number in range(1, len(policies) + 1):
            with errors_at(f"policies {number}"):
                plan(policies[:number])


def world_of(
    graph: str,
    arms: int | None,
    prior: Given | None = None,
    means: tuple[float, ...] | None = None,
    accuracy: str = "simulation",
) -> Bernoulli | None:
    """Bernoulli arms with this prior, or these means; None if all three are the defaults.

    >>> world_of("star", 2, prior=((2, 5), "1,1")).prior.a
    array([2., 1.])
    >>> world_of("paper", None, prior="2,5", accuracy="strict").arms
    5
    """
    if prior is None and means is None and accuracy == "simulation":
        return None
    with errors_at("prior"):
        written = tables.prior_pairs((1, 1) if prior is None else prior)
        pairs = [beta_pair(one) if isinstance(one, str) else one for one in written]
        check_parameters(pairs)
    sizes = {
        "arms": arms,
        "prior": len(pairs) if written == prior else None,  # a pair for each arm
        "means": None if means is None else len(means),
    }
    known = {key: count for key, count in sizes.items() if count is not None}
    if arms is None:
        with errors_at("graph"):
            known["graph"] = make_process(graph, next(iter(known.values()), None)).arms
    if len(set(known.values())) > 1:
        told = ", ".join(f"{count} by {key}" for key, count in known.items())
        raise InputError(f"the number of arms is {told}: make them agree")
    a, b = np.broadcast_to(np.array(pairs, np.float64), (next(iter(known.values())), 2)).T
    fixed = None if means is None else np.array(means, np.float64)
    return Bernoulli(BetaBernoulli(a, b, accuracy), fixed)


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


def _filled(value: Any, point: Mapping[str, Given]) -> Any:
    """The texts of a value with every placeholder filled."""
    if isinstance(value, tuple):
        return tuple(_filled(one, point) for one in value)
    return filled(value, point) if isinstance(value, str) else value


def _beside(graph: str, folder: Path | None) -> str:
    """The text of a graph, with the path of its file relative to the experiment's."""
    if folder is None:
        return graph
    if graph.startswith("file:"):
        return f"file:{folder / graph.removeprefix('file:')}"
    recipe = build("graph", graph)
    if name_of(recipe) == "file":
        return text_of(replace(recipe, path=str(folder / recipe.path)))
    return graph


def _has_arms(graph: str) -> bool:
    """Whether a graph can be made without a number of arms."""
    try:
        make_process(graph, None)
    except GraphBanditsError:
        return False
    return True


# --- reading a file

#: The tables inside an experiment, by their key.
TABLES: dict[str, type[tables.Table]] = {
    "claims": tables.ClaimTable,
    "published": tables.PublishedTable,
    "record": tables.RecordTable,
    "sweeps": tables.SweepTable,
    "figures": FigureTable,
}
#: Digits of a number in a file.
MOST_DIGITS = 300
#: Our words for some of pydantic's complaints; in braces what it says of the limits.
MESSAGES = {
    "tuple_type": "this is a list, in brackets",
    "too_short": "one entry is the least",
    "dict_type": "this is a table, in braces",
    "model_type": "this is a table of its own",
    "int_type": "this is a whole number",
    "float_type": "this is a number",
    "bool_type": "this is true or false",
    "string_type": "this is a text, in quotes",
    "string_too_short": "this text must not be empty",
    "greater_than_equal": "this is at least {ge}",
    "greater_than": "this is above {gt:g}",
    "less_than": "this is below {lt:g}",
    "literal_error": "this is {expected}",
}


def experiment_names() -> list[str]:
    """The experiments that come with the package.

    >>> experiment_names()[:4]
    ['arms', 'density', 'eps-greedy-sensitivity', 'joint-gain']
    """
    names = (entry.name for entry in files(__package__).iterdir())
    return sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml"))


def load_experiment(given: str | Path) -> Experiment:
    """An experiment of the package by its name, or of a TOML file by its path.

    Plug-ins that a file names, relative to itself, are loaded with it.

    >>> load_experiment("paper-1a").graph
    'paper'
    """
    known = experiment_names()
    if isinstance(given, str) and given in known:
        return _parse(files(__package__).joinpath(f"{given}.toml").read_bytes(), given)
    path = Path(given)
    if path.suffix != ".toml" and not os.path.isfile(path):
        raise InputError(
            f"unknown experiment '{given}': {nearest(str(given), known)}; or give a file *.toml"
        )
    experiment = _parse(read_bytes(path, "experiment"), str(path))
    for number, plugin in enumerate(experiment.plugins, 1):
        with errors_at(f"{path}: plugins {number}"):
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
        raise InputError(f"{where} is not text in UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{where} is not TOML: {error}") from None
    except ValidationError as error:
        raise InputError(f"{where}: {_first_mistake(error)}") from None
    except RecursionError:
        raise InputError(f"{where}: its brackets or tables are nested too deeply") from None
    except (OverflowError, ValueError):  # ValueError: of so many digits that Python reads none
        raise InputError(f"{where}: a number in it has more than {MOST_DIGITS} digits") from None


def _has_huge_number(value: object) -> bool:
    """Whether there is a number of more than MOST_DIGITS digits, which nothing here can use."""
    if isinstance(value, dict | list):
        return any(map(_has_huge_number, value.values() if isinstance(value, dict) else value))
    return isinstance(value, int) and abs(value) >= 10**MOST_DIGITS


def keys_of(table: type[tables.Table]) -> list[str]:
    """The keys of a table as they are written in the file.

    >>> keys_of(tables.RecordTable)
    ['points', 'rounds', 'regret', 'ratios']
    """
    return [field.alias or name for name, field in table.model_fields.items()]


def _first_mistake(error: ValidationError) -> str:
    """The first of pydantic's complaints, in our words, and how many more there are."""
    # a list that is not empty is called short only because of what was complained of in it
    found: list[Any] = [e for e in error.errors() if e["type"] != "too_short" or not e["input"]]
    # an unknown key first: it is what a missing one was meant to be
    first = min(found, key=lambda one: one["type"] != "extra_forbidden")
    others = len(found) - 1
    more = f" (and {others} more mistake{'s' if others > 1 else ''})" if others else ""
    return _told(first) + more


def _told(mistake: Any) -> str:
    kind, given, loc = mistake["type"], mistake["input"], tuple(mistake["loc"])
    *table, key = loc or ("",)
    where = f"{_place(table)}: " if table else ""
    if kind == "extra_forbidden":
        known = keys_of(TABLES[table[0]] if table else Experiment)
        return f"{where}unknown key '{key}': {nearest(key, known)}"
    if kind == "missing":
        return f"{where}the key '{key}' is missing, and needed"
    if kind == "tuple_type" and key in TABLES and isinstance(given, dict):
        return f"there may be several {key}: write [[{key}]] in the place of [{key}]"
    if kind == "model_type" and key in TABLES and isinstance(given, list):
        return f"there is one {key}: write [{key}] in the place of [[{key}]]"
    message = MESSAGES.get(kind, mistake["msg"])
    if kind in MESSAGES:
        message = message.format(**mistake.get("ctx", {}))
    if kind == "literal_error" and isinstance(given, str):
        message += tables.meant(given, re.findall(r"'([^']*)'", mistake["ctx"]["expected"]))
    place: Sequence[str | int] = ()
    if kind == "value_error":
        message = str(mistake["ctx"]["error"])
        place = getattr(mistake["ctx"]["error"], "place", ())
    for part in place:
        loc, given = (*loc, part), given[part]
    if key == "[key]":  # of a table whose keys are of one's own
        return f"{_place(loc[:-2])} = {_texts.toml_text(given)}: {message}"
    if isinstance(given, dict) and not place:  # a table whose keys do not go together
        return f"{_place(loc)}: {message}" if loc else message
    return f"{_place(loc)} = {_texts.toml_text(given)}: {message}"


def _place(loc: Sequence[str | int]) -> str:
    """Where in the file, counted from 1.

    >>> _place(("sweeps", 0, "values", 2))
    'sweeps 1, values 3'
    """
    words = (f" {part + 1}" if isinstance(part, int) else f", {part}" for part in loc)
    return "".join(words).removeprefix(", ")
