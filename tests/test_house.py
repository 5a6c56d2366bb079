"""The house keeps its own rules: sizes, kernels in their files, plug-ins that enrol, documents."""

from __future__ import annotations

import importlib
import pkgutil
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

import graphbandits
from graphbandits import jit, policies
from graphbandits.cli import app
from graphbandits.registry import build as build_plugin
from graphbandits.registry import name_of, registered, summary_of, text_of

ROOT = Path(__file__).parents[1]
SOURCES = sorted((ROOT / "src" / "graphbandits").rglob("*.py"))


def test_compiled_code_lives_where_the_cache_looks_for_it() -> None:
    """The cache directory is named by a hash of these files: one left out would go stale."""
    compiled = {p for p in SOURCES if re.search(r"^@kernel\(", p.read_text(), re.MULTILINE)}
    assert compiled
    assert compiled <= set(jit.kernel_sources())


def test_an_edited_kernel_gets_a_new_cache(tmp_path, monkeypatch) -> None:
    edited = tmp_path / "some_kernels.py"
    edited.write_text("a = 1\n")
    monkeypatch.setattr(jit, "kernel_sources", lambda: [edited])
    before = jit.cache_directory()
    assert jit.cache_directory() == before
    edited.write_text("a = 2\n")
    assert jit.cache_directory() != before


def test_every_file_of_policies_enrols_one() -> None:
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
def test_every_policy_says_what_it_is_with_source_and_example(name: str) -> None:
    cls = registered("policy")[name]
    doc = cls.__doc__ or ""
    assert summary_of(cls).endswith(".")
    assert re.search(r"\(\d{4}\)", doc), "cites a source with its year"
    assert ">>>" in doc
    assert name_of(cls) == name
    assert text_of(build_plugin("policy", name)) == name


def test_the_public_names_are_there() -> None:
    for name in graphbandits.__all__:
        assert getattr(graphbandits, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'Agnet'"):
        graphbandits.Agnet  # noqa: B018


def test_every_module_has_a_docstring() -> None:
    for module in pkgutil.walk_packages(graphbandits.__path__, "graphbandits."):
        if module.name != "graphbandits.__main__":
            assert importlib.import_module(module.name).__doc__, module.name


def test_the_python_of_the_readme_runs(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    readme = (ROOT / "README.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    assert len(blocks) == 5
    # the study that one of them opens: the README's own experiment, with few trials
    (study,) = re.findall(r"```toml\n(.*?)```", readme, re.DOTALL)
    (tmp_path / "my-study.toml").write_text(study + "[record]\npoints = 3\n")
    command = ["run", "my-study.toml", "--trials=2", "--workers=1"]
    assert CliRunner().invoke(app, command).exit_code == 0
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)
    decision = names["decision"]
    assert decision.arm == "ann"  # type: ignore[attr-defined]
    assert (tmp_path / "agent.npz").is_file()
    assert (tmp_path / "my-results" / "manifest.json").is_file()
    assert list(names["frame"]["r"].unique()) == [0, 0.5, 1]  # type: ignore[index]
    assert {"regret.pdf", "differences.svg", "sweep.png"} <= {p.name for p in tmp_path.iterdir()}


def test_the_policies_of_the_readme_are_those_that_exist() -> None:
    table = (ROOT / "README.md").read_text().split("## The policies")[1].split("##")[0]
    assert set(re.findall(r"^\| `([a-z0-9-]+)` \|", table, re.MULTILINE)) == set(
        registered("policy")
    )
