"""Tests of plugins.py: plug-ins from files and from installed packages."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers import SRC
from helpers.bad_input import check_refusal, refuses
from helpers.cases import each
from helpers.small_runs import PLUGIN_SOURCE, SMALL_RUN

from graphbandits import simulate
from graphbandits.errors import InputError, PolicyError
from graphbandits.plugins import code_of, file_of, load_plugin, unload_plugin
from graphbandits.policies import as_policy
from graphbandits.registry import name_of, register, registered

POLICY = '''
from dataclasses import dataclass
import numpy as np
from graphbandits.policies.thompson import TSN
from graphbandits.policies.thompson import TSNSampled
from graphbandits.registry import register

@register("policy", "scratch")
@dataclass(frozen=True)
class Scratch(TSN):
    """A policy from a file."""

    level: float = 1.0
'''


@pytest.fixture(autouse=True)
def nothing_stays_loaded(tmp_path: Path) -> Iterator[None]:
    before = {kind: registered(kind) for kind in ("policy", "graph", "posterior")}
    yield
    for file in tmp_path.glob("*.py"):
        unload_plugin(file)
    assert {kind: registered(kind) for kind in before} == before


def write(folder: Path, text: str, name: str = "mine.py") -> Path:
    file = folder / name
    file.write_text(text)
    return file


def test_file_registers_its_plug_ins(tmp_path: Path) -> None:
    file = write(tmp_path, POLICY)
    plugin = load_plugin(str(file))
    assert plugin.path == file.resolve()
    assert plugin.names == {"policy": ("scratch",)}
    policy = as_policy("scratch(level=0.5)")
    assert name_of(policy) == "scratch"
    assert file_of(policy) == file.resolve()
    assert file_of(as_policy("ts-n")) is None
    result = simulate(["scratch", "ts-n"], graph="paper", horizon=20, trials=3, seed=1)
    assert (result["scratch"].final == result["ts-n"].final).all()
    assert result.settings["policies"]["scratch"]["plugin"] == "mine.py"
    unload_plugin(file)
    with refuses(InputError, match="unknown policy 'scratch'"):
        as_policy("scratch")
    unload_plugin(file)  # a second call changes nothing


@each(
    ("text", "fact"),
    [
        ("x = 1\ny = = 2\n", r"mine\.py, line 2: invalid syntax"),
        ("x = 1\n\nprint(1 / 0)\n", r"mine\.py, line 3: ZeroDivisionError: division by zero"),
        ("import nowhere_to_be_found\n", r"mine\.py, line 1: ModuleNotFoundError: .*nowhere"),
        ("x = 1\n", r"mine\.py: it registers nothing: decorate a class with @register"),
        ("raise SystemExit(2)\n", r"mine\.py, line 1: SystemExit: 2"),
        (POLICY + "\nundefined\n", r"mine\.py, line 15: NameError"),
        (
            POLICY.replace('"scratch"', '"ids-n"'),
            r"line 8: .*'ids-n': IDSN of .*information_directed\.py and Scratch of .*mine\.py",
        ),
        (POLICY.replace('"policy"', '"polcy"'), r"line 8: .*'polcy': did you mean 'policy'\?"),
        (
            POLICY.replace("@dataclass(frozen=True)\nclass Scratch(TSN)", "class Scratch"),
            r"mine\.py, line 8: Scratch: .*@dataclass\(frozen=True\)",
        ),
        (POLICY + 'register("policy", "more")(TSN)\n', r"line 14: TSN .*'ts-n'.*'more'"),
    ],
)
def test_error_in_a_file_is_reported_with_its_line(tmp_path: Path, text: str, fact: str) -> None:
    with pytest.raises(InputError, match=fact) as caught:
        load_plugin(write(tmp_path, text))
    assert str(caught.value).startswith("cannot load the plug-in ")
    check_refusal(str(caught.value))
    assert "scratch" not in registered("policy")
    assert name_of(as_policy("ts-n")) == "ts-n"


def test_paths_that_are_not_python_files_are_refused(tmp_path: Path) -> None:
    with refuses(InputError):
        load_plugin(tmp_path / "none.py")
    with refuses(InputError):
        load_plugin(tmp_path)
    binary = tmp_path / "binary.py"
    for data in (b"\x00\x01\x02", b"\xff\xfe\x9c", bytes(range(256))):
        binary.write_bytes(data)
        with refuses(InputError):
            load_plugin(binary)
    text = write(tmp_path, POLICY, "policy.txt")
    with refuses(InputError):
        load_plugin(text)
    with refuses(InputError):
        load_plugin("null\0byte.py")


def test_name_registered_by_another_file_is_refused(tmp_path: Path) -> None:
    first, second = write(tmp_path, POLICY, "first.py"), write(tmp_path, POLICY, "second.py")
    load_plugin(first)
    with refuses(InputError, match="line 8: two classes are registered as policy 'scratch'"):
        load_plugin(second)
    assert file_of(as_policy("scratch")) == first.resolve()


def test_an_edited_file_replaces_what_it_registered(tmp_path: Path) -> None:
    file = write(tmp_path, POLICY)
    load_plugin(file)
    before = type(as_policy("scratch"))
    write(tmp_path, POLICY.replace('"scratch"', '"other"').replace("1.0", "2.0"))
    assert load_plugin(file).names == {"policy": ("other",)}
    assert as_policy("other").level == 2.0  # type: ignore[attr-defined]
    assert "scratch" not in registered("policy")
    assert type(as_policy("other")) is not before


def test_failed_reload_keeps_the_old_registrations(tmp_path: Path) -> None:
    file = write(tmp_path, POLICY)
    load_plugin(file)
    before = as_policy("scratch")
    for text in (POLICY + "1 / 0\n", "x = 1\n", "x = (\n"):
        write(tmp_path, text)
        with refuses(InputError):
            load_plugin(file)
        assert type(as_policy("scratch")) is type(before)
        assert file_of(before) == file.resolve()
        assert sys.modules[type(before).__module__].Scratch is type(before)


def test_code_of_a_plug_in_has_the_hash_of_the_modules_that_it_imports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    friend = write(tmp_path, "level = 1.0\n", "friend_of_mine.py")
    load_plugin(write(tmp_path, f"import friend_of_mine\n{POLICY}"))
    digest = hashlib.sha256(friend.read_bytes()).hexdigest()
    assert f"module friend_of_mine {digest}" in code_of([type(as_policy("scratch"))])


def test_ctrl_c_while_loading_is_not_swallowed(tmp_path: Path) -> None:
    file = write(tmp_path, POLICY + "raise KeyboardInterrupt\n")
    with pytest.raises(KeyboardInterrupt):
        load_plugin(file)
    assert "scratch" not in registered("policy")


def test_a_class_has_one_name() -> None:
    ts_n = registered("policy")["ts-n"]
    with refuses(InputError, match="TSN is already registered as 'ts-n', and a class has one name"):
        register("policy", "ts-n-again")(ts_n)
    assert register("policy", "ts-n")(ts_n) is ts_n


def test_an_error_in_a_policy_names_the_line_of_its_file(tmp_path: Path) -> None:
    text = POLICY + "\n    def update(self, state, event):\n        return state['misspelt']\n"
    load_plugin(write(tmp_path, text))
    message = r"policy 'scratch' failed in round 1, in update: .*mine\.py, line 16: KeyError"
    with pytest.raises(PolicyError, match=message):
        simulate("scratch", horizon=3, trials=1)


def install(folder: Path, package: str, text: str, target: str = "") -> None:
    """Write a module and the metadata of an installed package."""
    folder.mkdir(exist_ok=True)
    (folder / f"{package}.py").write_text(text)
    info = folder / f"{package}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        f"[graphbandits.plugins]\n{package} = {target or package}\n"
    )


def run(script: str, *paths: Path, flags: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    source = SRC
    path = os.pathsep.join(map(str, (source, *paths)))
    return subprocess.run(
        [sys.executable, *flags, "-c", script],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=120,
    )


ASK = """
from graphbandits.registry import registered
print(*registered("policy"), *registered("graph"))
"""


def test_installed_package_registers_its_plug_ins(tmp_path: Path) -> None:
    install(tmp_path / "site", "bandit_friends", POLICY)
    done = run(ASK, tmp_path / "site")
    assert done.returncode == 0, done.stderr
    assert {"scratch", "ts-n", "paper"} <= set(done.stdout.split())
    assert done.stderr == ""


def test_broken_packages_are_ignored_with_a_warning(tmp_path: Path) -> None:
    broken = {
        "foe_raises": (POLICY + "1 / 0\n", "", "ZeroDivisionError: division by zero"),
        "foe_target": (POLICY, "foe_target:missing", "AttributeError: .*missing"),
        "foe_name": (
            POLICY.replace('"scratch"', '"ts-n"'),
            "",
            "InputError: .* policy 'ts-n': TSN of .*Scratch of .*foe_name",
        ),
        "foe_syntax": ("x = (\n", "", "SyntaxError: "),
        "foe_gone": ("", "nowhere_to_be_found", "ModuleNotFoundError: No module named 'nowhere"),
    }
    for package, (text, target, _) in broken.items():
        install(tmp_path / "site", package, text, target)
    install(tmp_path / "site", "friend", POLICY.replace('"scratch"', '"friend"'))
    done = run(ASK, tmp_path / "site")
    assert done.returncode == 0, done.stderr
    assert {"friend", "ts-n", "paper"} <= set(done.stdout.split())
    assert "scratch" not in done.stdout.split()
    for package, (_, _, reason) in broken.items():
        warning = f"the plug-in '{package}' of the package {package} is ignored: {reason}"
        assert re.search(warning, done.stderr), done.stderr


def test_edited_plugin_changes_only_after_reloading(tmp_path: Path) -> None:
    file = tmp_path / "edited.py"
    file.write_text(PLUGIN_SOURCE.replace("ARM", "0"))
    before = load_plugin(file).source
    try:
        run = simulate("edited", **SMALL_RUN)
        file.write_text(PLUGIN_SOURCE.replace("ARM", "1"))
        again = simulate("edited", **SMALL_RUN)
        assert (run["edited"].final == again["edited"].final).all()
        assert again.settings["policies"]["edited"]["source"] == before
        apart = simulate("edited", **SMALL_RUN, workers=2, block=3)
        assert (run["edited"].final == apart["edited"].final).all()
        assert load_plugin(file).source != before
        assert (simulate("edited", **SMALL_RUN)["edited"].final != run["edited"].final).any()
    finally:
        unload_plugin(file)


def test_plugin_that_uses_another_runs_in_worker_processes(tmp_path: Path) -> None:
    (tmp_path / "inner.py").write_text(PLUGIN_SOURCE.replace("ARM", "1").replace("edited", "inner"))
    outer = textwrap.dedent(
        '''
        from dataclasses import dataclass
        from typing import ClassVar
        from graphbandits.policies import Needs, as_policy
        from graphbandits.registry import register

        @register("policy", "outer")
        @dataclass(frozen=True)
        class Outer:
            """As another."""
            inner: str = "inner"
            needs: ClassVar[Needs] = Needs()
            exact: ClassVar[bool] = True
            def init(self, problem, keys):
                return as_policy(self.inner).init(problem, keys)
            def propose(self, state, view):
                return as_policy(self.inner).propose(state, view)
            def update(self, state, event):
                return state
        '''
    )
    (tmp_path / "outer.py").write_text(outer)
    try:
        for name in ("inner", "outer"):
            load_plugin(tmp_path / f"{name}.py")
        alone = simulate("outer", **SMALL_RUN)
        apart = simulate("outer", **SMALL_RUN, workers=2, block=3, parallel="processes")
        assert (alone["outer"].final == apart["outer"].final).all()
    finally:
        for name in ("inner", "outer"):
            unload_plugin(tmp_path / f"{name}.py")
