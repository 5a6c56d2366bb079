"""The report: its numbers are those of the results, names stay text, nothing comes from outside."""

from __future__ import annotations

import base64
import json
import re
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from pages import ARMS, SETTINGS, Node, Page, made_up

from graphbandits import Results
from graphbandits.errors import InputError
from graphbandits.plots import COLOURS
from graphbandits.report import Study, report_html, write_report
from graphbandits.report.curves import DARK, dash, on_dark, plotly_script
from graphbandits.report.markup import raw_element
from graphbandits.report.study import anchors

RERUN = "graphbandits simulate ts-n ids-n --seed 17"
AWKWARD = (
    "<script>alert(1)</script>",
    "a & b \"c\" 'd'",
    "</script><!--",
    "Zoë %{x} $a$ 东京 \ud800",
)


def study(results: Results | None = None, key: str = "k", **changes: object) -> Study:
    return replace(Study(key, "A title", results or made_up(), RERUN), **changes)  # type: ignore[arg-type]


def page_of(*studies: Study, **words: str) -> Node:
    return Page(report_html(studies, **{"title": "Title", **words})).root


def table(page: Node, kind: str) -> Node:
    (found,) = page.all("table", class_=kind)
    return found


def ends(text: str) -> tuple[float, float]:
    low, high = text.strip("[]").split(", ")
    return float(low), float(high)


def test_the_table_of_regrets_has_the_numbers_of_the_results() -> None:
    results = made_up()
    rows = table(page_of(study(results)), "regrets").rows()
    assert [row[0] for row in rows] == results.ranking()
    assert [row[1] for row in rows] == ["1", "2", "3"]
    best = results.ranking()[0]
    for row in rows:
        result, name = results[row[0]], row[0]
        assert float(row[2]) == round(float(result.final.mean()), 2)
        assert ends(row[3]) == pytest.approx(results.interval(name), abs=0.0051)
        assert float(row[4]) == pytest.approx(np.median(result.final), abs=0.0051)
        assert float(row[5]) == pytest.approx(np.quantile(result.final, 0.95), abs=0.0051)
        if name == best:
            assert row[6:] == ["", "", "the least mean"]
            continue
        paired = result.final - results[best].final
        assert float(row[6]) == pytest.approx(paired.mean(), abs=0.0051)
        low, high = ends(row[7])
        assert low < paired.mean() < high


def test_differences_from_the_best_are_those_of_all_pairs() -> None:
    """One family of intervals: the two tables cannot contradict each other."""
    page = page_of(study())
    pairs = {(row[0], row[2]): row for row in table(page, "differences").rows()}
    assert len(pairs) == 3
    best, *others = table(page, "regrets").rows()
    words = {"clearly better": "clearly worse", "not told apart": "not told apart"}
    for row in others:
        pair = pairs[best[0], row[0]]
        low, high = ends(pair[5])
        assert (float(row[6]), *ends(row[7])) == (-float(pair[3]), -high, -low)
        assert row[8] == words[pair[1]]


def test_the_words_say_whether_the_simultaneous_interval_excludes_zero() -> None:
    results = made_up()
    rows = table(page_of(study(results)), "differences").rows()
    found = results.differences(simultaneous=True)
    assert [(row[0], row[2]) for row in rows] == [(d.first, d.second) for d in found]
    said = set()
    for row, d in zip(rows, found, strict=True):
        wanted = "clearly better" if d.high < 0 else "not told apart"
        assert d.low < 0
        assert (row[1], float(row[3])) == (wanted, round(d.mean, 2))
        assert float(row[4]) == pytest.approx(d.standard_error, abs=0.0051)
        assert ends(row[5]) == pytest.approx((d.low, d.high), abs=0.0051)
        said.add(row[1])
    assert said == {"clearly better", "not told apart"}


def test_plays_are_named_and_counted_per_trial() -> None:
    results = made_up()
    rows = table(page_of(study(results)), "plays").rows()
    assert [row[0] for row in rows] == list(ARMS)
    for i, row in enumerate(rows):
        wanted = [f"{result.plays[i] / 30:.1f}" for result in results.policies.values()]
        assert row[1:] == wanted


def test_of_many_arms_the_most_played_are_named_and_none_is_lost() -> None:
    results = made_up(arms=tuple(f"arm {i}" for i in range(200)), settings={})
    page = page_of(study(results))
    rows = table(page, "plays").rows()
    assert len(rows) == 21
    assert rows[-1][0] == "the other 180 arms"
    for column in (1, 2, 3):
        assert sum(float(row[column]) for row in rows) == pytest.approx(100.0, abs=21 * 0.05)
    (arms,) = [d.all("dd")[0].text for d in page.all("div") if d.text.startswith("arms200")]
    assert arms.endswith("arm 39 and 160 more")


