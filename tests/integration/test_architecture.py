"""The lists of modules in docs/architecture.md match traces of real calls."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from helpers import ROOT

pytestmark = pytest.mark.process

DOCUMENT = (ROOT / "docs" / "architecture.md").read_text("utf-8")

#: Prints the modules of the package whose functions are called, in the order of their first calls.
TRACE = """
import importlib, json, pkgutil, sys, threading
import graphbandits
for module in pkgutil.walk_packages(graphbandits.__path__, "graphbandits."):
    if module.name != "graphbandits.__main__":
        importlib.import_module(module.name)  # calls of decorators during import are not steps
met = {}
def note(frame, event, argument):
    if event == "call":
        name = frame.f_globals.get("__name__", "")
        if name.startswith("graphbandits."):
            met.setdefault(name.removeprefix("graphbandits."))
def traced(call):
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    print(json.dumps(list(met)))
"""
SIMULATE = """
from graphbandits.cli import app
import contextlib, io
words = ["simulate", "--policy=ids-n", "--graph=paper", "--horizon=20", "--trials=5"]
def command():
    with contextlib.redirect_stdout(io.StringIO()):
        app([*words, "--workers=1", "--output=out"], standalone_mode=False)
traced(command)
"""
LIVE = """
from graphbandits import Agent
agent = Agent("ids-n", arms=["ann", "bob", "eve"], graph="star", seed=1)
def decide():
    decision = agent.decide()
    agent.observe(decision, dict.fromkeys(decision.reveals, 1))
decide()
traced(decide)
"""
#: Modules that the command also calls, and why the document does not list them as steps.
HELPERS = {
    "errors": "a base module",
    "posteriors.base": "helpers of posteriors",
    "posteriors.discounting": "whether observations are discounted",
    "rules._hull_kernels": "work space of the rules",
}
LIVE_HELPERS = HELPERS | {"live._packing": "the probabilities of a decision as bytes"}
BESIDE = HELPERS | {
    "cli.*": "typer reads the options of all commands",
    "_io": "a base module",
    "_jit": "a base module",
    "_old_words": "a base module",
    "_process_info": "a base module",
    "plugins": "a base module",
    "registry": "a base module",
    "engine._progress": "the progress bar",
    "engine.trajectories": "checks of what is recorded",
    "engine.answers": "checks of delays and missing answers",
    "engine.eligible": "checks of the eligible arms",
    "experiments.progress_table": "the progress table",
    "experiments.figures": "default figures of an experiment",
    "graphs._storage": "the graph in the description of the simulation",
    "graphs.graph_info": "information about the graph that policies have before round 1",
    "policies.bayesian": "a base class of policies",
    "store.activity": "other runs that use the store",
    "plots.*": "figures",
    "theory.*": "regret bounds, listed on the page of a small graph",
    "gains.ratio": "regret bounds",
    "graphs.numbers": "regret bounds",
    "graphs._independence": "regret bounds",
    "graphs._reductions": "regret bounds",
}


def walk(name: str) -> list[str]:
    """The modules that the document lists at a mark."""
    block = DOCUMENT.split(f"<!-- {name} -->")[1].split("\n\n")[1]
    return re.findall(r"`([a-z0-9_./]+)`", block)


def trace(code: str, place: Path) -> list[str]:
    command = [sys.executable, "-c", TRACE + code]
    run = subprocess.run(command, cwd=place, capture_output=True, text=True, check=True)
    found: list[str] = json.loads(run.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize(
    ("name", "code", "most", "beside"),
    [("walk", SIMULATE, 40, BESIDE), ("live", LIVE, 16, LIVE_HELPERS)],
)
def test_modules_listed_in_architecture_md_match_a_trace(
    tmp_path: Path, name: str, code: str, most: int, beside: dict[str, str]
) -> None:
    listed = [path.replace("/", ".") for path in walk(name)]
    assert 0 < len(listed) <= most
    found = trace(code, tmp_path)
    assert [module for module in found if module in listed] == listed
    others = [module for module in found if module not in listed]
    reasons = {key for module in others for key in beside if fnmatchcase(module, key)}
    unexplained = [m for m in others if not any(fnmatchcase(m, key) for key in beside)]
    assert unexplained == []
    assert reasons == beside.keys()  # every reason is used
