"""Tests of experiments/study_comparison.py: paired and independent comparisons."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.bad_input import refuses
from helpers.stores import Point, run_study, sweep
from scipy import stats
from typer.testing import CliRunner

from graphbandits import Bernoulli, BetaBernoulli, Results, load_plugin, open_studies, simulate
from graphbandits.cli import app
from graphbandits.engine import Plan
from graphbandits.errors import InputError
from graphbandits.experiments.study_comparison import (
    ProblemComparison,
    StudyComparison,
    compare_stores,
    short_names,
)
from graphbandits.plugins import unload_plugin
from graphbandits.results import Difference

DIRECTED = "edges(1>2:0.5 2>3 3-1)"
SETTINGS: dict[str, Any] = {"graph": DIRECTED, "horizon": 40, "trials": 12, "seed": 3}
NAMES = ["ts-n", "ids-n", "ucb-n"]
RUNNER = CliRunner(env={"COLUMNS": "300"})


def plan(policies: list[str] | str = NAMES, **changes: Any) -> Plan:
    return Plan.of(policies, **(SETTINGS | changes))


def ran(policies: list[str] | str = NAMES, **changes: Any) -> Results:
    return simulate(policies, **(SETTINGS | changes))


def compared(*places: Path, reference: str | None = None) -> StudyComparison:
    return compare_stores([open_studies(place) for place in places], reference)


def only(*places: Path, reference: str | None = None) -> ProblemComparison:
    (found,) = compared(*places, reference=reference).comparisons
    return found


def differences(found: ProblemComparison) -> dict[str, Difference]:
    return {row.policy: row.difference for row in found.rows if row.difference is not None}


def check_rows(found: ProblemComparison, wanted: Results) -> None:
    """Regrets and intervals are those of results, to the last bit."""
    assert [row.policy for row in found.rows] == wanted.ranking()
    for row in found.rows:
        result = wanted[row.policy]
        assert row.mean == result.mean[-1]
        assert row.standard_error == result.standard_error[-1]
        assert (row.low, row.high) == wanted.interval(row.policy)
        quantiles = result.final_quantiles()
        assert (row.median, row.q95) == (quantiles["0.5"], quantiles["0.95"])
        assert row.trials == wanted.trials


def test_comparison_of_one_store_equals_differences_of_its_results(tmp_path: Path) -> None:
    run_study(tmp_path, "a", [Point(plan())])
    found, wanted = only(tmp_path), ran()
    check_rows(found, wanted)
    assert differences(found) == wanted.from_best()
    assert found.against == wanted.ranking()[0]
    assert found.notes == ()
    assert found.versions == ()
    assert found.rows[0].verdict == ""


def test_differences_are_from_the_reference(tmp_path: Path) -> None:
    run_study(tmp_path, "a", [Point(plan())])
    found = only(tmp_path, reference="ucb-n")
    wanted = {d.first: d for d in ran().differences("ucb-n", simultaneous=True)}
    assert differences(found) == wanted
    assert found.against == "ucb-n"


def test_unknown_reference_is_refused_and_missing_one_is_noted(tmp_path: Path) -> None:
    points = [Point(plan(names), {"c": i}, 0) for i, names in enumerate((NAMES, NAMES[:2]))]
    run_study(tmp_path, "a", points, sweeps=[sweep("c", x="c")])
    with refuses(InputError, match="unknown reference policy 'ucbn'"):
        compared(tmp_path, reference="ucbn")
    with_it, without = compared(tmp_path, reference="ucb-n").comparisons
    assert with_it.against == "ucb-n"
    assert without.against is None
    assert without.notes == ("no results of the reference 'ucb-n'",)
    assert differences(without) == {}


def test_trials_missing_from_some_stores_are_left_out_with_a_note(tmp_path: Path) -> None:
    there = {"ucb-n": [(2, 3), (7, 2)], "ids-n": [(0, 8)]}
    run_study(tmp_path, "a", [Point(plan(), there=there)])
    found = only(tmp_path)
    parts = [ran(first_trial=2, trials=3), ran(first_trial=7, trials=1)]
    wanted = Results.concat(parts)
    check_rows(found, wanted)
    assert differences(found) == wanted.from_best()
    assert found.notes == (
        "ids-n has 8 of 12 trials",
        "ucb-n has 5 of 12 trials",
        "compared in the 4 trials that all policies have",
    )


def test_policies_without_a_trial_are_named_and_do_not_stop_the_others(tmp_path: Path) -> None:
    run_study(tmp_path, "a", [Point(plan(), there={"ucb-n": []})])
    run_study(tmp_path, "b", [Point(plan("ts-n", seed=9), there={"ts-n": []})])
    first, second = compared(tmp_path).comparisons
    check_rows(first, ran(NAMES[:2]))
    assert first.notes == ("ucb-n has 0 of 12 trials",)
    assert second.rows == ()
    assert second.notes == ("ts-n has 0 of 12 trials", "no trials yet")


def test_policies_of_two_stores_are_paired_on_common_worlds(tmp_path: Path) -> None:
    run_study(tmp_path / "a", "mine", [Point(plan(["ts-n", "ids-n"]))])
    run_study(tmp_path / "b", "yours", [Point(plan(["ucb-n", "idsn-lp"], trials=20))], shard=7)
    found = only(tmp_path / "a", tmp_path / "b")
    wanted = Results.concat([ran(["ts-n", "ids-n"]), ran(["ucb-n", "idsn-lp"])])
    check_rows(found, wanted)
    assert differences(found) == wanted.from_best()
    assert found.notes == ("compared in the 12 trials that all policies have",)


def test_the_same_numbers_in_two_stores_are_one_policy(tmp_path: Path) -> None:
    run_study(tmp_path / "a", "mine", [Point(plan(["ts-n", "ids-n"]))])
    run_study(tmp_path / "b", "yours", [Point(plan(["ids-n", "ucb-n"]))], shard=5)
    found = only(tmp_path / "a", tmp_path / "b")
    check_rows(found, ran())
    assert found.notes == ("ids-n: identical in every trial in a and b",)
    assert found.versions == ()


POLICY = """
import numpy as np
from dataclasses import dataclass
from graphbandits.policies import Needs
from graphbandits.registry import register

