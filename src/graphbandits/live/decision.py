"""A decision of an agent, and its explanation."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from graphbandits.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Group

    from graphbandits._types import Floats, Ints
    from graphbandits.posteriors import Arm

# a client of a service has decisions, and imports no kernels


class Decision:
    """A decision of an agent: the arm to play, and the arms that may be observed.

    :meth:`Agent.decide` and :meth:`Agent.decision` create it. ``pi`` and ``reveals`` are created
    when they are first used, because there may be a million arms.

    Parameters
    ----------
    arms : tuple of str or int
        Names of the arms.
    body : dict
        The entry of the decision in the journal.
    number : int
        Number of the decision.
    time : float
        Time of the decision, in seconds since 1970.
    pi : bytes or None
        Packed probabilities of the arms.
    reach : tuple of ndarray
        Numbers of the arms that may be observed, and their probabilities.

    Attributes
    ----------
    id : str
        Id of the decision, different from those of all other decisions of all agents.
    number : int
        Number of the decision of this agent, from 1.
    arm : str or int
        Arm to play.
    probability : float or None
        Probability of this arm in ``pi``; None if the policy draws the arm itself.
    context : object
        The context that was given to :meth:`Agent.decide`; None without one.

    Examples
    --------
    >>> from graphbandits import Agent
    >>> decision = Agent("ids-n", ["ann", "bob", "eve"], "star", seed=1).decide(context={"day": 3})
    >>> decision.arm, decision.pi, decision.reveals, decision.context
    ('ann', {'ann': 1.0}, {'ann': 1.0, 'bob': 1.0, 'eve': 1.0}, {'day': 3})
    """

    __slots__ = (
        *("id", "number", "arm", "probability", "context"),
        *("_arms", "_expires", "_packed_pi", "_pi", "_reach", "_reveals", "_time"),
    )

    def __init__(
        self,
        arms: tuple[Arm, ...],
        body: dict[str, Any],
        number: int,
        time: float,
        pi: bytes | None,
        reach: tuple[Ints, Floats],
    ) -> None:
        self.id: str = body["id"]
        self.number = number
        self.arm = arms[body["arm"]]
        self.probability: float | None = body["p"]
        context = body.get("context")
        self.context = None if context is None else deepcopy(context)  # the journal has its own
        self._arms, self._time, self._expires = arms, time, body.get("expires")
        self._packed_pi, self._reach = pi, reach
        self._pi: dict[Arm, float] | None = None
        self._reveals: dict[Arm, float] | None = None

    @property
    def time(self) -> datetime:
        """Time of the decision (UTC)."""
        return datetime.fromtimestamp(self._time, UTC)

    @property
    def expires(self) -> datetime | None:
        """Time at which the decision expires; None if it does not."""
        return None if self._expires is None else datetime.fromtimestamp(self._expires, UTC)

    @property
    def pi(self) -> dict[Arm, float] | None:
        """Probability of each arm that could be drawn; None if the policy draws the arm itself."""
        if self._pi is None and self._packed_pi is not None:
            from graphbandits.live.setup import unpack_sparse

            self._pi = self._by_arm(*unpack_sparse(self._packed_pi))
        return self._pi

    @property
    def reveals(self) -> dict[Arm, float]:
        """Probability of observation of each arm that may be observed."""
        if self._reveals is None:
            self._reveals = self._by_arm(*self._reach)
        return self._reveals

    def _by_arm(self, index: Ints, values: Floats) -> dict[Arm, float]:
        arms = self._arms
        return {arms[i]: value for i, value in zip(index.tolist(), values.tolist(), strict=True)}

    def to_dict(self) -> dict[str, Any]:
        """Return the attributes as JSON values; the keys of mappings are the names as strings."""
        pi = self.pi
        return {
            "id": self.id,
            "number": self.number,
            "arm": self.arm,
            "probability": self.probability,
            "pi": None if pi is None else {str(arm): p for arm, p in pi.items()},
            "reveals": {str(arm): p for arm, p in self.reveals.items()},
            "time": self.time.isoformat(),
            "expires": None if self.expires is None else self.expires.isoformat(),
            "context": self.context,
        }

    def __repr__(self) -> str:
        return f"Decision(id={self.id!r}, arm={self.arm!r}, probability={self.probability!r})"


# a client of a service has explanations, and imports no kernels

#: Number of arms with a label in a figure.
MOST_LABELLED = 6
#: Recomputed probabilities that differ by more are not the recorded ones.
TOLERANCE = 1e-9


@dataclass(frozen=True)
class ExplainedArm:
    """Statistics of an arm at a decision."""

    arm: Arm
    probability: float | None
    exploration: float | None
    alpha: float | None
    delta: float | None
    h: float | None
    gain: float | None
    mean: float | None
    index: float | None
    state: dict[str, Any]
    reveals: dict[Arm, float]
    reveals_more: int

    @property
    def explored(self) -> bool:
        """Whether its whole probability is exploration."""
        return 0.0 < (self.probability or 0.0) <= (self.exploration or 0.0) * (1.0 + TOLERANCE)


@dataclass(frozen=True, eq=False)
class FrontierPoints:
    """Gain and expected regret of all arms that could be played, for a figure."""

    arms: tuple[Arm, ...]
    gain: list[float]
    delta: list[float]
    pi: list[float] | None
    exploration: list[float] | None
    hull: list[int]
    played: int

    def beyond_exploration(self) -> list[bool]:
        """Return which arms have a probability that is not only exploration."""
        pi = self.pi or [0.0] * len(self.arms)
        floor = self.exploration or [0.0] * len(self.arms)
        return [p > part * (1.0 + TOLERANCE) for p, part in zip(pi, floor, strict=True)]

    def to_dict(self) -> dict[str, Any]:
        return vars(self) | {"arms": list(self.arms)}

    def labelled(self) -> list[int]:
        """Return the arms to label: the played one, the most probable ones, ends of the hull."""
        pi, ends = self.pi or [], [self.hull[-1], self.hull[0]]
        drawn = [i for i, is_drawn in enumerate(self.beyond_exploration()) if is_drawn]
        likely = sorted(drawn, key=lambda i: -pi[i])
        order = [self.played, *likely[:2], *ends, *likely[2:], *self.hull]
        return list(dict.fromkeys(order))[:MOST_LABELLED]


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why an agent played an arm. :meth:`graphbandits.Agent.explain` creates it.

    ``str(explanation)`` is its text. A terminal with rich, and a notebook, show a table.

    Parameters
    ----------
    decision : Decision
        The decision.
    policy : str
        Text form of the policy at that time.
    rule : str
        What the policy does, in one sentence.
    arms : tuple of ExplainedArm
        The played arm, then arms by probability of being drawn and of being the best.
    others : int
        Number of further arms that could be played.
    eligible, total : int
        Number of arms that could be played, and of all arms.
    rho : float or None
        Expected mean of the best of these arms; None, as all statistics, without a posterior.
    entropy : float or None
        Entropy of the best arm in nats: what is left to learn.
    regret, information : float or None
        Expected regret and expected gain of the draw.
    ratio : float or None
        Information ratio of the draw, regret² / information; None if it is not finite.
    gain : str or None
        What the gain is.
    frontier : tuple of str or int
        Arms on the frontier of regret against gain, by increasing regret.
    reproduced : bool
        Whether this version of the package gives the recorded decision.
    notes : tuple of str
        Further sentences.
    points : FrontierPoints or None
        Data of the figure.
    """

    decision: Decision
    policy: str
    rule: str
    arms: tuple[ExplainedArm, ...]
    others: int
    eligible: int
    total: int
    rho: float | None
    entropy: float | None
    regret: float | None
    information: float | None
    ratio: float | None
    gain: str | None
    frontier: tuple[Arm, ...]
    reproduced: bool
    notes: tuple[str, ...]
    points: FrontierPoints | None

    @property
    def text(self) -> str:
        """The explanation in words, one sentence or list per line."""
        lines = [self._first_line(), *map(self._line, self.arms), *self._last_lines()]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text

    def to_dict(self) -> dict[str, Any]:
        """Return the attributes and the ``text`` as JSON values; keys of mappings are strings."""
        made = self.decision
        found: dict[str, Any] = {
            "decision": made.id,
            "number": made.number,
            "time": made.time.isoformat(),
            "arm": made.arm,
            "probability": made.probability,
        }
        names = ("policy", "rule", "others", "eligible", "total", "rho", "entropy", "regret")
        for name in (*names, "information", "ratio", "gain", "reproduced"):
            found[name] = getattr(self, name)
        found["frontier"] = list(self.frontier)
        found["arms"] = [
            vars(one) | {"reveals": {str(arm): p for arm, p in one.reveals.items()}}
            for one in self.arms
        ]
        return found | {"notes": list(self.notes), "text": self.text}

    def __rich__(self) -> Group:
        from rich.box import SIMPLE
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        table = Table(box=SIMPLE, padding=(0, 1, 0, 0))
        table.add_column("arm", overflow="fold")
        has_floor = any(one.exploration is not None for one in self.arms)
        numbers = ["probability", *(["exploration"] if has_floor else [])]
        if self.gain is not None:
            numbers += ["P(best)", "cost", "gain", "mean"]
        for header in numbers:
            table.add_column(header, justify="right", no_wrap=True)
        if self.gain is None:
            table.add_column("state", overflow="fold")
        table.add_column("also shows", overflow="fold")
        for one in self.arms:
            cells = [number_text(one.probability)]
            if has_floor:
                cells.append("only" if one.explored else number_text(one.exploration))
            if one.alpha is not None:
                cells.append(chance_text(one.alpha))
                cells += [number_text(value) for value in (one.delta, one.gain, one.mean)]
            elif self.gain is None:
                cells.append(_state_text(one))
            cells.append(_revealed_text(one))
            table.add_row(Text(str(one.arm)), *map(Text, cells))
        lines = self._last_lines()
        if self.gain is not None:
            lines.append(f"gain: {self.gain}. cost: expected regret.")
        return Group(Text(self._first_line()), table, Text("\n".join(lines)))

    def figure(self, width: float = 7.2) -> Figure:
        """Draw the expected regret of each arm against its gain, with the frontier.

        The arms that the policy could draw are marked, and joined if there are two. A policy
        without a posterior has no figure.

        Parameters
        ----------
        width : float, default=7.2
            Width in inches.

        Returns
        -------
        matplotlib.figure.Figure
            The figure.
        """
        import numpy as np

        from graphbandits.plots.beliefs import frontier_figure

        points = self.points
        if points is None:
            raise InputError(
                f"policy '{self.policy}' has no posterior of the arms: there is no frontier of "
                "regret against information to draw"
            )
        return frontier_figure(
            np.array(points.gain),
            np.array(points.delta),
            pi=None if points.pi is None else np.array(points.pi),
            drawn=np.array(points.beyond_exploration()),
            hull=points.hull,
            played=points.played,
            names=[str(arm) for arm in points.arms],
            named=points.labelled(),
            gain_label=str(self.gain),
            title=self._first_line(),
            width=width,
        )

    def _first_line(self) -> str:
        made = self.decision
        by = f"({self.policy}, {made.time:%Y-%m-%d %H:%M:%S} UTC)"
        if made.probability is None:
            return f"{made.arm} was played {by}."
        how = "by exploration, with" if self.arms[0].explored else "with"
        return f"{made.arm} was drawn {how} probability {number_text(made.probability)} {by}."

    def _line(self, one: ExplainedArm) -> str:
        chance = one.probability
        if one.arm == self.decision.arm:
            start = f"{one.arm}: "
        elif chance is None:
            start = f"Not played: {one.arm}: "
        elif chance > 0.0:
            how = "Exploration only:" if one.explored else "Mixed with"
            if self.arms[0].explored and one is self.arms[1]:
                how = "Most probable:"
            start = f"{how} {one.arm} ({number_text(chance)}): "
        else:
            start = f"Not drawn: {one.arm}: "
        if one.alpha is None:
            facts = [_state_text(one)]
        else:
            unit = " nats" if "nats" in str(self.gain) else " of the variance"
            facts = [
                f"{chance_text(one.alpha)} likely the best",
                f"costs {number_text(one.delta)} in expectation",
                f"gains {number_text(one.gain)}{unit}",
            ]
        facts.append(f"also shows {_revealed_text(one) or 'no other arm'}")
        return start + "; ".join(filter(None, facts)) + "."

    def _last_lines(self) -> list[str]:
        """Describe the arms that are not listed, and the draw."""
        lines = []
        if self.others:
            lines.append(f"{self.others} more {plural(self.others, 'arm')} could be played.")
        if self.entropy is not None:
            parts = [f"entropy of the best arm {number_text(self.entropy)} nats"]
            if self.ratio is not None:
                parts.insert(0, f"information ratio {number_text(self.ratio)}")
            if self.regret is not None:
                gain = number_text(self.information)
                parts.insert(0, f"expected regret {number_text(self.regret)}, expected gain {gain}")
            words = ", ".join(parts)
            lines.append(f"{words[0].upper()}{words[1:]}.")
        return [*lines, *self.notes]


