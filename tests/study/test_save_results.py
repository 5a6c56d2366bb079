"""Tests of save_results in study/run.py: results in memory become a study, bit for bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import networkx
import pytest
from helpers.made_up_results import SPARSE, made, random_regret, recorded, recorded_eligible, same
from helpers.stores import a_plan

from graphbandits import Results, open_studies, open_study, save_results, simulate
from graphbandits.errors import InputError
from graphbandits.graphs import Fixed
from graphbandits.simulation.results import concat
from graphbandits.study.run import run_plan

HOW: dict[str, Any] = {"horizon": 12, "trials": 7, "seed": 2**64 + 1, "progress": False}


def test_saved_results_are_read_back_bit_by_bit(tmp_path: Path) -> None:
    for kind in ("ratios", "eligible", "revealed", "sparse", "uniform", "late"):
        place = tmp_path / str(len(list(tmp_path.iterdir())))
        place.mkdir()
        results = {
            "ratios": recorded,
            "eligible": recorded_eligible,
            "revealed": lambda: simulate("ids-n", graph="revealed-er(p=0.4)", arms=4, **HOW),
            "sparse": lambda: simulate("ts-n", graph=Fixed(SPARSE), first_trial=3, **HOW),
            "uniform": lambda: simulate(
                "ts-n", graph="random(r=0.5)", arms=3, rounds=[3, 12], **HOW
            ),
            "late": lambda: simulate(
                "ts-n", world="gaussian", graph="star", arms=3, delay=2, **HOW
            ),
        }[kind]()
        save_results(results, place / "run")
        again = open_study(place / "run").results(trajectories=True)
        same(again, results)
        assert again.settings == results.settings
        for name, mine in results.policies.items():
            theirs = again[name]
            for part in ("rank_plays", "trial_plays"):
                assert repr(getattr(mine, part)) == repr(getattr(theirs, part))
            if mine.trajectories is not None:
                for table in mine.trajectories.recorded:
                    wanted = results.trajectories(name).table(table)
                    assert again.trajectories(name).table(table).equals(wanted)
                    assert (
                        open_study(place / "run")
                        .trajectories(policy=name)
                        .table(table)
                        .equals(wanted)
                    )


def test_results_have_the_series_of_a_run(tmp_path: Path) -> None:
    """A run of the same simulation uses the saved trials."""
    plan = a_plan()
    how = {"world": plan.world, "graph": plan.process.feedback.matrix, "horizon": 15, "seed": 4}
    first, later = (
        simulate(list(plan.policies), trials=trials, first_trial=at, progress=False, **how)
        for at, trials in ((0, 5), (5, 7))
    )
    study = save_results(concat([first, later]), tmp_path, title="Mine")
    assert (study.title, study.trials) == ("Mine", 12)
    before = {path.name for path in tmp_path.rglob("*.parquet")}
    decisions: list[int] = []
    again = run_plan(plan, tmp_path, progress=decisions.append)
    assert not decisions
    assert {path.name for path in tmp_path.rglob("*.parquet")} == before
    same(again.results(), study.results())
    assert list(open_studies(tmp_path)) == ["simulation"]


def test_policies_of_one_run_are_saved_together(tmp_path: Path) -> None:
    parts = [simulate(name, graph="paper", **HOW) for name in ("ts-n", "ids-n", "ucb1")]
    together = concat(parts).only(["ucb1", "ts-n"])
    save_results(together, tmp_path)
    same(open_study(tmp_path).results(), together)


def test_results_without_a_single_simulation_are_refused(tmp_path: Path) -> None:
    one = simulate("ts-n", graph="paper", **HOW)
    other = simulate("ts-n", graph="paper", **(HOW | {"seed": 3}))
    stored = save_results(one, tmp_path / "stored").results()
    wrong: list[Results] = [
        concat([one, other]),
        one.renamed({"ts-n": "mine"}),
        made({"x": random_regret(0)}),
        stored,
    ]
    for results in wrong:
        with pytest.raises(InputError, match="these results cannot be saved: they have several"):
            save_results(results, tmp_path / "wrong")
    assert not (tmp_path / "wrong").exists()


def test_names_of_arms_are_kept(tmp_path: Path) -> None:
    graph = networkx.DiGraph([("ann", "bob lee"), ("bob lee", "Zoë")])
    save_results(simulate("ts-n", graph=graph, **HOW), tmp_path)
    assert open_study(tmp_path).results().arms == ("ann", "bob lee", "Zoë")
