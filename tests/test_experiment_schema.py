"""The schema of experiment files: what they may say, what is told of mistakes, what runs."""

import itertools
import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import graphbandits
from graphbandits.cli import app
from graphbandits.engine import Plan
from graphbandits.errors import GraphBanditsError, InputError
from graphbandits.experiments import Experiment, experiment_names, load_experiment
from graphbandits.experiments.figures import OPTIONS, FigureTable
from graphbandits.experiments.model import TABLES, _first_mistake, keys_of, world_of
from graphbandits.experiments.tables import (
    FIXED,
    KEYS,
    RecordTable,
    SweepTable,
    Table,
    cell_name,
    sweep_name,
)
from graphbandits.experiments.texts import LONGEST, file_part
from graphbandits.posteriors import BetaBernoulli
from graphbandits.results import QUANTILES
from graphbandits.store import series_of, simulate_plan
from graphbandits.worlds import Bernoulli

ROOT = Path(__file__).parents[1]
ONE = """title = "T"
graph = "random(r=0.5)"
arms = 3
horizon = 20
trials = 4
policies = ["ids-n", "ts-n"]
"""
SWEPT = ONE.replace("r=0.5", "r={r}")
RUNNER = CliRunner(env={"COLUMNS": "80"})


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def experiment_of(text: str) -> Experiment:
    """The experiment of a text, as if it were a file."""
    return Experiment.model_validate(tomllib.loads(text))


# --- mistakes -----------------------------------------------------------------------------------


def mistakes() -> Iterator[tuple[str, str]]:
    """Files and what is told of them, from tests/fixtures/experiment_mistakes.txt."""
    text = (ROOT / "tests" / "fixtures" / "experiment_mistakes.txt").read_text("utf-8")
    for block in text.split("\n\n")[1:]:
        made, message = block.strip().split("\n=> ")
        first, _, added = made.partition("\n")
        base, *changes = first.split(" | ")
        file = {"one": ONE, "swept": SWEPT}[base]
        for change in changes:
            old, new = change.split(" ->")
            assert old in file
            file = file.replace(old, new.strip())
        yield file + added, message


@pytest.mark.parametrize(("text", "message"), list(mistakes()))
def test_a_mistake_is_told_in_one_line_before_anything_runs(
    place: Path, text: str, message: str
) -> None:
    (place / "mine.toml").write_text(text, "utf-8")
    with pytest.raises(GraphBanditsError) as caught:
        load_experiment("mine.toml").plans()
    told = str(caught.value).removeprefix("mine.toml: ")
    assert "\n" not in told
    if message.endswith("..."):  # and all that are known
        assert told.startswith(message.removesuffix("..."))
    else:
        assert told == message


def test_a_plugin_that_cannot_be_loaded_is_told_with_the_experiment_and_its_number(
    place: Path,
) -> None:
    (place / "empty.py").write_text("", "utf-8")
    for plugins, told in (
        ('["none.py"]', "mine.toml: plugins 1: cannot read the plug-in none.py: No such file"),
        ('["empty.py"]', "mine.toml: plugins 1: cannot load the plug-in empty.py: it registers"),
    ):
        (place / "mine.toml").write_text(f"{ONE}plugins = {plugins}\n", "utf-8")
        with pytest.raises(InputError) as caught:
            load_experiment("mine.toml")
        assert str(caught.value).startswith(told)


def test_what_was_given_besides_has_no_key_of_the_file() -> None:
    for besides, told in (
        ({"policies": ["idsn"]}, "unknown policy 'idsn'"),
        ({"policies": ["ts-n"]}, "policy 'ts-n' is given twice"),
        ({"trials": 2**33}, "trial numbers stop"),
    ):
        with pytest.raises(InputError) as caught:
            experiment_of(ONE).plans(**besides)
        assert str(caught.value).startswith(told)


def test_a_figure_of_a_sweep_and_one_of_a_point_do_not_share_a_file() -> None:
    sweep = '[[sweeps]]\nparameter = "arms"\nvalues = [2, 3]\n'
    figures = '[[figures]]\nkind = "sweep"\nname = "{}"\n[[figures]]\nkind = "regret"\n'
    assert len(experiment_of(ONE + sweep + figures.format("4")).plans()) == 2
    with pytest.raises(ValueError, match="another figure has the same files"):
        experiment_of(ONE + sweep + figures.format("3"))


