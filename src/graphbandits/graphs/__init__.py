"""Who is observed: one-round feedback, graph processes, named graphs and loaders."""

from graphbandits.graphs.feedback import Dense, Feedback, Sparse, Uniform
from graphbandits.graphs.invariants import (
    Bracket,
    clique_cover,
    domination,
    fractional_domination,
    independence,
)
from graphbandits.graphs.io import (
    edges_text,
    from_csv,
    from_edge_list,
    from_frame,
    from_graphml,
    from_matrix,
    from_networkx,
    from_npy,
    from_sparse,
    load_graph,
    to_networkx,
)
from graphbandits.graphs.loaders import GraphLike, as_process, make_process
from graphbandits.graphs.processes import (
    Fixed,
    GivenSequence,
    Process,
    RandomFeedback,
    RevealedErdosRenyi,
)

__all__ = [
    "Bracket",
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
    "clique_cover",
    "domination",
    "edges_text",
    "fractional_domination",
    "from_csv",
    "from_edge_list",
    "from_frame",
    "from_graphml",
    "from_matrix",
    "from_networkx",
    "from_npy",
    "from_sparse",
    "independence",
    "load_graph",
    "make_process",
    "to_networkx",
]
