"""What is promised: bounds of regret and information ratios, and an audit that checks them."""

from graphbandits.gains import information_ratio
from graphbandits.theory.audit import Audit, audit
from graphbandits.theory.limits import ratio_limit
from graphbandits.theory.violations import Violation

__all__ = ["Audit", "Violation", "audit", "information_ratio", "ratio_limit"]