def test_what_is_given_besides_is_checked_as_well() -> None:
    swept = experiment_of(ONE + '[[sweeps]]\nparameter = "seed"\nvalues = [1, 2]\n')
    assert [plan.seed for plan in swept.plans()] == [1, 2]
    with pytest.raises(InputError, match="a sweep says which seeds there are: give no other seed"):
        swept.plans(seed=3)
    one = experiment_of(ONE)
    with pytest.raises(InputError, match=r"nothing fills the placeholder \{c\}"):
        one.plans(policies=["eps-greedy-lp(c={c})"])
    with pytest.raises(InputError, match="ratios are by 'bound' or by 'joint'"):
        one.plans(ratios="both")
    with pytest.raises(InputError, match=r"unknown placeholder \{c\}.*fills \{seed\}"):
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
def test_whatever_a_file_says_it_is_taken_or_refused_in_one_line(data: st.DataObject) -> None:
    """No other exception than ours, whatever stands at a key of any table."""
    given = tomllib.loads(ONE)
    name, table = data.draw(st.sampled_from([("", Experiment), *TABLES.items()]))
    junk = data.draw(st.dictionaries(st.sampled_from(keys_of(table)), JUNK, max_size=4))
    junk = {key: value for key, value in junk.items() if key not in ("arms", "horizon", "trials")}
    single = name in ("record", "published")
    given |= {name: junk if single else [junk]} if name else junk
    try:
        Experiment.model_validate(given).plans()
    except GraphBanditsError as error:
        told = str(error)
    except ValueError as error:
        told = _first_mistake(error)
    else:
        return
    assert told
    assert "\n" not in told


# --- the world ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("keys", "world"),
    [
        ('prior = "2,5"', Bernoulli(BetaBernoulli.of(3, 2, 5))),
        ("prior = [2, 5]", Bernoulli(BetaBernoulli.of(3, 2, 5))),
        (
            'prior = [[2, 5], "0.5,1.5", [1, 9]]',
            Bernoulli(BetaBernoulli([2, 0.5, 1], [5, 1.5, 9])),
        ),
        ("means = [0.9, 0.2, 0]", Bernoulli(BetaBernoulli.of(3), [0.9, 0.2, 0])),
        (
            'prior = "3,1"\nmeans = [0.9, 0.2, 1]\naccuracy = "strict"',
            Bernoulli(
                BetaBernoulli([3, 3, 3], [1, 1, 1], "strict"),
                [0.9, 0.2, 1],
            ),
        ),
        ('accuracy = "strict"', Bernoulli(BetaBernoulli([1] * 3, [1] * 3, "strict"))),
        ('world = "bernoulli"\naccuracy = "simulation"', None),
    ],
)
def test_a_world_of_a_file_gives_the_bits_of_the_same_world_in_python(
    keys: str, world: Bernoulli | None
) -> None:
    text = ONE.replace("random(r=0.5)", "edges(1>2 2>3:0.5)") + f"seed = 4\n{keys}\n"
    (plan,) = experiment_of(text).plans()
    ours = simulate_plan(plan, progress=False)
    theirs = graphbandits.simulate(
        ["ids-n", "ts-n"],
        world,
        "edges(1>2 2>3:0.5)",
        arms=3,
        horizon=20,
        trials=4,
        seed=4,
        progress=False,
    )
    assert ours.hash == theirs.hash
    assert ours.settings == theirs.settings


def test_the_number_of_arms_is_that_of_the_prior_the_means_or_the_graph() -> None:
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


def test_a_world_as_without_a_word_is_left_to_the_simulation() -> None:
    assert world_of("paper", None) is None
    assert world_of("paper", None, accuracy="strict") is not None


