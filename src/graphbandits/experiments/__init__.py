"""Experiments: TOML files, running them into a store, and reading what came out."""

from graphbandits.experiments.experiment import Experiment, experiment_names, load_experiment
from graphbandits.experiments.run import (
    IncompleteStudyError,
    dry_run,
    reproduce,
    run_experiment,
    run_plan,
)
from graphbandits.experiments.study import Cell, Studies, Study, open_studies, open_study
from graphbandits.experiments.study_comparison import compare_studies

__all__ = [
    "Cell",
    "Experiment",
    "IncompleteStudyError",
    "Studies",
    "Study",
    "compare_studies",
    "dry_run",
    "experiment_names",
    "load_experiment",
    "open_studies",
    "open_study",
    "reproduce",
    "run_experiment",
    "run_plan",
]
