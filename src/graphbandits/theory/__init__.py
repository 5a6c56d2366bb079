"""What is promised: the information ratio, on which the regret bounds rest."""

from graphbandits.theory.ratio import information_ratio

__all__ = ["information_ratio"]
