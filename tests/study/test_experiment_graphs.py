"""Tests of study/experiment.py: graphs of experiment files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from graphbandits.study.experiment import load_experiment


def test_experiment_file_accepts_edges_text(tmp_path: Any) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(
        'title = "mine"\ngraph = "edges(1-2 2>3:0.5)"\narms = 4\nhorizon = 10\ntrials = 3\n'
        'policies = ["ts-n"]\n'
    )
    assert load_experiment(str(file)).graph == "edges(1-2 2>3:0.5)"


def test_graph_path_is_relative_to_experiment_file(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("source,target\nann,bob\n")
    for graph in ("file:edges.csv", "file(path=edges.csv, directed=false)"):
        text = f'title = "T"\ngraph = "{graph}"\nhorizon = 3\ntrials = 2\npolicies = ["ts-n"]\n'
        (tmp_path / "study.toml").write_text(text)
        plan = load_experiment(tmp_path / "study.toml").plan()
        assert plan.process.names == ("ann", "bob")
