"""The paper's figures and other studies, as TOML files beside this module."""

from graphbandits.experiments.load import Experiment, load_experiment

__all__ = ["Experiment", "load_experiment"]
