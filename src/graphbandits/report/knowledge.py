"""Who may know what and when, and the settings: from the results, else from what is enrolled."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from graphbandits.registry import registered, summary_of
from graphbandits.report.markup import Html, join, table, tag
from graphbandits.report.study import Study, Sweep, names_of
from graphbandits.version import __version__

UNKNOWN = "not recorded"
#: Arms that a list names before it says how many more there are.
NAMED = 40
#: Characters of a setting that the page does not know by name.
SHOWN = 300

GRAPH = {"never": "never", "after": "after the play", "before": "before the decision"}
REGRET = {
    "pseudo": "pseudo-regret: the best arm's mean minus that of the arm played",
    "realised": "realised: the best arm's outcome minus that of the arm played",
}
#: What keeps to the setting are the statistics alpha, Delta and h.
ACCURACY = {
    "simulation": "simulation: statistics right to 1e-10 absolutely",
    "strict": "strict: statistics right to 1e-8 relatively",
}


def knowledge(entry: Study | Sweep) -> Html:
    """The table of what each policy is told."""
    recorded: dict[str, Mapping[str, Any]] = {}
    for study in parts(entry):
        told = study.results.settings.get("policies")
        for name, facts in told.items() if isinstance(told, Mapping) else ():
            if isinstance(facts, Mapping):
                recorded.setdefault(name, facts)
    names = names_of(parts(entry))
    notes = entry.notes_on_policies
    guessed = [name for name in names if name not in recorded]
    rows = [_row(name, recorded.get(name) or declared(name), notes.get(name)) for name in names]
    head = (
        "policy",
        "told the graph",
        "what the graph must be",
        "told the horizon",
        "probabilities of its play",
        "comes from",
        "what it is",
    )
    caption = (
        "What each policy is told. All of them know the prior, and see the outcome of the arm "
        "they play and of every arm that the graph then shows. The probabilities with which a "
        "policy plays the arms are exact, or it only draws an arm."
    )
    shown = table(caption, head, rows, words=range(len(head)), class_="wide")
    if not guessed:
        return shown
    who = f"of {', '.join(guessed)} " if len(guessed) < len(rows) else ""
    return join(
        (
            shown,
            tag(
                "p",
                f"These results do not record what their policies {who}were told: the table has "
                f"what a policy of the same name declares in graphbandits {__version__}.",
                class_="hint",
            ),
        )
    )


def parts(entry: Study | Sweep) -> list[Study]:
    """The studies of a sweep, or the one that it is."""
    return entry.studies if isinstance(entry, Sweep) else [entry]


def declared(name: str) -> dict[str, Any]:
    """What the class of that name declares, in the form in which results record it.

    >>> declared("ids-n")["needs"]["graph"], declared("unheard-of")
    ('before', {})
    """
    cls: Any = registered("policy").get(name.split("(")[0].strip())
    if cls is None:
        return {}
    return {
        "summary": summary_of(cls),
        "needs": asdict(cls.needs),
        "exact": cls.exact,
        "told": str(cls.needs),
    }


def settings(entry: Study | Sweep) -> Html:
    """Everything that the results say of how they came about; in a sweep what varies by value."""
    every = {study.title: _settings(study) for study in parts(entry)}
    names = dict.fromkeys(name for described in every.values() for name in described)
    rows = []
    for name in names:
        said = {value: described.get(name, UNKNOWN) for value, described in every.items()}
        if len(set(said.values())) == 1:
            content: object = next(iter(said.values()))
        else:
            content = join(tag("p", f"{value}: {text}") for value, text in said.items())
        rows.append(tag("div", tag("dt", name), tag("dd", content)))
    return tag("dl", *rows)


def _settings(study: Study) -> dict[str, str]:
    left = dict(study.results.settings)
    left.pop("policies", None)
    arms = study.results.arms
    left.pop("arms", None)
    runs, seed = left.pop("runs", None), left.pop("seed", None)
    joined = isinstance(runs, Sequence) and len(runs) > 1
    if seed is None and joined:
        seed = "several: see the joined runs"
    entries: list[tuple[str, str]] = [
        ("graph", _plain(left.pop("graph", UNKNOWN))),
        ("arms", f"{len(arms)}: {_list(arms)}"),
        ("prior", _prior(left.pop("prior", None), arms)),
        ("horizon", f"{_plain(left.pop('horizon', int(study.results.rounds[-1])))} rounds"),
        ("trials", _plain(left.pop("trials", study.trials))),
        ("seed", _plain(UNKNOWN if seed is None else seed)),
    ]
    regret = _plain(left.pop("regret", UNKNOWN))
    entries.append(("regret", REGRET.get(regret, regret)))
    if "accuracy" in left:
        accuracy = _plain(left.pop("accuracy"))
        entries.append(("accuracy", ACCURACY.get(accuracy, accuracy)))
    if joined:
        entries.append(("joined runs", "; ".join(_run(run) for run in runs)))
    versions = left.pop("versions", None)
    before = left.pop("version", UNKNOWN)
    if not isinstance(versions, Mapping):
        versions = {"graphbandits": before}
    entries.append(("versions", ", ".join(f"{k} {_plain(v)}" for k, v in versions.items())))
    entries += [(key, _plain(value)) for key, value in left.items()]
    return dict(entries)


def _row(name: str, facts: Mapping[str, Any], note: str | None) -> tuple[object, ...]:
    needs = facts.get("needs")
    needs = needs if isinstance(needs, Mapping) else {}
    when = needs.get("graph")
    return (
        name,
        GRAPH.get(str(when), facts.get("told") or UNKNOWN),
        _graph(needs),
        _yes(needs.get("horizon")),
        {"yes": "exact", "no": "not known, a draw"}.get(_yes(facts.get("exact")), UNKNOWN),
        _origin(facts),
        join((facts.get("summary") or UNKNOWN, tag("p", f"Note: {note}") if note else "")),
    )


def _graph(needs: Mapping[str, Any]) -> str:
    """What a policy asks of the graph; before 0.4 none asked that it stays the same.

    >>> _graph({"deterministic": True, "fixed": True}), _graph({"deterministic": False})
    ('0/1, the same in every round', 'anything')
    """
    if not isinstance(needs.get("deterministic"), bool):
        return UNKNOWN
    asked = ["0/1"] * needs["deterministic"]
    asked += ["the same in every round"] * (needs.get("fixed") is True)
    return ", ".join(asked) or "anything"


def _origin(facts: Mapping[str, Any]) -> object:
    if "plugin" not in facts:
        return UNKNOWN
    if facts["plugin"] is None:
        return "graphbandits"
    source = facts.get("source")
    digest = tag("code", f"sha256 {str(source)[:12]}", title=source) if source else ""
    return join(("the file ", tag("code", facts["plugin"]), " ", digest))


def _yes(value: object) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else UNKNOWN


def _list(names: Sequence[object]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(str(name) for name in names[:NAMED]) + more


def _prior(prior: object, arms: Sequence[str]) -> str:
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
