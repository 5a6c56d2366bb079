"""A directory of shards that survives, and the driver that computes what it lacks."""

from graphbandits.engine.provenance import Series, series_of
from graphbandits.store.directory import Cover, DamagedShardError, ShardFile, Store, cover_of
from graphbandits.store.driver import (
    Failure,
    RunProgress,
    WorkerOptions,
    run_missing,
    simulate,
    simulate_plan,
)
from graphbandits.store.record import StudyRecord, describe_cell, read_record, wanted_tasks
from graphbandits.store.summary import summarise, whole

__all__ = [
    "Cover",
    "DamagedShardError",
    "Failure",
    "RunProgress",
    "Series",
    "ShardFile",
    "Store",
    "StudyRecord",
    "WorkerOptions",
    "cover_of",
    "describe_cell",
    "read_record",
    "run_missing",
    "series_of",
    "simulate",
    "simulate_plan",
    "summarise",
    "wanted_tasks",
    "whole",
]
