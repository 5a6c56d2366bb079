"""Setups: the simulations of an experiment as texts, before anything is built from them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from graphbandits.engine import Plan
from graphbandits.errors import GraphBanditsError, InputError, nearest
from graphbandits.experiments.sweeps import KEYS, TEXTS, SweepTable
from graphbandits.experiments.tables import RecordTable
from graphbandits.experiments.texts import (
    Given,
    Value,
    check_placeholders,
    errors_at,
    filled,
    line_of,
    placeholders,
    shown_value,
    toml_text,
    varies_itself,
)
from graphbandits.experiments.worlds import prior_texts
from graphbandits.graphs import as_process, make_process
from graphbandits.rng import Keys
from graphbandits.worlds import World

#: Plays on every graph, whatever else is wrong.
ANY = "uniform"


@dataclass(frozen=True)
class Setup:
    """One simulation in texts."""

    graph: str
    policies: tuple[str, ...]
    arms: int | None
    horizon: int
    prior: Given | None
    means: tuple[float, ...] | None
    accuracy: str
    seed: int
    regret: str

    def texts(self) -> Iterator[str]:
        """All texts in which placeholders may stand."""
        yield self.graph
        yield from prior_texts(self.prior)
        yield from self.policies

    def with_keys(self, point: Mapping[str, Given]) -> Setup:
        """The keys that are parameters set to their values, other placeholders as they are.

        A text that has a placeholder for its own value keeps what stands around it.
        """
        keys: dict[str, Any] = {key: value for key, value in point.items() if key in KEYS}
        for key in keys.keys() & set(TEXTS):
            text = getattr(self, key)
            if varies_itself(key, text):
                keys[key] = text.replace(f"{{{key}}}", str(keys[key]))
        return replace(self, **keys)

    def at(self, point: Mapping[str, Given]) -> Setup:
        """The simulation at a point, every placeholder filled."""
        there = self.with_keys(point)
        return replace(
            there,
            graph=filled(there.graph, point),
            prior=_filled_prior(there.prior, point),
            policies=tuple(filled(policy, point) for policy in there.policies),
        )


def line_names(texts: Iterable[str]) -> dict[str, str]:
    """What policies with placeholders are called as lines, by their texts.

    >>> line_names(["ts-n", "ucb(c={c})"])
    {'ucb(c={c})': 'ucb(c=…)'}
    >>> line_names(["ucb(c={low})", "ucb(c={high})"])
    {'ucb(c={low})': 'ucb(c={low})', 'ucb(c={high})': 'ucb(c={high})'}
    """
    swept = [text for text in dict.fromkeys(texts) if placeholders(text)]
    lines = [line_of(text) for text in swept]
    return {
        text: line if lines.count(line) == 1 else text
        for text, line in zip(swept, lines, strict=True)
    }


def _filled_prior(prior: Given | None, point: Mapping[str, Given]) -> Given | None:
    if isinstance(prior, str):
        return filled(prior, point)
    if isinstance(prior, tuple):
        return tuple(filled(one, point) if isinstance(one, str) else one for one in prior)
    return prior


def shown_points(sweep: SweepTable) -> list[dict[str, Value]]:
    """The points of a sweep, lists as texts."""
    return [{name: shown_value(v) for name, v in point.items()} for point in sweep.points()]


def check_sweep(sweep: SweepTable, setup: Setup) -> None:
    """Refuse placeholders that nothing fills, and parameters that change nothing."""
    points = sweep.points()
    texts = list(dict.fromkeys(text for p in points for text in setup.with_keys(p).texts()))
    check_placeholders(texts, sweep.parameters)
    used = {name: text for text in texts for name in placeholders(text)}
    for parameter in sweep.parameters:
        if parameter in used and any(isinstance(point[parameter], tuple) for point in points):
            raise InputError(
                f"{{{parameter}}} in '{used[parameter]}': its values are lists, which cannot stand "
                "in a text"
            )
        if parameter not in KEYS and parameter not in used:
            raise InputError(
                f"the sweep of '{parameter}' changes nothing: write {{{parameter}}} where its "
                "value belongs, in the graph, the prior or a policy"
            )


def check_known(names: Iterable[str], known: Collection[str], what: str) -> None:
    """Refuse names that are not among those of policies."""
    for name in names:
        if name not in known:
            raise InputError(f"{what}: '{name}' is not among the policies: {nearest(name, known)}")


def check_keys(setup: Setup, world: World | None, record: RecordTable, trials: int = 1) -> None:
    """Add one key after the other to a simulation, and refuse the first that does not fit.

    >>> setup = Setup("paper", ("ts-n", "ts-n()"), None, 20, None, None, "strict", 0, "pseudo")
    >>> check_keys(setup, None, RecordTable())
    Traceback (most recent call last):
    graphbandits.errors.InputError: policies 2: policy 'ts-n' is given twice
    """
    known = setup.arms if world is None else world.arms
    with errors_at(_key_of_graph(setup)):
        process = as_process(setup.graph, known)
    with errors_at(f"trials = {trials}"):
        Keys(setup.seed, 0, trials)
    plan = partial(Plan.of, world=world, graph=process, trials=trials)
    with errors_at(f"horizon = {setup.horizon}"):
        plan(ANY, horizon=setup.horizon)
    if record.rounds is not None:
        with errors_at(f"record, rounds = {toml_text(record.rounds)}"):
            plan(ANY, horizon=setup.horizon, rounds=record.rounds)
    if record.ratios is not None:
        with errors_at(f"record, ratios = {toml_text(record.ratios)}"):
            plan(ANY, horizon=setup.horizon, ratios=record.ratios)
    for number in range(1, len(setup.policies) + 1):
        with errors_at(f"policies {number}"):
            plan(setup.policies[:number], horizon=setup.horizon)


def _key_of_graph(setup: Setup) -> str:
    """That of the number of arms if the graph is one without it."""
    try:
        make_process(setup.graph, None)
    except GraphBanditsError:
        return "graph"
    return "graph" if setup.arms is None else f"arms = {setup.arms}"
