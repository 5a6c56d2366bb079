"""Fixtures for the tests of graph readers."""

from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a temporary directory for all examples of a module."""
    return tmp_path_factory.mktemp("graphs")
