"""Tests of study/experiment.py: experiment files, sweeps, plans and mistakes."""

from __future__ import annotations

import itertools
import json
import re
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.bad_input import refuses
from helpers.experiment_files import SINGLE, SWEEP
from helpers.made_up_results import same
from helpers.reward_families import FAMILIES
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import graphbandits
from graphbandits import open_study, run_experiment
from graphbandits.errors import GraphBanditsError, InputError
from graphbandits.posteriors import BetaBernoulli
from graphbandits.simulation.conditions import Answers
from graphbandits.simulation.plan import Plan
from graphbandits.simulation.run import simulate_plan
from graphbandits.study.claims import Claim, Published
from graphbandits.study.experiment import (
    MAX_PART_LENGTH,
    TABLES,
    Experiment,
    SweepTable,
    _checked,
    build_models,
    experiment_names,
    file_name_part,
    keys_of,
    load_experiment,
)
from graphbandits.worlds import Bernoulli, Gaussian, as_world

ONE = """title = "T"
graph = "random(r=0.5)"
arms = 3
horizon = 20
trials = 4
policies = ["ids-n", "ts-n"]
"""
SWEPT = ONE.replace("r=0.5", "r={r}")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def experiment_of(text: str) -> Experiment:
    """The experiment of a text, as if it were a file."""
    return _checked(tomllib.loads(text))


def refused_file(text: str) -> str:
    """The one line in which a file is refused before anything runs."""
    Path("mine.toml").write_text(text, "utf-8")
    with pytest.raises(GraphBanditsError) as caught:
        load_experiment("mine.toml").plans()
    assert "\n" not in str(caught.value)
    return str(caught.value).removeprefix("mine.toml: ")


