"""Tests of service/static: the dashboard of a real service, in a browser."""

from __future__ import annotations

import hashlib
import json
import os
import re
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from helpers.dashboards import Dashboard, Served, service

import graphbandits.service
from graphbandits import Agent
from graphbandits.live.store import open_store
from graphbandits.service.access import add_token
from graphbandits.service.demo import network

STATIC = Path(graphbandits.service.__file__).parent / "static"
PICTURE = Path(__file__).parents[2] / "docs" / "dashboard.png"
HOSTILE = (
    "<img src=x onerror=alert(1)>",
    "\"quotes\" & 'more'",
    "مرحبا بالعالم",
    "🎛️ knob",
    "x" * 200,
    "__proto__",
    "constructor",
    "../..",
    "%2F",
    "a\u202egnitirw\u202c b",
    "line\nbreak",
)
HOSTILE_AGENT = "<img src=x onerror=alert(1)> %2F \"'"
#: How names with hidden characters are shown.
SHOWN = {"a\u202egnitirw\u202c b": r"a\u202egnitirw\u202c b", "line\nbreak": r"line\u000abreak"}
TABS = ("overview", "decisions", "arms", "trend", "outcomes", "health", "log")
PHONE = {"viewport": {"width": 360, "height": 740}, "is_mobile": True, "has_touch": True}
#: The time of the picture: that of the last decision.
NOW = datetime(2026, 3, 2, 9, 30, tzinfo=UTC).timestamp()

# all tests share one browser: with pytest-xdist they stay on one worker
in_browser = pytest.mark.xdist_group("browser")

Open = Callable[..., Dashboard]


def play(agent: Agent, rounds: int, every: int = 4) -> None:
    """Decide and observe; a part of each decision of a number stays open."""
    for number in range(1, rounds + 1):
        made = agent.decide()
        seen = {arm: float((number + i) % 3 == 0) for i, arm in enumerate(sorted(made.reveals))}
        if number % every == 0:
            agent.observe(made, dict(list(seen.items())[:1]), partial=True)
        else:
            agent.observe(made, seen)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A service without tokens: every request is that of an admin."""
    place = tmp_path_factory.mktemp("open") / "agents.db"
    users = ["ann", "bob", "eve", "joe"]
    graph = "edges(1-2 2>3:0.5 3>2:0.25 3-4)"
    play(Agent("ids-n", users, graph, seed=3, store=place, name="users"), 12)
    play(Agent("ids-n", HOSTILE, "star", seed=5, store=place, name=HOSTILE_AGENT), 15)
    with service(place) as found:
        yield found


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, dict[str, str]]]:
    """A service with one token for each role."""
    place = tmp_path_factory.mktemp("guarded") / "agents.db"
    play(Agent("ids-n", ["ann", "bob"], "complete", seed=3, store=place, name="users"), 5)
    with open_store(place) as store:
        tokens = {role: add_token(store, role)[0] for role in ("read", "decide", "admin")}
    with service(place) as found:
        found.token = tokens["admin"]
        yield found, tokens


@pytest.fixture
def dashboard(browser: Any, served: Served) -> Iterator[Open]:
    """Return a function that opens the dashboard; at the end nothing may have been wrong."""
    opened: list[Dashboard] = []

    def show(place: str = "", **options: Any) -> Dashboard:
        opened.append(Dashboard(browser, served, place, **options))
        return opened[-1]

    yield show
    for one in opened:
        one.close()


def new_agent(served: Served, name: str, **settings: Any) -> str:
    """Create an agent; return the path of its requests."""
    arms = ["ann", "bob", "eve"]
    body = {"name": name, "policy": "ids-n", "arms": arms, "graph": "star", "seed": 1} | settings
    served.post("agents", body)
    return f"agents/{quote(name, safe='')}"


def number(text: str) -> float:
    return float(text.replace(",", "").replace("−", "-"))  # noqa: RUF001


def stats(dashboard: Dashboard) -> dict[str, str]:
    """Return the numbers in the head of an agent."""
    names, values = dashboard.texts(".agent-head dt"), dashboard.texts(".agent-head dd")
    # the explanation of a term follows its name
    return {name.split()[0]: value for name, value in zip(names, values, strict=True)}


# Files --------------------------------------------------------------------------------------------


def test_the_vendored_files_are_the_released_ones() -> None:
    vendor = STATIC / "vendor"
    text = (vendor / "README.md").read_text()
    stated = {name: sha for sha, name in re.findall(r"^([0-9a-f]{64})  (\S+)$", text, re.MULTILINE)}
    assert stated.keys() == {one.name for one in vendor.iterdir() if one.suffix in (".js", ".css")}
    for name, sha in stated.items():
        assert hashlib.sha256((vendor / name).read_bytes()).hexdigest() == sha


class Tags(HTMLParser):
    """The elements of a page: name and attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def test_the_page_has_no_scripts_or_styles_of_its_own() -> None:
    page = Tags()
    page.feed((STATIC / "index.html").read_text())
    assert {"script", "link", "body"} <= {tag for tag, _ in page.found}
    for tag, attributes in page.found:
        assert tag != "style"
        assert not {name for name in attributes if name == "style" or name.startswith("on")}
        assert tag != "script" or str(attributes["src"]).startswith("static/")


