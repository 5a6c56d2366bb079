"""Tests of cli/__init__.py: help, version, exit codes, output and interrupts."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from helpers.command_line import (
    LINUX,
    RUNNER,
    SIMULATE,
    answer,
    command,
    read_json,
    refused_command,
    run,
    split,
)
from helpers.made_up_results import same
from helpers.privileges import unprivileged
from typer.testing import CliRunner

import graphbandits
from graphbandits import open_study
from graphbandits.cli import app
from graphbandits.cli._ui import GRAPH_HELP
from graphbandits.registry import registered
from graphbandits.simulation.results import Results
from graphbandits.study.directory import Directory


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_and_version_load_nothing_heavy(option: str) -> None:
    code = (
        "import sys\n"
        "from graphbandits.cli import app\n"
        "try:\n"
        f"    app(['{option}'])\n"
        "except SystemExit as stop:\n"
        "    assert not stop.code\n"
        "print(*(name for name in sys.modules if '.' not in name), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0
    assert done.stdout
    loaded = set(done.stderr.split())
    heavy = {"numpy", "scipy", "numba", "matplotlib", "pyarrow", "pydantic", "networkx", "pandas"}
    assert "graphbandits" in loaded
    assert not loaded & heavy


def test_without_arguments_the_help_is_shown() -> None:
    assert run().strip() == run("--help").strip()


def test_help_of_a_command_names_its_options_and_an_example() -> None:
    for name, options in [
        ("reproduce", ["--figure", "--trials", "--seed", "--output", "--workers"]),
        (
            "simulate",
            split("--policy --graph --arms --horizon --trials --seed --workers --json"),
        ),
        ("inspect", ["--beta", "--graph", "--samples", "--seed", "--json"]),
        ("list", ["--json"]),
    ]:
        shown = run(name, "--help")
        assert all(option in shown for option in options)
        assert name == "list" or f"Example: graphbandits {name} " in " ".join(shown.split())


def test_graph_help_lists_every_graph() -> None:
    assert set(registered("graph")) <= set(re.findall(r"[a-z-]+", GRAPH_HELP))


def test_the_installed_script_and_the_module_are_the_same_program() -> None:
    script = Path(sys.executable).with_name("graphbandits")
    if not script.exists():
        pytest.skip("the script is not installed beside this Python")
    done = subprocess.run([script, "--version"], capture_output=True, text=True, timeout=60)
    module = command("--version")
    assert (done.returncode, done.stdout) == (module.returncode, module.stdout)
    assert done.stdout == f"graphbandits {graphbandits.__version__}\n"


def test_paths_in_brackets_are_shown_literally(place: Path) -> None:
    for args in [
        ["inspect", "--beta", "1,1", "--beta", "1,1"],
        ["simulate", "--policy", "ts-n", "--horizon", "2", "--trials", "2"],
    ]:
        for folder in ["[bold]", "[/bold]"]:
            path = place / folder / "edges.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("ann bob\n")
            assert f"{folder}/edges.txt" in run(*args, "--graph", f"file:{folder}/edges.txt")


def test_output_to_a_terminal_without_unicode(place: Path) -> None:
    for args in [
        ["inspect", "--beta", "1,2", "--beta", "4,4", "--graph", "file:edges.txt"],
        ["inspect", "--beta", "1,2", "--beta", "4,4", "--graph", "file:edges.txt", "--json"],
        ["simulate", "--policy", "ts-n", "--graph", "paper", "--horizon", "2", "--trials", "2"],
        ["list"],
        ["--help"],
    ]:
        for charset in ["ascii", "latin-1", "cp1252"]:
            (place / "edges.txt").write_text("ann \u0142\u00f3d\u017a\n", "utf-8")
            result = CliRunner(charset=charset).invoke(app, args)
            assert result.exit_code == 0, result.exception


def kept(place: Path, figure: str) -> Results:
    """Return the results of an experiment with all trials."""
    (cell,) = open_study(place, figure).cells
    return cell.results()


def shards(place: Path) -> dict[Path, int]:
    """Return every shard and the time of its last change."""
    return {path: path.stat().st_mtime_ns for path in place.glob("shards/*/*.parquet")}


@pytest.mark.parametrize(
    ("args", "key", "output", "policies"),
    [
        (["reproduce", "--figure", "1a", "--trials", "2"], "1a", "figures", 8),
        ([*SIMULATE, "--policy=ts-n", "--policy=ucb-n", "--output=out"], "simulation", "out", 3),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_interrupted_run_keeps_finished_trials_and_can_be_resumed(
    place: Path,
    short: None,
    monkeypatch: pytest.MonkeyPatch,
    args: list[str],
    key: str,
    output: str,
    policies: int,
) -> None:
    args, write, left = [*args, "--workers", "1"], Directory.write, [2]

    def stop_after_two(*given: Any) -> Any:
        if not left[0]:
            raise KeyboardInterrupt
        left[0] -= 1
        return write(*given)

    with monkeypatch.context() as patched:
        patched.setattr(Directory, "write", stop_after_two)
        result = RUNNER.invoke(app, args)
    assert result.exit_code == 130
    stored = f"4 of {2 * policies} trials are stored in {output}"
    assert result.stderr == f"stopped; {stored}; run the same command again to continue.\n"
    before = shards(place / output)
    assert len(before) == 2
    assert not (place / output / "report.html").exists()
    run(*args)
    after = shards(place / output)
    assert len(after) == policies
    assert before.items() <= after.items()  # these were not written again
    results = kept(place / output, key)
    whole = graphbandits.simulate(
        list(results.policies), graph="paper", horizon=results.settings["horizon"], trials=2
    )
    same(results, whole)


def test_bad_graph_files_are_refused(bad_files: Path) -> None:
    for file, words in [
        ("above.txt", ["line 2", "1.5", "[0, 1]"]),
        ("missing.txt", ["No such file"]),
        ("folder", ["directory"]),
    ]:
        for head in ["inspect", "simulate"]:
            args = {
                "inspect": ["inspect", "--beta", "1,1", "--beta", "1,1", "--json"],
                "simulate": [*SIMULATE, "--json"],
            }[head]
            message = refused_command(bad_files, [*args, "--graph", f"file:{file}"])
            assert all(word in message for word in [file, *words])


@pytest.mark.skipif(not LINUX, reason="/proc is specific to Linux")
def test_graph_file_with_a_read_error_is_refused(place: Path) -> None:
    message = refused_command(place, [*SIMULATE, "--graph", "file:/proc/self/mem"])
    assert "cannot read" in message
    assert "/proc/self/mem" in message


def test_graph_file_without_permission_is_refused(place: Path) -> None:
    secret = place / "secret.txt"
    secret.write_text("ann bob\n")
    secret.chmod(0)
    with unprivileged():
        result = RUNNER.invoke(app, [*SIMULATE, "--graph", "file:secret.txt"])
    secret.chmod(0o600)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("Error: cannot read the graph file secret.txt: ")


def test_real_process_prints_only_json() -> None:
    done = command(*SIMULATE, "--json")
    assert done.returncode == 0
    assert done.stderr == ""
    assert read_json(done.stdout) == answer(*SIMULATE)
