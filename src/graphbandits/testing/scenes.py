"""Where policies are tried: small problems, directed and asymmetric, so that mistakes show."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np

from graphbandits.engine import as_pi, learn, propose, run_block, start
from graphbandits.errors import GraphBanditsError
from graphbandits.graphs import GraphLike, Process, as_process, from_matrix
from graphbandits.policies import Event, Needs, Policy, Problem, View
from graphbandits.policies.base import unmet
from graphbandits.posteriors import BetaBernoulli
from graphbandits.rng import Keys
from graphbandits.testing.contract import Violation
from graphbandits.types import Floats, Ints, State
from graphbandits.worlds import Bernoulli


@dataclass(frozen=True)
class Scene:
    """A problem to try a policy on."""

    name: str
    process: Process
    prior: BetaBernoulli
    horizon: int = 40

    def run(self, policy: Policy | Watched, keys: Keys) -> None:
        """Play all rounds; what goes wrong is said with the name of the scene."""
        player = cast(Policy, policy)  # a watched policy has its needs from another
        world, record = Bernoulli(self.prior), np.array([self.horizon])
        try:
            run_block(player, world, self.process, self.horizon, keys, record)
        except GraphBanditsError as error:
            raise Violation(f"{self.name}: {error}") from error


def scene(name: str, graph: GraphLike, arms: int | None = None, horizon: int = 40) -> Scene:
    """A scene on any graph, with a prior that differs from arm to arm."""
    process = as_process(graph, arms)
    return Scene(name, process, lopsided_prior(process.arms), horizon)


def lopsided_prior(arms: int) -> BetaBernoulli:
    """Beta priors no two of which are alike."""
    i = np.arange(arms, dtype=np.float64)
    return BetaBernoulli(1.0 + 0.37 * i, 2.0 - 0.83 * i / arms)


def directed_weights() -> Floats:
    """A directed graph of four arms with probabilities, like no relabelling of itself."""
    return np.array(
        [[1.0, 0.9, 0.0, 0.3], [0.0, 1.0, 0.5, 0.0], [0.2, 0.0, 1.0, 0.0], [0.0, 0.6, 0.8, 1.0]]
    )


def directed_ranks() -> Floats:
    """A 0/1 graph of four arms, each of which reveals those below it: no two arms are alike."""
    rank = np.array([2, 0, 3, 1])
    return (rank[:, None] >= rank).astype(np.float64)


def ordinary_scenes(policy: Policy) -> list[Scene]:
    """Directed, weighted, changing and random graphs, as far as the policy's needs allow."""
    everything = [
        scene("directed star", "star(direction=out)", 4),
        scene("two triangles", "paper"),
        scene("directed graph with probabilities", from_matrix(directed_weights())),
        scene("directed graphs redrawn each round", "revealed-er(p=0.4, directed=true)", 4),
        scene("random feedback", "random(r=0.3)", 3),
        scene("random feedback, r uniform", "random(r=uniform)", 4),
    ]
    return allowed(policy, everything)


def degenerate_scenes(policy: Policy) -> list[Scene]:
    """The corners: one arm, two, equal arms, no edges, all edges, a directed star, r of 0 and 1."""
    equal = [
        Scene(f"equal arms, {graph}", as_process(graph, 3), BetaBernoulli.of(3), 20)
        for graph in ("empty", "complete", "star(direction=in)", "random(r=0.5)")
    ]
    corners = [
        scene("one arm", "empty", 1, 20),
        scene("one arm, random feedback", "random(r=0.5)", 1, 20),
        scene("two arms", "path(directed=true)", 2, 20),
        scene("empty", "empty", 4, 20),
        scene("complete", "complete", 4, 20),
        scene("star, leaves show the middle", "star(direction=in)", 4, 20),
        scene("star, middle shows the leaves", "star(direction=out)", 4, 20),
        scene("r = 0", "random(r=0)", 3, 20),
        scene("r = 1", "random(r=1)", 3, 20),
        scene("one round", "paper", None, 1),
    ]
    return allowed(policy, corners + equal)


def allowed(policy: Policy, scenes: list[Scene]) -> list[Scene]:
    """The scenes that can tell the policy what it needs."""
    return [one for one in scenes if not unmet(policy.needs, one.process, one.horizon)]


@dataclass(frozen=True)
class Watched:
    """A policy that behaves like ``inner`` while its calls are watched, or shown other views.

    ``ahead`` is called before each proposal, ``look`` after it, and ``keep`` with each new state.
    """

    inner: Policy
    pis: list[Floats] = field(default_factory=list)
    ahead: Callable[[State, View], None] = lambda state, view: None
    look: Callable[[State, View, Floats], None] = lambda state, view, pi: None
    keep: Callable[[State], None] = lambda state: None
    show_problem: Callable[[Problem], Problem] = lambda problem: problem
    show_view: Callable[[View], View] = lambda view: view
    show_event: Callable[[Event], Event] = lambda event: event

    @property
    def needs(self) -> Needs:
        return self.inner.needs

    @property
    def exact(self) -> bool:
        return self.inner.exact

    def init(self, problem: Problem, keys: Keys) -> State:
        state = start(self.inner, self.show_problem(problem), keys)
        self.keep(state)
        return state

    def propose(self, state: State, view: View) -> Floats:
        self.ahead(state, view)
        shown = self.show_view(view)
        proposed: Any = propose(self.inner, state, shown)
        pi = as_pi(self.inner, proposed, shown)
        self.look(state, view, proposed)
        self.pis.append(np.array(proposed))
        return pi

    def update(self, state: State, event: Event) -> State:
        state = learn(self.inner, state, self.show_event(event))
        self.keep(state)
        return state


def check_state(state: State, trials: int) -> None:
    """Named arrays of numbers, each with one row a trial."""
    for name, value in state.items():
        where = f"state[{name!r}]"
        if not isinstance(name, str):
            raise Violation(f"{where}: the names of a state are texts")
        if not isinstance(value, np.ndarray):
            raise Violation(f"{where} is {type(value).__name__}: keep NumPy arrays only")
        if value.dtype.kind not in "biuf":
            raise Violation(f"{where} holds {value.dtype}: keep numbers only")
        if value.shape[:1] != (trials,):
            raise Violation(
                f"{where} has the shape {value.shape} with {trials} trials: its first axis is "
                "the trial; what is the same for all belongs in a parameter, or is computed again"
            )


def same_bits(left: object, right: object) -> bool:
    """Whether two arrays are equal, NaN included, and of one type."""
    a, b = np.asarray(left), np.asarray(right)
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def relabelled(process: Process, place: Ints) -> Process:
    """The fixed graph in which arm i is called ``place[i]``."""
    matrix = process.round(1, Keys(0)).reach(np.arange(process.arms))
    moved = np.empty_like(matrix)
    moved[np.ix_(place, place)] = matrix
    return from_matrix(moved)


def without(view: View | Event, feedback: object) -> View | Event:
    """The same view or event with another object in the place of its graph."""
    return replace(view, _feedback=feedback)  # type: ignore[arg-type]
