"""Tests of README.md and docs: code runs, tables, facts and links are right."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest
import typer
from helpers import ROOT

import graphbandits
from graphbandits.cli import app
from graphbandits.experiments import load_experiment
from graphbandits.experiments.catalogue import list_available
from graphbandits.registry import registered

PAGES = sorted((ROOT / "docs").glob("*.md"))
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *PAGES]
#: Pages besides README whose Python blocks run in an empty directory, with the number of blocks.
SCRIPTS = {
    "docs/agent.md": 13,
    "docs/evaluation.md": 3,
    "docs/tutorial-promotions.md": 8,
    "docs/graphs.md": 4,
    "docs/rewards.md": 4,
    "docs/simulation.md": 10,
    "docs/recommend.md": 1,
    "docs/experiments.md": 1,
    "docs/tutorial-sensors.md": 6,
}
TUTORIALS = ["docs/tutorial-promotions.md", "docs/tutorial-sensors.md"]
#: Pages whose Python blocks need files of an earlier run; the tests of results and stores run them.
OTHER_SCRIPTS = {f"docs/{name}.md" for name in ("experiment-files", "reading", "results", "store")}
#: Pages whose TOML blocks are complete experiments, with the number of blocks.
EXPERIMENTS = {"docs/experiments.md": 1, "docs/experiment-files.md": 2, "docs/rewards.md": 1}
#: Pages whose shell blocks and command tables are checked for unknown commands and options.
COMMANDS = [
    "README.md",
    *(
        f"docs/{name}.md"
        for name in (
            "agent",
            "agent-protocol",
            "command-line",
            "evaluation",
            "experiments",
            "graphs",
            "policies",
            "recommend",
            "reproduction",
            "rewards",
            "security",
            "service",
            "simulation",
        )
    ),
]


def text_of(page: str) -> str:
    return (ROOT / page).read_text("utf-8")


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text_of(page), re.DOTALL | re.MULTILINE)


def section(page: str, heading: str) -> str:
    return text_of(page).split(f"\n## {heading}\n")[1].split("\n## ")[0]


# --- code ---------------------------------------------------------------------------------------


@pytest.mark.process
@pytest.mark.parametrize("page", SCRIPTS)
def test_python_of_a_page_runs_in_an_empty_directory(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = blocks(page, "python")
    assert len(found) == SCRIPTS[page]
    names: dict[str, object] = {"__name__": "__main__"}
    for number, block in enumerate(found, 1):
        exec(compile(block, f"{page}, block {number}", "exec"), names)


def test_every_page_with_python_is_run() -> None:
    pages = {str(page.relative_to(ROOT)) for page in [ROOT / "README.md", *PAGES]}
    with_python = {page for page in pages if "```python" in text_of(page)}
    assert with_python == {"README.md", *SCRIPTS, *OTHER_SCRIPTS}


@pytest.mark.process
def test_python_of_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    decision, simulation = blocks("README.md", "python")
    names: dict[str, object] = {}
    exec(decision, names)
    assert names["decision"].arm == "ann"  # type: ignore[attr-defined]
    assert names["decision"].reveals == dict.fromkeys(  # type: ignore[attr-defined]
        ("ann", "bob", "eve", "joe"), 1.0
    )
    stored = graphbandits.Agent(store=tmp_path / "campaign.db").status()
    assert (stored["outcomes"], stored["open"]) == (3, 0)
    exec(simulation, names)
    assert (tmp_path / "my-results" / "manifest.json").is_file()


@pytest.mark.parametrize("page", ["docs/agent.md", "docs/graphs.md", *TUTORIALS])
def test_comment_of_a_print_starts_with_what_is_printed(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in blocks(page, "python"):
        exec(block, names)
        shown = capsys.readouterr().out.splitlines()
        comments = re.findall(r"^print\(.+\)(?:  # (.+))?$", block, re.MULTILINE)
        for line, comment in zip(shown, comments, strict=True):
            assert not comment or f"{comment}:".startswith(f"{line}:"), comment


@pytest.mark.parametrize("page", EXPERIMENTS)
def test_toml_of_a_page_is_a_valid_experiment(page: str, tmp_path: Path) -> None:
    found = blocks(page, "toml")
    assert len(found) == EXPERIMENTS[page]
    for number, block in enumerate(found):
        path = tmp_path / f"shown-{number}.toml"
        path.write_text(block, "utf-8")
        assert load_experiment(path).plans(trials=1)


def commands_of(page: str) -> list[str]:
    lines = [line for block in blocks(page, "sh") for line in block.splitlines()]
    lines += re.findall(r"^\| `(graphbandits .+?)` \|", text_of(page), re.MULTILINE)
    return [line for line in lines if line.startswith("graphbandits ")]


@pytest.mark.parametrize("page", COMMANDS)
def test_commands_of_a_page_exist(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = commands_of(page)
    assert found
    for line in found:
        for directory in ("my-study", "other-study"):
            (tmp_path / directory).mkdir(exist_ok=True)
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


# --- tables -------------------------------------------------------------------------------------


def policy_rows() -> list[tuple[str, str]]:
    return re.findall(r"^\| `([a-z0-9-]+)` \| .+ \| (.+?) \|$", text_of("docs/policies.md"), re.M)


def test_table_of_policies_has_all_policies_once() -> None:
    assert sorted(name for name, _ in policy_rows()) == sorted(registered("policy"))


def test_table_of_policies_gives_their_needs() -> None:
    words = {"before": "before", "after": "after", "never": "no"}
    entries = list_available("policies")["policies"]
    needs = {entry["name"]: entry["needs"] for entry in entries if "needs" in entry}
    for name, shown in policy_rows():
        if name == "floor":
            assert shown.startswith("those of its policy")
            continue
        need = needs[name]
        assert re.match(r"\w+", shown)[0] == words[need["graph"]], name  # type: ignore[index]
        assert ("0/1" in shown) == need["deterministic"], name
        assert ("fixed" in shown) == need["fixed"], name
        assert ("horizon" in shown) == need["horizon"], name


def test_table_of_experiments_has_all_experiments() -> None:
    rows = re.findall(
        r"^\| (`.*?`) \|", section("docs/experiments.md", "Run an experiment"), re.MULTILINE
    )
    names = sorted(re.findall(r"`([\w-]+)`", " ".join(rows)))
    assert names == [entry["name"] for entry in list_available("experiments")["experiments"]]


def test_regrets_of_the_readme_are_those_of_the_reproduction() -> None:
    pattern = r"^\| (`[\w-]+` \| \d.*±.*|`[\w-]+` \| +\|.*±.*) \|$"
    full = re.findall(pattern, text_of("docs/reproduction.md"), re.MULTILINE)
    core = re.findall(pattern, text_of("README.md"), re.MULTILINE)
    assert sum(row.count("±") for row in full) == 29
    assert len(core) == 5
    assert set(core) <= set(full)


# --- one source for facts -----------------------------------------------------------------------


def test_readme_is_a_landing_page() -> None:
    assert len(text_of("README.md").splitlines()) <= 150


def test_readme_lists_every_document_once() -> None:
    linked = re.findall(r"\]\((docs/[\w-]+\.md)\)", section("README.md", "Documentation"))
    assert sorted(linked) == [str(page.relative_to(ROOT)) for page in PAGES]


def test_citation_has_the_version_of_the_package() -> None:
    citation = text_of("CITATION.cff")
    assert re.findall(r"^version: (.+)$", citation, re.M) == [graphbandits.__version__]
    assert re.findall(r"^date-released: \d{4}-\d{2}-\d{2}$", citation, re.M)


def test_changelog_starts_with_the_version_of_the_package() -> None:
    newest = re.search(r"^## ([\d.]+) \((\d{4}-\d{2}-\d{2})\)$", text_of("CHANGELOG.md"), re.M)
    assert newest
    assert newest[1] == graphbandits.__version__
    assert f"date-released: {newest[2]}" in text_of("CITATION.cff")


def test_times_of_the_tests_are_in_contributing_only() -> None:
    time = re.compile(r"`make (quick|test)`[^.|]*\bminutes?\b")
    for page in DOCUMENTS:
        if page.name != "CONTRIBUTING.md":
            assert not time.search(page.read_text("utf-8")), page


def test_readme_has_no_version_number() -> None:
    assert graphbandits.__version__ not in text_of("README.md")


@pytest.mark.parametrize("fact", ["three minutes on two cores", "10 to 20 seconds of CPU time"])
def test_a_duration_is_stated_once(fact: str) -> None:
    text = " ".join(" ".join(page.read_text("utf-8").split()) for page in DOCUMENTS)
    assert text.count(fact) == 1


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


@pytest.mark.parametrize("page", DOCUMENTS, ids=lambda page: page.name)
def test_links_of_a_page_resolve(page: Path) -> None:
    text = re.sub(r"`[^`\n]*`", "", prose(page.read_text("utf-8")))
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), f"{page.name}: {target}"
        if anchor:
            assert anchor in anchors(file), f"{page.name}: {target}"
