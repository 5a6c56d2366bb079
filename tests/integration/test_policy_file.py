"""One file with a policy is enough: the contract, a study and its report, the package itself."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

from helpers import SRC

from graphbandits import open_study


def command(place: Path, *words: str, source: Path = SRC) -> str:
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
    size = "--horizon 100 --trials 40 --workers 2 --output study"
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


def test_file_moved_into_the_package_is_registered(tmp_path: Path) -> None:
    shutil.copytree(SRC, tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "src" / "graphbandits" / "policies" / "root_ucb.py").write_text(STRANGER)
    assert "root-ucb" in command(tmp_path, "graphbandits", "list", source=tmp_path / "src")