def test_the_overview_marks_the_best_and_what_is_not_told_apart() -> None:
    other = study(made_up(("ids-n", "z")), key="other", title="Another")
    page = page_of(study(), other)
    (head,) = table(page, "overview").all("thead")
    names = [th.text for th in head.all("th")]
    assert names == ["study", "ts-n", "ids-n", "mine(rate=0.5)", "z", "rounds", "trials"]
    first, second = table(page, "overview").rows()
    results = study().results
    least = f"{results['ids-n'].mean[-1]:.2f}"
    assert first[2] == f"{least} least"
    assert table(page, "overview").all("strong")[0].text == f"{least} least"
    assert not first[1].startswith("≈")
    assert first[4:] == ["not run", "100", "30"]
    assert second[1] == "not run"
    links = [a.attributes["href"] for a in page.all("a")]
    places = {
        n.attributes["id"]
        for kind in ("h2", "h3", "header")
        for n in page.all(kind)
        if "id" in n.attributes
    }
    assert {link[1:] for link in links} <= places
    assert all(link.startswith("#") for link in links)


def test_near_the_best_is_marked_in_the_overview() -> None:
    results = made_up(("a", "b"))
    near = results["b"].final + np.where(np.arange(30) % 2, 0.2, -0.1)
    policies = {
        "b": results["b"],
        "near": replace(results["b"], final=near, mean=results["b"].mean + 0.05),
    }
    first = study(replace(results, policies=policies))
    row, _ = table(page_of(first, replace(first, key="other")), "overview").rows()
    assert row[2].startswith("≈ ")
    assert row[2].endswith("not told apart from the least")


def test_one_study_is_its_own_overview() -> None:
    page = page_of(study())
    assert not page.all("nav")
    assert not page.all("table", class_="overview")


def test_who_may_know_what_and_when() -> None:
    rows = {row[0]: row[1:] for row in table(page_of(study()), "wide").rows()}
    assert rows["ts-n"] == ["never", "anything", "no", "exact", "graphbandits", "Thompson."]
    assert rows["ids-n"][0] == "before the decision"
    assert rows["mine(rate=0.5)"][:4] == ["after the play", "0/1", "yes", "not known, a draw"]
    assert rows["mine(rate=0.5)"][4] == "the file plugins/mine.py sha256 0123456789ab"


def settings_of(page: Node) -> dict[str, str]:
    return {d.all("dt")[0].text: d.all("dd")[0].text for d in page.all("div") if d.all("dt")}


def test_the_settings_are_all_there() -> None:
    found = settings_of(
        page_of(study(made_up(settings=SETTINGS | {"world": "night", "accuracy": "strict"})))
    )
    assert found == {
        "graph": "star",
        "arms": "3: ann, bob lee, Zoë",
        "prior": "ann Beta(1, 3), bob lee Beta(2, 2), Zoë Beta(3, 1.5)",
        "horizon": "100 rounds",
        "trials": "30",
        "seed": "17",
        "regret": "pseudo-regret: the best arm's mean minus that of the arm played",
        "accuracy": "strict: statistics right to 1e-8 relatively",
        "joined runs": "seed 17, first trial 0, trials 20; seed 17, first trial 20, trials 10",
        "versions": "graphbandits 9.8.7, python 3.13.1, numpy 2.3.4",
        "world": "night",
    }


def test_joined_results_have_all_seeds() -> None:
    parts = [
        made_up(settings={**SETTINGS, "seed": seed, "runs": None, "trials": 30}) for seed in (1, 2)
    ]
    found = settings_of(page_of(study(Results.concat(parts))))
    assert found["seed"] == "several: see the joined runs"
    assert found["trials"] == "60"
    assert found["joined runs"] == (
        "seed 1, first trial 0, trials 30; seed 2, first trial 0, trials 30"
    )


def test_old_results_fall_back_on_what_is_enrolled(request) -> None:
    old = Results.load(Path(request.path).parent / "fixtures" / "results-1")
    page = page_of(study(old))
    rows = {row[0]: row[1:] for row in table(page, "wide").rows()}
    assert rows["ids-n"][:5] == ["before the decision", "anything", "no", "exact", "not recorded"]
    assert rows["ts-n"][0] == "never"
    assert "These results do not record what their policies were told" in page.text
    found = settings_of(page)
    assert (found["seed"], found["versions"]) == ("4", "graphbandits 0.1.0")


def test_results_that_say_nothing_of_themselves() -> None:
    results = made_up(("ts-n", "unheard-of(x=1)"), settings={})
    page = page_of(study(results))
    rows = table(page, "wide").rows()
    assert rows[0][1] == "never"
    assert rows[1][1:] == ["not recorded"] * 6
    found = settings_of(page)
    assert found["graph"] == found["seed"] == found["prior"] == "not recorded"
    assert (found["horizon"], found["trials"]) == ("100 rounds", "30")


