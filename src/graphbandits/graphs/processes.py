"""Graph processes: the feedback of round t, for each trial of a block.

Policies see the feedback of a round before the decision, unless ``graph_known`` of the process is
"after" or "never". Which arms are observed is drawn after the play.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import ClassVar, Protocol

import numpy as np
import scipy

from graphbandits._types import Floats, Ints
from graphbandits.errors import InputError, check_bool, check_integer, check_probability, nearest
from graphbandits.graphs._feedback_kernels import erdos_renyi
from graphbandits.graphs.feedback import (
    DENSE_LIMIT,
    DenseFeedback,
    Feedback,
    SparseFeedback,
    UniformFeedback,
    matrices,
    subgraph,
)
from graphbandits.rng import Keys, Stream

#: Most arms of a random graph that all trials share.
SHARED_LIMIT = 2000
#: When policies see the graph of a round, in increasing order of information.
GRAPH_KNOWN = ("never", "after", "before")


class Process(Protocol):
    """Protocol of graph processes: the feedback of each round."""

    @property
    def arms(self) -> int:
        """Number of arms, K."""

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names of the arms; None if they have none."""

    @property
    def deterministic(self) -> bool:
        """Whether all graphs have entries 0 and 1 only."""

    @property
    def rounds(self) -> int | None:
        """Number of rounds that have feedback; None if unlimited."""

    def round(self, t: int, keys: Keys) -> Feedback:
        """Return the feedback of a round.

        Parameters
        ----------
        t
            Round, starting at 1.
        keys
            Seed and trials of the random draws.
        """


@dataclass(frozen=True, eq=False)
class Fixed:
    """The same feedback in every round: a deterministic graph or a probabilistic matrix.

    Parameters
    ----------
    feedback
        Feedback of every round, the same for all trials.
    names
        Names of the arms, if any: distinct texts or whole numbers, one for each arm.
    """

    feedback: Feedback
    names: tuple[str, ...] | None = None
    rounds: ClassVar[None] = None

    def __post_init__(self) -> None:
        _check_shared(self.feedback)
        object.__setattr__(self, "names", check_names(self.names, self.feedback.arms))

    @property
    def arms(self) -> int:
        return self.feedback.arms

    @property
    def deterministic(self) -> bool:
        return self.feedback.deterministic

    def round(self, t: int, keys: Keys) -> Feedback:
        return self.feedback


@dataclass(frozen=True, eq=False)
class GivenSequence:
    """A list of feedback, one entry per round, the same for all trials.

    Parameters
    ----------
    feedbacks
        Feedback of rounds 1, 2, ...
    names
        Names of the arms, if any: distinct texts or whole numbers, one for each arm.
    """

    feedbacks: tuple[Feedback, ...]
    names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "feedbacks", tuple(self.feedbacks))
        sizes = {feedback.arms for feedback in self.feedbacks}
        if len(sizes) != 1:
            raise InputError(
                f"all graphs of a sequence must have the same number of arms; got {sorted(sizes)}"
            )
        for feedback in self.feedbacks:
            _check_shared(feedback)
        object.__setattr__(self, "names", check_names(self.names, self.arms))

    @property
    def arms(self) -> int:
        return self.feedbacks[0].arms

    @property
    def deterministic(self) -> bool:
        return all(feedback.deterministic for feedback in self.feedbacks)

    @property
    def rounds(self) -> int:
        return len(self.feedbacks)

    def round(self, t: int, keys: Keys) -> Feedback:
        return self.feedbacks[_index_of_round(t, len(self.feedbacks), "graphs")]


@dataclass(frozen=True, eq=False)
class RevealedErdosRenyi:
    """Erdos-Renyi graph of entries 0 and 1, redrawn in each round and revealed.

    Parameters
    ----------
    arms
        Number of arms.
    p
        Probability of each edge.
    directed
        If True, the two directions of an edge are drawn independently.
    shared
        If True, all trials share the graphs; otherwise each trial draws its own.
    names
        Names of the arms, if any: distinct texts or whole numbers, one for each arm.
    graph_known
        When policies see the graph: "before" the decision, "after" the play, or "never".
    """

    arms: int
    p: float
    directed: bool = False
    shared: bool = False
    names: tuple[str, ...] | None = None
    graph_known: str = "before"
    deterministic: ClassVar[bool] = True
    rounds: ClassVar[None] = None

    def __post_init__(self) -> None:
        arms = check_integer(self.arms, "arms")
        self.__dict__.update(arms=arms, p=check_probability(self.p, "density p"))
        check_graph_known(self.graph_known)
        check_bool(self.directed, "directed")
        check_bool(self.shared, "shared")
        self.__dict__.update(names=check_names(self.names, arms))
        limit = SHARED_LIMIT if self.shared else DENSE_LIMIT
        if self.arms > limit:
            raise InputError(
                f"revealed-er draws a {self.arms} x {self.arms} matrix per trial and round: use at "
                f"most {DENSE_LIMIT} arms, or {SHARED_LIMIT} with shared=true"
            )

    def round(self, t: int, keys: Keys) -> Feedback:
        trials, first = (1, 0) if self.shared else (keys.trials, keys.first_trial)
        matrix = np.empty((trials, self.arms, self.arms))
        erdos_renyi(self.p, self.directed, keys.key("graph"), first, t, matrix)
        # valid by construction: skip the checks, which would run in every round
        feedback = object.__new__(DenseFeedback)
        feedback.__dict__.update(matrix=matrix)
        return feedback


