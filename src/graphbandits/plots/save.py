"""Figures as files."""

from __future__ import annotations

import io
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from graphbandits.errors import InputError, nearest
from graphbandits.files import write_bytes
from graphbandits.plots.style import in_style

#: What can be written, each without a date: the same figure gives the same file.
KINDS: dict[str, dict[str, Any]] = {
    "png": {},
    "svg": {"Date": None},
    "pdf": {"CreationDate": None},
}


@in_style
def save_figure(
    figure: Figure, path: str | Path, kinds: str | Iterable[str] = ("png", "svg")
) -> list[Path]:
    """Write a figure as PNG, SVG or PDF beside each other; ``path`` has no ending.

    Text is kept as outlines in SVG and as embedded TrueType in PDF, so that a figure looks the
    same everywhere.
    """
    chosen = [kinds] if isinstance(kinds, str) else list(kinds)
    for kind in chosen:
        if kind not in KINDS:
            raise InputError(f"unknown kind of figure {kind!r}: {nearest(str(kind), KINDS)}")
    target = Path(path)
    if target.suffix.removeprefix(".") in KINDS:
        raise InputError(
            f"the path of a figure has no ending: give '{target.with_suffix('')}' and "
            f"kinds=('{target.suffix.removeprefix('.')}',)"
        )
    pictures = {}
    for kind in chosen:
        buffer = io.BytesIO()
        figure.savefig(buffer, format=kind, metadata=KINDS[kind])
        pictures[target.with_name(f"{target.name}.{kind}")] = buffer.getvalue()
    for place, picture in pictures.items():
        write_bytes(place, picture)
    return list(pictures)
