"""The HTML report and summary.json: entries, sections, curves and the page."""

from __future__ import annotations

import base64
import io
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache, cached_property, partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure

from graphbandits import __version__, plots
from graphbandits._files import write_text
from graphbandits._types import Floats
from graphbandits.errors import InputError
from graphbandits.plots import ONE_COLUMN, TWO_COLUMNS
from graphbandits.plots.regret import in_order, shown, sweep_notes
from graphbandits.plots.style import COLOURS, final_means, looks, marked, near_ground
from graphbandits.registry import registered
from graphbandits.registry import summary_of as description_of
from graphbandits.simulation.results import Results
from graphbandits.simulation.statistics import Difference
from graphbandits.study.claims import (
    MAX_DISTANCE,
    Claim,
    Judgement,
    Published,
    PublishedComparison,
    compare,
    judge,
)
from graphbandits.theory import Bound, BoundVerdict, judge_bounds
from graphbandits.theory.bounds import ELIGIBLE_ARMS, FIXED_MEANS, LATE_ANSWERS, bounds_summary

#: Of all intervals on the page.
CONFIDENCE = 0.95


@dataclass(frozen=True)
class SimulationEntry:
    key: str
    title: str
    results: Results
    rerun: str
    notes: tuple[str, ...] = ()
    claims: tuple[Claim, ...] = ()
    published: Published | None = None
    bounds: tuple[Bound, ...] = ()

    @property
    def trials(self) -> int:
        return self.results.trials

    @cached_property
    def digits(self) -> int:
        """Decimals that show two digits of the largest standard error: at least 2, at most 6."""
        errors = [float(result.standard_error[-1]) for result in self.results.policies.values()]
        largest = max((e for e in errors if e > 0.0), default=math.nan)
        if math.isnan(largest):
            return 2
        return int(np.clip(1 - math.floor(math.log10(largest)), 2, 6))

    @cached_property
    def pairs(self) -> list[Difference]:
        """All paired differences, with intervals that hold together."""
        return self.results.differences(None, CONFIDENCE, simultaneous=True)

    @cached_property
    def from_best(self) -> dict[str, Difference]:
        return self.results.from_best(CONFIDENCE)

    @property
    def notes_on_policies(self) -> dict[str, str]:
        return self.results.notes

    @cached_property
    def judgements(self) -> list[Judgement]:
        return [judge(claim, self.results, CONFIDENCE) for claim in self.claims]

    @property
    def drawn_bounds(self) -> tuple[Bound, ...]:
        """Bounds that figures show: without those that have a line per policy."""
        return tuple(bound for bound in self.bounds if not bound.with_parameters)

    @cached_property
    def kept_bounds(self) -> list[BoundVerdict]:
        return judge_bounds(self.bounds, self.results, CONFIDENCE)

    @cached_property
    def comparisons(self) -> list[PublishedComparison]:
        return compare(self.published, self.results) if self.published else []

    def number(self, value: float, sign: str = "") -> str:
        return "unknown" if math.isnan(value) else f"{value:{sign}.{self.digits}f}"

    def interval(self, low: float, high: float, sign: str = "") -> str:
        if math.isnan(low):
            return "unknown"
        return f"[{self.number(low, sign)}, {self.number(high, sign)}]"


