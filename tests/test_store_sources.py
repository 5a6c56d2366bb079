"""What the name of a series depends on: all that determines numbers, and no place or date."""

from __future__ import annotations

import importlib.machinery
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from stores import CHAIN, PRIOR, a_plan

from graphbandits import Bernoulli, BetaBernoulli, load_plugin
from graphbandits.engine import Plan, sources
from graphbandits.engine.sources import sources_of
from graphbandits.errors import InputError
from graphbandits.plugins import unload_plugin
from graphbandits.policies import as_policy
from graphbandits.store import series_of
from graphbandits.store.series import name_of

PACKAGE = Path(__file__).parents[1] / "src" / "graphbandits"


def name(policy: str = "ts-n", **how: object) -> str:
    return series_of(a_plan(policies=[policy], **how), policy).name  # type: ignore[arg-type]


# --- what is simulated


def test_the_name_does_not_depend_on_trials_or_the_policies_beside() -> None:
    alone = name()
    assert name(trials=1000) == alone
    assert series_of(a_plan(policies=["ucb-n", "ts-n"], first_trial=7), "ts-n").name == alone


@pytest.mark.parametrize(
    "how",
    [
        {"seed": 5},
        {"horizon": 16},
        {"rounds": 3},
        {"rounds": [2, 9, 15]},
        {"regret": "realised"},
        {"ratios": "bound"},
        {"ratios": "joint"},
    ],
    ids=str,
)
def test_the_name_depends_on_what_is_asked_for(how: dict) -> None:
    assert name(**how) != name()


def test_the_name_depends_on_policy_prior_means_and_graph() -> None:
    other = CHAIN.copy()
    other[2, 0] = 1e-9
    worlds = [
        Bernoulli(PRIOR),
        Bernoulli(PRIOR, fixed=[0.1, 0.2, 0.3, 0.4]),
        Bernoulli(BetaBernoulli(PRIOR.a, PRIOR.b * (1 + 2**-50))),
        Bernoulli(BetaBernoulli(PRIOR.a, PRIOR.b, "strict")),
    ]
    plans = [Plan.of("ids-n", w, CHAIN, horizon=15, trials=2, seed=4) for w in worlds]
    plans.append(Plan.of("ids-n", worlds[0], other, horizon=15, trials=2, seed=4))
    names = [series_of(plan, "ids-n").name for plan in plans]
    names += [name(policy) for policy in ("ts-n", "ids-n(gain=joint)", "exp3-ix")]
    assert len(set(names)) == len(names)


def test_the_name_is_the_hash_of_the_facts() -> None:
    series = series_of(a_plan(), "ts-n")
    assert series.name == name_of(series.facts)
    assert series.facts["problem"]["seed"] == 4
    assert set(series.facts["versions"]) == {"python", "numpy", "scipy", "numba", "llvmlite"}
    assert series.facts["compiler"]["DISABLE_JIT"] in (0, 1)
    assert name_of(series.facts | {"versions": {}}) != series.name


def test_a_world_that_cannot_be_described_is_refused() -> None:
    class Mine(Bernoulli):
        pass

    plan = Plan.of("ts-n", Mine(PRIOR), CHAIN, horizon=5, trials=2)
    with pytest.raises(InputError, match="nor kept in a store"):
        series_of(plan, "ts-n")


# --- the sources of the package

ASK = """
import json, sys
sys.path.insert(0, sys.argv[1])
import graphbandits
from pathlib import Path
assert Path(graphbandits.__file__).parents[1] == Path(sys.argv[1])
from graphbandits.engine import Plan, sources
from graphbandits.engine.sources import sources_of
from graphbandits.store import series_of
plan = Plan.of(["ids-n", "ucb-n"], graph="paper", horizon=5, trials=2)
print(json.dumps({policy: series_of(plan, policy).name for policy in plan.policies}))
"""


