"""Run experiments, reproduce the paper, save results, audit an experiment."""

from __future__ import annotations

import shlex
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path
from typing import Any

from graphbandits._files import make_directory
from graphbandits.errors import InputError, InputWarning, check_integer, nearest
from graphbandits.plugins import load_plugin
from graphbandits.simulation.identity import cpu_name
from graphbandits.simulation.plan import Plan, Task, point_text
from graphbandits.simulation.progress import (
    JOINT_COMPILATION,
    Advance,
    announce_compilation,
    progress_bar,
)
from graphbandits.simulation.results import Results
from graphbandits.simulation.run import Failure, WorkerOptions, compute_missing
from graphbandits.simulation.shard import Shard
from graphbandits.simulation.workers import available_cores
from graphbandits.study.directory import (
    MANIFEST,
    Directory,
    StudyRecord,
    tasks_of_plans,
)
from graphbandits.study.experiment import Experiment, load_experiment, prefix_errors
from graphbandits.study.study import Study
from graphbandits.theory.audit import Audit, audit, covered_policies

#: More worker processes than this are considered a typing error.
MAX_WORKERS = 10_000
#: The figures of the paper; each is a built-in experiment.
FIGURES = ("1a", "1b", "2a", "2b")
TITLE = "Information-directed sampling on feedback graphs: the paper's experiments"
INTRODUCTION = (
    "The four experiments of F. Liu, S. Buccapatnam and N. Shroff, Information Directed Sampling "
    "for Stochastic Bandits with Graph Feedback (AAAI 2018), run again. Regret is the expected "
    "loss of reward compared with always playing the best arm. All policies were run with the same "
    "arms, graphs and outcomes, so differences between policies are more precise than their means."
)


class IncompleteStudyError(InputError):
    """Some trials could not be computed.

    Attributes
    ----------
    studies : the studies with the trials that were computed
    failures : the failed shards
    """

    def __init__(self, message: str, studies: list[Study], failures: list[Failure]) -> None:
        super().__init__(message)
        self.studies, self.failures = studies, failures


def run_experiment(
    experiment: str | Path | Experiment,
    *,
    output: str | Path | None = None,
    trials: int | None = None,
    seed: int | None = None,
    policies: Sequence[str] = (),
    plugins: Sequence[str | Path] = (),
    bounds: bool = False,
    ratios: str | None = None,
    workers: int | None = None,
    cluster: str | None = None,
    shard: int | None = None,
    formats: Sequence[str] | None = None,
    pages: bool = True,
    dry_run: bool = False,
    progress: Advance | bool = True,
) -> Study:
    """Run an experiment and store its results.

    Finished trials are stored. The same call continues an interrupted run, and a run with more
    trials or policies computes only the missing trials.

    Parameters
    ----------
    experiment
        Name of a built-in experiment, path of a TOML file, or an :class:`Experiment`.
    output
        Directory for the results, figures and report. Default: named after the experiment.
    trials, seed
        Trials per policy, and random seed. Default: from the file.
    policies
        Additional policies to run.
    plugins
        Plug-in files to load first.
    bounds
        Whether figures show the regret bounds; not for experiments with sweeps.
    ratios
        Record information ratios: "bound" or "joint", see :func:`graphbandits.simulate`.
    workers
        Number of worker processes. Default: one thread or process per core, depending on the work.
    cluster
        Address of a dask scheduler, such as "tcp://192.168.1.5:8786".
    shard
        Trials per shard. Default: depends on the size of the work.
    formats
        File formats of the figures: "png", "svg" and "pdf", or some of them. Default: all.
    pages
        Whether to write report.html, summary.json and the figures.
    dry_run
        Whether to only check the experiment. Then nothing is written, and ``progress()`` of the
        returned study counts the trials that the directory has already.
    progress
        True shows a progress bar on a terminal. A callable is called with the number of decisions
        since its last call.

    Returns
    -------
    Study
        The experiment with its results: ``study.results()``, ``study.to_pandas()``, ...

    Raises
    ------
    InputError
        If the experiment or an argument is invalid.
    IncompleteStudyError
        If some trials could not be computed. All other trials are stored.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     study = run_experiment("paper-2b", output=folder, trials=2, pages=False, workers=1,
    ...                            progress=False)
    ...     study.results()["ts-n"].final.shape
    (2,)
    """
    policies, plugins = _as_list(policies), _as_list(plugins)
    for path in plugins:
        load_plugin(path)
    if isinstance(experiment, Experiment):
        if output is None:
            raise InputError(
                "an Experiment object has no file name: give the output directory with output="
            )
        described, name = experiment, Path(output).resolve().name or "experiment"
        key = name.lstrip(".") or "experiment"
    else:
        described, name = load_experiment(experiment), str(experiment)
        key = Path(name).stem
    folder = Path(key) if output is None else Path(output)
    command = ["run", name, f"--trials={described.trials if trials is None else trials}"]
    if not described.sweeps_seed:
        command.append(f"--seed={described.seed if seed is None else seed}")
    command += [*(f"--policy={policy}" for policy in policies), f"--output={folder}"]
    command += ["--bounds"] * bounds + ([f"--ratios={ratios}"] if ratios else [])
    if bounds and described.sweeps:
        raise InputError(f"{name} has sweeps, which have no bounds: remove --bounds")
    with prefix_errors(name):
        plans = described.plans(trials=trials, seed=seed, policies=policies, ratios=ratios)
        # there is no command for an Experiment that was created in Python
        rerun = "" if isinstance(experiment, Experiment) else rerun_command(command, plugins)
        record = _record(described, plans, key, described.title, rerun, bounds)
    options = worker_options(workers, cluster, shard)
    if dry_run:
        if (folder / MANIFEST).exists():
            Directory.open(folder)  # checks the format
        return Study(Directory(folder), record)
    (study,) = _execute(
        [(record, plans)],
        folder,
        options,
        title=record.title,
        formats=formats,
        pages=pages,
        progress=progress,
    )
    return study


