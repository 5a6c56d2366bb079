"""What a play teaches, and at what price: the joint information gain g, and the ratio."""

from graphbandits.gains.joint import check_joint, check_outcomes, joint_gain
from graphbandits.gains.ratio import information_ratio
from graphbandits.gains.sampled import SampledGain, sampled_gain

__all__ = [
    "SampledGain",
    "check_joint",
    "check_outcomes",
    "information_ratio",
    "joint_gain",
    "sampled_gain",
]