# The list of agents -------------------------------------------------------------------------------


class TestAgents:
    pytestmark = in_browser

    def test_the_list_has_all_agents_with_their_counts(
        self, dashboard: Open, served: Served
    ) -> None:
        opened = dashboard()
        opened.page.get_by_role("heading", name="Agents").wait_for()
        opened.page.locator("tbody tr").first.wait_for()
        columns = ("name", "policy", "arms", "decisions", "open", "outcomes", "late")
        expected = [[one[key] for key in columns] for one in served.get("agents")["agents"]]
        rows = opened.page.locator("tbody tr").all()
        cells = [row.locator("th, td").all_inner_texts() for row in rows]
        shown = [[*one[:2], *map(number, one[2:])] for one in cells]
        assert shown == expected
        assert {"users", HOSTILE_AGENT} <= {one[0] for one in shown}

    def test_an_unknown_agent_is_an_error_in_a_sentence(self, browser: Any, served: Served) -> None:
        opened = Dashboard(browser, served, "#/agents/unknown")
        sentence = httpx.get(served.address + "agents/unknown").json()["error"]["message"]
        shown = opened.page.get_by_role("alert").inner_text()
        assert sentence.rstrip(".").lower() in shown.lower()
        assert [text for text in opened.complaints if "404" not in text] == []
        opened.complaints.clear()  # the browser notes the answer 404
        opened.close()


# One agent ----------------------------------------------------------------------------------------


