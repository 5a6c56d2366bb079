"""The HTML report and summary.json: entries, sections, curves and the page."""

from __future__ import annotations

import base64
import io
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache, cached_property, partial
from importlib.resources import files
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from matplotlib.figure import Figure

from graphbandits import __version__, plots
from graphbandits._types import Floats
from graphbandits.plots import ONE_COLUMN, TWO_COLUMNS
from graphbandits.plots.regret import in_order, shown, sweep_notes
from graphbandits.plots.style import COLOURS, final_means, looks, marked, near_ground
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
from graphbandits.study.study import SweepSlice
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
    def simulations(self) -> list[SimulationEntry]:
        return [self]

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
        """Format a number with the digits of this entry, for templates."""
        return "unknown" if math.isnan(value) else f"{value:{sign}.{self.digits}f}"

    def interval(self, low: float, high: float, sign: str = "") -> str:
        if math.isnan(low):
            return "unknown"
        return f"[{self.number(low, sign)}, {self.number(high, sign)}]"


@dataclass(frozen=True, eq=False)
class SweepEntry(SweepSlice):
    """A slice with the results at each value, whose policies are named by their lines."""

    results: Mapping[Any, Results]
    rerun: str
    notes: tuple[str, ...] = ()
    order: tuple[str, ...] = ()

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


def policies_of(entries: Iterable[Entry]) -> list[str]:
    return list(
        dict.fromkeys(
            name
            for entry in entries
            for simulation in entry.simulations
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
    """Return a unique id for each entry: its number, and its key in characters of an address."""
    slugs = [re.sub(r"[^a-z0-9]+", "-", entry.key.lower()).strip("-") for entry in entries]
    return [f"study-{number}-{slug}" for number, slug in enumerate(slugs, start=1)]


#: The width of a line in pixels; dashes are multiples of it.
WIDTH = 2.0
#: Matplotlib's line styles that have a name, in widths of the line.
DASHES = {"-": (), "--": (3.7, 1.6), "-.": (6.4, 1.6, 1.0, 1.6), ":": (1.0, 1.65)}
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
    notes = "".join(f" {name}: {text}" for name, text in entry.notes_on_policies.items())
    if isinstance(entry, SweepEntry):
        best = "; ".join(f"at {e.title} {e.results.ranking()[0]}" for e in entry.simulations)
        about = (
            f"Mean final regret against {entry.label}, a line a policy; the least mean: {best}. "
            "The numbers are in the table of values."
        )
        how: dict[str, Any] = {"scale": entry.scale, "order": entry.order, "confidence": CONFIDENCE}
        draw = partial(plots.sweep_figure, entry.results, entry.label, **how)
        return {"picture": _picture(draw, about + notes)}
    ends = ", ".join(
        f"{name} {entry.number(float(entry.results[name].mean[-1]))}"
        for name in entry.results.ranking()
    )
    about = f"Curves of mean cumulative regret by round; at the end, from best to worst: {ends}."
    draw = partial(plots.regret_figure, entry.results, confidence=CONFIDENCE)
    return {
        "picture": _picture(draw, about + notes),
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


def _picture(draw: Callable[..., Figure], about: str) -> dict[str, str]:
    """The figure in two columns of a journal and in one, and its description."""
    wide, narrow = _image(draw(width=TWO_COLUMNS)), _image(draw(width=ONE_COLUMN))
    return {"wide": wide, "narrow": narrow, "about": about}


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
    return [
        {"key": key, "title": title, **content}
        for key, title, content in made
        if content is not None
    ]


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
            (place, entry, judged)
            for place, entry in simulations.items()
            for judged in entry.judgements
        ],
    }


def _links(entries: Mapping[str, Entry]) -> list[Context]:
    return [{"text": entry.title, "place": place} for place, entry in entries.items()]


def _values(sweep: SweepEntry) -> Context:
    heads = [{"text": entry.title} for entry in sweep.simulations]
    columns = _mean_columns(sweep.simulations, with_error=True)
    return {"table": _table(sweep.label, heads, columns)}


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
        ("parameter", [{"text": sweep.label} for sweep in sweeps]),
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


# --- bounds


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
    return {"remarks": remarks}


# --- knowledge of policies


def _knowledge(entry: Entry) -> Context:
    """Return what each policy knows, as its results record it."""
    recorded: dict[str, Mapping[str, Any]] = {}
    for simulation in entry.simulations:
        recorded = simulation.results.settings["policies"] | recorded
    notes = entry.notes_on_policies
    return {"rows": [(n, notes.get(n), *_facts(recorded[n])) for n in policies_of([entry])]}


def _facts(facts: Mapping[str, Any]) -> tuple[list[str], Mapping[str, Any]]:
    """Return the cells of one policy in the table of what policies know, and its description."""
    needs = facts["needs"]
    asked = ["0/1"] * needs["deterministic"] + ["the same in every round"] * needs["fixed"]
    cells = [
        GRAPH[needs["graph"]],
        ", ".join(asked) or "anything",
        "yes" if needs["horizon"] else "no",
        "exact" if facts["exact"] else "unknown (draws an arm)",
    ]
    return cells, facts


# --- settings


def _settings(entry: Entry) -> Context:
    """All recorded settings; in a sweep those that vary are given for each value."""
    every = {simulation.title: _texts(simulation) for simulation in entry.simulations}
    names = dict.fromkeys(name for texts in every.values() for name in texts)
    rows = []
    for name in names:
        values = [(value, texts.get(name, "none")) for value, texts in every.items()]
        same = len({text for _, text in values}) == 1
        rows.append({"name": name, "text": values[0][1] if same else None, "values": values})
    return {"rows": rows}


def _texts(entry: SimulationEntry) -> dict[str, str]:
    left = dict(entry.results.settings)
    arms = entry.results.arms
    more = f" and {len(arms) - NAMED} more" if len(arms) > NAMED else ""
    for key in ("policies", "arms", "runs"):
        left.pop(key, None)
    texts = {
        "graph": _plain(left.pop("graph")),
        "arms": f"{len(arms)}: {', '.join(arms[:NAMED])}{more}",
        "prior": _prior(left.pop("prior")),
        **({"posterior": _model(left.pop("posterior"))} if "posterior" in left else {}),
        "horizon": f"{left.pop('horizon')} rounds",
        "regret": REGRET[left.pop("regret")],
        "versions": ", ".join(f"{k} {v}" for k, v in left.pop("versions").items()),
    }
    if "accuracy" in left:
        accuracy = left.pop("accuracy")
        texts["accuracy"] = ACCURACY.get(accuracy, _plain(accuracy))
    return texts | {key: _plain(value) for key, value in left.items()}


def _model(model: Mapping[str, Any]) -> str:
    """Format a posterior with its parameters; one value that all arms share is written once.

    >>> _model({"name": "normal", "mean": [0.0, 1.0], "noise": [1.0, 1.0], "accuracy": "strict"})
    'normal(mean=[0.0, 1.0], noise=1.0)'
    """
    texts = []
    for key, value in model.items():
        if key not in ("name", "accuracy"):
            listed = isinstance(value, list) and value and all(one == value[0] for one in value)
            texts.append(f"{key}={_plain(value[0] if listed else value)}")
    return f"{model['name']}({', '.join(texts)})" if texts else str(model["name"])


def _prior(prior: Any) -> str:
    if not isinstance(prior, Mapping):  # pairs of parameters of Beta distributions
        a, b = map(list, zip(*prior, strict=True))
        prior = {"name": "beta-bernoulli", "a": a, "b": b}
    return _model(prior)


def _plain(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]} ..."


