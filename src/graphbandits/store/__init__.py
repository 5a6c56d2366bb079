"""Computation of missing trials, and directories of studies."""

from graphbandits.store.directory import DamagedShardError, Directory, ShardFile
from graphbandits.store.driver import (
    Failure,
    WorkerOptions,
    compute_missing,
    simulate,
    simulate_plan,
)

__all__ = [
    "DamagedShardError",
    "Directory",
    "Failure",
    "ShardFile",
    "WorkerOptions",
    "compute_missing",
    "simulate",
    "simulate_plan",
]
