"""Restriction of a policy to the eligible arms of a round.

The sub-problem has the prior, the state and the graph of the eligible arms. A policy plays in it as
in any problem. With independent arms, its statistics are those of the best eligible arm: alpha,
Delta and h of the eligible arms, and the gain G h with h = 0 for all other arms.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from graphbandits._types import Ints, State
from graphbandits.errors import GraphBanditsError, InputError, NeedsError, short_repr
from graphbandits.graphs import Feedback, RandomFeedback
from graphbandits.graphs.feedback import subgraph
from graphbandits.graphs.graph_info import GraphInfo
from graphbandits.policies.base import Policy, Problem, View, alternatives, unmet
from graphbandits.posteriors._capabilities import select_arms
from graphbandits.registry import name_of
from graphbandits.rng import Keys

#: Numbers of arms of the two problems that show which arrays of a state have an arm axis.
SIZES = (2, 3)


def check_restrictable(policy: Policy, problem: Problem) -> None:
    """Check before a run that a policy can be restricted to eligible arms.

    Raises
    ------
    NeedsError
        If the policy declares ``restrictable = False``; the message lists alternatives.
    InputError
        If the posterior or the state of the policy cannot be restricted.

    Examples
    --------
    >>> from graphbandits.policies import as_policy
    >>> from graphbandits.posteriors import BetaBernoulli
    >>> check_restrictable(as_policy("ts-n"), Problem(BetaBernoulli.of(4)))
    """
    if not getattr(policy, "restrictable", True):
        name, graphs = name_of(policy), problem._graphs

        def is_suitable(cls: type) -> bool:
            needs = cls.needs  # type: ignore[attr-defined]
            met = graphs is None or not unmet(needs, graphs._process, problem._horizon)
            return met and getattr(cls, "restrictable", True)

        raise NeedsError(
            f"policy '{name}' needs all arms in every round, but only some arms are eligible; "
            f"suitable policies: {alternatives(name, is_suitable)}"
        )
    arm_arrays(policy, problem)


def arm_arrays(policy: Policy, problem: Problem) -> frozenset[str]:
    """Return the names of the arrays in the state of a policy that have one entry per arm.

    The arm axis is axis 1. The initial states of two small problems with different numbers of arms
    show which arrays have it. All other arrays must not depend on the number of arms.

    Parameters
    ----------
    policy : Policy
        The policy.
    problem : Problem
        The problem, which has the posterior and the horizon.

    Returns
    -------
    frozenset of str
        Names of the arrays.

    Raises
    ------
    InputError
        If the state depends on the number of arms in another way, or the arms of the posterior
        cannot be selected.

    Examples
    --------
    >>> from graphbandits.policies import as_policy
    >>> from graphbandits.posteriors import BetaBernoulli
    >>> problem = Problem(BetaBernoulli.of(7))
    >>> [sorted(arm_arrays(as_policy(name), problem)) for name in ("ts-n", "exp3-ix", "uniform")]
    [['a', 'b'], ['loss'], []]
    """
    known = problem._cache.get("arm arrays")
    if known is None or known[0] is not policy:
        names = _arm_arrays(policy, problem)
        known = problem._cache["arm arrays"] = policy, names
    found: frozenset[str] = known[1]
    return found


def _arm_arrays(policy: Policy, problem: Problem) -> frozenset[str]:
    shapes = []
    for arms in SIZES:
        small = replace(
            problem,
            posterior=select_arms(problem.posterior, np.zeros(arms, np.int64)),
            # complete, and therefore allowed for all needs; its numbers do not depend on the arms
            _graphs=GraphInfo(RandomFeedback(arms, 1.0)),
            _index=None,
        )
        try:
            state = policy.init(small, Keys(0))
            shapes.append({name: np.shape(array) for name, array in state.items()})
        except GraphBanditsError:
            raise
        except Exception as error:
            raise InputError(
                f"policy '{name_of(policy)}' failed with {arms} arms, which shows the arms in its "
                f"state: {type(error).__name__}: {error}"
            ) from error
    one, two = shapes
    for name in sorted(one.keys() | two.keys()):
        mine, its = one.get(name, ()), two.get(name, ())
        grown = mine[:1] + SIZES[1:] + mine[2:] if mine[1:2] == SIZES[:1] else mine
        if its not in (mine, grown) or mine[:1] != (1,) or name not in one or name not in two:
            raise InputError(
                f"policy '{name_of(policy)}' cannot be restricted to some arms: the shape of "
                f"state['{name}'] is {mine} with {SIZES[0]} arms and {its} with {SIZES[1]}; use "
                "arrays of shape (trials, arms, ...), or (trials, ...) without arms"
            )
    return frozenset(name for name in one if one[name] != two[name])


def restricted(
    policy: Policy, state: State, view: View
) -> Iterator[tuple[slice, Ints, State, View]]:
    """Split a view by eligible arms.

    Yields
    ------
    rows : slice
        Consecutive trials of the block with the same eligible arms.
    arms : ndarray of int
        Numbers of these arms, in increasing order.
    state : dict of str to ndarray
        State of these trials and arms.
    view : View
        View of the problem restricted to these trials and arms.
    """
    keys, problem, eligible = view.keys, view.problem, view.eligible
    shape = keys.trials, problem.arms
    array = isinstance(eligible, np.ndarray) and eligible.dtype == np.bool_
    if eligible is None or not array or eligible.shape not in (shape, (1, problem.arms)):
        raise InputError(
            f"eligible arms must be an array of booleans of shape {shape}, or (1, {shape[1]}) for "
            f"all trials; got {short_repr(eligible)}"
        )
    if not eligible.any(axis=1).all():
        raise InputError(f"no arm is eligible in round {view.t}: at least one arm must be")
    names = arm_arrays(policy, problem)
    for name in sorted(names):
        if state[name].shape[1:2] != (problem.arms,):
            raise InputError(
                f"policy '{name_of(policy)}': state['{name}'] has the shape {state[name].shape}, "
                f"without an axis of the {problem.arms} arms"
            )
    changes = np.flatnonzero((eligible[1:] != eligible[:-1]).any(axis=1)) + 1
    starts = [0, *changes.tolist()]
    for start, stop in zip(starts, [*starts[1:], keys.trials], strict=True):
        rows, arms = slice(start, stop), np.flatnonzero(eligible[start])
        part = problem.among(arms)
        some = {
            name: np.take(values[rows], arms, axis=1) if name in names else values[rows]
            for name, values in state.items()
        }
        trials = Keys(keys.seed, keys.first_trial + start, stop - start)
        graph = _subgraph(part, view._feedback, arms, keys.trials, rows)
        yield rows, arms, some, View(view.t, trials, part, graph, now=view.now)


def _subgraph(problem: Problem, graph: Feedback, arms: Ints, trials: int, rows: slice) -> Feedback:
    """Return the graph among the arms of a restricted problem; a shared graph is kept for later.

    Statistics of a graph, such as its dominating sets, are cached by the object.
    """
    if not graph.shared:
        return subgraph(graph, arms, trials, rows)
    if len(arms) == graph.arms:
        return graph
    known = problem._cache.get("graph")
    if known is None or known[0] is not graph:
        known = problem._cache["graph"] = graph, subgraph(graph, arms)
    found: Feedback = known[1]
    return found
