"""Decision rules: pure functions (alpha, delta, h, gain) -> pi, one module each.

A rule takes the vector of gains (G h, or another one) and no graph, so it scales to a million
arms. All arrays have the shape (B, K), one row per trial.
"""

from graphbandits.rules.ids_lp import ids_lp
from graphbandits.rules.ids_n import ids_n
from graphbandits.rules.idsn_lp import idsn_lp
from graphbandits.rules.ts_n import ts_n

__all__ = ["ids_lp", "ids_n", "idsn_lp", "ts_n"]
