"""Read an experiment: one TOML file, checked before anything runs."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from graphbandits.engine import Plan
from graphbandits.errors import InputError, nearest

Positive = Annotated[int, Field(ge=1)]


class Experiment(BaseModel):
    """World, graph, policies and size of one experiment."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    title: str
    graph: str
    arms: Positive
    horizon: Positive
    trials: Positive
    policies: tuple[str, ...]

    def plan(self, *, trials: int | None = None, seed: int = 0) -> Plan:
        """The checked simulation, with another number of trials if given."""
        return Plan.of(
            self.policies,
            graph=self.graph,
            arms=self.arms,
            horizon=self.horizon,
            trials=self.trials if trials is None else trials,
            seed=seed,
        )


def experiment_names() -> list[str]:
    """The experiments that come with the package.

    >>> experiment_names()
    ['paper-1a', 'paper-1b', 'paper-2a', 'paper-2b']
    """
    names = (entry.name for entry in files(__package__).iterdir())
    return sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml"))


def load_experiment(name: str) -> Experiment:
    """An experiment of the package, by name.

    >>> load_experiment("paper-1a").graph
    'paper'
    """
    known = experiment_names()
    if name not in known:
        raise InputError(f"unknown experiment '{name}': {nearest(name, known)}")
    text = files(__package__).joinpath(f"{name}.toml").read_text("utf-8")
    return Experiment.model_validate(tomllib.loads(text))
