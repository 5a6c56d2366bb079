"""Feedback graphs: one-round feedback, graph processes, named graphs, readers and invariants."""

from graphbandits.graphs.feedback import DenseFeedback, Feedback, SparseFeedback, UniformFeedback
from graphbandits.graphs.graph_info import GraphInfo
from graphbandits.graphs.invariants import (
    Bracket,
    GraphNumbers,
    clique_cover,
    domination,
    fractional_domination,
    graph_numbers,
    independence,
)
from graphbandits.graphs.io.edge_lists import edges_text, from_edge_list
from graphbandits.graphs.io.edge_tables import from_csv, from_frame
from graphbandits.graphs.io.matrices import from_matrix, from_npy, from_sparse
from graphbandits.graphs.io.networks import from_graphml, from_networkx, to_networkx
from graphbandits.graphs.loaders import GraphLike, as_process, load_graph, make_process
from graphbandits.graphs.processes import (
    Fixed,
    GivenSequence,
    Process,
    RandomFeedback,
    RevealedErdosRenyi,
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