@register("policy", "versioned")
@dataclass(frozen=True)
class Versioned:
    needs = Needs()
    exact = True
    def init(self, problem, keys):
        return {"n": np.zeros((keys.trials, problem.arms))}
    def propose(self, state, view):
        pi = np.zeros_like(state["n"])
        pi[:, ARM] = 1.0
        late = np.arange(len(pi)) + view.keys.first_trial >= LATE
        pi[late] = 0.0
        pi[late, 0] = 1.0
        return pi
    def update(self, state, event):
        return state
"""


def test_two_versions_of_a_policy_are_compared_trial_by_trial(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    request.addfinalizer(lambda: unload_plugin(tmp_path / "versioned.py"))
    versions = {}
    for name, arm in (("old", "1"), ("new", "2")):
        file = tmp_path / "versioned.py"
        # from trial 9 on both play the first arm
        file.write_text(POLICY.replace("ARM", arm).replace("LATE", "9"))
        load_plugin(file)
        run_study(tmp_path / name, "v", [Point(plan(["versioned", "ts-n"]))])
        versions[name] = simulate("versioned", **SETTINGS)["versioned"].final
    found = only(tmp_path / "old", tmp_path / "new")
    assert {row.policy for row in found.rows} == {"versioned [old]", "versioned [new]", "ts-n"}
    assert found.notes == ("ts-n: identical in every trial in old and new",)
    (version,) = found.versions
    gap = versions["old"] - versions["new"]
    error = gap.std(ddof=1) / math.sqrt(12)
    half = stats.t.ppf(0.975, 11) * error
    d = version.difference
    assert (d.first, d.second) == ("versioned [old]", "versioned [new]")
    assert [d.mean, d.low, d.high] == pytest.approx(
        [gap.mean(), gap.mean() - half, gap.mean() + half], rel=1e-12
    )
    assert (version.difference.paired, version.trials) == (True, 12)
    assert version.differing == np.count_nonzero(gap) == 9


def test_other_worlds_are_compared_as_independent_means(tmp_path: Path) -> None:
    run_study(tmp_path / "a", "mine", [Point(plan(["ts-n", "ids-n"]))])
    run_study(tmp_path / "b", "yours", [Point(plan(["ucb-n"], seed=4, trials=9))])
    found = only(tmp_path / "a", tmp_path / "b")
    mine, yours = ran(["ts-n", "ids-n"]), ran("ucb-n", seed=4, trials=9)
    best, other = mine.ranking()
    rows = {row.policy: row for row in found.rows}
    assert [rows[name].paired for name in (best, other, "ucb-n")] == [True, True, False]
    assert [rows[name].trials for name in (best, other, "ucb-n")] == [12, 12, 9]
    # three pairs, of which the best was chosen: Bonferroni's level
    level = 1 - 0.05 / 3
    gap = mine[other].final - mine[best].final
    paired = stats.ttest_1samp(gap, 0.0).confidence_interval(level)
    welch = stats.ttest_ind(yours["ucb-n"].final, mine[best].final, equal_var=False)
    apart = welch.confidence_interval(level)
    for name, wanted in ((other, paired), ("ucb-n", apart)):
        d = rows[name].difference
        assert d is not None
        assert (d.low, d.high) == pytest.approx((wanted.low, wanted.high), rel=1e-9)
    assert any("Welch's interval" in note for note in found.notes)


def test_disjoint_trials_of_one_seed_are_different_worlds(tmp_path: Path) -> None:
    run_study(tmp_path / "a", "mine", [Point(plan("ts-n"))])
    run_study(tmp_path / "b", "yours", [Point(plan("ids-n", first_trial=12))])
    found = only(tmp_path / "a", tmp_path / "b")
    assert [row.paired for row in found.rows if row.difference] == [False]


def test_three_stores_are_compared_pairwise_on_common_trials(tmp_path: Path) -> None:
    run_study(tmp_path / "a", "s", [Point(plan("ts-n"))])
    run_study(tmp_path / "b", "s", [Point(plan("ids-n", first_trial=8, trials=8))])
    run_study(tmp_path / "c", "s", [Point(plan("ucb-n", seed=5))])
    found = only(tmp_path / "a", tmp_path / "b", tmp_path / "c", reference="ts-n")
    rows = {row.policy: row for row in found.rows}
    both = ran(["ts-n", "ids-n"], first_trial=8, trials=4)
    gap = both["ids-n"].final - both["ts-n"].final
    d = rows["ids-n"].difference
    assert d is not None
    assert rows["ids-n"].paired
    assert d.mean == pytest.approx(gap.mean(), rel=1e-12)
    wanted = stats.ttest_1samp(gap, 0.0).confidence_interval(0.975)  # two pairs
    assert (d.low, d.high) == pytest.approx((wanted.low, wanted.high), rel=1e-9)
    assert not rows["ucb-n"].paired
    # the means are over other trials than the difference, which is noted
    assert d.mean != pytest.approx(rows["ids-n"].mean - rows["ts-n"].mean, rel=1e-6)
    (shared,) = [note for note in found.notes if "means use all trials" in note]
    assert shared in run(tmp_path / "a", tmp_path / "b", tmp_path / "c", "--reference", "ts-n")


def test_means_over_the_same_trials_need_no_note(tmp_path: Path) -> None:
    run_study(tmp_path / "a", "s", [Point(plan(["ts-n", "ids-n"], trials=3))])
    run_study(tmp_path / "b", "s", [Point(plan("ucb-n", seed=5, trials=3))])
    found = only(tmp_path / "a", tmp_path / "b")
    assert not [note for note in found.notes if "means use all trials" in note]


def test_comparison_of_no_stores_is_refused() -> None:
    with refuses(InputError, match="nothing to compare"):
        compare_stores([])


def test_longer_of_two_equal_records_is_kept(tmp_path: Path) -> None:
    run_study(tmp_path / "a", "s", [Point(plan("ts-n", trials=5))])
    run_study(tmp_path / "b", "s", [Point(plan("ts-n"))])
    run_study(tmp_path / "c", "s", [Point(plan("ids-n", seed=5))])
    found = only(tmp_path / "a", tmp_path / "b", tmp_path / "c")
    assert {row.policy: row.trials for row in found.rows} == {"ts-n": 12, "ids-n": 12}
    assert "ts-n: identical in every trial in a and b" in found.notes


@pytest.mark.parametrize(
    "change",
    [
        {"graph": "edges(1>2:0.5 2>3 3>1)"},
        {"horizon": 41},
        {"regret": "realised"},
        {"world": Bernoulli(BetaBernoulli.of(3, 1.0, 2.0))},
        {"world": Bernoulli(BetaBernoulli.of(3), fixed=[0.1, 0.2, 0.3])},
        {"world": Bernoulli(BetaBernoulli(np.ones(3), np.ones(3), "strict"))},
    ],
)
def test_different_problems_are_not_paired(tmp_path: Path, change: dict[str, Any]) -> None:
    run_study(tmp_path / "a", "s", [Point(plan("ts-n"))])
    run_study(tmp_path / "b", "t", [Point(plan("ids-n", **change))])
    found = compared(tmp_path / "a", tmp_path / "b")
    assert found.comparisons == ()
    assert [str(place) for place in found.alone] == ["a: s", "b: t"]


@pytest.mark.parametrize(
    "change", [{"rounds": [1, 40]}, {"ratios": "bound"}, {"trials": 13}, {"seed": 8}]
)
def test_recorded_rounds_do_not_change_the_problem(tmp_path: Path, change: dict[str, Any]) -> None:
    run_study(tmp_path / "a", "s", [Point(plan("ts-n"))])
    run_study(tmp_path / "b", "t", [Point(plan("ids-n", **change))])
    assert compared(tmp_path / "a", tmp_path / "b").alone == ()


def test_equal_graphs_with_different_texts_are_the_same_problem(tmp_path: Path) -> None:
    run_study(tmp_path / "a", "s", [Point(plan("ts-n", graph="edges(1-2 2-3)"))])
    run_study(tmp_path / "b", "t", [Point(plan("ids-n", graph="edges(2-3 1-2)"))])
    assert compared(tmp_path / "a", tmp_path / "b").alone == ()


GRAPH = """
from dataclasses import dataclass
import numpy as np
from graphbandits.graphs.feedback import DenseFeedback
from graphbandits.registry import register

