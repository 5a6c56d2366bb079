"""Tests of plots: invalid input of the figure functions."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.bad_input import refuses
from helpers.figures import Paired, made

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
from graphbandits.simulation.statistics import Difference


def paired(*differences: Difference, trials: int = 3) -> Paired:
    plain = made({"a": [1.0] * trials, "b": [2.0] * trials, "$c_1$": [2.0] * trials})
    settings = {"differences": list(differences)}
    return Paired(plain.rounds, plain.policies, plain.arms, settings)


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda r: regret_figure(r, band="quantile"), id="unknown band"),
        pytest.param(lambda r: regret_figure(r, scale="logarithm"), id="unknown scale"),
        pytest.param(lambda r: regret_figure(r, confidence=95), id="confidence above 1"),
        pytest.param(lambda r: final_figure(r, confidence=0), id="confidence 0"),
        pytest.param(lambda r: regret_figure(r, width=0.5), id="narrow width"),
        pytest.param(lambda r: sweep_figure({}, "r"), id="no values"),
        pytest.param(lambda r: sweep_figure({1: r, "2": r}, "r"), id="mixed values"),
        pytest.param(lambda r: sweep_figure({True: r}, "r"), id="bool value"),
        pytest.param(lambda r: sweep_figure({float("nan"): r}, "r"), id="nan value"),
        pytest.param(lambda r: sweep_figure({0: r}, "r", scale="log"), id="log scale at 0"),
        pytest.param(lambda r: sweep_figure({"a": r}, "r", scale="log"), id="log scale of texts"),
        pytest.param(lambda r: sweep_figure({1: "r"}, "r"), id="not results"),
        pytest.param(lambda r: plays_figure(r, "idsn"), id="unknown policy"),
        pytest.param(lambda r: plays_figure(r, []), id="no policies"),
        pytest.param(lambda r: plays_figure(r, graph=np.eye(3)), id="graph of other size"),
        pytest.param(lambda r: plays_figure(r, graph=RandomFeedback(5, 0.5)), id="random graph"),
        pytest.param(
            lambda r: plays_figure(r, graph=Fixed(UniformFeedback(1.0, 5), tuple("abcde"))),
            id="other arm names",
        ),
        pytest.param(lambda r: forest_figure(paired(), "a"), id="one policy by reference"),
        pytest.param(lambda r: forest_figure(r.only(["ts-n"])), id="one policy"),
        pytest.param(
            lambda r: forest_figure(r, "ts-n", all_pairs=True), id="all pairs with reference"
        ),
        pytest.param(lambda r: forest_figure(r, xscale="log"), id="log differences"),
        pytest.param(lambda r: forest_figure(r, xscale="logit"), id="unknown xscale"),
        pytest.param(lambda r: regret_figure(r, yscale="logit"), id="unknown yscale"),
        pytest.param(
            lambda r: sweep_figure({1: r}, "r", yscale="logit"), id="unknown yscale of sweep"
        ),
        pytest.param(lambda r: plays_figure(r, by="ranks"), id="unknown by"),
        pytest.param(lambda r: plays_figure(made({"a": [1.0]}), by="rank"), id="no ranks"),
        pytest.param(
            lambda r: save_figure(regret_figure(r), "figure", ["gif"]), id="unknown format"
        ),
        pytest.param(
            lambda r: save_figure(regret_figure(r), "figure.pdf", "png"), id="two formats"
        ),
    ],
)
def test_invalid_input_is_refused(results: Results, call, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    with refuses(InputError):
        call(results)
    assert list(tmp_path.iterdir()) == []