@dataclass(frozen=True, eq=False)
class RandomFeedback:
    """Random feedback: each arm that is not played is observed with probability r_t.

    Parameters
    ----------
    arms
        Number of arms.
    r
        A number, a sequence with one number per round, or None: r_t is drawn uniformly from
        [low, high] in each round.
    low, high
        Range of r_t if ``r`` is None.
    shared
        If True, all trials share the drawn r_t; otherwise each trial draws its own.
    names
        Names of the arms, if any: distinct texts or whole numbers, one for each arm.
    graph_known
        When policies see r_t: "before" the decision, "after" the play, or "never".
    """

    arms: int
    r: float | tuple[float, ...] | None
    low: float = 0.0
    high: float = 1.0
    shared: bool = False
    names: tuple[str, ...] | None = None
    graph_known: str = "before"

    def __post_init__(self) -> None:
        arms, r = check_integer(self.arms, "arms"), self.r
        check_graph_known(self.graph_known)
        low, high = check_probability(self.low, "low"), check_probability(self.high, "high")
        if low > high:
            raise InputError(f"low must not exceed high; got low={low}, high={high}")
        check_bool(self.shared, "shared")
        if isinstance(r, np.ndarray | Sequence) and not isinstance(r, str):
            if not len(r):
                raise InputError("r is an empty sequence: give one probability per round")
            r = tuple(check_probability(one, f"r of round {t}") for t, one in enumerate(r, 1))
        elif r is not None:
            r = check_probability(r, "r")
        names = check_names(self.names, arms)
        self.__dict__.update(arms=arms, r=r, low=low, high=high, names=names)

    @property
    def rates(self) -> tuple[float, ...]:
        """Values of r_t, or the two ends of their range."""
        if self.r is None:
            return self.low, self.high
        return self.r if isinstance(self.r, tuple) else (self.r,)

    @property
    def deterministic(self) -> bool:
        fixed = self.r is not None or self.low == self.high
        return self.arms == 1 or (fixed and all(r in (0.0, 1.0) for r in self.rates))

    @property
    def rounds(self) -> int | None:
        return len(self.r) if isinstance(self.r, tuple) else None

    def round(self, t: int, keys: Keys) -> Feedback:
        if isinstance(self.r, tuple):
            index = _index_of_round(t, len(self.r), "values of r")
            return UniformFeedback(self.r[index], self.arms)
        if self.r is not None:
            return UniformFeedback(self.r, self.arms)
        drawn_by = Keys(keys.seed) if self.shared else keys
        u = Stream(drawn_by, t, "r").uniform(1)[:, 0]
        return UniformFeedback(self.low + (self.high - self.low) * u, self.arms)


def fixed_feedback(process: Process) -> Feedback | None:
    """Return the feedback if it is the same in all rounds; None if it may change."""
    if isinstance(process, Fixed):
        return process.feedback
    rates = process.rates if isinstance(process, RandomFeedback) else ()
    if isinstance(process, RevealedErdosRenyi) and process.p in (0.0, 1.0):
        rates = (process.p,)
    return UniformFeedback(rates[0], process.arms) if len(set(rates)) == 1 else None


@dataclass(frozen=True, eq=False)
class _RestrictedProcess:
    """A process of a plug-in class, restricted to some of its arms."""

    process: Process
    index: Ints
    names: ClassVar[None] = None

    @property
    def arms(self) -> int:
        return len(self.index)

    @property
    def deterministic(self) -> bool:
        return self.process.deterministic

    @property
    def rounds(self) -> int | None:
        return self.process.rounds

    def round(self, t: int, keys: Keys) -> Feedback:
        return subgraph(self.process.round(t, keys), self.index, keys.trials)


def restricted_process(process: Process, arms: Ints) -> Process:
    """Return the process of the graphs among some of the arms, in increasing order.

    Its properties are those of the restricted graphs. The graphs of a random process have the
    distribution of the restricted graphs; they are other draws.
    """
    if isinstance(process, Fixed):
        return Fixed(subgraph(process.feedback, arms))
    if isinstance(process, GivenSequence):
        return GivenSequence(tuple(subgraph(one, arms) for one in process.feedbacks))
    if isinstance(process, RevealedErdosRenyi | RandomFeedback):
        return replace(process, arms=len(arms), names=None)
    return _RestrictedProcess(process, arms)


