"""Read an experiment: one TOML file, checked before anything runs."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from graphbandits.engine import Plan
from graphbandits.errors import InputError, nearest
from graphbandits.files import read_bytes
from graphbandits.plugins import load_plugin
from graphbandits.registry import build, name_of, text_of

Positive = Annotated[int, Field(ge=1, strict=True)]
Text = Annotated[str, Field(min_length=1)]


class Experiment(BaseModel):
    """World, graph, policies and size of one experiment; ``plugins`` are Python files it needs."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    title: Text
    graph: Text
    arms: Positive | None = None
    horizon: Positive
    trials: Positive
    policies: Annotated[tuple[Text, ...], Field(min_length=1)]
    seed: Annotated[int, Field(ge=0, strict=True)] = 0
    plugins: tuple[Text, ...] = ()

    def plan(
        self,
        *,
        trials: int | None = None,
        seed: int | None = None,
        policies: Sequence[str] = (),
    ) -> Plan:
        """The checked simulation, with other trials or another seed if given, and more policies."""
        return Plan.of(
            [*self.policies, *policies],
            graph=self.graph,
            arms=self.arms,
            horizon=self.horizon,
            trials=self.trials if trials is None else trials,
            seed=self.seed if seed is None else seed,
        )


def experiment_names() -> list[str]:
    """The experiments that come with the package.

    >>> experiment_names()
    ['paper-1a', 'paper-1b', 'paper-2a', 'paper-2b']
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
    if path.suffix != ".toml" and not path.is_file():
        raise InputError(
            f"unknown experiment '{given}': {nearest(str(given), known)}; or give a file *.toml"
        )
    experiment = _parse(read_bytes(path, "experiment"), str(path))
    for plugin in experiment.plugins:
        load_plugin(path.parent / plugin)
    return experiment.model_copy(update={"graph": _beside(experiment.graph, path.parent)})


def _beside(graph: str, folder: Path) -> str:
    """The text of a graph, with the path of its file relative to the experiment's."""
    if graph.startswith("file:"):
        return f"file:{folder / graph.removeprefix('file:')}"
    recipe = build("graph", graph)
    if name_of(recipe) == "file":
        return text_of(replace(recipe, path=str(folder / recipe.path)))
    return graph


def _parse(data: bytes, where: str) -> Experiment:
    try:
        return Experiment.model_validate(tomllib.loads(data.decode("utf-8-sig")))
    except UnicodeDecodeError:
        raise InputError(f"{where} is not text in UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{where} is not TOML: {error}") from None
    except ValidationError as error:
        raise InputError(f"{where}: {_first_mistake(error)}") from None


def _first_mistake(error: ValidationError) -> str:
    """The first of pydantic's complaints, in our words, and how many more there are."""
    # an unknown key first: it is what a missing one was meant to be
    first: Any = min(error.errors(), key=lambda one: one["type"] != "extra_forbidden")
    key = ".".join(str(part) for part in first["loc"])
    others = error.error_count() - 1
    more = f" (and {others} more mistake{'s' if others > 1 else ''})" if others else ""
    if first["type"] == "extra_forbidden":
        return f"unknown key '{key}': {nearest(key, Experiment.model_fields)}{more}"
    if first["type"] == "missing":
        return f"the key '{key}' is missing: an experiment needs it{more}"
    return f"{key} = {first['input']!r}: {first['msg']}{more}"