def test_an_edited_module_changes_the_series_that_rest_on_it_and_no_others(tmp_path: Path) -> None:
    copy = tmp_path / "graphbandits"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))

    def ask() -> dict[str, str]:
        # without compiled kernels, which would be compiled anew for a copy that was edited
        command = [sys.executable, "-P", "-c", ASK, str(tmp_path)]
        env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {
            "NUMBA_DISABLE_JIT": "1"
        }
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    def edit(module: str) -> None:
        file = copy / module
        file.write_text(file.read_text() + "\n# edited\n")

    before = ask()
    for module in ("report/page.py", "cli/app.py", "policies/exp3_g.py", "store/check.py"):
        edit(module)
    assert ask() == before
    edit("rules/ids_n.py")
    rule = ask()
    assert rule["ids-n"] != before["ids-n"]
    assert rule["ucb-n"] == before["ucb-n"]
    edit("policies/indices.py")
    index = ask()
    assert index["ids-n"] == rule["ids-n"]
    assert index["ucb-n"] != rule["ucb-n"]
    edit("rng_kernels.py")
    both = ask()
    assert all(both[policy] != index[policy] for policy in both)


def test_every_module_that_a_run_imports_of_the_lower_rooms_is_counted() -> None:
    """What is loaded once a block has been run, but for what only describes, draws or registers."""
    code = """
import sys
from graphbandits.engine.recorder import run_recorded
from graphbandits.policies.ids_n import IDSN
print("\\n".join(m for m in sys.modules if m.startswith("graphbandits.")))
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": str(PACKAGE.parent)},
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = set(done.stdout.split())
    counted = set(series_of(a_plan(policies=["ids-n"]), "ids-n").facts["sources"])
    # the engine starts workers as well, to which graphs travel by what the facts say of them
    apart = {m for m in loaded if m.startswith("graphbandits.engine")}
    assert loaded - apart - {"graphbandits.graphs.storage"} <= counted
    assert "graphbandits.worlds.bernoulli" in counted
    assert {"graphbandits.engine.loop", "graphbandits.engine.recorder"} <= counted


def test_a_source_that_changes_under_a_running_process_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "module.py"
    file.write_text("a = 1\n")
    first = sources._digest("module", file)
    assert sources._digest("module", file) == first
    file.write_text("a = 22\n")
    with pytest.raises(InputError, match=r"module.py was changed while .*start Python again"):
        sources._digest("module", file)
    later = tmp_path / "later.py"
    later.write_text("a = 1\n")
    assert sources._digest("later", later, since=time.time() + 60)
    with pytest.raises(InputError, match=r"later.py was changed while"):
        sources._digest("later", later, since=time.time() - 60)


# --- plug-ins

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
    """Load a policy from a file, and give the name of its series."""
    loaded: list[Path] = []

    def load(where: str, more: str = "", base: str = "ts_n", cls: str = "TSN", **how: str) -> str:
        file = tmp_path / where
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(POLICY.format(base=base, cls=cls, more=more, name="mine"))
        for other in loaded:
            unload_plugin(other)
        loaded[:] = [file]
        load_plugin(file)
        policy = "mine" + (f"(path={how['path']})" if how else "")
        return series_of(a_plan(policies=[policy]), policy).name

    yield load
    for file in loaded:
        unload_plugin(file)


@pytest.fixture
def helper(tmp_path: Path, monkeypatch) -> Callable[[str, str], None]:
    """Write a module that plug-ins can import."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def write(where: str, text: str) -> None:
        file = tmp_path / where
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        # as in a process that begins anew
        for module in list(sys.modules):
            if module.split(".")[0] in ("beside", "chain", "parts"):
                del sys.modules[module]
        sources._FIRST.clear()
        sources._IMPORTED.clear()
        importlib.invalidate_caches()

    return write


def test_a_plug_in_counts_by_its_content_and_not_by_its_path(plugin) -> None:
    one = plugin("one.py")
    assert plugin("below/one.py") == one
    assert plugin("renamed.py") == one
    assert plugin("one.py", "x = 1") != one


def test_a_plug_in_counts_as_it_was_loaded(plugin, tmp_path: Path) -> None:
    one = plugin("one.py")
    for act in (lambda: (tmp_path / "one.py").write_text("# other"), (tmp_path / "one.py").unlink):
        act()
        assert series_of(a_plan(policies=["mine"]), "mine").name == one


