"""Audit an experiment: check the paper's statements in every round of its simulations."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from graphbandits.engine import Plan
from graphbandits.engine._progress import JOINT_COMPILATION, announce_compilation, progress_bar
from graphbandits.engine.executors import available_cores
from graphbandits.engine.plan import point_text
from graphbandits.errors import InputError, check_integer
from graphbandits.experiments._texts import prefix_errors
from graphbandits.experiments.experiment import load_experiment
from graphbandits.plugins import load_plugin
from graphbandits.theory.auditor import Audit, audit, covered_policies

#: Default number of trials of an audit.
TRIALS = 100


@dataclass(frozen=True, eq=False)
class SimulationAudit:
    """The audit of one simulation of an experiment.

    Parameters
    ----------
    title
        Title of the simulation.
    plan
        The simulation.
    audit
        The result of the audit.
    seconds
        Run time.
    """

    title: str
    plan: Plan
    audit: Audit
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Return the audit as JSON data."""
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
    """The audits of all simulations of an experiment.

    Parameters
    ----------
    simulations
        One audit per simulation.
    """

    simulations: tuple[SimulationAudit, ...]

    @property
    def broken(self) -> list[str]:
        """One message for each violated statement."""
        return [sentence for one in self.simulations for sentence in one.audit.broken]

    @property
    def holds(self) -> bool:
        """Whether no statement is violated."""
        return not self.broken

    def to_dict(self) -> dict[str, Any]:
        """Return the audits as JSON data, the output of ``graphbandits audit --json``."""
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
        Name of a built-in experiment, or path of a TOML file.
    trials
        Trials per policy. Default: 100.
    seed
        Random seed. Default: the seed of the file.
    policies
        Additional policies to audit. Policies of the experiment that a theorem covers are always
        audited.
    plugins
        Plug-in files to load first.
    gain
        Information gain: "joint" (exact), "bound" (G h), or "auto" (joint if it is fast to
        compute, else bound).
    workers
        Number of threads. Default: one per core.
    progress
        Whether to show progress on standard error if it is a terminal.
    finished
        Callback that receives the audit of each simulation when it is finished.

    Returns
    -------
    ExperimentAudit
        The audits of all simulations.

    Raises
    ------
    InputError
        If the experiment is invalid or none of its policies is covered by a theorem.

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
        announce_compilation(JOINT_COMPILATION)
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
    """Yield titles and simulations with the policies to audit."""
    described = load_experiment(experiment)
    with prefix_errors(str(experiment)):
        for plan in described.plans(trials=trials, seed=seed, policies=policies):
            extra = {name: policy for name, policy in plan.policies.items() if name in policies}
            chosen = covered_policies(plan.policies) | extra
            if not chosen:
                raise InputError(
                    "no theorem covers any of its policies: add a policy, as in --policy ids-n"
                )
            title = described.title
            if plan.sweep is not None:
                title = f"{described.sweep_records()[plan.sweep].title}: {point_text(plan.point)}"
            yield title, replace(plan, policies=chosen)
