"""Tests of engine/provenance.py: the name of a series depends on all that determines numbers."""

from __future__ import annotations

import ast
import importlib.machinery
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import grimp
import numpy as np
import pytest
from helpers import FIXTURES, SRC
from helpers.bad_input import refuses
from helpers.reward_families import FAMILIES, write_plugin
from helpers.stores import CHAIN, PRIOR, a_plan

from graphbandits import Bernoulli, BetaBernoulli, load_plugin
from graphbandits.engine import Plan, provenance
from graphbandits.engine.provenance import (
    LOOKUP_MODULES,
    LOOP,
    NEUTRAL,
    NUMERIC,
    WORKER,
    facts_hash,
    same_settings,
    series_of,
    sources_of,
    worker_sources,
)
from graphbandits.errors import InputError
from graphbandits.graphs import graph_info
from graphbandits.plugins import unload_plugin
from graphbandits.policies import as_policy
from graphbandits.registry import registered
from graphbandits.worlds import as_posterior, as_world

PACKAGE = SRC / "graphbandits"


def name(policy: str = "ts-n", **how: object) -> str:
    return series_of(a_plan(policies=[policy], **how), policy).name  # type: ignore[arg-type]


def test_name_does_not_depend_on_trials_or_other_policies() -> None:
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
def test_name_depends_on_the_settings(how: dict) -> None:
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
    assert series.name == facts_hash(series.facts)
    assert series.facts["problem"]["seed"] == 4
    assert set(series.facts["versions"]) == {"python", "numpy", "scipy", "numba", "llvmlite"}
    assert series.facts["compiler"]["DISABLE_JIT"] in (0, 1)
    assert facts_hash(series.facts | {"versions": {}}) != series.name


def test_a_world_that_cannot_be_described_is_refused() -> None:
    class Mine(Bernoulli):
        pass

    plan = Plan.of("ts-n", Mine(PRIOR), CHAIN, horizon=5, trials=2)
    with refuses(InputError):
        series_of(plan, "ts-n")


#: Modules that a run may import or execute, and why their code does not count.
EXCLUDED = {
    "errors": "messages, and checks of settings",
    "_io": "reading and writing",
    "_process_info": "identifies processes",
    "plugins": "finds the line that caused an error",
    "registry": "texts of settings, which are facts; the text must give the same policy again",
    "_types": "aliases for annotations",
    "engine.shard": "settings, which are facts, and containers of recorded values",
    "engine.trajectories": "containers of recorded values",
    "graphs": "exports names",
    "graphs.numbers": "the values that policies read are facts",
    "graphs._[!f]*_kernels": "kernels of these values",
    "graphs._reductions": "reduces graphs for these values",
    "graphs._independence": "searches for these values",
    "graphs._domination": "searches for these values",
    "graphs.named": "returns graphs, whose arrays are facts",
    "graphs.loaders": "returns graphs, whose arrays are facts",
    "graphs.edges": "builds graphs, whose arrays are facts",
    "graphs.matrices": "returns graphs, whose arrays are facts",
    "graphs.readers": "readers return graphs, whose arrays are facts",
    "graphs._shape": "lists of edges, for graph plug-ins",
}


def is_numeric(module: str) -> bool:
    return provenance._is_within(module, NUMERIC)


def reason(module: str) -> str | None:
    """Return the key of the exclusion that applies to a module."""
    short = module.removeprefix("graphbandits.")
    return next((key for key in EXCLUDED if fnmatchcase(short, key)), None)


@pytest.fixture(scope="module")
def reached() -> set[str]:
    """All modules that the loop and the policies import, directly or not."""
    graph = grimp.build_graph("graphbandits", exclude_type_checking_imports=True, cache_dir=None)
    roots = {*LOOP, *provenance._modules(("policies",))}
    return roots.union(*(graph.find_upstream_modules(root) for root in roots))


def test_all_imports_of_loop_and_policies_are_declared_or_excluded(
    reached: set[str],
) -> None:
    assert {module for module in reached if not is_numeric(module) and not reason(module)} == set()
    # every exclusion is used, and none is also declared
    assert {reason(module) for module in reached if not is_numeric(module)} == EXCLUDED.keys()


