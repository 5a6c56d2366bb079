"""What to play: pure functions (alpha, delta, h, gain) -> pi, one file each.

A rule sees the gain vector (G h, or any other), never a graph: the number of arms may be a
million. All arrays are (B, K), one row a trial.
"""

from graphbandits.rules.ids_lp import ids_lp
from graphbandits.rules.ids_n import ids_n
from graphbandits.rules.idsn_lp import idsn_lp
from graphbandits.rules.ts_n import ts_n

__all__ = ["ids_lp", "ids_n", "idsn_lp", "ts_n"]
