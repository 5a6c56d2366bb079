"""Experiments: read and check a TOML file, and derive its simulations."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any, Self

from pydantic import PrivateAttr, ValidationError, model_validator

from graphbandits._io import read_bytes
from graphbandits.engine import Plan
from graphbandits.engine.plan import check_rewards, point_text
from graphbandits.errors import GraphBanditsError, InputError, nearest
from graphbandits.experiments import _texts, tables
from graphbandits.experiments._texts import (
    SweepValue,
    check_placeholders,
    fill_placeholders,
    prefix_errors,
)
from graphbandits.graphs import as_process, make_process
from graphbandits.plugins import load_plugin
from graphbandits.posteriors import Posterior
from graphbandits.posteriors._capabilities import with_accuracy
from graphbandits.registry import build, name_of, text_of
from graphbandits.results import Claim, Published
from graphbandits.rng import Keys
from graphbandits.store.record import SweepRecord
from graphbandits.worlds import PriorWorld, World, as_posterior, as_world
from graphbandits.worlds.loaders import is_one_prior

#: A policy that runs on every graph, used to find the invalid key of an experiment.
ANY_GRAPH_POLICY = "uniform"


class Experiment(tables.SimulationTable):
    """An experiment: world, graph, policies and size.

    It consists of one simulation, whose results can be compared with claims and published means,
    or of one simulation per point of its sweeps. :meth:`plans` returns all simulations.

    Parameters
    ----------
    graph
        Feedback graph, such as "random(r=0.25)".
    arms
        Number of arms. Not needed if the graph fixes it.
    horizon
        Rounds per trial.
    world
        Reward model, such as "gaussian(noise=0.5)". Default: "bernoulli".
    posterior
        Prior that policies start from, such as "normal(sd=2)". Default: that of the world.
    prior
        Parameters of the prior of the world: "A,B", [A, B], "name=value,...", or a list with one of
        these per arm.
    means
        Means of the arms. Default: drawn from the prior.
    policies
        Policies to compare.
    eligible
        Probability that an arm is eligible in a round. Default: all arms are eligible.
    delay
        Rounds from a play to its outcomes: a number, or [smallest, largest]. Default: 0.
    answer_rate
        Probability that an outcome arrives. Default: all outcomes arrive.
    title
        Title of the experiment.
    accuracy
        Accuracy of the posterior computations: "simulation" or "strict".
    trials
        Trials per policy.
    seed
        Random seed.
    plugins
        Plug-in files, relative to the experiment file.
    notes
        Notes for the report.
    record
        What to record of each trial.
    claims
        Claims about the order of policies, which are compared with the results.
    published
        Published mean regrets, which are compared with the results.
    sweeps
        Parameters to vary, with their values.
    """

    title: tables.Text
    accuracy: tables.Accuracy = "simulation"
    trials: tables.Positive
    seed: tables.Seed = 0
    plugins: tuple[tables.Text, ...] = ()
    notes: tuple[tables.Text, ...] = ()
    record: tables.RecordTable = tables.RecordTable()
    claims: tuple[tables.ClaimTable, ...] = ()
    published: tables.PublishedTable | None = None
    sweeps: tuple[tables.SweepTable, ...] = ()
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
        yield from (one for one in tables.prior_entries(self.prior) if isinstance(one, str))
        yield from self.policies or ()

    @property
    def runs(self) -> int:
        """The number of simulations."""
        return sum(len(sweep.points()) for sweep in self.sweeps) or 1

    @property
    def sweeps_seed(self) -> bool:
        """Whether a sweep varies the seed."""
        return any("seed" in sweep.parameters for sweep in self.sweeps)

    def setups(self) -> list[Self]:
        """Return one experiment without sweeps per simulation.

        Returns
        -------
        list of Experiment
            The simulations, with all placeholders replaced by their values.

        Examples
        --------
        >>> from graphbandits.experiments import load_experiment
        >>> [setup.graph for setup in load_experiment("paper-2a").setups()]
        ['random(r=0.25)']
        """
        if not self.sweeps:
            return [self]
        return [self._base(sweep).at(point) for sweep in self.sweeps for point in sweep.points()]

    def _base(self, sweep: tables.SweepTable) -> Self:
        """Return the experiment with the keys of a sweep; placeholders are kept."""
        keys = (*tables.SimulationTable.model_fields, "accuracy")
        own = {key: getattr(sweep, key) for key in keys}
        overrides = {key: value for key, value in own.items() if value is not None}
        return self.model_copy(update={**overrides, "sweeps": ()})

    def _with_keys(self, point: Mapping[str, SweepValue]) -> Self:
        """Set the keys that are parameters of a point; other placeholders are kept.

        If the text of a key contains its own placeholder, only the placeholder is replaced.
        """
        keys: dict[str, Any] = {
            key: value for key, value in point.items() if key in tables.SWEEPABLE
        }
        for key, value in keys.items():
            text = getattr(self, key, None)
            if _texts.has_own_placeholder(key, text):
                keys[key] = str(text).replace(f"{{{key}}}", str(value))
        regret = keys.pop("regret", self.record.regret)
        keys["record"] = self.record.model_copy(update={"regret": regret})
        return self.model_copy(update=keys)

    def at(self, point: Mapping[str, SweepValue]) -> Self:
        """Return the simulation at a point of a sweep.

        Parameters
        ----------
        point
            Values of the swept parameters by name.

        Returns
        -------
        Experiment
            The experiment with all placeholders replaced by their values.
        """
        setup = self._with_keys(point)
        keys = ("graph", "world", "posterior", "prior", "policies")
        filled = {key: _fill_value(getattr(setup, key), point) for key in keys}
        return setup.model_copy(update=filled)

    def lines(self) -> list[str]:
        """Return the labels of all policies.

        Returns
        -------
        list of str
            One label per policy; a policy whose parameter is swept has one label for all values.
        """
        bases = [self._base(sweep) for sweep in self.sweeps] or [self]
        policies = [policy for base in bases for policy in base.policies or ()]
        names = tables.line_labels(policies)
        return list(dict.fromkeys(names.get(policy, policy) for policy in policies))

    def sweep_records(self) -> list[SweepRecord]:
        """Return titles, parameters and axes of the sweeps.

        Returns
        -------
        list of SweepRecord
            One record per sweep.
        """
        return [sweep.record(self.title, len(self.sweeps) == 1) for sweep in self.sweeps]

    def plans(
        self,
        *,
        trials: int | None = None,
        seed: int | None = None,
        policies: Sequence[str] = (),
        ratios: str | None = None,
    ) -> list[Plan]:
        """Check all simulations and return them.

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

        Returns
        -------
        list of Plan
            One simulation per point of the sweeps, or a single simulation.

        Raises
        ------
        InputError
            If a simulation is invalid.

        Examples
        --------
        >>> from graphbandits.experiments import load_experiment
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
            names = tables.line_labels(written)
            for values, point in zip(sweep.points(), sweep.display_points(), strict=True):
                more = [fill_placeholders(policy, values) for policy in policies]
                with prefix_errors(f"sweeps {number + 1}, at {point_text(point)}"):
                    plan = base.at(values)._plan(more, changes)
                named = zip(plan.policies, written, strict=True)
                lines = {name: names.get(text, name) for name, text in named}
                plans.append(replace(plan, lines=lines, sweep=number, point=point))
        return plans

    def plan(self, **changes: Any) -> Plan:
        """Return the simulation of an experiment without sweeps.

        Parameters
        ----------
        **changes
            Arguments of :meth:`plans`.

        Returns
        -------
        Plan
            The simulation.

        Raises
        ------
        InputError
            If the experiment is invalid or has sweeps.
        """
        if self.sweeps:
            raise InputError(f"this experiment has {self.runs} simulations: use plans()")
        return self.plans(**changes)[0]

    def resolved_claims(self) -> tuple[Claim, ...]:
        """Return the claims with the policy names of the results.

        Returns
        -------
        tuple of Claim
            The claims.
        """
        return tuple(entry.claim() for entry in self.claims)

    def published_means(self) -> Published | None:
        """Return the published means with the policy names of the results.

        Returns
        -------
        Published or None
            The published means, or None if there are none.
        """
        return None if self.published is None else self.published.published()

    def _check_claimed_policies(self, plan: Plan) -> None:
        """Raise an error if claims or published means refer to unknown policies."""
        for claim in self.resolved_claims():
            names = (*claim.better, *claim.than)
            tables.check_known(names, plan.policies, f"the claim '{claim.text}'")
        if published := self.published_means():
            tables.check_known(published.means, plan.policies, f"published by {published.source}")

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
        """Return delay and answer rate, if they are given."""
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
            with prefix_errors(f"record, rounds = {_texts.toml_text(self.record.rounds)}"):
                plan(ANY_GRAPH_POLICY, rounds=self.record.rounds)
        if self.record.ratios is not None:
            with prefix_errors(f"record, ratios = {_texts.toml_text(self.record.ratios)}"):
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
    """Return the world, None if all options are the defaults, and the posterior if it differs.

    >>> build_models("star", 2, prior=((2, 5), "1,1"))[0].prior.a
    array([2., 1.])
    >>> build_models("paper", None, prior="2,5", accuracy="strict")[0].arms
    5
    """
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
    with prefix_errors(f"world = {_texts.toml_text(world)}"):
        made: Any = as_world(world, count)
    if prior is not None:
        with prefix_errors(f"prior = {_texts.toml_text(prior)}"):
            made = as_world(world, count, prior)
    if means is not None:
        with prefix_errors(f"means = {_texts.toml_text(means)}"):
            made = as_world(world, count, prior, means)
    other = None
    if posterior is not None:
        with prefix_errors(f"posterior = {_texts.toml_text(posterior)}"):
            other = as_posterior(posterior, count)
            check_rewards(made, other)
    if accuracy != "simulation":
        with prefix_errors(f"accuracy = {_texts.toml_text(accuracy)}"):
            if other is not None:
                other = with_accuracy(other, accuracy)
            elif isinstance(made, PriorWorld):
                made = replace(made, prior=with_accuracy(made.prior, accuracy))
            else:
                other = with_accuracy(made.prior, accuracy)
    return made, other