def test_what_is_recorded_is_what_the_file_says() -> None:
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
    found = simulate_plan(plan, progress=False)
    there = graphbandits.simulate(
        ["ids-n", "ts-n"],
        graph="random(r=0.5)",
        arms=3,
        horizon=20,
        trials=4,
        rounds=[3, 11],
        regret="realised",
        ratios="joint",
        progress=False,
    )
    assert found.hash == there.hash
    (plan,) = experiment_of(ONE + "[record]\npoints = 4\n").plans()
    assert len(plan.recording.rounds) == 4


# --- plans --------------------------------------------------------------------------------------


def test_without_sweeps_there_is_one_cell() -> None:
    (plan,) = experiment_of(ONE).plans(trials=7, seed=3, policies=["ucb-n()"])
    assert (plan.sweep, dict(plan.point), plan.name) == (None, {}, "")
    assert plan.lines == {"ids-n": "ids-n", "ts-n": "ts-n", "ucb-n": "ucb-n"}
    assert (plan.trials, plan.seed) == (7, 3)


def test_a_grid_has_all_combinations_the_last_parameter_first() -> None:
    text = SWEPT.replace('"ts-n"', '"ts-n", "eps-greedy-lp(c={c})"').replace(
        "random(r={r})", "revealed-er(p={r})"
    )
    text += '[[sweeps]]\ngrid = { r = [0.5, 0], arms = [4, 2], c = [5, 0.5] }\nx = "arms"\n'
    experiment = experiment_of(text)
    plans = experiment.plans()
    assert [(plan.name, dict(plan.point)) for plan in plans] == [
        ("r-0.5-arms-4-c-5", {"r": 0.5, "arms": 4, "c": 5}),
        ("r-0.5-arms-4-c-0.5", {"r": 0.5, "arms": 4, "c": 0.5}),
        ("r-0.5-arms-2-c-5", {"r": 0.5, "arms": 2, "c": 5}),
        ("r-0.5-arms-2-c-0.5", {"r": 0.5, "arms": 2, "c": 0.5}),
        ("r-0-arms-4-c-5", {"r": 0, "arms": 4, "c": 5}),
        ("r-0-arms-4-c-0.5", {"r": 0, "arms": 4, "c": 0.5}),
        ("r-0-arms-2-c-5", {"r": 0, "arms": 2, "c": 5}),
        ("r-0-arms-2-c-0.5", {"r": 0, "arms": 2, "c": 0.5}),
    ]
    assert experiment.runs == len(experiment.setups()) == 8
    for plan in plans:
        point, last = plan.point, "eps-greedy-lp"
        if plan.point["c"] == 0.5:
            last = "eps-greedy-lp(c=0.5)"  # 5 is the default
        assert plan.sweep == 0
        assert plan.process.arms == point["arms"]
        assert plan.graph_text == f"revealed-er(p={point['r']})"
        assert plan.lines == {"ids-n": "ids-n", "ts-n": "ts-n", last: "eps-greedy-lp(c=…)"}
        assert list(plan.lines) == list(plan.policies)
    (swept,) = experiment.swept()
    assert (swept.title, swept.parameters, swept.x) == ("T", ["r", "arms", "c"], "arms")
    assert (swept.label, swept.scale, sweep_name(swept)) == ("arms", "linear", "r-arms-c")
    with pytest.raises(InputError, match=r"has 8 simulations: plans\(\) gives them"):
        experiment.plan()


def test_a_list_has_its_points_and_is_drawn_by_categories_if_there_are_several_parameters() -> None:
    points = (
        "[[sweeps]]\nlist = [{ r = 1, arms = 2 }, { arms = 3, r = 0.5 }, { r = 1, arms = 3 }]\n"
    )
    alone = '[[sweeps]]\nlist = [{ horizon = 9 }, { horizon = 5 }]\ngraph = "star"\n'
    experiment = experiment_of(SWEPT + points + alone)
    plans = experiment.plans()
    assert [(plan.sweep, plan.name) for plan in plans] == [
        (0, "r-1-arms-2"),
        (0, "r-0.5-arms-3"),
        (0, "r-1-arms-3"),
        (1, "horizon-9"),
        (1, "horizon-5"),
    ]
    assert [plan.process.arms for plan in plans] == [2, 3, 3, 3, 3]
    assert [plan.horizon for plan in plans] == [20, 20, 20, 9, 5]
    several, one = experiment.swept()
    assert (several.x, several.label, several.parameters) == (None, "r, arms", ["r", "arms"])
    assert several.title == "T: by r, arms"
    assert (one.x, one.label, one.title) == ("horizon", "horizon", "T: by horizon")