@dataclass(frozen=True)
class Turning:
    arms: int
    names = None
    deterministic = True
    rounds = None
    def round(self, t, keys):
        return DenseFeedback(np.eye(self.arms) + STEP * np.eye(self.arms, k=1))

@register("graph", "turning")
@dataclass(frozen=True)
class Recipe:
    table: str = ""
    def process(self, arms):
        return Turning(3)
"""


@pytest.mark.parametrize(
    ("step", "numbers", "same"), [(1, "a", True), (0, "a", False), (1, "b", False)]
)
def test_plugin_graph_is_identified_by_its_file_and_the_files_it_reads(
    tmp_path: Path, request: pytest.FixtureRequest, step: int, numbers: str, same: bool
) -> None:
    file, table = tmp_path / "turning.py", tmp_path / "table.txt"
    request.addfinalizer(lambda: unload_plugin(file))
    graph = f"turning(table={table})"
    for place, policy, k, text in (("a", "ts-n", 1, "a"), ("b", "ids-n", step, numbers)):
        table.write_text(text)
        file.write_text(GRAPH.replace("STEP", str(k)))
        load_plugin(file)
        run_study(tmp_path / place, "s", [Point(plan(policy, graph=graph, trials=2, horizon=3))])
    assert bool(compared(tmp_path / "a", tmp_path / "b").comparisons) is same
    parts = [open_studies(tmp_path / place)["s"].results() for place in ("a", "b")]
    if same:
        assert Results.concat(parts).trials == 2
    else:
        with refuses(InputError, match="results of different problems cannot be combined"):
            Results.concat(parts)


def by_parameter(values: tuple[float, ...]) -> list[Point]:
    """A sweep of a policy's own parameter: the same problem at every value."""
    return [
        Point(plan([f"eps-greedy-lp(c={c})", "ts-n"], graph="star", arms=3), {"c": c}, 0,
              {f"eps-greedy-lp(c={c})": "eps-greedy-lp(c=…)"})
        for c in values
    ]  # fmt: skip


