"""Do the tests notice one-line mutants of ``src``? Run by ``make nightly``.

    mutate.py sample  --n 200 --seed 1 --out build/mutants.json
    mutate.py run     build/mutants.json --out build/before.json [--jobs 2]
    mutate.py run     build/mutants.json --out build/after.json --only-killed build/before.json
    mutate.py compare build/before.json build/after.json
    mutate.py show    build/before.json [--survivors]

``sample`` draws the type of each mutant by WEIGHTS, then its place with equal chances. Kernels are
left out, because compiling them would take most of the time; mutants of the contract and golden
values test them. A mutant is stored with the text of its line and the name of its function, so that
it is found again after its file has moved.

``run`` tries the mutants in copies of the repository. For each mutant it runs, until a test fails,
(1) the cheap tests of the package, those of the module first, and the doctests of the module;
(2) all other cheap tests; (3) with ``--stages 123``, the costly tests of the package and the golden
values. Each stage ends after ``--budget`` CPU seconds. A test that fails is repeated on the clean
sources, and ignored if it fails there as well. ``run`` continues an interrupted ``--out``.

``compare`` ends with exit status 1 if a mutant that was killed before is not killed any more. To
prune tests: run a sample before, prune, and run the killed mutants again. ``--keep FILE`` pretends
that only the tests whose ids are in the file exist, so a pruning can be tried before it is made.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).parents[2]
PACKAGE = "graphbandits"
CHEAP = "not costly and not nightly"
COSTLY = "costly and not nightly"
#: Share of each type of mutant in a sample.
WEIGHTS = {
    "compare": 20,
    "arith": 12,
    "const": 20,
    "bool": 10,
    "branch": 10,
    "statement": 16,
    "return": 6,
    "string": 6,
}
#: Tests that read the text of sources or documents: they fail for the looks of a mutant.
IGNORED = ("tests/test_package.py", "tests/documents")
COMPARE = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
}
ARITH = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "+"),
    ast.Pow: ("**", "*"),
}
KILLED = ("killed", "timeout", "import")
Mutant = dict[str, Any]


# --- sample -------------------------------------------------------------------------------------


class Sites(ast.NodeVisitor):
    """All changes of a module: type, first and last byte, new text, function."""

    def __init__(self, source: bytes) -> None:
        self.source = source
        self.starts = [0]
        for line in source.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        self.changes: list[tuple[str, int, int, bytes, str]] = []
        self.scope: list[str] = []
        self.raising = 0
        self.visit(ast.parse(source))

    def span(self, node: Any) -> tuple[int, int]:
        return (
            self.starts[node.lineno - 1] + node.col_offset,
            self.starts[node.end_lineno - 1] + node.end_col_offset,
        )

    def text(self, node: ast.AST) -> str:
        start, end = self.span(node)
        return self.source[start:end].decode()

    def add(self, name: str, start: int, end: int, new: str) -> None:
        if b"\n" not in self.source[start:end] and "\n" not in new:
            self.changes.append((name, start, end, new.encode(), ".".join(self.scope)))

    def replace(self, name: str, node: ast.AST, new: str) -> None:
        self.add(name, *self.span(node), new)

    def between(self, name: str, left: ast.AST, right: ast.AST, old: str, new: str) -> None:
        """Replace an operator between two expressions; brackets stay."""
        start, end = self.span(left)[1], self.span(right)[0]
        pattern = re.escape(old).replace(r"\ ", r"\s+").encode()
        found = re.search(pattern, self.source[start:end])
        if found and b"#" not in self.source[start:end]:
            self.add(name, start + found.start(), start + found.end(), new)

    def visit_Import(self, node: ast.Import) -> None:
        pass

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        pass

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._visit_all(node.name, node.body)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._visit_all(node.name, [*node.args.defaults, *node.args.kw_defaults, *node.body])

    def visit_AsyncFunctionDef(self, node: Any) -> None:
        self.visit_FunctionDef(node)

    def _visit_all(self, name: str, nodes: list[Any]) -> None:
        self.scope.append(name)
        for child in filter(None, nodes):
            self.visit(child)
        self.scope.pop()

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_Assign(self, node: ast.Assign) -> None:
        names = {target.id for target in node.targets if isinstance(target, ast.Name)}
        if names & {"__all__", "__slots__"}:
            return
        places = [one for one in node.targets if isinstance(one, ast.Attribute | ast.Subscript)]
        if self.scope and places:
            self.replace("statement", node, "pass")
        self.visit(node.value)

    def visit_If(self, node: ast.If) -> None:
        if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            return
        if not isinstance(node.test, ast.Compare | ast.BoolOp | ast.UnaryOp):
            self.replace("branch", node.test, f"(not ({self.text(node.test)}))")
        self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Constant):
            return
        if isinstance(node.value, ast.Call) and self.scope:
            self.replace("statement", node, "pass")
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.replace("statement", node, "pass")
        self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> None:
        if node.exc is not None:
            self.replace("statement", node, "pass")
        self.raising += 1
        self.generic_visit(node)
        self.raising -= 1

    def visit_Continue(self, node: ast.Continue) -> None:
        self.replace("statement", node, "pass")

    def visit_Break(self, node: ast.Break) -> None:
        self.replace("statement", node, "pass")

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is not None and not isinstance(node.value, ast.Constant):
            self.replace("return", node, "return None")
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        operands = [node.left, *node.comparators]
        for left, op, right in zip(operands, node.ops, operands[1:], strict=False):
            self.between("compare", left, right, *COMPARE[type(op)])
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        words = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in zip(node.values, node.values[1:], strict=False):
            self.between("bool", left, right, *words)
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        sides = (node.left, node.right)
        is_text = any(
            isinstance(side, ast.JoinedStr)
            or (isinstance(side, ast.Constant) and isinstance(side.value, str))
            for side in sides
        )
        if type(node.op) in ARITH and not is_text:
            self.between("arith", *sides, *ARITH[type(node.op)])
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not):
            self.replace("bool", node, f"bool({self.text(node.operand)})")
        self.generic_visit(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        pass

    def visit_Constant(self, node: ast.Constant) -> None:
        value = node.value
        if isinstance(value, bool):
            self.replace("const", node, str(not value))
        elif isinstance(value, int):
            self.replace("const", node, str(value + 1))
        elif isinstance(value, float):
            self.replace("const", node, repr(value * 2 if value else 1.0))
        elif value and not self.raising and self.text(node)[0] in "\"'":
            self.replace("string", node, repr("XX" + str(value)))


def sample(args: argparse.Namespace) -> None:
    """Draw mutants and write them to a file."""
    by_type: dict[str, list[Mutant]] = defaultdict(list)
    for path in sorted((args.repo / "src" / PACKAGE).rglob("*.py")):
        if "kernel" in path.name:
            continue
        source = path.read_bytes()
        sites, lines = Sites(source), source.splitlines()
        for name, start, end, new, function in sites.changes:
            line = source.count(b"\n", 0, start)
            by_type[name].append(
                {
                    "file": str(path.relative_to(args.repo)),
                    "line": line + 1,
                    "function": function,
                    "text": lines[line].decode(),
                    "column": start - sites.starts[line],
                    "kind": name,
                    "old": source[start:end].decode(),
                    "new": new.decode(),
                }
            )
    rng = random.Random(args.seed)
    chosen: list[Mutant] = []
    while len(chosen) < args.n:
        [name] = rng.choices(list(WEIGHTS), list(WEIGHTS.values()))
        mutant = rng.choice(by_type[name])
        if mutant not in chosen and compiles(args.repo, mutant):
            chosen.append(mutant)
    for number, mutant in enumerate(chosen):
        mutant["id"] = number
    args.out.write_text(json.dumps(chosen, indent=1) + "\n")


def locate(root: Path, mutant: Mutant) -> tuple[Path, int] | None:
    """Return the file and the byte of a mutant; after a move, by its line and its function."""

    def places(path: Path) -> list[tuple[int, int]]:
        """Return the number and the byte of each line with this text."""
        result, position = [], 0
        for number, line in enumerate(path.read_bytes().splitlines(keepends=True), start=1):
            if line.rstrip(b"\r\n").decode() == mutant["text"]:
                result.append((number, position + mutant["column"]))
            position += len(line)
        return result

    path = root / mutant["file"]
    if path.exists():
        for number, position in places(path):
            if number == mutant["line"]:
                return path, position
    name = mutant["function"].rpartition(".")[2]
    defines = re.compile(rf"\b(def {name}\(|class {name}\b)".encode())
    for candidate in [path, *sorted((root / "src" / PACKAGE).rglob("*.py"))]:
        if not candidate.exists() or (name and not defines.search(candidate.read_bytes())):
            continue
        if len(listed := places(candidate)) == 1:
            return candidate, listed[0][1]
    return None


def mutated(root: Path, mutant: Mutant) -> tuple[Path, bytes] | None:
    """Return the file of a mutant and its mutated content."""
    if (place := locate(root, mutant)) is None:
        return None
    path, start = place
    source, old = path.read_bytes(), mutant["old"].encode()
    if source[start : start + len(old)] != old:
        return None
    return path, source[:start] + mutant["new"].encode() + source[start + len(old) :]


def compiles(root: Path, mutant: Mutant) -> bool:
    try:
        place = mutated(root, mutant)
        return place is not None and bool(compile(place[1], "mutant", "exec"))
    except SyntaxError:
        return False


# --- the plug-in of pytest (-p mutate) ----------------------------------------------------------


def pytest_configure(config: Any) -> None:
    if settings := os.environ.get("MUTATE"):
        config.pluginmanager.register(Stage(json.loads(settings)))


def cpu_seconds() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


class Stage:
    """Order the tests, end after the budget, report the first failure, interrupt endless loops."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.settings = settings
        self.result: dict[str, Any] = {"ran": 0, "failed": None, "cut": False, "collection": []}

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        first, ignored = self.settings["first"], set(self.settings["ignored"])
        kept = self.settings["kept"]
        items[:] = [
            item
            for item in items
            if item.nodeid not in ignored and (kept is None or item.nodeid in kept)
        ]

        def rank(item: Any) -> int:
            module = item.nodeid.partition("::")[0]
            return next((i for i, part in enumerate(first) if part in module), len(first))

        items.sort(key=rank)

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self.result["collection"].append(report.nodeid)

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.result["ran"] += report.when == "call"
        if report.failed and self.result["failed"] is None:
            self.result["failed"] = report.nodeid

    def pytest_runtest_setup(self, item: Any) -> None:
        import pytest

        if cpu_seconds() > self.settings["budget"]:
            self.result["cut"] = True
            item.session.shouldstop = "budget"
            pytest.skip("budget")
        signal.signal(signal.SIGPROF, self._interrupt)
        signal.setitimer(signal.ITIMER_PROF, 60.0)

    def pytest_runtest_teardown(self) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)

    def _interrupt(self, *_: Any) -> None:
        raise TimeoutError("endless loop?")

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        if exitstatus != 3:  # an error inside pytest: the mutant is not judged
            self.result["cpu"] = cpu_seconds()
            Path(self.settings["result"]).write_text(json.dumps(self.result))


