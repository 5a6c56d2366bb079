"""Who does the work of a command, as its options say."""

from __future__ import annotations

from dataclasses import dataclass

from graphbandits.cli.show import worker_count
from graphbandits.errors import whole_number


@dataclass(frozen=True)
class How:
    """Who does the work: ``workers`` here, or those of a ``cluster``; trials of a shard."""

    workers: int | None = None
    cluster: str | None = None
    shard: int | None = None

    def __post_init__(self) -> None:
        if self.workers is not None:
            whole_number(self.workers, "workers")
        if self.shard is not None:
            whole_number(self.shard, "shard")

    @property
    def count(self) -> int:
        return worker_count(self.workers)

    @property
    def parallel(self) -> str:
        """Workers that were asked for are processes; else it depends on how much there is to do."""
        return "processes" if self.workers is not None and self.workers > 1 else "auto"
