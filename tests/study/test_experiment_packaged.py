"""Tests of study/experiment.py: the packaged experiments."""

from __future__ import annotations

import pytest

from graphbandits.study.experiment import experiment_names, load_experiment


@pytest.mark.parametrize("name", experiment_names())
def test_a_packaged_experiment_can_be_run(name: str) -> None:
    experiment = load_experiment(name)
    plans = experiment.plans()
    assert len(plans) == experiment.runs == len(experiment.setups())
    for plan, setup in zip(plans, experiment.setups(), strict=True):
        assert plan.horizon == setup.horizon == (2000 if name == "drift" else 1000)
        assert plan.process.arms == setup.arms
        assert len(plan.policies) == len(setup.policies)
        assert plan.trials == experiment.trials


def test_the_papers_experiments_have_the_policies_it_compares() -> None:
    bayesian = {"ts-n", "ids-n", "idsn-lp", "ids-lp"}
    others = {
        "1a": {"ucb-n", "ucb-maxn", "eps-greedy-lp", "ucb-lp"},
        "1b": {"ucb-n", "ucb-maxn", "eps-greedy-lp"},
        "2a": {"ucb-n", "exp3-set", "exp3-res"},
        "2b": {"ucb-n", "exp3-set", "exp3-res"},
    }
    for figure, more in others.items():
        experiment = load_experiment(f"paper-{figure}")
        plan = experiment.plan()
        assert set(plan.policies) == bayesian | more
        assert (plan.process.arms, plan.horizon, plan.trials) == (5, 1000, 1000)
        least, directed, *_ = experiment.resolved_claims()
        assert least.better == ("ids-lp",)
        assert set(least.than) == set(plan.policies) - {"ids-lp"}
        behind = ("ts-n",) if figure.startswith("1") else ("ts-n", "ucb-n")
        assert (set(directed.better), directed.than) == (bayesian - {"ts-n"}, behind)
        last = experiment.resolved_claims()[-1]
        assert set(last.than) == (more if figure[0] == "1" else {"exp3-set", "exp3-res"})


def test_the_published_means_of_bernoulli_arms_without_a_graph() -> None:
    experiment = load_experiment("russo-van-roy-bernoulli")
    plan = experiment.plan()
    assert (plan.graph_text, plan.process.arms, plan.trials) == ("empty", 10, 2000)
    published = experiment.published_means()
    assert published is not None
    assert published.means["v-ids"] == (18.1, 0.4)
    assert set(plan.policies) - set(published.means) == {"kl-ucb"}


def test_the_swept_policy_is_one_line_under_all_its_names() -> None:
    experiment = load_experiment("eps-greedy-sensitivity")
    (swept,), cells = experiment.sweep_records(), experiment.plans()
    assert (swept.parameters, swept.x, swept.label, swept.scale) == (["c"], "c", "c/d²", "log")
    names = [next(iter(cell.policies)) for cell in cells]
    # 5 is the default of c, and so not in the name
    assert names[:4] == [*(f"eps-greedy-lp(c={c})" for c in (0.5, 1, 2)), "eps-greedy-lp"]
    for cell, name in zip(cells, names, strict=True):
        assert {"c": vars(cell.policies[name])["c"]} == cell.point
        assert list(cell.lines.values())[:2] == ["eps-greedy-lp(c=…)", "ts-n"]
