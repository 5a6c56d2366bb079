"""Checks, verdicts and exemptions.

A check is a function of a plug-in that raises :class:`ContractViolation`. A class may excuse itself from
a check, with a reason, as data::

    exemptions: ClassVar[dict[str, str]] = {"beats-uniform": "it is uniform"}

An excuse that is no longer needed fails, so that exemptions do not outlive their reasons.
"""

from __future__ import annotations

import importlib
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from graphbandits.engine._progress import announce_compilation
from graphbandits.errors import GraphBanditsError, InputError, nearest
from graphbandits.plugins import blame, load_plugin, source_file
from graphbandits.registry import PACKAGES, build, examples_of, name_of, registered, text_of


class ContractViolation(GraphBanditsError, AssertionError):  # noqa: N818  it is a verdict, not a mishap
    """A promise that a plug-in does not keep: what it did, where, and what to do."""


@dataclass(frozen=True)
class Check:
    """One promise of the contract of a kind of plug-in."""

    kind: str
    name: str
    promise: str
    run: Callable[[Any], None]

    def __str__(self) -> str:
        return self.name


_CHECKS: dict[str, dict[str, Check]] = {kind: {} for kind in PACKAGES}


def check(kind: str, name: str) -> Callable[[Callable[[Any], None]], Callable[[Any], None]]:
    """Make a function a check of the contract; its docstring begins with the promise."""

    def enrol(run: Callable[[Any], None]) -> Callable[[Any], None]:
        promise = " ".join((run.__doc__ or "").split("\n\n")[0].split())
        _CHECKS[kind][name] = Check(kind, name, promise, run)
        return run

    return enrol


def contract(kind: str) -> list[Check]:
    """The checks that a plug-in of a kind must pass.

    >>> [check.name for check in contract("posterior")][-3:]
    ['sample', 'refuses-rewards', 'refuses-states']
    """
    if kind not in _CHECKS:
        raise InputError(f"no kind of plug-in '{kind}': {nearest(kind, _CHECKS)}")
    importlib.import_module(f"graphbandits.testing.{kind}_checks")
    return list(_CHECKS[kind].values())


@dataclass(frozen=True)
class Verdict:
    """What came of one check.

    ``outcome``: "kept", "broken", "excused", or "needless" for an excuse without need.
    """

    check: Check
    plugin: str
    outcome: str
    why: str = ""
    example: Any = field(default=None, repr=False, compare=False)  # the plug-in that was tried

    @property
    def ok(self) -> bool:
        return self.outcome in ("kept", "excused")

    def to_dict(self) -> dict[str, str]:
        """Plain texts, as ``graphbandits check --json`` prints them."""
        return {
            "plugin": self.plugin,
            "kind": self.check.kind,
            "check": self.check.name,
            "promise": self.check.promise,
            "outcome": self.outcome,
            "why": self.why,
        }


@dataclass(frozen=True)
class Case:
    """A check and a plug-in to try it on."""

    check: Check
    plugin: Any

    def __str__(self) -> str:
        return f"{self._text}-{self.check.name}"

    @property
    def _text(self) -> str:
        # a posterior is made of arrays, and has no text form
        return name_of(self.plugin) if self.check.kind == "posterior" else text_of(self.plugin)

    def verdict(self) -> Verdict:
        """Run the check; an error inside the plug-in breaks it as well."""
        broken = ""
        with warnings.catch_warnings():  # of numbers: what counts is what comes out
            warnings.simplefilter("ignore", RuntimeWarning)
            try:
                self.check.run(self.plugin)
            except GraphBanditsError as error:
                broken = str(error)
            except (Exception, SystemExit) as error:
                broken = blame(error, source_file(type(self.plugin)))
        excuse = _excuses(self.plugin).get(self.check.name)
        if excuse is None:
            return self._verdict("broken" if broken else "kept", broken)
        if broken:
            return self._verdict("excused", f"{excuse} (found: {broken})")
        if any(self._breaks(other) for other in examples_of(type(self.plugin))):
            return self._verdict("kept", "")  # another example needs the excuse
        why = f"it keeps this promise: take '{self.check.name}' out of its exemptions ({excuse})"
        return self._verdict("needless", why)

    def _breaks(self, other: Any) -> bool:
        """Whether another example of the class needs the excuse."""
        if other == self.plugin:
            return False
        try:
            self.check.run(other)
        except (Exception, SystemExit):
            return True
        return False

    def require(self) -> None:
        """Raise :class:`ContractViolation` unless the check passes."""
        verdict = self.verdict()
        if not verdict.ok:
            raise ContractViolation(f"{verdict.plugin}, {self.check.name}: {verdict.why}")

    def _verdict(self, outcome: str, why: str) -> Verdict:
        return Verdict(self.check, self._text, outcome, why, self.plugin)


