"""Mutants of graphs: each is a valid graph with one defect, and the check that detects it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from graphbandits._types import Floats, Ints
from graphbandits.errors import InputError
from graphbandits.graphs import Process
from graphbandits.rng import Keys, Stream

#: (class, the check that it fails, text of the message)
GRAPHS: list[tuple[type, str, str]] = []


def fails(check: str, saying: str) -> Any:
    def note(cls: type) -> type:
        GRAPHS.append((dataclass(frozen=True)(cls), check, saying))
        return GRAPHS[-1][0]

    return note


@dataclass(frozen=True, eq=False)
class Matrix:
    """Feedback in plain NumPy: one matrix for all trials, directed, with probabilities."""

    matrix: Floats
    shared: bool = True

    @property
    def arms(self) -> int:
        return len(self.matrix)

    @property
    def deterministic(self) -> bool:
        return bool(np.isin(self.matrix, (0.0, 1.0)).all())

    def gain(self, h: Floats) -> Floats:
        return (h[:, None, :] * self.matrix).sum(axis=2)

    def observed(self, pi: Floats) -> Floats:
        return (pi[:, :, None] * self.matrix).sum(axis=1)

    def reach(self, action: Ints) -> Floats:
        return self.matrix[action]

    def draws(self, keys: Keys, t: int) -> Floats:
        return Stream(keys, t, "reveal").uniform(self.arms)

    def reveal(self, action: Ints, keys: Keys, t: int) -> tuple[Ints, Ints]:
        return np.nonzero(self.draws(keys, t) < self.reach(action))


@dataclass(frozen=True, eq=False)
class Always:
    """A process with the same feedback in every round."""

    feedback: Any
    deterministic: bool
    names: ClassVar[None] = None
    rounds: ClassVar[None] = None

    @property
    def arms(self) -> int:
        return self.feedback.arms

    def round(self, t: int, keys: Keys) -> Any:
        return self.feedback


def slope(arms: int) -> Floats:
    """Ones on the diagonal, a sure edge i -> i + 1, chances to those further on, one way."""
    gap = np.arange(arms) - np.arange(arms)[:, None]
    return np.select([gap == 0, gap == 1, gap == 2, gap > 2], [1.0, 1.0, 0.5, 0.3], 0.0)


@dataclass(frozen=True)
class Slope:
    """Arms that reveal those after them."""

    feedback: ClassVar[type] = Matrix

    def process(self, arms: int | None) -> Process:
        feedback = self.feedback(slope(arms or 5))
        return Always(feedback, feedback.deterministic)


@fails("form", "has no description: start its docstring")
class UndocumentedGraph(Slope):
    pass


@dataclass(frozen=True, eq=False)
class Misnamed(Always):
    names: ClassVar[Any] = ("only one",)


@fails("form", "has 1 names, but 2 arms")
class WrongNames(Slope):
    """Names one arm only."""

    def process(self, arms: int | None) -> Process:
        return Misnamed(Matrix(slope(arms or 5)), deterministic=False)


@fails("form", "creates no graph of 1, 2, 4")
class NoGraph(Slope):
    """Refuses everything."""

    def process(self, arms: int | None) -> Process:
        raise InputError("no")


class Loopless(Matrix):
    def reach(self, action: Ints) -> Floats:
        return (self.matrix - np.eye(self.arms))[action]

    def gain(self, h: Floats) -> Floats:
        return (h[:, None, :] * (self.matrix - np.eye(self.arms))).sum(axis=2)

    def observed(self, pi: Floats) -> Floats:
        return (pi[:, :, None] * (self.matrix - np.eye(self.arms))).sum(axis=1)


@fails("probabilities", r"1 arms, round 1: entry \(0, 0\) is 0; it must be 1")
class NoLoops(Slope):
    """Does not observe what is played."""

    feedback = Loopless


@fails("probabilities", "6 arms, round 1: 'deterministic' is True, but an entry is between")
class SaysDeterministic(Slope):
    """Claims to be deterministic."""

    def process(self, arms: int | None) -> Process:
        return Always(Matrix(slope(arms or 5)), deterministic=True)


class TooLikely(Matrix):
    def reach(self, action: Ints) -> Floats:
        return np.where(self.matrix == 0.5, 1.5, self.matrix)[action]


@fails("probabilities", "6 arms, round 1: an entry is 1.5, which is no probability")
class MoreThanSure(Slope):
    """Has entries above 1."""

    feedback = TooLikely


@dataclass(frozen=True, eq=False)
class EachItsOwn(Matrix):
    rate: Any = 1.0

    def reach(self, action: Ints) -> Floats:
        return np.where(self.matrix[action] < 1.0, self.rate * self.matrix[action], 1.0)

    def entries(self, trials: int) -> Floats:
        return np.stack([self.reach(np.full(trials, i)) for i in range(self.arms)], axis=1)

    def gain(self, h: Floats) -> Floats:
        return (h[:, None, :] * self.entries(len(h))).sum(axis=2)

    def observed(self, pi: Floats) -> Floats:
        return (pi[:, :, None] * self.entries(len(pi))).sum(axis=1)


@dataclass(frozen=True, eq=False)
class Rated(Always):
    def round(self, t: int, keys: Keys) -> Any:
        return replace(self.feedback, rate=Stream(keys, t, "rate").uniform(1))


@fails("probabilities", "6 arms, round 1: 'shared' is True, but the entries differ between")
class SaysShared(Slope):
    """Draws a rate for each trial, and claims that trials share it."""

    def process(self, arms: int | None) -> Process:
        return Rated(EachItsOwn(slope(arms or 5)), deterministic=False)


class ByColumns(Matrix):
    def gain(self, h: Floats) -> Floats:
        return (h[:, None, :] * self.matrix.T).sum(axis=2)


@fails("gain", r"2 arms, round 1: gain\(h\) differs from G h by .*playing i reveals j")
class GainByColumns(Slope):
    """Gives G^T h, which on undirected graphs is the same."""

    feedback = ByColumns


class WritesIntoH(Matrix):
    def gain(self, h: Floats) -> Floats:
        out = super().gain(h)
        h[...] = out
        return out


@fails("gain", r"2 arms, round 1: gain\(h\) modified h: work on a copy")
class GainInPlace(Slope):
    """Overwrites h with the gain."""

    feedback = WritesIntoH


class ByRows(Matrix):
    def observed(self, pi: Floats) -> Floats:
        return (pi[:, None, :] * self.matrix).sum(axis=2)


@fails("observed", r"2 arms, round 1: observed\(pi\) differs from G'pi by .*entry \(i, j\)")
class ObservedByRows(Slope):
    """Gives G pi, which on undirected graphs is the same."""

    feedback = ByRows


class OthersOnly(Matrix):
    def observed(self, pi: Floats) -> Floats:
        return super().observed(pi) - pi


@fails("observed", r"1 arms, round 1: observed\(pi\) differs from G'pi by 1;")
class ObservedByOthers(Slope):
    """Leaves out that the arm played is observed."""

    feedback = OthersOnly


class WritesIntoPi(Matrix):
    def observed(self, pi: Floats) -> Floats:
        pi[...] = super().observed(pi)
        return pi.copy()


@fails("observed", r"2 arms, round 1: observed\(pi\) modified pi: work on a copy")
class ObservedInPlace(Slope):
    """Overwrites pi with the probabilities."""

    feedback = WritesIntoPi


class Squares(Matrix):
    def reveal(self, action: Ints, keys: Keys, t: int) -> tuple[Ints, Ints]:
        return np.nonzero(self.draws(keys, t) < self.reach(action) ** 2)


@fails("reveal-frequency", r"playing 0 revealed 2 in 0.2\d* of .*, but the probability is 0.5")
class TwoTosses(Slope):
    """Reveals with probability p^2."""

    feedback = Squares


class OneMore(Matrix):
    def reveal(self, action: Ints, keys: Keys, t: int) -> tuple[Ints, Ints]:
        seen = self.draws(keys, t) < self.reach(action)
        return np.nonzero(seen | (np.arange(self.arms) == action[:, None] - 1))


@fails("reveal-frequency", r"playing 1 revealed arm 0, but entry \(1, 0\) is 0")
class RevealsOneMore(Slope):
    """Reveals the arm before the one that is played as well."""

    feedback = OneMore


class OneLess(Matrix):
    def reveal(self, action: Ints, keys: Keys, t: int) -> tuple[Ints, Ints]:
        seen = self.draws(keys, t) < self.reach(action)
        return np.nonzero(seen & (np.arange(self.arms) != action[:, None] + 1))


@fails("reveal-frequency", r"playing 0 hid arm 1, but entry \(0, 1\) is 1")
class RevealsOneLess(Slope):
    """Hides the arm after the one that is played."""

    feedback = OneLess


class OutOfOrder(Matrix):
    def reveal(self, action: Ints, keys: Keys, t: int) -> tuple[Ints, Ints]:
        trial, arm = super().reveal(action, keys, t)
        return trial[::-1], arm[::-1]


@fails("reveal-frequency", r"reveal must return each \(trial, arm\) once, sorted, with a valid arm")
class Backwards(Slope):
    """Gives its pairs from the end."""

    feedback = OutOfOrder


class OneDrawForAll(Matrix):
    def draws(self, keys: Keys, t: int) -> Floats:
        return np.repeat(super().draws(keys, t)[:, :1], self.arms, axis=1)


@fails("reveal-independence", "playing 0 reveals 2 in round 1 and 3 in round 1 with correlation")
class AllOrNothing(Slope):
    """Draws one number for all arms."""

    feedback = OneDrawForAll


class SameEachRound(Matrix):
    def draws(self, keys: Keys, t: int) -> Floats:
        return super().draws(keys, 0)


@fails("reveal-independence", "playing 0 reveals 2 in round 1 and 2 in round 2 with correlation")
class ForgetsTheRound(Slope):
    """Draws the same in every round."""

    feedback = SameEachRound


class OneDrawForTrials(Matrix):
    def draws(self, keys: Keys, t: int) -> Floats:
        return np.repeat(super().draws(keys, t)[:1], keys.trials, axis=0)


@fails("reveal-frequency", r"playing 0 revealed \d in [01]\.0* of the trials")
class SameForTrials(Slope):
    """Draws the same in every trial."""

    feedback = OneDrawForTrials


@dataclass(frozen=True, eq=False)
class OfTheBlock(Always):
    def round(self, t: int, keys: Keys) -> Any:
        rate = Stream(Keys(keys.seed, keys.first_trial), t, "rate").uniform(1)
        return replace(self.feedback, rate=rate)


@fails("batch", "round 7: the graph or the observations of a trial depend on the block")
class OneRateForABlock(Slope):
    """Draws its rate for the first trial of a block."""

    def process(self, arms: int | None) -> Process:
        return OfTheBlock(EachItsOwn(slope(arms or 5)), deterministic=False)


@dataclass(frozen=True, eq=False)
class Ageing(Always):
    asked: set[int] = field(default_factory=set)

    def round(self, t: int, keys: Keys) -> Any:
        rate = 1.0 / (1 + sum(earlier < t for earlier in self.asked))
        self.asked.add(t)
        return replace(self.feedback, rate=rate)


@fails("batch", "observations of a trial depend on the block or on the order of calls")
class Memory(Slope):
    """Depends on the rounds requested before: a new process gives another graph."""

    def process(self, arms: int | None) -> Process:
        return Ageing(EachItsOwn(slope(arms or 5)), deterministic=False)


class OwnNumbers(Matrix):
    def draws(self, keys: Keys, t: int) -> Floats:
        return np.random.default_rng().random((keys.trials, self.arms))


@fails("batch", "observations of a trial depend on the block or on the order of calls")
class OwnToss(Slope):
    """Reveals with its own generator."""

    feedback = OwnNumbers
