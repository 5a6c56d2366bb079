"""Counts of agents in the text format of Prometheus."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from graphbandits._version import __version__

#: Metrics: key of the status, name, kind and description.
_METRICS = (
    ("decisions", "decisions_total", "counter", "Decisions that were made."),
    ("open", "open_decisions", "gauge", "Decisions that are open."),
    ("expired", "expired_decisions_total", "counter", "Decisions that have expired."),
    ("outcomes", "outcomes_total", "counter", "Outcomes of decisions that were learned."),
    ("learned", "learned_total", "counter", "Outcomes without a decision that were learned."),
    ("late", "late_outcomes_total", "counter", "Outcomes that came too late to be learned."),
    ("arms", "arms", "gauge", "Arms, with paused and retired ones."),
    ("entries", "journal_entries_total", "counter", "Entries of the journal."),
)


def prometheus_text(
    agents: Iterable[Mapping[str, Any]], failed: Iterable[Mapping[str, Any]] = ()
) -> str:
    """Return the counts of agents. They come from the store: all processes give the same.

    >>> status = dict.fromkeys(("decisions", "open", "expired", "outcomes"), 3)
    >>> status |= dict.fromkeys(("learned", "late", "arms", "entries"), 0) | {"name": 'a"b'}
    >>> prometheus_text([status]).splitlines()[8]
    'graphbandits_decisions_total{agent="a\\\\"b"} 3'
    """
    rows = list(agents)
    loaded = [(row["name"], 1) for row in rows] + [(row["name"], 0) for row in failed]
    lines = [
        "# HELP graphbandits_info Version of the service.",
        "# TYPE graphbandits_info gauge",
        f'graphbandits_info{{version="{__version__}"}} 1',
    ]
    lines += [
        "# HELP graphbandits_agent_up Whether the agent can be loaded.",
        "# TYPE graphbandits_agent_up gauge",
        *(f'graphbandits_agent_up{{agent="{_escaped(name)}"}} {up}' for name, up in loaded),
    ]
    for key, name, kind, description in _METRICS:
        full = f"graphbandits_{name}"
        lines += [f"# HELP {full} {description}", f"# TYPE {full} {kind}"]
        lines += [f'{full}{{agent="{_escaped(row["name"])}"}} {row[key]}' for row in rows]
    return "\n".join(lines) + "\n"


def _escaped(name: str) -> str:
    return name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