class TestAgent:
    pytestmark = in_browser

    def test_decisions_and_outcomes_appear_without_a_reload(
        self, dashboard: Open, served: Served
    ) -> None:
        path = new_agent(served, "live")
        opened = dashboard("#/agents/live")
        opened.page.get_by_text("Live", exact=True).wait_for()
        opened.panel("Live entries").get_by_text("Created").wait_for()
        assert stats(opened)["Decisions"] == "0"
        opened.page.evaluate("window.same = true")
        made = served.post(f"{path}/decisions", {"n": 2})["decisions"]
        opened.page.locator(".stream .kind.decide").nth(1).wait_for()
        served.post(f"{path}/outcomes", {"outcomes": {made[0]["id"]: {made[0]["arm"]: 1}}})
        opened.page.locator(".stream .kind.observe").wait_for()
        newest = opened.texts(".stream .entry")[:2]
        assert re.fullmatch(rf"\S+ Outcome {made[0]['arm']} 1", newest[0])
        assert re.fullmatch(rf"\S+ Decision {made[1]['arm']} p [\d.]+", newest[1])
        opened.wait("document.querySelectorAll('.agent-head dd')[1].textContent === '2'")
        assert stats(opened) == {
            "Arms": "3",
            "Decisions": "2",
            "Open": "1",
            "Outcomes": "1",
            "Late": "0",
            "Expired": "0",
        }
        # the graph follows, too: the arm was played and observed
        opened.page.locator(".likeliest").get_by_text(made[0]["arm"], exact=True).click()
        plays = sum(one["arm"] == made[0]["arm"] for one in made)
        numbers = opened.page.locator(".arm-panel .numbers div")
        numbers.filter(has_text="Plays").get_by_text(str(plays), exact=True).wait_for()
        assert opened.page.evaluate("window.same")

    @pytest.mark.nightly
    def test_a_lost_connection_is_shown_and_missed_entries_come_later(
        self, browser: Any, tmp_path: Path
    ) -> None:
        place = tmp_path / "agents.db"
        agent = Agent("ids-n", ["ann", "bob"], "complete", seed=1, store=place, name="away")
        with service(place) as served:
            opened = Dashboard(browser, served, "#/agents/away")
            opened.page.get_by_text("Live", exact=True).wait_for()
        opened.page.get_by_text("Not connected").first.wait_for()
        opened.page.evaluate("window.same = true")
        made = agent.decide()
        with service(place, port=served.port):
            # unless the page has already connected by itself
            connect = opened.page.get_by_role("button", name="Connect now")
            connect.or_(opened.page.locator(".stream .kind.decide")).click()
            opened.page.locator(".stream .kind.decide").wait_for()
            opened.page.get_by_text("Live", exact=True).wait_for()
            assert made.arm in opened.texts(".stream .entry")[0]
            assert opened.page.evaluate("window.same")
            opened.complaints.clear()  # the browser notes the failed requests
            opened.close()

    def test_the_live_list_can_be_held(self, dashboard: Open, served: Served) -> None:
        path = new_agent(served, "held")
        opened = dashboard("#/agents/held")
        opened.page.get_by_text("Live", exact=True).wait_for()
        opened.page.get_by_role("button", name="Hold").click()
        served.post(f"{path}/decisions", {})
        opened.page.get_by_role("button", name="Continue (1 new)").wait_for()
        assert opened.page.locator(".stream .kind.decide").count() == 0
        opened.page.get_by_role("button", name="Continue").click()
        opened.page.locator(".stream .kind.decide").wait_for()

    def test_an_explanation_has_the_words_of_the_service(
        self, dashboard: Open, served: Served
    ) -> None:
        made = served.get("agents/users/decisions")["decisions"][0]
        text = served.get(f"agents/users/decisions/{made['id']}")["explanation"]["text"]
        opened = dashboard("#/agents/users/decisions")
        opened.page.locator(".decision-list button").first.click()
        # the address changes first, which makes the view anew
        opened.wait(f"location.hash.endsWith('/decisions/{made['id']}')")
        lines = [" ".join(line.split()) for line in text.splitlines()]
        opened.wait(f"document.querySelectorAll('.words p').length === {len(lines)}")
        assert opened.texts(".words p") == lines
        # the overview explains the same decision, in fewer words
        opened.page.get_by_role("link", name="Overview", exact=True).click()
        opened.panel(f"Why {made['arm']}?").locator(".lead").wait_for()
        lead = text.splitlines()[0].split(" (ids-n, ")[0] + "."
        assert opened.texts(".words .lead") == [lead]

    def test_the_frontier_has_the_points_of_the_service(
        self, dashboard: Open, served: Served
    ) -> None:
        rows = served.get("agents/users/decisions", limit=50)["decisions"]
        answers = [served.get(f"agents/users/decisions/{one['id']}") for one in rows]
        mixed = [one for one in answers if 0.0 < one["decision"]["probability"] < 1.0]
        made, points = mixed[0]["decision"], mixed[0]["explanation"]["points"]
        opened = dashboard(f"#/agents/users/decisions/{made['id']}")
        chart = opened.page.locator(".frontier")
        chart.wait_for()
        chance = dict(zip(points["arms"], points["pi"], strict=True))
        assert chart.locator("circle.drawn").count() == sum(p > 0.0 for p in points["pi"]) >= 2
        assert chart.locator("path.hull").get_attribute("d").count("L") == len(points["hull"]) - 1
        # more regret is higher, more gain is further to the right
        ring = chart.locator("circle.played")
        places = {
            (float(one.get_attribute("cx")), float(one.get_attribute("cy")))
            for one in chart.locator("circle.drawn").all()
        }
        assert (float(ring.get_attribute("cx")), float(ring.get_attribute("cy"))) in places
        drawn = [i for i, p in enumerate(points["pi"]) if p > 0.0]
        drawn.sort(key=lambda i: points["gain"][i])
        heights = [-y for _, y in sorted(places)]
        regrets = [points["delta"][i] for i in drawn]
        assert sorted(heights) == heights or sorted(regrets) != regrets
        # the table has the same numbers
        chart.locator("summary").click()
        for row in chart.locator("tbody tr").all():
            arm, regret, gain, probability, role = row.locator("th, td").all_inner_texts()
            i = points["arms"].index(arm)
            assert number(regret) == pytest.approx(points["delta"][i], rel=0.01, abs=1e-12)
            assert number(gain) == pytest.approx(points["gain"][i], rel=0.01, abs=1e-12)
            assert number(probability) == pytest.approx(chance[arm], rel=0.01)
            assert ("played" in role) == (arm == made["arm"])
            assert ("frontier" in role) == (i in points["hull"])
        # the arrow keys step through the arms
        before = chart.locator("output").inner_text()
        assert before.startswith(f"{made['arm']}: ")
        chart.locator("svg").first.focus()
        opened.page.keyboard.press("ArrowRight")
        after = chart.locator("output").inner_text()
        assert after != before
        assert after.split(": ")[0] in points["arms"]

    def test_the_trend_has_the_numbers_of_the_service(
        self, dashboard: Open, served: Served
    ) -> None:
        trend = served.get("agents/users/trend", points=200)
        opened = dashboard("#/agents/users/trend")
        charts = opened.page.locator("figure.chart")
        charts.nth(3).wait_for()
        keys = ("cumulative", "regret", "ratio", "entropy")
        for key, chart in zip(keys, charts.all(), strict=True):
            chart.locator("summary").click()
            rows = [row.locator("th, td").all_inner_texts() for row in chart.locator("tr").all()]
            found = {int(number(row[0])): number(row[2]) for row in rows[1:]}
            known = {n: v for n, v in zip(trend["decision"], trend[key], strict=True) if v}
            assert found == pytest.approx(known, rel=0.01)
            drawn = chart.locator(".plot").evaluate("(one) => one.plot.data")
            assert drawn == [trend["decision"], trend[key]]

    @pytest.mark.nightly
    def test_a_chart_is_read_by_pointer_and_keyboard_and_zoomed(
        self, dashboard: Open, served: Served
    ) -> None:
        path = new_agent(served, "charted")
        served.post(f"{path}/decisions", {"n": 12})
        trend = served.get(f"{path}/trend")
        opened = dashboard("#/agents/charted/trend")
        chart = opened.page.locator("figure.chart").first
        shown, plot = chart.locator("output"), chart.locator(".plot-box")
        box = chart.locator(".u-over").bounding_box()
        width, middle = box["width"], box["y"] + box["height"] / 2
        opened.page.mouse.move(box["x"] + 4 / 11 * width, middle)
        value, _, label = shown.inner_text().partition(": ")
        assert value == "decision 5"
        assert number(label) == pytest.approx(trend["cumulative"][4], rel=0.01)
        plot.press("ArrowLeft")
        assert shown.inner_text().startswith("decision 4: ")
        # a drag zooms, a new decision keeps the zoom, a double click shows everything
        limits = "document.querySelector('.plot').plot.scales.x"
        opened.page.mouse.down()
        opened.page.mouse.move(box["x"] + 8 / 11 * width, middle, steps=5)
        opened.page.mouse.up()
        zoomed = opened.page.evaluate(f"[{limits}.min, {limits}.max]")
        assert zoomed == pytest.approx([5.0, 9.0], abs=0.1)
        served.post(f"{path}/decisions", {})
        opened.wait("document.querySelector('.plot').plot.data[0].length === 13")
        assert opened.page.evaluate(f"[{limits}.min, {limits}.max]") == zoomed
        chart.locator(".u-over").dblclick()
        assert opened.page.evaluate(f"[{limits}.min, {limits}.max]") == [1, 13]

    def test_open_decisions_have_their_missing_arms_and_can_be_closed(
        self, dashboard: Open, served: Served
    ) -> None:
        path = new_agent(served, "waiting", graph="complete")
        made = served.post(f"{path}/decisions", {"n": 2})["decisions"]
        part = {"outcomes": {made[0]["id"]: {"ann": 1}}, "partial": True}
        served.post(f"{path}/outcomes", part)
        opened = dashboard("#/agents/waiting/outcomes")
        rows = opened.panel("Open decisions").locator("tbody tr")
        rows.nth(1).get_by_text("bob, eve").wait_for()
        assert rows.nth(0).locator("td").nth(4).inner_text() == "ann, bob, eve"
        assert [row.locator("td").nth(3).inner_text() for row in rows.all()] == ["0", "1"]
        rows.nth(0).get_by_role("button", name="Close").click()
        opened.page.get_by_role("button", name="Close the decision").click()
        opened.wait("document.querySelectorAll('tbody tr').length === 1")
        found = served.get(f"{path}/decisions")["decisions"]
        assert [one["status"] for one in found] == ["closed", "open"]

    def test_a_late_outcome_is_marked(self, dashboard: Open, served: Served) -> None:
        path = new_agent(served, "late")
        made = served.post(f"{path}/decisions", {"expires": 0.05})["decisions"][0]
        opened = dashboard("#/agents/late")
        opened.page.get_by_text("Live", exact=True).wait_for()
        served.post(f"{path}/outcomes", {"outcomes": {made["id"]: {made["arm"]: 1}}})
        opened.page.locator(".stream .kind").get_by_text("Late", exact=True).wait_for()
        opened.wait("document.querySelectorAll('.agent-head dd')[4].textContent === '1'")
        found = stats(opened)
        assert (found["Open"], found["Late"], found["Expired"]) == ("0", "1", "1")
        opened.show(f"#/agents/late/decisions/{made['id']}")
        row = opened.page.locator(".outcomes tbody tr").filter(has_text="1 (late)")
        row.get_by_text(made["arm"], exact=True).wait_for()

    def test_health_has_the_report_of_the_service(self, dashboard: Open, served: Served) -> None:
        health = served.get("agents/users/health")["health"]
        opened = dashboard("#/agents/users/health")
        opened.page.locator(".verdict").wait_for()
        expected = "OK" if health["verdict"] == "ok" else "Warning"
        assert opened.page.locator(".verdict strong").inner_text() == expected
        sentences = [one.lower().rstrip(".") for one in health["warnings"] + health["notes"]]
        assert [one.lower().rstrip(".") for one in opened.texts(".sentences li")] == sentences
        arms = opened.panel("Do outcomes contradict the posterior?").locator("tbody th")
        assert arms.all_inner_texts() == [one["arm"] for one in health["test"]["arms"]]

    def test_the_log_is_downloaded_in_each_format(self, dashboard: Open, served: Served) -> None:
        for label, kind in [("Parquet", "parquet"), ("CSV", "csv"), ("JSON lines", "jsonl")]:
            answer = httpx.get(f"{served.address}agents/users/log", params={"format": kind})
            opened = dashboard("#/agents/users/log")
            with opened.page.expect_download() as download:
                opened.page.get_by_role("button", name=label).click()
            assert download.value.suggested_filename == f"users-log.{kind}"
            assert Path(download.value.path()).read_bytes() == answer.content
            opened.page.get_by_text(f"Saved as users-log.{kind}").wait_for()