#: Added lines, and what the message starts with and contains.
MISTAKES = {
    'world = "bernouli"': ("world: ", "unknown world 'bernouli': did you mean 'bernoulli'?"),
    'world = "gaussian(noise=0)"': ("world: ", "noise must be a finite number above 0, not 0"),
    "prior = 3": ("world: ", "prior", "3"),
    'prior = "1,x"': ("world: ", "needs two numbers A,B", "'1,x'"),
    'prior = "0,1"': ("world: ", "Beta parameter", "not 0"),
    "prior = [1, 2, 3]": ("world: ", "(1, 2, 3)"),
    "prior = [[1,2],[1,2]]": ("world: ", "3 arms", "((1, 2), (1, 2))"),
    'prior = "{a},1"': ("the placeholder {a} in '{a},1' has no value",),
    'priors = "1,1"': ("priors: unknown key", "did you mean 'prior'?"),
    "delay = [3, 2]": ("delay: ", "[3, 2]"),
    "answer_rate = 0": ("answer_rate: ", "greater than 0", "0"),
    "eligible = 0": ("eligible: ", "greater than 0"),
    "means = 0.5": ("means: must be a list, not 0.5",),
    'means = ["a"]': ("means 1: ", "number", "'a'"),
    'notes = ["A note", 3]': ("notes 2: ", "string", "3"),
    'world = "gaussian"\nposterior = "beta-bernoulli"': ("the posterior 'beta-bernoulli'",),
    "[record]\npoint = 3": ("record, point: unknown key", "did you mean 'points'?"),
    "[record]\npoints = 3\nrounds = [1]": ("record: points", "rounds", "remove one"),
    "[record]\nrounds = [5, 2]": ("record: rounds must be increasing, not [5, 2]",),
    "[record]\nrounds = [5, 21]": ("recorded rounds", "horizon 20", "5, 21"),
    "[record]\neligible = true": ("cannot record the eligible arms",),
    'delay = 2\n[record]\nratios = "bound"': ("information ratios", "delay"),
    'eligible = 0.5\n[record]\nratios = "bound"': ("information ratios", "eligible"),
    "[sweep]\nx = 1": ("sweep: unknown key", "'sweeps'"),
    '[published]\nsource = "x"\nmeans = {}': ("published: ", "at least one policy"),
}
#: Sweeps of the experiment with {r} in its graph.
SWEEP_MISTAKES = {
    'title = "x"': ("sweeps 1: a sweep needs either parameter and values, or grid, or list",),
    'parameter = "r"\nvalues = [1]\ngrid = {r = [1]}': ("sweeps 1: a sweep needs",),
    "grid = {r = 3}": ("sweeps 1, grid, r: must be a list, not 3",),
    "grid = {r = [0, true]}": ("sweeps 1, grid, r 2: ", "finite number", "True"),
    'grid = {r = [0, "a"]}': ("sweeps 1: the values of r must be all numbers",),
    "grid = {r = [0, 0.0]}": ("sweeps 1: the point r = 0.0 is given twice",),
    "grid = {r = [0, 1], q = [1]}": ("sweeps 1: the parameter 'q' has no effect",),
    "grid = {arms = [2, 3]}": ("sweeps 1, at arms = 2: the placeholder {r}",),
    "grid = {r = [0], arms = [2, 3.5]}": ("sweeps 1, at r = 0, arms = 3.5: arms: ", "integer"),
    "grid = {r = [0, 2], arms = [3]}": ("sweeps 1, at r = 2, arms = 3: graph: ", "[0, 1]"),
    "grid = {r = [0, 1], arms = [2]}\nx = 'rr'": ("sweeps 1: x must be", "'rr'"),
    'parameter = "r"\nvalues = [1]\nx = "r"': ("sweeps 1: x must be a parameter of a grid",),
    'grid = {r = [0, 1]}\nscale = "log"': ("sweeps 1: scale = 'log' needs positive numbers",),
    'grid = {"my r" = [0, 1]}': ("sweeps 1, grid, my r", "identifier"),
    "grid = {r = [0], trials = [2]}": ("sweeps 1, grid, trials", "cannot be swept"),
    'parameter = "policies"\nvalues = ["ts-n"]': ("sweeps 1, parameter: ", "cannot be swept"),
    "grid = {r = [0], arms = [3]}\narms = 3": ("sweeps 1: this sweep varies arms: remove",),
    "grd = {r = [0]}": ("sweeps 1, grd: unknown key", "did you mean 'grid'?"),
    "list = [{}]": ("sweeps 1, list 1: ", "at least 1"),
    "list = [{r = 1, arms = 2}, {r = 1}]": ("sweeps 1: list 2 must have the parameters", "r, arms"),
    "list = [{r = 1, arms = 2}, {arms = 2, r = 1.0}]": ("sweeps 1: the point", "given twice"),
    "list = [{r = [1, 2]}]": ("sweeps 1: {r} in 'random(r={r})': ", "lists"),
    "list = [{r = 0.1, seed = -1}]": ("sweeps 1, at r = 0.1, seed = -1: seed: ",),
    'list = [{r = 0.1, regret = "real"}]': ("sweeps 1, at r = 0.1, regret = real: record, regret",),
    'list = [{r = 0.1, prior = "0,1"}]': ("sweeps 1, at r = 0.1, prior = 0,1: world: ", "not 0"),
    'parameter = "graph"\nvalues = ["rng"]': ("sweeps 1, at graph = rng: graph: ", "'ring'"),
    "list = [{r = 0.1, graph = 1}]": ("sweeps 1, at r = 0.1, graph = 1: graph: ", "string"),
    'parameter = "r"\nvalues = [0]\npolicies = ["tsn"]': ("sweeps 1, at r = 0: policies 1: ",),
    'parameter = "r"\nvalues = [0]\n[published]\nsource = "x"\nmeans = {a = [1, 1]}': (
        "sweeps cannot be combined with claims or published",
    ),
}
#: Replacements in the experiment.
REPLACED = {
    ("horizon = 20\n", ""): ("the required key 'horizon' is missing",),
    ('graph = "random(r=0.5)"\n', ""): ("the required key 'graph' is missing",),
    ("trials = 4\n", ""): ("trials: ", "required"),
    ("arms = 3", "arms = 4.0"): ("arms: ", "integer"),
    ("random(r=0.5)", "rng"): ("graph: unknown graph 'rng': did you mean 'ring'?",),
    ("random(r=0.5)", "paper"): ("graph 'paper' has 5 arms, but arms=3 was given",),
    ("random(r=0.5)", "random(r={r})"): ("the placeholder {r}", "[[sweeps]]"),
    ('"ts-n"', '"ids-m"'): ("policies 2: unknown policy 'ids-m': did you mean 'ids-n'?",),
    ('"ts-n"', '"ts-n", "ids-n()"'): ("policy 'ids-n' is given twice",),
    ("horizon = 20", "horizon = 5000000000"): ("horizon must be at most 4294967295",),
    ("trials = 4", "trials = 5000000000"): ("trial numbers must be below 2**32",),
}
CLAIM_MISTAKES = {
    ('better = ["ids-n"]', 'better = ["ids-lp"]'): ("the claim 'Information pays.': 'ids-lp' is",),
    ('better = ["ids-n"]', 'better = ["idsn"]'): ("the claim 'Information pays.': ", "'idsn'"),
    ('better = ["ids-n"]', 'better = ["ucb-n"]'): ("claims 1: ", "'ucb-n' in both"),
    ('better = ["ids-n"]', 'better = "ids-n"'): ("claims 1, better: must be a list",),
    ('better = ["ids-n"]', "better = []"): ("claims 1: ", "'better'"),
    ('better = ["ids-n"]', ""): ("claims 1, better: ", "required"),
    ("better =", "bettr ="): ("claims 1, bettr: unknown key", "did you mean 'better'?"),
    ("1e6, 1]", '"much", 1]'): ("published, means, ids-n 1: ", "number", "'much'"),
    ("1e6, 1]", "1e6]"): ("published, means, ids-n 2: ", "required"),
    ("1e6, 1]", "1, -1]"): ("published: ", "'ids-n'", "at least 0"),
    ("ids-n = [1e6", "ids-lp = [1e6"): ("published by someone (2001): 'ids-lp' is not one of",),
    ("ids-n = [1e6", '"ts-n()" = [1e6'): ("published by someone (2001): policy 'ts-n'", "twice"),
}


