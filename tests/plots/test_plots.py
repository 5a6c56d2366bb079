"""Tests of plots: invalid input of the figure functions."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.figures import Paired, made
from helpers.messages import raises_pinned

from graphbandits import Results
from graphbandits.errors import InputError
from graphbandits.graphs import Fixed, RandomFeedback, UniformFeedback
from graphbandits.plots import (
    final_figure,
    forest_figure,
    plays_figure,
    regret_figure,
    save_figure,
    sweep_figure,
)
from graphbandits.results import Difference


def paired(*differences: Difference, trials: int = 3) -> Paired:
    plain = made({"a": [1.0] * trials, "b": [2.0] * trials, "$c_1$": [2.0] * trials})
    settings = {"differences": list(differences)}
    return Paired(plain.rounds, plain.policies, plain.arms, settings)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda r: regret_figure(r, band="quantile"), "did you mean 'quantiles'"),
        (lambda r: regret_figure(r, scale="logarithm"), "unknown scale"),
        (lambda r: regret_figure(r, confidence=95), "between 0 and 1"),
        (lambda r: final_figure(r, confidence=0), "between 0 and 1"),
        (lambda r: regret_figure(r, width=0.5), "3.5 is one column"),
        (lambda r: sweep_figure({}, "r"), "at least one value"),
        (lambda r: sweep_figure({1: r, "2": r}, "r"), "all finite numbers or all texts"),
        (lambda r: sweep_figure({True: r}, "r"), "all finite numbers or all texts"),
        (lambda r: sweep_figure({float("nan"): r}, "r"), "finite"),
        (lambda r: sweep_figure({0: r}, "r", scale="log"), "above 0"),
        (lambda r: sweep_figure({"a": r}, "r", scale="log"), "texts"),
        (lambda r: sweep_figure({1: "r"}, "r"), "{value: results}"),
        (lambda r: plays_figure(r, "idsn"), "no policy 'idsn'"),
        (lambda r: plays_figure(r, []), "no policy was named"),
        (lambda r: plays_figure(r, graph=np.eye(3)), "3 arms"),
        (lambda r: plays_figure(r, graph=RandomFeedback(5, 0.5)), "only a fixed graph"),
        (
            lambda r: plays_figure(r, graph=Fixed(UniformFeedback(1.0, 5), tuple("abcde"))),
            "a, b, c",
        ),
        (lambda r: forest_figure(paired(), "a"), "two or more"),
        (lambda r: forest_figure(r.only(["ts-n"])), "two or more"),
        (lambda r: forest_figure(r, "ts-n", all_pairs=True), "does not go with a reference"),
        (lambda r: forest_figure(r, xscale="log"), "below zero"),
        (lambda r: forest_figure(r, xscale="logit"), "unknown xscale"),
        (lambda r: regret_figure(r, yscale="logit"), "unknown yscale"),
        (lambda r: sweep_figure({1: r}, "r", yscale="logit"), "unknown yscale"),
        (lambda r: plays_figure(r, by="ranks"), "did you mean 'rank'"),
        (lambda r: plays_figure(made({"a": [1.0]}), by="rank"), "plays by rank"),
        (lambda r: save_figure(regret_figure(r), "figure", ["gif"]), "unknown kind"),
        (lambda r: save_figure(regret_figure(r), "figure.pdf", "png"), "has an ending"),
    ],
)
def test_invalid_input_is_named(results: Results, call, words: str, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    with raises_pinned(InputError):
        call(results)
    assert list(tmp_path.iterdir()) == []
