"""Experiments, as TOML files beside this module or of one's own."""

from graphbandits.experiments.load import experiment_names, load_experiment
from graphbandits.experiments.model import Experiment, SweepPlan

__all__ = ["Experiment", "SweepPlan", "experiment_names", "load_experiment"]
