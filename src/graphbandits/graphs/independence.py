"""The independence number, as far as policies need it to set their steps."""

from __future__ import annotations

import numpy as np

from graphbandits.errors import InputError
from graphbandits.graphs.feedback import Feedback
from graphbandits.graphs.independence_kernels import independence_kernel

#: Up to so many arms it is computed exactly.
EXACT = 40


def independence_number(feedback: Feedback) -> int:
    """The size of the largest set of arms no two of which have an edge, in either direction.

    Exact, for at most 40 arms and a 0/1 graph that all trials share.

    >>> from graphbandits.graphs import as_process
    >>> independence_number(as_process("paper").feedback)
    2
    """
    if feedback.arms > EXACT or not feedback.deterministic or not feedback.shared:
        raise InputError(
            f"the independence number is computed for one graph of at most {EXACT} arms with "
            f"entries 0 and 1; this one has {feedback.arms} arms"
        )
    return int(independence_kernel(feedback.reach(np.arange(feedback.arms))))
