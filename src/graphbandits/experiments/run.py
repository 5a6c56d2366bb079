"""Run experiments and store their results: the functions behind ``graphbandits run`` and others."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from graphbandits._io import make_directory
from graphbandits.engine import Plan, Task
from graphbandits.errors import InputError, check_integer, nearest
from graphbandits.experiments._texts import prefix_errors
from graphbandits.experiments.experiment import Experiment, load_experiment
from graphbandits.experiments.figures import resolve_figures
from graphbandits.experiments.progress_table import LiveProgress
from graphbandits.experiments.study import Study
from graphbandits.plugins import load_plugin
from graphbandits.store import (
    DamagedShardError,
    Failure,
    RunProgress,
    Store,
    WorkerOptions,
    run_missing,
)
from graphbandits.store.directory import MANIFEST
from graphbandits.store.estimate import Estimate, estimate, missing_trials
from graphbandits.store.record import StudyRecord, read_record, tasks_of_plans

#: More worker processes than this are considered a typing error.
MAX_WORKERS = 10_000
#: Number of attempts to read the results if shards are damaged.
ATTEMPTS = 3
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
    studies : list of Study
        The studies with the trials that were computed.
    failures : list of Failure
        The failed shards.
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
    pages: bool = True,
    progress: bool | RunProgress = True,
) -> Study:
    """Run an experiment and store its results.

    Finished trials are stored. The same call continues an interrupted run, and a run with more
    trials or policies computes only the missing trials.

    Parameters
    ----------
    experiment
        Name of a built-in experiment, path of a TOML file, or an :class:`Experiment`.
    output
        Directory for the store, figures and report. Default: named after the experiment.
    trials
        Trials per policy. Default: from the file.
    seed
        Random seed. Default: from the file.
    policies
        Additional policies to run.
    plugins
        Plug-in files to load first.
    bounds
        Whether figures show the regret bounds.
    ratios
        Record information ratios: "bound" or "joint", see :func:`graphbandits.simulate`.
    workers
        Number of worker processes. Default: one thread or process per core, depending on the work.
    cluster
        Address of a dask scheduler, or "local" to start a cluster on this machine.
    shard
        Trials per shard. Default: depends on the size of the work.
    pages
        Whether to write report.html, summary.json and the figures.
    progress
        Whether to show progress on standard error, or an object that receives it.

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
    found = dry_run(
        experiment,
        output=output,
        trials=trials,
        seed=seed,
        policies=policies,
        plugins=plugins,
        bounds=bounds,
        ratios=ratios,
        workers=workers,
        cluster=cluster,
        shard=shard,
    )
    (study,) = _execute([found], title=found.record.title, pages=pages, progress=progress)
    return study


def _as_list(value: Any) -> list[Any]:
    """Return a list; a single string or path becomes a list with one entry."""
    return [value] if isinstance(value, str | Path) else list(value)


def _record(
    experiment: Experiment,
    plans: Sequence[Plan],
    key: str,
    rerun: str,
    bounds: bool,
    title: str = "",
) -> StudyRecord:
    return StudyRecord.of(
        plans,
        key=key,
        title=title or experiment.title,
        rerun=rerun,
        notes=experiment.notes,
        claims=experiment.resolved_claims(),
        published=experiment.published_means(),
        figures=experiment.figure_requests(plans),
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
    cluster: str | None = None,
    shard: int | None = None,
    pages: bool = True,
    progress: bool | RunProgress = True,
) -> Study:
    """Run one simulation and store its results, as :func:`run_experiment` does.

    Parameters
    ----------
    plan
        The simulation.
    output
        Directory for the store, figures and report.
    title
        Title in the report. Default: graph and size.
    rerun
        Shell command that repeats the run, for the report.
    bounds
        Whether figures show the regret bounds.
    workers
        Number of worker processes. Default: one thread or process per core, depending on the work.
    cluster
        Address of a dask scheduler, or "local" to start a cluster on this machine.
    shard
        Trials per shard. Default: depends on the size of the work.
    pages
        Whether to write report.html, summary.json and the figures.
    progress
        Whether to show progress on standard error, or an object that receives it.

    Returns
    -------
    Study
        The simulation with its results.

    Raises
    ------
    IncompleteStudyError
        If some trials could not be computed. All other trials are stored.
    """
    shown = title or f"{plan.graph_text}, {plan.horizon} rounds, {plan.trials} trials"
    figures = resolve_figures(None, [plan])
    record = StudyRecord.of(
        [plan], key="simulation", title=shown, rerun=rerun, figures=figures, bounds=bounds
    )
    job = DryRun(record, (plan,), Path(output), worker_options(workers, cluster, shard))
    (study,) = _execute([job], title=shown, pages=pages, progress=progress)
    return study


