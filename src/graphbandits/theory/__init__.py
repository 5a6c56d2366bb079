"""What is promised: the information ratio, on which the regret bounds rest."""

from graphbandits.theory.limits import ratio_limit
from graphbandits.theory.ratio import information_ratio

__all__ = ["information_ratio", "ratio_limit"]
