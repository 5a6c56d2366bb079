"""Tests of cli/simulate.py: ``graphbandits simulate``."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest
from helpers.bad_input import tree
from helpers.command_line import RUNNER, SIMULATE, answer, refused_command, run, split
from helpers.reward_families import FAMILIES, write_plugin

import graphbandits
from graphbandits.cli import app
from graphbandits.worlds import as_world


def test_simulate_command_equals_the_python_function(place: Path) -> None:
    for graph in ["paper", "star", "random(r=uniform)", "file:edges.txt"]:
        (place / "edges.txt").write_text("ann bob 0.5\nbob carol\n")
        policies = ["ids-n", "ts-n"]
        size = {"horizon": 7, "trials": 5, "seed": 3}
        options = [f"--{name}={value}" for name, value in size.items()]
        shown = answer(
            "simulate", "--policy", "ids-n", "--policy", "ts-n", "--graph", graph, *options
        )
        results = graphbandits.simulate(policies, graph=graph, **size)  # type: ignore[arg-type]
        assert shown == json.loads(json.dumps(results.summary()))
        assert list(shown["policies"]) == policies
        for name in policies:
            regret = shown["policies"][name]["regret"]
            assert regret["mean"] == results[name].final.mean()
            assert regret["quantiles"]["0.9"] == np.quantile(results[name].final, 0.9)


def test_number_of_arms_comes_from_option_or_graph() -> None:
    for options, arms in [
        (["--graph", "empty"], 5),
        (["--graph", "empty", "--arms", "3"], 3),
        (["--graph", "paper"], 5),
    ]:
        shown = answer("simulate", "--policy", "ts-n", "--horizon", 2, "--trials", 2, *options)
        assert shown["settings"]["arms"] == arms
        assert list(shown["policies"]["ts-n"]["plays"]) == [str(i + 1) for i in range(arms)]


def test_simulate_as_a_table_shows_means_and_confidence_intervals() -> None:
    shown = run(*SIMULATE, "--policy", "ts-n", "--trials", 20)
    results = graphbandits.simulate(["ids-n", "ts-n"], graph="paper", horizon=3, trials=20)
    best, other = results.ranking()
    rows = {line.split()[0]: line for line in shown.splitlines() if line.strip()}
    for name in (best, other):
        low, high = results.interval(name)
        assert f"{results[name].mean[-1]:.2f}" in rows[name]
        assert f"[{low:.2f}, {high:.2f}]" in rows[name]
    assert "95% interval" in shown
    assert f"{results.differences(best)[0].mean:+.2f}" in rows[other]


def interrupt(*args: object, **options: object) -> NoReturn:
    raise KeyboardInterrupt


def test_interrupted_simulation_prints_one_line(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graphbandits.simulation.run.simulate_plan", interrupt)
    result = RUNNER.invoke(app, SIMULATE)
    assert result.exit_code == 130
    assert result.stderr == "stopped; unfinished work was not written.\n"
    assert tree(place) == {}


def test_bad_simulations_are_refused(bad_files: Path) -> None:
    for options, words in [
        ("--policy ts-n(", ["'ts-n('", "name(key=value"]),
        ("--policy ids-n", ["'ids-n'", "twice"]),
        ("--policy=", ["policy ''", "name"]),
        ("--graph cliques", ["'cliques'", "needs size", "cliques(size=...)"]),
        ("--graph=", ["graph ''", "name"]),
        ("--graph file:good.txt --arms 4", ["3 arms", "4"]),
        ("--horizon -1", ["horizon", "at least 1", "-1"]),
        ("--trials x", ["--trials", "'x'"]),
        ("--trials", ["--trials", "argument"]),
        ("extra", ["extra"]),
    ]:
        message = refused_command(bad_files, [*SIMULATE, *split(options)])
        assert all(word in message for word in words)
        assert refused_command(bad_files, [*SIMULATE, "--json", *split(options)]) == message


def test_simulate_records_trajectories(place: Path) -> None:
    args = "simulate --policy ts-n --graph paper --horizon 6 --trials 4 --record observations"
    run(*split(args), "--record", "actions", "--output", "out", "--workers", 1)
    study = graphbandits.open_study("out")
    both = ("actions", "observations")
    results = graphbandits.simulate("ts-n", graph="paper", horizon=6, trials=4, record=both)
    for table in both:
        found = study.trajectories(policy="ts-n").table(table)
        assert found.equals(results.trajectories("ts-n").table(table))
        run("store", "export", "out", "--table", table, "--output", f"{table}.csv")
    assert "--record=observations --record=actions" in study.rerun


def test_simulate_with_eligible_arms(place: Path) -> None:
    args = [*SIMULATE, "--eligible", "0.5"]
    results = graphbandits.simulate("ids-n", graph="paper", horizon=3, trials=2, eligible=0.5)
    assert answer(*args) == json.loads(json.dumps(results.summary()))
    assert "None of these policies has a proved bound" in run(*args, "--bounds")
    run(*args, "--record", "eligible", "--output", "out", "--workers", 1)
    study = graphbandits.open_study("out")
    assert "--record=eligible --eligible=0.5" in study.rerun
    assert study.results()["ids-n"].mean[-1] == results["ids-n"].mean[-1]
    assert "only some arms are eligible" in (place / "out" / "report.html").read_text("utf-8")
    said = refused_command(place, [*SIMULATE, "--eligible", "0"])
    assert "eligible must be a probability above 0 and at most 1" in said


def test_simulate_with_delayed_and_missing_answers(place: Path) -> None:
    for text, delay in (("2", 2), ("0,2", [0, 2])):
        args = [*SIMULATE, "--delay", text, "--answer-rate", "0.5"]
        how: dict[str, Any] = {"delay": delay, "answer_rate": 0.5}
        results = graphbandits.simulate("ids-n", graph="paper", horizon=3, trials=2, **how)
        assert answer(*args) == json.loads(json.dumps(results.summary()))
    assert "None of these policies has a proved bound" in run(*args, "--bounds")
    run(*args, "--output", "out", "--workers", 1)
    study = graphbandits.open_study("out")
    assert "--delay=0,2 --answer-rate=0.5" in study.rerun
    assert study.results()["ids-n"].mean[-1] == results["ids-n"].mean[-1]
    assert "outcomes arrive late or not at all" in (place / "out" / "report.html").read_text()


def test_bad_delays_and_answer_rates(place: Path) -> None:
    for words in ["--delay=-1", "--delay=3,2", "--delay=x", "--answer-rate=0"]:
        said = refused_command(place, [*SIMULATE, words])
        assert words.partition("=")[0].strip("-").replace("-", "_") in said.replace("-", "_")


# Worlds and posteriors ----------------------------------------------------------------------------

MODELS = split("simulate --policy ids-n --policy ts-n --graph star --arms 3 --horizon 8 --trials 5")


def test_models_of_the_command_equal_those_of_the_python_function() -> None:
    for family in FAMILIES:
        given = FAMILIES[family]
        means = ",".join(map(str, given.means))
        for options, world, posterior in (
            ([f"--world={given.world}"], given.world, None),
            (
                [
                    f"--world={given.world}",
                    f"--posterior={given.other_posterior}",
                    f"--means={means}",
                ],
                as_world(given.world, 3, means=given.means),
                given.other_posterior,
            ),
        ):
            shown = answer(*MODELS, *options)
            results = graphbandits.simulate(
                ["ids-n", "ts-n"], world, "star", arms=3, horizon=8, trials=5, posterior=posterior
            )
            assert shown == json.loads(json.dumps(results.summary()))


def test_prior_is_given_once_or_per_arm() -> None:
    once = answer(*MODELS, "--world=gaussian", "--prior=mean=0.5,sd=2")
    thrice = answer(*MODELS, "--world=gaussian", *["--prior=0.5,2"] * 3)
    assert once == thrice
    text = answer(*MODELS, "--world=gaussian(mean=0.5, sd=2)")
    assert once == text
    beta = answer(*MODELS, "--prior=2,5")
    assert beta["settings"]["prior"] == [[2.0, 5.0]] * 3
    assert beta == answer(*MODELS, "--world=bernoulli(a=2, b=5)")


def test_world_of_a_plug_in_file(place: Path) -> None:
    write_plugin(place / "mine.py")
    options = ["--plugin=mine.py", "--world=my-world(scale=0.5)", "--posterior=my-beta(a=2)"]
    shown = answer(*MODELS, *options)
    assert shown["settings"]["world"] == "MyWorld"
    assert shown["settings"]["world_parameters"] == {"scale": 0.5}
    assert shown["settings"]["posterior"]["limit"] == "inf"


def test_command_that_repeats_a_stored_simulation_has_its_models(place: Path) -> None:
    """The stored command gives the stored results: nothing is left to run."""
    given = ["--world=gaussian(noise=2)", "--posterior=normal(sd=2)", "--means=1.0,2.5,-1.0"]
    given += ["--prior=mean=1", "--output=out"]
    run(*MODELS, *given)
    study = graphbandits.open_study(place / "out")
    words = shlex.split(study.record.rerun)
    assert words[0] == "graphbandits"
    assert set(given) <= set(words)
    before = set((place / "out" / "shards").rglob("*.parquet"))
    run(*words[1:])
    assert set((place / "out" / "shards").rglob("*.parquet")) == before


def test_bad_models_are_refused(place: Path) -> None:
    for options, words in [
        (["--world=gaussian(fixed=[1, 2])"], ["each of the 3 arms"]),
        (["--world=my-world"], ["unknown world 'my-world'", "--plugin FILE"]),
        (["--means="], ["is not numbers separated by commas"]),
        (["--means=0.1,,0.2"], ["is not numbers separated by commas", "'0.1,,0.2'"]),
        (["--prior=2,5", "--prior=1,1", "--prior=x"], ["two numbers A,B", "'x'"]),
        (["--world=gaussian", "--prior=1,2,3,4"], ["mean, sd, noise"]),
        (["--world=gaussian", "--prior=1,2", "--prior=noise=3", "--prior=1,2"], ["noise"]),
        (["--world=gaussian", "--policy=ids-n(gain=joint)"], ["'information'", "gain=bound"]),
    ]:
        message = refused_command(place, [*MODELS, *options])
        missing = [word for word in words if word not in message]
        assert not missing, message
        assert refused_command(place, [*MODELS, "--output=out", *options]) == message
