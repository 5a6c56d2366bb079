"""What a play teaches: the exact joint information gain g, and estimates of it."""

from graphbandits.gains.joint import check_joint, check_outcomes, joint_gain
from graphbandits.gains.sampled import SampledGain, sampled_gain

__all__ = ["SampledGain", "check_joint", "check_outcomes", "joint_gain", "sampled_gain"]
