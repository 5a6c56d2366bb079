"""Tests of experiments/figures.py: figures in experiment files."""

from __future__ import annotations

import inspect
import itertools
import tomllib
from typing import Any, get_args

import pytest
from helpers.bad_input import refuses

from graphbandits.errors import InputError
from graphbandits.experiments import Experiment
from graphbandits.experiments.figures import OPTIONS, FigureTable, figure_name_part
from graphbandits.plots import TWO_COLUMNS
from graphbandits.plots._canvas import SCALES
from graphbandits.plots.plays import BY
from graphbandits.plots.regret import BANDS, LEVELS
from graphbandits.plots.requested import COMMON, GIVEN, KINDS, WIDTHS
from graphbandits.plots.style import FORMATS
from graphbandits.results.data_frames import QUANTILES

ONE = """title = "T"
graph = "random(r=0.5)"
arms = 3
horizon = 20
trials = 4
policies = ["ids-n", "ts-n"]
"""


def experiment_of(text: str) -> Experiment:
    """The experiment of a text, as if it were a file."""
    return Experiment.model_validate(tomllib.loads(text))


def test_figures_are_plain_data_with_names_of_lines() -> None:
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
    assert experiment.figure_requests(experiment.plans()) == [
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
    assert none.figure_requests(none.plans()) == []
    one = experiment_of(ONE.replace(', "ts-n"', ""))
    kinds = [figure["kind"] for figure in one.figure_requests(one.plans())]
    assert kinds == ["regret", "final", "plays"]
    more = [figure["kind"] for figure in one.figure_requests(one.plans(policies=["ucb-n"]))]
    assert more == ["regret", "final", "differences", "plays"]


def test_additional_policy_can_be_in_a_figure() -> None:
    experiment = experiment_of(ONE + '[[figures]]\nkind = "plays"\npolicies = ["ucb-n"]\n')
    with refuses(InputError, match="figures 1: 'ucb-n' is not one of the policies"):
        experiment.plans()
    assert experiment.plans(policies=["ucb-n"])


@pytest.mark.parametrize("levels", list(itertools.combinations(QUANTILES, 2)))
def test_all_levels_that_are_kept_can_be_drawn(levels: tuple[float, float]) -> None:
    assert FigureTable(kind="regret", band="quantiles", levels=levels).levels == levels


@pytest.mark.parametrize(
    ("figure", "message"),
    [
        ({"kind": "differences", "xscale": "log"}, "can be negative"),
        (
            {"kind": "differences", "all_pairs": True, "reference": "ts-n"},
            "all_pairs and reference cannot be combined",
        ),
        ({"kind": "final", "yscale": "log"}, "an option of 'regret' and 'sweep'"),
        ({"kind": "plays", "by": "ranks"}, "'rank' or 'arm'"),
    ],
)
def test_options_that_make_no_figure_are_refused_in_a_file(
    figure: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        FigureTable.model_validate(figure)


def test_files_and_figures_accept_the_same_words() -> None:
    """The schema may not import the plots: its allowed values are compared here."""
    fields = FigureTable.model_fields

    def words(key: str) -> set[str]:
        return set(get_args(fields[key].annotation))

    assert set(OPTIONS) == set(KINDS)
    for kind, options in OPTIONS.items():
        others = {"scale"} if kind == "sweep" else set()  # that of the sweep itself
        known = set(inspect.signature(KINDS[kind]).parameters) - {*GIVEN, *COMMON}
        assert known == {*options, *others}
    assert words("kind") == set(KINDS)
    assert words("band") == set(BANDS)
    assert words("scale") == words("xscale") == words("yscale") == set(SCALES)
    assert set(get_args(get_args(fields["by"].annotation)[0])) == set(BY)
    assert words("width") == set(WIDTHS)
    assert set(get_args(get_args(fields["formats"].annotation)[0])) == set(FORMATS)
    assert fields["levels"].default == LEVELS
    assert set(LEVELS) <= set(QUANTILES)
    own = {option for options in OPTIONS.values() for option in options}
    assert set(fields) == {*COMMON, *own}
    assert WIDTHS[fields["width"].default] == TWO_COLUMNS
    parts = {kind: figure_name_part({"kind": kind}) for kind in KINDS}
    assert parts["regret"] == parts["sweep"] == ""
    assert len(set(parts.values())) == 4
