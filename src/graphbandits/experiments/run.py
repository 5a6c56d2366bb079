"""Run experiments into a store: the work behind ``graphbandits run``, ``reproduce`` and others."""

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
from graphbandits.engine.provenance import same_settings, series_of
from graphbandits.errors import InputError, check_integer, nearest
from graphbandits.experiments._texts import errors_at
from graphbandits.experiments.experiment import Experiment, load_experiment
from graphbandits.experiments.figures import requested
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

#: More worker processes than this are a slip of the keyboard.
MOST_WORKERS = 10_000
#: How often results are read, if shards turn out to be damaged.
ATTEMPTS = 3
#: The figures of the paper, each an experiment of this package.
FIGURES = ("1a", "1b", "2a", "2b")
TITLE = "Information-directed sampling on feedback graphs: the paper's experiments"
INTRODUCTION = (
    "The four experiments of F. Liu, S. Buccapatnam and N. Shroff, Information Directed Sampling "
    "for Stochastic Bandits with Graph Feedback (AAAI 2018), run again. Regret is the expected "
    "reward lost to always playing the best arm. All policies met the same arms, graphs and "
    "outcomes, so the difference of two is known better than either."
)


class IncompleteStudyError(InputError):
    """Some trials could not be computed; ``studies`` have what is there."""

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
    """Run an experiment, or what its store lacks of it.

    Trials are kept as they are finished: the same call continues where a run was stopped, and more
    trials or policies use what is there.

    Parameters
    ----------
    experiment
        The name of an experiment of this package, the path of a TOML file, or an
        :class:`Experiment`.
    output
        The directory of the store, figures and report; named after the experiment if not given.
    trials, seed
        In place of those of the file.
    policies
        Policies to run besides those of the experiment.
    plugins
        Plug-in files to load first.
    bounds
        Whether figures show the regret bounds.
    ratios
        Record information ratios, "bound" or "joint": see :func:`graphbandits.simulate`.
    workers
        Worker processes; if not given, one thread or process for each core, as suits the work.
    cluster
        The address of a dask scheduler, or "local" for one that is started here.
    shard
        Trials of a shard; chosen by the size of the work if not given.
    pages
        Whether to write report.html, summary.json and the figures, too.
    progress
        Whether to show progress on standard error, or what receives it.

    Returns
    -------
    Study
        The experiment with its store: ``study.results()``, ``study.to_pandas()``, ...

    Raises
    ------
    IncompleteStudyError
        If some trials could not be computed; what could is kept.

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


def _listed(given: Any) -> list[Any]:
    """A list; one text or path is the only entry of its own."""
    return [given] if isinstance(given, str | Path) else list(given)


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
        claims=experiment.judged_claims(),
        published=experiment.published_means(),
        figures=experiment.drawn(plans),
        sweeps=experiment.swept(),
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
    """Run one simulation into the store of a directory, as :func:`run_experiment` does.

    ``title`` and ``rerun``, the command that makes it again, are shown by the report.
    """
    shown = title or f"{plan.graph_text}, {plan.horizon} rounds, {plan.trials} trials"
    figures = requested(None, [plan])
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

    ``figures`` are some of "1a", "1b", "2a" and "2b"; all if not given. The other parameters are
    those of :func:`run_experiment`.
    """
    chosen = sorted(set(_listed(figures or FIGURES)))
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
    return _execute(jobs, title=TITLE, introduction=INTRODUCTION, also=FIGURES, progress=progress)


@dataclass(frozen=True, eq=False)
class DryRun:
    """What :func:`run_experiment` would compute, and about how long that takes."""

    record: StudyRecord
    plans: tuple[Plan, ...]
    output: Path
    options: WorkerOptions

    @cached_property
    def tasks(self) -> tuple[Task, ...]:
        """All trials of each series."""
        return tuple(tasks_of_plans(self.plans))

    @cached_property
    def missing(self) -> tuple[int, ...]:
        """How many trials of each of these are not there."""
        store = _existing(self.output)
        return tuple(missing_trials(store, task) for task in self.tasks)

    @property
    def trials(self) -> int:
        """The trials of all series."""
        return sum(task.trials for task in self.tasks)

    @cached_property
    def estimate(self) -> Estimate:
        """Time and room of what is missing, measured by short runs."""
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
    """Check an experiment and find out what a run would compute; nothing is written."""
    policies, plugins = _listed(policies), _listed(plugins)
    for path in plugins:
        load_plugin(path)
    if isinstance(experiment, Experiment):
        if output is None:
            raise InputError("an Experiment has no file name: give the directory for it, output=")
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
    with errors_at(name):
        plans = described.plans(trials=trials, seed=seed, policies=policies, ratios=ratios)
        # an Experiment that was made in Python has no command
        rerun = "" if isinstance(experiment, Experiment) else rerun_command(command, plugins)
        record = _record(described, plans, key, rerun, bounds)
    if bounds and record.sweeps and not any(f["kind"] == "regret" for f in record.figures):
        raise InputError(
            f"{name} has sweeps: --bounds are drawn on figures of kind 'regret', at each "
            'point; ask for them with a table [[figures]] with kind = "regret", or leave --bounds '
            "out"
        )
    return DryRun(record, tuple(plans), place, worker_options(workers, cluster, shard))