@pytest.mark.parametrize("place", [*LOOKUP_MODULES, *NEUTRAL, WORKER.partition(".")[2]])
def test_declared_modules_exist(place: str) -> None:
    assert provenance._modules((place,)) != []


def test_numeric_modules_import_only_traceable_names_from_packages(reached: set[str]) -> None:
    """A name defined in a package would lead to the package, which is not numeric."""
    for module in provenance._modules(NUMERIC):
        if module.endswith("._storage"):  # writes and reads models: nothing numeric imports it
            assert module not in reached
            continue
        file = provenance._file(module)
        assert file is not None
        named = provenance._imported_modules(provenance._read(module, file).imports)
        own = {other for other in named if other.startswith("graphbandits")}
        assert not own & {"graphbandits", "graphbandits.graphs"}
        assert {other for other in own if not is_numeric(other) and not reason(other)} == set()


def test_packages_of_numeric_modules_only_reexport_names() -> None:
    for package in ("graphs", "posteriors", "rules", "gains", "policies", "worlds"):
        tree = ast.parse((PACKAGE / package / "__init__.py").read_text())
        for node in tree.body:
            text = ast.unparse(node)
            # the last kind gives errors for names of earlier versions, and no values
            reexports = isinstance(node, ast.Expr | ast.ImportFrom) or text.startswith(
                ("__all__ = ", "__getattr__ = renamed_names(__name__, ")
            )
            assert reexports, (package, text)


#: Runs every policy on several graphs, and prints which modules' code was executed in each run.
TRACE = """
import json, sys, warnings
import numpy as np
from graphbandits.engine import Plan
from graphbandits.engine.provenance import series_of
from graphbandits.engine.loop import run_recorded
from graphbandits.errors import GraphBanditsError
from graphbandits.registry import registered
from graphbandits.rng import Keys

warnings.simplefilter("ignore")  # compiled code wraps around in silence
np.seterr(all="ignore")
RING = np.eye(4) + np.eye(4, k=1) + np.eye(4, k=-3)
GRAPHS = {
    "fixed": "paper", "directed": "star(direction=out)", "probabilities": RING * 0.5,
    "random": "random(r=uniform)", "revealed": "revealed-er(p=1)", "sequence": [RING, RING > 0],
    "sparse": "star(direction=in)", "drawn": "revealed-er(p=0.5, directed=true)",
}
POLICIES = [*registered("policy"), "ids-n(gain=joint)", "ts(exact=false)"]
executed = {}

def note(frame, event, argument):
    name = frame.f_globals.get("__name__", "")
    if event == "call" and name.split(".")[0] == "graphbandits":
        executed[now].add(name)

for kind, graph in GRAPHS.items():
    for policy in POLICIES:
        arms = {"sparse": 501, "revealed": 3, "drawn": 3}.get(kind)
        arms = 4 if isinstance(graph, str) and arms is None and graph != "paper" else arms
        if kind == "sparse" and policy not in ("ucb-n", "ucb-maxn", "exp3-set", "ucb-lp"):
            continue  # plain Python is slow
        ratios = "joint" if f"{policy} {kind}" in ("uniform directed", "ids-n random") else None
        try:
            plan = Plan.of(policy, graph=graph, arms=arms, horizon=2, trials=2, ratios=ratios)
        except GraphBanditsError:  # the policy needs another graph
            continue
        now = f"{policy} {kind}"
        executed[now] = set()
        ((name, policy),) = plan.policies.items()
        sources = series_of(plan, name).facts["sources"]
        sys.setprofile(note)
        run_recorded(policy, plan.world, plan.process, 2, Keys(1, 0, 2), plan.recording)
        sys.setprofile(None)
        executed[now] = {"executed": sorted(executed[now]), "sources": list(sources)}
print(json.dumps(executed))
"""


def run_plain(code: str, place: Path) -> Any:
    """Return the output of a script that imports the package from a directory.

    Kernels are not compiled: compiling them for a copy of the package takes too long.
    """
    env = os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(place)}
    command = [sys.executable, "-P", "-c", code]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.process
