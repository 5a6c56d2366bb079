"""Print the tables of docs/performance.md: ``make bench`` (fifteen minutes, on an idle machine).

Candidates of a comparison take turns in one run, so that ratios hold on other machines too.
"""

from __future__ import annotations

import argparse
import importlib
import platform
import time
from datetime import UTC, datetime
from importlib.metadata import version
from os import cpu_count
from pathlib import Path

#: Module and function of each section. They are imported when they run.
SECTIONS = {
    "numpy": "decisions.against_numpy",
    "strict": "decisions.strict",
    "arms": "decisions.many_arms",
    "different": "decisions.different",
    "policies": "policies.every_policy",
    "models": "policies.every_model",
    "workers": "policies.workers",
    "agents": "agents.calls",
    "writers": "agents.writers",
    "journal": "agents.journal",
    "service": "service.latency",
    "start": "agents.start",
    "numbers": "graphs.numbers",
    "readers": "graphs.readers",
}
#: Measurements of statistical properties, which other pages quote. They run only by name.
CALIBRATION = {
    "evaluation": "calibration.evaluation",
    "variance": "calibration.variance",
    "health": "calibration.health",
    "late-answers": "calibration.late_answers",
    "intervals": "calibration.intervals",
}


def main() -> None:
    known = SECTIONS | CALIBRATION
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = f"default: {', '.join(SECTIONS)}; also: {', '.join(CALIBRATION)}"
    parser.add_argument("names", nargs="*", metavar="NAME", help=names)
    parser.add_argument("--quick", action="store_true", help="small sizes and rough times")
    given = parser.parse_args()
    if unknown := sorted(set(given.names) - set(known)):
        parser.error(f"unknown section {unknown[0]}; the sections are {', '.join(known)}")
    versions = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "numba"))
    print(
        f"graphbandits {version('graphbandits')}, {datetime.now(UTC):%Y-%m-%d}, {cpu_count()} "
        f"cores of {cpu_model()}, {platform.system()}, Python {platform.python_version()}, "
        f"{versions}.\n"
    )
    start = time.perf_counter()
    for name in given.names or SECTIONS:
        module, function = known[name].split(".")
        getattr(importlib.import_module(module), function)(given.quick)
    print(f"All in {(time.perf_counter() - start) / 60:.1f} minutes.")


def cpu_model() -> str:
    path = Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


if __name__ == "__main__":
    main()
