"""Audit an experiment: the paper's statements, checked in every round of its simulations."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from graphbandits.engine import Plan
from graphbandits.engine._progress import announce_compilation, progress_bar
from graphbandits.engine.plan import point_text
from graphbandits.errors import InputError, check_integer
from graphbandits.experiments._texts import errors_at
from graphbandits.experiments.experiment import load_experiment
from graphbandits.experiments.run import available_cores
from graphbandits.plugins import load_plugin
from graphbandits.theory.auditor import Audit, audit, covered_policies

#: Trials of an audit, if not given: every round of each is checked.
TRIALS = 100


@dataclass(frozen=True, eq=False)
class SimulationAudit:
    """The audit of one simulation of an experiment."""

    title: str
    plan: Plan
    audit: Audit
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers."""
        plan = self.plan
        return {
            "policies": list(plan.policies),
            "graph": plan.graph_text,
            "horizon": plan.horizon,
            "trials": plan.trials,
            "seed": plan.seed,
        } | self.audit.to_dict()


@dataclass(frozen=True, eq=False)
class ExperimentAudit:
    """The audits of all simulations of an experiment."""

    simulations: tuple[SimulationAudit, ...]

    @property
    def broken(self) -> list[str]:
        """All that does not hold, a sentence for each."""
        return [sentence for one in self.simulations for sentence in one.audit.broken]

    @property
    def holds(self) -> bool:
        """Whether no statement is violated."""
        return not self.broken

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, as ``graphbandits audit --json`` prints them."""
        audits = {one.title: one.to_dict() for one in self.simulations}
        return {"holds": self.holds, "audits": audits}


def audit_experiment(
    experiment: str | Path,
    *,
    trials: int | None = None,
    seed: int | None = None,
    policies: Sequence[str] = (),
    plugins: Sequence[str | Path] = (),
    gain: str = "auto",
    workers: int | None = None,
    progress: bool = True,
    finished: Callable[[SimulationAudit], None] | None = None,
) -> ExperimentAudit:
    """Check the paper's statements in every round of an experiment.

    Parameters
    ----------
    experiment
        The name of an experiment of this package, or the path of a TOML file.
    trials, seed
        Trials of each policy, 100 if not given, and the seed in place of that of the file.
    policies
        Policies to audit besides those of the experiment that a theorem is about.
    plugins
        Plug-in files to load first.
    gain
        The information gain: "joint" (exact), "bound" (G h), or "auto": joint where it is quick.
    workers
        Threads; one for each core if not given.
    progress
        Whether to show progress on standard error, if it is a terminal.
    finished
        Called with the audit of each simulation as soon as it is finished.

    Examples
    --------
    >>> audit_experiment("paper-1a", trials=20).holds  # doctest: +SKIP
    True
    """
    for path in plugins:
        load_plugin(path)
    count = available_cores() if workers is None else check_integer(workers, "workers")
    plans = dict(_plans(experiment, TRIALS if trials is None else trials, seed, policies))
    if progress:
        announce_compilation("a minute")
    found = []
    for title, plan in plans.items():
        start = time.perf_counter()
        with progress_bar(title, plan.decisions, show=progress) as advance:
            outcome = audit(plan, gain=gain, workers=count, progress=advance)
        found.append(SimulationAudit(title, plan, outcome, time.perf_counter() - start))
        if finished is not None:
            finished(found[-1])
    return ExperimentAudit(tuple(found))


def _plans(
    experiment: str | Path, trials: int, seed: int | None, policies: Sequence[str]
) -> Iterator[tuple[str, Plan]]:
    """Titles and simulations, with the policies that a theorem is on and those asked for."""
    described = load_experiment(experiment)
    with errors_at(str(experiment)):
        for plan in described.plans(trials=trials, seed=seed, policies=policies):
            asked = {name: policy for name, policy in plan.policies.items() if name in policies}
            wanted = covered_policies(plan.policies) | asked
            if not wanted:
                raise InputError(
                    "none of its policies has a theorem: name one, as in --policy ids-n"
                )
            title = described.title
            if plan.sweep is not None:
                title = f"{described.swept()[plan.sweep].title}: {point_text(plan.point)}"
            yield title, replace(plan, policies=wanted)
