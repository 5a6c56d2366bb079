"""What was claimed and what was published, beside what came out."""

from __future__ import annotations

import math
from collections.abc import Sequence

from graphbandits.report.markup import Html, join, label, table, tag
from graphbandits.report.study import CONFIDENCE, Study, verdict
from graphbandits.results import Comparison, Difference, Judgement
from graphbandits.results.published import NEAR

LEVEL = f"{CONFIDENCE:.0%}"
#: Pairs of a claim that are shown without being asked for; of more, the decisive one.
PAIRS = 3


def claims(study: Study) -> Html:
    """Each claim in words, its verdict, and the differences behind it; empty without claims."""
    if not study.judgements:
        return Html("")
    intervals = tag(
        "p",
        f"A claim holds if each policy that it says to be better has less regret than each of the "
        f"others: all paired differences, with intervals that hold together at {LEVEL} for all "
        "pairs of the claim, lie below 0. It fails if one interval lies above 0. Otherwise these "
        "trials do not tell.",
        class_="hint",
    )
    return join((intervals, *(_claim(study, judged) for judged in study.judgements)), "\n")


def all_claims(studies: Sequence[Study], places: Sequence[str]) -> Html:
    """One table of the claims of all studies with their verdicts; empty without claims."""
    rows = []
    for study, place in zip(studies, places, strict=True):
        for judged in study.judgements:
            d = judged.decisive
            pair = label(f"{d.first} − {d.second}")  # noqa: RUF001
            found = f"{study.number(d.mean, '+')} {study.interval(d.low, d.high, '+')}"
            link = label(tag("a", study.key, href=f"#{place}--claims"))
            rows.append((judged.claim.text, badge(judged.verdict), link, pair, found))
    if not rows:
        return Html("")
    head = ("claim", "verdict", "study", "decisive pair", f"its difference [{LEVEL} interval]")
    caption = (
        "What was claimed, and whether it holds here. The decisive pair is the one that speaks "
        "most against the claim."
    )
    return table(caption, head, rows, words=(1, 2, 3), class_="claims")


def published(study: Study) -> Html:
    """Published regrets and ours, side by side; empty where none were published."""
    if study.published is None:
        return Html("")
    rows = [
        (
            c.policy,
            study.number(c.mean),
            study.number(c.standard_error),
            study.number(c.published_mean),
            study.number(c.published_error),
            "unknown" if math.isnan(c.distance) else f"{c.distance:+.1f}",
            _nearness(c),
        )
        for c in study.comparisons
    ]
    head = (
        "policy",
        "mean here",
        "standard error",
        "published mean",
        "standard error",
        "difference in standard errors",
        "in words",
    )
    caption = (
        f"Mean final regret here, and as published: {study.published.source}. The difference, here "
        "minus published, is in standard errors of it: both errors together."
    )
    near = sum(c.within for c in study.comparisons)
    count = len(study.comparisons)
    said = tag("p", f"Within {NEAR:g} standard errors: {near} of {count}.")
    return join((said, table(caption, head, rows, words=(6,), class_="published")))


def _claim(study: Study, judged: Judgement) -> Html:
    claim = judged.claim
    source = tag("span", f"({claim.source})", class_="source") if claim.source else ""
    said = tag("p", badge(judged.verdict), " ", claim.text, " ", source)
    shown, rest = judged.differences, []
    if len(shown) > PAIRS:
        shown = [judged.decisive]
        rest = [d for d in judged.differences if d is not judged.decisive]
    parts = [said, tag("p", _reason(judged), class_="hint"), _pairs(study, shown)]
    if rest:
        parts.append(
            tag(
                "details",
                tag("summary", f"the other {len(rest)} pairs"),
                _pairs(study, rest),
            )
        )
    return tag("div", *parts, class_="claim")


def _reason(judged: Judgement) -> str:
    """Why the verdict is what it is."""
    count = len(judged.differences)
    above = sum(d.low > 0.0 for d in judged.differences)
    open_ = sum(d.low <= 0.0 <= d.high for d in judged.differences)
    if judged.verdict == "unknown":
        return "One trial has no intervals."
    if judged.verdict == "holds":
        return "The interval lies below 0." if count == 1 else f"All {count} intervals lie below 0."
    if judged.verdict == "fails":
        if count == 1:
            return "The interval lies above 0."
        return f"{above} of {count} intervals {'lies' if above == 1 else 'lie'} above 0."
    if count == 1:
        return "The interval contains 0."
    return f"{open_} of {count} intervals {'contains' if open_ == 1 else 'contain'} 0."


def _pairs(study: Study, differences: Sequence[Difference]) -> Html:
    rows = [
        (
            d.first,
            label(d.second),
            study.number(d.mean, "+"),
            study.number(d.standard_error),
            study.interval(d.low, d.high, "+"),
            verdict(d),
        )
        for d in differences
    ]
    head = ("said to be better", "than", "difference", "standard error", f"{LEVEL} interval")
    caption = "Final regret of the first minus that of the second, trial by trial."
    return table(caption, (*head, "in words"), rows, words=(1, 5), class_="pairs")


def badge(words: str, kind: str | None = None) -> Html:
    """A verdict in a frame, in the colour of its kind if that has another name."""
    return tag("strong", words, class_=f"verdict {(kind or words).replace(' ', '-')}")


def _nearness(comparison: Comparison) -> str:
    if math.isnan(comparison.distance):
        return "unknown from one trial"
    return f"within {NEAR:g}" if comparison.within else f"more than {NEAR:g} apart"
