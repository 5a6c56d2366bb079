"""``graphbandits new``: starting files."""

from __future__ import annotations

import keyword
import re
from importlib.resources import files
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
    stem = "_".join(words)
    if keyword.iskeyword(stem):
        stem += "_policy"
    target = output or Path(f"{stem}.py")
    if target.exists():
        raise InputError(f"{target} exists: choose another name with --output")
    template = files(__package__).joinpath("policy_template.txt").read_text("utf-8")
    class_name = "".join(word.capitalize() for word in words)
    write_text(target, template.replace("@@NAME@@", name).replace("@@CLASS@@", class_name))
    console = plain_console()
    console.print(f"Wrote {target}. Next:")
    console.print(f"  graphbandits check {target}")
    console.print(
        f"  graphbandits simulate --plugin {target} --policy {name} --policy ids-n "
        "--graph paper --horizon 300 --trials 100",
        soft_wrap=True,
    )
