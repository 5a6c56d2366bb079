"""The report: its numbers are those of the results, names stay text, nothing comes from outside."""

from __future__ import annotations

import base64
import html
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
from graphbandits.plots import COLOURS, looks
from graphbandits.report import SimulationEntry, SweepEntry, report_html, write_report
from graphbandits.report.curves import DARK, dash, on_dark, plotly_script, without_outliers
from graphbandits.report.entries import anchors
from graphbandits.report.page import inside
from graphbandits.results import Claim, PolicyResult, Published, judge
from graphbandits.theory import theorem_1

RERUN = "graphbandits simulate ts-n ids-n --seed 17"
AWKWARD = (
    "<script>alert(1)</script>",
    "a & b \"c\" 'd'",
    "</script><!--",
    "Zoë %{x} $a$ 东京 \ud800",
)


def study(results: Results | None = None, key: str = "k", **changes: object) -> SimulationEntry:
    return replace(SimulationEntry(key, "A title", results or made_up(), RERUN), **changes)  # type: ignore[arg-type]


def swept(key: str = "s", **changes: object) -> SweepEntry:
    """A sweep over three values, of which one lacks a policy."""
    results = {
        0.5: made_up(),
        1.0: made_up(("ts-n", "ids-n"), settings=SETTINGS | {"graph": "star(arms=3)"}),
        0.0: made_up(("ids-n", "ts-n", "mine(rate=0.5)")),
    }
    return replace(SweepEntry(key, "A sweep", "r", results, "graphbandits run r"), **changes)  # type: ignore[arg-type]


def page_of(*studies: SimulationEntry | SweepEntry, **words: str) -> Node:
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


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"deterministic": False}, "anything"),  # as versions before 0.4 recorded it
        ({"deterministic": True}, "0/1"),
        ({"deterministic": True, "fixed": False}, "0/1"),
        ({"deterministic": True, "fixed": True}, "0/1, the same in every round"),
        ({"deterministic": False, "fixed": True}, "the same in every round"),
        ({}, "not recorded"),
    ],
)
def test_what_a_policy_asks_of_the_graph(asked: dict[str, bool], words: str) -> None:
    facts = {"needs": {"graph": "before", "horizon": False, **asked}}
    settings = SETTINGS | {"policies": SETTINGS["policies"] | {"ts-n": facts}}
    (first, _, _) = table(page_of(study(made_up(settings=settings))), "wide").rows()
    assert first[:3] == ["ts-n", "before the decision", words]


def noted(note: str = "It needs <r> of 0.863 here.", value: object = "star") -> Results:
    facts = SETTINGS["policies"]["ids-n"] | {"note": note}
    policies = SETTINGS["policies"] | {"ids-n": facts}
    return made_up(settings=SETTINGS | {"policies": policies, "graph": value})


def test_a_note_on_a_policy_is_under_its_curve_and_in_the_table(monkeypatch) -> None:
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
    without_plotly(monkeypatch)
    for still in (study(noted()), SweepEntry("s", "S", "r", {1: noted()}, RERUN)):
        (image,) = page_of(still).all("img")
        assert "ids-n: It needs <r> of 0.863 here." in image.attributes["alt"]


def test_a_note_that_depends_on_the_value_says_so() -> None:
    sweep = SweepEntry(
        "s", "S", "K", {2: noted("Needs 0.8."), 3: noted("Needs 0.4."), 4: noted("")}, ""
    )
    rows = {row[0]: row[-1] for row in table(page_of(sweep), "wide").rows()}
    assert rows["ids-n"].endswith("Note: at 2: Needs 0.8.; at 3: Needs 0.4.")


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


CLAIMS = (
    Claim("Directed <sampling> wins.", ("ids-n",), ("ts-n", "mine(rate=0.5)"), "Someone (2018)"),
    Claim("Thompson wins.", ("ts-n",), ("ids-n",)),
    Claim("Neither.", ("z",), ("ids-n",)),
)
CLAIMED = ("ts-n", "ids-n", "mine(rate=0.5)", "z")