@pytest.mark.parametrize("junk", [None, 3, "text", [1], {"ts-n": 3}, {"ts-n": {"needs": 1}}])
def test_settings_of_another_kind_do_not_stop_the_page(junk: object) -> None:
    settings = dict.fromkeys((*SETTINGS, "version", "other"), junk)
    assert page_of(study(made_up(settings=settings))).all("table", class_="wide")


def test_names_stay_text() -> None:
    results = made_up(AWKWARD, arms=AWKWARD[:3])
    awkward = Study(AWKWARD[2], AWKWARD[0], results, AWKWARD[1] + AWKWARD[2], (AWKWARD[0],))
    page = page_of(awkward, title=AWKWARD[2], introduction=AWKWARD[0] + "\n\n" + AWKWARD[1])
    assert page.all("h1")[0].text == AWKWARD[2]
    assert page.all("title")[0].text == AWKWARD[2]
    assert [p.text for p in page.all("header")[0].all("p")[:2]] == list(AWKWARD[:2])
    assert page.all("pre")[0].text == AWKWARD[1] + AWKWARD[2]
    assert page.all("p", class_="note")[0].text == AWKWARD[0]
    names = [row[0] for row in table(page, "regrets").rows()]
    assert names == [name.replace("\ud800", "?") for name in results.ranking()]
    assert [row[0] for row in table(page, "plays").rows()] == list(AWKWARD[:3])
    # plotly and ours, and the data of one figure: no name made another
    assert len(page.all("script")) == 3
    (figure,) = page.all("figure")
    assert figure.attributes["data-key"] == AWKWARD[2]
    data = json.loads(figure.all("script")[0].text)
    # what plotly is given is HTML of its own kind: escaped
    assert {p["name"] for p in data["policies"]} == {
        "&lt;script&gt;alert(1)&lt;/script&gt;",
        "a &amp; b &quot;c&quot; &#x27;d&#x27;",
        "&lt;/script&gt;&lt;!--",
        "Zoë %{x} $a$ 东京 ?",
    }


def test_a_script_cannot_hold_its_own_end() -> None:
    with pytest.raises(ValueError, match="its own end tag"):
        raw_element("style", "p {} </STYLE>")


def test_the_curves_are_those_of_the_results() -> None:
    results = made_up()
    (figure,) = page_of(study(results)).all("figure")
    data = json.loads(figure.all("script")[0].text)
    assert data["rounds"] == results.rounds.tolist()
    assert [p["name"] for p in data["policies"]] == results.ranking()
    for policy in data["policies"]:
        name = policy["name"]
        assert policy["mean"] == results[name].mean.tolist()
        for kind in ("interval", "quantiles"):
            low, high = results.band(name, kind=kind)
            assert policy[kind] == [low.tolist(), high.tolist()]
        assert policy["colour"] == list(results.policies).index(name)
    buttons = [b.text for b in figure.all("button")]
    assert buttons == [f"{n}{results[n].mean[-1]:.2f}" for n in results.ranking()]


def test_colours_are_those_of_the_plots_and_can_be_seen_in_the_dark() -> None:
    (style,) = page_of(study()).all("style")
    light, dark = (
        re.findall(r"--policy-\d+: (#[0-9a-f]{6});", line) for line in style.text.splitlines()[:2]
    )
    assert [c.upper() for c in light] == [c.upper() for c in COLOURS]
    assert len(set(dark)) == len(COLOURS)
    assert f"--ground: {DARK};" in style.text
    assert on_dark("#ffffff") == "#ffffff"
    assert (dash("-"), dash((0, (3, 3)))) == ("solid", "6px,6px")


def test_twelve_policies_all_look_different() -> None:
    results = made_up(tuple(f"p{i}" for i in range(12)))
    page = page_of(study(results))
    (figure,) = page.all("figure")
    looks = [(p["colour"], p["dash"]) for p in json.loads(figure.all("script")[0].text)["policies"]]
    assert len(set(looks)) == 12
    assert len(table(page, "regrets").rows()) == 12
    assert len(table(page, "differences").rows()) == 66
    assert "open" not in page.all("details")[0].attributes
    assert "open" in page_of(study()).all("details")[0].attributes


def test_one_trial_has_no_intervals() -> None:
    page = page_of(study(made_up(trials=1)))
    assert not any("nan" in cell.text for cell in page.all("td"))
    rows = table(page, "regrets").rows()
    assert {row[3] for row in rows} == {"unknown"}
    assert {row[8] for row in rows[1:]} == {"unknown from one trial"}
    (figure,) = page.all("figure")
    assert not figure.all("input")
    assert all("interval" not in p for p in json.loads(figure.all("script")[0].text)["policies"])


