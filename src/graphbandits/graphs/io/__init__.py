"""Readers: graphs from files, matrices, data frames, NetworkX and texts.

Every reader of edges ends in :mod:`~graphbandits.graphs.io.edges`, which numbers the arms, checks
probabilities, self-loops and repeated edges, and builds the graph.
"""

from graphbandits.graphs.io.csv_files import from_csv
from graphbandits.graphs.io.edge_lists import from_edge_list
from graphbandits.graphs.io.edge_texts import edges_text
from graphbandits.graphs.io.frames import from_frame
from graphbandits.graphs.io.graphml import from_graphml
from graphbandits.graphs.io.load import load_graph
from graphbandits.graphs.io.matrices import from_matrix, from_npy, from_sparse
from graphbandits.graphs.io.networks import from_networkx, to_networkx

__all__ = [
    "edges_text",
    "from_csv",
    "from_edge_list",
    "from_frame",
    "from_graphml",
    "from_matrix",
    "from_networkx",
    "from_npy",
    "from_sparse",
    "load_graph",
    "to_networkx",
]
