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

QUANTILES = ["0.1", "0.25", "0.5", "0.75", "0.9", "0.95"]


@pytest.mark.parametrize("graph", ["paper", "star", "random(r=uniform)", "file:edges.txt"])
def test_simulate_command_equals_the_python_function(place: Path, graph: str) -> None:
    (place / "edges.txt").write_text("ann bob 0.5\nbob carol\n")
    policies = ["ids-n", "ts-n"]
    size = {"horizon": 7, "trials": 5, "seed": 3}
    options = [f"--{name}={value}" for name, value in size.items()]
    shown = answer("simulate", "--policy", "ids-n", "--policy", "ts-n", "--graph", graph, *options)
    results = graphbandits.simulate(policies, graph=graph, **size)  # type: ignore[arg-type]
    assert shown == json.loads(json.dumps(results.summary()))
    assert list(shown["policies"]) == policies
    for name in policies:
        regret = shown["policies"][name]["regret"]
        assert regret["mean"] == results[name].final.mean()
        assert regret["quantiles"]["0.9"] == np.quantile(results[name].final, 0.9)


def test_simulate_answers_with_regret_curve_and_settings() -> None:
    args = "simulate --policy ids-n --policy ts-n --graph star --arms 4 --horizon 300 --trials 9"
    shown = answer(*split(args))
    assert list(shown) == ["policies", "settings"]
    for numbers in shown["policies"].values():
        regret, curve = numbers["regret"], numbers["curve"]
        assert curve["mean"][-1] == regret["mean"]
        assert len(curve["round"]) == len(curve["mean"]) <= 200
        assert (curve["round"][0], curve["round"][-1]) == (1, 300)
        assert np.all(np.diff(curve["round"]) > 0)
        assert np.all(np.diff(curve["mean"]) >= 0)
        assert list(regret["quantiles"]) == QUANTILES
        assert np.all(np.diff(list(regret["quantiles"].values())) >= 0)
        assert regret["quantiles"]["0.1"] < regret["quantiles"]["0.95"]
        assert regret["standard_error"] > 0
        assert sum(numbers["plays"].values()) == 300 * 9
    given = {"graph": "star", "arms": 4, "horizon": 300, "trials": 9, "seed": 0}
    assert given.items() <= shown["settings"].items()


def test_simulate_gives_the_same_bits_for_any_number_of_workers() -> None:
    args = "simulate --policy ids-n --policy ts-n --graph random(r=0.5) --horizon 4 --trials 230"
    one = run(*split(args), "--workers", 1, "--json")
    assert run(*split(args), "--workers", 2, "--json") == one
    assert run(*split(args), "--json") == one


def test_results_of_a_policy_do_not_depend_on_other_policies() -> None:
    together = answer(*SIMULATE, "--policy", "ts-n")
    alone = answer(*SIMULATE)
    assert together["policies"]["ids-n"] == alone["policies"]["ids-n"]


def test_results_depend_on_the_seed() -> None:
    assert answer(*SIMULATE, "--seed", 1) == answer(*SIMULATE, "--seed", 1)
    one, other = (answer(*SIMULATE, "--seed", seed)["policies"] for seed in (1, 2))
    assert one != other


@pytest.mark.parametrize(
    ("options", "arms"),
    [
        (["--graph", "empty"], 5),
        (["--graph", "empty", "--arms", "3"], 3),
        (["--graph", "paper"], 5),
    ],
)
def test_number_of_arms_comes_from_option_or_graph(options: list[str], arms: int) -> None:
    shown = answer("simulate", "--policy", "ts-n", "--horizon", 2, "--trials", 2, *options)
    assert shown["settings"]["arms"] == arms
    assert list(shown["policies"]["ts-n"]["plays"]) == [str(i + 1) for i in range(arms)]


def test_one_trial_has_a_regret_and_no_standard_error() -> None:
    shown = answer(*SIMULATE, "--trials", 1)["policies"]["ids-n"]["regret"]
    assert shown["standard_error"] is None
    assert set(shown["quantiles"].values()) == {shown["mean"]}


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


