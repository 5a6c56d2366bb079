"""Tests of results/combine.py: results that can or cannot be combined."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pytest
from helpers import FIXTURES
from helpers.bad_input import refuses
from helpers.made_up_results import made, old, random_regret, same

from graphbandits import Bernoulli, BetaBernoulli, Results, simulate
from graphbandits._types import Floats
from graphbandits.errors import InputError
from graphbandits.graphs import DenseFeedback, Fixed, UniformFeedback
from graphbandits.results import concat


def test_format_2_can_be_combined_with_new_simulations() -> None:
    """Format 2 has no setting ``accuracy``; it is read as "simulation"."""
    kept = Results.load(FIXTURES / "results-2")
    assert "accuracy" not in kept.settings
    prior = np.array(kept.settings["prior"]).T
    for accuracy in ("simulation", "strict"):
        world = Bernoulli(BetaBernoulli(*prior, accuracy=accuracy))
        graph = networkx.DiGraph([("ann", "bob lee"), ("bob lee", "Zoë")])
        graph.edges["ann", "bob lee"]["probability"] = 0.5
        new = simulate("idsn-lp", graph=graph, world=world, horizon=30, trials=12, seed=4)
        assert new.settings["accuracy"] == accuracy
        if accuracy == "simulation":
            for parts in ([kept, new], [new, kept]):
                together = concat(parts)
                assert set(together.policies) == {"ids-n", "ts-n", "idsn-lp"}
                assert together.settings["accuracy"] == "simulation"
        else:
            with refuses(InputError, match="results of different problems cannot be combined"):
                concat([kept, new])


def halves(values: dict[str, Floats], cut: int, **settings: Any) -> list[Results]:
    parts = {name: (regret[:cut], regret[cut:]) for name, regret in values.items()}
    return [
        made({name: part[i] for name, part in parts.items()}, first=first, **settings)
        for i, first in enumerate((0, cut))
    ]


VALUES = {name: random_regret(i) for i, name in enumerate("xyz")}


def test_two_halves_combine_to_the_whole() -> None:
    whole, together = made(VALUES), Results.concat(halves(VALUES, 2))
    assert together.hash == whole.hash
    assert together.runs == [{"seed": 3, "first_trial": 0, "trials": 6}]
    assert together.settings["trials"] == together.trials == 6


def test_policies_of_the_same_worlds_are_combined() -> None:
    parts = [made({name: values}) for name, values in VALUES.items()]
    assert concat(parts).hash == made(VALUES).hash
    assert concat([*parts, parts[0]]).hash == made(VALUES).hash
    assert list(concat(parts[::-1]).policies) == ["z", "y", "x"]
    assert concat(parts[:1]) is parts[0]


def test_grid_of_runs_and_policies_is_combined() -> None:
    parts = [p for name in "xyz" for p in halves({name: VALUES[name]}, 4)]
    assert concat(parts).hash == made(VALUES).hash
    with refuses(InputError, match="results of several runs must have every policy in every run"):
        concat(parts[:-1])
    with refuses(InputError, match="results of several runs must have every policy in every run"):
        concat([*parts[:4], parts[5]])


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
    with refuses(InputError):
        concat([made(VALUES), made({n: v[::-1][:5] for n, v in VALUES.items()}, first=first)])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"horizon": 9}, ["horizon", "4", "9"]),
        ({"graph": "paper"}, ["graph", "some", "paper"]),
        ({"prior": [[1, 2], [3, 4]]}, ["prior", "not given", "[[1, 2], [3, 4]]"]),
        ({"regret": "realised"}, ["regret", "pseudo", "realised"]),
        ({"world": "new"}, ["world", "not given", "new"]),
        ({"accuracy": "strict"}, ["accuracy", "simulation", "strict"]),
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


def test_different_arms_rounds_and_graphs_are_not_combined() -> None:
    one, other = made(VALUES), made(VALUES, seed=9)
    there, back = (
        Fixed(DenseFeedback(np.array(m))) for m in ([[1, 1], [0, 1]], [[1, 0], [0.5, 1]])
    )
    for mine, theirs in [
        (one, replace(other, arms=("a", "c"))),
        (one, replace(other, rounds=other.rounds * 2)),
        (one, replace(other, graph=there)),
        (replace(one, graph=there), replace(other, graph=back)),
        (replace(one, graph=there), replace(other, graph=Fixed(UniformFeedback(0.25, 2)))),
    ]:
        with refuses(InputError):
            concat([mine, theirs])
    kept = concat([replace(one, graph=there), replace(other, graph=there)]).graph
    assert kept is there


def test_the_same_policy_with_other_numbers_or_another_source_is_refused() -> None:
    one = made(VALUES)
    changed = made(VALUES | {"y": VALUES["y"] * 2})
    with refuses(InputError, match="policy 'y' has two different results for the same runs"):
        concat([one, changed])
    ways = [made({"x": VALUES["x"]}, policies={"x": {"source": s}}) for s in ("1a", "2b")]
    with refuses(InputError, match="results of different problems cannot be combined"):
        concat(ways)
    moved = [
        made({"x": VALUES["x"]}, seed=s, policies={"x": {"source": "1a", "plugin": f"/{s}.py"}})
        for s in (1, 2)
    ]
    assert concat(moved).settings["policies"]["x"]["plugin"] == "/1.py"


def test_need_unknown_to_older_versions_is_none() -> None:
    """Results of 0.3 and 0.4 of the same plug-in can be combined; notes may differ."""
    before = {"source": "1a", "needs": {"graph": "after", "deterministic": True}}
    now = before | {"needs": before["needs"] | {"fixed": False}, "note": "New."}
    other = before | {"needs": before["needs"] | {"fixed": True}}
    first, later, changed = (
        made({"x": VALUES["x"]}, seed=s, policies={"x": facts})
        for s, facts in enumerate((before, now, other))
    )
    assert concat([first, later]).trials == 2 * first.trials
    assert concat([later, first]).notes == {"x": "New."}
    with refuses(InputError, match="results of different problems cannot be combined"):
        concat([first, changed])


def test_versions_that_differ_are_listed() -> None:
    parts = [
        made(VALUES, seed=s, versions={"numpy": n, "python": "3.11"})
        for s, n in enumerate(["2.0", "2.1", "2.0", "2.2"])
    ]
    for together in (concat(parts), concat([concat(parts[:2]), concat(parts[2:])])):
        assert together.settings["versions"] == {"numpy": ["2.0", "2.1", "2.2"], "python": "3.11"}


def test_invalid_combinations_are_refused() -> None:
    with refuses(InputError, match="concat needs one or more results"):
        concat([])
    with refuses(InputError, match="results without a seed cannot be combined with others"):
        concat([made(VALUES, seed=None), made(VALUES, seed=None)])
    first = old()
    later = replace(first, settings=dict(first.settings) | {"seed": 5})
    with refuses(InputError):
        concat([first, later])
    alone = replace(first, policies={"ts-n": first["ts-n"]})
    assert concat([alone, first]).policies.keys() == {"ts-n", "ids-n"}


def test_combined_results_can_be_saved(tmp_path: Path) -> None:
    together = concat([made(VALUES, seed=2**64 + s) for s in (0, 1)] + [made(VALUES, seed=1)])
    loaded = Results.load(together.save(tmp_path / "run"))
    same(together, loaded)
    assert [run["seed"] for run in loaded.runs] == [2**64, 2**64 + 1, 1]
    seeds = loaded.to_polars("final")["seed"].to_list()
    assert seeds[:18] == [None] * 12 + [1] * 6


def test_other_sequences_of_graphs_are_other_problems() -> None:
    """A list of matrices has no text: the matrices are compared."""
    settings = {"horizon": 6, "trials": 3, "seed": 1}
    alone = simulate("ts-n", graph=[np.eye(3)] * 6, **settings)
    again = simulate("ids-n", graph=[np.eye(3)] * 6, **settings)
    other = simulate("ids-n", graph=[np.ones((3, 3))] * 6, **settings)
    assert set(Results.concat([alone, again]).policies) == {"ts-n", "ids-n"}
    with refuses(InputError, match="results of different problems cannot be combined"):
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
    with refuses(InputError, match="results of different problems cannot be combined"):
        Results.concat([one, other])