def check_graph_known(value: object) -> None:
    if value not in GRAPH_KNOWN:
        raise InputError(
            f"graph_known must be before, after or never, not {value!r}: "
            f"{nearest(str(value), GRAPH_KNOWN)}"
        )


def check_names(names: Iterable[object] | None, arms: int) -> tuple[str, ...] | None:
    """Check that names are distinct and not blank, one for each arm; return them as texts.

    Whitespace around names is removed. Whole numbers are converted to texts.
    """
    if names is None:
        return None
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise InputError(f"names must be a list of texts, not {names!r}")
    known = dict[str, None]()
    values = tuple(names)
    if len(values) != arms:
        raise InputError(f"names must have one entry per arm: got {len(values)} for {arms} arms")
    for k, value in enumerate(values):
        if not isinstance(value, str):
            if isinstance(value, bool) or not isinstance(value, Integral):
                raise InputError(
                    f"the name of arm {k} (the first is 0) must be a text or a whole number, not "
                    f"{value!r}"
                )
            value = int(value)
        name = str(value).strip()
        if not name or name in known:
            raise InputError(
                f"the name '{name}' of arm {k} (the first is 0) is blank, or that of another arm: "
                "names must be distinct and not blank"
            )
        known[name] = None
    return tuple(known)


def _check_shared(feedback: Feedback) -> None:
    if not feedback.shared:
        raise InputError(
            "a fixed graph must have one K x K matrix (or one r) for all trials, not one per "
            "trial; for one graph per round give a list of matrices"
        )


def _index_of_round(t: int, rounds: int, what: str) -> int:
    if not 1 <= t <= rounds:
        raise InputError(f"the sequence has {rounds} {what}, one per round; got round {t}")
    return t - 1


#: Most edges that are listed: as Python objects, more edges would take gigabytes.
MOST_EDGES = 10_000_000


def edge_arrays(feedback: Feedback, trial: int = 0) -> tuple[Ints, Ints, Floats]:
    """Return sources, targets and probabilities of the edges of one trial, without self-loops."""
    if isinstance(feedback, SparseFeedback):
        source = np.repeat(np.arange(feedback.arms), np.diff(feedback.start))
        target, weight = feedback.column, feedback.weight
    else:
        if isinstance(feedback, UniformFeedback) and feedback.rate(trial) == 0.0:
            empty = np.empty(0, np.int64)
            return empty, empty, np.empty(0)
        if feedback.arms**2 > MOST_EDGES:
            raise InputError(
                f"cannot list the edges of a dense graph of {feedback.arms} arms "
                f"({feedback.arms**2} entries): at most {MOST_EDGES} entries"
            )
        matrix = matrices(feedback, trial + 1)[0 if feedback.shared else trial]
        source, target = np.nonzero(matrix)
        weight = matrix[source, target]
    is_edge = (source != target) & (weight > 0.0)
    return source[is_edge], target[is_edge], weight[is_edge]


@dataclass(frozen=True, eq=False)
class Shape:
    """Number of edges, density, degrees and components of a graph, without self-loops.

    ``edges`` counts an edge with both directions once if the graph is undirected. ``density`` is
    the fraction of possible edges that exist, ``out_degree`` and ``in_degree`` have the number of
    other arms that each arm reveals and is revealed by. For probabilities, these are expected
    values. ``components`` is the number of weakly connected components.
    """

    arms: int
    edges: int
    directed: bool
    density: float
    out_degree: Floats
    in_degree: Floats
    components: int

    @classmethod
    def of(cls, feedback: Feedback, trial: int = 0) -> Shape:
        arms = feedback.arms
        pairs = arms * (arms - 1)
        if isinstance(feedback, UniformFeedback):  # without a matrix
            r = feedback.rate(trial)
            joined = r > 0.0 and arms > 1
            degree = np.full(arms, (arms - 1) * r)
            edges = pairs // 2 if joined else 0
            density, components = r if pairs else 0.0, 1 if joined else arms
            return cls(arms, edges, False, density, degree, degree, components)
        source, target, weight = edge_arrays(feedback, trial)
        forward, back = np.argsort(source * arms + target), np.argsort(target * arms + source)
        mutual = (source[forward] == target[back]).all() and (target[forward] == source[back]).all()
        directed = not (mutual and (weight[forward] == weight[back]).all())
        graph = scipy.sparse.coo_array((weight, (source, target)), shape=(arms, arms))
        return cls(
            arms=arms,
            edges=len(source) if directed else len(source) // 2,
            directed=bool(directed),
            density=float(weight.sum()) / pairs if pairs else 0.0,
            out_degree=np.bincount(source, weight, arms).astype(np.float64),
            in_degree=np.bincount(target, weight, arms).astype(np.float64),
            components=int(scipy.sparse.csgraph.connected_components(graph, directed=False)[0]),
        )
