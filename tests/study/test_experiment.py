"""Tests of study/experiment.py: valid and invalid experiment files."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import FIXTURES
from helpers.bad_input import refuses
from helpers.made_up_results import same
from helpers.reward_families import FAMILIES
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import graphbandits
from graphbandits.errors import GraphBanditsError, InputError
from graphbandits.posteriors import BetaBernoulli
from graphbandits.simulation.identity import series_of
from graphbandits.simulation.plan import Plan
from graphbandits.simulation.run import simulate_plan
from graphbandits.study.experiment import (
    TABLES,
    Experiment,
    _first_error,
    build_models,
    experiment_names,
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
MISTAKES = FIXTURES / "experiment_mistakes.txt"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def experiment_of(text: str) -> Experiment:
    """The experiment of a text, as if it were a file."""
    return Experiment.model_validate(tomllib.loads(text))


def mistakes() -> Iterator[Any]:
    """Files and their error messages, from tests/fixtures/experiment_mistakes.txt."""
    for block in MISTAKES.read_text("utf-8").split("\n\n")[1:]:
        made, message = block.strip().split("\n=> ")
        first, _, added = made.partition("\n")
        base, *changes = first.split(" | ")
        file = {"one": ONE, "swept": SWEPT}[base]
        for change in changes:
            old, new = change.split(" ->")
            assert old in file
            file = file.replace(old, new.strip())
        yield pytest.param(file + added, message, id=" ".join(made.split()))


@pytest.mark.parametrize(("text", "message"), list(mistakes()))
def test_mistake_is_reported_in_one_line_before_anything_runs(
    place: Path, text: str, message: str
) -> None:
    (place / "mine.toml").write_text(text, "utf-8")
    with pytest.raises(GraphBanditsError) as caught:
        load_experiment("mine.toml").plans()
    found = str(caught.value).removeprefix("mine.toml: ")
    assert "\n" not in found
    if message.endswith("..."):  # followed by all known names
        assert found.startswith(message.removesuffix("..."))
    else:
        assert found == message


def test_plugin_that_cannot_be_loaded_is_reported_with_experiment_and_position(
    place: Path,
) -> None:
    (place / "empty.py").write_text("", "utf-8")
    for plugins, start in (
        ('["none.py"]', "mine.toml: plugins 1: cannot read the plug-in none.py: No such file"),
        ('["empty.py"]', "mine.toml: plugins 1: cannot load the plug-in empty.py: it registers"),
    ):
        (place / "mine.toml").write_text(f"{ONE}plugins = {plugins}\n", "utf-8")
        with pytest.raises(InputError) as caught:
            load_experiment("mine.toml")
        assert str(caught.value).startswith(start)


def test_error_in_an_argument_names_no_key_of_the_file() -> None:
    for arguments, start in (
        ({"policies": ["idsn"]}, "unknown policy 'idsn'"),
        ({"policies": ["ts-n"]}, "policy 'ts-n' is given twice"),
        ({"trials": 2**33}, "trial numbers must be below 2**32"),
    ):
        with pytest.raises(InputError) as caught:
            experiment_of(ONE).plans(**arguments)
        assert str(caught.value).startswith(start)


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
    with refuses(InputError):
        one.plans(ratios="both")
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
        Experiment.model_validate(given).plans()
    except GraphBanditsError as error:
        message = str(error)
    except ValueError as error:
        message = _first_error(error)
    else:
        return
    assert message
    assert "\n" not in message


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
def test_world_of_a_file_equals_the_same_world_in_python(
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
    same(ours, theirs)
    assert ours.settings == theirs.settings


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


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("actions = true", ("actions",)),
        ("observations = true\nactions = false", ("observations",)),
        ("observations = true\nactions = true", ("actions", "observations")),
    ],
)
def test_recorded_trajectories_follow_the_file(text: str, words: tuple[str, ...]) -> None:
    (plan,) = experiment_of(f"{ONE}[record]\n{text}\n").plans()
    assert plan.recording.trajectories == words
    assert plan.settings()["record"] == list(words)


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
    same(found, there)
    (plan,) = experiment_of(ONE + "[record]\npoints = 4\n").plans()
    assert len(plan.recording.rounds) == 4


def test_without_sweeps_there_is_one_cell() -> None:
    (plan,) = experiment_of(ONE).plans(trials=7, seed=3, policies=["ucb-n()"])
    assert (plan.sweep, dict(plan.point)) == (None, {})
    assert plan.lines == {"ids-n": "ids-n", "ts-n": "ts-n", "ucb-n": "ucb-n"}
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
    (swept,) = experiment.sweep_records()
    assert (swept.title, swept.parameters, swept.x) == ("T", ["r", "arms", "c"], "arms")
    assert (swept.label, swept.scale) == ("arms", "linear")
    with refuses(InputError, match="this experiment has 8 simulations"):
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


def test_first_parameter_of_a_grid_is_on_the_axis() -> None:
    grid = '[[sweeps]]\ngrid = { r = [0.5, 1], arms = [2, 3] }\nscale = "log"\nlabel = "chance"\n'
    (swept,) = experiment_of(SWEPT + grid).sweep_records()
    assert (swept.x, swept.scale, swept.label) == ("r", "log", "chance")
    texts = grid.replace("arms = [2, 3]", 'accuracy = ["strict", "simulation"]')
    assert (
        experiment_of(SWEPT + texts).sweep_records()[0].x == "r"
    )  # only values on the axis must be numbers


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


def test_a_policy_at_two_priors_is_run_at_both() -> None:
    """A policy is not run twice on the same problem; another prior is another problem."""
    text = ONE + '[[sweeps]]\nparameter = "prior"\nvalues = ["1,9", "9,1"]\n'
    plans = experiment_of(text).plans()
    assert [list(plan.policies) for plan in plans] == [["ids-n", "ts-n"]] * 2
    series = {series_of(plan, name).name for plan in plans for name in plan.policies}
    assert len(series) == 4


@pytest.mark.parametrize("name", experiment_names())
def test_cells_of_a_packaged_experiment_are_its_simulations(name: str) -> None:
    experiment = load_experiment(name)
    plans = experiment.plans(trials=3)
    assert len(plans) == experiment.runs
    if not experiment.sweeps:
        return
    swept = experiment.sweep_records()
    assert len(swept) == len(experiment.sweeps)
    points = [point for sweep in experiment.sweeps for point in sweep.points()]
    for plan, point, setup in zip(plans, points, experiment.setups(), strict=True):
        assert plan.point == point
        assert list(plan.point) == swept[plan.sweep].parameters
        assert list(plan.lines) == list(plan.policies)
        assert set(plan.lines.values()) <= set(experiment.lines())
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


def test_points_with_the_same_models_share_series() -> None:
    """A sweep of the posterior does not change a policy without one: but its series differ."""
    text = ONE + 'world = "gaussian"\n[[sweeps]]\nparameter = "m"\nvalues = [1, 2]\n'
    text += 'posterior = "normal(mean={m})"\n'
    plans = experiment_of(text).plans()
    names = {series_of(plan, name).name for plan in plans for name in plan.policies}
    assert len(names) == 4


@pytest.mark.parametrize("family", FAMILIES)
def test_file_of_every_family_equals_the_same_simulation_in_python(family: str) -> None:
    one = FAMILIES[family]
    text = f'world = "{one.world}"\nposterior = "{one.other_posterior}"\nmeans = {list(one.means)}'
    (plan,) = experiment_of(ONE + text).plans()
    world = as_world(one.world, 3, means=one.means)
    theirs = graphbandits.simulate(
        ["ids-n", "ts-n"],
        world,
        "random(r=0.5)",
        horizon=20,
        trials=4,
        posterior=one.other_posterior,
        progress=False,
    )
    ours = simulate_plan(plan, workers=1)
    same(ours, theirs)
    assert ours.settings == theirs.settings
    assert ours.settings["means"] == list(one.means)