def test_claims_have_their_verdict_and_the_differences_behind_it() -> None:
    results = made_up(CLAIMED)
    page = page_of(study(results, claims=CLAIMS))
    parts = page.all("div", class_="claim")
    wanted = ["holds", "fails", "not told apart"]
    assert [judge(claim, results).verdict for claim in CLAIMS] == wanted
    for part, claim, verdict in zip(parts, CLAIMS, wanted, strict=True):
        said = part.all("p")[0].text
        assert said.strip() == f"{verdict} {claim.text} ({claim.source})".removesuffix(" ()")
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


def test_of_many_pairs_the_decisive_one_is_shown_and_the_rest_can_be() -> None:
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
        ("Neither.", "not told apart", "k"),
        ("Thompson wins.", "holds", "other"),
    ]
    assert rows[1][3] == "ts-n − ids-n"  # noqa: RUF001
    links = {a.attributes["href"] for a in table(page, "claims").all("a")}
    assert links == {"#study-k--claims", "#study-other--claims"}
    assert not page_of(study(), swept()).all("table", class_="claims")


def test_only_sections_with_content_are_there_and_linked() -> None:
    def titles(entry: SimulationEntry | SweepEntry) -> tuple[list[str], list[str]]:
        page = page_of(entry)
        (jumps,) = page.all("p", class_="jumps")
        return [a.text for a in jumps.all("a")], [h.text for h in page.all("h3")]

    plain = [
        "Regrets",
        "Paired differences",
        "Plays of each arm",
        "Who may know what, and when",
        "Settings",
        "Run it again",
    ]
    published = Published({"ts-n": (3.0, 0.1)}, "a table")
    for entry, wanted in (
        (study(), plain),
        (study(claims=CLAIMS[:2]), ["Claims", *plain]),
        (study(published=published), ["Published and here", *plain]),
        (swept(), ["Regret at each value", *plain[3:]]),
    ):
        assert titles(entry) == (wanted, wanted)


def test_published_regrets_are_beside_ours() -> None:
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


def test_a_sweep_has_its_picture_and_a_table_of_values() -> None:
    sweep = swept()
    page = page_of(sweep)
    (image,) = page.all("img")
    assert b"<svg" in base64.b64decode(image.attributes["src"].split(",")[1])
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


def test_a_sweep_is_called_by_its_label_and_its_values_keep_their_digits() -> None:
    values = {1000001: made_up(CLAIMED), 1000002.0: made_up(CLAIMED), 0.12345678: made_up(CLAIMED)}
    page = page_of(SweepEntry("c", "S", "c", values, "sh", label="c/d²"), swept())
    (first, _) = page.all("table", class_="overview values")
    assert first.all("th")[0].text == "c/d²"
    assert [row[0] for row in first.rows()] == ["0.12345678", "1000001", "1000002"]
    assert table(page, "overview sweeps").rows()[0][1] == "c/d²"


def test_only_the_title_of_the_page_itself_is_not_said_again() -> None:
    def headings(*entries: SimulationEntry | SweepEntry) -> list[str]:
        return [h.text for h in page_of(*entries, title="A sweep").all("main")[0].all("h2")]

    assert headings(swept()) == ["What came out"]
    assert headings(swept(), study()) == ["A sweep", "A title"]


def test_what_varies_in_a_sweep_is_said_for_each_value() -> None:
    found = settings_of(page_of(swept()))
    assert found["graph"] == "0: star0.5: star1: star(arms=3)"
    assert found["seed"] == "17"


