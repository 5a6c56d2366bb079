"""Fixtures of the tests of executors: plug-ins with faults, and a local cluster."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.executor_tasks import GRAPH, POLICY, children

from graphbandits.engine.executors import DaskExecutor
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


@pytest.fixture(scope="module")
def local_cluster() -> Iterator[DaskExecutor]:
    before = children()
    with DaskExecutor("local", 2) as executor:
        yield executor
    assert children() == before
