"""Tests of simulation/identity.py: the name of a series depends on all that determines numbers."""

from __future__ import annotations

import importlib.machinery
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers import SRC
from helpers.cases import each
from helpers.reward_families import FAMILIES, write_plugin
from helpers.stores import CHAIN, PRIOR, a_plan

from graphbandits import Bernoulli, load_plugin, plugins
from graphbandits.errors import InputError
from graphbandits.plugins import loaded_plugins, unload_plugin
from graphbandits.simulation import identity
from graphbandits.simulation.identity import facts_hash, series_of
from graphbandits.simulation.plan import Plan
from graphbandits.worlds import as_world


def name(policy: str = "ts-n", **how: Any) -> str:
    return series_of(a_plan(policies=[policy], **how), policy).name


def test_name_does_not_depend_on_trials_or_other_policies() -> None:
    alone = name()
    assert name(trials=1000, first_trial=7) == alone
    assert series_of(a_plan(policies=["ucb-n", "ts-n"]), "ts-n").name == alone


@each(
    "how",
    [
        {"policy": "ids-n"},
        {"policy": "ids-n(gain=joint)"},
        {"seed": 5},
        {"horizon": 16},
        {"rounds": 3},
        {"regret": "realised"},
        {"ratios": "bound"},
        {"ratios": "joint"},
        {"record": "actions"},
        {"posterior": "beta-bernoulli(a=2)"},
        {"eligible": 0.5},
        {"delay": 2},
    ],
)
def test_name_depends_on_the_settings(how: dict[str, Any]) -> None:
    assert name(**how) != name()


def test_the_name_is_the_hash_of_the_facts() -> None:
    plan = a_plan()
    series = series_of(plan, "ts-n")
    assert series.name == facts_hash(json.loads(json.dumps(series.facts)))
    assert series.facts["problem"] == plan.problem
    for fact in ("sources", "versions", "compiler"):
        assert facts_hash(series.facts | {fact: {}}) != series.name
    assert series.facts["compiler"]["DISABLE_JIT"] in (0, 1)


def test_plan_that_cannot_be_restored_is_refused() -> None:
    class Mine(Bernoulli):
        pass

    plan = Plan.of("ts-n", Mine(PRIOR), CHAIN, horizon=5, trials=2)
    with pytest.raises(InputError, match=r"results cannot be stored: .* Mine is not registered"):
        series_of(plan, "ts-n")


# Sources of this package --------------------------------------------------------------------------


def test_edits_of_numeric_sources_change_the_hash_and_others_do_not(tmp_path: Path) -> None:
    copy = tmp_path / "graphbandits"
    shutil.copytree(SRC / "graphbandits", copy, ignore=shutil.ignore_patterns("*.pyc", "static"))
    code = "from graphbandits.simulation import identity; print(identity.SOURCES)"

    def sources(*edited: str) -> str:
        for module in edited:
            with (copy / module).open("a") as file:
                file.write("EDITED = 1\n")
        # kernels are not compiled for the copy
        env = os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(tmp_path)}
        command = [sys.executable, "-P", "-c", code]
        return subprocess.run(command, env=env, capture_output=True, check=True, text=True).stdout

    before = sources()
    assert before.strip() == identity.SOURCES
    assert sources("plots/graph.py", "cli/agent.py", "simulation/plan.py") == before
    known = {before}
    for module in ("posteriors/_pair_kernels.py", "simulation/loop.py"):
        known.add(sources(module))
    assert len(known) == 3


# Plug-ins -----------------------------------------------------------------------------------------

POLICY = """
from dataclasses import dataclass
from graphbandits.registry import register
from graphbandits.policies.{base} import {cls}
{more}

@register("policy", "{name}")
@dataclass(frozen=True)
class Mine({cls}):
    "As another."
    path: str = "none"
"""


