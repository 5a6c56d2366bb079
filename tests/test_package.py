"""Tests of the package as a whole: public names, their docstrings, files with kernels."""

from __future__ import annotations

import inspect
import re

import pytest
from helpers import SRC
from numpydoc.validate import validate

import graphbandits
from graphbandits import _jit

#: Of numpydoc: a description of every parameter, of no other, in the order of the signature.
CHECKS = {"PR01", "PR02", "PR03"}


def test_public_names_can_be_imported() -> None:
    for name in graphbandits.__all__:
        assert getattr(graphbandits, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'Agnet'"):
        graphbandits.Agnet  # noqa: B018


def test_docstrings_of_public_names_agree_with_signatures() -> None:
    wrong = list[str]()
    for name in graphbandits.__all__:
        public = getattr(graphbandits, name)
        if not callable(public) or (inspect.isclass(public) and issubclass(public, Exception)):
            continue
        members = vars(public) if inspect.isclass(public) else {}
        functions = {key: getattr(member, "__func__", member) for key, member in members.items()}
        methods = [
            key
            for key, function in functions.items()
            if inspect.isfunction(function)
            and not key.startswith("_")
            # methods that a client refuses take any arguments
            and "_args" not in function.__code__.co_varnames
        ]
        for path in (name, *(f"{name}.{key}" for key in methods)):
            errors = validate(f"graphbandits.{path}")["errors"]
            wrong += [f"{path}: {text}" for code, text in errors if code in CHECKS]
    assert wrong == []


def test_every_kernel_is_in_a_file_that_the_cache_hashes() -> None:
    """The name of the cache directory contains a hash of these files."""
    sources = (SRC / "graphbandits").rglob("*.py")
    compiled = {p for p in sources if re.search(r"^@kernel\(", p.read_text(), re.MULTILINE)}
    assert compiled
    assert compiled <= set(_jit.kernel_sources())
