"""docs/theory.md names what there is: every function can be imported, every test exists."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCUMENT = (ROOT / "docs" / "theory.md").read_text("utf-8").split("## The audit")[0]
ROWS = re.findall(r"^\| (.+?) \| .+? \| (.+?) \| (.+?) \|$", DOCUMENT, re.MULTILINE)[1:]


def test_every_numbered_statement_is_there() -> None:
    numbered = [("Definition", 1), ("Proposition", 4), ("Lemma", 4), ("Theorem", 3)]
    numbered += [("Corollary", 2), ("Fact", 2)]
    wanted = {f"{kind} {i}" for kind, count in numbered for i in range(1, count + 1)}
    assert wanted <= {name for name, _, _ in ROWS}


def test_every_function_can_be_imported() -> None:
    for name, functions, _ in ROWS:
        found = re.findall(r"`(graphbandits[\w.]+)`", functions)
        assert found, name
        for path in found:
            parts = path.split(".")
            depth = next(
                i for i, part in enumerate(parts) if not part.islower() or i == len(parts) - 1
            )
            target = importlib.import_module(".".join(parts[:depth]))
            for part in parts[depth:]:
                target = getattr(target, part)
            assert callable(target), path


def test_every_test_exists() -> None:
    for name, _, tests in ROWS:
        found = re.findall(r"`(tests/\w+\.py)::(\w+)`", tests)
        assert found, name
        for file, test in found:
            assert f"def {test}(" in (ROOT / file).read_text("utf-8"), f"{file}::{test}"
