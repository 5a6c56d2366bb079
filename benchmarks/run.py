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
import every_policy
import inside
import invariants
import keeping
import long_run
import machine
import many_arms
import one_round
import strict
import workers
from display import Table
from document import FORMAT, read_results, write_document, write_results
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
    "many-arms": many_arms,
    "machine": machine,
    "long-run": long_run,
    "workers": workers,
    "stores": keeping,
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
    return {
        "format": FORMAT,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "seed": settings.seed,
        "cpu": {"model": machine.cpu_model(), "cores": machine.cores()},
        "versions": versions(),
        "settings": asdict(settings),
        "seconds": time.perf_counter() - start,
        "sections": measured,
    }


def contents(results: dict[str, Any]) -> dict[str, str]:
    """What goes between the markers of the document: the run, and the tables of each section."""
    cpu, known = results["cpu"], results["versions"]
    about = (
        f"Measured on {results['date'][:10]} in {results['seconds'] / 60:.1f} minutes on "
        f"{cpu['cores']} cores of {cpu['model']}, seed {results['seed']}: "
        + ", ".join(f"{name} {version}" for name, version in known.items() if name != "machine")
        + f"; {known['machine']}."
    )
    tables: dict[str, list[Table]] = {
        name: SECTIONS[name].tables(section) for name, section in results["sections"].items()
    }
    pages = {name: "\n".join(table.markdown() for table in own) for name, own in tables.items()}
    return {"run": about, **pages}


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--quick", action="store_true", help="about a minute: smaller sizes, rougher times")
    add("--only", nargs="+", choices=SECTIONS, metavar="NAME", help=f"of {', '.join(SECTIONS)}")
    add("--arms", type=int, nargs="+", help="numbers of arms of the section baseline")
    add("--seconds", type=float, help="CPU time for each cell that is timed")
    add("--long", action="store_true", help=f"{LONG_ROUNDS} rounds in the section long-run")
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
    results = run(settings, wanted, Console())
    write_results(given.output, results)
    print(f"All figures: {given.output}")


if __name__ == "__main__":
    try:
        main()
    except GraphBanditsError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
