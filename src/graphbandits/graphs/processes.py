"""Graph processes: the feedback of round t, for each trial of a block.

The feedback is known before the decision, unless its process is one that is ``graph_known`` later or
never; what it does not tell is which of the arms that *may* be observed will be.
``deterministic`` processes leave nothing open: all entries are 0 or 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import ClassVar, Protocol

import numpy as np

from graphbandits.errors import InputError, check_bool, check_integer, check_probability, nearest
from graphbandits.graphs._feedback_kernels import erdos_renyi
from graphbandits.graphs.feedback import DENSE_LIMIT, DenseFeedback, Feedback, UniformFeedback
from graphbandits.rng import Keys, Stream

#: A matrix for all trials is drawn up to this many arms.
SHARED_LIMIT = 2000
#: When policies are told the graph of a round, from least to most.
GRAPH_KNOWN = ("never", "after", "before")
#: Marks fields that processes of earlier versions did not have: at its default one is not kept.
LATER = {"later": True}


class Process(Protocol):
    """Where the feedback of each round comes from."""

    @property
    def arms(self) -> int:
        """K."""

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names of the arms, where the graph has any."""

    @property
    def deterministic(self) -> bool:
        """Whether every graph it yields has entries 0 and 1 only."""

    @property
    def rounds(self) -> int | None:
        """How many rounds it can serve; None is without end."""

    def round(self, t: int, keys: Keys) -> Feedback:
        """The feedback of round t = 1, 2, ..."""


