"""Names of helpers.bad_input under which tests still use them."""

from helpers.bad_input import check_refusal as check_message
from helpers.bad_input import refuses as raises_pinned

__all__ = ["check_message", "raises_pinned"]
