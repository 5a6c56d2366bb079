"""The tables of numbers: regrets, paired differences, plays, and the overview of all studies."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graphbandits.report.markup import Html, join, label, table, tag
from graphbandits.report.study import CONFIDENCE, Study, Sweep, names_of, verdict
from graphbandits.types import Floats

LEVEL = f"{CONFIDENCE:.0%}"
#: Arms that the table of plays names; the others share a row.
ARMS = 20
#: Pairs that are shown without being asked for.
PAIRS = 15
#: How the best of a row are marked.
MARKS = (
    "Bold: the least of its row. ≈: not told apart from the least by paired differences whose "
    f"intervals hold together at {LEVEL}."
)
ABSENT = tag("td", "not run", class_="number absent")


def overview(studies: Sequence[Study], places: Sequence[str]) -> Html:
    """Studies by policies: mean regrets, the best marked and those not told apart from it."""
    if not studies:
        return Html("")
    names = names_of(studies)
    rows = [
        (
            tag("a", study.title, href=f"#{place}"),
            *(_mean(study, name) for name in names),
            str(int(study.results.rounds[-1])),
            str(study.trials),
        )
        for study, place in zip(studies, places, strict=True)
    ]
    caption = f"Mean regret after the last round. {MARKS}"
    return table(caption, ("study", *names, "rounds", "trials"), rows, class_="overview")


def sweep_overview(sweeps: Sequence[Sweep], places: Sequence[str]) -> Html:
    """Sweeps by policies: at how many values a policy is the best or not told apart from it."""
    if not sweeps:
        return Html("")
    names = names_of(study for sweep in sweeps for study in sweep.studies)
    rows = [
        (
            tag("a", sweep.title, href=f"#{place}"),
            tag("td", sweep.label or sweep.parameter),
            *(_count(sweep, name) for name in names),
        )
        for sweep, place in zip(sweeps, places, strict=True)
    ]
    caption = (
        "At how many values of the parameter a policy has the least mean regret, or is not told "
        f"apart from the least by paired differences whose intervals hold together at {LEVEL}."
    )
    return table(caption, ("sweep", "parameter", *names), rows, class_="overview sweeps")


def values(sweep: Sweep) -> Html:
    """The values of a parameter by policies: mean regrets with their standard errors."""
    names = names_of(sweep.studies)
    rows = [
        (
            study.title,
            *(_mean(study, name, with_error=True) for name in names),
            str(int(study.results.rounds[-1])),
            str(study.trials),
        )
        for study in sweep.studies
    ]
    caption = f"Mean regret after the last round ± its standard error. {MARKS}"
    head = (sweep.label or sweep.parameter, *names, "rounds", "trials")
    return table(caption, head, rows, class_="overview values")


def _count(sweep: Sweep, name: str) -> object:
    there = [study for study in sweep.studies if name in study.results.policies]
    if not there:
        return ABSENT
    return f"{sum(_standing(study, name) != '' for study in there)} of {len(there)}"


def _mean(study: Study, name: str, with_error: bool = False) -> object:
    if name not in study.results.policies:
        return ABSENT
    result = study.results[name]
    value = study.number(float(result.mean[-1]))
    if with_error and study.trials > 1:
        value += f" ± {study.number(float(result.standard_error[-1]))}"
    standing = _standing(study, name)
    if standing == "least":
        return tag("strong", value, tag("span", " least", class_="spoken"))
    if standing:
        near = tag("span", "≈ ", aria_hidden="true")
        return join((near, value, tag("span", f" {standing}", class_="spoken")))
    return value


def _standing(study: Study, name: str) -> str:
    """Whether a policy is the best of a study, or might be."""
    if name == study.results.ranking()[0]:
        return "least"
    near = verdict(study.from_best[name]) == "not told apart"
    return "not told apart from the least" if near else ""


def regrets(study: Study) -> Html:
    """The policies from best to worst."""
    rows = []
    for rank, name in enumerate(study.results.ranking(), start=1):
        result = study.results[name]
        quantiles = result.final_quantiles()
        more: tuple[object, ...] = ("", "", tag("td", "the least mean"))
        if name in study.from_best:
            d = study.from_best[name]
            ends = study.interval(d.low, d.high, "+")
            more = (study.number(d.mean, "+"), ends, tag("td", verdict(d)))
        rows.append(
            (
                name,
                str(rank),
                study.number(float(result.mean[-1])),
                study.interval(*study.results.interval(name, CONFIDENCE)),
                study.number(quantiles["0.5"]),
                study.number(quantiles["0.95"]),
                *more,
            )
        )
    head = (
        "policy",
        "rank",
        "mean",
        f"{LEVEL} interval",
        "median",
        f"{LEVEL} quantile",
        "from the best, paired",
        f"its {LEVEL} interval",
        "in words",
    )
    caption = (
        f"Regret after round {study.results.rounds[-1]} over {_trials(study)}. The interval "
        "of a mean holds by itself; the paired differences are taken trial by trial in the same "
        "worlds, and their intervals hold for all pairs of this study at once."
    )
    return table(caption, head, rows, words=(8,), class_="regrets")


def differences(study: Study) -> Html:
    """All pairs, in words."""
    if not study.pairs:
        return tag("p", "One policy: there is nothing to compare it with.")
    rows = [
        (
            d.first,
            verdict(d),
            label(d.second),
            study.number(d.mean, "+"),
            study.number(d.standard_error),
            study.interval(d.low, d.high, "+"),
        )
        for d in study.pairs
    ]
    head = ("policy", "in words", "other", "difference", "standard error", f"{LEVEL} interval")
    caption = (
        "Final regret of the policy minus that of the other, trial by trial. All these intervals "
        f"hold together at {LEVEL}; clearly better or worse: the interval excludes 0."
    )
    count = len(rows)
    summary = tag("summary", "all pairs" if count > 1 else "the one pair", f" ({count})")
    inside = table(caption, head, rows, words=(1, 2), class_="differences")
    return tag("details", summary, inside, open=count <= PAIRS)


def plays(study: Study) -> Html:
    """How often each arm was played, with bars; of many arms the most played."""
    results = study.results
    names = list(results.policies)
    counts = np.array([results[name].plays for name in names], dtype=np.float64)  # (P, K)
    shares = counts / counts.sum(axis=1, keepdims=True).clip(1.0)
    chosen = list(range(len(results.arms)))
    if len(results.arms) > ARMS:
        chosen = sorted(np.argsort(-shares.sum(axis=0), kind="stable")[:ARMS].tolist())
    largest = float(shares[:, chosen].max()) or 1.0
    rows: list[tuple[object, ...]] = [
        (results.arms[arm], *_bars(counts[:, arm] / study.trials, shares[:, arm] / largest))
        for arm in chosen
    ]
    if len(results.arms) > ARMS:
        rest = np.setdiff1d(np.arange(len(results.arms)), chosen)
        others = counts[:, rest].sum(axis=1) / study.trials
        rows.append((f"the other {len(rest)} arms", *(f"{value:.1f}" for value in others)))
    caption = (
        f"Plays of each arm per trial, of {results.rounds[-1]} rounds. The longest bar is the arm "
        "played most."
    )
    return table(caption, ("arm", *names), rows, class_="plays")


def _bars(values: Floats, lengths: Floats) -> list[Html]:
    return [
        tag("td", f"{value:.1f}", class_="number", style=f"--length: {length:.4f}")
        for value, length in zip(values.tolist(), lengths.tolist(), strict=True)
    ]


def _trials(study: Study) -> str:
    return "one trial" if study.trials == 1 else f"{study.trials} trials"