@dataclass(frozen=True, eq=False)
class Fixed:
    """The same feedback in every round: a deterministic graph or a probabilistic matrix.

    >>> import numpy as np
    >>> Fixed(DenseFeedback(np.eye(3))).round(7, Keys(seed=0)).arms
    3
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
    """Round t has the t-th feedback of a list, the same for all trials.

    >>> import numpy as np
    >>> process = GivenSequence((DenseFeedback(np.eye(2)), DenseFeedback(np.ones((2, 2)))))
    >>> process.round(2, Keys(seed=0)).reach(np.array([0]))
    array([[1., 1.]])
    """

    feedbacks: tuple[Feedback, ...]
    names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "feedbacks", tuple(self.feedbacks))
        sizes = {feedback.arms for feedback in self.feedbacks}
        if len(sizes) != 1:
            raise InputError(
                f"a sequence of graphs needs one number of arms; this one has {sorted(sizes)}"
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
        return self.feedbacks[_within(t, len(self.feedbacks), "graphs")]


@dataclass(frozen=True, eq=False)
class RevealedErdosRenyi:
    """A 0/1 Erdos-Renyi graph of density p, drawn anew each round and revealed.

    Each trial has its own graphs, or all share them (``shared``). Policies are ``graph_known`` each
    graph "before" the decision, "after" the play, or "never".
    """

    arms: int
    p: float
    directed: bool = False
    shared: bool = False
    names: tuple[str, ...] | None = None
    graph_known: str = field(default="before", metadata=LATER)
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
                f"revealed-er draws a {self.arms} x {self.arms} matrix "
                + ("a round" if self.shared else "for each trial and round")
                + f": at most {limit} arms"
                + ("" if self.shared else f", or {SHARED_LIMIT} with shared=true")
            )

    def round(self, t: int, keys: Keys) -> Feedback:
        trials, first = (1, 0) if self.shared else (keys.trials, keys.first_trial)
        matrix = np.empty((trials, self.arms, self.arms))
        erdos_renyi(self.p, self.directed, keys.key("graph"), first, t, matrix)
        feedback = object.__new__(
            DenseFeedback
        )  # right by construction: no need to check every round
        feedback.__dict__.update(matrix=matrix)
        return feedback


@dataclass(frozen=True, eq=False)
class RandomFeedback:
    """Each other arm is observed with probability r_t, which is told.

    ``r`` is a number, a sequence with one number a round, or None for r_t uniform on
    [low, high], drawn for each round and trial (or each round only: ``shared``). Policies are
    ``graph_known`` r_t "before" the decision, "after" the play, or "never".
    """

    arms: int
    r: float | tuple[float, ...] | None
    low: float = 0.0
    high: float = 1.0
    shared: bool = False
    names: tuple[str, ...] | None = None
    graph_known: str = field(default="before", metadata=LATER)

    def __post_init__(self) -> None:
        self.__dict__.update(arms=check_integer(self.arms, "arms"))
        check_graph_known(self.graph_known)
        self.__dict__.update(
            low=check_probability(self.low, "low"), high=check_probability(self.high, "high")
        )
        if self.low > self.high:
            raise InputError(f"low must not exceed high; got low={self.low}, high={self.high}")
        check_bool(self.shared, "shared")
        self.__dict__.update(names=check_names(self.names, self.arms))
        if isinstance(self.r, np.ndarray | Sequence) and not isinstance(self.r, str):
            if not len(self.r):
                raise InputError("the sequence of r is empty")
            rates = tuple(check_probability(r, f"r of round {t}") for t, r in enumerate(self.r, 1))
            self.__dict__.update(r=rates)
        elif self.r is not None:
            self.__dict__.update(r=check_probability(self.r, "r"))

    @property
    def rates(self) -> tuple[float, ...]:
        """The values of r_t, or the two ends of their range."""
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
            return UniformFeedback(self.r[_within(t, len(self.r), "values of r")], self.arms)
        if self.r is not None:
            return UniformFeedback(self.r, self.arms)
        mine = Keys(keys.seed) if self.shared else keys
        u = Stream(mine, t, "r").uniform(1)[:, 0]
        return UniformFeedback(self.low + (self.high - self.low) * u, self.arms)


def fixed_feedback(process: Process) -> Feedback | None:
    """The feedback of every round, if it is the same in all; None if it may change.

    >>> fixed_feedback(RandomFeedback(arms=4, r=0.5)).arms
    4
    >>> fixed_feedback(RandomFeedback(arms=4, r=None)) is None
    True
    """
    if isinstance(process, Fixed):
        return process.feedback
    rates = process.rates if isinstance(process, RandomFeedback) else ()
    if isinstance(process, RevealedErdosRenyi) and process.p in (0.0, 1.0):
        rates = (process.p,)
    return UniformFeedback(rates[0], process.arms) if len(set(rates)) == 1 else None


def check_graph_known(told: object) -> None:
    """When policies are told the graph."""
    if told not in GRAPH_KNOWN:
        raise InputError(
            f"told is when policies are told the graph: {nearest(str(told), GRAPH_KNOWN)}"
        )


def check_names(names: Iterable[object] | None, arms: int) -> tuple[str, ...] | None:
    """One distinct name for each arm, if there are names, as texts without blanks around them.

    Whole numbers become texts; nothing else does, and a blank, which would print as nothing, is
    no name.

    >>> check_names(range(2), 2), check_names([" ann", "bob"], 2)
    (('0', '1'), ('ann', 'bob'))
    """
    if names is None:
        return None
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise InputError(f"the names of the arms are a list of texts, not {names!r}")
    known = dict[str, None]()
    given = tuple(names)
    if len(given) != arms:
        raise InputError(f"{len(given)} names were given for {arms} arms")
    for k, value in enumerate(given):
        name = value.strip() if type(value) is str else _name(value, k)
        if not name:
            raise InputError(
                f"the name of arm {k} (the first is 0) is blank ({value!r}): an arm without a name "
                "cannot be told from others; give it one"
            )
        if name in known:
            raise InputError(f"two arms have the name '{name}': names must differ")
        known[name] = None
    return tuple(known)


def _name(value: object, k: int) -> str:
    if isinstance(value, str):
        return str(value).strip()
    if isinstance(value, Integral) and not isinstance(value, bool):
        return str(int(value))
    raise InputError(
        f"the name of arm {k} (the first is 0) is a text or a whole number, not {value!r}"
    )


def _check_shared(feedback: Feedback) -> None:
    if not feedback.shared:
        raise InputError("a fixed graph is one matrix (or one r) for all trials, not one for each")


def _within(t: int, rounds: int, what: str) -> int:
    if not 1 <= t <= rounds:
        raise InputError(f"the sequence has {rounds} {what}; there is none for round {t}")
    return t - 1
