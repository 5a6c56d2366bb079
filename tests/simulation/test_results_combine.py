"""Tests of simulation/results.py: results that can or cannot be combined."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.made_up_results import made, random_regret, same

from graphbandits import Results, simulate
from graphbandits._types import Floats
from graphbandits.errors import InputError
from graphbandits.simulation.results import concat


def halves(values: dict[str, Floats], cut: int, **settings: Any) -> list[Results]:
    parts = {name: (regret[:cut], regret[cut:]) for name, regret in values.items()}
    return [
        made({name: part[i] for name, part in parts.items()}, first=first, **settings)
        for i, first in enumerate((0, cut))
    ]


VALUES = {name: random_regret(i) for i, name in enumerate("xyz")}


def test_two_halves_combine_to_the_whole() -> None:
    whole, together = made(VALUES), Results.concat(halves(VALUES, 2))
    same(together, whole)
    assert together.runs == [{"seed": 3, "first_trial": 0, "trials": 6}]
    assert together.settings["trials"] == together.trials == 6


def test_policies_of_the_same_worlds_are_combined() -> None:
    parts = [made({name: values}) for name, values in VALUES.items()]
    same(concat(parts), made(VALUES))
    same(concat([*parts, parts[0]]), made(VALUES))
    assert list(concat(parts[::-1]).policies) == ["z", "y", "x"]
    assert concat(parts[:1]) is parts[0]


def test_grid_of_runs_and_policies_is_combined() -> None:
    parts = [p for name in "xyz" for p in halves({name: VALUES[name]}, 4)]
    same(concat(parts), made(VALUES))
    for some in (parts[:-1], [*parts[:4], parts[5]]):
        with pytest.raises(InputError, match="'z' is missing in seed 3, trials"):
            concat(some)


def test_combined_simulations_equal_a_single_one() -> None:
    settings: dict[str, Any] = {"graph": "star(direction=out)", "horizon": 15, "trials": 8}
    names = ["ts-n", "ids-n"]
    apart = concat([simulate(name, seed=s, **settings) for s in (1, 2) for name in names])
    both = [simulate(names, seed=s, **settings) for s in (1, 2)]
    for name in names:
        assert apart[name].final.tolist() == [v for r in both for v in r[name].final.tolist()]
        assert (apart[name].plays == both[0][name].plays + both[1][name].plays).all()
        assert apart[name].mean[-1] == pytest.approx(apart[name].final.mean(), rel=1e-12)
    assert apart.settings["seed"] is None
    assert [run["seed"] for run in apart.runs] == [1, 2]
    assert apart.differences()[0].mean == pytest.approx(
        np.mean([r.differences(apart.differences()[0].second)[0].mean for r in both])
    )


@pytest.mark.parametrize("first", [0, 3, 5])
def test_overlapping_trials_are_refused(first: int) -> None:
    with pytest.raises(InputError, match=f"the same worlds would count twice: .*trials {first} to"):
        concat([made(VALUES), made({n: v[::-1][:5] for n, v in VALUES.items()}, first=first)])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"horizon": 9}, ["horizon: 4 and 9"]),
        ({"problem": "b" * 64, "graph": "paper"}, ["problem: graph some and graph paper"]),
        ({"regret": "realised"}, ["regret: pseudo and realised"]),
        ({"ratios": "joint"}, ["ratios: not given and joint"]),
        ({"problem": None}, ["register the graph, the world or the posterior in a plug-in"]),
    ],
    ids=lambda value: next(iter(value)),
)
def test_different_problems_are_not_combined(change: dict[str, Any], words: list[str]) -> None:
    one, other = made(VALUES), made(VALUES, seed=9)
    concat([one, other])
    with pytest.raises(InputError) as caught:
        concat([one, replace(other, settings=dict(other.settings) | change)])
    for word in words:
        assert word in str(caught.value)


def test_different_rounds_are_not_combined() -> None:
    one, other = made(VALUES), made(VALUES, seed=9)
    with pytest.raises(InputError, match=r"recorded rounds: \[1, 2, 3, 4\] and \[2, 4, 6, 8\]"):
        concat([one, replace(other, rounds=other.rounds * 2)])


@pytest.mark.parametrize(
    "change",
    [
        {"graph": "path", "arms": 3},
        {"world": "gaussian", "posterior": None},
        {"posterior": "beta-bernoulli(a=2)"},
        {"eligible": 0.5},
        {"delay": 3},
        {"horizon": 9},
    ],
    ids=lambda change: next(iter(change)),
)
def test_simulations_of_different_problems_are_not_combined(change: dict[str, Any]) -> None:
    given: dict[str, Any] = {"graph": "star", "arms": 3, "horizon": 8, "trials": 2}
    one = simulate("ts-n", **given)
    with pytest.raises(InputError, match="results of different problems cannot be combined"):
        concat([one, simulate("ts-n", **given | {"seed": 1} | change)])


def test_the_same_policy_with_other_numbers_or_another_source_is_refused() -> None:
    one = made(VALUES)
    changed = made(VALUES | {"y": VALUES["y"] * 2})
    with pytest.raises(InputError, match=r"policy 'y' has two different results .*final regret of"):
        concat([one, changed])
    ways = [made({"x": VALUES["x"]}, policies={"x": {"source": s}}) for s in ("1a", "2b")]
    with pytest.raises(InputError, match="source of policy 'x': 1a and 2b"):
        concat(ways)
    moved = [
        made({"x": VALUES["x"]}, seed=s, policies={"x": {"source": "1a", "plugin": f"/{s}.py"}})
        for s in (1, 2)
    ]
    assert concat(moved).settings["policies"]["x"]["plugin"] == "/1.py"


def test_versions_that_differ_are_listed() -> None:
    parts = [
        made(VALUES, seed=s, versions={"numpy": n, "python": "3.11"})
        for s, n in enumerate(["2.0", "2.1", "2.0", "2.2"])
    ]
    for together in (concat(parts), concat([concat(parts[:2]), concat(parts[2:])])):
        assert together.settings["versions"] == {"numpy": ["2.0", "2.1", "2.2"], "python": "3.11"}


def test_invalid_combinations_are_refused() -> None:
    with pytest.raises(InputError, match="concat needs one or more results; the list is empty"):
        concat([])
    with pytest.raises(InputError, match="results without a seed cannot be combined"):
        concat([made(VALUES, seed=None), made(VALUES, seed=None)])
    first, later = (made(VALUES, seed=seed) for seed in (3, 5))
    summaries = {name: replace(result, regret=None) for name, result in first.policies.items()}
    summary = replace(first, policies=summaries)
    with pytest.raises(InputError, match="cannot add trials to those of 'x': these results are"):
        concat([summary, later])
    assert concat([summary, first])["x"].regret is not None


def test_other_sequences_of_graphs_are_other_problems() -> None:
    """A list of matrices has no text: the matrices are compared."""
    settings = {"horizon": 6, "trials": 3, "seed": 1}
    alone = simulate("ts-n", graph=[np.eye(3)] * 6, **settings)
    again = simulate("ids-n", graph=[np.eye(3)] * 6, **settings)
    other = simulate("ids-n", graph=[np.ones((3, 3))] * 6, **settings)
    assert set(Results.concat([alone, again]).policies) == {"ts-n", "ids-n"}
    with pytest.raises(InputError, match="results of different problems cannot be combined"):
        Results.concat([alone, other])


def test_the_same_graph_from_two_places_is_the_same_problem(tmp_path: Path) -> None:
    texts = []
    for folder in ("here", "there"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "e.csv").write_text("source,target,p\nann,bob,0.5\nbob,eve,1\n")
        texts.append(f"file:{tmp_path / folder / 'e.csv'}")
    one, two = (
        simulate("ts-n", graph=text, horizon=5, trials=4, seed=s) for s, text in enumerate(texts)
    )
    assert Results.concat([one, two]).trials == 8
    (tmp_path / "there" / "e.csv").write_text("source,target,p\nann,bob,0.25\nbob,eve,1\n")
    other = simulate("ts-n", graph=texts[1], horizon=5, trials=4, seed=1)
    with pytest.raises(InputError, match="results of different problems cannot be combined"):
        Results.concat([one, other])
