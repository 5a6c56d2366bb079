"""Who is observed: one-round feedback, graph processes, named graphs and loaders."""

from graphbandits.graphs.feedback import Dense, Feedback, Sparse, Uniform
from graphbandits.graphs.loaders import (
    GraphLike,
    as_process,
    from_edge_list,
    from_matrix,
    from_networkx,
    make_process,
)
from graphbandits.graphs.processes import (
    Fixed,
    GivenSequence,
    Process,
    RandomFeedback,
    RevealedErdosRenyi,
)

__all__ = [
    "Dense",
    "Feedback",
    "Fixed",
    "GivenSequence",
    "GraphLike",
    "Process",
    "RandomFeedback",
    "RevealedErdosRenyi",
    "Sparse",
    "Uniform",
    "as_process",
    "from_edge_list",
    "from_matrix",
    "from_networkx",
    "make_process",
]