def cases(kind: str, *plugins: Any) -> list[Case]:
    """Every check of a kind with every plug-in: those given, else all examples of all enrolled.

    >>> from graphbandits.policies import as_policy
    >>> [str(case) for case in cases("policy", as_policy("ts-n"))][:2]
    ['ts-n-form', 'ts-n-state']
    """
    checks = contract(kind)
    chosen = plugins or [
        example for cls in registered(kind).values() for example in examples_of(cls)
    ]
    return [Case(one, plugin) for plugin in chosen for one in checks]


def check_plugins(
    targets: Sequence[str | Path],
    *,
    only: Sequence[str] = (),
    progress: bool = False,
    finished: Callable[[Verdict], None] | None = None,
) -> list[Verdict]:
    """Run the contract on plug-ins.

    Parameters
    ----------
    targets
        Python files with plug-ins, or names of plug-ins, with or without parameters.
    only
        The checks to run; all if empty.
    progress
        Whether to say on a terminal that the first call compiles.
    finished
        Called with each verdict as soon as it is known.

    Examples
    --------
    >>> [verdict.outcome for verdict in check_plugins(["ts-n"], only=["form", "simplex"])]
    ['kept', 'kept']
    """
    chosen = [plugin for target in targets for plugin in _plugins(str(target))]
    known = {check.name for kind, _ in chosen for check in contract(kind)}
    for name in only:
        if name not in known:
            raise InputError(f"no check '{name}': {nearest(name, known)}")
    if progress:
        announce_compilation()
    verdicts = []
    for kind, plugin in chosen:
        for case in cases(kind, plugin):
            if not only or case.check.name in only:
                verdicts.append(case.verdict())
                if finished is not None:
                    finished(verdicts[-1])
    return verdicts


def _plugins(target: str) -> Iterator[tuple[str, Any]]:
    """(kind, example) of everything in a file, or of a name."""
    if target.endswith(".py") or os.path.isfile(target):
        for kind, names in load_plugin(target).names.items():
            for name in names:
                yield from ((kind, example) for example in examples_of(registered(kind)[name]))
        return
    name = target.partition("(")[0].strip()
    kinds = [kind for kind in PACKAGES if name in registered(kind)]
    if not kinds:
        everything = [name for kind in PACKAGES for name in registered(kind)]
        raise InputError(
            f"'{target}' is neither a Python file nor a known name: {nearest(name, everything)}"
        )
    for kind in kinds:
        given = [build(kind, target)] if "(" in target else examples_of(registered(kind)[name])
        yield from ((kind, plugin) for plugin in given)


def _excuses(plugin: object) -> Mapping[str, str]:
    exemptions = getattr(plugin, "exemptions", {})
    return exemptions if isinstance(exemptions, Mapping) else {}


def check_form(kind: str, plugin: Any) -> None:
    """What all kinds share: a documented, enrolled class, and exemptions that mean something."""
    cls = type(plugin)
    if registered(kind).get(name_of(plugin)) is not cls:
        raise ContractViolation(
            f"{cls.__name__} is not enrolled: write @register('{kind}', 'its-name')"
        )
    sentence = (cls.__doc__ or "").strip().split("\n\n")[0]
    if not sentence.endswith(".") or sentence.startswith(f"{cls.__name__}("):
        raise ContractViolation(
            f"{cls.__name__} does not say what it is: its docstring begins with one sentence "
            "that ends with a full stop"
        )
    if hasattr(plugin, "excuses"):
        raise ContractViolation("excuses is now called exemptions: rename it")
    exemptions = getattr(plugin, "exemptions", {})
    if not isinstance(exemptions, Mapping):
        raise ContractViolation(
            f"exemptions is {exemptions!r}: write {{'name of the check': 'the reason'}}"
        )
    known = [one.name for one in contract(kind)]
    for name, reason in _excuses(plugin).items():
        if name not in known:
            raise ContractViolation(
                f"it is exempt from '{name}', which is no check: {nearest(str(name), known)}"
            )
        if not isinstance(reason, str) or not reason.strip():
            raise ContractViolation(
                f"its excuse from '{name}' has no reason: say why in a sentence"
            )
