"""Feedback graphs: one-round feedback, graph processes, named graphs, readers and graph numbers."""

from graphbandits.graphs.edges import edges_text
from graphbandits.graphs.feedback import DenseFeedback, Feedback, SparseFeedback, UniformFeedback
from graphbandits.graphs.loaders import GraphLike, as_process, load_graph, make_process
from graphbandits.graphs.numbers import (
    Bracket,
    GraphNumbers,
    clique_cover,
    domination,
    fractional_domination,
    graph_numbers,
    independence,
)
from graphbandits.graphs.processes import (
    Fixed,
    GivenSequence,
    Process,
    RandomFeedback,
    RevealedErdosRenyi,
)
from graphbandits.graphs.properties import GraphInfo
from graphbandits.graphs.readers import (
    from_csv,
    from_edge_list,
    from_frame,
    from_graphml,
    from_matrix,
    from_networkx,
    from_npy,
    from_sparse,
    to_networkx,
)

__all__ = [
    "Bracket",
    "DenseFeedback",
    "Feedback",
    "Fixed",
    "GivenSequence",
    "GraphInfo",
    "GraphLike",
    "GraphNumbers",
    "Process",
    "RandomFeedback",
    "RevealedErdosRenyi",
    "SparseFeedback",
    "UniformFeedback",
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
    "graph_numbers",
    "independence",
    "load_graph",
    "make_process",
    "to_networkx",
]
