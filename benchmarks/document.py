"""Results on disk, and in the document between its markers."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from graphbandits._io import read_bytes, write_text
from graphbandits.errors import InputError

FORMAT = 2
#: Keys of a file of results. ``sections`` has the figures from which the tables are made, and
#: ``runs`` is the only record of when, where and with which versions each section was measured.
KEYS = ("format", "runs", "sections")


def write_results(path: Path, results: Mapping[str, Any]) -> None:
    """Under a temporary name first: whoever reads sees the old file or the new one."""
    write_text(path, json.dumps(results, indent=1, allow_nan=False) + "\n")


def read_results(path: Path) -> dict[str, Any]:
    """A file that :func:`write_results` wrote."""
    data = read_bytes(path, "results")
    try:
        results: dict[str, Any] = json.loads(data)
        complete = results["format"] == FORMAT and all(key in results for key in KEYS)
    except (ValueError, KeyError, TypeError):
        complete = False
    if not complete:
        raise InputError(f"{path} holds no results of these benchmarks: run `make bench`")
    return results


def merge_results(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Add the sections of ``new`` to ``old``; each section stays with the run that measured it.

    >>> old = {"format": 2, "runs": [{"sections": ["a", "b"]}], "sections": {"a": 1, "b": 2}}
    >>> new = {"format": 2, "runs": [{"sections": ["b"]}], "sections": {"b": 3}}
    >>> merge_results(old, new)["runs"]
    [{'sections': ['a']}, {'sections': ['b']}]
    >>> merge_results(old, new)["sections"]
    {'a': 1, 'b': 3}
    """
    kept = []
    for run in old["runs"]:
        names = [name for name in run["sections"] if name not in new["sections"]]
        if names:
            kept.append({**run, "sections": names})
    sections = {**old["sections"], **new["sections"]}
    return {"format": FORMAT, "runs": [*kept, *new["runs"]], "sections": sections}


def replace_between_markers(text: str, name: str, content: str) -> str:
    """The text with what stands between ``<!-- begin NAME -->`` and ``<!-- end NAME -->`` new.

    >>> replace_between_markers("a <!-- begin x -->old<!-- end x --> b", "x", "new")
    'a <!-- begin x -->\\nnew\\n<!-- end x --> b'
    """
    begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    if text.count(begin) != 1 or text.count(end) != 1 or text.index(begin) > text.index(end):
        raise InputError(f"the document needs one '{begin}' and after it one '{end}'")
    before, rest = text.split(begin)
    return f"{before}{begin}\n{content.strip()}\n{end}{rest.split(end)[1]}"


def write_document(path: Path, contents: Mapping[str, str]) -> None:
    """Replace the text between all markers; nothing is written if one is missing or stays empty."""
    text = read_bytes(path, "document").decode()
    empty = set(re.findall(r"<!-- begin ([\w-]+) -->", text)) - set(contents)
    if empty:
        raise InputError(
            f"the results have nothing for {', '.join(sorted(empty))} in {path}: run all sections"
        )
    for name, content in contents.items():
        text = replace_between_markers(text, name, content)
    write_text(path, text)