def test_table_of_one_trial_notes_the_missing_interval() -> None:
    shown = run(*SIMULATE, "--policy", "ts-n", "--trials", 1)
    assert "nan" not in shown
    mean = graphbandits.simulate("ids-n", graph="paper", horizon=3, trials=1)["ids-n"].mean[-1]
    row = next(line for line in shown.splitlines() if line.split()[:1] == ["ids-n"])
    # policy, regret, interval, median and 95% quantile: no column is blank
    assert len(row.split()) >= 5
    assert row.split()[1] == f"{mean:.2f}"


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


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--policy ids-m", ["unknown policy 'ids-m'", "did you mean 'ids-n'", "ts-n-sampled"]),
        ("--policy IDS-N", ["unknown policy 'IDS-N'", "ids-n"]),
        ("--policy thompson", ["unknown policy 'thompson'", "ts-n"]),
        ("--policy ids_lp", ["unknown policy 'ids_lp'", "did you mean 'ids-lp'"]),
        ("--policy ts-n(draws=5)", ["'ts-n'", "no parameter 'draws'", "it has no parameters"]),
        ("--policy ts-n(5)", ["ts-n(5)", "key=value"]),
        ("--policy ts-n(", ["'ts-n('", "name(key=value"]),
        ("--policy eps-greedy-lp(c={c})", ["{c} is a placeholder", "experiment file"]),
        ("--policy ids-n", ["'ids-n'", "twice"]),
        ("--policy ids-n()", ["'ids-n'", "twice"]),
        ("--policy=", ["policy ''", "name"]),
        ("--graph sta", ["unknown graph 'sta'", "did you mean 'star'", "paper", "ring"]),
        ("--graph edges.txt", ["unknown graph 'edges.txt'", "did you mean 'edges'?"]),
        ("--graph star(way=in)", ["'star'", "no parameter 'way'", "direction"]),
        ("--graph paper(size=3)", ["'paper'", "no parameter 'size'", "it has no parameters"]),
        ("--graph star(direction=up)", ["'up'", "both", "out", "in"]),
        ("--graph cliques", ["'cliques'", "needs size", "cliques(size=...)"]),
        ("--graph cliques(size=0)", ["size", "at least 1", "0"]),
        ("--graph cliques(size=2.5)", ["size", "whole number", "2.5"]),
        ("--graph cliques(size=1,size=2)", ["'size'", "twice"]),
        ("--graph grid(columns=3)", ["multiple of 3", "5"]),
        ("--graph random(r=1.5)", ["r", "[0, 1]", "1.5"]),
        ("--graph random(r=nan)", ["r", "[0, 1]", "nan"]),
        ("--graph random(r=[0.5,0.5])", ["2 rounds", "3"]),
        ("--graph random(r=none)", ["r", "[0, 1]"]),
        ("--graph revealed-er(p=-1)", ["p", "[0, 1]", "-1"]),
        ("--graph ring(directed=maybe)", ["directed", "true", "maybe"]),
        ("--graph revealed-er(shared=5)", ["shared", "true", "5"]),
        ("--graph=", ["graph ''", "name"]),
        ("--arms 4", ["'paper'", "5 arms", "4"]),
        ("--graph file:good.txt --arms 4", ["3 arms", "4"]),
        (f"--graph star({'x' * 300}=1)", ["'star'", "no parameter"]),
        (f"--graph star --arms {10**20}", ["arms must be at most 1000000000", str(10**20)]),
        ("--graph star --arms 0", ["arms", "at least 1", "0"]),
        ("--graph star --arms -2", ["arms", "at least 1", "-2"]),
        ("--trials 0", ["trials", "at least 1", "0"]),
        ("--trials -3", ["trials", "at least 1", "-3"]),
        ("--horizon 0", ["horizon", "at least 1", "0"]),
        ("--horizon -1", ["horizon", "at least 1", "-1"]),
        ("--workers 0", ["workers", "at least 1", "0"]),
        ("--workers -1", ["workers", "at least 1", "-1"]),
        ("--seed -1", ["seed", "at least 0", "-1"]),
        ("--trials x", ["--trials", "'x'"]),
        ("--trials 2.5", ["--trials", "'2.5'"]),
        ("--horizon many", ["--horizon", "'many'"]),
        ("--seed now", ["--seed", "'now'"]),
        ("--trials", ["--trials", "argument"]),
        ("--rounds 5", ["--rounds"]),
        ("extra", ["extra"]),
    ],
)
def test_bad_simulations_are_refused(bad_files: Path, options: str, words: list[str]) -> None:
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
    assert "--record=actions --record=observations" in study.rerun


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


