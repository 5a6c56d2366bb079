"""Tests of study/report.py: the report in a browser."""

from __future__ import annotations

import io
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from helpers.dashboards import errors_of
from helpers.report_pages import made_up, sweep_entry
from PIL import Image

from graphbandits import Results
from graphbandits.plots.style import COLOURS
from graphbandits.simulation.results import PolicyResult
from graphbandits.study.claims import Claim
from graphbandits.study.report import (
    BANDS,
    SimulationEntry,
    curve_data,
    report_html,
)
from graphbandits.theory import corollary_1, earlier_bound, theorem_1

AWKWARD = "<b>bold</b> & </script>"
PLOT = "document.getElementById('study-1-one--plot').plot"
RANGE = f"{PLOT}.scales.x.max"
NAMES = ("ts-n", "ids-n", "mine(rate=0.5)", AWKWARD)
SIDES = (("p1", "p3"), ("p0", "p2"))
TOP_OF_FAR = "document.getElementById('study-3-far--plot').plot.scales.y.max"

# All tests share one browser: with pytest-xdist they stay on one worker.
pytestmark = pytest.mark.xdist_group("browser")


@pytest.fixture(scope="module")
def results() -> Results:
    return made_up(NAMES)


class Opened:
    """A rendered page, with its errors and requests."""

    def __init__(self, browser: Any, address: str, **options: Any) -> None:
        self.context = browser.new_context(**options)
        self.page = self.context.new_page()
        self.page.set_default_timeout(60_000)
        self.complaints = errors_of(self.page)
        self.requests: list[str] = []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(address)
        self.wait("document.querySelectorAll('.plot canvas').length === 3")

    def wait(self, condition: str) -> None:
        """Wait for a condition; playwright's own function uses eval, which the page forbids."""
        deadline = time.monotonic() + 60.0
        while not self.page.evaluate(condition):
            assert time.monotonic() < deadline, f"in vain: {condition}"
            self.page.wait_for_timeout(20)

    def drawn(self, study: str = "1-one") -> tuple[int, int]:
        """Return the numbers of visible bands and of visible lines."""
        bands, lines = self.page.evaluate(
            """(id) => {
                 const { bands, series } = document.getElementById(id).plot;
                 const shown = bands.filter((band) => band.series.every((i) => series[i].show));
                 const lines = series.slice(1 + 2 * bands.length).filter((one) => one.show);
                 return [shown.length, lines.length];
               }""",
            f"study-{study}--plot",
        )
        return bands, lines

    def has_colour(self, colour: str) -> bool:
        """Return whether a colour such as #0072b2 is in the drawing of the first study."""
        self.page.mouse.move(0, 0)
        picture = self.page.locator("#study-1-one--plot canvas").screenshot()
        with Image.open(io.BytesIO(picture)) as image:
            colours = image.convert("RGB").getcolors(2**24) or ()
        return tuple(bytes.fromhex(colour[1:])) in {rgb for _, rgb in colours}

    def range(self, axis: str = "x") -> list[float]:
        found: list[float] = self.page.evaluate(
            f"[{PLOT}.scales.{axis}.min, {PLOT}.scales.{axis}.max]"
        )
        return found

    def place(self, round_: float, value: float) -> tuple[float, float]:
        """Return the position in the window of a point of the first plot."""
        x, y = self.page.evaluate(
            """([round, value]) => {
                 const { over, valToPos } = document.getElementById('study-1-one--plot').plot;
                 over.scrollIntoView({ block: 'center', behavior: 'instant' });
                 const box = over.getBoundingClientRect();
                 return [box.left + valToPos(round, "x"), box.top + valToPos(value, "y")];
               }""",
            [round_, value],
        )
        return x, y

    def values(self) -> dict[str, list[str]]:
        """Return the rows of the box of values: numbers by the name of the line."""
        rows = self.page.locator("#study-1-one--plot .reading tr").all()
        cells = [row.locator("td").all_inner_texts() for row in rows]
        return {name: numbers for _, name, *numbers in cells}

    def button(self, name: str) -> Any:
        return self.page.locator("figure.curves").first.get_by_role("button", name=name)

    def as_before(self) -> None:
        """Reset the page."""
        hidden = self.page.locator('.legend button[aria-pressed="false"]')
        while hidden.count():
            hidden.first.click()
        for label in ("95% confidence interval of the mean", "the 7 with least regret"):
            self.page.get_by_label(label).first.check()
        self.page.locator(".u-over").first.dblclick()
        self.page.mouse.move(0, 0)
        self.wait(f"{RANGE} === 101")