# The graph ----------------------------------------------------------------------------------------


class TestGraph:
    pytestmark = in_browser

    def test_an_arm_is_found_and_followed_with_the_keyboard(
        self, dashboard: Open, served: Served
    ) -> None:
        opened = dashboard("#/agents/users")
        opened.page.locator(".likeliest").wait_for()
        opened.page.keyboard.press("/")
        opened.page.keyboard.type("o")  # bob and joe
        opened.page.locator(".found li").nth(1).wait_for()
        names = opened.texts(".found li .name")
        assert set(names) == {"bob", "joe"}
        opened.page.keyboard.press("ArrowDown")
        opened.page.keyboard.press("Enter")
        opened.page.locator(".arm-panel h3").get_by_text(names[1]).wait_for()
        assert opened.page.evaluate("location.hash") == f"#/agents/users?arm={names[1]}"
        # the arrow keys choose other arms of the canvas, Escape ends the choice
        opened.page.locator("canvas.graph").focus()
        seen = {names[1]}
        for key in ("ArrowLeft", "ArrowUp", "ArrowRight", "ArrowDown"):
            opened.page.keyboard.press(key)
            seen |= set(opened.texts(".arm-panel h3"))
        assert len(seen) > 1
        opened.page.keyboard.press("Escape")
        opened.page.locator(".likeliest").wait_for()
        assert opened.page.evaluate("location.hash") == "#/agents/users"

    def test_an_arm_has_its_numbers_and_neighbours(self, dashboard: Open, served: Served) -> None:
        rows = {one["arm"]: one for one in served.get("agents/users/arms")["arms"]}
        opened = dashboard("#/agents/users?arm=eve")
        panel = opened.page.locator(".arm-panel")
        panel.wait_for()
        # what follows the name of a number is its explanation and its value
        values = {
            one.split("\n")[0]: one for one in panel.locator(".numbers div").all_inner_texts()
        }
        for name, key in (("Plays", "plays"), ("Observations", "outcomes")):
            assert values[name].split("\n")[-1] == f"{rows['eve'][key]:g}"
        assert number(values["Expected regret"].split("\n")[-1]) == pytest.approx(
            rows["eve"]["delta"], rel=0.01
        )
        lists = [" ".join(one.split()) for one in panel.locator(".neighbours").all_inner_texts()]
        assert lists == [
            "Reveals 2 arms joe bob with probability 0.25",
            "Revealed by 2 arms joe bob with probability 0.5",
        ]
        panel.get_by_role("button", name="bob").first.click()
        panel.get_by_role("heading", name="bob").wait_for()