@pytest.mark.parametrize("words", ["--delay=-1", "--delay=3,2", "--delay=x", "--answer-rate=0"])
def test_bad_delays_and_answer_rates(place: Path, words: str) -> None:
    said = refused_command(place, [*SIMULATE, words])
    assert words.partition("=")[0].strip("-").replace("-", "_") in said.replace("-", "_")


def test_record_needs_an_output_directory(place: Path) -> None:
    said = refused_command(place, [*SIMULATE, "--record", "actions"])
    assert "--record needs --output DIR" in said


# Worlds and posteriors ----------------------------------------------------------------------------

MODELS = split("simulate --policy ids-n --policy ts-n --graph star --arms 3 --horizon 8 --trials 5")


@pytest.mark.parametrize("family", FAMILIES)
def test_models_of_the_command_equal_those_of_the_python_function(family: str) -> None:
    given = FAMILIES[family]
    means = ",".join(map(str, given.means))
    for options, world, posterior in (
        ([f"--world={given.world}"], given.world, None),
        (
            [f"--world={given.world}", f"--posterior={given.other_posterior}", f"--means={means}"],
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


def test_number_of_arms_comes_from_means_or_priors() -> None:
    words = [word for word in MODELS if word not in ("--arms", "3")]
    assert answer(*words, "--means=0.1,0.2")["settings"]["arms"] == 2
    assert answer(*words, *["--prior=1,2"] * 4)["settings"]["arms"] == 4


@pytest.mark.process
def test_world_of_a_plug_in_file(place: Path) -> None:
    write_plugin(place / "mine.py")
    options = ["--plugin=mine.py", "--world=my-world(scale=0.5)", "--posterior=my-beta(a=2)"]
    shown = answer(*MODELS, *options)
    assert shown["settings"]["world"] == "MyWorld"
    assert shown["settings"]["world_parameters"] == {"scale": 0.5}
    assert shown["settings"]["posterior"]["limit"] == "inf"


@pytest.mark.process
def test_command_that_repeats_a_stored_simulation_has_its_models(place: Path) -> None:
    """The stored command gives the stored results: nothing is left to run."""
    given = ["--world=gaussian(noise=2)", "--posterior=normal(sd=2)", "--means=1,2.5,-1"]
    given += ["--prior=mean=1", "--output=out"]
    run(*MODELS, *given)
    study = graphbandits.open_study(place / "out")
    words = shlex.split(study.record.rerun)
    assert words[0] == "graphbandits"
    assert set(given) <= set(words)
    before = set((place / "out" / "shards").rglob("*.parquet"))
    run(*words[1:])
    assert set((place / "out" / "shards").rglob("*.parquet")) == before


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--world=gausian"], ["unknown world 'gausian'", "did you mean 'gaussian'"]),
        (["--world=gaussian(sd=-1)"], ["sd must be from"]),
        (["--world=gaussian(fixed=[1, 2])"], ["each of the 3 arms"]),
        (["--world=gaussian(fixed=5)"], ["each of the 3 arms"]),
        (["--world=my-world"], ["unknown world 'my-world'", "--plugin FILE"]),
        (["--posterior=normal(noise=inf)"], ["noise", "inf"]),
        (["--means="], ["--means must be numbers"]),
        (["--means=0.1,,0.2"], ["--means must be numbers", "'0.1,,0.2'"]),
        (["--means=0.1,0.2,inf"], ["fixed means must be"]),
        (["--means=0.1,0.2,-0.3"], ["[0, 1]"]),
        (["--prior=2,5", "--prior=1,1", "--prior=x"], ["two numbers A,B", "'x'"]),
        (["--world=gaussian", "--prior=1,2,3,4"], ["mean, sd, noise"]),
        (["--world=gaussian", "--prior=1,2", "--prior=noise=3", "--prior=1,2"], ["noise"]),
        (["--world=gaussian", "--policy=exp3-set"], ["'exp3-set'", "bounded interval"]),
        (["--world=gaussian", "--policy=kl-ucb"], ["'kl-ucb'"]),
        (["--world=gaussian", "--policy=ids-n(gain=joint)"], ["'information'", "gain=bound"]),
    ],
    ids=lambda value: " ".join(value),
)
def test_bad_models_are_refused(place: Path, options: list[str], words: list[str]) -> None:
    message = refused_command(place, [*MODELS, *options])
    missing = [word for word in words if word not in message]
    assert not missing, message
    assert refused_command(place, [*MODELS, "--output=out", *options]) == message