def _as_list(value: Any) -> list[Any]:
    return [value] if isinstance(value, str | Path) else list(value)


def _record(
    experiment: Experiment, plans: Sequence[Plan], key: str, title: str, rerun: str, bounds: bool
) -> StudyRecord:
    return StudyRecord.of(
        plans,
        key=key,
        title=title,
        rerun=rerun,
        notes=list(experiment.notes),
        claims=experiment.resolved_claims(),
        published=experiment.published_means(),
        sweeps=experiment.sweep_records(),
        bounds=bounds,
    )


def run_plan(
    plan: Plan,
    output: str | Path,
    *,
    title: str = "",
    rerun: str = "",
    bounds: bool = False,
    workers: int | None = None,
    formats: Sequence[str] | None = None,
    progress: Advance | bool = True,
) -> Study:
    record = StudyRecord.of(
        [plan], key="simulation", title=title or _title(plan), rerun=rerun, bounds=bounds
    )
    (study,) = _execute(
        [(record, [plan])],
        Path(output),
        worker_options(workers),
        title=record.title,
        formats=formats,
        progress=progress,
    )
    return study


def save_results(results: Results, output: str | Path, *, title: str = "") -> Study:
    """Write the results of a simulation to a directory, as a study.

    ``open_study(output).results()`` reads them.

    Parameters
    ----------
    results
        Results of :func:`graphbandits.simulate`, or of several simulations of the same problem
        with the same seed that :func:`graphbandits.simulation.results.concat` has combined.
    output
        The directory. A simulation that was saved there before is replaced.
    title
        Title of the study. Default: graph and size.

    Returns
    -------
    Study
        The study.

    Raises
    ------
    InputError
        If the results were not simulated in this process, or have several seeds.

    Examples
    --------
    >>> import tempfile
    >>> from graphbandits import open_study, simulate
    >>> results = simulate("ts-n", graph="paper", horizon=10, trials=5)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     study = save_results(results, folder)
    ...     again = open_study(folder).results()
    >>> bool((again["ts-n"].regret == results["ts-n"].regret).all())
    True
    """
    plan = results.plan
    if plan is None:
        raise InputError(
            "these results cannot be saved: they have several seeds, or they were read from a "
            "directory or renamed; save the results of each simulation"
        )
    record = StudyRecord.of([plan], key="simulation", title=title or _title(plan))
    directory = Directory.create(output)
    for policy, result in results.policies.items():
        assert result.regret is not None
        assert result.trial_plays is not None
        shard = Shard(
            plan.first_trial,
            result.regret,
            result.trial_plays,
            result.ratios,
            cpu_name(),
            trajectories=result.trajectories,
        )
        directory.put(Task(plan, policy, plan.first_trial, plan.trials), shard)
    record.write(directory, [plan])
    return Study(directory, record)


