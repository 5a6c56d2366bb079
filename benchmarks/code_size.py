"""Modules and code lines of each package: ``python benchmarks/code_size.py [FOLDER]``.

Blank lines, comments and docstrings do not count.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections import Counter
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "graphbandits"
#: Sub-packages that are counted by themselves.
APART = ("engine/executors", "engine/crews")
_NO_CODE = (
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
)


def code_lines(text: str) -> int:
    """Lines with code on them."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        documented = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        if documented and ast.get_docstring(node):
            docstring = node.body[0]
            lines.difference_update(range(docstring.lineno, (docstring.end_lineno or 0) + 1))
    return len(lines)


def main(folder: Path) -> None:
    modules: Counter[str] = Counter()
    lines: Counter[str] = Counter()
    for path in sorted(folder.rglob("*.py")):
        place = path.relative_to(folder).parent.as_posix()
        parts = place.split("/")
        package = place if place in APART else parts[0]
        modules[package] += 1
        lines[package] += code_lines(path.read_text("utf-8"))
    print("| package | modules | code lines |\n|---|---|---|")
    for package in sorted(modules):
        name = "(top level)" if package == "." else f"`{package}/`"
        print(f"| {name} | {modules[package]} | {lines[package]} |")
    print(f"| all | {modules.total()} | {lines.total()} |")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else SOURCE)