def test_one_policy_has_nothing_to_compare() -> None:
    page = page_of(study(made_up(("ts-n",))))
    assert not page.all("table", class_="differences")
    assert "nothing to compare it with" in page.text


def test_small_regrets_keep_their_digits() -> None:
    small = made_up(("ts-n", "ids-n"))
    policies = {
        name: replace(
            r, mean=r.mean / 1e4, standard_error=r.standard_error / 1e4, final=r.final / 1e4
        )
        for name, r in small.policies.items()
    }
    results = replace(small, policies=policies)
    (first, _) = table(page_of(study(results)), "regrets").rows()
    assert first[2] == f"{results[first[0]].mean[-1]:.6f}"


def test_the_same_studies_give_the_same_bytes(tmp_path, monkeypatch) -> None:
    for name in ("one", "two"):
        write_report(tmp_path / name, [study()], title="T", introduction="I")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    without_plotly(monkeypatch)
    assert report_html([study()], title="T") == report_html([study()], title="T")


def test_a_page_that_cannot_be_made_leaves_the_old_one(tmp_path) -> None:
    path = write_report(tmp_path / "report.html", [study()], title="T")
    before = path.read_bytes()
    with pytest.raises(InputError, match="at least one study"):
        write_report(path, [], title="T")
    with pytest.raises(InputError, match="same key"):
        write_report(path, [study(), study()], title="T")
    with pytest.raises(InputError, match="cannot write"):
        write_report(tmp_path / "nowhere" / "report.html", [study()], title="T")
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]


def test_anchors_are_unique_and_fit_into_an_address() -> None:
    keys = ["1a", "A b!", "a-b", "东京", "4"]
    assert anchors([study(key=key) for key in keys]) == [
        "study-1a",
        "study-a-b",
        "study-a-b-3",
        "study-4",
        "study-4-5",
    ]


def test_every_id_is_there_once_and_labels_point_to_one() -> None:
    page = page_of(study(), study(key="l"))
    nodes = [n for kind in ("h2", "h3", "div", "header", "section") for n in page.all(kind)]
    ids = [n.attributes["id"] for n in nodes if "id" in n.attributes]
    assert len(ids) == len(set(ids))
    assert {s.attributes["aria-labelledby"] for s in page.all("section")} <= set(ids)
    assert page.all("html")[0].attributes["lang"] == "en"
    for each in page.all("table"):
        assert each.all("caption")[0].text
        assert all(th.attributes["scope"] in ("row", "col") for th in each.all("th"))
    levels = [int(n.name[1]) for n in _in_order(page) if re.fullmatch("h[1-6]", n.name)]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def _in_order(node: Node) -> list[Node]:
    return [n for part in node.parts if isinstance(part, Node) for n in (part, *_in_order(part))]


@pytest.mark.parametrize("interactive", [True, False])
def test_nothing_is_fetched(interactive: bool, monkeypatch) -> None:
    if not interactive:
        without_plotly(monkeypatch)
    text = report_html([study()], title="T").replace(plotly_script() or "\0", "")
    assert len(text) < 500_000
    assert not re.search(r"""(src|href|action|data)\s*=\s*["']?\s*(https?:)?//""", text)
    assert not re.search(r"https?:|@import|url\(", text)
    page = Page(text).root
    for node in _in_order(page):
        for key in ("src", "href"):
            assert node.attributes.get(key, "#").startswith(("#", "data:"))


def without_plotly(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "plotly", None)
    monkeypatch.setitem(sys.modules, "plotly.offline", None)


def test_without_plotly_the_curves_are_still_pictures(monkeypatch) -> None:
    interactive = page_of(study())
    without_plotly(monkeypatch)
    page = page_of(study())
    (image,) = page.all("img")
    kind, data = image.attributes["src"].split(",")
    assert kind == "data:image/svg+xml;base64"
    assert b"<svg" in base64.b64decode(data)
    for name in study().results.ranking():
        assert name in image.attributes["alt"]
    assert 'pip install "graphbandits[report]"' in page.text
    assert "pip install" not in interactive.all("header")[0].text
    assert not page.all("button")
    for kind in ("regrets", "differences", "plays", "wide"):
        assert table(page, kind).rows() == table(interactive, kind).rows()


def test_how_to_run_it_again_and_who_made_it() -> None:
    page = page_of(study(notes=("A note.", "Another.")), introduction="One.\n\nTwo.")
    assert page.all("pre")[0].text == RERUN
    assert [p.text for p in page.all("p", class_="note")] == ["A note.", "Another."]
    (footer,) = page.all("footer")
    assert "Written by graphbandits" in footer.text
    assert "Liu, S. Buccapatnam and N. Shroff" in footer.text
