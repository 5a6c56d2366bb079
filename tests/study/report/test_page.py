"""Tests of study/report.py: sections, escaping, reproducible bytes."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from itertools import pairwise

from helpers.report_pages import (
    CLAIMS,
    RERUN,
    Page,
    in_order,
    made_up,
    page_of,
    settings_of,
    study,
    sweep_entry,
    swept,
    table,
)

from graphbandits.study.claims import Claim, Published
from graphbandits.study.report import SimulationEntry, SweepEntry, anchors, report_html
from graphbandits.theory import theorem_1


def test_only_sections_with_content_are_shown_and_linked() -> None:
    def titles(entry: SimulationEntry | SweepEntry) -> tuple[list[str], list[str]]:
        page = page_of(entry)
        (jumps,) = page.all("p", class_="jumps")
        return [a.text for a in jumps.all("a")], [h.text for h in page.all("h3")]

    plain = [
        "Regrets",
        "Paired differences",
        "Plays of each arm",
        "Knowledge of the policies",
        "Settings",
        "Run it again",
    ]
    published = Published({"ts-n": (3.0, 0.1)}, "a table")
    for entry, wanted in (
        (study(), plain),
        (study(claims=CLAIMS[:2]), ["Claims", *plain]),
        (study(published=published), ["Comparison with published regrets", *plain]),
        (swept(), ["Regret at each value", *plain[3:]]),
    ):
        assert titles(entry) == (wanted, wanted)


def test_title_of_the_page_is_not_repeated() -> None:
    def headings(*entries: SimulationEntry | SweepEntry) -> list[str]:
        return [h.text for h in page_of(*entries, title="A sweep").all("main")[0].all("h2")]

    assert headings(swept()) == ["Results"]
    assert headings(swept(), study()) == ["A sweep", "A title"]


HOSTILE = '</script></style></title><b onclick="x">\'&amp;{{ 7 * 7 }}'


def test_hostile_texts_are_escaped_everywhere() -> None:
    """No text becomes markup, code or part of a template, in elements, attributes and JSON."""
    facts = {
        "summary": HOSTILE,
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
        with_parameters=True,
    )
    drawn = replace(bound, policies=("b",), with_parameters=False)
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
    sweep = sweep_entry("s", HOSTILE, HOSTILE, {HOSTILE: results}, HOSTILE, label=HOSTILE)
    text = report_html([entry, sweep], title=HOSTILE, introduction=HOSTILE)
    assert HOSTILE not in text
    page = Page(text).root
    assert not page.all("b")
    assert not any(name.startswith("on") for n in in_order(page) for name in n.attributes)
    assert page.all("title")[0].text == page.all("h1")[0].text == HOSTILE
    assert HOSTILE in page.all("img")[0].attributes["alt"]
    assert HOSTILE in page.all("div", class_="plot")[0].attributes["data-about"]
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
    assert HOSTILE in {policy["name"] for policy in data["policies"]}
    assert data["bounds"][0]["name"] == HOSTILE


def test_ids_are_unique_and_labels_refer_to_an_id() -> None:
    page = page_of(study(), study(key="l"))
    nodes = [n for kind in ("h2", "h3", "div", "header", "section") for n in page.all(kind)]
    ids = [n.attributes["id"] for n in nodes if "id" in n.attributes]
    assert len(ids) == len(set(ids))
    assert {s.attributes["aria-labelledby"] for s in page.all("section")} <= set(ids)
    assert page.all("html")[0].attributes["lang"] == "en"
    for each in page.all("table"):
        assert each.all("caption")[0].text
        assert all(th.attributes["scope"] in ("row", "col") for th in each.all("th"))
    levels = [int(n.name[1]) for n in in_order(page) if re.fullmatch("h[1-6]", n.name)]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_page_loads_nothing_from_outside() -> None:
    # the licence of uPlot has an address
    text = re.sub(
        "<script>.*?</script>", "", report_html([study(), swept()], title="T"), flags=re.S
    )
    assert not re.search(r"""(src|href|action|data)\s*=\s*["']?\s*(https?:)?//""", text)
    assert not re.search(r"https?:|@import|url\(", text)
    page = Page(text).root
    for node in in_order(page):
        for key in ("src", "srcset", "href"):
            assert node.attributes.get(key, "#").startswith(("#", "data:"))


def test_page_shows_command_notes_and_authors() -> None:
    page = page_of(study(notes=("A note.", "Another.")), introduction="One.\n\nTwo.\ud800")
    assert [p.text for p in page.all("header")[0].all("p")] == ["One.", "Two.?"]
    assert page.all("pre")[0].text == RERUN
    assert [p.text for p in page.all("p", class_="note")] == ["A note.", "Another."]
    (footer,) = page.all("footer")
    assert "Written by graphbandits" in footer.text
    assert "Liu, S. Buccapatnam and N. Shroff" in footer.text


def test_anchors_are_unique_and_fit_into_an_address() -> None:
    found = anchors([study(key=key) for key in ("1a", "A b!", "a-b", "东京", "4")])
    assert found == ["study-1-1a", "study-2-a-b", "study-3-a-b", "study-4-", "study-5-4"]
