"""Why an agent played an arm: the statistics of a decision, recomputed from its journal."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from graphbandits._types import Floats, Ints, State
from graphbandits.engine.loop import decide
from graphbandits.errors import InputError
from graphbandits.gains import information_ratio
from graphbandits.gains.ratio import entropy
from graphbandits.graphs import Feedback
from graphbandits.live._packing import unpack_sparse
from graphbandits.live.deciding import as_decision, view_of
from graphbandits.live.decision import Decision
from graphbandits.live.journal import Entry
from graphbandits.live.state import AgentState, without_retired
from graphbandits.policies import Policy, View
from graphbandits.policies.base import with_inner
from graphbandits.policies.bayesian import GainPolicy, RulePolicy
from graphbandits.policies.floor import ExplorationFloor
from graphbandits.policies.incremental import own_plays_only
from graphbandits.policies.index import IndexPolicy
from graphbandits.policies.restriction import restricted
from graphbandits.posteriors import Arm, Beliefs
from graphbandits.posteriors._capabilities import compute_beliefs, has_variance, keeps_posterior
from graphbandits.registry import name_of, summary_of, text_of
from graphbandits.rules._hull_kernels import frontier

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Group

#: Number of other arms that an arm reveals and that are listed: those with the most information.
MOST_REVEALED = 10
#: Number of arms with a label in a figure.
MOST_LABELLED = 6
#: Recomputed probabilities that differ by more are not the recorded ones.
TOLERANCE = 1e-9
#: What the gain of a policy is, and how a text describes its value.
GAIN = {
    "Gh": "information in all outcomes that a play reveals (G h), in nats",
    "h": "information in the outcome of the played arm (h), in nats",
    "g": "joint information in all outcomes that a play reveals (g), in nats",
    "Gv": "variance explained by all outcomes that a play reveals (G v)",
    "v": "variance explained by the outcome of the played arm (v)",
}


@dataclass(frozen=True)
class ExplainedArm:
    """Statistics of an arm at a decision.

    Parameters
    ----------
    arm : str or int
        Its name.
    probability : float or None
        Probability with which it was drawn; None if the policy draws the arm itself.
    exploration : float or None
        Part of this probability that is due to the exploration floor; None without a floor.
    alpha, delta, h, gain, mean : float or None
        Probability that it is the best of the arms that could be played, expected regret,
        information of its outcome, gain that the policy uses, and expected mean; None if the policy
        has no posterior.
    index : float or None
        Index of an index policy; None if the policy has none, or if the arm was never observed.
    state : dict
        State of the policy for this arm: posterior parameters, or counts, totals or losses.
    reveals : dict
        Arms that may be observed if it is played, with their probabilities: the arm itself, and up
        to ten others.
    reveals_more : int
        Number of further arms that may be observed.
    """

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
    """Gain and expected regret of all arms that could be played, for a figure.

    Parameters
    ----------
    arms : tuple of str or int
        Their names.
    gain, delta : ndarray of shape (K,)
        Coordinates.
    pi : ndarray of shape (K,) or None
        Recorded probabilities.
    exploration : ndarray of shape (K,) or None
        Part of each probability that is due to the exploration floor; None without a floor.
    hull : list of int
        Vertices of the lower right hull, by increasing expected regret.
    played : int
        Number of the played arm.
    """

    arms: tuple[Arm, ...]
    gain: Floats
    delta: Floats
    pi: Floats | None
    exploration: Floats | None
    hull: list[int]
    played: int

    def beyond_exploration(self) -> NDArray[np.bool_]:
        """Return which arms have a probability that is not only exploration."""
        if self.pi is None:
            return np.zeros(len(self.arms), np.bool_)
        floor = 0.0 if self.exploration is None else self.exploration
        return np.asarray(self.pi > floor * (1.0 + TOLERANCE))

    def to_dict(self) -> dict[str, Any]:
        """Return the points as JSON values."""
        return {
            "arms": list(self.arms),
            "gain": self.gain.tolist(),
            "delta": self.delta.tolist(),
            "pi": None if self.pi is None else self.pi.tolist(),
            "exploration": None if self.exploration is None else self.exploration.tolist(),
            "hull": self.hull,
            "played": self.played,
        }

    def labelled(self) -> list[int]:
        """Return the arms to label, the most important first.

        The played arm, the most probable arms of the policy, and vertices of the hull, its ends
        first.
        """
        drawn = np.flatnonzero(self.beyond_exploration())
        if self.pi is not None:
            drawn = drawn[np.argsort(-self.pi[drawn], kind="stable")]
        likely, ends = drawn.tolist(), [self.hull[-1], self.hull[0]]
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

    Examples
    --------
    >>> from graphbandits import Agent
    >>> prior = {"ann": (9, 1), "eve": (1, 2)}
    >>> agent = Agent("ids-n", ["ann", "bob", "eve"], "star", seed=1, prior=prior)
    >>> played = agent.explain(agent.decide()).text.splitlines()[1]
    >>> played.split("; ")[:3]
    ['ann: 89 % likely the best', 'costs 0.0103 in expectation', 'gains 0.0558 nats']
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
        lines = [self._first_line(), *map(self._line, self.arms)]
        if self.others:
            lines.append(f"{self.others} more {_plural(self.others, 'arm')} could be played.")
        lines += [line for line in (self._draw_line(),) if line]
        return "\n".join((*lines, *self.notes))

    def __str__(self) -> str:
        return self.text

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as JSON values; the keys of mappings are the names as strings.

        Returns
        -------
        dict
            The attributes, with the id, number, time and arm of the decision, and the ``text``.
        """
        made = self.decision
        found: dict[str, Any] = {
            "decision": made.id,
            "number": made.number,
            "time": made.time.isoformat(),
            "arm": made.arm,
            "probability": made.probability,
        }
        for name in ("policy", "rule", "others", "eligible", "total", "rho", "entropy", "regret"):
            found[name] = getattr(self, name)
        for name in ("information", "ratio", "gain", "reproduced"):
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
        rest = [f"{self.others} more {_plural(self.others, 'arm')} could be played."]
        lines = [*(rest if self.others else []), self._draw_line(), *self.notes]
        if self.gain is not None:
            lines.append(f"gain: {self.gain}. cost: expected regret.")
        return Group(Text(self._first_line()), table, Text("\n".join(filter(None, lines))))

    def figure(self, width: float = 7.2) -> Figure:
        """Draw the expected regret of each arm against its gain, with the frontier.

        The arms that the policy could draw are marked, and joined if there are two. Labels are
        those of the played arm, of the most probable arms, and of the frontier.

        Parameters
        ----------
        width : float, default=7.2
            Width in inches.

        Returns
        -------
        matplotlib.figure.Figure
            The figure.

        Raises
        ------
        InputError
            If the policy has no posterior.
        """
        from graphbandits.plots.frontier import frontier_figure

        points = self.points
        if points is None:
            raise InputError(
                f"policy '{self.policy}' has no posterior of the arms: there is no frontier of "
                "regret against information to draw"
            )
        return frontier_figure(
            points.gain,
            points.delta,
            pi=points.pi,
            drawn=points.beyond_exploration(),
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

    def _draw_line(self) -> str:
        if self.entropy is None:
            return ""
        parts = []
        if self.regret is not None:
            parts.append(f"expected regret {number_text(self.regret)}")
            parts.append(f"expected gain {number_text(self.information)}")
        if self.ratio is not None:
            parts.append(f"information ratio {number_text(self.ratio)}")
        parts.append(f"entropy of the best arm {number_text(self.entropy)} nats")
        words = ", ".join(parts)
        return f"{words[0].upper()}{words[1:]}."


def explain(
    state: AgentState, made: Sequence[Entry], get: Callable[[str], bytes], most: int
) -> Explanation:
    """Return the explanation of the last of some decisions of one request.

    Parameters
    ----------
    state : AgentState
        State before these decisions.
    made : sequence of Entry
        Entries of the decisions of the request, up to the one that is explained.
    get : callable
        Returns an object of the journal.
    most : int
        Number of arms to list.

    Returns
    -------
    Explanation
        The explanation.
    """
    setup, entry = state.setup, made[-1]
    arrays, view = view_of(state, made, get)
    opened = state.opened(entry, get)
    decision = as_decision(state, entry, view._feedback)
    policy, arms = with_inner(setup.policy)[-1], setup.arms
    part = _Part.of(setup.policy, arrays, view)
    floor = None
    if isinstance(setup.policy, ExplorationFloor):
        floor = setup.policy.exploration(part.view)[0]
    recorded = None
    if entry.data is not None:
        recorded = np.zeros(len(arms))
        index, values = unpack_sparse(entry.data)
        recorded[index] = values
    pi = None if recorded is None else recorded[part.index]
    posterior = part.view.problem.posterior
    found = gain = kind = mean = None
    if keeps_posterior(part.arrays, posterior):
        current = part.view.current(part.arrays)
        part = _Part(part.index, current, part.view)
        found = _beliefs(policy, current, part.view)
        gain, kind = _gain(policy, current, found, part.view)
        mean = posterior.mean(current)[0]
    played = int(np.searchsorted(part.index, opened.arm))
    alpha = None if found is None else found.alpha[0]
    listed = _most_relevant(played, pi, alpha, len(part.index))[:most]
    worth = np.zeros(len(arms))
    if found is not None:
        worth[part.index] = found.h[0]
    columns: dict[str, Floats | None] = {"probability": pi, "alpha": alpha, "mean": mean}
    columns["exploration"] = floor
    columns |= {name: None if found is None else getattr(found, name)[0] for name in ("delta", "h")}
    columns |= {"gain": gain, "index": _indices(policy, part)}
    explained = []
    for i in listed:
        arm = int(part.index[i])
        reach = without_retired(_reach(view._feedback, arm), state.retired, opened.number)
        reveals, more = _revealed(reach, worth, arm, arms)
        numbers = {
            name: None if values is None or not math.isfinite(values[i]) else float(values[i])
            for name, values in columns.items()
        }
        own = state_of_arm(part.arrays, i, len(part.index))
        explained.append(
            ExplainedArm(arms[arm], **numbers, state=own, reveals=reveals, reveals_more=more)
        )
    points, totals = None, dict[str, float | None]()
    if found is not None and gain is not None:
        points = FrontierPoints(
            tuple(arms[i] for i in part.index.tolist()),
            gain,
            found.delta[0],
            pi,
            floor,
            _hull(found.delta[0], gain),
            played,
        )
        totals = {"rho": float(found.rho[0]), "entropy": float(entropy(found.alpha)[0])}
        if pi is not None:
            ratio = float(information_ratio(pi[None], found.delta, gain[None])[0])
            totals |= {"regret": float(pi @ found.delta[0]), "information": float(pi @ gain)}
            totals["ratio"] = ratio if math.isfinite(ratio) else None
    again = decide(setup.policy, arrays, view)
    difference = _difference(recorded, opened.arm, *again)
    notes = [
        _policy_note(policy, found is not None),
        _floor_note(floor),
        _eligible_note(len(part.index), len(arms), entry, len(made)),
        _pending_note(entry),
        _difference_note(difference, recorded is None),
    ]
    return Explanation(
        decision=decision,
        policy=text_of(setup.policy),
        rule=summary_of(type(policy)),
        arms=tuple(explained),
        others=len(part.index) - len(explained),
        eligible=len(part.index),
        total=len(arms),
        **{name: totals.get(name) for name in ("rho", "entropy", "regret", "information", "ratio")},
        gain=None if kind is None else GAIN[kind],
        frontier=() if points is None else tuple(points.arms[i] for i in points.hull),
        reproduced=difference <= TOLERANCE,
        notes=tuple(filter(None, notes)),
        points=points,
    )


def state_of_arm(arrays: State, arm: int, count: int) -> dict[str, Any]:
    """Return the entries of a state of ``count`` arms that belong to an arm, as JSON values.

    >>> state_of_arm({"loss": np.array([[0.5, np.inf]]), "squares": np.zeros(1)}, 1, 2)
    {'loss': None}
    """

    def plain(value: Any) -> Any:
        if isinstance(value, list):
            return [plain(one) for one in value]
        return None if isinstance(value, float) and not math.isfinite(value) else value

    return {
        name: plain(values[0, arm].tolist())
        for name, values in arrays.items()
        if values.shape[:2] == (1, count)
    }


@dataclass(frozen=True, eq=False)
class _Part:
    """The arms that could be played, with the state of the policy and the view of these arms."""

    index: Ints
    arrays: State
    view: View

    @classmethod
    def of(cls, policy: Policy, arrays: State, view: View) -> _Part:
        if view.eligible is None:
            return cls(np.arange(view.problem.arms), arrays, view)
        [(_, index, some, part)] = restricted(policy, arrays, view)
        return cls(index, some, part)


def _beliefs(policy: Policy, state: State, view: View) -> Beliefs:
    posterior: Any = view.problem.posterior
    if getattr(policy, "variance", False) and has_variance(posterior):
        found: Beliefs = posterior.beliefs(state, variance=True)
        return found
    return compute_beliefs(posterior, state, None, False)


def _gain(policy: Policy, state: State, found: Beliefs, view: View) -> tuple[Floats, str]:
    """Return the gain of each play that the policy uses, or would have, and its kind."""
    if isinstance(policy, RulePolicy) and policy.uses_information:
        worth = found.v if policy.variance and found.v is not None else found.h
        kind = "v" if policy.variance else "h"
        if policy.needs.graph == "before":
            kind = "g" if isinstance(policy, GainPolicy) and policy.gain == "joint" else f"G{kind}"
        return policy.information_gain(state, worth, view)[0], kind
    if own_plays_only(policy):
        return found.h[0], "h"
    return view._feedback.gain(found.h)[0], "Gh"


def _indices(policy: Policy, part: _Part) -> Floats | None:
    if not isinstance(policy, IndexPolicy):
        return None
    with np.errstate(all="ignore"):  # indices of arms that were never observed are not used
        found: Floats = policy.indices(part.arrays, part.view)[0]
    return found


def _hull(delta: Floats, gain: Floats) -> list[int]:
    """Return the vertices of the lower right hull, by increasing Delta."""
    hull, order, group = (np.empty(len(delta), np.int64) for _ in range(3))
    count = frontier(np.ascontiguousarray(delta), np.ascontiguousarray(gain), hull, order, group)
    found: list[int] = hull[:count].tolist()
    return found


def _most_relevant(played: int, pi: Floats | None, alpha: Floats | None, count: int) -> list[int]:
    """Return the arms in their order of relevance.

    The played arm, the most probable other one, the one that is most likely the best, and then by
    probability.

    >>> _most_relevant(2, np.array([0.1, 0.2, 0.7, 0.0]), np.array([0.1, 0.0, 0.2, 0.7]), 4)
    [2, 1, 3, 0]
    """
    drawn = np.zeros(count) if pi is None else pi
    best = np.zeros(count) if alpha is None else alpha
    order = np.lexsort((-best, -drawn)).tolist()
    second = [i for i in order[:2] if i != played][:1]
    return list(dict.fromkeys([played, *second, int(best.argmax()), *order]))


def _reach(feedback: Feedback, arm: int) -> Floats:
    reach: Floats = feedback.reach(np.array([arm]))[0]
    return reach


def _revealed(
    reach: Floats, worth: Floats, arm: int, arms: tuple[Arm, ...]
) -> tuple[dict[Arm, float], int]:
    """Return what a play reveals, with probabilities: the arm, and others; and how many are left.

    Those with the most information are listed.
    """
    index = np.flatnonzero(reach)
    order = np.lexsort((-reach[index], -(reach * worth[: len(reach)])[index], index != arm))
    listed = np.sort(index[order[: MOST_REVEALED + 1]]).tolist()
    return {arms[i]: float(reach[i]) for i in listed}, len(index) - len(listed)


def _difference(recorded: Floats | None, arm: int, pi: Floats, action: Ints) -> float:
    """Return how much the recomputed decision differs from the recorded one.

    A policy that draws the arm itself must draw the same arm.
    """
    if recorded is None:
        return 0.0 if int(action[0]) == arm else 1.0
    return float(np.abs(pi[0] - recorded).max())


# Sentences ----------------------------------------------------------------------------------------


def _policy_note(policy: Policy, has_beliefs: bool) -> str:
    note = ""
    if not policy.exact:
        note = f"{name_of(policy)} draws the arm itself: its probability is not known. "
    if not has_beliefs:
        note += (
            f"{name_of(policy)} has no posterior of the arms: there is no probability of being the "
            "best, no expected regret and no information."
        )
    return note.strip()


def _floor_note(floor: Floats | None) -> str:
    if floor is None:
        return ""
    count = int((floor > 0.0).sum())
    return (
        f"Exploration has a probability of {number_text(float(floor.sum()))}, spread evenly over "
        f"{count} {_plural(count, 'arm')}."
    )


def _eligible_note(eligible: int, total: int, entry: Entry, place: int) -> str:
    if eligible == total:
        return ""
    why = "others were excluded, paused or retired"
    if entry.body.get("distinct") and place > 1:
        why += (
            f", or played by the {place - 1} earlier {_plural(place - 1, 'decision')} of its call"
        )
    return f"{eligible} of {total} arms could be played: {why}."


def _pending_note(entry: Entry) -> str:
    if entry.body.get("pending") != "expected":
        return ""
    return "Outcomes that were expected from open decisions count by their expectation."


def _difference_note(difference: float, draws: bool) -> str:
    if difference <= TOLERANCE:
        return ""
    what = "another arm" if draws else f"probabilities that differ by up to {difference:.2g}"
    return (
        f"Not reproduced: this version of graphbandits gives {what} from the same journal. The "
        "decision was made by another version, or by other code of a plug-in. The probabilities "
        "are the recorded ones; all other numbers are those of this version."
    )


def _revealed_text(one: ExplainedArm) -> str:
    """Format the other arms that an arm reveals."""
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


def _plural(count: int, word: str) -> str:
    return word if count == 1 else f"{word}s"


def number_text(value: float | None) -> str:
    """Format a number with three digits.

    >>> number_text(0.12345), number_text(1.0), number_text(2e-9), number_text(None)
    ('0.123', '1', '2e-09', '')
    """
    return "" if value is None else f"{value:.3g}"


def chance_text(chance: float) -> str:
    """Format a probability in per cent; 0 and 100 % mean exactly that.

    >>> chance_text(0.593), chance_text(0.043), chance_text(1e-9), chance_text(0.99999)
    ('59 %', '4.3 %', 'less than 0.1 %', 'more than 99.9 %')
    """
    if 0.0 < chance < 0.0005:
        return "less than 0.1 %"
    if 0.9995 <= chance < 1.0:
        return "more than 99.9 %"
    percent = 100.0 * chance
    whole = 10.0 <= percent <= 90.0 or chance in (0.0, 1.0)
    return f"{percent:.0f} %" if whole else f"{percent:.1f} %"
