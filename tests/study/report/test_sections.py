"""Tests of study/report.py: tables and texts equal the numbers of the results."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from helpers.report_pages import (
    ARMS,
    CLAIMS,
    RERUN,
    SETTINGS,
    described,
    ends,
    in_order,
    made_up,
    page_of,
    settings_of,
    study,
    sweep_entry,
    swept,
    table,
)

from graphbandits import Results
from graphbandits.study.claims import Claim, Published, judge


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


def test_text_states_whether_the_simultaneous_interval_excludes_zero() -> None:
    results = made_up()
    rows = table(page_of(study(results)), "differences").rows()
    found = results.differences(simultaneous=True)
    assert [(row[0], row[2]) for row in rows] == [(d.first, d.second) for d in found]
    verdicts = set()
    for row, d in zip(rows, found, strict=True):
        wanted = "clearly better" if d.high < 0 else "no clear difference"
        assert d.low < 0
        assert (row[1], float(row[3])) == (wanted, round(d.mean, 2))
        assert float(row[4]) == pytest.approx(d.standard_error, abs=0.0051)
        assert ends(row[5]) == pytest.approx((d.low, d.high), abs=0.0051)
        verdicts.add(row[1])
    assert verdicts == {"clearly better", "no clear difference"}


def test_plays_are_named_and_counted_per_trial() -> None:
    results = made_up()
    rows = table(page_of(study(results)), "plays").rows()
    assert [row[0] for row in rows] == list(ARMS)
    for i, row in enumerate(rows):
        wanted = [f"{result.plays[i] / 30:.1f}" for result in results.policies.values()]
        assert row[1:] == wanted


def test_of_many_arms_the_most_played_are_named_and_all_are_counted() -> None:
    results = made_up(arms=tuple(f"arm {i}" for i in range(200)), settings={})
    page = page_of(study(results))
    rows = table(page, "plays").rows()
    assert len(rows) == 21
    assert rows[-1][0] == "the other 180 arms"
    for column in (1, 2, 3):
        assert sum(float(row[column]) for row in rows) == pytest.approx(100.0, abs=21 * 0.05)
    (arms,) = [d.all("dd")[0].text for d in page.all("div") if d.text.startswith("arms200")]
    assert arms.endswith("arm 39 and 160 more")


def test_overview_marks_the_best_and_policies_without_clear_difference() -> None:
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


def test_policies_near_the_best_are_marked_in_the_overview() -> None:
    results = made_up(("a", "b"))
    near = results["b"].final + np.where(np.arange(30) % 2, 0.2, -0.1)
    policies = {
        "b": results["b"],
        "near": replace(results["b"], final=near, mean=results["b"].mean + 0.05),
    }
    settings = described(policies, {})
    first = study(replace(results, policies=policies, settings=settings))
    row, _ = table(page_of(first, replace(first, key="other")), "overview").rows()
    assert row[2].startswith("≈ ")
    assert row[2].endswith("no clear difference from the least")


def test_one_study_is_its_own_overview() -> None:
    page = page_of(study())
    assert not page.all("nav")
    assert not page.all("table", class_="overview")


def test_table_shows_what_each_policy_knows() -> None:
    rows = {row[0]: row[1:] for row in table(page_of(study()), "wide").rows()}
    assert rows["ts-n"] == ["never", "anything", "no", "exact", "graphbandits", "Thompson."]
    assert rows["ids-n"][0] == "before the decision"
    assert rows["mine(rate=0.5)"][:4] == ["after the play", "0/1", "yes", "unknown (draws an arm)"]
    assert rows["mine(rate=0.5)"][4] == "the file plugins/mine.py sha256 0123456789ab"


def test_requirements_on_the_graph_are_shown() -> None:
    for asked, words in (
        ((False, False), "anything"),
        ((True, False), "0/1"),
        ((True, True), "0/1, the same in every round"),
        ((False, True), "the same in every round"),
    ):
        needs = {"graph": "before", "horizon": False, "deterministic": asked[0], "fixed": asked[1]}
        facts = SETTINGS["policies"]["ts-n"] | {"needs": needs}
        settings = SETTINGS | {"policies": SETTINGS["policies"] | {"ts-n": facts}}
        (first, _, _) = table(page_of(study(made_up(settings=settings))), "wide").rows()
        assert first[:3] == ["ts-n", "before the decision", words]


def noted(note: str = "It needs <r> of 0.863 here.", value: object = "star") -> Results:
    facts = SETTINGS["policies"]["ids-n"] | {"note": note}
    policies = SETTINGS["policies"] | {"ids-n": facts}
    return made_up(settings=SETTINGS | {"policies": policies, "graph": value})


def test_a_note_on_a_policy_is_under_its_curve_and_in_the_table() -> None:
    page = page_of(study(noted()))
    (figure,) = page.all("figure")
    assert [p.text for p in figure.all("p", class_="hint policy-note")] == [
        "* ids-n: It needs <r> of 0.863 here."
    ]
    names = [span.text for span in figure.all("span", class_="name")]
    assert sorted(names) == ["ids-n*", "mine(rate=0.5)", "ts-n"]
    rows = {row[0]: row[-1] for row in table(page, "wide").rows()}
    assert rows["ids-n"] == "Regret per information.Note: It needs <r> of 0.863 here."
    assert "Note" not in rows["ts-n"]
    for still in (study(noted()), sweep_entry("s", "S", "r", {1: noted()}, RERUN)):
        (image,) = page_of(still).all("img")
        assert "ids-n: It needs <r> of 0.863 here." in image.attributes["alt"]


def test_note_that_depends_on_the_value_states_the_values() -> None:
    sweep = sweep_entry(
        "s", "S", "K", {2: noted("Needs 0.8."), 3: noted("Needs 0.4."), 4: noted("")}, ""
    )
    rows = {row[0]: row[-1] for row in table(page_of(sweep), "wide").rows()}
    assert rows["ids-n"].endswith("Note: at 2: Needs 0.8.; at 3: Needs 0.4.")


def test_all_settings_are_shown() -> None:
    found = settings_of(
        page_of(study(made_up(settings=SETTINGS | {"world": "night", "accuracy": "strict"})))
    )
    assert found == {
        "graph": "star",
        "arms": "3: ann, bob lee, Zoë",
        "prior": "beta-bernoulli(a=[1.0, 2.0, 3.0], b=[3.0, 2.0, 1.5])",
        "horizon": "100 rounds",
        "trials": "30",
        "seed": "17",
        "regret": "pseudo-regret: the best arm's mean minus that of the arm played",
        "accuracy": "strict: statistics right to 1e-8 relatively",
        "versions": "graphbandits 9.8.7, python 3.13.1, numpy 2.3.4",
        "world": "night",
    }


CLAIMED = ("ts-n", "ids-n", "mine(rate=0.5)", "z")


def test_claims_have_their_verdict_and_the_differences_behind_it() -> None:
    results = made_up(CLAIMED)
    page = page_of(study(results, claims=CLAIMS))
    parts = page.all("div", class_="claim")
    wanted = ["holds", "fails", "no clear difference"]
    assert [judge(claim, results).verdict for claim in CLAIMS] == wanted
    for part, claim, verdict in zip(parts, CLAIMS, wanted, strict=True):
        sentence = part.all("p")[0].text
        assert sentence.strip() == f"{verdict} {claim.text} ({claim.source})".removesuffix(" ()")
        rows = table(part, "pairs").rows()
        assert [(row[0], row[1]) for row in rows] == claim.pairs
        for row, d in zip(rows, judge(claim, results).differences, strict=True):
            assert float(row[2]) == round(d.mean, 2)
            assert ends(row[4]) == pytest.approx((d.low, d.high), abs=0.0051)
    assert [part.all("p")[1].text for part in parts] == [
        "All 2 intervals lie below 0.",
        "The interval lies above 0.",
        "The interval contains 0.",
    ]


def test_decisive_pair_is_shown_and_others_can_be_opened() -> None:
    results = made_up(("a", "b", "c", "d", "e", "f"))
    claim = Claim("Four at once.", ("b", "d"), ("a", "c", "e"))
    judged = judge(claim, results)
    (part,) = page_of(study(results, claims=(claim,))).all("div", class_="claim")
    (details,) = part.all("details")
    assert "open" not in details.attributes
    assert details.all("summary")[0].text == "the other 5 pairs"
    first, rest = part.all("table", class_="pairs")
    (row,) = first.rows()
    assert (row[0], row[1]) == (judged.decisive.first, judged.decisive.second)
    shown = {(row[0], row[1]) for row in [*first.rows(), *rest.rows()]}
    assert shown == set(claim.pairs)


def test_all_claims_of_all_studies_are_at_the_top() -> None:
    second = made_up(("ids-n", "ts-n"))  # ids-n is the worse of the two here
    page = page_of(
        study(made_up(CLAIMED), claims=CLAIMS),
        study(second, key="other", title="Another", claims=CLAIMS[1:2]),
        swept(),
    )
    rows = table(page.all("header")[0], "claims").rows()
    assert [(row[0], row[1], row[2]) for row in rows] == [
        ("Directed <sampling> wins.", "holds", "k"),
        ("Thompson wins.", "fails", "k"),
        ("Neither.", "no clear difference", "k"),
        ("Thompson wins.", "holds", "other"),
    ]
    assert rows[1][3] == "ts-n − ids-n"  # noqa: RUF001
    links = {a.attributes["href"] for a in table(page, "claims").all("a")}
    assert links == {"#study-1-k--claims", "#study-2-other--claims"}
    assert not page_of(study(), swept()).all("table", class_="claims")


def test_published_regrets_are_shown_beside_simulated_ones() -> None:
    results = made_up()
    mean, error = (float(getattr(results["ts-n"], part)[-1]) for part in ("mean", "standard_error"))
    published = Published({"ts-n": (mean + 0.01, 0.02), "ids-n": (9.0, 0.05)}, "Table <3>")
    page = page_of(study(results, published=published))
    near, far = table(page, "published").rows()
    assert near[:5] == ["ts-n", f"{mean:.2f}", f"{error:.2f}", f"{mean + 0.01:.2f}", "0.02"]
    assert near[5:] == ["-0.0", "within 3"]
    assert far[-1] == "more than 3 apart"
    own = float(results["ids-n"].standard_error[-1])
    distance = (results["ids-n"].mean[-1] - 9.0) / np.hypot(own, 0.05)
    assert float(far[5]) == pytest.approx(distance, abs=0.051)
    assert "Within 3 standard errors: 1 of 2." in page.text
    assert "as published: Table <3>." in table(page, "published").all("caption")[0].text
    one = page_of(study(made_up(trials=1), published=published, claims=CLAIMS[:2]))
    assert table(one, "published").rows()[0][5:] == ["unknown", "unknown from one trial"]
    assert [s.text for s in one.all("strong", class_="verdict unknown")] == ["unknown"] * 2


def test_sweep_has_a_figure_and_a_table_of_values() -> None:
    sweep = swept()
    page = page_of(sweep)
    (image,) = page.all("img")
    assert image.attributes["src"].startswith("data:image/webp;base64,")
    (narrow,) = page.all("source")
    assert narrow.attributes["media"] == "(max-width: 600px)"
    assert narrow.attributes["srcset"] != image.attributes["src"]
    values = table(page, "overview values")
    head = [th.text for th in values.all("thead")[0].all("th")]
    assert head == ["r", "ids-n", "ts-n", "mine(rate=0.5)", "rounds", "trials"]
    rows = values.rows()
    assert [row[0] for row in rows] == ["0", "0.5", "1"]
    assert rows[2][3] == "not run"
    for row, value in zip(rows, (0.0, 0.5, 1.0), strict=True):
        results = sweep.results[value]  # type: ignore[index]
        assert row[4:] == ["100", "30"]
        for name, cell in zip(head[1:3], row[1:3], strict=True):
            wanted = f"{results[name].mean[-1]:.2f} ± {results[name].standard_error[-1]:.2f}"
            least = name == results.ranking()[0]
            assert cell == wanted + (" least" if least else "")
    # at 0 another one is the best
    assert [strong.text[:4] for strong in values.all("strong")] == [
        f"{sweep.results[value][name].mean[-1]:.2f}"  # type: ignore[index]
        for value, name in ((0.0, "ts-n"), (0.5, "ids-n"), (1.0, "ids-n"))
    ]
    assert page.all("pre")[0].text == "graphbandits run r"


def test_sweep_uses_its_label_and_values_keep_their_digits() -> None:
    values = {1000001: made_up(CLAIMED), 1000002.0: made_up(CLAIMED), 0.12345678: made_up(CLAIMED)}
    page = page_of(sweep_entry("c", "S", "c", values, "sh", label="c/d²"), swept())
    (first, _) = page.all("table", class_="overview values")
    assert first.all("th")[0].text == "c/d²"
    assert [row[0] for row in first.rows()] == ["0.12345678", "1000001", "1000002"]
    assert table(page, "overview sweeps").rows()[0][1] == "c/d²"


def test_settings_that_vary_in_a_sweep_are_shown_per_value() -> None:
    found = settings_of(page_of(swept()))
    assert found["graph"] == "0: star0.5: star1: star(arms=3)"
    assert found["seed"] == "17"


def test_studies_and_sweeps_share_one_overview() -> None:
    page = page_of(study(), swept(), swept(key="t", title="Another sweep"))
    assert [a.text for a in page.all("nav")[0].all("a")] == [
        "A title",
        "A sweep",
        "Another sweep",
        "About this page",
    ]
    rows = table(page, "overview sweeps").rows()
    counts = table(page, "overview sweeps").all("thead")[0].all("th")
    assert [th.text for th in counts] == ["sweep", "parameter", "ids-n", "ts-n", "mine(rate=0.5)"]
    assert rows[0] == ["A sweep", "r", "2 of 3", "1 of 3", "0 of 2"]
    links = {a.attributes["href"][1:] for a in page.all("a")}
    ids = {n.attributes.get("id") for n in in_order(page)}
    assert links <= ids
    only = page_of(swept(), swept(key="t"))
    assert len(only.all("table", class_="overview sweeps")) == 1
    assert not only.all("table", class_="overview")


def test_an_overview_of_many_policies_has_them_as_rows() -> None:
    """One column per entry: columns for ten policies do not fit into a window."""
    names = (*(f"p{i}" for i in range(9)), "trials")
    first, second = made_up(names), made_up(names[::-1])
    page = page_of(study(first), study(second, key="b", title="Other"), swept())
    found = table(page, "overview by-policy")
    head = found.all("thead")[0].all("th")
    assert [th.text for th in head] == ["policy", "A title", "Other"]
    assert [a.attributes["href"] for a in found.all("a")] == ["#study-1-k", "#study-2-b"]
    rows = found.rows()
    assert [row[0] for row in rows] == [*names, "rounds", "trials"]
    assert rows[-2:] == [["rounds", "100", "100"], ["trials", "30", "30"]]
    for row in rows[:-2]:
        for cell, results in zip(row[1:], (first, second), strict=True):
            assert f"{results[row[0]].mean[-1]:.2f}" in cell
            assert (cell.split()[-1] == "least" and "from" not in cell) is (
                row[0] == results.ranking()[0]
            )
    assert "Bold: the least of its column." in found.all("caption")[0].text
    # narrow tables are unchanged
    assert table(page, "overview sweeps").rows()[0][0] == "A sweep"


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
    assert "There is only one policy" in page.text


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
