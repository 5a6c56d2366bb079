"""The health of an agent: whether outcomes contradict its posterior, and which are missing."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, SupportsFloat

from graphbandits.errors import InputError, short_repr

# a client of a service has reports, and imports no kernels
if TYPE_CHECKING:
    from graphbandits.posteriors import Arm


@dataclass(frozen=True)
class ArmTest:
    """Evidence of the outcomes of one arm against its posterior."""

    arm: Arm
    outcomes: int
    highest_ratio: float
    ratio: float
    threshold: float
    contradicts: bool
    posterior_mean: float
    recent_mean: float


@dataclass(frozen=True)
class PosteriorTest:
    """Sequential test that outcomes contradict the posterior."""

    outcomes: int
    highest_ratio: float
    ratio: float
    highest_time: datetime | None
    threshold: float
    contradicts: bool
    arms: tuple[ArmTest, ...]


@dataclass(frozen=True)
class ArmAnswers:
    """Answers of one arm."""

    arm: Arm
    revealed: float
    received: int
    share: float
    low: bool


@dataclass(frozen=True)
class Health:
    """Health of an agent, from :meth:`graphbandits.Agent.health`.

    Parameters
    ----------
    level : float
        Level of the tests.
    warnings : tuple of str
        What is wrong, with numbers and advice.
    notes : tuple of str
        What was not tested, or cannot be.
    decisions, open, expired : int
        Numbers of decisions.
    unanswered : int
        Number of decisions that are closed or have expired, without any outcome.
    outcomes, learned, late : int
        Numbers of distinct outcomes of decisions, of outcomes without a decision, and of late ones,
        which were not learned.
    oldest, median : float or None
        Age of the oldest open decision, and median of the ages, in seconds; None without one.
    test : PosteriorTest or None
        Test of the posterior; None if there is none, which a note explains.
    answers : tuple of ArmAnswers
        The arms with the lowest shares of answers, at most ten.
    """

    level: float
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    decisions: int
    open: int
    expired: int
    unanswered: int
    outcomes: int
    learned: int
    late: int
    oldest: float | None
    median: float | None
    test: PosteriorTest | None
    answers: tuple[ArmAnswers, ...]

    @property
    def verdict(self) -> str:
        """The text "ok", or "warning" if there are warnings."""
        return "warning" if self.warnings else "ok"

    def __str__(self) -> str:
        lines = [f"Warning: {one}." for one in self.warnings] or ["ok: nothing unusual was found."]
        lines += [f"Note: {one}." for one in self.notes]
        names = "decisions", "open", "expired", "unanswered", "outcomes", "learned", "late"
        lines.append(", ".join(f"{name} {getattr(self, name)}" for name in names) + ".")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return ``verdict`` and the attributes as JSON values."""
        found = {"verdict": self.verdict} | asdict(self)
        found |= {key: list(found[key]) for key in ("warnings", "notes", "answers")}
        if self.test is not None:
            time = self.test.highest_time
            found["test"]["highest_time"] = None if time is None else time.isoformat()
            found["test"]["arms"] = list(found["test"]["arms"])
        return found


def check_level(level: object) -> float:
    number = isinstance(level, SupportsFloat) and not isinstance(level, bool)
    found = float(level) if number else math.nan  # type: ignore[arg-type]
    if not 0.0 < found < 1.0:
        raise InputError(
            f"level must be a number between 0 and 1, such as 0.01; not {short_repr(level)}"
        )
    return found


def age_text(seconds: float) -> str:
    """Format an age.

    >>> age_text(345_600), age_text(5400), age_text(4.25)
    ('4 days', '90 minutes', '4.2 s')
    """
    units = (("days", 86400.0), ("hours", 3600.0), ("minutes", 60.0))
    unit, size = next((one for one in units if seconds >= 2.0 * one[1]), ("s", 1.0))
    return f"{round(seconds / size, 1):g} {unit}"
