"""What the figure says: every policy, ordered by its final regret, told apart without colour."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from graphbandits import Results, simulate
from graphbandits.plots import COLOURS, regret_figure, save_figure
from graphbandits.results import PolicyResult


@pytest.fixture(scope="module")
def results() -> Results:
    return simulate(["ts-n", "ids-n", "idsn-lp", "ids-lp"], graph="paper", horizon=80, trials=60)


def test_the_legend_is_ordered_by_final_regret(results: Results) -> None:
    legend = regret_figure(results).axes[0].get_legend()
    assert legend is not None
    names = [text.get_text().split()[0] for text in legend.get_texts()]
    assert names == results.ranking()


def test_lines_are_the_means_and_bands_the_intervals(results: Results) -> None:
    axes = regret_figure(results).axes[0]
    lines = {line.get_label().split()[0]: line for line in axes.get_lines()}
    for name, result in results.policies.items():
        assert (lines[name].get_ydata() == result.mean).all()
    worst = results.ranking()[-1]
    low, high = results.interval(worst)
    band = axes.collections[0].get_paths()[0].vertices  # the worst is drawn first
    at_end = band[band[:, 0] == results.rounds[-1], 1]
    assert (at_end.min(), at_end.max()) == pytest.approx((low, high))


def test_policies_differ_in_style_and_marker_not_only_in_colour(results: Results) -> None:
    lines = regret_figure(results).axes[0].get_lines()
    looks = {(str(line.get_linestyle()), line.get_marker()) for line in lines}
    assert len(looks) == 4
    assert len({line.get_marker() for line in lines}) == 4


def test_colours_differ_in_brightness_or_hue_for_all_eyes() -> None:
    """Under a simulated lack of red or green receptors (Machado 2009) no two colours coincide."""
    linear = np.array([to_rgb(c) for c in COLOURS]) ** 2.2
    for matrix in (
        [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
        [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    ):
        seen = np.clip(linear @ np.array(matrix).T, 0, 1) ** (1 / 2.2)
        gaps = [np.linalg.norm(a - b) for i, a in enumerate(seen) for b in seen[:i]]
        assert min(gaps) > 0.1


def test_the_same_figure_gives_the_same_files(results: Results, tmp_path) -> None:
    written = save_figure(regret_figure(results, "Title"), tmp_path / "figure")
    first = [path.read_bytes() for path in written]
    assert [
        path.read_bytes()
        for path in save_figure(regret_figure(results, "Title"), tmp_path / "figure")
    ] == first
    assert [path.name for path in written] == ["figure.png", "figure.svg"]
    assert written[0].read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert b"<svg" in written[1].read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["figure.png", "figure.svg"]


def test_one_trial_can_be_drawn(results: Results) -> None:
    one = {
        name: PolicyResult.from_trials(r.mean[None], r.plays)
        for name, r in results.policies.items()
    }
    figure = regret_figure(Results(results.rounds, one, results.arms, results.settings))
    figure.canvas.draw()