#: The sections of a simulation and of a sweep, in order: title, and what its template needs besides
#: the entry; those for which that is None are left out.
SIMULATION: dict[str, tuple[str, Callable[[Any], Context | None]]] = {
    "claims": ("Claims", lambda entry: {"most": CLAIM_PAIRS} if entry.claims else None),
    "published": (
        "Comparison with published regrets",
        lambda entry: {"limit": f"{MAX_DISTANCE:g}"} if entry.published else None,
    ),
    "regrets": ("Regrets", lambda entry: {}),
    "bounds": ("Bounds on the regret", _bounds),
    "differences": ("Paired differences", lambda entry: {"most": PAIRS}),
    "plays": ("Plays of each arm", _plays),
    "knowledge": ("Knowledge of the policies", _knowledge),
    "settings": ("Settings", _settings),
    "rerun": ("Run it again", lambda entry: {} if entry.rerun else None),
}
SWEEP: dict[str, tuple[str, Callable[[Any], Context | None]]] = {
    "values": ("Regret at each value", _values),
    **{key: SIMULATION[key] for key in ("knowledge", "settings", "rerun")},
}


#: Content security policy: browsers load nothing from outside of the file.
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data: blob:"
)


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
        style=_shared("vendor/uPlot.min.css") + _shared("plot.css") + _asset("report.css"),
        uplot=f"/*\n{_shared('vendor/LICENSE-uplot.txt')}*/\n{_shared('vendor/uPlot.iife.min.js')}",
        script=_shared("plot.js") + _asset("report.js"),
        # one entry is its own overview
        overview=None if alone else overview(entries, places),
        entries=[
            {
                "place": place,
                "title": entry.title,
                "data": entry,
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
    environment.globals |= {
        "level": f"{CONFIDENCE:.0%}",
        "confidence": CONFIDENCE,
        "verdict": verdict,
    }
    return environment


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
        cell = sweep.cells[value]
        present = {name: line for name, line in cell.lines.items() if line in found.policies}
        numbers = _numbers(found.renamed({line: name for name, line in present.items()}))
        for name, line in present.items():
            numbers["policies"][name]["line"] = line
        point = {"point": dict(cell.point)} if len(cell.point) > 1 else {}
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
