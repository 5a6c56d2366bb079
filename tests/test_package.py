"""Tests of the structure of the package and its tests: kernels, policies, names, docstrings."""

from __future__ import annotations

import importlib
import pkgutil
import re
from pathlib import Path

import pytest
from helpers import SRC, TESTS

import graphbandits
from graphbandits import _jit, policies
from graphbandits.registry import build as build_plugin
from graphbandits.registry import name_of, registered, summary_of, text_of

#: Test files that mirror no module: they cross packages, or test helpers, documents and structure.
WITHOUT_MODULE = ("integration", "benchmarks", "helpers", "test_documents.py", "test_package.py")
SOURCES = sorted((SRC / "graphbandits").rglob("*.py"))


def test_every_kernel_is_in_a_file_that_the_cache_hashes() -> None:
    """The cache directory is named by a hash of these files: one left out would go stale."""
    compiled = {p for p in SOURCES if re.search(r"^@kernel\(", p.read_text(), re.MULTILINE)}
    assert compiled
    assert compiled <= set(_jit.kernel_sources())


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


def mirrors_a_module(file: Path) -> bool:
    """Whether a test file is named after a module, or a package, of the mirrored package.

    ``tests/store/test_directory_damage.py`` is ``test_<module>_<aspect>.py`` for
    ``store/directory.py``. The leading underscore of a private module is left out.
    """
    package = SRC / "graphbandits" / file.parent
    modules = {path.stem.lstrip("_") for path in package.glob("*.py")} - {"init", "main"}
    words = file.stem.split("_")[1:]
    names = {"_".join(words[:count]) for count in range(1, len(words) + 1)}
    return (package / "__init__.py").is_file() and bool(names & (modules | {package.name}))


def test_every_test_file_mirrors_a_module() -> None:
    files = [path.relative_to(TESTS) for path in sorted(TESTS.rglob("test_*.py"))]
    mirrors = [file for file in files if file.parts[0] not in WITHOUT_MODULE]
    assert len(mirrors) > 50
    assert [str(file) for file in mirrors if not mirrors_a_module(file)] == []


def test_folders_of_tests_are_no_packages() -> None:
    """Files of the same name in two folders need the import mode ``importlib``."""
    found = {path.parent.name for path in TESTS.rglob("__init__.py")}
    assert found == {"helpers"}