def test_the_first_parameter_of_a_grid_is_on_the_axis_and_its_scale_is_of_it() -> None:
    grid = '[[sweeps]]\ngrid = { r = [0.5, 1], arms = [2, 3] }\nscale = "log"\nlabel = "chance"\n'
    (swept,) = experiment_of(SWEPT + grid).swept()
    assert (swept.x, swept.scale, swept.label) == ("r", "log", "chance")
    texts = grid.replace("arms = [2, 3]", 'accuracy = ["strict", "simulation"]')
    assert experiment_of(SWEPT + texts).swept()[0].x == "r"  # what is not on the axis may be texts


@pytest.mark.parametrize(
    ("key", "values", "found"),
    [
        ("arms", "[2, 4]", lambda plan: plan.process.arms),
        ("horizon", "[2, 4]", lambda plan: plan.horizon),
        ("seed", "[2, 4]", lambda plan: plan.seed),
        ("graph", '["star", "ring"]', lambda plan: plan.graph_text),
        ("accuracy", '["strict", "simulation"]', lambda plan: plan.world.prior.accuracy),
        ("regret", '["realised", "pseudo"]', lambda plan: plan.recording.regret),
    ],
)
def test_a_parameter_that_is_a_key_sets_it(key: str, values: str, found: Any) -> None:
    plans = experiment_of(ONE + f'[[sweeps]]\nparameter = "{key}"\nvalues = {values}\n').plans()
    wanted = tomllib.loads(f"v = {values}")["v"]
    assert [found(plan) for plan in plans] == wanted
    assert [plan.point for plan in plans] == [{key: value} for value in wanted]


def test_priors_and_means_are_swept_as_lists_or_texts() -> None:
    priors = (
        '[[sweeps]]\nparameter = "prior"\nvalues = ["1,3", [2.0, 5], [[1, 2], "3,4", [5, 6]]]\n'
    )
    plans = experiment_of(ONE + priors).plans()
    assert [plan.point["prior"] for plan in plans] == ["1,3", "2,5", "1,2 3,4 5,6"]
    assert [plan.name for plan in plans] == ["prior-1-3", "prior-2-5", "prior-1-2-3-4-5-6"]
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


def test_a_sweep_has_a_world_of_its_own() -> None:
    own = 'prior = "2,2"\nmeans = [0.1, 0.2, 0.3]\naccuracy = "strict"\n'
    sweep = '[[sweeps]]\nparameter = "horizon"\nvalues = [3]\n'
    (plan,) = experiment_of(f'{ONE}prior = "9,9"\n{sweep}{own}').plans()
    world: Any = plan.world
    assert (world.prior.a.tolist(), world.prior.accuracy) == ([2, 2, 2], "strict")
    assert world.fixed.tolist() == [0.1, 0.2, 0.3]
    (plan,) = experiment_of(f'{ONE}prior = "9,9"\n{sweep}').plans()
    assert plan.world.prior.a.tolist() == [9, 9, 9]


def test_two_lines_that_differ_by_the_name_of_their_placeholder_only_stay_two() -> None:
    text = ONE.replace("random(r=0.5)", "star").replace('"ids-n", "ts-n"', '"{a}", "{b}"')
    text = text.replace('"{a}", "{b}"', '"eps-greedy-lp(c={a})", "eps-greedy-lp(c={b})"')
    (plan,) = experiment_of(text + "[[sweeps]]\ngrid = { a = [1], b = [2] }\n").plans()
    assert plan.lines == {
        "eps-greedy-lp(c=1)": "eps-greedy-lp(c={a})",
        "eps-greedy-lp(c=2)": "eps-greedy-lp(c={b})",
    }


