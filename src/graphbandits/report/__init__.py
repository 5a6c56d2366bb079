"""One HTML page about studies: curves to explore, tables, who knew what, how to run it again."""

from graphbandits.report.page import report_html, write_report
from graphbandits.report.study import Study, Sweep
from graphbandits.report.summary import summary_of

__all__ = [
    "Study",
    "Sweep",
    "report_html",
    "summary_of",
    "write_report",
]

SimulationEntry = Study
SweepEntry = Sweep
