"""``graphbandits new``: starting files."""

from __future__ import annotations

import keyword
import re
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

from graphbandits.cli.show import plain_console
from graphbandits.errors import InputError
from graphbandits.files import write_text
from graphbandits.registry import registered


def write_policy(name: str, output: Path | None) -> None:
    """Write the template with the policy's name in it; a file that exists is left alone."""
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
    if target.exists():
        raise InputError(f"{target} exists: choose another name with --output")
    template = files(__package__).joinpath("policy_template.txt").read_text("utf-8")
    write_text(target, template.replace("@@NAME@@", name).replace("@@CLASS@@", class_name))
    console = plain_console()
    console.print(f"Wrote {target}. Next:")
    console.print(f"  graphbandits check {target}")
    console.print(
        f"  graphbandits simulate --plugin {target} --policy {name} --policy ids-n "
        "--graph paper --horizon 300 --trials 100",
        soft_wrap=True,
    )


def _is_taken(stem: str) -> bool:
    """Whether a module of this name comes from elsewhere than here."""
    spec = find_spec(stem)
    return spec is not None and Path(spec.origin or "").parent != Path.cwd()