def reproduce(
    figures: Sequence[str] | None = None,
    *,
    output: str | Path = "figures",
    trials: int | None = None,
    seed: int = 0,
    bounds: bool = False,
    workers: int | None = None,
    cluster: str | None = None,
    progress: bool | RunProgress = True,
) -> list[Study]:
    """Run the experiments of the paper and draw their figures.

    Parameters
    ----------
    figures
        Some of "1a", "1b", "2a" and "2b". Default: all.
    output
        Directory for the store, figures and report.
    trials
        Trials per policy. Default: 1000, as in the paper.
    seed
        Random seed.
    bounds
        Whether figures show the regret bounds.
    workers
        Number of worker processes. Default: one thread or process per core, depending on the work.
    cluster
        Address of a dask scheduler, or "local" to start a cluster on this machine.
    progress
        Whether to show progress on standard error, or an object that receives it.

    Returns
    -------
    list of Study
        One study per figure.

    Raises
    ------
    IncompleteStudyError
        If some trials could not be computed. All other trials are stored.
    """
    chosen = sorted(set(_as_list(figures or FIGURES)))
    jobs, options = [], worker_options(workers, cluster)
    for figure in chosen:
        if figure not in FIGURES:
            raise InputError(f"unknown figure '{figure}': {nearest(figure, FIGURES)}")
        experiment = load_experiment(f"paper-{figure}")
        plans = experiment.plans(trials=trials, seed=seed)
        words = ["reproduce", f"--figure={figure}", f"--trials={plans[0].trials}"]
        words += [f"--seed={seed}", f"--output={output}"] + (["--bounds"] if bounds else [])
        title = f"{figure}. {experiment.title}"
        record = _record(experiment, plans, figure, rerun_command(words), bounds, title)
        jobs.append(DryRun(record, tuple(plans), Path(output), options))
    return _execute(
        jobs, title=TITLE, introduction=INTRODUCTION, related=FIGURES, progress=progress
    )


@dataclass(frozen=True, eq=False)
class DryRun:
    """The work of a run, and an estimate of its time and disk space.

    Parameters
    ----------
    record
        The study as it would be stored.
    plans
        The simulations.
    output
        Directory of the store.
    options
        Number and kind of workers.
    """

    record: StudyRecord
    plans: tuple[Plan, ...]
    output: Path
    options: WorkerOptions

    @cached_property
    def tasks(self) -> tuple[Task, ...]:
        """All trials, one task per series."""
        return tuple(tasks_of_plans(self.plans))

    @cached_property
    def missing(self) -> tuple[int, ...]:
        """The number of missing trials of each task."""
        store = _existing(self.output)
        return tuple(missing_trials(store, task) for task in self.tasks)

    @property
    def trials(self) -> int:
        """The number of trials of all series."""
        return sum(task.trials for task in self.tasks)

    @cached_property
    def estimate(self) -> Estimate:
        """Time and disk space of the missing trials, measured by short runs."""
        return estimate(self.tasks, _existing(self.output), self.options)