def _revealed_text(one: ExplainedArm) -> str:
    names = [
        str(arm) if p == 1.0 else f"{arm} ({number_text(p)})"
        for arm, p in one.reveals.items()
        if arm != one.arm
    ]
    if one.reveals_more:
        names.append(f"{one.reveals_more} more")
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def _state_text(one: ExplainedArm) -> str:
    index = {} if one.index is None else {"index": one.index}
    values = index | one.state
    return ", ".join(f"{name} {_value_text(value)}" for name, value in values.items())


def _value_text(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(map(_value_text, value)) + "]"
    return number_text(value)


def plural(count: int, word: str) -> str:
    return word if count == 1 else f"{word}s"


def number_text(value: float | None) -> str:
    """Format a number with three digits.

    >>> number_text(0.12345), number_text(2e-9), number_text(None)
    ('0.123', '2e-09', '')
    """
    return "" if value is None else f"{value:.3g}"


def chance_text(chance: float) -> str:
    """Format a probability in per cent; 0 and 100 % mean exactly that.

    >>> chance_text(0.593), chance_text(1e-9), chance_text(0.99999)
    ('59 %', 'less than 0.1 %', 'more than 99.9 %')
    """
    if 0.0 < chance < 0.0005:
        return "less than 0.1 %"
    if 0.9995 <= chance < 1.0:
        return "more than 99.9 %"
    percent = 100.0 * chance
    whole = 10.0 <= percent <= 90.0 or chance in (0.0, 1.0)
    return f"{percent:.0f} %" if whole else f"{percent:.1f} %"