def test_executed_modules_are_sources_of_the_series_or_excluded() -> None:
    traced = run_plain(TRACE, PACKAGE.parent)
    assert {name.rpartition(" ")[0] for name in traced} >= set(registered("policy"))
    executed = {module for run in traced.values() for module in run["executed"]}
    # the trace is complete: kernels, rules, policies, worlds, searches
    assert {
        "graphbandits.engine.loop",
        "graphbandits._rng_kernels",
        "graphbandits.posteriors._beta_kernels",
        "graphbandits.rules._hull_kernels",
        "graphbandits.policies.ucb_n",
        "graphbandits.worlds._outcome_kernels",
        "graphbandits.graphs.dominating_sets",
        "graphbandits.gains.joint",
        "graphbandits.graphs.numbers",
    } <= executed
    for name, run in traced.items():
        for module in set(run["executed"]) - set(run["sources"]):
            assert reason(module), (name, module)
            assert not is_numeric(module), (name, module)


#: Prints the names of the series of all policies on several graphs.
ASK = """
import json
from graphbandits.engine import Plan
from graphbandits.errors import GraphBanditsError
from graphbandits.registry import registered
from graphbandits.engine.provenance import series_of

names = {}
for policy in registered("policy"):
    for graph in ("paper", "star(direction=out)", "random(r=0.5)", "revealed-er(p=1)"):
        try:
            plan = Plan.of(policy, graph=graph, arms=5, horizon=5, trials=2)
        except GraphBanditsError:  # the policy needs another graph
            continue
        (text,) = plan.policies
        names.setdefault(policy, []).append(series_of(plan, text).name)
print(json.dumps(names))
"""


@pytest.mark.process
def test_edits_of_the_package_rename_the_series_whose_numbers_they_may_change(
    tmp_path: Path,
) -> None:
    copy = tmp_path / "graphbandits"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    policies = set(registered("policy"))
    before = run_plain(ASK, tmp_path)
    assert before.keys() == policies

    def renamed() -> set[str]:
        nonlocal before
        last, before = before, run_plain(ASK, tmp_path)
        for policy in policies:  # on all graphs or on none
            same = {a == b for a, b in zip(last[policy], before[policy], strict=True)}
            assert len(same) == 1
        return {policy for policy in policies if before[policy] != last[policy]}

    def append(module: str, text: str) -> None:
        file = copy / module
        file.write_text(file.read_text() + text)

    # any edit of modules that are not numeric, and comments everywhere, rename no series
    numeric, others = set(), set()
    for file in sorted(copy.rglob("*.py")):
        parts = file.relative_to(tmp_path).with_suffix("").parts
        module = ".".join(parts).removesuffix(".__init__")
        (numeric if is_numeric(module) else others).add(module)
        where = str(file.relative_to(copy))
        append(where, "\n# edited\n" + ("" if is_numeric(module) else "EDITED = 1\n"))
    for place in ("cli", "plots", "report", "store", "results"):
        assert any(module.startswith(f"graphbandits.{place}.") for module in others)
    assert "graphbandits.graphs.readers" in others
    assert (
        50 < len(numeric) < len(others)
    )  # both kinds are common, and most modules are not numeric
    assert renamed() == set()

    # one constant of a kernel
    kernels = copy / "posteriors" / "_math_kernels.py"
    text = kernels.read_text()
    assert text.count("1.4426950408889634") == 1
    kernels.write_text(text.replace("1.4426950408889634", "1.4426950408889636"))
    assert renamed() == policies

    # a rule, a policy, and a module that a few policies share
    append("rules/ids_n.py", "EDITED = 1\n")
    assert renamed() == {"ids-n", "ids", "v-ids", "v-ids-n", "floor"}  # its policy is ids-n
    append("policies/ts_n.py", "EDITED = 1\n")
    assert renamed() == {"ts-n"}
    append("graphs/dominating_sets.py", "EDITED = 1\n")
    assert renamed() == {"ucb-lp", "eps-greedy-lp", "floor"}


def test_comments_and_docstrings_do_not_count_and_constants_do() -> None:
    def digest(text: str) -> str:
        return provenance._analyse(text.encode(), "graphbandits").digest

    plain = "x = 1\ndef f(y):\n    return y + 1\n"
    assert digest('"""Of a module."""\n' + plain + "# comment\n") == digest(plain)
    assert digest(plain.replace("(y):", '(y):\n    """What it does."""')) == digest(plain)
    assert digest(plain.replace("y + 1", "y + 2")) != digest(plain)
    assert digest(plain.replace("= 1", "= 'one'")) != digest(plain)


