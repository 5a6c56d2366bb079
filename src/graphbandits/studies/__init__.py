"""Experiments run into a store, and what a store has of them."""

from graphbandits.studies.facets import Facet
from graphbandits.studies.opening import Studies, open_studies, open_study
from graphbandits.studies.recording import Commission, describe_cell
from graphbandits.studies.stored import StoredCell, StoredStudy

__all__ = [
    "Commission",
    "Facet",
    "StoredCell",
    "StoredStudy",
    "Studies",
    "describe_cell",
    "open_studies",
    "open_study",
]
