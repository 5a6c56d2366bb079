"""The paper's experiments, as TOML files beside this module."""

from graphbandits.experiments.load import Experiment, load_experiment

__all__ = ["Experiment", "load_experiment"]