def test_a_policy_at_two_priors_is_run_at_both() -> None:
    """A policy that has met the same problem is not run again; another prior is another one."""
    text = ONE + '[[sweeps]]\nparameter = "prior"\nvalues = ["1,9", "9,1"]\n'
    plans = experiment_of(text).plans()
    assert [list(plan.policies) for plan in plans] == [["ids-n", "ts-n"]] * 2
    series = {series_of(plan, name).name for plan in plans for name in plan.policies}
    assert len(series) == 4


@settings(deadline=None, max_examples=60)
@given(
    grid=st.dictionaries(
        st.sampled_from(["a", "b", "c", "horizon"]),
        st.lists(st.integers(1, 9), min_size=1, max_size=3, unique=True),
        min_size=1,
    )
)
def test_the_points_of_a_grid_are_the_product_and_those_of_the_list_of_them(
    grid: dict[str, list[int]],
) -> None:
    wanted = [dict(zip(grid, p, strict=True)) for p in itertools.product(*grid.values())]
    assert SweepTable(grid=grid).points() == wanted
    assert SweepTable(list=wanted).points() == wanted


@settings(deadline=None)
@given(value=st.one_of(st.text(), st.floats(allow_nan=False), st.integers()))
def test_a_part_of_a_file_name_is_short_and_plain(value: str | float) -> None:
    part = file_part(value)
    assert re.fullmatch(r"[\w.+-]*", part)
    assert len(part) <= LONGEST
    assert file_part(part) == part


def test_long_values_are_told_apart_in_the_names_of_files() -> None:
    graphs = [f"edges({' '.join(f'{i}-{i + 1}' for i in range(1, 40))} 1-{k})" for k in (5, 6)]
    sweep = SweepTable(parameter="graph", values=graphs)
    first, second = (file_part(str(point["graph"])) for point in sweep.points())
    assert first != second
    assert len(first) == len(second) == LONGEST


def test_every_key_can_be_swept_or_is_told_not_to_be() -> None:
    keys = {*keys_of(Experiment), *keys_of(RecordTable)}
    assert not KEYS.keys() & FIXED.keys()
    assert keys == KEYS.keys() | FIXED.keys()


@pytest.mark.parametrize("name", experiment_names())
def test_cells_of_a_packaged_experiment_are_its_simulations(name: str) -> None:
    experiment = load_experiment(name)
    plans = experiment.plans(trials=3)
    assert len({plan.name for plan in plans}) == len(plans) == experiment.runs
    if not experiment.sweeps:
        assert experiment.drawn(plans) == [
            {"kind": kind} for kind in ("regret", "final", "differences", "plays")
        ]
        return
    assert experiment.drawn(plans) == [{"kind": "sweep"}]
    swept = experiment.swept()
    assert len(swept) == len(experiment.sweeps)
    points = [point for sweep in experiment.sweeps for point in sweep.points()]
    for plan, point, setup in zip(plans, points, experiment.setups(), strict=True):
        assert plan.point == point
        assert list(plan.point) == swept[plan.sweep].parameters
        assert plan.name == cell_name(point)
        assert list(plan.lines) == list(plan.policies)
        assert set(plan.lines.values()) <= set(experiment.lines())
        # as the texts say, without what a sweep is
        alone = Plan.of(
            setup.policies, graph=setup.graph, arms=setup.arms, horizon=setup.horizon, trials=3
        )
        assert plan.settings() == alone.settings()


# --- figures ------------------------------------------------------------------------------------


def test_figures_are_plain_data_without_defaults_and_by_the_names_of_lines() -> None:
    text = ONE.replace('"ts-n"', '"ts-n", "eps-greedy-lp(c={c})"').replace("random(r=0.5)", "star")
    text += """
[[sweeps]]
parameter = "c"
values = [5, 1]

[[figures]]
kind = "sweep"
policies = ["eps-greedy-lp(c={c})", "ts-n()"]
width = "two"

[[figures]]
kind = "differences"
reference = "eps-greedy-lp(c={c})"
simultaneous = false
formats = ["pdf"]

[[figures]]
kind = "regret"
band = "quantiles"
levels = [0.25, 0.75]
"""
    experiment = experiment_of(text)
    assert experiment.drawn(experiment.plans()) == [
        {"kind": "sweep", "policies": ["eps-greedy-lp(c=…)", "ts-n"]},
        {
            "kind": "differences",
            "formats": ["pdf"],
            "reference": "eps-greedy-lp(c=…)",
            "simultaneous": False,
        },
        {"kind": "regret", "band": "quantiles", "levels": [0.25, 0.75]},
    ]