# Actions ------------------------------------------------------------------------------------------


class TestActions:
    pytestmark = in_browser

    def test_an_arm_is_paused_after_a_question_and_resumed(
        self, dashboard: Open, served: Served
    ) -> None:
        path = new_agent(served, "pausing")
        opened = dashboard("#/agents/pausing?arm=bob")
        pause = opened.page.get_by_role("button", name="Pause bob", exact=True)
        pause.click()
        dialog = opened.page.get_by_role("dialog", name="Pause bob?")
        dialog.wait_for()
        # Escape is no, and the focus returns
        opened.page.keyboard.press("Escape")
        dialog.wait_for(state="hidden")
        assert "Pause" in opened.page.evaluate("document.activeElement.textContent")
        assert served.get(path)["agent"]["paused"] == []
        # Enter on the first button is no, too
        opened.page.keyboard.press("Enter")
        dialog.wait_for()
        opened.page.keyboard.press("Enter")
        dialog.wait_for(state="hidden")
        assert served.get(path)["agent"]["paused"] == []
        pause.click()
        opened.page.get_by_role("button", name="Pause the arm").click()
        opened.page.locator(".arm-panel .badge.paused").wait_for()
        assert served.get(path)["agent"]["paused"] == ["bob"]
        opened.page.get_by_role("button", name="Resume bob", exact=True).click()
        opened.page.get_by_role("button", name="Resume the arm").click()
        opened.page.locator(".arm-panel .badge.paused").wait_for(state="detached")
        assert served.get(path)["agent"]["paused"] == []

    def test_a_refused_action_shows_the_sentence_of_the_service(
        self, browser: Any, served: Served
    ) -> None:
        path = new_agent(served, "refusing")
        opened = Dashboard(browser, served, "#/agents/refusing/arms")
        opened.page.get_by_role("button", name="Pause bob").click()
        served.post(f"{path}/events", {"op": "retire", "arms": ["bob"]})
        body = {"op": "pause", "arms": ["bob"]}
        refused = httpx.post(f"{served.address}{path}/events", json=body)
        assert refused.status_code >= 400
        opened.page.get_by_role("button", name="Pause the arm").click()
        alert = opened.page.get_by_role("dialog").get_by_role("alert")
        sentence = refused.json()["error"]["message"]
        assert sentence.rstrip(".").lower() in alert.inner_text().lower()
        opened.complaints.clear()  # the browser notes the status of the answer
        opened.close()