def test_mistakes_are_named_with_their_place(place: Path) -> None:
    files = {ONE + more: words for more, words in MISTAKES.items()}
    files |= {f"{SWEPT}[[sweeps]]\n{more}": words for more, words in SWEEP_MISTAKES.items()}
    files |= {ONE.replace(*change): words for change, words in REPLACED.items()}
    files |= {SINGLE.replace(*change): words for change, words in CLAIM_MISTAKES.items()}
    for text, (start, *words) in files.items():
        message = refused_file(text)
        assert message.startswith(start), (text, message)
        assert all(word in message for word in words), (text, message)


def test_files_that_are_no_experiment_are_refused(place: Path) -> None:
    for data, reason in (
        (b"title = 3 3", "is not valid TOML"),
        (b"title = '\xff'", "is not UTF-8 text"),
        (b"x = " + b"[" * 5000 + b"]" * 5000, "nested too deeply"),
        (b"seed = " + b"9" * 301, "more than 300 digits"),
        (b"seed = " + b"9" * 5000, "more than 300 digits"),
    ):
        Path("mine.toml").write_bytes(data)
        with refuses(InputError, match=f"mine.toml.*{reason}"):
            load_experiment("mine.toml")
    with refuses(InputError, match="unknown experiment 'paper-1x': did you mean 'paper-"):
        load_experiment("paper-1x")
    for plugin, reason in (("none.py", "No such file"), ("empty.py", "it registers")):
        Path("empty.py").write_text("", "utf-8")
        message = refused_file(f'{ONE}plugins = ["{plugin}"]\n')
        assert message.startswith("plugins 1: ")
        assert plugin in message
        assert reason in message


def test_arguments_of_the_call_are_checked_too() -> None:
    swept = experiment_of(ONE + '[[sweeps]]\nparameter = "seed"\nvalues = [1, 2]\n')
    assert [plan.seed for plan in swept.plans()] == [1, 2]
    with refuses(InputError, match="a sweep varies the seed: remove the seed argument"):
        swept.plans(seed=3)
    one = experiment_of(ONE)
    with refuses(
        InputError, match=r"the placeholder \{c\} in 'eps-greedy-lp\(c=\{c\}\)' has no value"
    ):
        one.plans(policies=["eps-greedy-lp(c={c})"])
    for wrong in (
        {"ratios": "both"},
        {"policies": ["idsn"]},
        {"policies": ["ts-n"]},
        {"trials": 2**33},
    ):
        with refuses(InputError):
            one.plans(**wrong)
    with refuses(InputError):
        swept.plans(policies=["eps-greedy-lp(c={c})"])


JUNK = st.recursive(
    st.one_of(
        st.booleans(),
        st.integers(-(10**20), 10**20),
        st.floats(),
        st.sampled_from(["", "r", "{r}", "1,1", "star", "ids-n", "regret", "quantiles", "log"]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["r", "arms", "kind", "grid", "x"]), inner, max_size=3),
    ),
    max_leaves=6,
)