# --- run ----------------------------------------------------------------------------------------


def share_machine_code(repo: Path, copy: Path) -> None:
    """Let the copy use the machine code of the repository: Numba finds it by the source's path."""
    default = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / PACKAGE
    base = Path(os.environ.get("NUMBA_CACHE_DIR", default))

    def name(folder: Path) -> str:  # as numba.core.caching names it
        return f"{folder.name}_{hashlib.sha1(str(folder).encode()).hexdigest()}"

    for source in {path.parent for path in (repo / "src").rglob("*kernel*.py")}:
        other = copy / source.relative_to(repo)
        for version in base.glob("kernels-*"):
            if (version / name(source)).is_dir() and not (version / name(other)).exists():
                (version / name(other)).symlink_to(version / name(source))


class Copy:
    """A copy of the repository in which mutants are tried, one after another."""

    def __init__(self, root: Path, args: argparse.Namespace) -> None:
        self.root, self.args = root, args
        left_out = shutil.ignore_patterns(".venv", ".git", "__pycache__", "build", ".hypothesis")
        shutil.copytree(args.repo, root, ignore=left_out)
        share_machine_code(args.repo, root)
        self.kept = args.keep and args.keep.read_text().splitlines()
        self.ignored: set[str] = set()
        self.sound: set[str] = set()

    def relative(self, paths: Iterator[Path]) -> list[str]:
        names = [str(path.relative_to(self.root)) for path in sorted(paths)]
        return [name for name in names if name not in IGNORED]

    @contextmanager
    def change(self, mutant: Mutant) -> Iterator[None]:
        place = mutated(self.root, mutant)
        assert place is not None
        path, text = place
        clean, times = path.read_bytes(), path.stat()
        path.write_bytes(text)
        try:
            yield
        finally:
            path.write_bytes(clean)
            os.utime(path, (times.st_atime, times.st_mtime))

    def pytest(self, paths: list[str], marks: str, first: list[str], budget: float) -> Mutant:
        result = self.root.parent / f"{self.root.name}.result.json"
        result.unlink(missing_ok=True)
        settings = {
            "first": first,
            "budget": budget,
            "ignored": sorted(self.ignored),
            "kept": self.kept,
            "result": str(result),
        }
        path = os.pathsep.join([str(self.root / "src"), str(Path(__file__).parent)])
        environment = os.environ | {"MUTATE": json.dumps(settings), "PYTHONPATH": path}
        environment.pop("PYTHONPYCACHEPREFIX", None)
        words = ["-p", "mutate", "-p", "no:cacheprovider", "-x", "-q", "--tb=no", "-m", marks]
        process = subprocess.Popen(
            [sys.executable, "-m", "pytest", *words, *paths],
            cwd=self.root,
            env=environment,
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            process.wait(timeout=6 * budget + 120)
        except subprocess.TimeoutExpired:
            return {"status": "timeout", "cpu": budget}
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        if result.exists():
            return json.loads(result.read_text())  # type: ignore[no-any-return]
        code = process.returncode  # 4: a conftest cannot be imported; negative: a signal
        status = "import" if code == 4 else "killed" if code < 0 else "error"
        return {"status": status, "cpu": 0.0, "by": f"exit status {code}"}

    def stage(self, mutant: Mutant, paths: list[str], marks: str, first: list[str]) -> Mutant:
        """Run tests until one fails with the mutant and passes without it."""
        spent = 0.0
        for _ in range(8):
            with self.change(mutant):
                found = self.pytest(paths, marks, first, self.args.budget)
            spent += found["cpu"]
            answer = {"cpu": round(spent, 1), "cut": found.get("cut", False)}
            if "status" in found:
                return answer | {"status": found["status"], "by": found.get("by", "")}
            if found["collection"]:
                return answer | {"status": "import", "by": found["collection"][0]}
            if (test := found["failed"]) is None:
                return answer | {"status": "survived"}
            if test not in self.sound:
                again = self.pytest([test], marks, [], 120.0)
                if again.get("failed") or not again.get("ran"):
                    self.ignored.add(test)
                    continue
                self.sound.add(test)
            return answer | {"status": "killed", "by": test}
        return answer | {"status": "survived", "by": "only unsound tests"}

    def try_mutant(self, mutant: Mutant) -> Mutant:
        if (place := locate(self.root, mutant)) is None or not compiles(self.root, mutant):
            return {"status": "gone"}
        module = place[0].relative_to(self.root / "src" / PACKAGE)
        tests = self.root / "tests"
        package = tests / module.parts[0]
        own = [package] if len(module.parts) > 1 and package.is_dir() else tests.glob("test_*.py")
        near = self.relative(iter([place[0], *own]))
        folders = [
            path
            for path in tests.iterdir()
            if (path.is_dir() and path.name not in ("helpers", "fixtures", "tools", "__pycache__"))
            or path.match("test_*.py")
        ]
        far = [name for name in self.relative(iter(folders)) if name not in near]
        stem = module.stem.strip("_")
        dotted = ".".join((PACKAGE, *module.with_suffix("").parts)).rpartition(".")[0]
        users = self.relative(p for p in tests.rglob("test_*.py") if dotted in p.read_text())
        golden = "tests/integration/test_golden.py"
        stages = {
            "1": (near, CHEAP, [f"/test_{stem}.py", f"test_{stem}", place[0].name]),
            "2": ([*far, *(f"--ignore={name}" for name in IGNORED)], CHEAP, users),
            "3": ([*near[1:], golden], COSTLY, [f"test_{stem}", "test_golden"]),
        }
        cpu = 0.0
        for number, (paths, marks, first) in stages.items():
            if number in self.args.stages:
                answer = self.stage(mutant, paths, marks, first)
                cpu += answer["cpu"]
                if answer["status"] != "survived":
                    break
        return answer | {"cpu": round(cpu, 1), "stage": int(number)}


def read(path: Path) -> dict[int, Mutant]:
    return {entry["id"]: entry for entry in json.loads(path.read_text())}


def run(args: argparse.Namespace) -> None:
    """Try mutants, and write the result of each as soon as it is known."""
    done = read(args.out) if args.out.exists() else {}
    queue = [mutant for number, mutant in read(args.mutants).items() if number not in done]
    if args.only_killed:
        before = read(args.only_killed)
        queue = [m for m in queue if before.get(m["id"], {}).get("status") in KILLED]
    lock = threading.Lock()

    def work(copy: Copy) -> None:
        while True:
            with lock:
                if not queue:
                    return
                mutant = queue.pop(0)
            entry = mutant | copy.try_mutant(mutant)
            with lock:
                done[mutant["id"]] = entry
                args.out.write_text(
                    json.dumps([entry for _, entry in sorted(done.items())], indent=1) + "\n"
                )
                print(line_of(entry), entry.get("by", ""), flush=True)

    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copies = [Copy(Path(folder) / f"copy{n}", args) for n in range(args.jobs)]
        threads = [threading.Thread(target=work, args=(copy,)) for copy in copies]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    summary(list(done.values()))


def line_of(entry: Mutant) -> str:
    return (
        f"{entry['id']:3} {entry['status']:8} {entry.get('stage', '-')} "
        f"{entry.get('cpu', 0):6.1f}s {entry['file'].removeprefix(f'src/{PACKAGE}/')}:"
        f"{entry['line']} {entry['kind']}: {entry['old'][:40]!r} -> {entry['new'][:40]!r}"
    )


def summary(entries: list[Mutant]) -> None:
    counts = Counter(entry["status"] for entry in entries)
    print(", ".join(f"{number} {status}" for status, number in counts.most_common()))


def compare(args: argparse.Namespace) -> None:
    """Print the mutants that were killed before and are not any more."""
    before, after = read(args.before), read(args.after)
    status = Counter(entry["status"] for entry in after.values())
    lost = [
        entry
        for number, entry in after.items()
        if before.get(number, {}).get("status") in KILLED
        and entry["status"] not in (*KILLED, "gone")
    ]
    for entry in lost:
        print("LOST", line_of(entry), f"was killed by {before[entry['id']].get('by')}")
    print(f"{len(lost)} lost kills of {len(after)} repeated mutants; {status['gone']} are gone")
    if lost:
        raise SystemExit(1)


def show(args: argparse.Namespace) -> None:
    entries = list(read(args.results).values())
    for entry in entries:
        if not args.survivors or entry["status"] == "survived":
            print(line_of(entry), f"in {entry['function']}: {entry['text'].strip()}")
    summary(entries)


def main() -> None:
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("--repo", type=Path, default=REPOSITORY)
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("sample")
    command.set_defaults(call=sample)
    command.add_argument("--n", type=int, default=100)
    command.add_argument("--seed", type=int, default=1)
    command.add_argument("--out", type=Path, required=True)
    command = commands.add_parser("run")
    command.set_defaults(call=run)
    command.add_argument("mutants", type=Path)
    command.add_argument("--out", type=Path, required=True)
    command.add_argument("--jobs", type=int, default=1)
    command.add_argument("--budget", type=float, default=60.0)
    command.add_argument("--stages", default="12")
    command.add_argument("--only-killed", type=Path)
    command.add_argument("--keep", type=Path)
    command = commands.add_parser("compare")
    command.set_defaults(call=compare)
    command.add_argument("before", type=Path)
    command.add_argument("after", type=Path)
    command = commands.add_parser("show")
    command.set_defaults(call=show)
    command.add_argument("results", type=Path)
    command.add_argument("--survivors", action="store_true")
    args = parser.parse_args()
    args.repo = args.repo.resolve()
    args.call(args)


if __name__ == "__main__":
    main()