def _fill_value(value: Any, point: Mapping[str, SweepValue]) -> Any:
    """Replace the placeholders in all texts of a value."""
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
    """Return whether a graph fixes its number of arms."""
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
    """Return the names of the built-in experiments.

    Returns
    -------
    list of str
        Names, sorted.

    Examples
    --------
    >>> experiment_names()[:4]
    ['arms', 'density', 'drift', 'eps-greedy-sensitivity']
    """
    names = (entry.name for entry in files(__package__).iterdir())
    return sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml"))


def load_experiment(name_or_path: str | Path) -> Experiment:
    """Load a built-in experiment by name, or an experiment file.

    The plug-ins of the file are loaded, too. Their paths are relative to the file.

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
        data = files(__package__).joinpath(f"{name_or_path}.toml").read_bytes()
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
    """Return whether a number has more than MAX_DIGITS digits."""
    if isinstance(value, dict | list):
        return any(map(_has_huge_number, value.values() if isinstance(value, dict) else value))
    return isinstance(value, int) and abs(value) >= 10**MAX_DIGITS


def keys_of(table: type[tables.Table]) -> list[str]:
    """Return the keys of a table as written in the file.

    >>> keys_of(tables.RecordTable)
    ['points', 'rounds', 'regret', 'ratios', 'actions', 'observations', 'eligible']
    """
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
        message += tables.suggestion(value, re.findall(r"'([^']*)'", error["ctx"]["expected"]))
    place: Sequence[str | int] = ()
    if kind == "value_error":
        message = str(error["ctx"]["error"])
        place = getattr(error["ctx"]["error"], "place", ())
    for part in place:
        loc, value = (*loc, part), value[part]
    if key == "[key]":  # an invalid key in a table with user-defined keys
        return f"{_location(loc[:-2])} = {_texts.toml_text(value)}: {message}"
    if isinstance(value, dict) and not place:  # inconsistent keys of a table
        return f"{_location(loc)}: {message}" if loc else message
    return f"{_location(loc)} = {_texts.toml_text(value)}: {message}"


def _location(loc: Sequence[str | int]) -> str:
    """Format a place in the file, with numbers that start at 1.

    >>> _location(("sweeps", 0, "values", 2))
    'sweeps 1, values 3'
    """
    words = (f" {part + 1}" if isinstance(part, int) else f", {part}" for part in loc)
    return "".join(words).removeprefix(", ")
