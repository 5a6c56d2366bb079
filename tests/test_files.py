"""Tests of _files.py: new files, and archives at their size limit."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.bad_input import refuses

from graphbandits import _files
from graphbandits._files import check_npz, to_npz, write_new
from graphbandits.errors import InputError


@pytest.mark.parametrize("links", [True, False])
def test_a_new_file_does_not_replace_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    """Also on a file system without links."""

    def no_links(*_: Any) -> None:
        raise OSError("no links")

    if not links:
        monkeypatch.setattr(os, "link", no_links)
    target = tmp_path / "a.txt"
    assert write_new(target, b"first")
    assert not write_new(target, b"second")
    assert target.read_bytes() == b"first"
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_archive_at_the_size_limit_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    stored = to_npz({}, {"x": np.zeros(10_000)})
    names = check_npz(stored)  # it is not compressed: the limit is its own size
    assert set(names) == {"x.npy", "meta.npy"}
    packed = _compressed(np.zeros(10_000))
    size = 10_000 * 8 + 128
    monkeypatch.setattr(_files, "MOST_UNPACKED", size)
    assert check_npz(packed) == ["x.npy"]
    monkeypatch.setattr(_files, "MOST_UNPACKED", size - 1)
    with refuses(InputError, match="it unpacks to more than"):
        check_npz(packed)


def _compressed(array: np.ndarray[Any, Any]) -> bytes:
    import io

    buffer = io.BytesIO()
    np.savez_compressed(buffer, x=array)
    return buffer.getvalue()
