"""A directory of shards that survives: written whole or not at all, checked when read."""

from graphbandits.engine.provenance import Series, series_of
from graphbandits.store.covers import Cover, ShardFile, cover_of
from graphbandits.store.directory import DamagedShardError, Store
from graphbandits.store.running import Run
from graphbandits.store.summary import summarise, whole

__all__ = [
    "Cover",
    "DamagedShardError",
    "Run",
    "Series",
    "ShardFile",
    "Store",
    "cover_of",
    "series_of",
    "summarise",
    "whole",
]
