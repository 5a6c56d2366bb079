"""Results without a simulation, and a reader of HTML pages."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from types import SimpleNamespace
from typing import Any

import numpy as np

from graphbandits import Results
from graphbandits.simulation.results import PolicyResult
from graphbandits.study.claims import Claim
from graphbandits.study.report import SimulationEntry, SweepEntry, report_html

#: Elements that have no end tag.
VOID = frozenset({"img", "input", "link", "meta", "source"})
ARMS = ("ann", "bob lee", "Zoë")
#: Settings as recorded by the engine, with a policy from a plug-in file.
SETTINGS: dict[str, Any] = {
    "graph": "star",
    "arms": 3,
    "horizon": 100,
    "trials": 30,
    "seed": 17,
    "regret": "pseudo",
    "prior": [[1.0, 3.0], [2.0, 2.0], [3.0, 1.5]],
    "policies": {
        "ids-n": {
            "summary": "Regret per information.",
            "graph_known": "the graph before the decision",
            "needs": {"graph": "before", "deterministic": False, "horizon": False, "fixed": False},
            "exact": True,
            "plugin": None,
            "source": "aa" * 32,
        },
        "ts-n": {
            "summary": "Thompson.",
            "graph_known": "observations only",
            "needs": {"graph": "never", "deterministic": False, "horizon": False, "fixed": False},
            "exact": True,
            "plugin": None,
            "source": "bb" * 32,
        },
        "mine(rate=0.5)": {
            "summary": "From a file.",
            "graph_known": "the graph after the play, with entries 0 and 1 only, and the horizon",
            "needs": {"graph": "after", "deterministic": True, "horizon": True, "fixed": False},
            "exact": False,
            "plugin": "plugins/mine.py",
            "source": "0123456789abcdef" * 4,
        },
    },
    "versions": {"graphbandits": "9.8.7", "python": "3.13.1", "numpy": "2.3.4"},
    "runs": [
        {"seed": 17, "first_trial": 0, "trials": 20},
        {"seed": 17, "first_trial": 20, "trials": 10},
    ],
}


def made_up(
    names: tuple[str, ...] = ("ts-n", "ids-n", "mine(rate=0.5)"),
    *,
    trials: int = 30,
    arms: tuple[str, ...] = ARMS,
    settings: dict[str, Any] | None = None,
) -> Results:
    """Return results of common worlds in which regrets grow at different rates."""
    random = np.random.default_rng(6)
    rounds = np.arange(1, 101)
    world = random.gamma(2.0, 1.0, (trials, 1))
    policies = {}
    for i, name in enumerate(names):
        rate = (2.0, 1.0, 1.97, 1.03)[i % 4] + 0.1 * (i // 4)
        regret = rate * world * np.sqrt(rounds / 100.0) + random.gamma(1.0, 0.6, (trials, 1))
        plays = random.multinomial(100 * trials, np.ones(len(arms)) / len(arms)).astype(np.int64)
        policies[name] = PolicyResult.from_trials(regret, plays)
    return Results(rounds, policies, arms, described(names, settings or {}))


def described(names: Iterable[str], settings: dict[str, Any]) -> dict[str, Any]:
    """Return settings with a description of each of these policies."""
    known = SETTINGS["policies"]
    facts = settings.get("policies", known)
    every = {name: known.get(name, known["ts-n"]) | facts.get(name, {}) for name in names}
    return SETTINGS | settings | {"policies": every}


@dataclass
class Node:
    """An element of a page."""

    name: str
    attributes: dict[str, str]
    parts: list[Node | str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(p if isinstance(p, str) else p.text for p in self.parts)

    def all(self, name: str, **attributes: str) -> list[Node]:
        """Return all elements below this one with this name and these attributes."""
        found = []
        for part in self.parts:
            if isinstance(part, Node):
                wanted = {k.rstrip("_"): v for k, v in attributes.items()}
                if part.name == name and wanted.items() <= part.attributes.items():
                    found.append(part)
                found += part.all(name, **attributes)
        return found

    def rows(self) -> list[list[str]]:
        """Return the cells of the body of a table."""
        (body,) = self.all("tbody")
        return [
            [p.text for p in row.parts if isinstance(p, Node) and p.name in ("th", "td")]
            for row in body.all("tr")
        ]


class Page(HTMLParser):
    """Parser of a page that refuses unclosed and badly nested elements."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.root = Node("", {})
        self.open = [self.root]
        self.feed(text)
        self.close()
        assert self.open == [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        node = Node(tag, {key: value or "" for key, value in attrs})
        assert len(node.attributes) == len(attrs), "an attribute is given twice"
        self.open[-1].parts.append(node)
        if tag not in VOID:
            self.open.append(node)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop().name == tag

    def handle_data(self, data: str) -> None:
        self.open[-1].parts.append(data)


RERUN = "graphbandits simulate ts-n ids-n --seed 17"


def study(results: Results | None = None, key: str = "k", **changes: object) -> SimulationEntry:
    return replace(SimulationEntry(key, "A title", results or made_up(), RERUN), **changes)  # type: ignore[arg-type]


def swept(key: str = "s", **changes: object) -> SweepEntry:
    """Return a sweep over three values, one of them without the third policy."""
    results = {
        0.5: made_up(),
        1.0: made_up(("ts-n", "ids-n"), settings=SETTINGS | {"graph": "star(arms=3)"}),
        0.0: made_up(("ids-n", "ts-n", "mine(rate=0.5)")),
    }
    return replace(sweep_entry(key, "A sweep", "r", results, "graphbandits run r"), **changes)  # type: ignore[arg-type]


def sweep_entry(
    key: str, title: str, parameter: str, results: Any, rerun: str, label: str = "", **more: Any
) -> SweepEntry:
    """Return a sweep whose policies have the same names at all values."""
    cells: Any = {
        value: SimpleNamespace(lines={n: n for n in found.policies}, point={parameter: value})
        for value, found in results.items()
    }
    how = {"scale": "linear"} | more
    return SweepEntry(
        key, title, parameter, label or parameter, cells=cells, results=results, rerun=rerun, **how
    )


def page_of(*studies: SimulationEntry | SweepEntry, **words: str) -> Node:
    return Page(report_html(studies, **{"title": "Title", **words})).root


def table(page: Node, kind: str) -> Node:
    (found,) = page.all("table", class_=kind)
    return found


def ends(text: str) -> tuple[float, float]:
    low, high = text.strip("[]").split(", ")
    return float(low), float(high)


def settings_of(page: Node) -> dict[str, str]:
    return {d.all("dt")[0].text: d.all("dd")[0].text for d in page.all("div") if d.all("dt")}


def in_order(node: Node) -> list[Node]:
    return [n for part in node.parts if isinstance(part, Node) for n in (part, *in_order(part))]


CLAIMS = (
    Claim("Directed <sampling> wins.", ("ids-n",), ("ts-n", "mine(rate=0.5)"), "Someone (2018)"),
    Claim("Thompson wins.", ("ts-n",), ("ids-n",)),
    Claim("Neither.", ("z",), ("ids-n",)),
)