def dry_run(
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
) -> DryRun:
    """Check an experiment and determine the work of a run, without writing anything.

    Parameters
    ----------
    experiment
        Name of a built-in experiment, path of a TOML file, or an :class:`Experiment`.
    output
        Directory for the store, figures and report. Default: named after the experiment.
    trials
        Trials per policy. Default: from the file.
    seed
        Random seed. Default: from the file.
    policies
        Additional policies to run.
    plugins
        Plug-in files to load first.
    bounds
        Whether figures show the regret bounds.
    ratios
        Record information ratios: "bound" or "joint", see :func:`graphbandits.simulate`.
    workers
        Number of worker processes. Default: one thread or process per core, depending on the work.
    cluster
        Address of a dask scheduler, or "local" to start a cluster on this machine.
    shard
        Trials per shard. Default: depends on the size of the work.

    Returns
    -------
    DryRun
        Simulations, missing trials, and estimates.

    Raises
    ------
    InputError
        If the experiment or an argument is invalid.
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
    place = Path(key) if output is None else Path(output)
    command = ["run", name, f"--trials={described.trials if trials is None else trials}"]
    if not described.sweeps_seed:
        command += [f"--seed={described.seed if seed is None else seed}"]
    command += [f"--policy={policy}" for policy in policies]
    command += [f"--output={place}"]
    command += ["--bounds"] if bounds else []
    command += [f"--ratios={ratios}"] if ratios else []
    with prefix_errors(name):
        plans = described.plans(trials=trials, seed=seed, policies=policies, ratios=ratios)
        # there is no command for an Experiment that was created in Python
        rerun = "" if isinstance(experiment, Experiment) else rerun_command(command, plugins)
        record = _record(described, plans, key, rerun, bounds)
    if bounds and record.sweeps and not any(f["kind"] == "regret" for f in record.figures):
        raise InputError(
            f"{name} has sweeps, and --bounds needs figures of kind 'regret': add a table "
            '[[figures]] with kind = "regret", or remove --bounds'
        )
    return DryRun(record, tuple(plans), place, worker_options(workers, cluster, shard))


def _existing(place: Path) -> Store | None:
    return Store.open(place) if (place / MANIFEST).exists() else None


def worker_options(
    workers: int | None = None, cluster: str | None = None, shard: int | None = None
) -> WorkerOptions:
    """Return options for processes if ``workers`` is given, else for one worker per core."""
    processes = workers is not None and check_integer(workers, "workers") > 1
    if workers is not None and workers > MAX_WORKERS:
        raise InputError(f"workers must be at most {MAX_WORKERS}, not {workers}")
    if cluster is not None:
        from graphbandits.engine.executors.dask import check_address

        check_address(cluster)  # before the directory is created
    parallel = "processes" if processes else "auto"
    return WorkerOptions(
        available_cores() if workers is None else workers, cluster, shard, parallel
    )


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def rerun_command(words: Sequence[str], plugins: Sequence[str | Path] = ()) -> str:
    """Return the shell command that repeats a run.

    >>> rerun_command(["run", "paper-1a", "--seed=0"], [Path("my ucb.py")])
    "graphbandits run paper-1a --seed=0 '--plugin=my ucb.py'"
    """
    return shlex.join(["graphbandits", *words, *(f"--plugin={path}" for path in plugins)])


# --- execution


def _execute(
    jobs: Sequence[DryRun],
    *,
    title: str,
    introduction: str = "",
    related: Sequence[str] = (),
    pages: bool = True,
    progress: bool | RunProgress = True,
) -> list[Study]:
    """Compute the missing trials of jobs that share a directory, and write the outputs.

    ``related`` are keys of other studies that the report includes if the store has them.
    """
    output, options = jobs[0].output, jobs[0].options
    make_directory(output)
    if pages:  # imported here because plots and reports load slowly
        from graphbandits.experiments.outputs import check_outputs, draw_figures, write_entries

        for job in jobs:
            check_outputs(Study(Store(output), job.record))
    store = Store.create(output)
    default = LiveProgress() if progress else RunProgress()
    monitor = progress if isinstance(progress, RunProgress) else default
    tasks = tasks_of_plans([plan for job in jobs for plan in job.plans])
    studies = [Study(store, job.record) for job in jobs]
    with _report_stored_trials(store, tasks), store.mark_active(notify=monitor.warn):
        monitor.prepared(store, tasks, options)
        for other in store.other_processes():
            monitor.warn(
                f"another run uses {store.path} (process {other.pid} on {other.host}, since "
                f"{other.started}): both runs continue and share their finished trials"
            )
        for job in jobs:
            _warn_if_replaced(store, job.record, job.plans, monitor)
            job.record.write(store, job.plans)
        failures = _compute_missing(store, studies, tasks, options, monitor, pages)
        for study in studies if pages else ():
            monitor.read(study)
        more = {*related} & {*store.studies()} - {study.key for study in studies}
        others = [Study.open(store, key) for key in more]
        shown = sorted([*studies, *others], key=lambda study: study.key)
        entries = [entry for study in shown for entry in study.entries()] if pages else []
        if entries:
            files = output / "report.html", output / "summary.json"
            write_entries(entries, *files, title=title, introduction=introduction)
            drawn = [path for s in studies for path in draw_figures(s, warn=monitor.warn)]
            monitor.written([*files, *drawn])
    _raise_if_missing(studies, failures)
    return studies


def _compute_missing(
    store: Store,
    studies: Sequence[Study],
    tasks: Sequence[Task],
    options: WorkerOptions,
    monitor: RunProgress,
    read: bool,
) -> list[Failure]:
    """Compute the missing trials and read the results; recompute damaged shards."""
    for attempt in range(ATTEMPTS):
        try:
            for task in tasks:
                store.verify_present(task, monitor.warn)
                monitor.checked(task)
        finally:
            monitor.all_checked()
        failures = run_missing(store, tasks, options, monitor)
        try:
            for study in studies if read else ():
                study.entries()
        except DamagedShardError:
            if attempt == ATTEMPTS - 1:
                raise
        else:
            break
    monitor.computed(failures)
    return failures


def _warn_if_replaced(
    store: Store, record: StudyRecord, plans: Sequence[Plan], monitor: RunProgress
) -> None:
    """Warn if the store has a study of this name whose trials cannot be used."""
    if record.key not in store.studies():
        return
    try:
        before = read_record(store, record.key)
    except InputError:  # damaged: it is replaced
        return
    if not before.series.keys().isdisjoint(record.series):
        return
    monitor.warn(
        f"the study '{record.key}' in {store.path} had other settings or sources "
        f"({before.title}): it is replaced"
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
            f"{missing} trials are missing because they were removed or damaged during the run. "
            "Run the same command again to compute them"
        )
    else:
        return
    raise IncompleteStudyError(message, studies, failures)


@contextmanager
def _report_stored_trials(store: Store, tasks: Sequence[Task]) -> Iterator[None]:
    """Add the number of stored trials to the message of an interrupt."""
    try:
        yield
    except KeyboardInterrupt:
        trials = sum(task.trials for task in tasks)
        stored = trials - sum(missing_trials(store, task) for task in tasks)
        raise KeyboardInterrupt(
            f"{stored} of {trials} trials are stored in {store.path}; run the same command again "
            "to continue"
        ) from None
