"""Tests of plots/style.py: styles of policies, and saved files."""

from __future__ import annotations

import os
import subprocess
import sys

import matplotlib
import numpy as np
import pytest
from helpers import SRC
from helpers.figures import gid
from matplotlib.colors import to_hex, to_rgb

from graphbandits import Results
from graphbandits.graphs import Fixed
from graphbandits.plots import (
    final_figure,
    plays_figure,
    regret_figure,
    save_figure,
    style,
    sweep_figure,
)
from graphbandits.plots.style import COLOURS, look, looks
from graphbandits.registry import registered
from graphbandits.study.experiment import experiment_names, load_experiment


def test_styles_of_64_policies_differ_without_colour() -> None:
    assert len({(str(look(i).line), look(i).marker) for i in range(64)}) == 64
    assert len({(look(i).colour, look(i).marker) for i in range(64)}) == 64
    assert len({(look(i).colour, str(look(i).line)) for i in range(64)}) == 64
    first = [look(i) for i in range(8)]  # what a paper has: nothing is shared at all
    for part in ("colour", "line", "marker"):
        assert len({str(getattr(one, part)) for one in first}) == 8


def test_style_depends_only_on_the_name() -> None:
    known = [name for group in style.OWNERS for name in group]
    everything = looks([*known, "mine", "yours"])
    assert looks([*reversed(known), "yours", "mine"]) == everything
    for name in known:
        assert looks(["mine", name, "ids-n(beta=2)"])[name] == everything[name]
        assert looks([name])[name] == everything[name]
    alone = looks(["mine"])["mine"]
    assert looks(["ids-n", "mine"])["mine"] == looks(["mine", "ts-n"])["mine"] == alone
    assert len(set(looks(known).values())) == len(known) == len(set(known))
    assert set(known) <= set(registered("policy"))


def test_policies_of_a_packaged_experiment_share_no_colour_if_eight_suffice() -> None:
    for name in experiment_names():
        for cell in load_experiment(name).plans():
            lines = list(cell.lines.values())
            colours = {one.colour for one in looks(lines).values()}
            assert len(colours) == min(8, len(lines))


def test_unknown_policies_share_colours_only_if_all_are_used() -> None:
    for count in (8, 30, 64, 70):
        names = [f"mine(beta={i})" for i in range(count - 3)] + ["ids-n", "ts-n", "uniform"]
        found = looks(names)
        assert list(found) == names
        uses = [sum(one.colour == colour for one in found.values()) for colour in COLOURS]
        assert max(uses) - min(uses) <= 1
        assert len(set(found.values())) == min(count, 64)


def test_policy_has_the_same_style_in_every_figure(results: Results) -> None:
    wanted = {name: one.colour for name, one in looks(results.policies).items()}
    curves = {line.get_label(): line for line in regret_figure(results).axes[0].get_lines()}
    assert {name: line.get_color() for name, line in curves.items()} == wanted
    swept = sweep_figure({0: results, 1: results}, "r").axes[0].containers
    assert {bar.get_label(): bar.lines[0].get_color() for bar in swept} == wanted
    final = final_figure(results)
    for name, colour in wanted.items():
        (points,) = gid(final, f"trials of {name}")
        assert to_hex(points.get_facecolor()[0]) == colour.lower()


def test_colours_differ_for_colour_blind_readers() -> None:
    """Under a simulated lack of red or green receptors (Machado 2009) no two colours coincide."""
    linear = np.array([to_rgb(c) for c in COLOURS]) ** 2.2
    for matrix in (
        [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
        [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    ):
        seen = np.clip(linear @ np.array(matrix).T, 0, 1) ** (1 / 2.2)
        gaps = [np.linalg.norm(a - b) for i, a in enumerate(seen) for b in seen[:i]]
        assert min(gaps) > 0.1
    luminance = linear @ [0.2126, 0.7152, 0.0722]
    assert (1.05 / (luminance + 0.05)).min() > 2.0  # on white


def test_user_settings_have_no_effect_and_stay_unchanged(results: Results, tmp_path) -> None:
    def picture(name: str) -> bytes:
        return save_figure(regret_figure(results), tmp_path / name, "png")[0].read_bytes()

    plain = picture("plain")
    own = {"axes.facecolor": "black", "font.size": 30.0, "text.usetex": True, "axes.grid": True}
    with matplotlib.rc_context(own):
        assert picture("own") == plain
        assert {key: matplotlib.rcParams[key] for key in own} == own


def test_the_same_figure_gives_the_same_files(named: Results, directed: Fixed, tmp_path) -> None:
    def write() -> dict[str, bytes]:
        figure = plays_figure(named, title="Title", graph=directed)
        written = save_figure(figure, tmp_path / "figure", ("png", "svg", "pdf"))
        return {path.name: path.read_bytes() for path in written}

    first = write()
    assert write() == first
    assert list(first) == ["figure.png", "figure.svg", "figure.pdf"]
    assert first["figure.png"][:8] == b"\x89PNG\r\n\x1a\n"
    assert b"<svg" in first["figure.svg"]
    assert first["figure.pdf"][:5] == b"%PDF-"
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(first)


@pytest.mark.nightly
def test_another_process_writes_the_same_bytes(tmp_path) -> None:
    program = (
        "import sys; from graphbandits import simulate; from graphbandits.plots import *;"
        "r = simulate('ts-n', graph='paper', horizon=5, trials=4);"
        "save_figure(plays_figure(r, graph='paper'), sys.argv[1], ('svg', 'pdf'))"
    )
    source = str(SRC)
    for seed in "01":
        environment = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": source}
        command = [sys.executable, "-c", program, str(tmp_path / seed)]
        subprocess.run(command, check=True, env=environment)
    for kind in ("svg", "pdf"):
        assert (tmp_path / f"0.{kind}").read_bytes() == (tmp_path / f"1.{kind}").read_bytes()
