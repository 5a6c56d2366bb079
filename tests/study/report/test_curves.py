"""Tests of study/report.py: curves, outliers and colours."""

from __future__ import annotations

import base64
import io
import json
import re
from dataclasses import replace

import numpy as np
import pytest
from helpers.report_pages import described, made_up, page_of, study, table
from matplotlib.colors import to_rgb
from PIL import Image

from graphbandits import Results
from graphbandits.plots.style import COLOURS, looks
from graphbandits.simulation.results import PolicyResult
from graphbandits.study.report import dash, report_html, without_outliers


def ending_at(*means: float) -> Results:
    """Policies p0, p1, ... with these regrets after the only round."""
    values = {f"p{i}": np.full((3, 1), mean) for i, mean in enumerate(means)}
    policies = {n: PolicyResult.from_trials(v, np.array([3])) for n, v in values.items()}
    return Results(np.array([1]), policies, ("a",), described(policies, {}))


def test_outliers_are_few_and_far_above_the_others() -> None:
    for means, kept in (
        ((4, 6, 12, 20, 81), 4),
        ((4, 6, 12, 20, 33), 5),
        ((6.3, 6.3, 8.9, 9.6, 14.4, 33.7, 53.3), 5),
        ((5.0, 5.5, 6.0, 150.0), 3),
        ((2.0, 2.1, 100.0, 101.0), 4),
        ((1.0, 1.3, 1.7, 2.2, 2.9, 3.7, 4.8, 6.3, 8.2), 9),
        ((1.0, 100.0), 2),
        ((0.0, 0.0, 5.0), 3),
        ((-1.0, 2.0, 3.0), 3),
        ((7.0,), 1),
    ):
        assert without_outliers(means) == kept


def test_outliers_are_cut_off_by_default_and_the_page_names_them() -> None:
    (figure,) = page_of(study(ending_at(5.0, 150.0, 6.0, 5.5))).all("figure")
    (choice,) = figure.all("span", **{"class": "choice", "aria-label": "Range of the axis"})
    assert [label.text.strip() for label in choice.all("label")] == [
        "all policies",
        "the 3 with least regret",
    ]
    assert [i.attributes["value"] for i in choice.all("input")] == ["4", "3"]
    assert ["checked" in i.attributes for i in choice.all("input")] == [False, True]
    (cut,) = figure.all("span", class_="cut-off")
    assert "hidden" not in cut.attributes
    assert cut.attributes["data-count"] == "3"
    assert ": p1 (150.00). " in cut.text


def test_without_outliers_the_axis_shows_all_policies() -> None:
    (figure,) = page_of(study()).all("figure")
    assert [c.attributes["aria-label"] for c in figure.all("span", class_="choice")] == ["Band"]
    assert not figure.all("span", class_="cut-off")
    # two groups: no policy is an outlier, and the lower group can be chosen
    (figure,) = page_of(study(ending_at(2.0, 100.0, 2.1, 101.0))).all("figure")
    (choice,) = figure.all("span", **{"class": "choice", "aria-label": "Range of the axis"})
    chosen = {i.attributes["value"]: "checked" in i.attributes for i in choice.all("input")}
    assert chosen == {"4": True, "2": False}
    (cut,) = figure.all("span", class_="cut-off")
    assert "hidden" in cut.attributes


def test_the_curves_are_those_of_the_results() -> None:
    results = made_up()
    (figure,) = page_of(study(results)).all("figure")
    data = json.loads(figure.all("script")[0].text)
    assert data["rounds"] == results.rounds.tolist()
    assert [p["name"] for p in data["policies"]] == results.ranking()
    for policy in data["policies"]:
        name = policy["name"]
        assert policy["mean"] == pytest.approx(results[name].mean, abs=1e-5)
        for kind in ("interval", "quantiles"):
            low, high = results.band(name, kind=kind)
            assert policy[kind][0] == pytest.approx(low, abs=1e-5)
            assert policy[kind][1] == pytest.approx(high, abs=1e-5)
        assert COLOURS[policy["colour"]] == looks(results.policies)[name].colour
    buttons = [b.text for b in figure.all("button")]
    assert buttons == [f"{n}{results[n].mean[-1]:.2f}" for n in results.ranking()]


def test_colours_equal_those_of_figures_and_are_legible_in_dark_mode() -> None:
    style = page_of(study()).all("head")[0].all("style")[0].text
    light, dark = {}, {}
    for number, colour in re.findall(r"--policy-(\d): (#[0-9a-f]{6});", style):
        (dark if number in light else light)[number] = colour
    assert [light[str(i)].upper() for i in range(8)] == [c.upper() for c in COLOURS]
    grounds = re.findall(r"--ground: (#[0-9a-f]{6});", style)

    def luminance(colour: str) -> float:
        rgb = np.array(to_rgb(colour))
        linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
        return float(linear @ [0.2126, 0.7152, 0.0722]) + 0.05

    assert len(set((light | dark).values())) == 8
    assert all(luminance(c) / luminance(grounds[1]) > 4.49 for c in (light | dark).values())
    assert (dash("-"), dash((0, (3, 3)))) == ("", "6,6")


def test_twelve_policies_have_distinct_styles() -> None:
    results = made_up(tuple(f"p{i}" for i in range(12)))
    page = page_of(study(results))
    (figure,) = page.all("figure")
    looks = [(p["colour"], p["dash"]) for p in json.loads(figure.all("script")[0].text)["policies"]]
    assert len(set(looks)) == 12
    assert len(table(page, "regrets").rows()) == 12
    assert len(table(page, "differences").rows()) == 66
    assert "open" not in page.all("details")[0].attributes
    assert "open" in page_of(study()).all("details")[0].attributes


@pytest.mark.usefixtures("drawn_pictures")
def test_curves_have_a_still_picture_for_readers_without_javascript() -> None:
    (figure,) = page_of(study()).all("figure")
    (picture,) = figure.all("noscript")[0].all("img")
    kind, data = picture.attributes["src"].split(",")
    assert kind == "data:image/webp;base64"
    with Image.open(io.BytesIO(base64.b64decode(data))) as image:
        assert image.size[0] > 1000
    for name in study().results.ranking():
        assert name in picture.attributes["alt"]


@pytest.mark.usefixtures("drawn_pictures")
def test_page_of_eight_policies_is_below_500_kb() -> None:
    results = made_up(tuple(f"p{i}" for i in range(8)))
    policies = {
        name: PolicyResult.from_trials(np.repeat(one.regret, 2, axis=1), one.plays)
        for name, one in results.policies.items()
    }
    usual = replace(results, rounds=np.arange(5, 1001, 5), policies=policies)
    assert len(report_html([study(usual)], title="T").encode()) < 500_000
