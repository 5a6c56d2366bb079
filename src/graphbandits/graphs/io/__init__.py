"""Readers: graphs from files, matrices, data frames, NetworkX and texts.

All readers of edges use :mod:`~graphbandits.graphs.io._edge_builder`, which numbers the arms,
checks probabilities, self-loops and repeated edges, and builds the graph.
"""