# Tokens -------------------------------------------------------------------------------------------


def sign_in(opened: Dashboard, token: str) -> None:
    opened.page.get_by_label("Token").fill(token)
    opened.page.get_by_role("button", name="Sign in").click()


@contextmanager
def signed_in(
    browser: Any, guarded: tuple[Served, dict[str, str]], role: str, place: str
) -> Iterator[Dashboard]:
    served, tokens = guarded
    opened = Dashboard(browser, served, place)
    sign_in(opened, tokens[role])
    opened.page.locator(".role").get_by_text(role, exact=True).wait_for()
    opened.complaints.clear()  # the browser notes the answer 401 to the first request
    yield opened
    opened.close()


class TestTokens:
    pytestmark = in_browser

    def test_a_wrong_token_is_refused_and_the_right_one_opens_the_page(
        self, browser: Any, guarded: tuple[Served, dict[str, str]]
    ) -> None:
        served, tokens = guarded
        opened = Dashboard(browser, served, "#/agents/users")
        opened.page.get_by_role("heading", name="Sign in").wait_for()
        assert opened.page.get_by_role("alert").count() == 0
        wrong = "gb_" + "0" * (len(tokens["read"]) - 3)
        sign_in(opened, wrong)
        headers = {"Authorization": f"Bearer {wrong}"}
        answer = httpx.get(served.address + "whoami", headers=headers)
        assert answer.status_code == 401
        sentence = answer.json()["error"]["message"].rstrip(".").lower()
        assert sentence in opened.page.get_by_role("alert").inner_text().lower()
        assert opened.page.evaluate("sessionStorage.length") == 0
        sign_in(opened, "not a töken")
        opened.page.get_by_role("alert").wait_for()
        sign_in(opened, tokens["read"])
        # the place that was asked for
        opened.page.get_by_role("heading", level=1, name="users").wait_for()
        opened.page.get_by_text("Live", exact=True).wait_for()
        # the token is in this tab only, and in no address
        kept = opened.page.evaluate("JSON.stringify([{...sessionStorage}, {...localStorage}])")
        session, local = json.loads(kept)
        assert list(session.values()) == [tokens["read"]]
        assert local == {}
        assert not [url for url in opened.requests if tokens["read"] in url or wrong in url]
        opened.page.reload()
        opened.page.get_by_role("heading", level=1, name="users").wait_for()
        opened.page.get_by_role("button", name="Sign out").click()
        opened.page.get_by_role("heading", name="Sign in").wait_for()
        assert opened.page.evaluate("sessionStorage.length") == 0
        # the browser notes the answers 401, and nothing else was wrong
        assert [text for text in opened.complaints if "401" not in text] == []
        opened.complaints.clear()
        opened.close()

    def test_a_reader_is_offered_no_actions_and_may_do_none(
        self, browser: Any, guarded: tuple[Served, dict[str, str]]
    ) -> None:
        served, tokens = guarded
        with signed_in(browser, guarded, "read", "#/agents/users?arm=bob") as opened:
            panel = opened.page.locator(".arm-panel")
            panel.get_by_text("you need the role admin. Your role is read.").wait_for()
            assert panel.get_by_role("button", name="Pause").count() == 0
            for tab in ("arms", "outcomes"):
                opened.page.get_by_role("link", name=tab.capitalize(), exact=True).click()
                opened.page.locator("tbody tr").first.wait_for()
                for action in ("Pause", "Close"):
                    assert opened.page.get_by_role("button", name=action).count() == 0
        headers = {"Authorization": f"Bearer {tokens['read']}"}
        body = {"op": "pause", "arms": ["bob"]}
        answer = httpx.post(f"{served.address}agents/users/events", json=body, headers=headers)
        assert answer.status_code == 403
        assert served.get("agents/users")["agent"]["paused"] == []

    def test_a_request_with_a_token_downloads_the_log(
        self, browser: Any, guarded: tuple[Served, dict[str, str]]
    ) -> None:
        with signed_in(browser, guarded, "read", "#/agents/users/log") as opened:
            with opened.page.expect_download() as download:
                opened.page.get_by_role("button", name="CSV").click()
            assert len(Path(download.value.path()).read_text().splitlines()) == 1 + 5


# Names --------------------------------------------------------------------------------------------