@pytest.mark.parametrize(
    ("line", "module"),
    [
        ("import beside", "beside.py"),
        ("from beside import x", "beside.py"),
        ("def f():\n    import beside", "beside.py"),
        ("import parts.deep", "parts/deep.py"),
        ("import parts.deep", "parts/__init__.py"),
        ("from parts import deep", "parts/deep.py"),
        ("import parts.relative", "parts/deep.py"),
        ("import parts.dotted", "parts/deep.py"),
        ("import parts.lower.up", "parts/deep.py"),
        ("import chain", "beside.py"),
    ],
)
def test_what_a_plug_in_imports_from_beside_it_counts(plugin, helper, line: str, module) -> None:
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
    assert plugin("mine.py", line) == before
    helper(module, texts[module] + "y = 2\n")
    assert plugin("mine.py", line) != before


def test_what_is_only_for_type_checkers_does_not_count(plugin, helper) -> None:
    line = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import beside"
    helper("beside.py", "x = 1\n")
    before = plugin("mine.py", line)
    helper("beside.py", "x = 2\n")
    assert plugin("mine.py", line) == before


def test_compiled_modules_beside_a_plug_in_count(plugin, helper, tmp_path: Path) -> None:
    suffix = importlib.machinery.EXTENSION_SUFFIXES[0]
    line = "def f():\n    import fast"
    (tmp_path / f"fast{suffix}").write_bytes(b"one")
    helper("other.py", "")
    before = plugin("mine.py", line)
    (tmp_path / f"fast{suffix}").write_bytes(b"other")
    helper("other.py", "")
    assert plugin("mine.py", line) != before


def test_installed_packages_count_by_their_version(plugin, monkeypatch) -> None:
    line = "def f():\n    import networkx.algorithms"
    without, before = plugin("mine.py", "def f():\n    pass"), plugin("mine.py", line)
    assert before != without
    sources._versions.cache_clear()
    monkeypatch.setattr(sources, "version", lambda package: "99")
    try:
        assert plugin("mine.py", line) != before
    finally:
        sources._versions.cache_clear()


def test_a_plug_in_rests_on_what_it_derives_from(plugin) -> None:
    one = plugin("mine.py")
    facts = series_of(a_plan(policies=["mine"]), "mine").facts["sources"]
    assert "graphbandits.rules.ts_n" in facts
    assert "graphbandits.policies.kl_ucb" not in facts
    assert plugin("mine.py", base="ucb_n", cls="UCBN") != one
    facts = series_of(a_plan(policies=["mine"]), "mine").facts["sources"]
    assert "graphbandits.rules.ts_n" not in facts


def test_a_plug_in_that_looks_others_up_rests_on_all(plugin) -> None:
    plugin("mine.py", "from graphbandits.policies import as_policy")
    facts = series_of(a_plan(policies=["mine"]), "mine").facts["sources"]
    assert {"graphbandits.policies.kl_ucb", "graphbandits.policies.exp3_g"} <= set(facts)


def test_two_plug_ins_of_one_file_name_both_count(plugin, tmp_path: Path) -> None:
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
    names = []
    for more in ("", "# other\n"):
        graph.write_text(text + more)
        load_plugin(graph)
        plan = Plan.of("mine", graph="mine-graph", horizon=5, trials=2)
        names.append(series_of(plan, "mine").name)
        found = [key for key in series_of(plan, "mine").facts["sources"] if "plugin " in key]
        unload_plugin(graph)
        assert len(found) == 2
    assert names[0] != names[1]


def test_files_that_parameters_name_count_by_their_content(plugin, tmp_path: Path) -> None:
    file = tmp_path / "weights.txt"
    file.write_text("1")
    before = plugin("mine.py", path=str(file))
    assert plugin("mine.py", path=str(file)) == before
    file.write_text("2")
    assert plugin("mine.py", path=str(file)) != before


def test_sources_are_in_the_order_of_their_names() -> None:
    found = list(sources_of([type(PRIOR)]))
    assert found == sorted(found)
    assert np.isin("graphbandits.posteriors.beta_bernoulli", found)


def test_what_a_class_derives_from_counts_though_its_module_does_not_import_it() -> None:
    made = type("Made", (type(as_policy("ts-n")),), {"__module__": "graphbandits.version"})
    assert "graphbandits.policies.ts_n" in sources_of([made])