def test_cells_of_a_sweep_are_paired_by_their_point(tmp_path: Path) -> None:
    sweeps = [sweep("c", x="c")]
    run_study(tmp_path / "a", "s", by_parameter((1, 2, 4)), sweeps=sweeps)
    run_study(tmp_path / "b", "s", by_parameter((4, 2)), sweeps=sweeps)
    found = compared(tmp_path / "a", tmp_path / "b")
    points = [[place.cell.point["c"] for place in one.cells] for one in found.comparisons]
    assert points == [[2, 2], [4, 4]]
    assert [str(place) for place in found.alone] == ["a: s at c = 1"]
    assert {row.policy for row in found.comparisons[0].rows} == {"ts-n", "eps-greedy-lp(c=…)"}
    wanted = ran(["eps-greedy-lp(c=2)", "ts-n"], graph="star", arms=3)
    means = {row.policy: row.mean for row in found.comparisons[0].rows}
    assert means["eps-greedy-lp(c=…)"] == wanted["eps-greedy-lp(c=2)"].mean[-1]


def test_simulation_is_paired_with_every_point_of_a_policy_sweep(tmp_path: Path) -> None:
    run_study(tmp_path / "a", "s", [Point(plan("ids-n", graph="star", arms=3))])
    run_study(tmp_path / "b", "s", by_parameter((4, 2)), sweeps=[sweep("c", x="c")])
    found = only(tmp_path / "a", tmp_path / "b")
    names = ["ids-n", "eps-greedy-lp(c=4)", "ts-n", "eps-greedy-lp(c=2)"]
    check_rows(found, ran(names, graph="star", arms=3))


