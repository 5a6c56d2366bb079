"""What is promised: information ratios and the bounds that follow from them."""

from graphbandits.theory.ratio import information_ratio

__all__ = ["information_ratio"]
