"""``make bench``: how fast and how right decisions are, and how far from what the machine can do.

Comparisons are ratios within one run, measured in turns; times are CPU seconds and the least of
several passes. All figures go to benchmarks/results.json as well.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any

import against_baseline
import different
import every_policy
import inside
import invariants
import keeping
import live_agents
import long_run
import machine
import many_arms
import one_round
import regression
import reward_models
import service
import start
import strict
import workers
from display import Table
from document import FORMAT, merge_results, read_results, write_document, write_results
from rich.console import Console
from settings import Settings

from graphbandits.engine.plan import versions
from graphbandits.errors import GraphBanditsError, InputError, check_integer

#: In the order in which they run: the machine looks at what the sections before it reached.
SECTIONS: dict[str, ModuleType] = {
    "baseline": against_baseline,
    "strict": strict,
    "round": one_round,
    "inside": inside,
    "policies": every_policy,
    "models": reward_models,
    "many-arms": many_arms,
    "different": different,
    "machine": machine,
    "long-run": long_run,
    "workers": workers,
    "stores": keeping,
    "live-agents": live_agents,
    "service": service,
    "start": start,
    "invariants": invariants,
}
ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results.json"
DOCUMENT = ROOT / "docs" / "performance.md"
LONG_ROUNDS = 1_000_000


def run(settings: Settings, sections: list[str], console: Console) -> dict[str, Any]:
    """Measure the sections, show their tables, and give all figures."""
    start = time.perf_counter()
    measured: dict[str, Any] = {}
    for name in sections:
        console.print(f"[dim]measuring {name} ...[/dim]")
        measured[name] = SECTIONS[name].measure(settings, measured)
        for table in SECTIONS[name].tables(measured[name]):
            table.show(console)
    record = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": time.perf_counter() - start,
        "cpu": {"model": machine.cpu_model(), "cores": machine.cores()},
        "versions": versions(),
        "settings": asdict(settings),
        "sections": sections,
    }
    return {"format": FORMAT, "runs": [record], "sections": measured}


def tables_of(results: dict[str, Any]) -> dict[str, list[Table]]:
    """Tables of each section."""
    return {name: SECTIONS[name].tables(section) for name, section in results["sections"].items()}


def contents(results: dict[str, Any]) -> dict[str, str]:
    """Texts between the markers of the document: the runs, and the tables of each section."""
    pages = {
        name: "\n".join(table.markdown() for table in own)
        for name, own in tables_of(results).items()
    }
    return {"run": "\n".join(map(_provenance, results["runs"])), **pages}


def _provenance(run: dict[str, Any]) -> str:
    """A line of Markdown: which sections a run measured, when, where and with which versions."""
    cpu, known = run["cpu"], run["versions"]
    spent = f" in {run['seconds'] / 60:.1f} minutes" if "seconds" in run else ""
    others = [f"{name} {known[name]}" for name in known if name not in ("graphbandits", "machine")]
    return (
        f"- **graphbandits {known['graphbandits']}**, {run['date'][:10]}{spent}, "
        f"{cpu['cores']} cores of {cpu['model']}, {known['machine']}, "
        + "".join(f"{other}, " for other in others)
        + f"seed {run['settings']['seed']}. Sections: {', '.join(run['sections'])}."
    )


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--quick", action="store_true", help="about a minute: smaller sizes, rougher times")
    add("--only", nargs="+", choices=SECTIONS, metavar="NAME", help=f"of {', '.join(SECTIONS)}")
    add("--arms", type=int, nargs="+", help="numbers of arms of the section baseline")
    add("--seconds", type=float, help="CPU time for each cell that is timed")
    add("--long", action="store_true", help=f"{LONG_ROUNDS} rounds in the section long-run")
    add(
        "--compare",
        action="store_true",
        help="compare the ratios with the stored ones instead of storing them; exit 1 if one is "
        f"{regression.THRESHOLD:g} times worse",
    )
    add("--output", type=Path, default=RESULTS, help="where the figures go")
    add("--write-docs", action="store_true", help="only fill docs/performance.md from the figures")
    add("--document", type=Path, default=DOCUMENT, help="another document to fill")
    return parser.parse_args()


def main() -> None:
    given = options()
    if given.write_docs:
        write_document(given.document, contents(read_results(given.output)))
        return
    settings = Settings.quick() if given.quick else Settings()
    if given.arms:
        arms = tuple(check_integer(count, "--arms", least=2) for count in given.arms)
        settings = replace(settings, arms=arms)
    if given.seconds is not None:
        if not given.seconds > 0.0:
            raise InputError(f"--seconds is a time above 0, not {given.seconds:g}")
        settings = replace(settings, seconds=given.seconds)
    if given.long:
        settings = replace(settings, long_rounds=LONG_ROUNDS)
    wanted = [name for name in SECTIONS if not given.only or name in given.only]
    if given.compare:
        stored = tables_of(read_results(given.output))
        wanted = [name for name in wanted if name in regression.MORE_IS_BETTER]
        found = regression.compare(stored, tables_of(run(settings, wanted, Console())))
        regression.table_of(found).show(Console())
        sys.exit(1 if any(one.is_regression for one in found) else 0)
    results = run(settings, wanted, Console())
    if given.only and given.output.exists():
        results = merge_results(read_results(given.output), results)
    write_results(given.output, results)
    print(f"All figures: {given.output}")


if __name__ == "__main__":
    try:
        main()
    except GraphBanditsError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
