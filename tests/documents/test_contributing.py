"""Tests of CONTRIBUTING.md: its commands and examples work as described."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from helpers import ROOT

from graphbandits import open_study
from graphbandits.plugins import unload_plugin

pytestmark = pytest.mark.process

TEXT = (ROOT / "CONTRIBUTING.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^ *```{language}\n(.*?)```", TEXT, re.DOTALL | re.MULTILINE)


def command(place: Path, *words: str, source: Path = ROOT / "src") -> str:
    """Run ``graphbandits ...`` as a shell would, in ``place``."""
    assert words[0] == "graphbandits"
    done = subprocess.run(
        [sys.executable, "-m", *words],
        cwd=place,
        env=os.environ | {"PYTHONPATH": str(source)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


class Words(HTMLParser):
    """The text of a page, without its scripts and styles."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.silent, self.words = False, ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.silent = tag in ("script", "style")

    def handle_endtag(self, tag: str) -> None:
        self.silent = False

    def handle_data(self, data: str) -> None:
        self.words += "" if self.silent else f"{data} "


@pytest.fixture(scope="module")
def walked(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A directory in which every shell command of CONTRIBUTING was run, and what each printed."""
    place = tmp_path_factory.mktemp("walk")
    lines = [line for block in blocks("sh") for line in block.strip().splitlines()]
    return place, [command(place, *shlex.split(line)) for line in lines]


def test_commands_of_contributing_work(walked: tuple[Path, list[str]]) -> None:
    place, printed = walked
    assert len(printed) == 12
    files = ["my_ucb.py", "my_world.py", "my_normal.py", "my_path.py"]
    for k, name in enumerate(files):
        assert f"Wrote {name}" in printed[3 * k]
        assert re.search(r"(\d+) checks: \1 passed\.", printed[3 * k + 1])
        assert "failed" not in printed[3 * k + 1]
        assert "ids-n" in printed[3 * k + 2]
    for name in ("my-ucb", "my-ucb(c=0.25)"):
        assert name in printed[2]
    made = {path.name for path in place.iterdir() if path.name != "__pycache__"}
    assert made == {*files, "my-comparison"}
    results = open_study(place / "my-comparison").results()
    assert set(results.policies) == {"my-ucb", "my-ucb(c=0.25)", "ids-n"}
    assert results.settings["policies"]["my-ucb"]["plugin"] == "my_ucb.py"


def test_other_commands_of_contributing_work(walked: tuple[Path, list[str]]) -> None:
    place, _ = walked
    named = [shlex.split(text) for text in re.findall(r"`(graphbandits [^`]+)`", TEXT)]
    runs = [words for words in named if words[1] == "run"]
    lists = [words for words in named if words[1] == "list"]
    assert runs
    assert lists
    for words in lists:
        assert "my-ucb" in command(place, *words)
    for words in runs:
        shown = command(place, *words, "--trials", "4", "--output", "one")
        assert re.search(r"my-ucb +\d", shown)
        assert (place / "one" / "report.html").is_file()


def test_python_of_contributing_runs(
    walked: tuple[Path, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    place, _ = walked
    monkeypatch.chdir(place)
    policy, world, posterior = [b for b in blocks("python") if "load_plugin(" in b][:3]
    names: dict[str, Any] = {}
    for code, arms in ((policy, ("ann", "bob", "eve")), (posterior, (0, 1, 2))):
        exec(compile(code, "CONTRIBUTING.md", "exec"), names)
        assert names["agent"].decide().arm in arms
    exec(compile(world, "CONTRIBUTING.md", "exec"), names)
    assert set(names["results"].policies) == {"ids-n", "ts-n"}
    for file in ("my_ucb.py", "my_world.py", "my_normal.py"):
        unload_plugin(file)
    (test,) = (block for block in blocks("python") if "parametrize" in block)
    (place / "test_mine.py").write_text(test)
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-k",
            "my-ucb-form or ids-lp-simplex",
            "test_mine.py",
        ],
        cwd=place,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "2 passed" in done.stdout, done.stdout


def test_file_moved_into_the_package_is_registered(
    walked: tuple[Path, list[str]], tmp_path: Path
) -> None:
    place, _ = walked
    source = tmp_path / "src"
    shutil.copytree(ROOT / "src", source, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(place / "my_ucb.py", source / "graphbandits" / "policies")
    assert "my-ucb" in command(tmp_path, "graphbandits", "list", source=source)
    shown = command(tmp_path, "graphbandits", "check", "my-ucb", "--only", "form", source=source)
    assert "1 check: 1 passed" in shown


STRANGER = '''
"""UCB with a square-root bonus."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from graphbandits.policies import Needs
from graphbandits.registry import register


@register("policy", "root-ucb")
@dataclass(frozen=True)
class RootUCB:
    """The highest mean plus a bonus that falls with the root of the observations."""

    bonus: float = 0.4
    needs: ClassVar[Needs] = Needs()
    exact: ClassVar[bool] = True

    def init(self, problem, keys):
        return {name: np.zeros((keys.trials, problem.arms)) for name in ("n", "s")}

    def propose(self, state, view):
        n = state["n"] + 1e-6
        index = state["s"] / n + self.bonus / np.sqrt(n)
        pi = np.zeros_like(index)
        pi[np.arange(len(pi)), index.argmax(axis=1)] = 1.0
        return pi

    def update(self, state, event):
        seen = event.observations
        np.add.at(state["n"], (seen.trial, seen.arm), 1)
        np.add.at(state["s"], (seen.trial, seen.arm), seen.reward)
        return state
'''


def test_new_policy_file_appears_in_the_report(tmp_path: Path) -> None:
    (tmp_path / "root_ucb.py").write_text(STRANGER)
    verdicts = command(tmp_path, "graphbandits", "check", "root_ucb.py")
    assert re.search(r"(\d+) checks: \1 passed\.", verdicts), verdicts
    words = "simulate --plugin root_ucb.py --policy root-ucb --policy ids-n --graph paper"
    size = "--horizon 200 --trials 150 --workers 2 --output study"
    command(tmp_path, "graphbandits", *words.split(), *size.split())
    touched = {path.name for path in tmp_path.iterdir()} - {"__pycache__"}
    assert touched == {"root_ucb.py", "study"}
    results = open_study(tmp_path / "study").cells[0].results(curves=True)
    page = Words((tmp_path / "study" / "report.html").read_text()).words
    for name in ("root-ucb", "ids-n"):
        assert name in page
        assert f"{results[name].mean[-1]:.2f}" in page
    assert "root_ucb.py" in page
    alone = command(
        tmp_path, "graphbandits", *words.split(), *size.split()[:4], "--workers", "1", "--json"
    )
    mean = re.search(r'"root-ucb": \{\s*"regret": \{\s*"mean": ([0-9.e+-]+)', alone)
    assert mean is not None
    assert float(mean[1]) == results["root-ucb"].mean[-1]