def test_a_sweep_of_texts_keeps_their_order_and_names_stay_text() -> None:
    results = {name: made_up(AWKWARD[:3], arms=AWKWARD[:3]) for name in (AWKWARD[2], AWKWARD[0])}
    awkward = SweepEntry(AWKWARD[2], AWKWARD[0], AWKWARD[1], results, AWKWARD[0], AWKWARD[1])
    page = page_of(awkward, study(claims=(Claim(AWKWARD[0], ("ts-n",), ("ids-n",), AWKWARD[1]),)))
    values = table(page, "overview values")
    assert [row[0] for row in values.rows()] == [AWKWARD[2], AWKWARD[0]]
    assert values.all("thead")[0].all("th")[0].text == AWKWARD[1]
    assert table(page, "claims").rows()[0][0] == AWKWARD[0]
    assert len(page.all("script")) == 3


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
    ids = {n.attributes.get("id") for n in _in_order(page)}
    assert links <= ids
    only = page_of(swept(), swept(key="t"))
    assert len(only.all("table", class_="overview sweeps")) == 1
    assert not only.all("table", class_="overview")


def test_wrong_sweeps_claims_and_keys_are_named() -> None:
    with pytest.raises(InputError, match="at least one value"):
        SweepEntry("s", "S", "r", {}, "")
    with pytest.raises(InputError, match="above 0"):
        swept(scale="log")
    with pytest.raises(InputError, match="same key"):
        page_of(study(key="a"), swept(key="a"))
    with pytest.raises(InputError, match="did you mean 'ids-n'"):
        page_of(study(claims=(Claim("x", ("idsn",), ("ts-n",)),)))
    with pytest.raises(InputError, match="did you mean 'ids-n'"):
        page_of(study(published=Published({"idsn": (1.0, 1.0)}, "a table")))


def ending_at(*means: float) -> Results:
    """Policies p0, p1, ... with these regrets after the only round."""
    values = {f"p{i}": np.full((3, 1), mean) for i, mean in enumerate(means)}
    policies = {n: PolicyResult.from_trials(v, np.array([3])) for n, v in values.items()}
    return Results(np.array([1]), policies, ("a",), {})


@pytest.mark.parametrize(
    ("means", "kept"),
    [
        ((4, 6, 12, 20, 81), 4),  # the others would have a quarter of the axis
        ((4, 6, 12, 20, 33), 5),
        ((6.3, 6.3, 8.9, 9.6, 14.4, 33.7, 53.3), 5),
        ((5.0, 5.5, 6.0, 150.0), 3),
        ((2.0, 2.1, 100.0, 101.0), 4),  # half of the policies are no outliers
        ((1.0, 1.3, 1.7, 2.2, 2.9, 3.7, 4.8, 6.3, 8.2), 9),  # no gap
        ((1.0, 100.0), 2),
        ((0.0, 0.0, 5.0), 3),
        ((-1.0, 2.0, 3.0), 3),
        ((7.0,), 1),
    ],
)
def test_outliers_are_few_and_far_above_the_others(means: tuple[float, ...], kept: int) -> None:
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


def test_an_overview_of_many_policies_has_them_as_rows() -> None:
    """One column an entry: columns for ten policies do not fit into a window."""
    names = (*(f"p{i}" for i in range(9)), "trials")
    first, second = made_up(names), made_up(names[::-1])
    page = page_of(study(first), study(second, key="b", title="Other"), swept())
    found = table(page, "overview by-policy")
    head = found.all("thead")[0].all("th")
    assert [th.text for th in head] == ["policy", "A title", "Other"]
    assert [a.attributes["href"] for a in found.all("a")] == ["#study-k", "#study-b"]
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
    # narrow tables stay as they are
    assert table(page, "overview sweeps").rows()[0][0] == "A sweep"


def test_a_sweep_of_many_policies_has_them_as_rows() -> None:
    names = tuple(f"p{i}" for i in range(9))
    results = {value: made_up(names) for value in (0.25, 0.5)}
    sweep = SweepEntry("s", "S", "r", results, "", label="chance r")
    found = table(page_of(sweep), "overview values by-policy")
    assert [th.text for th in found.all("thead")[0].all("th")] == ["policy", "0.25", "0.5"]
    assert [row[0] for row in found.rows()] == [*names, "rounds", "trials"]
    assert "its standard error, by chance r." in found.all("caption")[0].text


