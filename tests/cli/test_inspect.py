"""Tests of cli/inspect.py: ``graphbandits inspect``."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from helpers.command_line import answer, read_json, refused_command, run
from helpers.reward_families import FAMILIES
from typer.testing import CliRunner

import graphbandits
from graphbandits._files import json_text
from graphbandits.cli import app

RULES = ["ts-n", "ids-n", "idsn-lp", "ids-lp"]


PARTS = ["arms", "alpha", "delta", "h", "v", "rho", "accuracy", "gain", "pi", "ratio"]
PARTS += ["joint_ratio", "psi", "limit"]
#: The rules that use a gain, with the exact gain g.
BY_JOINT = [f"{name}(gain=joint)" for name in RULES if name != "ts-n"]
TOURNAMENT = ["inspect", "--beta", "1,2", "--beta", "4,4", "--beta", "12,9"]


@pytest.fixture
def tournament(place: Path) -> list[str]:
    """Three arms, and the directed transitive tournament 1->2, 1->3, 2->3."""
    (place / "edges.txt").write_text("1 2\n1 3\n2 3\n")
    return [*TOURNAMENT, "--graph", "file:edges.txt"]


def test_the_published_information_ratio_of_the_tournament(tournament: list[str]) -> None:
    shown = answer(*tournament)
    assert shown["ratio"]["ts-n"] == pytest.approx(0.715401495806, abs=1e-11)


def test_the_parts_of_a_decision_agree_with_each_other(tournament: list[str]) -> None:
    shown = answer(*tournament)
    assert list(shown) == PARTS
    assert sorted(shown["pi"]) == sorted(RULES + BY_JOINT)
    assert list(shown["ratio"]) == list(shown["joint_ratio"]) == list(shown["pi"])
    assert sum(shown["alpha"]) == pytest.approx(1.0, abs=1e-12)
    means = [1 / 3, 1 / 2, 12 / 21]
    assert shown["delta"] == pytest.approx([shown["rho"] - mean for mean in means], abs=1e-12)
    delta = np.array(shown["delta"])
    gain, joint = (np.array(shown["gain"][key]) for key in ("bound", "joint"))
    assert (
        joint[0] > 1.001 * gain[0]
    )  # three arms seen together give more information than separately
    assert joint[1] > gain[1]
    assert joint[2] == pytest.approx(gain[2], rel=1e-12)
    for name, play in shown["pi"].items():
        pi = np.array(play)
        assert pi.min() >= 0.0
        assert pi.sum() == pytest.approx(1.0, abs=1e-12)
        assert shown["ratio"][name] == pytest.approx((pi @ delta) ** 2 / (pi @ gain), rel=1e-12)
        by_g = (pi @ delta) ** 2 / (pi @ joint)
        assert shown["joint_ratio"][name] == pytest.approx(by_g, rel=1e-12)
    assert shown["pi"]["ts-n"] == shown["alpha"]
    assert np.count_nonzero(shown["pi"]["ids-n"]) <= 2
    assert shown["ratio"]["ids-n"] == min(shown["ratio"].values())
    assert shown["joint_ratio"]["ids-n(gain=joint)"] == min(shown["joint_ratio"].values())
    assert shown["psi"] == shown["ratio"]["ts-n"] <= shown["limit"] == 3 / 2  # three cliques


def test_tightness_of_the_bound_is_shown(tournament: list[str]) -> None:
    numbers, shown = answer(*tournament)["gain"], run(*tournament)
    share = 100.0 * numbers["bound"][0] / numbers["joint"][0]
    assert share < 99.9
    lines = [line.split() for line in shown.splitlines()]
    believed = [next(line for line in lines if line[:1] == [arm]) for arm in ("1", "2", "3")]
    assert believed[0][-1] == f"{share:.1f}%"
    assert believed[2][-1] == "100.0%"
    assert "psi, the ratio of ts-n with G h: 0.7154, at most 1.5 here." in shown


def test_inspect_uses_strict_accuracy_and_reports_it() -> None:
    """A leader by ten standard deviations: P(Beta(40, 160) > Beta(150, 50)), exactly."""
    words = ["inspect", "--beta", "150,50", "--beta", "40,160", "--graph", "empty"]
    numbers, shown = answer(*words), run(*words)

    def beta(a: int, b: int) -> Fraction:
        return Fraction(math.factorial(a - 1) * math.factorial(b - 1), math.factorial(a + b - 1))

    chance = sum(
        beta(150 + i, 210) / ((160 + i) * beta(1 + i, 160) * beta(150, 50)) for i in range(40)
    )
    assert 0.0 < chance < 1e-25
    assert numbers["accuracy"]["setting"] == "strict"
    assert 0.0 < numbers["accuracy"]["estimate"] < 1e-8
    error = abs(numbers["alpha"][1] / float(chance) - 1.0)
    assert error <= numbers["accuracy"]["estimate"]
    assert f" {float(chance):.1e} " in shown
    estimate = f"{numbers['accuracy']['estimate']:.0e}"
    assert f"relative accuracy {estimate} " in shown
    assert "(estimated)." in shown


def test_a_table_of_eighty_columns_cuts_no_number() -> None:
    for betas, words in [
        (["500000,500000", "500100,499900"], ["500100, 499900", "0.4438", "0.5562"]),
        (["0.001,0.001", "1,1"], ["0.001, 0.001", "0.7498", "0.2498"]),
        (["999999999,1", "5,0.001"], ["999999999, 1", "best arm: 1.0000"]),
        (
            ["0.001,1e9", "0.002,1e9"],
            ["0.002, 1000000000", "best arm: 3.0e-12", "0.3333", "0.6667"],
        ),
        (["999999999.5,999999998.5", "1e9,1e9"], ["999999999.5,", "999999998.5", "0.5000"]),
    ]:
        options = [word for beta in betas for word in ("--beta", beta)]
        narrow = CliRunner(env={"COLUMNS": "80"})
        shown = narrow.invoke(app, ["inspect", *options, "--graph", "star"]).stdout
        assert all(word in shown for word in words)
        assert "…" not in shown
        assert "0.0000" not in shown
        assert max(map(len, shown.splitlines())) <= 80


def test_names_in_brackets_are_shown_literally(place: Path) -> None:
    for name in ["[red]ann", "[/x]", "[bold]", "ann[1]", "\\[b]"]:
        (place / "edges.txt").write_text(f"{name} bob\n")
        args = ["inspect", "--beta", "1,1", "--beta", "1,1", "--graph", "file:edges.txt"]
        assert answer(*args)["arms"] == [name, "bob"]
        assert name in run(*args)


def test_bad_priors_are_refused(place: Path) -> None:
    for beta, words in [
        ("nan,1", ["from 0.001 to 1e+09, not nan"]),
        ("1,2e9", ["from 0.001 to 1e+09, not 2e+09"]),
        *(
            (text, [f"'{text}'", "two numbers A,B"])
            for text in ("1", "a,b", "1,2,3", "", "1,", ",")
        ),
        ("1;2", ["'1;2'", "two numbers A,B"]),
    ]:
        args = ["inspect", "--beta", "1,1", "--beta", beta, "--graph", "empty"]
        message = refused_command(place, args)
        assert all(word in message for word in words)
        assert refused_command(place, [*args, "--json"]) == message


def test_number_of_betas_must_equal_number_of_arms(bad_files: Path) -> None:
    for graph, betas, words in [
        ("file:good.txt", 2, ["3 arms", "2", "--beta"]),
        ("file:good.txt", 4, ["3 arms", "4", "--beta"]),
        ("paper", 2, ["5 arms", "2", "--beta"]),
        ("grid(columns=2)", 3, ["multiple of 2", "3"]),
    ]:
        message = refused_command(
            bad_files, ["inspect", *["--beta", "1,1"] * betas, "--graph", graph]
        )
        assert all(word in message for word in words)
        assert "--arms" not in message  # inspect has no option for the number of arms


# Other posteriors, and priors ---------------------------------------------------------------------

NORMAL = ["inspect", "--posterior", "normal(noise=0.5)", "--graph", "star"]
ARMS = ["--arm", "mean=0.3,sd=0.2", "--arm", "0.1,1"]


def test_posterior_and_arms_equal_the_python_function() -> None:
    shown = answer(*NORMAL, *ARMS)
    arms = [{"mean": 0.3, "sd": 0.2}, (0.1, 1.0)]
    found = graphbandits.inspect_decision(arms, "star", posterior="normal(noise=0.5)")
    assert shown == read_json(json_text(found.to_dict()))
    assert shown["gain"]["joint"] is None
    assert "'information'" in shown["gain"]["reason"]


def test_table_shows_the_parameters_and_why_there_is_no_g() -> None:
    text = run(*NORMAL, *ARMS)
    assert "mean=0.3, sd=0.2" in text
    assert "No g: the posterior 'normal' has no method 'information'" in text
    assert "psi" in text


def test_prior_of_every_family_is_shown() -> None:
    for family in FAMILIES:
        text = FAMILIES[family].posterior
        args = ["inspect", "--prior", text, "--arms", 3]
        expected = graphbandits.inspect_prior(text, arms=3)
        assert answer(*args) == read_json(json_text(expected.to_dict()))
        shown = run(*args)
        assert f"Expected mean of an arm: {expected.mean:.4g}" in shown
        assert f"of the best of 3 arms: {expected.best:.4g}" in shown
        for value in (*expected.mean_quantiles, *expected.reward_quantiles):
            assert f"{value:.5g}" in shown


def test_prior_as_a_pair_is_a_beta_prior() -> None:
    args = ["inspect", "--prior"]
    assert answer(*args, "2,6") == answer(*args, "beta-bernoulli(a=2, b=6)")


def test_bad_posteriors_and_priors_are_refused(place: Path) -> None:
    for args, words in [
        (["--prior", "1,2,3"], ["two numbers A,B"]),
        (["--prior", "normal", "--arms", "many"], ["--arms", "'many'"]),
        (["--prior", "normal", "--beta", "1,1"], ["--prior cannot be combined"]),
        (["--graph", "star"], ["a decision needs arms"]),
        (["--arm", "0,1", "--graph", "star"], ["a decision needs arms"]),
        (["--beta", "1,1", "--posterior", "normal", "--graph", "star"], ["a decision needs arms"]),
        (["--beta", "1,1", "--beta", "1,1", "--graph", "star", "--arms", "2"], ["--arms is for"]),
        ([*NORMAL[1:], "--arm", "", "--arm", "0,1"], ["mean, sd"]),
    ]:
        message = refused_command(place, ["inspect", *args])
        missing = [word for word in words if word not in message]
        assert not missing, message
        assert refused_command(place, ["inspect", *args, "--json"]) == message
