"""Tests of README.md and docs: code runs, tables, facts and links are right."""

from __future__ import annotations

import os
import pkgutil
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest
import typer
from helpers import ROOT, SRC

from graphbandits.catalogue import list_available
from graphbandits.cli import app
from graphbandits.study.experiment import load_experiment

PAGES = ["README.md", "CONTRIBUTING.md"]
PAGES += [f"docs/{page.name}" for page in sorted((ROOT / "docs").glob("*.md"))]
#: Pages whose Python blocks need files of an earlier run: test_reference.py runs them.
OTHER_SCRIPTS = {"docs/reading.md", "docs/results.md", "docs/store.md"}
#: Pages whose shell commands make the files for their Python blocks.
WALKS = {"CONTRIBUTING.md", "docs/plugins.md"}
#: Pages with comments that start with what their line prints.
PRINTS = {"docs/agent.md", "docs/graphs.md"}
PRINTS |= {"docs/tutorial-promotions.md", "docs/tutorial-sensors.md"}


def text_of(page: str) -> str:
    return (ROOT / page).read_text("utf-8")


def blocks(page: str, *languages: str) -> list[tuple[str, str]]:
    pattern = rf"^```({'|'.join(languages)})\n(.*?)^```$"
    return re.findall(pattern, text_of(page), re.DOTALL | re.MULTILINE)


def with_block(language: str) -> list[str]:
    return [page for page in PAGES if blocks(page, language)]


# --- code ---------------------------------------------------------------------------------------


def run(*words: str) -> str:
    """Run Python in the working directory, as a shell would."""
    environment = os.environ | {"PYTHONPATH": str(SRC)}
    command = [sys.executable, "-m", *words]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("page", sorted({*with_block("python")} - OTHER_SCRIPTS))
def test_code_of_a_page_runs_in_an_empty_directory(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}
    for language, block in blocks(page, "python", "sh"):
        if language == "sh":
            for line in block.splitlines() if page in WALKS else ():
                printed = run(*shlex.split(line))
                assert "check" not in line or "failed" not in printed
        elif page in WALKS and "@register(" in block:
            file = re.search(r"check (\w+\.py)", text_of(page))
            assert file
            (tmp_path / file[1]).write_text(block, "utf-8")
        elif "def test_" in block:
            (tmp_path / "test_page.py").write_text(block, "utf-8")
            run("pytest", "-q", "-k", "form", "test_page.py")
        elif page not in WALKS or "import" in block:
            exec(compile(block, page, "exec"), names)
            compare_prints(block, capsys.readouterr().out.splitlines(), page)


def compare_prints(block: str, shown: list[str], page: str) -> None:
    if page in PRINTS:
        comments = re.findall(r"^print\(.+\)(?:  # (.+))?$", block, re.MULTILINE)
        for line, comment in zip(shown, comments, strict=True):
            assert not comment or f"{comment}:".startswith(f"{line}:"), comment


def test_toml_of_a_page_is_a_valid_experiment(tmp_path: Path) -> None:
    for page in with_block("toml"):
        for _, block in blocks(page, "toml"):
            (tmp_path / "shown.toml").write_text(block, "utf-8")
            assert load_experiment(tmp_path / "shown.toml").plans(trials=1), page


def commands_of(page: str) -> list[str]:
    lines = [line for _, block in blocks(page, "sh") for line in block.splitlines()]
    lines += re.findall(r"^\| `(graphbandits .+?)` \|", text_of(page), re.MULTILINE)
    return [line for line in lines if line.startswith("graphbandits ")]


def test_commands_of_a_page_exist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for directory in ("my-study", "other-study"):
        (tmp_path / directory).mkdir()
    for page in PAGES:
        for line in commands_of(page):
            parse(line)


def parse(line: str) -> None:
    """Parse a command without running it; unknown commands and options raise."""
    command: click.Command = typer.main.get_command(app)
    name, *arguments = shlex.split(line)
    context: click.Context | None = None
    while isinstance(command, click.Group):
        context = command.make_context(name, arguments[:1], parent=context, resilient_parsing=True)
        found, command_or_none, _ = command.resolve_command(context, arguments)
        assert found is not None, line
        assert command_or_none is not None, line
        name, command, arguments = found, command_or_none, arguments[1:]
    command.make_context(name, arguments, parent=context)


def test_page_of_commands_has_every_command() -> None:
    def leaves(command: click.Command, path: tuple[str, ...] = ()) -> set[tuple[str, ...]]:
        if not isinstance(command, click.Group):
            return {path}
        return {
            leaf
            for name, child in command.commands.items()
            for leaf in leaves(child, (*path, name))
        }

    wanted = leaves(typer.main.get_command(app))
    shown = [tuple(shlex.split(line)[1:]) for line in commands_of("docs/command-line.md")]
    for leaf in wanted:
        assert any(line[: len(leaf)] == leaf for line in shown), leaf


# --- facts --------------------------------------------------------------------------------------


def test_pages_of_policies_and_experiments_name_all_of_them() -> None:
    for kind in ("policies", "experiments"):
        text = text_of(f"docs/{kind}.md")
        for one in list_available(kind)[kind]:
            assert f"`{one['name']}`" in text


def test_regrets_of_the_readme_are_those_of_the_reproduction() -> None:
    pattern = r"^\| (`[\w-]+` \| \d.*±.*|`[\w-]+` \| +\|.*±.*) \|$"
    full = re.findall(pattern, text_of("docs/reproduction.md"), re.MULTILINE)
    core = re.findall(pattern, text_of("README.md"), re.MULTILINE)
    assert core
    assert set(core) <= set(full)


# --- links --------------------------------------------------------------------------------------


def prose(text: str) -> str:
    """Return the text without blocks of code."""
    return re.sub(r"^ *```.*?^ *```$", "", text, flags=re.DOTALL | re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub gives the headings of a page."""
    found: dict[str, int] = {}
    result = set()
    for heading in re.findall(r"^#+ (.+)$", prose(page.read_text("utf-8")), re.MULTILINE):
        heading = re.sub(r"\[(.+?)\]\(.+?\)", r"\1", heading).strip().lower()
        slug = re.sub(r"[^\w\- ]", "", heading).replace(" ", "-")
        count = found.get(slug, 0)
        found[slug] = count + 1
        result.add(f"{slug}-{count}" if count else slug)
    return result


def test_links_resolve() -> None:
    for page in PAGES:
        here = ROOT / page
        text = re.sub(r"`[^`\n]*`", "", prose(text_of(page)))
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            if re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = target.partition("#")
            file = (here.parent / path).resolve() if path else here
            assert file.exists(), f"{page}: {target}"
            assert not anchor or anchor in anchors(file), f"{page}: {target}"


def test_names_exist() -> None:
    for page in PAGES:
        for name in re.findall(r"`(graphbandits(?:\.\w+)+)(?:\(.*?\))?`", text_of(page)):
            pkgutil.resolve_name(name)
        for file, test in re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", text_of(page)):
            assert f"def {test}(" in (ROOT / file).read_text("utf-8"), f"{page}: {test}"
