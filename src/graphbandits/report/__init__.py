"""One HTML page about simulations and sweeps: curves, tables, settings, commands."""

from graphbandits.report.entries import Entry, SimulationEntry, SweepEntry
from graphbandits.report.page import report_html, summary_of, write_report

__all__ = ["Entry", "SimulationEntry", "SweepEntry", "report_html", "summary_of", "write_report"]
