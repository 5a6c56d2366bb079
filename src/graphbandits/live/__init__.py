"""Live decisions: an agent runs a policy for one trial, with rewards from outside."""

from graphbandits.live.agent import Agent, Decision

__all__ = ["Agent", "Decision"]
