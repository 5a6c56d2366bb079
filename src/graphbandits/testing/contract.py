"""Checks of plug-ins, their verdicts, and exemptions.

A check is a function of a plug-in that raises :class:`ContractViolation`. A class may declare an
exemption from a check, with a reason::

    exemptions: ClassVar[dict[str, str]] = {"beats-uniform": "it is the uniform policy"}

An exemption that is not needed is a failure.
"""

from __future__ import annotations

import importlib
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from graphbandits.errors import GraphBanditsError, InputError, nearest
from graphbandits.plugins import load_plugin, locate_error, source_file
from graphbandits.registry import PACKAGES, build, examples_of, name_of, registered, text_of
from graphbandits.simulation.progress import announce_compilation


class ContractViolation(GraphBanditsError, AssertionError):  # noqa: N818  a verdict, not a program error
    """A failed check of a plug-in: what happened, where, and what to do."""


#: Modules with the checks of each kind of plug-in.
_MODULES = {"policy": "policies", "graph": "graphs", "posterior": "posteriors", "world": "worlds"}


@dataclass(frozen=True)
class Check:
    """A check of one kind of plug-in.

    Parameters
    ----------
    kind : {"policy", "graph", "posterior", "world"}
        The kind of plug-in.
    name : str
        The name of the check.
    promise : str
        The property that the check tests, in one sentence.
    run : callable
        Function of a plug-in that raises :class:`ContractViolation` if the check fails.
    """

    kind: str
    name: str
    promise: str
    run: Callable[[Any], None]

    def __str__(self) -> str:
        return self.name


_CHECKS: dict[str, dict[str, Check]] = {kind: {} for kind in PACKAGES}


def check(kind: str, name: str) -> Callable[[Callable[[Any], None]], Callable[[Any], None]]:
    """Register a function as a check; the first paragraph of its docstring is ``promise``."""

    def add(run: Callable[[Any], None]) -> Callable[[Any], None]:
        promise = " ".join((run.__doc__ or "").split("\n\n")[0].split())
        _CHECKS[kind][name] = Check(kind, name, promise, run)
        return run

    return add


def contract(kind: str) -> list[Check]:
    """Return the checks of a kind of plug-in, in the order in which they run.

    >>> [check.name for check in contract("posterior")][:3]
    ['form', 'bayes', 'batch']
    """
    if kind not in _CHECKS:
        raise InputError(f"unknown kind of plug-in '{kind}': {nearest(kind, _CHECKS)}")
    importlib.import_module(f"graphbandits.testing.{_MODULES[kind]}")
    return list(_CHECKS[kind].values())


@dataclass(frozen=True)
class Verdict:
    """Result of one check of one plug-in.

    Parameters
    ----------
    check : Check
        The check.
    plugin : str
        The text form of the plug-in.
    outcome : {"passed", "failed", "exempt", "needless"}
        "exempt" is a failure with a declared exemption; "needless" is an exemption from a check
        that passes.
    why : str
        The reason of a failure, or the declared reason of an exemption.
    example : object, optional
        The plug-in.
    """

    check: Check
    plugin: str
    outcome: str
    why: str = ""
    example: Any = field(default=None, repr=False, compare=False)

    @property
    def ok(self) -> bool:
        """Whether the outcome is acceptable: passed or exempt."""
        return self.outcome in ("passed", "exempt")

    def to_dict(self) -> dict[str, str]:
        """Return the verdict as printed by ``graphbandits check --json``."""
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
    """A check and a plug-in to run it on."""

    check: Check
    plugin: Any

    def __str__(self) -> str:
        return f"{self._text}-{self.check.name}"

    @property
    def _text(self) -> str:
        # the parameters of posteriors and worlds are arrays
        by_arm = self.check.kind in ("posterior", "world")
        return name_of(self.plugin) if by_arm else text_of(self.plugin)

    def verdict(self) -> Verdict:
        """Run the check; any error of the plug-in is a failure."""
        failure = ""
        with warnings.catch_warnings():  # numerical warnings: only the results count
            warnings.simplefilter("ignore", RuntimeWarning)
            try:
                self.check.run(self.plugin)
            except GraphBanditsError as error:
                failure = str(error)
            except (Exception, SystemExit) as error:
                failure = locate_error(error, source_file(type(self.plugin)))
        reason = _exemptions(self.plugin).get(self.check.name)
        if reason is None:
            return self._verdict("failed" if failure else "passed", failure)
        if failure:
            return self._verdict("exempt", f"{reason} (found: {failure})")
        if any(self._fails(other) for other in examples_of(type(self.plugin))):
            return self._verdict("passed", "")  # another example needs the exemption
        why = f"the check passes: remove '{self.check.name}' from its exemptions ({reason})"
        return self._verdict("needless", why)

    def _fails(self, other: Any) -> bool:
        """Return whether another example of the class needs the exemption."""
        if other == self.plugin:
            return False
        try:
            self.check.run(other)
        except (Exception, SystemExit):
            return True
        return False

    def require(self) -> None:
        """Run the check; raise :class:`ContractViolation` if the verdict is not ok."""
        verdict = self.verdict()
        if not verdict.ok:
            raise ContractViolation(f"{verdict.plugin}, {self.check.name}: {verdict.why}")

    def _verdict(self, outcome: str, why: str) -> Verdict:
        return Verdict(self.check, self._text, outcome, why, self.plugin)


