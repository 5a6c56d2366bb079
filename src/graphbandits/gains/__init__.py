"""Information gains: the joint gain g, its estimate by sampling, and the information ratio."""

from graphbandits.gains.joint import joint_gain
from graphbandits.gains.ratio import information_ratio
from graphbandits.gains.sampled import SampledGain, sampled_gain

__all__ = [
    "SampledGain",
    "information_ratio",
    "joint_gain",
    "sampled_gain",
]
