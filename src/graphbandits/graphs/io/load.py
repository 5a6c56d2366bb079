"""Graphs from files of any format, and ``file(path=...)``, their text form."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from graphbandits.errors import InputError, yes_or_no
from graphbandits.graphs.io.edge_lists import from_edge_list
from graphbandits.graphs.io.files import GraphFile
from graphbandits.graphs.io.graphml import from_graphml
from graphbandits.graphs.io.matrices import from_npy
from graphbandits.graphs.io.tables import from_csv
from graphbandits.graphs.processes import Fixed, Process
from graphbandits.registry import register

_USUAL = {"directed": None, "source": None, "target": None, "probability": "auto", "label": None}


def load_graph(
    path: str | os.PathLike[str],
    *,
    directed: bool | None = None,
    source: str | None = None,
    target: str | None = None,
    probability: str | None = "auto",
    label: str | None = None,
) -> Fixed:
    r"""A fixed graph from a file, by its ending and its first bytes.

    ``.csv`` and ``.tsv`` are tables (:func:`from_csv`), ``.npy`` is a matrix, and so is a ``.npz``
    of scipy (:func:`from_npy`), ``.graphml`` and anything that begins as XML is GraphML
    (:func:`from_graphml`), and any other text is a list of edges (:func:`from_edge_list`). The
    options are those of these functions; one that the file has no use for is refused. Blanks around
    a name do not count, and ``~`` is the home directory.

    Only regular files are read. Each may be compressed with gz; what unpacks to more than 1 GiB
    (``graphbandits.files.MOST_UNPACKED``) is refused.

    >>> import numpy as np
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "edges.csv")
    ...     written = path.write_text("source,target,weight\nann,bob,0.5\n")
    ...     load_graph(path, probability=None, directed=False).feedback.reach(np.arange(2))
    array([[1., 1.],
           [1., 1.]])
    """
    file = GraphFile.read(path)
    options = {"directed": directed, "source": source, "target": target}
    options |= {"probability": probability, "label": label}
    given = {name: value for name, value in options.items() if value != _USUAL[name]}
    kind, reader, allowed = _reader(file)
    for option in (name for name in given if name not in allowed):
        has = f"it takes {', '.join(allowed)}" if allowed else "it takes no options"
        raise InputError(f"{file.path} is {kind}, which takes no {option}=: {has}")
    try:
        return reader(file, **given)
    except MemoryError:
        raise InputError(f"{file.path}: the graph does not fit into memory") from None


def _reader(file: GraphFile) -> tuple[str, Callable[..., Fixed], tuple[str, ...]]:
    """Return the kind of a file, the function that reads it, and the options that it takes."""
    archive = file.data.startswith(b"PK\x03\x04")
    if archive and file.ending != ".npz":  # no graph, whatever the options
        return "an archive", lambda file, **options: from_npy(file), tuple(_USUAL)
    if archive or file.ending in (".npy", ".npz") or file.data.startswith(b"\x93NUMPY"):
        return "a matrix", from_npy, ()
    if file.ending == ".graphml" or file.data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        return "GraphML", from_graphml, ("probability", "label")
    if file.ending in (".csv", ".tsv"):
        return "a table", from_csv, ("directed", "source", "target", "probability")
    return "a list of edges", from_edge_list, ("directed", "probability")


@register("graph", "file")
@dataclass(frozen=True)
class File:
    """A graph from a file: edge list, CSV, GraphML or .npy; in short, file:edges.txt.

    The parameters are those of :func:`load_graph`.
    """

    path: str
    directed: bool | None = None
    source: str | None = None
    target: str | None = None
    probability: str | None = "auto"
    label: str | None = None

    @classmethod
    def examples(cls) -> list[File]:
        """Of these the contract is tried: a small file that comes with the package."""
        return [cls(str(Path(__file__).with_name("friends.csv")))]

    def __post_init__(self) -> None:
        if self.directed is not None:
            yes_or_no(self.directed, "file: directed")

    def process(self, arms: int | None) -> Process:
        """The graph of the file, whatever the number of arms asked for."""
        return load_graph(**vars(self))
