"""An agent at a glance: beliefs, plays and outcomes by arm, as a table and as a figure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from graphbandits._types import Floats, Ints
from graphbandits.engine.loop import draw_graph
from graphbandits.graphs import Feedback
from graphbandits.graphs.processes import fixed_feedback
from graphbandits.live.explanation import state_of_arm
from graphbandits.live.history import count_by_arm
from graphbandits.live.journal import Journal
from graphbandits.live.state import AgentState
from graphbandits.posteriors import BeliefsByArm
from graphbandits.registry import text_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Number of different arms that were played last and are marked.
LAST = 3


def arm_table(
    state: AgentState, journal: Journal, beliefs: BeliefsByArm | None, most: int
) -> tuple[list[dict[str, Any]], int]:
    """Return statistics of the arms as JSON values, and the number of arms that are left out.

    Parameters
    ----------
    state : AgentState
        State of the agent.
    journal : Journal
        Its journal, which has the plays and outcomes.
    beliefs : BeliefsByArm or None
        Its beliefs; None if the policy has no posterior.
    most : int
        Largest number of arms: those that are most likely the best, then the most played ones.

    Returns
    -------
    arms : list of dict
        ``arm``, ``status`` ("active", "paused" or "retired"), ``alpha``, ``delta``, ``h``,
        ``plays``, ``outcomes`` and ``state`` of each arm.
    others : int
        Number of arms that are left out.
    """
    setup = state.setup
    count = len(setup.arms)
    plays, outcomes, _ = count_by_arm(journal.entries(), count)
    known: dict[str, Floats] = {}
    if beliefs is not None:
        active = [setup.index[arm] for arm in beliefs.arms]
        for name in ("alpha", "delta", "h"):
            known[name] = np.full(count, np.nan)
            known[name][active] = getattr(beliefs, name)
    chance = np.nan_to_num(known["alpha"]) if known else np.zeros(count)
    chosen = np.lexsort((-outcomes, -plays, -chance))[:most].tolist()
    found = []
    for i in chosen:
        status = "retired" if i in state.retired else "paused" if i in state.paused else "active"
        numbers = {name: None if np.isnan(v[i]) else float(v[i]) for name, v in known.items()}
        own = state_of_arm(state.policy_state, i, count)
        found.append(
            {"arm": setup.arms[i], "status": status}
            | dict.fromkeys(("alpha", "delta", "h"))
            | numbers
            | {"plays": int(plays[i]), "outcomes": float(outcomes[i]), "state": own}
        )
    return found, count - len(chosen)


def draw_agent(
    state: AgentState, journal: Journal, beliefs: BeliefsByArm | None, most: int, width: float
) -> Figure:
    """Draw the graph of an agent; of many arms, those around the most relevant ones.

    Parameters
    ----------
    state : AgentState
        State of the agent.
    journal : Journal
        Its journal, which has the plays and outcomes.
    beliefs : BeliefsByArm or None
        Its beliefs; None if the policy has no posterior.
    most : int
        Largest number of arms to draw.
    width : float
        Width in inches.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.
    """
    from graphbandits.plots.beliefs import beliefs_figure

    setup = state.setup
    count = len(setup.arms)
    plays, outcomes, played = count_by_arm(journal.entries(), count)
    alpha = None
    if beliefs is not None:
        alpha = np.full(count, np.nan)
        alpha[[setup.index[arm] for arm in beliefs.arms]] = beliefs.alpha
    feedback = draw_graph(setup.process, state.decisions + 1, setup.keys)
    recent = list(dict.fromkeys(played))
    chance = np.zeros(count) if alpha is None else np.nan_to_num(alpha)
    arms = relevant_arms(feedback, recent, chance, outcomes, most)
    place = {arm: i for i, arm in enumerate(arms.tolist())}
    left_out = count - len(arms)
    caption = [f"{left_out} of {count} arms are not drawn" if left_out else ""]
    if fixed_feedback(setup.process) is None:
        caption.append("the graph changes; this is that of the next decision")
    if journal.first() > 1:
        caption.append("plays and outcomes: those in the journal, whose first entries were removed")
    caption.append("" if alpha is not None else "the policy has no posterior: no colours")
    return beliefs_figure(
        feedback,
        arms,
        [str(setup.arms[i]) for i in arms.tolist()],
        alpha=None if alpha is None else alpha[arms],
        plays=plays[arms],
        outcomes=outcomes[arms],
        last=[place[arm] for arm in recent[:LAST] if arm in place],
        title=f"{text_of(setup.policy)}: decisions {state.decisions}, open {len(state.open)}",
        caption="; ".join(filter(None, caption)),
        width=width,
    )


def relevant_arms(
    feedback: Feedback, recent: Sequence[int], chance: Floats, outcomes: Floats, most: int
) -> Ints:
    """Return the arms to draw, in increasing order: at most ``most``.

    These are the arms that are most likely the best and those that were played last, with the arms
    that they reveal and that reveal them; then further likely ones, with theirs.

    >>> from graphbandits.graphs import as_process
    >>> from graphbandits.rng import Keys
    >>> graph = as_process("edges(1-2 3-4 4-5 5-6)", 6).round(1, Keys(0))
    >>> chance = np.array([0.0, 0.0, 0.9, 0.0, 0.05, 0.05])
    >>> relevant_arms(graph, [0], chance, np.zeros(6), most=4)
    array([0, 1, 2, 3])
    """
    order = np.lexsort((-outcomes, -chance))
    if len(order) <= most:
        return np.arange(len(order))
    likely = order[:most].tolist()
    few = min(LAST, max(1, most // 4))
    first = list(dict.fromkeys([likely[0], *recent[:few], *likely[1:few]]))[:most]
    rank = np.argsort(order)
    near = [_neighbours(feedback, arm, rank) for arm in first]
    room = max(1, most // len(first) - 1)  # a hub leaves room for the others
    found = dict.fromkeys([*first, *(other for one in near for other in one[:room])])
    found |= dict.fromkeys(other for one in near for other in one)
    for arm in likely:
        if len(found) >= most:
            break
        found |= dict.fromkeys([arm, *_neighbours(feedback, arm, rank)[:room]])
    return np.sort(np.array(list(found)[:most], np.int64))


def _neighbours(feedback: Feedback, arm: int, rank: Ints) -> list[int]:
    """Return the arms that an arm reveals or that reveal it, the most probable edges first."""
    one = np.zeros((1, len(rank)))
    one[0, arm] = 1.0
    edge = np.maximum(feedback.reach(np.array([arm]))[0], feedback.gain(one)[0])
    edge[arm] = 0.0
    index = np.flatnonzero(edge)
    found: list[int] = index[np.lexsort((rank[index], -edge[index]))].tolist()
    return found
