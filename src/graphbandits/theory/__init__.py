"""What is promised: the information ratio, on which the regret bounds rest."""

from graphbandits.gains import information_ratio
from graphbandits.theory.limits import ratio_limit

__all__ = ["information_ratio", "ratio_limit"]
