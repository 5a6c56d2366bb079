"""Bounds on the expected regret, beside the regrets found."""

from __future__ import annotations

from graphbandits.report.claims import LEVEL, badge
from graphbandits.report.markup import Html, join, label, table, tag
from graphbandits.report.study import Study
from graphbandits.theory.bounds import Bound
from graphbandits.theory.regret import FIXED_MEANS, BoundVerdict

#: The badges of the verdicts, by the colours of claims.
COLOURS = {"below": "holds", "above": "fails"}


def bounds(study: Study) -> Html:
    """Each bound with its formula, and beside the mean of each policy that it is for."""
    if not study.kept_bounds:
        if study.results.settings.get("means") is None:
            return Html("")
        return tag("p", f"There are none: {FIXED_MEANS}.", class_="hint")
    rows = [_row(study, judged) for judged in study.kept_bounds]
    head = ("bound", "formula", "policy", "its value", "mean here", f"{LEVEL} interval", "mean is")
    caption = (
        f"What is proved of the expected regret after round {study.results.rounds[-1]}, averaged "
        "over arms drawn from the prior, and the mean found here. H is the entropy of which arm "
        "is best under the prior, K the number of arms, T the rounds, chi the clique cover number. "
        "Below: the whole interval of the mean is at most the bound; above: all of it is more, "
        "which would speak against the proof or the program."
    )
    shown = table(caption, head, rows, words=(1, 2, 6), class_="bounds")
    return join((shown, *_sources(study)), "\n")


def _row(study: Study, judged: BoundVerdict) -> tuple[object, ...]:
    bound = judged.bound
    value = study.number(bound.final)
    if not bound.exact:
        value += f" ± {study.number(bound.final_error)}"
    return (
        bound.name,
        tag("code", bound.formula),
        label(judged.policy),
        value,
        study.number(judged.mean),
        study.interval(judged.low, judged.high),
        badge(judged.verdict, COLOURS.get(judged.verdict)),
    )


def _sources(study: Study) -> list[Html]:
    """Where the bounds are from, and what is to be said of them."""
    listed: dict[str, list[str]] = {}
    for bound in _listed(study):
        listed.setdefault(bound.source, []).append(bound.name)
    lines = [f"{', '.join(names)}: {source}." for source, names in listed.items()]
    lines += [f"{bound.name}: {bound.note}" for bound in _listed(study) if bound.note]
    if any(not bound.exact for bound in _listed(study)):
        lines.append("±: the standard error of a bound that is estimated.")
    return [tag("p", line, class_="hint") for line in lines]


def _listed(study: Study) -> list[Bound]:
    """The bounds of the table, each once."""
    return list(dict.fromkeys(judged.bound for judged in study.kept_bounds))