CLAIMS = (
    Claim("All at once, in a sentence that is so long that a telephone has to break it.", *SIDES),
    Claim("The other way round.", *reversed(SIDES), source="Nobody (2018), section 3"),
)


#: The last two are the same.
BOUNDS = (
    theorem_1(3, 1.0, range(1, 101)),
    corollary_1(2, 1.0, range(1, 101)),
    earlier_bound([2] * 100, 1.0),
)


def far_away() -> Results:
    """Eight policies, of which the last has a hundred times the regret, and a note."""
    names = tuple(f"p{i}" for i in range(8))
    settings = {"policies": {"p7": {"note": "It needs more."}}}
    near = made_up(names, settings=settings)
    assert near["p7"].regret is not None
    far = PolicyResult.from_trials(100.0 * near["p7"].regret, near["p7"].plays)
    return replace(near, policies={**near.policies, "p7": far})


@pytest.fixture(scope="module")
def address(results: Results, tmp_path_factory) -> str:
    studies = [
        SimulationEntry(
            "one", "Four policies", results, "graphbandits simulate --seed 1", bounds=BOUNDS
        ),
        SimulationEntry(
            "two", "One <trial>", made_up(("ts-n",), trials=1), "graphbandits simulate"
        ),
        SimulationEntry(
            "far",
            "One far away",
            far_away(),
            "graphbandits simulate",
            claims=CLAIMS,
            bounds=(replace(BOUNDS[0], policies=("p1",), values=30.0 * BOUNDS[0].values),),
        ),
        sweep_entry("sweep", "A sweep", "r", {0: results, 1: results}, "graphbandits run r"),
    ]
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(report_html(studies, title="In a browser"), "utf-8")
    return path.as_uri()


@pytest.fixture(scope="module")
def opened(browser: Any, address: str) -> Iterator[Opened]:
    page = Opened(browser, address, viewport={"width": 1280, "height": 900})
    yield page
    page.context.close()


@pytest.fixture
def desktop(opened: Opened, address: str) -> Iterator[Opened]:
    yield opened
    opened.as_before()
    assert opened.complaints == []
    assert opened.requests == [address]


def styles(results: Results) -> dict[str, int]:
    """Return the number of the colour of each policy."""
    policies = curve_data(SimulationEntry("", "", results, ""))["policies"]
    return {one["name"]: one["colour"] for one in policies}


def test_hiding_a_policy_hides_its_band_too(desktop: Opened, results: Results) -> None:
    colour = COLOURS[styles(results)["ids-n"]]
    assert desktop.drawn() == (4, 4)
    assert desktop.has_colour(colour)
    button = desktop.button("ids-n")
    assert button.get_attribute("aria-pressed") == "true"
    button.click()
    assert desktop.drawn() == (3, 3)
    assert not desktop.has_colour(colour)
    hover(desktop, results, 40)
    assert desktop.values().keys() == {*NAMES} - {"ids-n"}
    assert button.get_attribute("aria-pressed") == "false"
    button.press("Enter")  # also by keyboard
    assert desktop.drawn() == (4, 4)


def test_a_double_click_shows_a_policy_alone_and_all_again(
    desktop: Opened, results: Results
) -> None:
    button = desktop.button(AWKWARD)
    button.dblclick()
    assert desktop.drawn() == (1, 1)
    hover(desktop, results, 40)
    assert [*desktop.values()] == [AWKWARD]
    button.dblclick()
    assert desktop.drawn() == (4, 4)


def hover(opened: Opened, results: Results, round_: int) -> None:
    """Point at a round."""
    best = results[results.ranking()[0]]
    x, y = opened.place(round_, float(best.mean[round_ - 1]))
    opened.page.mouse.move(x - 30, y)
    opened.page.mouse.move(x, y, steps=3)
    opened.page.locator("#study-1-one--plot .reading").get_by_text(f"round {round_}").wait_for()


