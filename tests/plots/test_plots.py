"""Tests of plots: invalid input of the figure functions."""

from __future__ import annotations

import numpy as np
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


def test_invalid_input_is_refused(results: Results, tmp_path, monkeypatch) -> None:
    for call in (
        lambda r: regret_figure(r, band="quantile"),
        lambda r: regret_figure(r, scale="logarithm"),
        lambda r: regret_figure(r, confidence=95),
        lambda r: final_figure(r, confidence=0),
        lambda r: regret_figure(r, width=0.5),
        lambda r: sweep_figure({}, "r"),
        lambda r: sweep_figure({1: r, "2": r}, "r"),
        lambda r: sweep_figure({True: r}, "r"),
        lambda r: sweep_figure({float("nan"): r}, "r"),
        lambda r: sweep_figure({0: r}, "r", scale="log"),
        lambda r: sweep_figure({"a": r}, "r", scale="log"),
        lambda r: plays_figure(r, "idsn"),
        lambda r: plays_figure(r, []),
        lambda r: plays_figure(r, graph=np.eye(3)),
        lambda r: plays_figure(r, graph=RandomFeedback(5, 0.5)),
        lambda r: plays_figure(r, graph=Fixed(UniformFeedback(1.0, 5), tuple("abcde"))),
        lambda r: forest_figure(paired(), "a"),
        lambda r: forest_figure(r.only(["ts-n"])),
        lambda r: forest_figure(r, "ts-n", all_pairs=True),
        lambda r: forest_figure(r, xscale="log"),
        lambda r: forest_figure(r, xscale="logit"),
        lambda r: regret_figure(r, yscale="logit"),
        lambda r: sweep_figure({1: r}, "r", yscale="logit"),
        lambda r: plays_figure(r, by="ranks"),
        lambda r: plays_figure(made({"a": [1.0]}), by="rank"),
        lambda r: save_figure(regret_figure(r), "figure", ["gif"]),
        lambda r: save_figure(regret_figure(r), "figure.pdf", "png"),
    ):
        monkeypatch.chdir(tmp_path)
        with refuses(InputError):
            call(results)
        assert list(tmp_path.iterdir()) == []
