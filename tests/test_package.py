"""Tests of the structure of the package and its tests: kernels, policies, names, docstrings."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from helpers import ROOT, SRC, TESTS
from numpydoc.docscrape import NumpyDocString

import graphbandits
from graphbandits import _jit, policies
from graphbandits.registry import build as build_plugin
from graphbandits.registry import name_of, registered, summary_of, text_of

#: Test files that mirror no module: they cross packages, or test helpers, documents and structure.
WITHOUT_MODULE = ("documents", "helpers", "integration", "test_package.py")
SOURCES = sorted((SRC / "graphbandits").rglob("*.py"))


def test_every_kernel_is_in_a_file_that_the_cache_hashes() -> None:
    """The name of the cache directory contains a hash of these files."""
    compiled = {p for p in SOURCES if re.search(r"^@kernel\(", p.read_text(), re.MULTILINE)}
    assert compiled
    assert compiled <= set(_jit.kernel_sources())


def test_every_policy_module_registers_one_policy() -> None:
    support = {"base", "bayesian", "exponential_weights", "scaled_rewards", "index"}
    support |= {"restriction", "incremental"}
    with_a_policy = {cls.__module__ for cls in registered("policy").values()}
    found = {module.name for module in pkgutil.iter_modules(policies.__path__)} - support
    modules = {name for name in found if not name.startswith("_")}
    assert {f"graphbandits.policies.{name}" for name in modules} == with_a_policy


@pytest.mark.parametrize("name", registered("policy"))
def test_every_policy_docstring_has_source_and_example(name: str) -> None:
    cls = registered("policy")[name]
    doc = cls.__doc__ or ""
    assert summary_of(cls).endswith(".")
    assert re.search(r"\(\d{4}\)", doc), "cites a source with its year"
    assert ">>>" in doc
    assert name_of(cls) == name
    assert text_of(build_plugin("policy", name)).partition("(")[0] == name


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


# --- names and language -------------------------------------------------------------------------


def test_no_class_name_is_defined_twice() -> None:
    names = Counter(
        node.name
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert [name for name, count in names.items() if count > 1] == []


def test_kernel_modules_are_private() -> None:
    found = [path for path in SOURCES if "kernel" in path.name]
    assert len(found) > 15
    assert all(path.name.startswith("_") for path in found)


def test_no_two_modules_of_a_package_differ_only_in_grammar() -> None:
    endings = r"(s|es|ed|er|ers|or|ing|ings|ation|ations)$"
    for package in {path.parent for path in SOURCES}:
        stems = [re.sub(endings, "", path.stem.lstrip("_")) for path in package.glob("*.py")]
        assert len(stems) == len(set(stems)), package


#: Words of earlier versions and unclear phrases, as patterns.
UNCLEAR = (
    *("nobody", "somebody", "anybody", "told", "says", "excuse[sd]?", "rooms", "the house"),
    *("ground floor", "mended", "all eyes", "hangs? on", "laid open", "as many as they are"),
    *("has no say", "of these the contract", "is held against", "one row a trial"),
)
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]
TEXTS = [*DOCUMENTS, *SOURCES, *(SRC / "graphbandits").rglob("*.html")]
TEXTS += [*(SRC / "graphbandits").rglob("*.toml"), *(SRC / "graphbandits").rglob("*.txt")]
#: Files that mention old words because they translate or explain them.
ABOUT_OLD_WORDS = {"_old_words.py", "contract.py", "results.md"}


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_texts_have_no_unclear_phrases(path: Path) -> None:
    text = path.read_text("utf-8")
    if path.name in ABOUT_OLD_WORDS:
        text = re.sub(r"([`\"'])(told|excuses)\1|\btold(?==)", "", text)
    found = re.findall(rf"\b(?:{'|'.join(UNCLEAR)})\b", text, re.IGNORECASE)
    assert found == []


# --- docstrings ---------------------------------------------------------------------------------


def public_objects() -> dict[str, Any]:
    """Return everything in the ``__all__`` of a package, and all plug-ins, by full name."""
    packages = ["graphbandits"]
    for module in pkgutil.walk_packages(graphbandits.__path__, "graphbandits."):
        if module.ispkg and module.name != "graphbandits.cli":
            packages.append(module.name)
    found: list[Any] = []
    for name in packages:
        package = importlib.import_module(name)
        found += [getattr(package, public) for public in getattr(package, "__all__", ())]
    found += [cls for kind in ("policy", "graph", "posterior") for cls in registered(kind).values()]
    objects = [one for one in found if inspect.isclass(one) or inspect.isfunction(one)]
    return {
        f"{one.__module__}.{one.__qualname__}": one
        for one in objects
        if one.__module__.startswith("graphbandits.")
    }


def public_functions() -> dict[str, Any]:
    """Return the public classes and functions, and the methods that have a docstring."""
    found = dict[str, Any]()
    for name, one in public_objects().items():
        found[name] = one
        if inspect.isclass(one):
            for key, member in vars(one).items():
                function = getattr(member, "__func__", member)
                if key.startswith("_") or key == "model_post_init":  # the latter is of pydantic
                    continue
                if inspect.isfunction(function) and function.__doc__:
                    found[f"{name}.{key}"] = function
    return found


PUBLIC = public_functions()


def parameters_in_signature(one: Any) -> list[str]:
    if inspect.isclass(one) and (getattr(one, "_is_protocol", False) or issubclass(one, Exception)):
        return []
    names = inspect.signature(one).parameters
    return [name for name in names if name not in ("self", "cls") and not name.startswith("_")]


@pytest.mark.parametrize("name", PUBLIC)
def test_docstring_agrees_with_signature(name: str) -> None:
    one = PUBLIC[name]
    assert one.__doc__, "a docstring is missing"
    sections = NumpyDocString(one.__doc__)
    documented = [
        part.strip().lstrip("*") for entry in sections["Parameters"] for part in entry[0].split(",")
    ]
    assert documented == parameters_in_signature(one)
    if inspect.isfunction(one) and one.__annotations__.get("return") not in (None, "None"):
        assert sections["Returns"] or sections["Yields"], "a section Returns or Yields is missing"


def test_there_are_many_public_functions() -> None:
    assert len(PUBLIC) > 200


# --- layout of the tests ------------------------------------------------------------------------


def mirrors_a_module(file: Path) -> bool:
    """Whether a test file is named after a module, or a package, of the mirrored package.

    ``tests/store/test_directory_damage.py`` is ``test_<module>_<aspect>.py`` for
    ``store/directory.py``. The leading underscore of a private module is omitted.
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
