"""Experiments, as TOML files beside this module or of one's own."""

from graphbandits.experiments.cells import Cell
from graphbandits.experiments.load import experiment_names, load_experiment
from graphbandits.experiments.model import Experiment
from graphbandits.experiments.sweeps import Swept

__all__ = ["Cell", "Experiment", "Swept", "experiment_names", "load_experiment"]