class TestNames:
    pytestmark = in_browser

    def test_hostile_names_are_text_everywhere(self, dashboard: Open, served: Served) -> None:
        opened = dashboard()
        opened.page.get_by_role("link", name=HOSTILE_AGENT).click()
        opened.page.get_by_role("heading", level=1, name=HOSTILE_AGENT).wait_for()
        opened.page.locator(".words .lead").wait_for()
        for tab in TABS[1:]:
            opened.page.get_by_role("link", name=tab.capitalize(), exact=True).click()
            opened.page.locator(f".tabs [aria-current]:text-is('{tab.capitalize()}')").wait_for()
            opened.page.wait_for_timeout(300)
            # the only picture is that of the header
            assert opened.page.locator("img").count() == 1
        opened.page.get_by_role("link", name="Arms", exact=True).click()
        names = opened.page.locator("tbody th .name")  # the table before has rows, too
        names.nth(len(HOSTILE) - 1).wait_for()
        assert set(names.all_inner_texts()) == {SHOWN.get(name, name) for name in HOSTILE}

    @pytest.mark.nightly
    def test_arms_with_hostile_names_are_found_chosen_and_paused(
        self, dashboard: Open, served: Served
    ) -> None:
        for arm in HOSTILE:
            shown = SHOWN.get(arm, arm)
            path = f"agents/{quote(HOSTILE_AGENT, safe='')}"
            opened = dashboard(f"#/agents/{quote(HOSTILE_AGENT, safe='')}")
            opened.page.locator(".likeliest").wait_for()
            search = opened.page.get_by_role("combobox", name="Search for an arm")
            search.fill(arm[:12].split("\n")[0])
            opened.page.locator(".found li").filter(has_text=shown).first.click()
            opened.page.locator(".arm-panel h3").get_by_text(shown, exact=True).wait_for()
            # the address leads to the same arm
            opened.page.reload()
            opened.page.locator(".arm-panel h3").get_by_text(shown, exact=True).wait_for()
            for word, paused in (("Pause", [arm]), ("Resume", [])):
                opened.page.locator(".arm-panel").get_by_role("button", name=word).click()
                opened.page.get_by_role("button", name=f"{word} the arm").click()
                opened.page.get_by_role("dialog").wait_for(state="detached")
                assert served.get(path)["agent"]["paused"] == paused


# Windows ------------------------------------------------------------------------------------------


class TestWindows:
    pytestmark = in_browser

    def test_a_phone_has_no_horizontal_scrolling(self, dashboard: Open) -> None:
        for name in ["users", HOSTILE_AGENT]:
            opened = dashboard(**PHONE)
            opened.page.locator("tbody tr").first.wait_for()
            wide = "document.scrollingElement.scrollWidth"
            assert opened.page.evaluate(wide) <= 360
            for tab in TABS:
                opened.show(f"#/agents/{quote(name, safe='')}/{tab}")
                opened.page.locator(".card").first.wait_for()
                opened.page.wait_for_timeout(500)
                assert opened.page.evaluate(wide) <= 360, tab
                here = opened.page.locator(".tabs [aria-current]").bounding_box()
                assert 0 <= here["x"] <= 360 - here["width"], tab

    def test_colours_follow_the_system_and_the_choice(self, dashboard: Open) -> None:
        opened = dashboard("#/agents/users", color_scheme="light")
        ground = "getComputedStyle(document.body).backgroundColor"
        light, dark = "rgb(244, 246, 248)", "rgb(15, 18, 21)"
        opened.wait(f"{ground} === '{light}'")
        opened.page.emulate_media(color_scheme="dark")
        opened.wait(f"{ground} === '{dark}'")
        opened.page.get_by_label("Colours").select_option("light")
        opened.wait(f"{ground} === '{light}'")
        opened.page.reload()
        opened.page.locator(".likeliest").wait_for()
        assert opened.page.evaluate(ground) == light
        opened.page.get_by_label("Colours").select_option("system")
        opened.wait(f"{ground} === '{dark}'")

    @pytest.mark.nightly
    def test_texts_have_enough_contrast(self, dashboard: Open) -> None:
        """WCAG AA: 4.5 for texts, against the colour that is behind them."""
        for scheme in ["light", "dark"]:
            opened = dashboard("#/agents/users?arm=eve", color_scheme=scheme)
            opened.page.locator(".arm-panel").wait_for()
            opened.page.locator(".words .lead").wait_for()
            for tab in TABS:
                opened.page.get_by_role("link", name=tab.capitalize(), exact=True).click()
                opened.page.wait_for_timeout(300)
                low = opened.page.evaluate(CONTRAST)
                assert low == [], tab

    @pytest.mark.nightly
    def test_every_control_has_a_name_and_is_reached_with_the_keyboard(
        self, dashboard: Open
    ) -> None:
        opened = dashboard("#/agents/users?arm=eve")
        opened.page.locator(".arm-panel").wait_for()
        opened.page.locator(".words .lead").wait_for()
        opened.page.locator(".frontier").wait_for()
        opened.page.evaluate("document.activeElement.blur()")
        seen = set()
        for _ in range(150):
            opened.page.keyboard.press("Tab")
            label, outline = opened.page.evaluate(FOCUSED)
            if label is None:
                break
            assert label, "a control without a name"
            assert outline, f"the focus on {label!r} is not visible"
            seen.add(label)
        for part in ("Skip to the content", "Overview", "Search for an arm", "Fit", "Pause eve"):
            assert any(part in label for label in seen), part
        assert any("Graph of 4 arms" in label for label in seen)
        assert any("Expected regret of each arm" in label for label in seen)


