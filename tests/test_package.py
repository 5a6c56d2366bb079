"""Tests of the structure of the package: kernels, policies, public names, docstrings."""

from __future__ import annotations

import importlib
import pkgutil
import re

import pytest
from helpers import ROOT

import graphbandits
from graphbandits import jit, policies
from graphbandits.registry import build as build_plugin
from graphbandits.registry import name_of, registered, summary_of, text_of

SOURCES = sorted((ROOT / "src" / "graphbandits").rglob("*.py"))


def test_every_kernel_is_in_a_file_that_the_cache_hashes() -> None:
    """The cache directory is named by a hash of these files: one left out would go stale."""
    compiled = {p for p in SOURCES if re.search(r"^@kernel\(", p.read_text(), re.MULTILINE)}
    assert compiled
    assert compiled <= set(jit.kernel_sources())


def test_every_policy_module_registers_one_policy() -> None:
    support = {
        "base",
        "bayesian",
        "count_kernels",
        "indices",
        "kl_kernels",
        "weight_kernels",
        "weights",
    }
    enrolled = {cls.__module__ for cls in registered("policy").values()}
    modules = {m.name for m in pkgutil.iter_modules(policies.__path__)} - support
    assert {f"graphbandits.policies.{name}" for name in modules} == enrolled


@pytest.mark.parametrize("name", registered("policy"))
def test_every_policy_docstring_has_source_and_example(name: str) -> None:
    cls = registered("policy")[name]
    doc = cls.__doc__ or ""
    assert summary_of(cls).endswith(".")
    assert re.search(r"\(\d{4}\)", doc), "cites a source with its year"
    assert ">>>" in doc
    assert name_of(cls) == name
    assert text_of(build_plugin("policy", name)) == name


def test_public_names_can_be_imported() -> None:
    for name in graphbandits.__all__:
        assert getattr(graphbandits, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'Agnet'"):
        graphbandits.Agnet  # noqa: B018


def test_every_module_has_a_docstring() -> None:
    for module in pkgutil.walk_packages(graphbandits.__path__, "graphbandits."):
        if module.name != "graphbandits.__main__":
            assert importlib.import_module(module.name).__doc__, module.name


def test_study_functions_are_public() -> None:
    assert {"open_study", "open_studies"} <= set(graphbandits.__all__)