@settings(deadline=None, max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_any_file_is_accepted_or_refused_in_one_line(data: st.DataObject) -> None:
    """No other exception than InputError, for any value at any key."""
    given = tomllib.loads(ONE)
    name, table = data.draw(st.sampled_from([("", Experiment), *TABLES.items()]))
    junk = data.draw(st.dictionaries(st.sampled_from(keys_of(table)), JUNK, max_size=4))
    junk = {key: value for key, value in junk.items() if key not in ("arms", "horizon", "trials")}
    single = name in ("record", "published")
    given |= {name: junk if single else [junk]} if name else junk
    try:
        _checked(given).plans()
    except GraphBanditsError as error:
        message = str(error)
    else:
        return
    assert message
    assert "\n" not in message


def test_world_of_a_file_equals_the_same_world_in_python() -> None:
    worlds = {
        'prior = "2,5"': Bernoulli(BetaBernoulli.of(3, 2, 5)),
        "prior = [2, 5]": Bernoulli(BetaBernoulli.of(3, 2, 5)),
        'prior = [[2, 5], "0.5,1.5", { a = 1, b = 9 }]': Bernoulli(
            BetaBernoulli([2, 0.5, 1], [5, 1.5, 9])
        ),
        "means = [0.9, 0.2, 0]": Bernoulli(BetaBernoulli.of(3), [0.9, 0.2, 0]),
        'prior = "3,1"\nmeans = [0.9, 0.2, 1]\naccuracy = "strict"': Bernoulli(
            BetaBernoulli([3] * 3, [1] * 3, "strict"), [0.9, 0.2, 1]
        ),
        'accuracy = "strict"': Bernoulli(BetaBernoulli([1] * 3, [1] * 3, "strict")),
        'world = "bernoulli"\naccuracy = "simulation"': None,
    }
    graph = "edges(1>2 2>3:0.5)"
    for keys, world in worlds.items():
        (plan,) = experiment_of(f"{ONE}seed = 4\n{keys}\n".replace("random(r=0.5)", graph)).plans()
        ours = simulate_plan(plan, progress=False)
        how: dict[str, Any] = {"arms": 3, "horizon": 20, "trials": 4, "seed": 4, "progress": False}
        theirs = graphbandits.simulate(["ids-n", "ts-n"], world, graph, **how)
        same(ours, theirs)
        assert ours.settings == theirs.settings, keys


def test_number_of_arms_comes_from_prior_means_or_graph() -> None:
    open_ended = ONE.replace("arms = 3\n", "")
    for keys, arms in (
        ('prior = ["1,2", "2,1"]', 2),
        ("means = [0.1, 0.2, 0.3, 0.4]", 4),
        ('prior = "1,2"', 5),
        ("", 5),
    ):
        (plan,) = experiment_of(open_ended + keys).plans()
        assert (plan.process.arms, plan.world.arms) == (arms, arms)
    paper = open_ended.replace("random(r=0.5)", "edges(1-2 2-3 3-4)")
    (plan,) = experiment_of(paper + 'prior = "1,2"').plans()
    assert plan.world.arms == 4


def test_default_world_is_left_to_the_simulation() -> None:
    assert build_models("paper", None) == (None, None)
    assert build_models("paper", None, accuracy="strict")[0] is not None


def test_recorded_rounds_follow_the_file() -> None:
    (plan,) = experiment_of(ONE).plans()
    assert plan.recording.rounds == tuple(range(1, 21))
    assert (plan.recording.regret, plan.recording.ratios) == ("pseudo", None)
    text = '[record]\nrounds = [3, 11]\nregret = "realised"\nratios = "joint"\n'
    recorded = experiment_of(ONE + text)
    (plan,) = recorded.plans()
    assert plan.recording.rounds == (3, 11, 20)
    assert (plan.recording.regret, plan.recording.ratios) == ("realised", "joint")
    assert recorded.plans(ratios="bound")[0].recording.ratios == "bound"
    assert recorded.plan().recording == plan.recording
    (plan,) = experiment_of(ONE + "[record]\npoints = 4\n").plans()
    assert len(plan.recording.rounds) == 4
    (plan,) = experiment_of(ONE + "[record]\nactions = true\nobservations = true\n").plans()
    assert tuple(plan.recording.trajectories) == ("actions", "observations")


def test_without_sweeps_there_is_one_cell() -> None:
    (plan,) = experiment_of(ONE).plans(trials=7, seed=3, policies=["ucb-n()"])
    assert (plan.sweep, dict(plan.point)) == (None, {})
    assert (list(plan.policies), plan.lines) == (["ids-n", "ts-n", "ucb-n"], {})
    assert (plan.trials, plan.seed) == (7, 3)


def test_grid_has_all_combinations_in_order() -> None:
    text = SWEPT.replace('"ts-n"', '"ts-n", "eps-greedy-lp(c={c})"').replace(
        "random(r={r})", "revealed-er(p={r})"
    )
    text += '[[sweeps]]\ngrid = { r = [0.5, 0], arms = [4, 2], c = [5, 0.5] }\nx = "arms"\n'
    experiment = experiment_of(text)
    plans = experiment.plans()
    assert [plan.point for plan in plans] == [
        {"r": 0.5, "arms": 4, "c": 5},
        {"r": 0.5, "arms": 4, "c": 0.5},
        {"r": 0.5, "arms": 2, "c": 5},
        {"r": 0.5, "arms": 2, "c": 0.5},
        {"r": 0, "arms": 4, "c": 5},
        {"r": 0, "arms": 4, "c": 0.5},
        {"r": 0, "arms": 2, "c": 5},
        {"r": 0, "arms": 2, "c": 0.5},
    ]
    assert len(experiment.setups()) == 8
    for plan in plans:
        point, last = plan.point, "eps-greedy-lp"
        if plan.point["c"] == 0.5:
            last = "eps-greedy-lp(c=0.5)"  # 5 is the default
        assert plan.sweep == 0
        assert plan.process.arms == point["arms"]
        assert plan.graph_text == f"revealed-er(p={point['r']})"
        assert plan.lines == {"ids-n": "ids-n", "ts-n": "ts-n", last: "eps-greedy-lp(c=…)"}
        assert list(plan.lines) == list(plan.policies)
    (swept,) = experiment.sweep_records()
    assert (swept.title, swept.parameters, swept.x) == ("T", ["r", "arms", "c"], "arms")
    assert (swept.label, swept.scale) == ("arms", "linear")
    with refuses(InputError, match="this experiment has sweeps"):
        experiment.plan()


def test_a_list_has_its_points_and_is_drawn_by_categories_if_there_are_several_parameters() -> None:
    points = (
        "[[sweeps]]\nlist = [{ r = 1, arms = 2 }, { arms = 3, r = 0.5 }, { r = 1, arms = 3 }]\n"
    )
    alone = '[[sweeps]]\nlist = [{ horizon = 9 }, { horizon = 5 }]\ngraph = "star"\n'
    experiment = experiment_of(SWEPT + points + alone)
    plans = experiment.plans()
    assert [(plan.sweep, *plan.point.values()) for plan in plans] == [
        (0, 1, 2),
        (0, 0.5, 3),
        (0, 1, 3),
        (1, 9),
        (1, 5),
    ]
    assert [plan.process.arms for plan in plans] == [2, 3, 3, 3, 3]
    assert [plan.horizon for plan in plans] == [20, 20, 20, 9, 5]
    several, one = experiment.sweep_records()
    assert (several.x, several.label, several.parameters) == (None, "r, arms", ["r", "arms"])
    assert several.title == "T: by r, arms"
    assert (one.x, one.label, one.title) == ("horizon", "horizon", "T: by horizon")


def test_a_parameter_that_is_a_key_sets_it() -> None:
    for key, values, found in (
        ("arms", "[2, 4]", lambda plan: plan.process.arms),
        ("horizon", "[2, 4]", lambda plan: plan.horizon),
        ("seed", "[2, 4]", lambda plan: plan.seed),
        ("graph", '["star", "ring"]', lambda plan: plan.graph_text),
        ("accuracy", '["strict", "simulation"]', lambda plan: plan.world.prior.accuracy),
        ("regret", '["realised", "pseudo"]', lambda plan: plan.recording.regret),
    ):
        text = f'{ONE}[[sweeps]]\nparameter = "{key}"\nvalues = {values}\n'
        plans = experiment_of(text).plans()
        wanted = tomllib.loads(f"v = {values}")["v"]
        assert [found(plan) for plan in plans] == wanted
        assert [plan.point for plan in plans] == [{key: value} for value in wanted]


def test_priors_and_means_are_swept_as_lists_or_texts() -> None:
    priors = (
        '[[sweeps]]\nparameter = "prior"\nvalues = ["1,3", [2.0, 5], [[1, 2], "3,4", [5, 6]]]\n'
    )
    plans = experiment_of(ONE + priors).plans()
    assert [plan.point["prior"] for plan in plans] == ["1,3", "2,5", "1,2 3,4 5,6"]
    pairs = [np.column_stack([c.world.prior.a, c.world.prior.b]) for c in plans]
    assert [found.tolist() for found in pairs] == [
        [[1, 3]] * 3,
        [[2, 5]] * 3,
        [[1, 2], [3, 4], [5, 6]],
    ]
    means = "[[sweeps]]\nlist = [{ means = [0.5, 0.25] }, { means = [0.125, 1, 0] }]\n"
    plans = experiment_of(ONE.replace("arms = 3\n", "") + means).plans()
    assert [plan.process.arms for plan in plans] == [2, 3]
    assert [plan.world.fixed.tolist() for plan in plans] == [[0.5, 0.25], [0.125, 1, 0]]
    assert [plan.point["means"] for plan in plans] == ["0.5,0.25", "0.125,1,0"]


def test_placeholders_stand_in_priors_and_in_values_of_graphs() -> None:
    prior = 'prior = ["{a},1", [2, 2], "1,{a}"]\n[[sweeps]]\nparameter = "a"\nvalues = [3, 0.5]\n'
    plans = experiment_of(ONE + prior).plans()
    assert [plan.world.prior.a.tolist() for plan in plans] == [[3, 2, 1], [0.5, 2, 1]]
    assert [plan.world.prior.b.tolist() for plan in plans] == [[1, 2, 3], [1, 2, 0.5]]
    grid = '[[sweeps]]\ngrid = { graph = ["random(r={p})", "revealed-er(p={p})"], p = [0.1, 1] }\n'
    plans = experiment_of(ONE + grid).plans()
    assert [plan.graph_text for plan in plans] == [
        "random(r=0.1)",
        "random(r=1)",
        "revealed-er(p=0.1)",
        "revealed-er(p=1)",
    ]
    around = '[[sweeps]]\nparameter = "graph"\ngraph = "cliques({graph})"\nvalues = ["2", "3"]\n'
    plans = experiment_of(ONE.replace("arms = 3", "arms = 6") + around).plans()
    assert [plan.graph_text for plan in plans] == ["cliques(2)", "cliques(3)"]


def test_sweep_can_have_its_own_world() -> None:
    own = 'prior = "2,2"\nmeans = [0.1, 0.2, 0.3]\naccuracy = "strict"\n'
    sweep = '[[sweeps]]\nparameter = "horizon"\nvalues = [3]\n'
    (plan,) = experiment_of(f'{ONE}prior = "9,9"\n{sweep}{own}').plans()
    world: Any = plan.world
    assert (world.prior.a.tolist(), world.prior.accuracy) == ([2, 2, 2], "strict")
    assert world.fixed.tolist() == [0.1, 0.2, 0.3]
    (plan,) = experiment_of(f'{ONE}prior = "9,9"\n{sweep}').plans()
    assert plan.world.prior.a.tolist() == [9, 9, 9]


def test_lines_with_different_placeholders_stay_separate() -> None:
    text = ONE.replace("random(r=0.5)", "star").replace('"ids-n", "ts-n"', '"{a}", "{b}"')
    text = text.replace('"{a}", "{b}"', '"eps-greedy-lp(c={a})", "eps-greedy-lp(c={b})"')
    (plan,) = experiment_of(text + "[[sweeps]]\ngrid = { a = [1], b = [2] }\n").plans()
    assert plan.lines == {
        "eps-greedy-lp(c=1)": "eps-greedy-lp(c={a})",
        "eps-greedy-lp(c=2)": "eps-greedy-lp(c={b})",
    }


def test_cells_of_packaged_experiments_are_their_simulations() -> None:
    for name in experiment_names():
        experiment = load_experiment(name)
        plans, setups = experiment.plans(trials=3), experiment.setups()
        assert all(plan.trials == 3 for plan in plans)
        assert all(setup.horizon == (2000 if name == "drift" else 1000) for setup in setups)
        swept = experiment.sweep_records()
        assert len(swept) == len(experiment.sweeps)
        points = [point for sweep in experiment.sweeps for point in sweep.points()] or [{}]
        for plan, point, setup in zip(plans, points, setups, strict=True):
            assert plan.point == point
            assert plan.sweep is None or list(plan.point) == swept[plan.sweep].parameters
            assert set(plan.lines) <= set(plan.policies)
            assert not swept or set(plan.lines.values()) <= set(experiment.lines())
            # as in the texts, without the sweep
            alone = Plan.of(
                setup.policies,
                setup.world,
                setup.graph,
                arms=setup.arms,
                horizon=setup.horizon,
                trials=3,
                posterior=setup.posterior,
                record=plan.recording.trajectories,
            )
            assert plan.settings() == alone.settings()


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


# Worlds and posteriors ----------------------------------------------------------------------------


def models(text: str) -> list[tuple[Any, Any]]:
    return [(plan.world, plan.posterior) for plan in experiment_of(text).plans()]


def test_world_and_posterior_of_a_file_are_used() -> None:
    ((world, posterior),) = models(ONE + 'world = "gaussian(noise=2)"\nposterior = "normal(sd=3)"')
    assert type(world) is Gaussian
    assert world.prior.noise == 2.0
    assert world.prior.sds.tolist() == [1.0] * 3
    assert (posterior.sds.tolist(), posterior.noise) == ([3.0] * 3, 1.0)
    ((world, posterior),) = models(ONE + 'world = "gaussian(noise=2)"')
    assert posterior is world.prior


def test_prior_and_means_are_those_of_the_world() -> None:
    text = 'world = "gaussian(sd=2)"\nprior = ["mean=1", "4,5", "noise=1"]\nmeans = [7, -8, 9.5]'
    refusal = "noise"
    with pytest.raises(InputError, match=refusal):  # one noise for all arms
        experiment_of(ONE + text).plans()
    ((world, _),) = models(ONE + text.replace("noise=1", "sd=6"))
    assert world.prior.means.tolist() == [1.0, 4.0, 0.0]
    assert world.fixed.tolist() == [7.0, -8.0, 9.5]
    assert world.prior.sds.tolist() == [2.0, 5.0, 6.0]  # that of the text, if there is no other


def test_accuracy_is_that_of_the_posterior_of_the_policies() -> None:
    strict = 'world = "gaussian"\naccuracy = "strict"\n'
    ((world, posterior),) = models(ONE + strict)
    assert posterior is world.prior
    assert posterior.accuracy == "strict"
    ((world, posterior),) = models(ONE + strict + 'posterior = "normal(sd=2)"')
    assert posterior.accuracy == "strict"
    assert posterior.sds.tolist() == [2.0] * 3


def test_worlds_and_posteriors_are_swept_as_keys_and_placeholders() -> None:
    sweep = '[[sweeps]]\nparameter = "{}"\nvalues = {}\n'
    found = models(ONE + sweep.format("world", '["bernoulli", "gaussian(noise=2)"]'))
    assert [type(world) for world, _ in found] == [Bernoulli, Gaussian]
    found = models(ONE + 'world = "gaussian(noise={noise})"\n' + sweep.format("noise", "[0.5, 2]"))
    assert [world.prior.noise for world, _ in found] == [0.5, 2.0]
    found = models(
        ONE + 'world = "gaussian"\n' + sweep.format("posterior", '["normal(sd=2)", "normal(sd=3)"]')
    )
    assert [posterior.sds[0] for _, posterior in found] == [2.0, 3.0]
    found = models(
        ONE
        + 'world = "gaussian"\nposterior = "normal(mean={m})"\n'
        + sweep.format("m", "[-1, 1.5]")
    )
    assert [posterior.means[0] for _, posterior in found] == [-1.0, 1.5]


def test_files_of_all_families_equal_the_same_simulation_in_python() -> None:
    for one in FAMILIES.values():
        keys = {"world": one.world, "posterior": one.other_posterior, "means": list(one.means)}
        (plan,) = experiment_of(ONE + "".join(f"{k} = {v!r}\n" for k, v in keys.items())).plans()
        world = as_world(one.world, 3, means=one.means)
        how: dict[str, Any] = {"horizon": 20, "trials": 4, "posterior": one.other_posterior}
        graph = "random(r=0.5)"
        theirs = graphbandits.simulate(["ids-n", "ts-n"], world, graph, progress=False, **how)
        ours = simulate_plan(plan, workers=1)
        same(ours, theirs)
        assert ours.settings == theirs.settings
        assert ours.settings["means"] == list(one.means)


# Sweeps of whole files ----------------------------------------------------------------------------


@pytest.fixture
def files(place: Path) -> Path:
    (place / "single.toml").write_text(SINGLE, "utf-8")
    (place / "sweep.toml").write_text(SWEEP, "utf-8")
    return place


def test_placeholders_are_filled_and_sweeps_override_the_experiment(files: Path) -> None:
    experiment = load_experiment("sweep.toml")
    assert experiment.lines() == ["ts-n", "eps-greedy-lp(c=…)", "ids-n"]
    cells = experiment.plans(policies=["ucb-n"])
    assert [cell.point for cell in cells] == [
        *({"c": c} for c in (5, 0.5, 2)),
        *({"arms": arms} for arms in (2, 4)),
    ]
    assert [cell.sweep for cell in cells] == [0, 0, 0, 1, 1]
    first, second = cells[:3], cells[3:]
    assert [list(plan.policies)[1] for plan in first] == [
        "eps-greedy-lp",
        "eps-greedy-lp(c=0.5)",
        "eps-greedy-lp(c=2)",
    ]
    assert [plan.process.arms for plan in second] == [2, 4]
    assert {plan.graph_text for plan in first} == {"star"}
    by_c, by_arms = experiment.sweep_records()
    assert by_c.title == "Exploration"
    assert (by_arms.label, by_arms.scale) == ("arms", "linear")
    for plan in (*first, *second):
        assert (plan.horizon, plan.trials, plan.seed) == (20, 5, 3)
        assert list(plan.policies)[-1] == "ucb-n"
    again = experiment.plans(trials=7, seed=8)
    assert {(cell.trials, cell.seed) for cell in again} == {(7, 8)}


def test_eligible_arms_delays_and_answer_rates_are_keys_and_can_be_swept(place: Path) -> None:
    head = SINGLE.partition("[[claims]]")[0]
    for key, value, swept, found in (
        ("eligible", "0.25", "[0.5, 1]", [0.5, 1.0]),
        ("delay", "[0, 3]", "[0, 30]", [None, Answers(30, 30, 1.0)]),
        ("delay", "3", "[[0, 1], [2, 5]]", [Answers(0, 1, 1.0), Answers(2, 5, 1.0)]),
        ("answer_rate", "0.5", "[0.25, 1]", [Answers(0, 0, 0.25), None]),
    ):
        plan = experiment_of(SINGLE.replace("trials = 5", f"trials = 5\n{key} = {value}")).plan()
        if key == "eligible":
            assert plan.eligible == 0.25
        else:
            assert plan.answers == Answers.of(**{key: json.loads(value)})
        file = place / "swept.toml"
        file.write_text(f'{head}[[sweeps]]\nparameter = "{key}"\nvalues = {swept}\n', "utf-8")
        plans = load_experiment(file).plans()
        assert [p.eligible if key == "eligible" else p.answers for p in plans] == found
    how: dict[str, Any] = {"trials": 2, "workers": 1, "pages": False, "progress": False}
    assert [
        cell.results().settings.get("answer_rate", 1) for cell in run_experiment(file, **how)
    ] == [0.25, 1]


def test_sweeps_without_a_title_have_distinct_names(place: Path) -> None:
    both, one = SWEEP.replace('title = "Exploration"\n', ""), SWEEP[: SWEEP.rindex("[[sweeps]]")]
    (place / "both.toml").write_text(both, "utf-8")
    (place / "one.toml").write_text(one.replace('title = "Exploration"\n', ""), "utf-8")
    titles = [sweep.title for sweep in load_experiment(place / "both.toml").sweep_records()]
    assert titles == ["Two sweeps: by c/d²", "Two sweeps: by arms"]
    (alone,) = load_experiment(place / "one.toml").sweep_records()
    assert alone.title == "Two sweeps"


def test_additional_policy_can_be_swept(place: Path) -> None:
    text = SWEEP[: SWEEP.index('[[sweeps]]\nparameter = "arms"')]
    (place / "one.toml").write_text(text, "utf-8")
    *_, cell = load_experiment("one.toml").plans(policies=["eps-greedy-lp(d=0.5, c={c})"])
    assert cell.point == {"c": 2}
    assert list(cell.policies)[-1] == "eps-greedy-lp(c=2, d=0.5)"
    assert cell.lines["eps-greedy-lp(c=2, d=0.5)"] == "eps-greedy-lp(d=0.5, c=…)"


def test_texts_can_be_swept_and_graph_files_are_relative_to_the_experiment(place: Path) -> None:
    (place / "deep").mkdir()
    (place / "deep" / "pair.csv").write_text("source,target\nann,bob\n")
    (place / "deep" / "line.csv").write_text("source,target\nann,bob\nbob,eve\n")
    base = 'title = "T"\nhorizon = 3\ntrials = 2\npolicies = ["ts-n"]\n[[sweeps]]\n'
    for graph in ("file:{name}.csv", "file(path={name}.csv, directed=false)"):
        text = f'{base}parameter = "name"\nvalues = ["pair", "line"]\ngraph = "{graph}"\n'
        (place / "deep" / "files.toml").write_text(text)
        cells = load_experiment("deep/files.toml").plans()
        assert [cell.process.names for cell in cells] == [
            ("ann", "bob"),
            ("ann", "bob", "eve"),
        ]
    text = f'{base}parameter = "graph"\nvalues = ["star", "random(r=0.5)"]\ngraph = "{{graph}}"\n'
    (place / "graphs.toml").write_text(text)
    run_experiment("graphs.toml", workers=1, pages=False, progress=False)
    star, random = open_study("graphs").cells
    assert star.point == {"graph": "star"}
    assert random.point == {"graph": "random(r=0.5)"}
    assert random.results().settings["graph"] == "random(r=0.5)"


def test_claims_and_published_means_use_the_names_of_results(files: Path) -> None:
    experiment = load_experiment("single.toml")
    (claim,) = experiment.resolved_claims()
    assert claim == Claim("Information pays.", ("ids-n",), ("ts-n", "ucb-n"), "me")
    published = Published({"ts-n": (3.5, 0.25), "ids-n": (1e6, 1)}, "someone (2001)")
    assert experiment.published_means() == published
    assert list(experiment.plan(policies=["ts-n-sampled"]).policies)[-1] == "ts-n-sampled"


@settings(deadline=None, max_examples=60)
@given(
    grid=st.dictionaries(
        st.sampled_from(["a", "b", "c", "horizon"]),
        st.lists(st.integers(1, 9), min_size=1, max_size=3, unique=True),
        min_size=1,
    )
)
def test_grid_equals_the_list_of_its_points(grid: dict[str, list[int]]) -> None:
    wanted = [dict(zip(grid, p, strict=True)) for p in itertools.product(*grid.values())]
    assert SweepTable(grid=grid).points() == wanted
    assert SweepTable(list=wanted).points() == wanted


@settings(deadline=None)
@given(value=st.one_of(st.text(), st.floats(allow_nan=False), st.integers()))
def test_file_part_is_short_and_plain(value: str | float) -> None:
    part = file_name_part(value)
    assert re.fullmatch(r"[\w.+-]*", part)
    assert len(part) <= MAX_PART_LENGTH
    assert file_name_part(part) == part
    assert file_name_part("x" * 99 + "a") != file_name_part("x" * 99 + "b")
