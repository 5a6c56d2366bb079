"""Experiments run into a store, and what a store has of them."""

from graphbandits.studies.stored import StoredCell, StoredStudy, StoredSweep

__all__ = ["StoredCell", "StoredStudy", "StoredSweep"]