def test_sources_of_a_policy_exclude_other_policies() -> None:
    plan = a_plan(policies=["ids-n", "ucb-n"])
    ids, ucb = (set(series_of(plan, name).facts["sources"]) for name in ("ids-n", "ucb-n"))
    assert {"graphbandits.policies.ids_n", "graphbandits.rules.ids_n"} <= ids - ucb
    assert {"graphbandits.policies.ucb_n", "graphbandits.policies.index"} <= ucb - ids
    assert {*LOOP, "graphbandits.worlds.bernoulli", "graphbandits.graphs.feedback"} <= ids & ucb
    assert len(ids) < 50


def test_workers_need_the_modules_that_read_plans() -> None:
    plan = a_plan(policies=["ids-n"])
    wanted = worker_sources(plan, "ids-n")
    assert series_of(plan, "ids-n").facts["sources"].items() <= wanted.items()
    assert {WORKER, "graphbandits.graphs._storage", "graphbandits.registry"} <= wanted.keys()


def test_sources_of_invariants_count_for_policies_that_read_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def names() -> dict[str, str]:
        plan = Plan.of(["exp3-set", "exp3-g", "ts-n"], graph="paper", horizon=5, trials=2)
        found = {policy: series_of(plan, policy) for policy in plan.policies}
        values = {policy: one.facts.get("graph_values") for policy, one in found.items()}
        number = graph_info.independence_number(plan.process.feedback)  # type: ignore[attr-defined]
        assert values == {
            "exp3-set": {"independence": 5.0 * number},
            "exp3-g": {"independence_number": number},
            "ts-n": None,
        }
        return {policy: one.name for policy, one in found.items()}

    before = names()
    monkeypatch.setattr(graph_info, "independence_number", lambda graph: 3)
    after = names()
    assert {policy for policy in after if after[policy] != before[policy]} == {"exp3-set", "exp3-g"}


def test_series_of_earlier_versions_keep_their_names() -> None:
    files = sorted(FIXTURES.rglob("series.json"))
    assert len(files) > 2
    for file in files:
        assert facts_hash(json.loads(file.read_text())) == file.parent.name


def test_series_of_earlier_versions_have_the_same_settings() -> None:
    """The fixture contains series of version 0.6.0, which had other sources."""
    world = Bernoulli(BetaBernoulli(np.array([1.0, 2.0]), np.array([3.0, 1.0])), fixed=[0.2, 0.7])
    given: dict[str, dict[str, Any]] = {
        "paper": {"graph": "paper"},
        "directed": {"graph": "star(direction=out)", "arms": 4},
        "er": {"graph": "revealed-er(p=0.5)", "arms": 4},
        "random": {"graph": "random(r=uniform)", "arms": 3},
        "matrix": {"graph": np.array([[1, 0.5], [0, 1.0]]), "world": world},
        "sequence": {"graph": [np.eye(2)] * 3 + [np.ones((2, 2))] * 3},
    }
    old = json.loads((FIXTURES / "series_of_0_6_0.json").read_text())
    assert old.keys() == given.keys()
    new = {}
    for key, how in given.items():
        plan = Plan.of("ts-n", horizon=5, trials=2, seed=3, **how)
        new[key] = series_of(plan, "ts-n").facts
        assert new[key] == json.loads(json.dumps(new[key]))
    for key in given:
        assert [other for other in given if same_settings(new[key], old[other])] == [key]
    assert not same_settings(new["paper"], old["paper"] | {"policy": "ids-n"})
    assert not same_settings(new["paper"], {})


