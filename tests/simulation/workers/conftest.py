"""Fixtures of the tests of executors: plug-ins with faults, and a dask cluster."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.executor_tasks import GRAPH, POLICY, command, until

from graphbandits.plugins import load_plugin, unload_plugin


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The directory of the plug-ins and of the marks that they write."""
    folder = tmp_path_factory.mktemp("executors")
    files = {"faulty_ts.py": POLICY.format(folder=str(folder)), "drawn_graph.py": GRAPH}
    for name, text in files.items():
        (folder / name).write_text(text)
        load_plugin(folder / name)
    yield folder
    for name in files:
        unload_plugin(folder / name)


CLUSTER = """
import sys, time
from pathlib import Path
from distributed import LocalCluster

if __name__ == "__main__":
    how = {"host": "127.0.0.1", "protocol": "tcp://", "dashboard_address": None}
    with LocalCluster(n_workers=2, threads_per_worker=1, **how) as cluster:
        Path("address").write_text(cluster.scheduler_address)
        time.sleep(3600)
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a dask scheduler with two workers."""
    folder = tmp_path_factory.mktemp("cluster")
    (folder / "cluster.py").write_text(CLUSTER)
    address = folder / "address"
    with command("cluster.py", folder=folder):
        yield until(lambda: address.exists() and address.read_text())