@pytest.mark.parametrize("kind", ["interval", "quantiles"])
def test_the_values_under_the_pointer_are_those_of_the_results(
    desktop: Opened, results: Results, kind: str
) -> None:
    desktop.page.get_by_label(BANDS[kind]).first.check()
    hover(desktop, results, 40)
    ends = {name: [end[39] for end in results.band(name, kind=kind)] for name in NAMES}
    assert desktop.values() == {  # names are shown as text, without markup
        name: [f"{results[name].mean[39]:.2f}", f"[{low:.2f}, {high:.2f}]"]
        for name, (low, high) in ends.items()
    }
    desktop.page.mouse.move(0, 0)
    assert not desktop.page.locator("#study-1-one--plot .reading").is_visible()


def test_the_arrow_keys_move_along_the_rounds(desktop: Opened) -> None:
    plot = desktop.page.locator("#study-1-one--plot .plot-box")
    reading = desktop.page.locator("#study-1-one--plot .reading")
    for key, round_ in (("End", 100), ("ArrowLeft", 99), ("Home", 1), ("ArrowRight", 2)):
        plot.press(key)
        assert reading.inner_text().split("\n")[0] == f"round {round_}"
    plot.press("Escape")
    assert not reading.is_visible()


def test_dragging_zooms_and_hiding_keeps_the_zoom(desktop: Opened) -> None:
    assert desktop.range() == [0, 101]
    (x0, y0), (x1, y1) = desktop.place(20, 0.5), desktop.place(60, 2.0)
    desktop.page.mouse.move(x0, y0)
    desktop.page.mouse.down()
    desktop.page.mouse.move(x1, y1, steps=5)
    desktop.page.mouse.up()
    desktop.wait(f"{RANGE} < 100")
    zoomed = desktop.range()
    assert zoomed == pytest.approx([20, 60], abs=1.0)
    assert desktop.range("y") == pytest.approx([0.5, 2.0], abs=0.1)
    desktop.button("ids-n").click()
    assert desktop.range() == zoomed


def test_buttons_zoom_around_the_round_pointed_at_last(desktop: Opened, results: Results) -> None:
    closer = desktop.page.get_by_role("button", name="Zoom in").first
    out = desktop.page.get_by_role("button", name="Zoom out").first
    assert out.is_disabled()
    hover(desktop, results, 70)
    closer.click()
    assert desktop.range() == pytest.approx([44.75, 95.25], abs=0.01)
    out.click()
    assert desktop.range() == [0, 101]
    assert out.is_disabled()


def test_an_outlier_is_cut_off_until_all_policies_are_chosen(desktop: Opened) -> None:
    results = far_away()
    bulk = max(results.band(name)[1].max() for name in results.ranking()[:-1])
    assert bulk < desktop.page.evaluate(TOP_OF_FAR) < 1.1 * bulk
    assert desktop.drawn("3-far") == (8, 8)
    figure = desktop.page.locator("figure.curves").nth(2)
    every, best = figure.get_by_label("all policies"), figure.get_by_label("the 7 with least")
    cut = figure.locator(".cut-off")
    assert best.is_checked()
    assert f"p7 ({results['p7'].mean[-1]:.2f})" in cut.inner_text()
    # a wider band has a wider range
    figure.get_by_label("10% to 90% of the trials").check()
    bulk = max(results.band(n, kind="quantiles")[1].max() for n in results.ranking()[:-1])
    desktop.wait(f"{TOP_OF_FAR} > {bulk}")
    assert desktop.page.evaluate(TOP_OF_FAR) < 1.1 * bulk
    figure.get_by_label("95% confidence interval").check()
    every.check()
    desktop.wait(f"{TOP_OF_FAR} > 100")
    assert not cut.is_visible()
    # hiding a policy does not change the choice
    figure.get_by_role("button", name="p1").click()
    assert desktop.drawn("3-far") == (7, 7)
    assert every.is_checked()
    best.check()
    desktop.wait(f"{TOP_OF_FAR} < 10")
    assert cut.is_visible()
    assert "* p7: It needs more." in figure.inner_text()


def test_bounds_above_the_range_widen_it(desktop: Opened) -> None:
    figure = desktop.page.locator("figure.curves").nth(2)
    figure.get_by_label("bounds on the expected regret").check()
    desktop.wait(f"{TOP_OF_FAR} > 100")
    assert figure.get_by_label("all policies").is_checked()
    figure.get_by_label("bounds on the expected regret").uncheck()
    desktop.wait(f"{TOP_OF_FAR} < 10")
    assert figure.get_by_label("the 7 with least").is_checked()


