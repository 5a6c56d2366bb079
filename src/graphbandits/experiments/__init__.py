"""Experiments: read TOML files, run them, and read the results."""

from graphbandits.experiments.experiment import Experiment, experiment_names, load_experiment
from graphbandits.experiments.run import (
    IncompleteStudyError,
    reproduce,
    run_experiment,
    run_plan,
    save_results,
)
from graphbandits.experiments.study import Cell, Studies, Study, open_studies, open_study

__all__ = [
    "Cell",
    "Experiment",
    "IncompleteStudyError",
    "Studies",
    "Study",
    "experiment_names",
    "load_experiment",
    "open_studies",
    "open_study",
    "reproduce",
    "run_experiment",
    "run_plan",
    "save_results",
]