def test_no_figures_are_drawn_of_an_empty_list_and_no_differences_of_one_policy() -> None:
    none = experiment_of(ONE + "figures = []\n")
    assert none.drawn(none.plans()) == []
    one = experiment_of(ONE.replace(', "ts-n"', ""))
    kinds = [figure["kind"] for figure in one.drawn(one.plans())]
    assert kinds == ["regret", "final", "plays"]
    more = [figure["kind"] for figure in one.drawn(one.plans(policies=["ucb-n"]))]
    assert more == ["regret", "final", "differences", "plays"]


def test_a_policy_given_besides_may_be_in_a_figure() -> None:
    experiment = experiment_of(ONE + '[[figures]]\nkind = "plays"\npolicies = ["ucb-n"]\n')
    with pytest.raises(InputError, match="'ucb-n' is not among the policies"):
        experiment.plans()
    assert experiment.plans(policies=["ucb-n"])


@pytest.mark.parametrize("levels", list(itertools.combinations(QUANTILES, 2)))
def test_all_levels_that_are_kept_can_be_drawn(levels: tuple[float, float]) -> None:
    assert FigureTable(kind="regret", band="quantiles", levels=levels).levels == levels


# --- a starting file ----------------------------------------------------------------------------


@pytest.fixture
def started(place: Path) -> str:
    result = RUNNER.invoke(app, ["new", "experiment", "my-study"])
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.splitlines() == [
        "Wrote my-study.toml. Next:",
        "  graphbandits run my-study.toml --dry-run",
        "  graphbandits run my-study.toml",
    ]
    return (place / "my-study.toml").read_text("utf-8")


def blocks(text: str) -> Iterator[tuple[int, int]]:
    """Where options that are off begin and end: lines with # and no blank after it."""
    lines = text.splitlines()
    off = [re.match(r"#\S", line) is not None for line in lines] + [False]
    start = None
    for number, here in enumerate(off):
        if here and start is None:
            start = number
        if not here and start is not None:
            yield start, number
            start = None


def switched_on(text: str, start: int, end: int) -> str:
    lines = text.splitlines()
    lines[start:end] = [line.removeprefix("#") for line in lines[start:end]]
    return "\n".join(lines)


def test_the_starting_file_runs_as_it_is_and_is_small(place: Path, started: str) -> None:
    (plan,) = load_experiment("my-study.toml").plans()
    assert plan.decisions <= 10**5
    result = RUNNER.invoke(app, ["run", "my-study.toml", "--trials=3", "--workers=1"])
    assert result.exit_code == 0, result.stderr
    assert (place / "my-study" / "report.html").is_file()


def test_every_option_of_the_starting_file_can_be_switched_on(place: Path, started: str) -> None:
    found = list(blocks(started))
    assert len(found) > 15
    plain = load_experiment("my-study.toml").model_dump()
    for start, end in found:
        text = switched_on(started, start, end)
        assert text != started
        (place / "on.toml").write_text(text, "utf-8")
        experiment = load_experiment("on.toml")
        assert experiment.plans(), text
        given = tomllib.loads(text).keys() - tomllib.loads(started).keys()
        assert given, "a block says something"
        changed = {key for key, value in experiment.model_dump().items() if value != plain[key]}
        assert changed <= given