def _title(plan: Plan) -> str:
    return f"{plan.graph_text}, {plan.horizon} rounds, {plan.trials} trials"


def reproduce(
    figures: Sequence[str] | None = None,
    *,
    output: str | Path = "figures",
    trials: int | None = None,
    seed: int = 0,
    bounds: bool = False,
    workers: int | None = None,
    cluster: str | None = None,
    formats: Sequence[str] | None = None,
    progress: Advance | bool = True,
) -> list[Study]:
    """Run the experiments of the paper and draw their figures.

    Parameters
    ----------
    figures
        Some of "1a", "1b", "2a" and "2b". Default: all.
    output
        Directory for the results, figures and report.
    trials
        Trials per policy. Default: 1000, as in the paper.
    seed
        Random seed.
    bounds, workers, cluster, formats, progress
        As in :func:`run_experiment`.

    Returns
    -------
    list of Study
        One study per figure.

    Raises
    ------
    IncompleteStudyError
        If some trials could not be computed. All other trials are stored.
    """
    jobs = []
    for figure in sorted(set(_as_list(figures or FIGURES))):
        if figure not in FIGURES:
            raise InputError(f"unknown figure '{figure}': {nearest(figure, FIGURES)}")
        experiment = load_experiment(f"paper-{figure}")
        plans = experiment.plans(trials=trials, seed=seed)
        words = ["reproduce", f"--figure={figure}", f"--trials={plans[0].trials}"]
        words += [f"--seed={seed}", f"--output={output}"] + (["--bounds"] if bounds else [])
        title = f"{figure}. {experiment.title}"
        rerun = rerun_command(words)
        jobs.append((_record(experiment, plans, figure, title, rerun, bounds), plans))
    return _execute(
        jobs,
        Path(output),
        worker_options(workers, cluster),
        title=TITLE,
        introduction=INTRODUCTION,
        related=FIGURES,
        formats=formats,
        progress=progress,
    )


def worker_options(
    workers: int | None = None, cluster: str | None = None, shard: int | None = None
) -> WorkerOptions:
    """Return options for processes if ``workers`` is given, else for one worker per core."""
    processes = workers is not None and check_integer(workers, "workers") > 1
    if workers is not None and workers > MAX_WORKERS:
        raise InputError(f"workers must be at most {MAX_WORKERS}, not {workers}")
    if cluster is not None:
        from graphbandits.simulation.workers import check_address

        check_address(cluster)  # before the directory is created
    parallel = "processes" if processes else "auto"
    return WorkerOptions(
        available_cores() if workers is None else workers, cluster, shard, parallel
    )


def rerun_command(words: Sequence[str], plugins: Sequence[str | Path] = ()) -> str:
    """Return the shell command that repeats a run.

    >>> rerun_command(["run", "paper-1a", "--seed=0"], [Path("my ucb.py")])
    "graphbandits run paper-1a --seed=0 '--plugin=my ucb.py'"
    """
    return shlex.join(["graphbandits", *words, *(f"--plugin={path}" for path in plugins)])


# --- execution