@pytest.fixture
def plugin(tmp_path: Path) -> Iterator[Callable[..., str]]:
    """Return a function that loads a policy from a file and returns the name of its series."""
    loaded: list[Path] = []

    def load(
        where: str, more: str = "", base: str = "thompson", cls: str = "TSN", **how: str
    ) -> str:
        file = tmp_path / where
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(POLICY.format(base=base, cls=cls, more=more, name="mine"))
        for other in loaded:
            unload_plugin(other)
        loaded[:] = [file]
        load_plugin(file)
        return name("mine" + (f"(path={how['path']})" if how else ""))

    yield load
    for file in loaded:
        unload_plugin(file)


@pytest.fixture
def helper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Return a function that writes a module for plug-ins to import, as in a new process."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def write(where: str, text: str) -> None:
        file = tmp_path / where
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        forget()

    def forget() -> None:
        for module in list(sys.modules):
            if module.split(".")[0] in ("beside", "chain", "parts"):
                del sys.modules[module]
        importlib.invalidate_caches()

    yield write
    forget()


def test_plug_in_is_identified_by_content_and_not_by_path(plugin: Any) -> None:
    one = plugin("one.py")
    assert plugin("below/one.py") == one
    assert plugin("renamed.py") == one
    assert plugin("one.py", "x = 1") != one
    assert plugin("one.py", base="ucb", cls="UCBN") != one


@each(
    ("line", "module"),
    [
        ("import beside", "beside.py"),
        ("from beside import x", "beside.py"),
        ("def f():\n    import beside", "beside.py"),
        ("__import__('beside')", "beside.py"),
        ("import parts.deep", "parts/deep.py"),
        ("import parts.deep", "parts/__init__.py"),
        ("from parts import deep", "parts/deep.py"),
        ("import parts.relative", "parts/deep.py"),
        ("import parts.dotted", "parts/deep.py"),
        ("import parts.lower.up", "parts/deep.py"),
        ("import chain", "beside.py"),
    ],
)
def test_modules_imported_next_to_a_plug_in_count(
    plugin: Any, helper: Any, line: str, module: str
) -> None:
    texts = {
        "beside.py": "x = 1\n",
        "chain.py": "from beside import x\n",
        "parts/__init__.py": "",
        "parts/deep.py": "x = 1\n",
        "parts/relative.py": "from .deep import x\n",
        "parts/dotted.py": "from . import deep\n",
        "parts/lower/__init__.py": "",
        "parts/lower/up.py": "from ..deep import x\n",
    }
    for where, text in texts.items():
        helper(where, text)
    before = plugin("mine.py", line)
    if "__import__" not in line:  # the module has been imported before
        assert plugin("mine.py", line) == before
    helper(module, texts[module] + "y = 2\n")
    assert plugin("mine.py", line) != before


def test_compiled_modules_next_to_a_plug_in_count(plugin: Any, helper: Any, tmp_path: Path) -> None:
    suffix = importlib.machinery.EXTENSION_SUFFIXES[0]
    line = "def f():\n    import fast"
    (tmp_path / f"fast{suffix}").write_bytes(b"one")
    helper("other.py", "")
    before = plugin("mine.py", line)
    (tmp_path / f"fast{suffix}").write_bytes(b"other")
    helper("other.py", "")
    assert plugin("mine.py", line) != before


