"""A directory of shards that survives: written whole or not at all, checked when read."""

from graphbandits.store.directory import Cover, DamagedShardError, ShardFile, Store
from graphbandits.store.series import Series, series_of
from graphbandits.store.summary import summarise

__all__ = ["Cover", "DamagedShardError", "Series", "ShardFile", "Store", "series_of", "summarise"]