def test_source_changed_during_a_process_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "module.py"
    file.write_text("a = 1\n")
    first = provenance._digest("module", file)
    assert provenance._digest("module", file) == first
    file.write_text("a = 22\n")
    with refuses(InputError):
        provenance._digest("module", file)
    later = tmp_path / "later.py"
    later.write_text("a = 1\n")
    monkeypatch.setattr(provenance, "_process_start", lambda: time.time() + 60)
    assert provenance._digest("graphbandits.later", later)
    monkeypatch.setattr(provenance, "_process_start", lambda: time.time() - 60)
    with refuses(InputError):
        provenance._digest("graphbandits.later", later)


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
    """Return a function that writes a module for plug-ins to import."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def write(where: str, text: str) -> None:
        file = tmp_path / where
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        # as in a new process
        for module in list(sys.modules):
            if module.split(".")[0] in ("beside", "chain", "parts"):
                del sys.modules[module]
        provenance._FIRST_DIGESTS.clear()
        provenance._IMPORTED_DIGESTS.clear()
        importlib.invalidate_caches()

    return write


def test_plug_in_is_identified_by_content_and_not_by_path(plugin) -> None:
    one = plugin("one.py")
    assert plugin("below/one.py") == one
    assert plugin("renamed.py") == one
    assert plugin("one.py", "x = 1") != one


def test_plug_in_is_identified_by_its_loaded_content(plugin, tmp_path: Path) -> None:
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
def test_modules_imported_next_to_a_plug_in_count(plugin, helper, line: str, module) -> None:
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


def test_imports_for_type_checkers_do_not_count(plugin, helper) -> None:
    line = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import beside"
    helper("beside.py", "x = 1\n")
    before = plugin("mine.py", line)
    helper("beside.py", "x = 2\n")
    assert plugin("mine.py", line) == before


def test_compiled_modules_next_to_a_plug_in_count(plugin, helper, tmp_path: Path) -> None:
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
    provenance._version.cache_clear()
    monkeypatch.setattr(provenance, "version", lambda package: "99")
    try:
        assert plugin("mine.py", line) != before
    finally:
        provenance._version.cache_clear()


def test_base_classes_of_a_plug_in_count(plugin) -> None:
    one = plugin("mine.py")
    facts = series_of(a_plan(policies=["mine"]), "mine").facts["sources"]
    assert "graphbandits.rules.ts_n" in facts
    assert "graphbandits.policies.kl_ucb" not in facts
    assert plugin("mine.py", base="ucb_n", cls="UCBN") != one
    facts = series_of(a_plan(policies=["mine"]), "mine").facts["sources"]
    assert "graphbandits.rules.ts_n" not in facts


@pytest.mark.parametrize(
    "line",
    [
        "from graphbandits.policies import as_policy",
        "from graphbandits import BetaBernoulli",
        "import graphbandits",
        "from importlib import import_module",
        "def f():\n    exec('x = 1')",
    ],
)
def test_plug_in_that_can_look_up_others_depends_on_all(plugin, tmp_path: Path, line: str) -> None:
    other = tmp_path / "other.py"
    other.write_text(POLICY.format(base="ts_n", cls="TSN", more="", name="other"))
    loaded = load_plugin(other)
    plugin("mine.py", line)
    found = series_of(a_plan(policies=["mine"]), "mine").facts
    unload_plugin(other)
    assert {*provenance._modules(NUMERIC), "graphbandits.graphs.named"} <= set(found["sources"])
    assert provenance.plugin_name(loaded.source) in found["sources"]
    assert not {"graphbandits.cli.app", "graphbandits.registry"} & set(found["sources"])
    assert set(found["graph_values"]) == {"independence", "independence_number"}


def test_all_package_imports_of_a_plug_in_count(plugin) -> None:
    """Also modules that are otherwise excluded, such as lists of edges."""

    def found(line: str) -> set[str]:
        plugin("mine.py", line)
        return set(series_of(a_plan(policies=["mine"]), "mine").facts["sources"])

    def own(line: str) -> set[str]:
        return {name for name in found(line) if name.startswith("graphbandits.")}

    before = own("")
    shape = "graphbandits.graphs._shape"
    assert own("from graphbandits.graphs._shape import edge_arrays") == before | {shape}
    searches = set({"graphbandits.graphs.numbers", "graphbandits.graphs._independence"})
    assert searches & before == set()
    for line in (
        "from graphbandits.graphs import clique_cover",
        "from graphbandits.graphs.graph_info import GraphInfo",
    ):
        assert searches <= own(line)


@pytest.mark.parametrize(
    "line", ["f = lambda p: p.graphs.independence(9)", "f = lambda g: getattr(g, 'independence')"]
)
def test_sources_of_graph_values_that_a_plug_in_reads_count(plugin, line: str) -> None:
    plugin("mine.py", line)
    facts = series_of(a_plan(policies=["mine"]), "mine").facts
    assert facts["graph_values"] == {"independence": 60.0}


def test_plug_ins_with_the_same_file_name_both_count(plugin, tmp_path: Path) -> None:
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


def test_files_named_in_parameters_count_by_their_content(plugin, tmp_path: Path) -> None:
    file = tmp_path / "weights.txt"
    file.write_text("1")
    before = plugin("mine.py", path=str(file))
    assert plugin("mine.py", path=str(file)) == before
    file.write_text("2")
    assert plugin("mine.py", path=str(file)) != before


def test_sources_are_in_the_order_of_their_names() -> None:
    found = list(sources_of([type(PRIOR)])[0])
    assert found == sorted(found)
    assert np.isin("graphbandits.posteriors.beta_bernoulli", found)


def test_indirect_base_classes_count() -> None:
    made = type("Made", (type(as_policy("ts-n")),), {"__module__": "graphbandits._version"})
    assert "graphbandits.policies.ts_n" in sources_of([made])[0]


# Worlds and posteriors ----------------------------------------------------------------------------


def series_name(world: Any, posterior: Any = None, policy: str = "ts-n", **how: Any) -> str:
    size = {"horizon": 5, "trials": 2} | how
    plan = Plan.of(policy, world, "star", arms=3, posterior=posterior, **size)
    return series_of(plan, policy).name


@pytest.mark.parametrize("family", FAMILIES)
def test_every_parameter_of_a_world_and_a_posterior_counts(family: str) -> None:
    given = FAMILIES[family]
    names = [
        series_name(given.world),
        series_name(given.other_world),
        series_name(given.world, given.other_posterior),
        series_name(given.other_world, given.other_posterior),
        series_name(as_world(given.world, 3, means=given.means)),
        series_name(as_world(given.world, 3, means=given.means[::-1])),
        series_name(given.world, policy="uniform"),
    ]
    assert len(set(names)) == len(names)
    assert series_name(given.world) == names[0]
    assert series_name(given.world, trials=9) == names[0]
    assert series_name(as_world(given.world, 3)) == names[0]


def test_numbers_of_one_arm_and_last_bits_of_parameters_count() -> None:
    names = {series_name("gaussian(sd=1)"), series_name("gaussian(sd=[1, 1, 1])")}
    assert len(names) == 1  # the same arrays
    names |= {
        series_name("gaussian(sd=[1, 1, 1.0000000000000002])"),
        series_name("gaussian(mean=[0, 0, 5e-324])"),
        series_name("gaussian(noise=1.0000000000000002)"),
    }
    assert len(names) == 4


def test_worlds_of_different_names_have_different_series() -> None:
    """Rewards 0 and 1 fit both posteriors."""
    names = [series_name("bernoulli"), series_name("bernoulli", "normal"), series_name("gaussian")]
    assert len(set(names)) == 3


def test_bernoulli_series_have_the_facts_of_earlier_versions() -> None:
    """Their problem has no entry for world and posterior, as before these were plug-ins."""
    plan = a_plan(policies=["ts-n"])
    problem = series_of(plan, "ts-n").facts["problem"]
    assert not {"world", "posterior", "models"} & problem.keys()
    assert problem["accuracy"] == "simulation"
    assert {"prior/a", "prior/b"} <= problem["arrays"].keys()


def test_sources_of_other_worlds_and_posteriors_do_not_count() -> None:
    def sources(world: str) -> set[str]:
        plan = Plan.of("ts-n", world, "star", arms=3, horizon=5, trials=2)
        return set(series_of(plan, "ts-n").facts["sources"])

    bernoulli, gaussian = sources("bernoulli"), sources("gaussian")
    for module in ("worlds.gaussian", "posteriors.normal"):
        assert f"graphbandits.{module}" in gaussian
        assert f"graphbandits.{module}" not in bernoulli
    for module in ("worlds.base", "worlds._outcome_kernels", "posteriors.base"):
        assert f"graphbandits.{module}" in gaussian & bernoulli


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


def test_same_models_from_texts_and_objects_are_the_same_series() -> None:
    world = as_world("gaussian(noise=0.5)", 3)
    assert series_name(world) == series_name("gaussian(noise=0.5)")
    posterior = as_posterior("normal(sd=2)", 3)
    assert series_name(world, posterior) == series_name("gaussian(noise=0.5)", "normal(sd=2)")