def _existing(place: Path) -> Store | None:
    return Store.open(place) if (place / MANIFEST).exists() else None


def worker_options(
    workers: int | None = None, cluster: str | None = None, shard: int | None = None
) -> WorkerOptions:
    """Workers that are asked for are processes; else there is one for each core, as suits."""
    asked = workers is not None and check_integer(workers, "workers") > 1
    if workers is not None and workers > MOST_WORKERS:
        raise InputError(f"workers must be at most {MOST_WORKERS}, not {workers}")
    if cluster is not None:
        from graphbandits.engine.executors.dask import check_address

        check_address(cluster)  # before the store of a new directory is made
    parallel = "processes" if asked else "auto"
    return WorkerOptions(
        available_cores() if workers is None else workers, cluster, shard, parallel
    )


def available_cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def rerun_command(words: Sequence[str], plugins: Sequence[str | Path] = ()) -> str:
    """The shell command that makes a study again.

    >>> rerun_command(["run", "paper-1a", "--seed=0"], [Path("my ucb.py")])
    "graphbandits run paper-1a --seed=0 '--plugin=my ucb.py'"
    """
    return shlex.join(["graphbandits", *words, *(f"--plugin={path}" for path in plugins)])


# --- the common path


def _execute(
    jobs: Sequence[DryRun],
    *,
    title: str,
    introduction: str = "",
    also: Sequence[str] = (),
    pages: bool = True,
    progress: bool | RunProgress = True,
) -> list[Study]:
    """Compute what the store of one directory lacks of the jobs, and write what came out.

    ``also`` are keys of other studies that the page shows, where the store has them.
    """
    output, options = jobs[0].output, jobs[0].options
    make_directory(output)
    if pages:  # drawing and the report load slowly
        from graphbandits.experiments.outputs import check_outputs, draw_figures, write_entries

        for job in jobs:
            check_outputs(Study(Store(output), job.record))
    store = Store.create(output)
    default = LiveProgress() if progress else RunProgress()
    monitor = progress if isinstance(progress, RunProgress) else default
    tasks = tasks_of_plans([plan for job in jobs for plan in job.plans])
    studies = [Study(store, job.record) for job in jobs]
    with _kept_trials(store, tasks), store.mark_active(notify=monitor.warn):
        monitor.prepared(store, tasks, options)
        for other in store.other_processes():
            monitor.warn(
                f"another run works in {store.path} (process {other.pid} on {other.host}, since "
                f"{other.started}): both go on, and each uses what the other has finished"
            )
        for job in jobs:
            _warn_if_replaced(store, job.record, job.plans, monitor)
            job.record.write(store, job.plans)
        failures = _complete(store, studies, tasks, options, monitor, pages)
        for study in studies if pages else ():
            monitor.read(study)
        more = {*also} & {*store.studies()} - {study.key for study in studies}
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


def _complete(
    store: Store,
    studies: Sequence[Study],
    tasks: Sequence[Task],
    options: WorkerOptions,
    monitor: RunProgress,
    read: bool,
) -> list[Failure]:
    """Compute what is missing, and read it; a shard that is damaged by then is computed again."""
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
    """Warn that nothing of a study of this name can be used, and why."""
    if record.key not in store.studies():
        return
    try:
        before = read_record(store, record.key)
    except InputError:  # damaged, and written anew
        return
    if not before.series.keys().isdisjoint(record.series):
        return
    mine = [series_of(plan, policy).facts for plan in plans for policy in plan.policies]
    theirs = [facts for name in before.series if (facts := store.facts(name)) is not None]
    if any(same_settings(one, other) for one in mine for other in theirs):
        monitor.warn(
            f"the study '{record.key}' in {store.path} was computed by other sources or versions: "
            "its trials are computed again; the old ones stay until 'graphbandits store gc'"
        )
    else:
        monitor.warn(
            f"{store.path} had a study '{record.key}' with other settings or sources "
            f"({before.title}): this one takes its place; its trials stay until 'graphbandits "
            "store gc'"
        )


def _raise_if_missing(studies: list[Study], failures: list[Failure]) -> None:
    lacking = sum(share.missing for study in studies for share in study.progress().missing)
    count = len(failures)
    if failures:
        message = (
            f"{count} shard{'s' * (count > 1)} failed; the others are kept, and the same command "
            "tries what is missing again"
        )
    elif lacking:
        message = (
            f"{lacking} trials are missing: some were removed or damaged during the run; the "
            "same command runs what is missing"
        )
    else:
        return
    raise IncompleteStudyError(message, studies, failures)


@contextmanager
def _kept_trials(store: Store, tasks: Sequence[Task]) -> Iterator[None]:
    """An interrupt says how much is kept."""
    try:
        yield
    except KeyboardInterrupt:
        trials = sum(task.trials for task in tasks)
        there = trials - sum(missing_trials(store, task) for task in tasks)
        raise KeyboardInterrupt(
            f"{there} of {trials} trials are kept in {store.path}: the same command goes on there"
        ) from None
