"""Stores: shards on disk, and the driver that computes missing shards."""

from graphbandits.store.directory import DamagedShardError, ShardFile, Store
from graphbandits.store.driver import (
    Failure,
    RunProgress,
    WorkerOptions,
    run_missing,
    simulate,
    simulate_plan,
)

__all__ = [
    "DamagedShardError",
    "Failure",
    "RunProgress",
    "ShardFile",
    "Store",
    "WorkerOptions",
    "run_missing",
    "simulate",
    "simulate_plan",
]