def test_the_starting_file_shows_every_key_of_every_table(started: str) -> None:
    shown: dict[str, set[str]] = {name: set() for name in ("", *TABLES)}
    for text in (started, *(switched_on(started, *block) for block in blocks(started))):
        for key, value in tomllib.loads(text).items():
            shown[""].add(key)
            for table in value if isinstance(value, list) else [value]:
                if key in TABLES:
                    shown[key] |= set(table)
    assert shown[""] == set(keys_of(Experiment))
    for name, table in TABLES.items():
        assert shown[name] == set(keys_of(table)), name
    kinds = set(re.findall(r'^#kind = "(\w+)"', started, re.MULTILINE))
    assert kinds == set(OPTIONS)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ["a b"],
            "Error: an experiment's name has letters, digits, points and signs, such as a-b;",
        ),
        (["../up"], "such as up;"),
        (["///"], "such as my-study;"),
        (["paper-1a"], "Error: there is an experiment 'paper-1a' already: choose another name"),
        (["here"], "Error: here.toml exists: choose another name with --output"),
        (["--output", "here.toml"], "Error: here.toml exists"),
        (["--output", "no/where.toml"], "Error: cannot write no/where.toml"),
    ],
)
def test_names_that_a_new_experiment_cannot_have(place: Path, words: list[str], told: str) -> None:
    (place / "here.toml").write_text("mine")
    result = RUNNER.invoke(app, ["new", "experiment", *words])
    assert (result.exit_code, result.stdout) == (2, "")
    assert told in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert [path.name for path in place.iterdir()] == ["here.toml"]
    assert (place / "here.toml").read_text() == "mine"


def test_a_new_experiment_has_a_name_and_a_place_if_told_none(place: Path) -> None:
    assert RUNNER.invoke(app, ["new", "experiment"]).exit_code == 0
    result = RUNNER.invoke(app, ["new", "experiment", "--output", "my file.toml"])
    assert "graphbandits run 'my file.toml' --dry-run" in result.stdout
    assert {path.name for path in place.iterdir()} == {"my-experiment.toml", "my file.toml"}
    assert load_experiment("my file.toml").title == "my-experiment"


# --- the document -------------------------------------------------------------------------------


def default_text(table: type[Table], key: str) -> str:
    """The default of a key as the document writes it."""
    field = next(f for n, f in table.model_fields.items() if (f.alias or n) == key)
    if field.is_required():
        return "needed"
    default = field.default
    if default is None or default == () or isinstance(default, Table):
        return "—"
    return f"`{json.dumps(default)}`"


def test_the_document_names_every_key_with_its_default() -> None:
    document = (ROOT / "docs" / "experiment-files.md").read_text("utf-8")
    headings = {"The experiment": Experiment} | {
        f"`[{name}]`" if name in ("record", "published") else f"`[[{name}]]`": table
        for name, table in TABLES.items()
    }
    for heading, table in headings.items():
        section = document.split(f"## {heading}\n")[1].split("\n## ")[0]
        rows = re.findall(r"^\| `(\w+)` \| (.+?) \| .+ \|$", section, re.MULTILINE)
        wanted = [(key, default_text(table, key)) for key in keys_of(table)]
        assert sorted(rows) == sorted(wanted), heading


def test_the_document_says_which_options_go_with_which_kind() -> None:
    document = (ROOT / "docs" / "experiment-files.md").read_text("utf-8")
    section = document.split("## `[[figures]]`\n")[1].split("\n## ")[0]
    for kind, options in OPTIONS.items():
        (row,) = re.findall(rf'^\| `"{kind}"` \| .+? \| (.*?) \|$', section, re.MULTILINE)
        assert tuple(re.findall(r"`(\w+)`", row)) == options, kind
    assert set(get_args(FigureTable.model_fields["kind"].annotation)) == set(OPTIONS)


def test_the_document_says_what_can_be_swept() -> None:
    document = (ROOT / "docs" / "experiment-files.md").read_text("utf-8")
    sentence = re.search(r"A parameter that is one of the keys (.+?) sets that key", document)
    assert sentence is not None
    assert set(re.findall(r"`(\w+)`", sentence[1])) == set(KEYS)


def test_the_files_of_the_document_are_taken(place: Path) -> None:
    document = (ROOT / "docs" / "experiment-files.md").read_text("utf-8")
    found = re.findall(r"```toml\n(.*?)```", document, re.DOTALL)
    assert len(found) >= 3
    for text in found:
        whole = text if "title =" in text else ONE + text
        (place / "shown.toml").write_text(whole, "utf-8")
        assert load_experiment("shown.toml").plans()