def test_line_can_be_the_reference(tmp_path: Path) -> None:
    run_study(tmp_path / "a", "s", by_parameter((2, 4)), sweeps=[sweep("c", x="c")])
    found = compared(tmp_path / "a", reference="eps-greedy-lp(c={c})")
    assert [one.against for one in found.comparisons] == ["eps-greedy-lp(c=…)"] * 2
    text = run(tmp_path / "a", "--reference", "eps-greedy-lp(c={c})")
    assert "< less than eps-greedy-lp(c=…)" in text


def test_different_arm_names_are_different_problems(tmp_path: Path) -> None:
    for place, edges in (("a", "x y\ny z\n"), ("b", "x y\ny w\n")):
        file = tmp_path / f"{place}.txt"
        file.write_text(edges)
        run_study(tmp_path / place, "s", [Point(plan("ts-n", graph=f"file:{file}"))])
    assert compared(tmp_path / "a", tmp_path / "b").comparisons == ()


def test_directories_with_the_same_name_get_distinct_labels() -> None:
    paths = [Path("/x/a/out"), Path("/x/b/out"), Path("/y/b/out")]
    assert short_names(paths) == ["x/a/out", "x/b/out", "y/b/out"]


def run(*args: object) -> str:
    result = RUNNER.invoke(app, ["compare", *map(str, args)])
    assert result.exit_code == 0, result.stderr
    assert result.stderr == ""
    return result.stdout
