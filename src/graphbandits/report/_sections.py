"""Sections of the page as plain data: texts and formatted numbers for the templates."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from graphbandits.registry import registered
from graphbandits.registry import summary_of as description_of
from graphbandits.report.entries import (
    CONFIDENCE,
    Entry,
    SimulationEntry,
    SweepEntry,
    policies_of,
    simulations_of,
    verdict,
)
from graphbandits.results import Difference
from graphbandits.results.published import MAX_DISTANCE
from graphbandits.theory.simulation_bounds import ELIGIBLE_ARMS, FIXED_MEANS, LATE_ANSWERS

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
    """The sections of an entry that have content, each with its ``key`` and ``title``.

    The template ``sections/KEY.html`` renders a section.
    """
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
    """Mean regret of each policy at each value of the parameter."""
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
    """Return whether a policy is the best of an entry, or not clearly different from it."""
    if name == entry.results.ranking()[0]:
        return "least"
    near = verdict(entry.from_best[name]) == "no clear difference"
    return "no clear difference from the least" if near else ""


# --- regrets, differences and plays


def _regrets(entry: SimulationEntry) -> Context:
    """The policies from best to worst."""
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
    """Each claim with its verdict and the differences behind it."""
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
    """Published means and those of the results."""
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
    """Each bound with its formula, beside the mean of each policy that it is for."""
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
    """What the class of a policy declares, in the form in which results record it.

    >>> declared("ids-n")["needs"]["graph"], declared("unheard-of")
    ('before', {})
    """
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
    """What a policy requires of the graph; before 0.4 no policy required a fixed graph.

    >>> _graph({"deterministic": True, "fixed": True}), _graph({"deterministic": False})
    ('0/1, the same in every round', 'anything')
    """
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