#: Texts with a contrast below 4.5 (3 for large ones), as [text, contrast].
CONTRAST = """() => {
  const channel = (value) => {
    const share = value / 255;
    return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  };
  const parse = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const behind = (element) => {
    for (let one = element; one; one = one.parentElement) {
      const colour = parse(getComputedStyle(one).backgroundColor);
      if (colour.length === 3 || colour[3] > 0.99) return colour;
    }
    return [255, 255, 255];
  };
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    const text = walker.currentNode.textContent.trim();
    const box = element.getBoundingClientRect();
    const style = getComputedStyle(element);
    if (!text || box.width < 2 || style.visibility === "hidden") continue;
    if (element.closest("[hidden], [aria-hidden=true], .spoken, noscript")) continue;
    const svg = element.closest("svg");
    const ink = light(parse(svg ? style.fill : style.color));
    const ground = light(behind(svg ?? element));
    const ratio = (Math.max(ink, ground) + 0.05) / (Math.min(ink, ground) + 0.05);
    if (ratio < 4.5) found.push([text.slice(0, 40), Math.round(100 * ratio) / 100]);
  }
  return found;
}"""

#: Name of the element with the focus, None at the end of the page, and whether it is marked.
FOCUSED = """() => {
  const one = document.activeElement;
  if (!one || one === document.body) return [null, false];
  const labels = [...(one.labels ?? [])].map((label) => label.textContent).join(" ");
  const label = one.getAttribute("aria-label") || labels || one.textContent.trim();
  return [label, getComputedStyle(one).outlineStyle !== "none"];
}"""


# The picture of the README ------------------------------------------------------------------------


def png_size(path: Path) -> tuple[int, int]:
    """Return the width and height of a picture."""
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", data[16:24])
    return width, height


class TestPicture:
    pytestmark = in_browser

    @pytest.mark.nightly
    def test_picture_of_the_readme(self, browser: Any, tmp_path: Path) -> None:
        """Write the picture again if ``UPDATE_SCREENSHOTS`` is set."""
        place = tmp_path / "promotions.db"
        made = network()
        rounds = 64
        now = [NOW - 6.0 * rounds]
        agent = Agent(
            "ids-n",
            graph=made.graph(),
            prior=made.prior,
            seed=3,
            store=place,
            name="promotions",
            clock=lambda: now[0],
        )
        for number_ in range(rounds):
            now[0] += 4.0
            decision = agent.decide()
            now[0] += 2.0
            seen = {
                arm: float(draw_of(arm, number_) < made.accepts[str(arm)])
                for arm in decision.reveals
            }
            if number_ % 7 == 6:  # the friends answer later
                agent.observe(decision, {decision.arm: seen[decision.arm]}, partial=True)
            else:
                agent.observe(decision, seen)
        with service(place) as served:
            opened = Dashboard(
                browser,
                served,
                "#/agents/promotions",
                color_scheme="light",
                timezone_id="UTC",
                locale="en-GB",
                reduced_motion="reduce",
            )
            opened.page.clock.set_fixed_time(datetime.fromtimestamp(NOW, UTC))
            opened.show("#/agents/promotions")
            opened.page.locator(".frontier").wait_for()
            opened.page.get_by_text("Live", exact=True).wait_for()
            for part in ("Graph", "Live entries"):
                assert opened.panel(part).is_visible()
            assert opened.page.locator(".words .arm-line").first.is_visible()
            assert opened.page.locator(".likeliest li").count() == 8
            assert opened.page.locator(".stream .entry").count() > 20
            opened.wait(
                """(() => {
                     const canvas = document.querySelector("canvas.graph");
                     const { width, height } = canvas;
                     const data = canvas.getContext("2d").getImageData(0, 0, width, height).data;
                     return data.filter((value, i) => i % 4 === 3 && value > 0).length > 5000;
                   })()"""
            )
            inside = "(one) => one.getBoundingClientRect().top < innerHeight - 40"
            assert opened.page.locator(".stream .entry").nth(1).evaluate(inside)
            opened.page.wait_for_timeout(1000)
            if os.environ.get("UPDATE_SCREENSHOTS"):
                opened.page.screenshot(path=PICTURE)
            opened.close()
        assert png_size(PICTURE) == (1280, 800)


def draw_of(arm: object, number_: int) -> float:
    """Return a number in [0, 1) that is the same in every process."""
    digest = hashlib.sha256(f"{arm} {number_}".encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64