def _execute(
    jobs: Sequence[tuple[StudyRecord, Sequence[Plan]]],
    output: Path,
    options: WorkerOptions,
    *,
    title: str,
    introduction: str = "",
    related: Sequence[str] = (),
    formats: Sequence[str] | None = None,
    pages: bool = True,
    progress: Advance | bool = True,
) -> list[Study]:
    """Compute the missing trials of studies in one directory, and write report and figures.

    ``related`` are keys of other studies that the report includes if the directory has them.
    """
    studies = [Study(Directory(output), record) for record, _ in jobs]
    if pages:  # imported here because plots and reports load slowly
        from graphbandits.study import export

        export.check_formats(formats)
        make_directory(output)
        for study in studies:
            export.check_outputs(study, formats)
    directory = Directory.create(output)
    tasks = tasks_of_plans([plan for _, plans in jobs for plan in plans])
    with _report_stored_trials(directory, tasks):
        for record, plans in jobs:
            _warn_if_replaced(directory, record)
            record.write(directory, plans)
        for task in tasks:
            directory.remove_damaged(task)
        failures = compute_missing(directory, tasks, options, progress=progress, label="running")
        more = {*related} & {*directory.studies()} - {study.key for study in studies}
        shown = sorted(
            [*studies, *(Study.open(directory, key) for key in more)], key=attrgetter("key")
        )
        entries = [entry for study in shown for entry in study.entries()] if pages else []
        if entries:
            files = output / "report.html", output / "summary.json"
            export.write_entries(entries, *files, title=title, introduction=introduction)
            for study in studies:
                export.draw_figures(study, formats=formats)
    _raise_if_missing(studies, failures)
    return studies


def _warn_if_replaced(directory: Directory, record: StudyRecord) -> None:
    """Warn if the directory has a study of this name whose trials cannot be used."""
    if record.key in directory.studies():
        try:
            before = directory.study(record.key)
        except InputError:  # damaged: it is replaced
            return
        if before.series.isdisjoint(record.series):
            warnings.warn(
                f"the study '{record.key}' in {directory.path} ({before.title}) was computed with "
                "other settings, sources or versions: it is replaced, and its trials are computed "
                "again",
                InputWarning,
                stacklevel=4,
            )


def _raise_if_missing(studies: list[Study], failures: list[Failure]) -> None:
    missing = sum(share.missing for study in studies for share in study.progress().missing)
    count = len(failures)
    if failures:
        message = (
            f"{count} shard{'s' * (count > 1)} failed; all other shards are stored. Run the same "
            "command again to compute the missing shards"
        )
    elif missing:
        message = (
            f"{missing} trials were removed or damaged during the run. Run the same command again "
            "to compute them"
        )
    else:
        return
    raise IncompleteStudyError(message, studies, failures)


@contextmanager
def _report_stored_trials(directory: Directory, tasks: Sequence[Task]) -> Iterator[None]:
    """Add the number of stored trials to the message of an interrupt."""
    try:
        yield
    except KeyboardInterrupt:
        trials = sum(task.trials for task in tasks)
        missing = sum(count for task in tasks for _, count in directory.missing(task))
        raise KeyboardInterrupt(
            f"{trials - missing} of {trials} trials are stored in {directory.path}; run the same "
            "command again to continue"
        ) from None


#: Default number of trials of an audit.
TRIALS = 100


@dataclass(frozen=True, eq=False)
class SimulationAudit:
    title: str
    plan: Plan
    audit: Audit
    seconds: float

    def to_dict(self) -> dict[str, Any]:
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
    simulations: tuple[SimulationAudit, ...]

    @property
    def broken(self) -> list[str]:
        """One message for each violated statement."""
        return [sentence for one in self.simulations for sentence in one.audit.broken]

    @property
    def holds(self) -> bool:
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
    """
    for path in plugins:
        load_plugin(path)
    count = available_cores() if workers is None else check_integer(workers, "workers")
    described = load_experiment(experiment)
    count_of = TRIALS if trials is None else trials
    chosen = {}
    with prefix_errors(str(experiment)):
        for plan in described.plans(trials=count_of, seed=seed, policies=policies):
            extra = {name: policy for name, policy in plan.policies.items() if name in policies}
            audited = covered_policies(plan.policies) | extra
            if not audited:
                raise InputError(
                    "no theorem covers any of its policies: add a policy, as in --policy ids-n"
                )
            title = described.title
            if plan.sweep is not None:
                title = f"{described.sweep_records()[plan.sweep].title}: {point_text(plan.point)}"
            chosen[title] = replace(plan, policies=audited)
    if progress:
        announce_compilation(JOINT_COMPILATION)
    found = []
    for title, plan in chosen.items():
        start = time.perf_counter()
        with progress_bar(title, plan.decisions, show=progress) as advance:
            outcome = audit(plan, gain=gain, workers=count, progress=advance)
        found.append(SimulationAudit(title, plan, outcome, time.perf_counter() - start))
        if finished is not None:
            finished(found[-1])
    return ExperimentAudit(tuple(found))
