"""Of what key of an experiment's file a mistake is that shows only where all keys meet."""

from __future__ import annotations

from functools import partial

from graphbandits.engine import Plan
from graphbandits.errors import GraphBanditsError
from graphbandits.experiments.cells import Setup
from graphbandits.experiments.tables import RecordTable
from graphbandits.experiments.texts import errors_at, toml_text
from graphbandits.graphs import as_process, make_process
from graphbandits.rng import Keys
from graphbandits.worlds import World

#: Plays on every graph, whatever else is wrong.
ANY = "uniform"


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