@dataclass(frozen=True)
class SweepEntry:
    key: str
    title: str
    parameter: str
    results: Mapping[float, Results] | Mapping[str, Results]
    rerun: str
    label: str = ""
    scale: str = "linear"
    notes: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    lines: Mapping[Any, Mapping[str, str]] = field(default_factory=dict)
    points: Mapping[Any, Mapping[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        in_order(self.results, self.scale)  # refuses what is no sweep

    @cached_property
    def simulations(self) -> list[SimulationEntry]:
        """An entry for each value, in order, with the value as its title."""
        return [
            SimulationEntry(f"{self.key}-{number}", shown(value), results, self.rerun)
            for number, (value, results) in enumerate(in_order(self.results, self.scale).items())
        ]

    @property
    def notes_on_policies(self) -> dict[str, str]:
        return sweep_notes(in_order(self.results, self.scale))


Entry = SimulationEntry | SweepEntry


def simulations_of(entry: Entry) -> list[SimulationEntry]:
    """The entries of a sweep at each value, or the one simulation itself."""
    return entry.simulations if isinstance(entry, SweepEntry) else [entry]


def policies_of(entries: Iterable[Entry]) -> list[str]:
    return list(
        dict.fromkeys(
            name
            for entry in entries
            for simulation in simulations_of(entry)
            for name in simulation.results.policies
        )
    )


def verdict(difference: Difference) -> str:
    """Describe the first policy of a paired difference in words."""
    if math.isnan(difference.low):
        return "unknown from one trial"
    if difference.high < 0.0:
        return "clearly better"
    return "clearly worse" if difference.low > 0.0 else "no clear difference"


def anchors(entries: Sequence[Entry]) -> list[str]:
    """Return a unique id for each entry: its key, reduced to characters allowed in an address."""
    keys = [entry.key for entry in entries]
    if not keys:
        raise InputError("a report needs at least one study")
    if len(set(keys)) < len(keys):
        twice = next(key for i, key in enumerate(keys) if key in keys[:i])
        raise InputError(f"two studies have the same key '{twice}': rename one")
    found: list[str] = []
    for number, key in enumerate(keys, start=1):
        name = f"study-{re.sub(r'[^a-z0-9]+', '-', key.lower()).strip('-') or number}"
        while name in found:
            name += f"-{number}"
        found.append(name)
    return found


#: The width of a line in pixels; dashes are multiples of it.
WIDTH = 2.0
#: Matplotlib's line styles that have a name, in widths of the line.
DASHES = {"-": (), "--": (3.7, 1.6), "-.": (6.4, 1.6, 1.0, 1.6), ":": (1.0, 1.65)}
#: The background of the page in dark mode, as in report.css.
DARK = "#15181c"
#: The two kinds of bands.
BANDS = {
    "interval": f"{CONFIDENCE:.0%} confidence interval of the mean",
    "quantiles": "10% to 90% of the trials",
}
#: Policies are outliers if the largest mean is at least this many times that of the other ones ...
FLAT = 3.0
#: ... and the least mean of an outlier is this many times the largest of the other ones.
GAP = 1.5


def figure_of(entry: Entry) -> dict[str, Any]:
    """The figure of an entry: a still picture with a description, and interactive curves."""
    if isinstance(entry, SweepEntry):
        return {"picture": _sweep_picture(entry)}
    return {
        "picture": _still(entry),
        "trials": entry.trials,
        "bands": BANDS,
        "data": curve_data(entry),
        "ranges": _ranges(entry),
        "notes": marked(entry.results.notes)[1].splitlines(),
    }


def curve_data(entry: SimulationEntry) -> dict[str, Any]:
    """What report.js draws: the policies from best to worst, each with its style."""
    results = entry.results
    drawn = looks(results.policies)
    marks, _ = marked(results.notes)

    def numbers(values: Floats) -> list[float | None]:
        """Numbers with three digits more than are shown, which keeps the page small."""
        digits = entry.digits + 3
        return [round(float(v), digits) if math.isfinite(v) else None for v in values]

    policies = []
    for name in results.ranking():
        policy: dict[str, Any] = {
            "name": name,
            "mark": marks.get(name, ""),
            "value": entry.number(float(results[name].mean[-1])),
            "colour": COLOURS.index(drawn[name].colour),
            "dash": dash(drawn[name].line),
            "mean": numbers(results[name].mean),
        }
        if entry.trials > 1:
            for kind in BANDS:
                low, high = results.band(name, kind=kind)
                policy[kind] = [numbers(low), numbers(high)]
        policies.append(policy)
    return {
        "rounds": results.rounds.tolist(),
        "digits": entry.digits,
        "width": WIDTH,
        "policies": policies,
        "bounds": [
            {"name": bound.name, "values": numbers(bound.values)} for bound in entry.drawn_bounds
        ],
    }


def _ranges(entry: SimulationEntry) -> list[dict[str, Any]]:
    """The ranges of the axis that can be chosen: that of all policies, and those of the best."""
    means = final_means(entry.results)
    ranking = entry.results.ranking()
    bulk = without_outliers([means[name] for name in ranking])
    counts = {bulk, len(near_ground(means)) or bulk, len(ranking)}
    if len(counts) == 1:
        return []
    return [
        {
            "count": count,
            "chosen": count == bulk,
            "cut": [f"{name} ({entry.number(means[name])})" for name in ranking[count:]],
        }
        for count in sorted(counts, reverse=True)
    ]


def without_outliers(means: Sequence[float]) -> int:
    """How many of the policies, best first, are no outliers; more than half of them.

    Outliers would leave the other curves less than a third of the axis, after a gap.

    >>> without_outliers([4, 6, 12, 20, 81]), without_outliers([4, 6, 12, 20, 33])
    (4, 5)
    """
    count = len(means)
    gaps = {
        kept: means[kept] / means[kept - 1]
        for kept in range(count // 2 + 1, count)
        if 0.0 < FLAT * means[kept - 1] <= means[-1]
    }
    best = max(gaps, key=lambda kept: gaps[kept], default=count)
    return best if gaps.get(best, 0.0) >= GAP else count


def dash(style: object) -> str:
    """A line style of matplotlib as the lengths of SVG in pixels."""
    pattern = DASHES[style] if isinstance(style, str) else style[1]  # type: ignore[index]
    return ",".join(f"{WIDTH * float(length):g}" for length in pattern)


def colour_style() -> str:
    """The colours of the policies as CSS: those of the plots, lighter in the dark."""
    light = " ".join(f"--policy-{i}: {to_hex(c)};" for i, c in enumerate(COLOURS))
    dark = " ".join(f"--policy-{i}: {on_dark(c)};" for i, c in enumerate(COLOURS))
    return (
        f":root {{ {light} }}\n"
        f"@media screen and (prefers-color-scheme: dark) {{ :root:not(.printing) {{ {dark} }} }}\n"
    )


def on_dark(colour: str, contrast: float = 4.5) -> str:
    """The colour mixed with white until it stands out from the dark ground (WCAG 2.2 contrast).

    >>> on_dark("#E69F00"), on_dark("#000000")
    ('#e69f00', '#828282')
    """
    rgb = np.array(to_rgb(colour))
    mixed = (1.0 - (1.0 - rgb) * (1.0 - step / 100.0) for step in range(101))
    wanted = contrast * (_luminance(np.array(to_rgb(DARK))) + 0.05) - 0.05
    return to_hex(next(mix for mix in mixed if _luminance(mix) >= wanted).tolist())


def _luminance(rgb: Floats) -> float:
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def _sweep_picture(sweep: SweepEntry) -> dict[str, str]:
    label = sweep.label or sweep.parameter
    best = "; ".join(f"at {e.title} {e.results.ranking()[0]}" for e in sweep.simulations)
    about = (
        f"Mean final regret against {label}, a line a policy; the least mean: {best}. The numbers "
        "are in the table of values."
    )
    given: dict[str, Any] = {"scale": sweep.scale, "order": sweep.order, "confidence": CONFIDENCE}
    draw = partial(plots.sweep_figure, sweep.results, label, **given)
    return _picture(sweep, draw, about)


def _still(entry: SimulationEntry) -> dict[str, str]:
    ends = ", ".join(
        f"{name} {entry.number(float(entry.results[name].mean[-1]))}"
        for name in entry.results.ranking()
    )
    about = f"Curves of mean cumulative regret by round; at the end, from best to worst: {ends}."
    draw = partial(plots.regret_figure, entry.results, confidence=CONFIDENCE)
    return _picture(entry, draw, about)


def _picture(entry: Entry, draw: Callable[..., Figure], about: str) -> dict[str, str]:
    """The figure in two columns of a journal and in one, and its description with its notes."""
    notes = "".join(f" {name}: {text}" for name, text in entry.notes_on_policies.items())
    wide, narrow = _image(draw(width=TWO_COLUMNS)), _image(draw(width=ONE_COLUMN))
    return {"wide": wide, "narrow": narrow, "about": about + notes}


def _image(drawn: Figure) -> str:
    """An image as a data address. Curves with bands are three times as large in SVG."""
    buffer = io.BytesIO()
    drawn.savefig(buffer, format="webp", dpi=150, pil_kwargs={"lossless": True})
    return f"data:image/webp;base64,{base64.b64encode(buffer.getvalue()).decode('ascii')}"


#: Input of a template.
Context = dict[str, Any]
#: A name and the cells below it; None is an entry without the policy.
Column = tuple[str, list[Context | None]]

#: An overview with more columns than this has the policies as rows, if that makes it narrower.
WIDE = 8
#: Arms in the table of plays; the other arms share a row.
ARMS = 20
#: Pairs of an entry that are shown without a click.
PAIRS = 15
#: Pairs of a claim that are shown without a click; of more, the decisive one.
CLAIM_PAIRS = 3
#: Arms in a list of arms, before the number of the others.
NAMED = 40
#: Characters shown of a setting without a format of its own.
SHOWN = 300
UNKNOWN = "not recorded"
GRAPH = {"never": "never", "after": "after the play", "before": "before the decision"}
REGRET = {
    "pseudo": "pseudo-regret: the best arm's mean minus that of the arm played",
    "realised": "realised: the best arm's outcome minus that of the arm played",
}
#: The setting is the accuracy of the statistics alpha, Delta and h.
ACCURACY = {
    "simulation": "simulation: statistics right to 1e-10 absolutely",
    "strict": "strict: statistics right to 1e-8 relatively",
}


def sections_of(entry: Entry) -> list[Context]:
    """The sections of an entry that have content; ``sections/KEY.html`` is the template of each."""
    table = SWEEP if isinstance(entry, SweepEntry) else SIMULATION
    made = [(key, title, content(entry)) for key, (title, content) in table.items()]
    return [{"key": key, "title": title, **content} for key, title, content in made if content]


# --- overview


def overview(entries: Sequence[Entry], places: Sequence[str]) -> Context:
    """Tables of all simulations and of all sweeps, and the claims of all entries."""
    placed = list(zip(entries, places, strict=True))
    simulations = {place: entry for entry, place in placed if isinstance(entry, SimulationEntry)}
    sweeps = {place: entry for entry, place in placed if isinstance(entry, SweepEntry)}
    means, counts = _mean_columns(list(simulations.values())), _counts(list(sweeps.values()))
    return {
        "simulations": _table("study", _links(simulations), means) if simulations else None,
        "sweeps": _table("sweep", _links(sweeps), counts) if sweeps else None,
        "claims": [
            {
                "text": judged.claim.text,
                "verdict": judged.verdict,
                "key": entry.key,
                "place": place,
                **_difference(entry, judged.decisive),
            }
            for place, entry in simulations.items()
            for judged in entry.judgements
        ],
    }


def _links(entries: Mapping[str, Entry]) -> list[Context]:
    return [{"text": entry.title, "place": place} for place, entry in entries.items()]


def _values(sweep: SweepEntry) -> Context:
    heads = [{"text": entry.title} for entry in sweep.simulations]
    columns = _mean_columns(sweep.simulations, with_error=True)
    return {"table": _table(sweep.label or sweep.parameter, heads, columns)}


def _mean_columns(entries: Sequence[SimulationEntry], with_error: bool = False) -> list[Column]:
    """Mean regret of each policy, rounds and trials."""
    return [
        *((name, [_mean(e, name, with_error) for e in entries]) for name in policies_of(entries)),
        ("rounds", [{"text": int(entry.results.rounds[-1])} for entry in entries]),
        ("trials", [{"text": entry.trials} for entry in entries]),
    ]


def _counts(sweeps: Sequence[SweepEntry]) -> list[Column]:
    """Count the values at which a policy is the best or not clearly worse than the best."""
    return [
        ("parameter", [{"text": sweep.label or sweep.parameter} for sweep in sweeps]),
        *((name, [_count(sweep, name) for sweep in sweeps]) for name in policies_of(sweeps)),
    ]


def _table(corner: str, heads: list[Context], columns: Sequence[Column]) -> Context:
    """A table of entries (rows) by policies (columns), or the other way round if it is wide."""
    by_policy = WIDE < len(columns) > len(heads)
    names = [{"text": name} for name, _ in columns]
    cells = [cells for _, cells in columns]
    if not by_policy:
        cells = [list(row) for row in zip(*cells, strict=True)]
    return {
        "corner": "policy" if by_policy else corner,
        "parameter": corner,
        "by_policy": by_policy,
        "head": heads if by_policy else names,
        "rows": list(zip(names if by_policy else heads, cells, strict=True)),
    }


def _count(sweep: SweepEntry, name: str) -> Context | None:
    there = [entry for entry in sweep.simulations if name in entry.results.policies]
    best = sum(bool(_standing(entry, name)) for entry in there)
    return {"text": f"{best} of {len(there)}"} if there else None


def _mean(entry: SimulationEntry, name: str, with_error: bool) -> Context | None:
    if name not in entry.results.policies:
        return None
    result = entry.results[name]
    text = entry.number(float(result.mean[-1]))
    if with_error and entry.trials > 1:
        text += f" ± {entry.number(float(result.standard_error[-1]))}"
    return {"text": text, "standing": _standing(entry, name)}


def _standing(entry: SimulationEntry, name: str) -> str:
    if name == entry.results.ranking()[0]:
        return "least"
    near = verdict(entry.from_best[name]) == "no clear difference"
    return "no clear difference from the least" if near else ""


# --- regrets, differences and plays


def _regrets(entry: SimulationEntry) -> Context:
    rows = []
    for name in entry.results.ranking():
        result = entry.results[name]
        quantiles = result.final_quantiles()
        d = entry.from_best.get(name)
        rows.append(
            {
                "policy": name,
                "mean": entry.number(float(result.mean[-1])),
                "interval": entry.interval(*entry.results.interval(name, CONFIDENCE)),
                "median": entry.number(quantiles["0.5"]),
                "high": entry.number(quantiles["0.95"]),
                "from_best": _difference(entry, d) if d else None,
            }
        )
    trials = "one trial" if entry.trials == 1 else f"{entry.trials} trials"
    return {"rows": rows, "rounds": int(entry.results.rounds[-1]), "trials": trials}


def _differences(entry: SimulationEntry) -> Context:
    return {"rows": [_difference(entry, d) for d in entry.pairs], "most": PAIRS}


def _difference(entry: SimulationEntry, d: Difference) -> Context:
    return {
        "first": d.first,
        "second": d.second,
        "mean": entry.number(d.mean, "+"),
        "error": entry.number(d.standard_error),
        "interval": entry.interval(d.low, d.high, "+"),
        "words": verdict(d),
    }


def _plays(entry: SimulationEntry) -> Context:
    """Plays of each arm per trial, with lengths of bars; of many arms the most played."""
    results = entry.results
    counts = np.array([result.plays for result in results.policies.values()], np.float64)  # (P, K)
    shares = counts / counts.sum(axis=1, keepdims=True).clip(1.0)
    chosen = np.arange(len(results.arms))
    if len(results.arms) > ARMS:
        chosen = np.sort(np.argsort(-shares.sum(axis=0), kind="stable")[:ARMS])
    lengths = shares / (float(shares[:, chosen].max()) or 1.0)
    rest = np.delete(counts, chosen, axis=1)
    cells = np.stack([counts / entry.trials, lengths], axis=-1)  # (P, K, 2)
    return {
        "policies": list(results.policies),
        "rounds": int(results.rounds[-1]),
        "rows": [(results.arms[arm], cells[:, arm].tolist()) for arm in chosen],
        "others": rest.shape[1],
        "rest": (rest.sum(axis=1) / entry.trials).tolist(),
    }


# --- claims, published means and bounds


def _claims(entry: SimulationEntry) -> Context | None:
    claims = []
    for judged in entry.judgements:
        shown, rest = judged.differences, []
        if len(shown) > CLAIM_PAIRS:
            shown = [judged.decisive]
            rest = [d for d in judged.differences if d is not judged.decisive]
        claims.append(
            {
                "text": judged.claim.text,
                "source": judged.claim.source,
                "verdict": judged.verdict,
                "above": sum(d.low > 0.0 for d in judged.differences),
                "open": sum(d.low <= 0.0 <= d.high for d in judged.differences),
                "shown": [_difference(entry, d) for d in shown],
                "rest": [_difference(entry, d) for d in rest],
            }
        )
    return {"claims": claims} if claims else None


def _published(entry: SimulationEntry) -> Context | None:
    if entry.published is None:
        return None
    rows = [
        {
            "policy": c.policy,
            "numbers": [
                entry.number(c.mean),
                entry.number(c.standard_error),
                entry.number(c.published_mean),
                entry.number(c.published_error),
                "unknown" if math.isnan(c.distance) else f"{c.distance:+.1f}",
            ],
            "within": c.within,
        }
        for c in entry.comparisons
    ]
    near = sum(c.within for c in entry.comparisons)
    return {
        "rows": rows,
        "source": entry.published.source,
        "near": near,
        "limit": f"{MAX_DISTANCE:g}",
    }


def _bounds(entry: SimulationEntry) -> Context | None:
    if not entry.kept_bounds:
        reasons = {"eligible": ELIGIBLE_ARMS, "means": FIXED_MEANS}
        reasons |= dict.fromkeys(("delay", "answer_rate"), LATE_ANSWERS)
        given = (why for key, why in reasons.items() if entry.results.settings.get(key) is not None)
        return next(({"why": why} for why in given), None)
    listed = list(dict.fromkeys(judged.bound for judged in entry.kept_bounds))
    sources: dict[str, list[str]] = {}
    for bound in listed:
        sources.setdefault(bound.source, []).append(bound.name)
    remarks = [f"{', '.join(names)}: {source}." for source, names in sources.items()]
    remarks += [f"{bound.name}: {bound.note}" for bound in listed if bound.note]
    if any(not bound.exact for bound in listed):
        remarks.append("±: the standard error of a bound that is estimated.")
    rows = [
        {
            "name": judged.bound.name,
            "formula": judged.bound.formula,
            "policy": judged.policy,
            "value": entry.number(judged.bound.final)
            + ("" if judged.bound.exact else f" ± {entry.number(judged.bound.final_error)}"),
            "mean": entry.number(judged.mean),
            "interval": entry.interval(judged.low, judged.high),
            "verdict": judged.verdict,
        }
        for judged in entry.kept_bounds
    ]
    return {"rows": rows, "rounds": int(entry.results.rounds[-1]), "remarks": remarks}


# --- knowledge of policies


def _knowledge(entry: Entry) -> Context:
    """Return what each policy knows: from the results, else from its class."""
    recorded: dict[str, Mapping[str, Any]] = {}
    for simulation in simulations_of(entry):
        policies = simulation.results.settings.get("policies")
        for name, facts in policies.items() if isinstance(policies, Mapping) else ():
            if isinstance(facts, Mapping):
                recorded.setdefault(name, facts)
    names = policies_of([entry])
    notes = entry.notes_on_policies
    guessed = [name for name in names if name not in recorded]
    return {
        "rows": [
            {
                "policy": name,
                "note": notes.get(name),
                **_facts(recorded.get(name) or declared(name)),
            }
            for name in names
        ],
        "guessed": guessed,
        "whose": f"of {', '.join(guessed)} " if len(guessed) < len(names) else "",
    }


def declared(name: str) -> dict[str, Any]:
    """What the class of a policy declares, in the form in which results record it."""
    cls: Any = registered("policy").get(name.split("(")[0].strip())
    if not hasattr(cls, "needs"):  # unknown, or different for each instance
        return {}
    return {
        "summary": description_of(cls),
        "needs": asdict(cls.needs),
        "exact": cls.exact,
        "graph_known": str(cls.needs),
    }


def _facts(facts: Mapping[str, Any]) -> Context:
    """The cells of one policy in the table of what policies know."""
    needs = facts.get("needs")
    needs = needs if isinstance(needs, Mapping) else {}
    exact = {"yes": "exact", "no": "unknown (draws an arm)"}.get(_yes(facts.get("exact")), UNKNOWN)
    return {
        "words": [
            GRAPH.get(str(needs.get("graph")), facts.get("graph_known") or UNKNOWN),
            _graph(needs),
            _yes(needs.get("horizon")),
            exact,
        ],
        "plugin": facts.get("plugin"),
        "origin": UNKNOWN if "plugin" not in facts else "graphbandits",
        "source": str(facts.get("source") or ""),
        "summary": facts.get("summary") or UNKNOWN,
    }


def _graph(needs: Mapping[str, Any]) -> str:
    """What a policy requires of the graph."""
    if not isinstance(needs.get("deterministic"), bool):
        return UNKNOWN
    asked = ["0/1"] * needs["deterministic"]
    asked += ["the same in every round"] * (needs.get("fixed") is True)
    return ", ".join(asked) or "anything"


def _yes(value: object) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else UNKNOWN


# --- settings


def _settings(entry: Entry) -> Context:
    """All recorded settings; in a sweep those that vary are given for each value."""
    every = {simulation.title: _texts(simulation) for simulation in simulations_of(entry)}
    names = dict.fromkeys(name for texts in every.values() for name in texts)
    rows = []
    for name in names:
        values = [(value, texts.get(name, UNKNOWN)) for value, texts in every.items()]
        same = len({text for _, text in values}) == 1
        rows.append({"name": name, "text": values[0][1] if same else None, "values": values})
    return {"rows": rows}


def _texts(entry: SimulationEntry) -> dict[str, str]:
    left = dict(entry.results.settings)
    left.pop("policies", None)
    arms = entry.results.arms
    left.pop("arms", None)
    runs, seed = left.pop("runs", None), left.pop("seed", None)
    joined = isinstance(runs, Sequence) and len(runs) > 1
    if seed is None:
        seed = "several: see the joined runs" if joined else UNKNOWN
    texts = {
        "graph": _plain(left.pop("graph", UNKNOWN)),
        "arms": f"{len(arms)}: {_list(arms)}",
        "prior": _prior(left.pop("prior", None), arms),
        **({"posterior": _model(left.pop("posterior"))} if "posterior" in left else {}),
        "horizon": f"{_plain(left.pop('horizon', int(entry.results.rounds[-1])))} rounds",
        "trials": _plain(left.pop("trials", entry.trials)),
        "seed": _plain(seed),
    }
    regret = _plain(left.pop("regret", UNKNOWN))
    texts["regret"] = REGRET.get(regret, regret)
    if "accuracy" in left:
        accuracy = _plain(left.pop("accuracy"))
        texts["accuracy"] = ACCURACY.get(accuracy, accuracy)
    if joined:
        texts["joined runs"] = "; ".join(_run(run) for run in runs)
    versions = left.pop("versions", {"graphbandits": UNKNOWN})
    texts["versions"] = ", ".join(f"{k} {_plain(v)}" for k, v in versions.items())
    return texts | {key: _plain(value) for key, value in left.items()}


def _list(names: Sequence[object]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(str(name) for name in names[:NAMED]) + more


def _model(model: object) -> str:
    """Format a posterior with its parameters; one value that all arms share is written once.

    >>> _model({"name": "normal", "mean": [0.0, 1.0], "noise": [1.0, 1.0], "accuracy": "strict"})
    'normal(mean=[0.0, 1.0], noise=1.0)'
    """
    if not isinstance(model, Mapping) or "name" not in model:
        return _plain(model)
    texts = []
    for key, value in model.items():
        if key not in ("name", "accuracy"):
            listed = isinstance(value, list) and value and all(one == value[0] for one in value)
            texts.append(f"{key}={_plain(value[0] if listed else value)}")
    return f"{model['name']}({', '.join(texts)})" if texts else str(model["name"])


def _prior(prior: object, arms: Sequence[str]) -> str:
    if isinstance(prior, Mapping):
        return _model(prior)
    if not isinstance(prior, Sequence) or not prior:
        return UNKNOWN
    try:
        betas = [f"Beta({a:g}, {b:g})" for a, b in prior]
    except (TypeError, ValueError):
        return _plain(prior)
    if len(set(betas)) == 1:
        return f"{betas[0]} for each arm"
    if len(betas) != len(arms):
        return _list(betas)
    return _list([f"{arm} {beta}" for arm, beta in zip(arms, betas, strict=True)])


def _run(run: object) -> str:
    if not isinstance(run, Mapping):
        return _plain(run)
    return ", ".join(f"{str(key).replace('_', ' ')} {value}" for key, value in run.items())


def _plain(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]} ..."


def _rerun(entry: Entry) -> Context | None:
    return {"command": entry.rerun} if entry.rerun else None  # a study from Python has none


#: The sections of a simulation and of a sweep, in order; those without content are left out.
SIMULATION: dict[str, tuple[str, Callable[[Any], Context | None]]] = {
    "claims": ("Claims", _claims),
    "published": ("Comparison with published regrets", _published),
    "regrets": ("Regrets", _regrets),
    "bounds": ("Bounds on the regret", _bounds),
    "differences": ("Paired differences", _differences),
    "plays": ("Plays of each arm", _plays),
    "knowledge": ("Knowledge of the policies", _knowledge),
    "settings": ("Settings", _settings),
    "rerun": ("Run it again", _rerun),
}
SWEEP: dict[str, tuple[str, Callable[[Any], Context | None]]] = {
    "values": ("Regret at each value", _values),
    **{key: SIMULATION[key] for key in ("knowledge", "settings", "rerun")},
}


#: Content security policy: browsers load nothing from outside of the file.
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data: blob:"
)


def write_report(
    path: str | Path, entries: Sequence[Entry], *, title: str, introduction: str = ""
) -> Path:
    """Write :func:`report_html` to a file, completely or not at all."""
    target = Path(path)
    write_text(target, report_html(entries, title=title, introduction=introduction))
    return target


def report_html(entries: Sequence[Entry], *, title: str, introduction: str = "") -> str:
    """One HTML page that needs no other file and no network."""
    places = anchors(entries)
    alone = len(entries) == 1
    template = _environment().get_template("page.html")
    page = template.render(
        title=title,
        paragraphs=[text.strip() for text in introduction.split("\n\n") if text.strip()],
        policy=POLICY,
        version=__version__,
        style=colour_style()
        + _shared("vendor/uPlot.min.css")
        + _shared("plot.css")
        + _asset("report.css"),
        uplot=f"/*\n{_shared('vendor/LICENSE-uplot.txt')}*/\n{_shared('vendor/uPlot.iife.min.js')}",
        script=_shared("plot.js") + _asset("report.js"),
        # one entry is its own overview
        overview=None if alone else overview(entries, places),
        entries=[
            {
                "place": place,
                "title": entry.title,
                # the only entry may have the title of the page
                "heading": "Results" if alone and entry.title == title else entry.title,
                "notes": entry.notes,
                "figure": figure_of(entry),
                "sections": sections_of(entry),
            }
            for entry, place in zip(entries, places, strict=True)
        ],
    )
    # half a surrogate pair can be in a name but not in a file
    return page.encode("utf-8", "replace").decode("utf-8")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("graphbandits.study"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "allow_nan": False}
    environment.filters["inside"] = inside
    environment.globals["level"] = f"{CONFIDENCE:.0%}"
    return environment


def inside(content: str, element: str) -> Markup:
    """The content of a script or style element, which is not escaped."""
    if f"</{element}" in content.lower():
        raise ValueError(f"the content of <{element}> holds its own end tag")
    return Markup(content)


def _asset(name: str) -> str:
    return files(__package__).joinpath("templates", name).read_text("utf-8")


def _shared(name: str) -> str:
    """A file of the dashboard, which draws its charts by the same code."""
    return files("graphbandits").joinpath("service", "static", name).read_text("utf-8")


# --- summary.json


def summary_of(entries: Iterable[Entry]) -> dict[str, Any]:
    return {
        entry.key: _sweep(entry) if isinstance(entry, SweepEntry) else _simulation(entry)
        for entry in entries
    }


def _simulation(entry: SimulationEntry) -> dict[str, Any]:
    """A simulation as plain numbers: regrets, differences, claims, bounds, published means."""
    summary = {"title": entry.title, **_numbers(entry.results)}
    if entry.claims:
        summary["claims"] = [
            {
                "text": one.claim.text,
                "source": one.claim.source,
                "better": list(one.claim.better),
                "than": list(one.claim.than),
                "verdict": one.verdict,
                "differences": [
                    {**_difference_numbers(d), "simultaneous_interval": [d.low, d.high]}
                    for d in one.differences
                ],
            }
            for one in entry.judgements
        ]
    if entry.bounds:
        summary["bounds"] = bounds_summary(entry.bounds, entry.results)
    if entry.published is not None:
        listed = [asdict(one) for one in entry.comparisons]
        means = {one.pop("policy"): one for one in listed}
        summary["published"] = {"source": entry.published.source, "means": means}
    return summary


def _sweep(sweep: SweepEntry) -> dict[str, Any]:
    """A sweep as plain numbers; each policy has its own name, and the line it belongs to."""
    runs = []
    for value, found in sweep.results.items():
        lines = sweep.lines.get(value) or {name: name for name in found.policies}
        present = {name: line for name, line in lines.items() if line in found.policies}
        numbers = _numbers(found.renamed({line: name for name, line in present.items()}))
        for name, line in present.items():
            numbers["policies"][name]["line"] = line
        point = {"point": dict(sweep.points[value])} if value in sweep.points else {}
        runs.append({"value": value, **point, **numbers})
    return {
        "title": sweep.title,
        "parameter": sweep.parameter,
        "label": sweep.label,
        "scale": sweep.scale,
        "runs": runs,
    }


def _numbers(results: Results) -> dict[str, Any]:
    """Regrets, plays, settings and paired differences as plain numbers."""
    policies = {
        name: {
            "regret": numbers["regret"] | {"interval": list(results.interval(name))},
            "plays": numbers["plays"],
        }
        for name, numbers in results.summary()["policies"].items()
    }
    together = results.differences(simultaneous=True)
    differences = [
        {
            **_difference_numbers(d),
            "interval": [d.low, d.high],
            "simultaneous_interval": [of_all.low, of_all.high],
        }
        for d, of_all in zip(results.differences(), together, strict=True)
    ]
    return {"settings": dict(results.settings), "policies": policies, "differences": differences}


def _difference_numbers(d: Difference) -> dict[str, Any]:
    return {key: getattr(d, key) for key in ("first", "second", "mean", "standard_error")}
