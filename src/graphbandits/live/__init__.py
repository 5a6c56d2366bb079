"""Live decisions: an agent runs a policy in one trial, with rewards from the user."""

from graphbandits.live.agent import Agent
from graphbandits.live.decision import Decision
from graphbandits.live.explanation import Explanation
from graphbandits.live.health import Health

__all__ = ["Agent", "Decision", "Explanation", "Health"]