@pytest.mark.parametrize("junk", [None, 3, "text", [1], {"ts-n": 3}, {"ts-n": {"needs": 1}}])
def test_settings_of_another_kind_do_not_stop_the_page(junk: object) -> None:
    settings = dict.fromkeys((*SETTINGS, "version", "other"), junk)
    assert page_of(study(made_up(settings=settings))).all("table", class_="wide")


def test_names_stay_text() -> None:
    results = made_up(AWKWARD, arms=AWKWARD[:3])
    awkward = SimulationEntry(
        AWKWARD[2], AWKWARD[0], results, AWKWARD[1] + AWKWARD[2], (AWKWARD[0],)
    )
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


HOSTILE = '</script></style></title><b onclick="x">\'&amp;{{ 7 * 7 }}'


def test_hostile_texts_stay_text_in_every_place() -> None:
    """No text becomes markup, code or part of a template, in elements, attributes and JSON."""
    facts = {
        "summary": HOSTILE,
        "told": HOSTILE,
        "plugin": HOSTILE,
        "source": HOSTILE,
        "note": HOSTILE,
    }
    settings = {HOSTILE: HOSTILE, "graph": HOSTILE, "policies": {HOSTILE: facts}}
    results = made_up((HOSTILE, "b", "c"), arms=(HOSTILE, "x"), settings=settings)
    bound = replace(
        theorem_1(3, 1.0, results.rounds),
        name=HOSTILE,
        formula=HOSTILE,
        source=HOSTILE,
        note=HOSTILE,
        policies=(HOSTILE,),
        whole=True,
    )
    drawn = replace(bound, policies=("b",), whole=False)
    entry = SimulationEntry(
        HOSTILE,
        HOSTILE,
        results,
        HOSTILE,
        (HOSTILE,),
        (Claim(HOSTILE, ("b",), (HOSTILE,), HOSTILE),),
        Published({HOSTILE: (1.0, 1.0)}, HOSTILE),
        (bound, drawn),
    )
    sweep = SweepEntry("s", HOSTILE, HOSTILE, {HOSTILE: results}, HOSTILE, label=HOSTILE)
    text = report_html([entry, sweep], title=HOSTILE, introduction=HOSTILE)
    assert HOSTILE not in text
    page = Page(text).root
    assert not page.all("b")
    assert not any(name.startswith("on") for n in _in_order(page) for name in n.attributes)
    assert page.all("title")[0].text == page.all("h1")[0].text == HOSTILE
    assert page.all("figure")[0].attributes["data-key"] == HOSTILE
    assert HOSTILE in page.all("img")[0].attributes["alt"]
    assert HOSTILE in page.all("div", class_="plot")[0].attributes["aria-label"]
    assert table(page, "bounds").rows()[0][:3] == [HOSTILE] * 3
    assert table(page, "claims").rows()[0][0] == HOSTILE
    assert table(page, "plays").rows()[0][0] == HOSTILE
    assert settings_of(page)[HOSTILE] == HOSTILE
    assert page.all("code", title=HOSTILE)
    for kind in ("note", "hint policy-note"):
        assert HOSTILE in page.all("p", class_=kind)[0].text
    (script,) = page.all("script", type="application/json")
    assert not re.search("[<>&']", script.text)
    data = json.loads(script.text)
    # plotly interprets tags and entities
    assert html.escape(HOSTILE) in {policy["name"] for policy in data["policies"]}
    assert data["bounds"][0]["name"] == html.escape(HOSTILE)


def test_a_script_cannot_hold_its_own_end() -> None:
    with pytest.raises(ValueError, match="its own end tag"):
        inside("p {} </STYLE>", "style")


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
        assert COLOURS[policy["colour"]] == looks(results.policies)[name].colour
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
    text = report_html([study(), swept()], title="T").replace(plotly_script() or "\0", "")
    assert len(text) < 500_000
    assert not re.search(r"""(src|href|action|data)\s*=\s*["']?\s*(https?:)?//""", text)
    assert not re.search(r"https?:|@import|url\(", text)
    page = Page(text).root
    for node in _in_order(page):
        for key in ("src", "srcset", "href"):
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
