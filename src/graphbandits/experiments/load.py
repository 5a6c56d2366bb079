"""Read an experiment: one TOML file, checked before anything runs."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from graphbandits.errors import InputError, nearest
from graphbandits.experiments.figures import FigureTable
from graphbandits.experiments.model import Experiment
from graphbandits.experiments.sweeps import SweepTable
from graphbandits.experiments.tables import (
    ClaimTable,
    MisplacedError,
    PublishedTable,
    RecordTable,
    Table,
    meant,
)
from graphbandits.experiments.texts import errors_at, toml_text
from graphbandits.files import read_bytes
from graphbandits.plugins import load_plugin

#: The tables inside an experiment, by their key.
TABLES: dict[str, type[Table]] = {
    "claims": ClaimTable,
    "published": PublishedTable,
    "record": RecordTable,
    "sweeps": SweepTable,
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
    return experiment.beside(path.parent)


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


def keys_of(table: type[Table]) -> list[str]:
    """The keys of a table as they are written in the file.

    >>> keys_of(RecordTable)
    ['points', 'rounds', 'regret', 'ratios']
    """
    return [field.alias or name for name, field in table.model_fields.items()]


def _first_mistake(error: ValidationError) -> str:
    """The first of pydantic's complaints, in our words, and how many more there are."""
    # an unknown key first: it is what a missing one was meant to be
    found: list[Any] = [one for one in error.errors() if not _follows(one)]
    first = min(found, key=lambda one: one["type"] != "extra_forbidden")
    others = len(found) - 1
    more = f" (and {others} more mistake{'s' if others > 1 else ''})" if others else ""
    return _told(first) + more


def _follows(mistake: Any) -> bool:
    """Whether a list is called short only because what is in it has been complained of."""
    return bool(mistake["type"] == "too_short" and len(mistake["input"]))


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
        message += meant(given, re.findall(r"'([^']*)'", mistake["ctx"]["expected"]))
    if kind == "value_error":
        told = mistake["ctx"]["error"]
        message = str(told)
        if isinstance(told, MisplacedError):
            loc = (*loc, *told.place)
            for part in told.place:
                given = given[part]
            return f"{_place(loc)} = {toml_text(given)}: {message}"
    if key == "[key]":  # of a table whose keys are of one's own
        return f"{_place(loc[:-2])} = {toml_text(given)}: {message}"
    if isinstance(given, dict):  # a table whose keys do not go together
        return f"{_place(loc)}: {message}" if loc else message
    return f"{_place(loc)} = {toml_text(given)}: {message}"


def _place(loc: Sequence[str | int]) -> str:
    """Where in the file, counted from 1.

    >>> _place(("sweeps", 0, "values", 2))
    'sweeps 1, values 3'
    """
    words = (f" {part + 1}" if isinstance(part, int) else f", {part}" for part in loc)
    return "".join(words).removeprefix(", ")
