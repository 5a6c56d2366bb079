"""Tests of cli/simulate.py: ``graphbandits run`` in its store: failures, dry runs, workers."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from helpers import command_line
from helpers.made_up_results import same
from typer.testing import CliRunner, Result

from graphbandits import open_study
from graphbandits.cli import app
from graphbandits.plugins import unload_plugin
from graphbandits.simulation.run import simulate_plan
from graphbandits.study.experiment import load_experiment

RUNNER = CliRunner(env={"COLUMNS": "200"})

#: A policy that raises in a block of two trials if the file 'broken' exists.
FRAIL = '''
"""Thompson sampling that fails in some blocks."""

from dataclasses import dataclass
from pathlib import Path

from graphbandits.policies.thompson import TSN
from graphbandits.registry import register


@register("policy", "frail")
@dataclass(frozen=True)
class Frail(TSN):
    """Thompson sampling that fails in some blocks."""

    c: float = 1.0

    def init(self, problem, keys):
        if keys.trials == 2 and self.c < 3 and Path("broken").exists():
            raise RuntimeError("out of\\norder")
        return super().init(problem, keys)
'''
STUDY = """
title = "Frail"
graph = "edges(1>2 2>3:0.5 3>1)"
prior = ["1,2", "2,2", "3,1"]
horizon = 15
trials = 10
seed = 4
policies = ["ts-n", "frail(c={c})"]
plugins = ["frail.py"]

