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
    figure: Figure, path: str | Path, kinds: str | Iterable[str] | None = None
) -> list[Path]:
    """Write a figure as PNG, SVG or PDF: by the ending of ``path``, or in all ``kinds``.

    Without an ending and without kinds it is written as PNG and as SVG.

    Text is kept as outlines in SVG and as embedded TrueType in PDF, so that a figure looks the
    same everywhere.
    """
    target = Path(path)
    ending = target.suffix.removeprefix(".").lower()
    if ending in KINDS and kinds is None:
        target, kinds = target.with_suffix(""), ending
    chosen = [kinds] if isinstance(kinds, str) else list(kinds or ("png", "svg"))
    for kind in chosen:
        if kind not in KINDS:
            raise InputError(f"unknown kind of figure {kind!r}: {nearest(str(kind), KINDS)}")
    if target.suffix.removeprefix(".") in KINDS:
        raise InputError(
            f"'{target}' has an ending, and kinds={kinds!r} were asked for: give one of them"
        )
    pictures = {}
    for kind in chosen:
        buffer = io.BytesIO()
        figure.savefig(buffer, format=kind, metadata=KINDS[kind])
        pictures[target.with_name(f"{target.name}.{kind}")] = buffer.getvalue()
    for place, picture in pictures.items():
        write_bytes(place, picture)
    return list(pictures)