def cases(kind: str, *plugins: Any) -> list[Case]:
    """Return every check of a kind with every plug-in; by default all examples of all classes.

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
    """Run the contract tests on plug-ins.

    Parameters
    ----------
    targets : sequence of str or Path
        Python files with plug-ins, or names of plug-ins, with or without parameters.
    only : sequence of str
        Names of the checks to run; all if empty.
    progress : bool
        Whether to announce the compilation of kernels on a terminal.
    finished : callable, optional
        Called with each verdict when its check ends.

    Returns
    -------
    list of Verdict
        The verdicts.

    Examples
    --------
    >>> [verdict.outcome for verdict in check_plugins(["ts-n"], only=["form", "simplex"])]
    ['passed', 'passed']
    """
    chosen = [plugin for target in targets for plugin in _plugins(str(target))]
    known = {check.name for kind, _ in chosen for check in contract(kind)}
    for name in only:
        if name not in known:
            raise InputError(f"unknown check '{name}': {nearest(name, known)}")
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
    """Yield (kind, example) for all plug-ins of a file, or of a name."""
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
        # posteriors and worlds have parameters for a number of arms
        arms = 3 if kind in ("posterior", "world") else None
        given = (
            [build(kind, target, arms)] if "(" in target else examples_of(registered(kind)[name])
        )
        yield from ((kind, plugin) for plugin in given)


def _exemptions(plugin: object) -> Mapping[str, str]:
    exemptions = getattr(plugin, "exemptions", {})
    return exemptions if isinstance(exemptions, Mapping) else {}


def check_form(kind: str, plugin: Any) -> None:
    """Check what all kinds share: registration, docstring and exemptions."""
    cls = type(plugin)
    if registered(kind).get(name_of(plugin)) is not cls:
        raise ContractViolation(
            f"{cls.__name__} is not registered: write @register('{kind}', 'its-name')"
        )
    sentence = (cls.__doc__ or "").strip().split("\n\n")[0]
    if not sentence.endswith(".") or sentence.startswith(f"{cls.__name__}("):
        raise ContractViolation(
            f"{cls.__name__} has no description: start its docstring with one sentence that ends "
            "with a period"
        )
    exemptions = getattr(plugin, "exemptions", {})
    if not isinstance(exemptions, Mapping):
        raise ContractViolation(
            f"exemptions must be a dict {{'name of the check': 'reason'}}, not {exemptions!r}"
        )
    known = [one.name for one in contract(kind)]
    for name, reason in _exemptions(plugin).items():
        if name not in known:
            raise ContractViolation(
                f"its exemptions name an unknown check '{name}': {nearest(str(name), known)}"
            )
        if not isinstance(reason, str) or not reason.strip():
            raise ContractViolation(
                f"its exemption from '{name}' has no reason: give the reason in a sentence"
            )


def check_text(kind: str, plugin: Any) -> None:
    """Check that the text form creates an equal plug-in."""
    text = text_of(plugin)
    if build(kind, text) != plugin:
        raise ContractViolation(
            f"its text form '{text}' creates {build(kind, text)!r}, not {plugin!r}"
        )


def check_created_by_text(kind: str, plugin: Any) -> None:
    """Check that the name and a number of arms create a plug-in, unless parameters are missing."""
    try:
        made = build(kind, name_of(plugin), arms=5)
    except InputError:
        if hasattr(plugin, "of"):
            raise
        return
    if made.arms != 5:
        raise ContractViolation(
            f"'{name_of(plugin)}' for 5 arms has {made.arms}: of(arms, ...) must return a {kind} "
            "with this number of arms"
        )
