"""Studies: experiment files, directories of shards, results, export and reports."""

from graphbandits.study.experiment import Experiment, experiment_names, load_experiment
from graphbandits.study.run import (
    IncompleteStudyError,
    reproduce,
    run_experiment,
    run_plan,
    save_results,
)
from graphbandits.study.study import Cell, Studies, Study, open_studies, open_study

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