#: Texts of the first plot.
TEXTS = """async () => {
  const chart = document.getElementById("study-1-one--plot").plot;
  const found = [];
  chart.ctx.fillText = (text) => found.push(text);
  chart.redraw();
  await new Promise(requestAnimationFrame);
  delete chart.ctx.fillText;
  chart.redraw();
  return found;
}"""


def test_bounds_are_drawn_while_their_box_is_ticked(desktop: Opened, results: Results) -> None:
    before = desktop.range("y")
    box = desktop.page.get_by_label("bounds on the expected regret").first
    assert not box.is_checked()
    box.check()
    assert desktop.drawn() == (4, 7)
    # a name at the end of each line, and one for two that are the same
    texts = desktop.page.evaluate(TEXTS)
    assert [text for text in texts if text[0].isalpha()][-2:] == [
        "Theorem 1",
        "Corollary 1, earlier bound",
    ]
    assert desktop.range("y")[1] > BOUNDS[0].final > before[1]
    hover(desktop, results, 40)
    shown = desktop.values()
    assert {bound.name: shown[bound.name] for bound in BOUNDS} == {
        bound.name: [f"{bound.values[39]:.2f}"] for bound in BOUNDS
    }
    box.uncheck()
    assert desktop.drawn() == (4, 4)
    assert desktop.range("y") == before


def test_the_other_pairs_of_a_claim_can_be_opened(desktop: Opened) -> None:
    claim = desktop.page.locator(".claim").first
    assert claim.locator("tbody tr:visible").count() == 1
    claim.locator("summary").click()
    assert claim.locator("tbody tr:visible").count() == 4
    claim.locator("summary").click()


def test_the_command_can_be_copied(desktop: Opened) -> None:
    desktop.context.grant_permissions(["clipboard-read", "clipboard-write"])
    desktop.page.locator("button.copy").first.click()
    desktop.wait("document.querySelector('.copy').textContent !== 'Copy'")
    taken = desktop.page.evaluate(
        """async () => document.querySelector('.copy').textContent === 'Copied'
             ? navigator.clipboard.readText() : getSelection().toString()"""
    )
    assert taken == "graphbandits simulate --seed 1"


def test_print_version_is_dark_on_white_with_all_pairs_open(
    desktop: Opened, results: Results
) -> None:
    light = COLOURS[styles(results)["ts-n"]]
    dark = "#2989be"
    assert light == "#0072B2"
    assert desktop.has_colour(light)
    desktop.page.emulate_media(color_scheme="dark")
    assert desktop.has_colour(dark)
    desktop.page.locator("summary").first.click()
    desktop.wait("!document.querySelector('details').open")
    desktop.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert desktop.has_colour(light)
    assert desktop.page.evaluate("document.querySelector('details').open")
    desktop.page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert desktop.has_colour(dark)
    assert not desktop.page.evaluate("document.querySelector('details').open")
    desktop.page.emulate_media(color_scheme="light")


def test_curves_are_pictures_without_javascript(browser: Any, address: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(address)
    pictures = page.locator("figure.curves img")
    assert pictures.count() == 3
    for picture in pictures.all():
        picture.scroll_into_view_if_needed()
        assert picture.bounding_box()["height"] > 200
    assert not page.locator(".legend, .plot, .choice input").filter(visible=True).count()
    assert page.locator("table.regrets").first.is_visible()
    context.close()


def test_page_has_no_horizontal_scrolling_on_a_phone(browser: Any, address: str) -> None:
    size = {"width": 360, "height": 740}
    phone = Opened(browser, address, viewport=size, has_touch=True, is_mobile=True)
    for scheme, ground in (("light", "rgb(255, 255, 255)"), ("dark", "rgb(21, 24, 28)")):
        phone.page.emulate_media(color_scheme=scheme)
        phone.wait(f"getComputedStyle(document.body).backgroundColor === '{ground}'")
        assert phone.page.evaluate("document.scrollingElement.scrollWidth") <= 360
        assert phone.page.evaluate(f"{PLOT}.root.scrollWidth") <= 360
    # a tap shows the nearest value and does not change the axes
    x, y = phone.place(50, 2.0)
    phone.page.touchscreen.tap(x, y)
    phone.page.locator("#study-1-one--plot .reading tr").wait_for()
    assert len(phone.values()) == 1
    assert phone.range() == [0, 101]
    phone.context.close()
    assert phone.complaints == []
    assert phone.requests == [address]
