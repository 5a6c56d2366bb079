"""Experiments: read TOML files, run them with a store, and read the results."""

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
