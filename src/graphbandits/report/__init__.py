"""One HTML page about simulations and sweeps: curves, tables, settings, commands."""

from graphbandits.report.entries import SimulationEntry, SweepEntry
from graphbandits.report.page import report_html, write_report
from graphbandits.report.stored import bounds_at, entries_of, missing_of, studies_of
from graphbandits.report.summary import summary_of

__all__ = [
    "SimulationEntry",
    "SweepEntry",
    "bounds_at",
    "entries_of",
    "missing_of",
    "report_html",
    "studies_of",
    "summary_of",
    "write_report",
]