def test_installed_packages_count_by_their_version(
    plugin: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = "import json, networkx.algorithms\ndef f():\n    import yaml"
    without, before = plugin("mine.py", "def f():\n    pass"), plugin("mine.py", line)
    assert before != without
    (found,) = loaded_plugins()
    packages = [one.split()[1] for one in found.code if one.startswith("package ")]
    assert sorted(packages) == ["networkx", "yaml"]
    plugins._version.cache_clear()
    monkeypatch.setattr(plugins, "version", lambda package: "99")
    try:
        assert plugin("mine.py", line) != before
    finally:
        plugins._version.cache_clear()


@each(
    ("line", "depends"),
    [
        ("from graphbandits.policies import as_policy", True),
        ("import graphbandits", True),
        ("from graphbandits import BetaBernoulli", False),
    ],
)
def test_plug_in_that_can_look_up_others_depends_on_them(
    plugin: Any, tmp_path: Path, line: str, depends: bool
) -> None:
    alone = plugin("mine.py", line)
    other = tmp_path / "other.py"
    other.write_text(POLICY.format(base="thompson", cls="TSN", more="", name="other"))
    load_plugin(other)
    try:
        assert (name("mine") != alone) == depends
        assert name() == name("ts-n")
    finally:
        unload_plugin(other)


def test_policy_inside_another_counts(plugin: Any) -> None:
    plugin("mine.py")
    before = name("floor(policy=mine, mass=0.1)")
    plugin("mine.py", "x = 1")
    assert name("floor(policy=mine, mass=0.1)") != before


def test_graph_of_a_plug_in_counts(plugin: Any, tmp_path: Path) -> None:
    """Its process has no packed form; both files have the same name."""
    plugin("one/mine.py")
    graph = tmp_path / "two" / "mine.py"
    graph.parent.mkdir()
    text = (
        "from dataclasses import dataclass\n"
        "from graphbandits.registry import register\n"
        "from graphbandits.graphs import as_process\n"
        "@register('graph', 'mine-graph')\n"
        "@dataclass(frozen=True)\n"
        "class Graph:\n"
        "    'A star.'\n"
        "    def process(self, arms):\n"
        "        return Own(as_process('star', arms))\n"
        "class Own:\n"
        "    deterministic, rounds, names = True, None, None\n"
        "    def __init__(self, inner):\n"
        "        self.inner, self.arms = inner, inner.arms\n"
        "    def round(self, t, keys):\n"
        "        return self.inner.round(t, keys)\n"
    )
    names = set()
    for more in ("", "# other\n"):
        graph.write_text(text + more)
        load_plugin(graph)
        plan = Plan.of("mine", graph="mine-graph", horizon=5, trials=2)
        series = series_of(plan, "mine")
        names |= {series.name, *plan.settings()["graph_source"]}
        unload_plugin(graph)
        assert len(series.facts["code"]) == 2
    assert len(names) == 4  # two series of two sources


def test_files_named_in_parameters_count_by_their_content(plugin: Any, tmp_path: Path) -> None:
    file = tmp_path / "weights.txt"
    file.write_text("1")
    before = plugin("mine.py", path=str(file))
    assert plugin("mine.py", path=str(file)) == before
    file.write_text("2")
    assert plugin("mine.py", path=str(file)) != before


# Worlds and posteriors ----------------------------------------------------------------------------


def series_name(world: Any, posterior: Any = None, policy: str = "ts-n", **how: Any) -> str:
    size = {"horizon": 5, "trials": 2} | how
    plan = Plan.of(policy, world, "star", arms=3, posterior=posterior, **size)
    return series_of(plan, policy).name


@each("family", list(FAMILIES))
def test_every_parameter_of_a_world_and_a_posterior_counts(family: str) -> None:
    given = FAMILIES[family]
    names = [
        series_name(given.world),
        series_name(given.other_world),
        series_name(given.world, given.other_posterior),
        series_name(given.other_world, given.other_posterior),
        series_name(as_world(given.world, 3, means=given.means)),
        series_name(as_world(given.world, 3, means=given.means[::-1])),
    ]
    assert len(set(names)) == len(names)
    assert series_name(as_world(given.world, 3)) == names[0]


def test_source_and_parameters_of_plug_in_models_count(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"

    def name_with(more: str, world: str = "my-world", posterior: str | None = None) -> str:
        unload_plugin(file)
        load_plugin(write_plugin(file, more))
        return series_name(world, posterior)

    one = name_with("")
    names = [
        one,
        name_with("", "my-world(scale=0.5)"),
        name_with("", posterior="my-beta(a=2)"),
        name_with("", posterior="my-beta(limit=2)"),
        name_with("\nMORE = 1\n"),
        name_with("", "bernoulli", "my-beta"),
        name_with("\nMORE = 1\n", "bernoulli", "my-beta"),
        name_with("", "bernoulli"),
    ]
    assert len(set(names)) == len(names)
    assert name_with("") == one
    assert name_with("\nMORE = 1\n", "bernoulli") == names[-1]  # it does not use the plug-in
    unload_plugin(file)
