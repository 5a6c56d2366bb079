"""``graphbandits new``: starting files."""

from __future__ import annotations

import keyword
import re
import shlex
from collections.abc import Mapping
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

from graphbandits.cli.show import plain_console
from graphbandits.errors import InputError
from graphbandits.experiments import experiment_names
from graphbandits.experiments.texts import file_part
from graphbandits.files import write_text
from graphbandits.registry import registered


def write_policy(name: str, output: Path | None) -> None:
    """Write the template with the policy's name in it."""
    words = [word for word in re.split(r"[-_.]+", name) if word]
    if not re.fullmatch(r"[a-z][a-z0-9_.\-]*", name) or not words:
        raise InputError(
            f"a policy's name has small letters, digits and '-', and begins with a letter, such "
            f"as my-ucb; not '{name}'"
        )
    if name in registered("policy"):
        raise InputError(f"there is a policy '{name}' already: choose another name")
    stem, class_name = "_".join(words), "".join(word.capitalize() for word in words)
    if keyword.iskeyword(class_name):
        class_name += "Policy"
    if keyword.iskeyword(stem) or _is_taken(stem):
        stem += "_policy"  # a file named like a module would be imported in its place
    target = output or Path(f"{stem}.py")
    _write(target, "policy_template.txt", {"NAME": name, "CLASS": class_name})
    console = plain_console()
    console.print(f"Wrote {target}. Next:")
    console.print(f"  graphbandits check {target}")
    console.print(
        f"  graphbandits simulate --plugin {target} --policy {name} --policy ids-n "
        "--graph paper --horizon 300 --trials 100",
        soft_wrap=True,
    )


def write_experiment(name: str, output: Path | None) -> None:
    """Write the template with the experiment's name as its title."""
    if file_part(name) != name:
        raise InputError(
            f"an experiment's name has letters, digits, points and signs, such as "
            f"{file_part(name) or 'my-study'}; not '{name}'"
        )
    if name in experiment_names():
        raise InputError(f"there is an experiment '{name}' already: choose another name")
    target = output or Path(f"{name}.toml")
    _write(target, "experiment_template.txt", {"NAME": name})
    console = plain_console()
    console.print(f"Wrote {target}. Next:")
    for options in ("--dry-run", ""):
        command = shlex.join(["graphbandits", "run", str(target), *options.split()])
        console.print(f"  {command}", soft_wrap=True)


def _write(target: Path, template: str, names: Mapping[str, str]) -> None:
    """Write a template with names in it; a file that exists is left alone."""
    if target.exists():
        raise InputError(f"{target} exists: choose another name with --output")
    text = files(__package__).joinpath(template).read_text("utf-8")
    for key, name in names.items():
        text = text.replace(f"@@{key}@@", name)
    write_text(target, text)


def _is_taken(stem: str) -> bool:
    """Whether a module of this name comes from elsewhere than here."""
    spec = find_spec(stem)
    return spec is not None and Path(spec.origin or "").parent != Path.cwd()