[[sweeps]]
parameter = "c"
values = [1, 2, 3]
"""
ONE = STUDY[: STUDY.index("[[sweeps]]")].replace("(c={c})", "")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "frail.py").write_text(FRAIL)
    (tmp_path / "study.toml").write_text(STUDY)
    (tmp_path / "one.toml").write_text(ONE)
    yield tmp_path
    unload_plugin(tmp_path / "frail.py")


def invoke(*args: object) -> Result:
    result = RUNNER.invoke(app, [str(arg) for arg in args])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


run = partial(command_line.run, "run")


def refused(*args: object) -> str:
    """Return the error message of a refused command: one line, no other output."""
    result = invoke("run", *args)
    assert (result.exit_code, result.stdout) == (2, "")
    assert re.fullmatch(r"Error: [^\n]+\n", result.stderr)
    return result.stderr


def shards(output: Path) -> dict[str, int]:
    """Return the series and trials of every shard, and the time of its last change."""
    return {
        f"{path.parent.name}/{path.name.split('.')[0]}": path.stat().st_mtime_ns
        for path in output.glob("shards/*/*.parquet")
    }


def everything(place: Path) -> dict[Path, tuple[int, bytes]]:
    return {
        path: (path.stat().st_mtime_ns, path.read_bytes() if path.is_file() else b"")
        for path in place.rglob("*")
        if "__pycache__" not in path.parts
    }


def test_policy_that_raises_in_some_trials_does_not_affect_others(place: Path) -> None:
    (place / "broken").touch()
    words = ["study.toml", "--shard=4", "--workers=1", "--output=out"]
    result = invoke("run", *words)
    assert result.exit_code == 2
    first, second, *_, last = result.stderr.splitlines()
    for line, c in ((first, 1), (second, 2)):
        # 1 is the default, and so not in the name
        name = "frail" if c == 1 else f"frail(c={c})"
        assert line.startswith(f"failed: '{name}' at c = {c}, trials 8 to 9: ")
        assert "RuntimeError" in line
        assert "out of order" in line
    hint = "all other shards are stored. Run the same command again to compute the missing shards"
    assert last == f"Error: 2 shards failed; {hint}"
    # ts-n once for all c, frail for each c; three shards each, except the two that failed
    before = shards(place / "out")
    assert len(before) == 3 * (1 + 3) - 2
    summary = json.loads((place / "out" / "summary.json").read_text())
    policies = {entry["value"]: list(entry["policies"]) for entry in summary["study-c"]["runs"]}
    assert policies == {1: ["ts-n"], 2: ["ts-n"], 3: ["ts-n", "frail(c=3)"]}
    page = (place / "out" / "report.html").read_text("utf-8")
    assert "Left out because trials are missing: " in page
    assert (place / "out" / "figure-study-c.png").is_file()

    (place / "broken").unlink()
    run(*words)
    after = shards(place / "out")
    assert before.items() <= after.items()
    assert (
        sorted(name.split("/")[1] for name in after.keys() - before.keys()) == ["0000000008-2"] * 2
    )
    cells = load_experiment("study.toml").plans()
    for cell, whole in zip(open_study("out").cells, cells, strict=True):
        same(cell.results(), simulate_plan(whole, progress=False))
    assert "Left out" not in (place / "out" / "report.html").read_text("utf-8")


def test_only_some_of_many_failures_are_listed(place: Path) -> None:
    (place / "broken").touch()
    result = invoke("run", "one.toml", "--shard=2", "--trials=14", "--workers=1")
    *failed, more, error = result.stderr.splitlines()
    assert more == "failed: 2 more"
    assert [re.findall(r"trials (\d+) to (\d+)", line) for line in failed] == [
        [(str(first), str(first + 1))] for first in (0, 2, 4, 6, 8)
    ]
    assert error.startswith("Error: 7 shards failed; ")
    # only ts-n is complete
    assert list(json.loads(Path("one/summary.json").read_text())["one"]["policies"]) == ["ts-n"]


def test_run_without_results_writes_no_page(place: Path) -> None:
    (place / "broken").touch()
    (place / "one.toml").write_text(ONE.replace('"ts-n", ', ""))
    result = invoke("run", "one.toml", "--shard=2", "--workers=1", "--trials=2")
    assert result.exit_code == 2
    failed, error = result.stderr.splitlines()
    assert failed.startswith("failed: 'frail', trials 0 to 1: ")
    assert error.startswith("Error: 1 shard failed; ")
    assert not (place / "one" / "report.html").exists()


def row(shown: str, at: str) -> list[str]:
    (found,) = (line for line in shown.splitlines() if line.split()[:3] == at.split())
    return found.split()


def test_dry_run_prints_cells_and_writes_nothing(place: Path) -> None:
    before = everything(place)
    shown = run("study.toml", "--dry-run", "--workers=2")
    assert everything(place) == before
    assert "Policies: ts-n, frail(c=…)." in shown
    for c in (1, 2, 3):
        cell = row(shown, f"c = {c}")
        assert cell[-6:] == ["3", "15", "10", "x", "2", "0%"]
    assert "edges(1>2 2>3:0.5 3>1)" in shown
    # ts-n has three points and runs once
    again = "2 policies are the same at several points and run once."
    assert f"3 simulations; 40 of 40 trials to run. {again}" in shown
    assert shown.endswith("Nothing was written.\n")


def test_dry_run_shows_existing_trials(place: Path) -> None:
    (place / "broken").touch()
    invoke("run", "study.toml", "--shard=4", "--workers=1", "--output=out")
    before = everything(place)
    shown = run("study.toml", "--dry-run", "--output=out")
    # 8 of the 10 trials of frail, and all of ts-n
    assert [row(shown, f"c = {c}")[-1] for c in (1, 2, 3)] == ["90%", "90%", "100%"]
    assert "; 4 of 40 trials to run." in shown
    more = run("study.toml", "--dry-run", "--output=out", "--trials=20")
    assert [row(more, f"c = {c}")[-1] for c in (1, 2, 3)] == ["45%", "45%", "50%"]
    assert "; 44 of 80 trials to run." in more
    assert everything(place) == before
    (place / "broken").unlink()
    run("study.toml", "--shard=4", "--workers=1", "--output=out")
    whole = run("study.toml", "--dry-run", "--output=out")
    assert "; 0 of 40 trials to run." in whole
    other = run("study.toml", "--dry-run", "--output=out", "--seed=5")
    assert "; 40 of 40 trials to run." in other


def test_a_dry_run_of_one_simulation_has_no_points(place: Path) -> None:
    shown = run("one.toml", "--dry-run", "--workers=1", "--output=new/deep")
    assert "1 simulation; 20 of 20 trials to run. Nothing was written.\n" in shown
    assert not (place / "new").exists()


def test_invalid_cluster_address_is_refused(place: Path) -> None:
    for address in ["nowhere", "tcp://", "host:8786", "tcp://a b:1", ""]:
        message = refused("one.toml", f"--cluster={address}")
        assert "cluster must be the address of a dask scheduler" in message
        assert f"not '{address}'" in message
        assert shards(place / "one") == {}


@pytest.mark.filterwarnings("always::graphbandits.errors.InputWarning")
def test_replaced_study_of_the_same_name_is_reported(place: Path) -> None:
    run("one.toml", "--workers=1", "--output=out")
    (place / "one.toml").write_text(ONE.replace("horizon = ", "horizon = 1"))
    result = invoke("run", "one.toml", "--workers=1", "--output=out")
    assert result.exit_code == 0
    (line,) = result.stderr.splitlines()
    assert line.startswith(
        "Warning: the study 'one' in out (Frail) was computed with other settings"
    )


def test_printed_command_reproduces_the_study(place: Path) -> None:
    (place / "seeds.toml").write_text(ONE + '[[sweeps]]\nparameter = "seed"\nvalues = [3, 4]\n')
    for name in ("one.toml", "seeds.toml", "study.toml"):
        run(name, "--workers=1", "--output=out")
        key = name.removesuffix(".toml")
        before = shards(place / "out")
        word, *words = shlex.split(open_study("out", key).rerun)
        assert word == "graphbandits"
        assert invoke(*words).exit_code == 0
        assert shards(place / "out") == before
