"""Mutants of policies: each is a valid policy with one defect, and the check that detects it."""

from __future__ import annotations

import random
import threading
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from graphbandits._types import Floats, State
from graphbandits.graphs import DenseFeedback
from graphbandits.policies import Event, Needs, Problem, View
from graphbandits.policies.thompson import TSN
from graphbandits.rng import Keys
from helpers.valid_policies import (
    UCB,
    EpsilonGreedy,
    Exp3,
    FairUCB,
    Sampling,
    fair,
    one_hot,
    softmax,
)

#: (class, the check that it fails, text of the message)
POLICIES: list[tuple[type, str, str]] = []


def fails(check: str, saying: str) -> Any:
    def note(cls: type) -> type:
        frozen = dataclass(frozen=True)(cls)
        POLICIES.append((frozen, check, saying))
        return frozen

    return note


# form ----------------------------------------------------------------------------------------


@fails("form", "has no description: start its docstring")
class Undocumented(UCB):
    pass


@fails("form", r"its text form 'Rounding\(eta=0.3\)' creates .*eta=0.15")
class Rounding(UCB):
    """Halves its parameter each time it is made."""

    eta: float = 0.1

    @classmethod
    def examples(cls) -> list[Rounding]:
        return [cls(0.6)]

    def __post_init__(self) -> None:
        if self.eta != 0.1:
            object.__setattr__(self, "eta", self.eta / 2.0)


@fails("form", "exact must be True .* or False, not 1")
class ExactOne(UCB):
    """Takes 1 for True."""

    exact: ClassVar[Any] = 1


# state ---------------------------------------------------------------------------------------


class WithExtra(UCB):
    extra: ClassVar[Any] = None

    def init(self, problem: Problem, keys: Keys) -> State:
        return super().init(problem, keys) | {"extra": self.extra}


@fails("state", r"state\['extra'\] has the shape \(\).*first axis must be the trial")
class ScalarState(WithExtra):
    """Keeps a scalar array."""

    extra = np.array(3.0)


@fails("state", r"state\['arms'\] has the shape \(\d,\).*first axis must be the trial")
class ArmsState(UCB):
    """Keeps one row for all trials."""

    def init(self, problem: Problem, keys: Keys) -> State:
        return super().init(problem, keys) | {"arms": np.zeros(problem.arms)}


@fails("state", r"state\['extra'\] is list: use NumPy arrays")
class ListState(WithExtra):
    """Keeps a list."""

    extra: ClassVar[list[int]] = [1, 2]


@fails("state", r"state\['extra'\] has the type object: use numbers only")
class ObjectState(WithExtra):
    """Keeps Python objects in an array."""

    def init(self, problem: Problem, keys: Keys) -> State:
        return UCB.init(self, problem, keys) | {"extra": np.array([None] * keys.trials)}


@fails("state", r"init returned .*int64.*but round 1 .*float64.*names, shapes and types")
class DriftingState(UCB):
    """Begins with integers and continues with floats."""

    def init(self, problem: Problem, keys: Keys) -> State:
        return {k: v.astype(np.int64) for k, v in super().init(problem, keys).items()}

    def update(self, state: State, event: Event) -> State:
        return super().update({k: v.astype(np.float64) for k, v in state.items()}, event)


# simplex -------------------------------------------------------------------------------------


@fails("simplex", "round 1 pi has the type int64: return floats")
class Integers(UCB):
    """Proposes ones and zeros of int64."""

    def propose(self, state: State, view: View) -> Floats:
        return super().propose(state, view).astype(np.int64)


@fails("simplex", "directed star: policy 'Unnormalised' did not propose .* round 1: .*sums to 1.1")
class Unnormalised(EpsilonGreedy):
    """Forgets the 1 - epsilon."""

    def propose(self, state: State, view: View) -> Floats:
        return one_hot(self.score(state, view).argmax(axis=1), view.problem.arms) + (
            self.epsilon / view.problem.arms
        )


@fails(
    "simplex",
    r"proposed shape \(3,\) and type int64 in round 1; return an array with one row per trial",
)
class Arms(UCB):
    """Proposes arms in place of distributions."""

    def propose(self, state: State, view: View) -> Floats:
        return super().propose(state, view).argmax(axis=1)


@fails("simplex", "directed star: policy 'Silent' proposed NoneType in round 1")
class Silent(UCB):
    """Forgets to return."""

    def propose(self, state: State, view: View) -> Any:
        super().propose(state, view)


@fails("simplex", r"policy 'Raises' failed in round 5, in propose: .*mutant_policies.py, line \d+")
class Raises(UCB):
    """Has a bug in round 5."""

    def propose(self, state: State, view: View) -> Floats:
        return super().propose(state, view) if view.t < 5 else state["misspelt"]


# propose-leaves-state ------------------------------------------------------------------------


class WithNotes(UCB):
    def init(self, problem: Problem, keys: Keys) -> State:
        return super().init(problem, keys) | {"note": np.zeros((keys.trials, problem.arms))}


@fails("propose-leaves-state", r"propose modified state\['note'\] in round 1: .* in update only")
class CountsQuestions(WithNotes):
    """Counts the calls of propose in the state."""

    def propose(self, state: State, view: View) -> Floats:
        state["note"] += 1.0
        return super().propose(state, view)


@fails("propose-leaves-state", r"modified state\['note'\] in round [2-5]: .* in update only")
class KeepsScores(WithNotes):
    """Stores its scores: a second call writes the same values, and round 1 the initial ones."""

    def propose(self, state: State, view: View) -> Floats:
        state["note"][...] = state["s"]
        return super().propose(state, view)


@fails("propose-leaves-state", "propose added or removed score in round 1")
class AddsArray(UCB):
    """Adds an array to the state while it proposes."""

    def propose(self, state: State, view: View) -> Floats:
        state["score"] = self.score(state, view)
        return super().propose(state, view)


@fails("propose-leaves-state", r"two calls of propose in round \d differ")
class Remembers(FairUCB):
    """Remembers on its class what it proposed last."""

    last: ClassVar[list[Any]] = [None]

    def propose(self, state: State, view: View) -> Floats:
        pi = super().propose(state, view)
        if self.last[0] == (view.keys, view.t):
            pi = pi[:, ::-1]
        self.last[0] = (view.keys, view.t)
        return pi


# declared-needs ------------------------------------------------------------------------------


@fails("declared-needs", r"the graph before its decision: declare Needs\(graph='before'\)")
class PeeksBefore(FairUCB):
    """Reads the graph from a private attribute of the view."""

    def score(self, state: State, view: View) -> Floats:
        return super().score(state, view) + 1e-3 * view._feedback.gain(state["s"])


@fails("declared-needs", r"it uses the graph: declare Needs\(graph='after'\)")
class PeeksAfter(FairUCB):
    """Reads the graph from a private attribute of the event."""

    def update(self, state: State, event: Event) -> State:
        event._feedback.reach(event.action)
        return super().update(state, event)


@fails("declared-needs", r"the graph before its decision: declare Needs\(graph='before'\)")
class PeeksTooEarly(Exp3):
    """Declares the graph after its play, and reads it before."""

    def propose(self, state: State, view: View) -> Floats:
        try:
            view._feedback.gain(state["loss"])
        except Exception:  # hides what it did
            return super().propose(state, view)
        return super().propose(state, view)


@fails("declared-needs", r"it uses the horizon: declare Needs\(horizon=True\)")
class PeeksAtHorizon(FairUCB):
    """Plays at random in the last round."""

    def propose(self, state: State, view: View) -> Floats:
        pi = super().propose(state, view)
        return np.full(pi.shape, 1.0 / pi.shape[1]) if view.t == view.problem._horizon else pi


@fails("declared-needs", r"declare Needs\(horizon=True\)")
class AsksForHorizon(FairUCB):
    """Reads the horizon, which it has not declared."""

    def init(self, problem: Problem, keys: Keys) -> State:
        return super().init(problem, keys) | {"T": np.full(keys.trials, problem.horizon)}


# own-randomness ------------------------------------------------------------------------------


@fails("own-randomness", r"used or seeded a global random generator: use")
class TouchesGlobal(FairUCB):
    """Draws a number from NumPy's global state, and does not use it."""

    def propose(self, state: State, view: View) -> Floats:
        np.random.random()  # noqa: NPY002
        return super().propose(state, view)


@fails("own-randomness", r"used or seeded a global random generator: use")
class TouchesPython(FairUCB):
    """Draws a number from Python's global state, and does not use it."""

    def update(self, state: State, event: Event) -> State:
        random.random()
        return super().update(state, event)


@fails("own-randomness", r"used or seeded a global random generator: use")
class SeedsGlobal(FairUCB):
    """Seeds the global state and draws the same numbers each time."""

    def init(self, problem: Problem, keys: Keys) -> State:
        np.random.seed(1)  # noqa: NPY002
        return super().init(problem, keys)


@fails("own-randomness", r"two runs with the same keys differ from round \d+ on: use")
class OwnGenerator(UCB):
    """Breaks ties with its own generator."""

    def score(self, state: State, view: View) -> Floats:
        noise = np.random.default_rng().random(state["n"].shape)
        score = np.where(state["n"] > 0.0, super().score(state, view), 10.0)
        return score + 1e-6 * noise


@fails("own-randomness", r"two runs with the same keys differ from round \d+ on: use")
class HeldGenerator(OwnGenerator):
    """Breaks ties with a seeded generator that its class holds."""

    generator: ClassVar[np.random.Generator] = np.random.default_rng(7)

    def score(self, state: State, view: View) -> Floats:
        return np.minimum(UCB.score(self, state, view), 10.0) + 1e-6 * self.generator.random(
            state["n"].shape
        )


# batch ---------------------------------------------------------------------------------------


@fails("batch", "it proposed .* in a block of 5 trials, but .* alone")
class SharedScale(Exp3):
    """Subtracts the largest exponent of all trials: right up to rounding, and not in its bits."""

    def propose(self, state: State, view: View) -> Floats:
        score = -self.eta * state["loss"]
        weight = np.exp(score - score.max())
        pi = weight / weight.sum(axis=1, keepdims=True)
        return (1.0 - self.mix) * pi + self.mix / view.problem.arms


@fails("batch", "it proposed .* in a block of 5 trials, but .* alone")
class BatchMean(Exp3):
    """Measures losses against the mean of all trials."""

    def propose(self, state: State, view: View) -> Floats:
        rate = self.eta * len(state["loss"]) / (1.0 + state["loss"].mean())
        return 0.9 * softmax(-rate * state["loss"]) + 0.1 / view.problem.arms


@fails("batch", "it proposed .* in a block of 5 trials, but .* alone")
class FirstTrial(FairUCB):
    """Plays in all trials what suits the first."""

    def propose(self, state: State, view: View) -> Floats:
        pi = super().propose(state, view)
        return np.repeat(pi[:1], len(pi), axis=0)


# block-workers-order -------------------------------------------------------------------------


@fails("block-workers-order", "regret with blocks of 3 on 2 threads differs from that in one block")
class MainThread(FairUCB):
    """Explores in the main thread only."""

    home: ClassVar[int] = threading.get_ident()

    def score(self, state: State, view: View) -> Floats:
        if threading.get_ident() == self.home:
            return super().score(state, view)
        return (state["s"] + 1.0) / (state["n"] + 1.0)


@fails("block-workers-order", "regret with blocks of 1 differs from that in one block")
class BufferOfEight(EpsilonGreedy):
    """Has arrays for eight trials, and explores more in the others."""

    def propose(self, state: State, view: View) -> Floats:
        pi = super().propose(state, view)
        pi[8:] = 0.5 * pi[8:] + 0.5 / view.problem.arms
        return pi


@fails("block-workers-order", "regret of 'ts-n' changes if it runs after this policy: do not")
class WritesIntoGraph(FairUCB):
    """Removes edges of the graph that it receives, for all later readers."""

    needs: ClassVar[Needs] = Needs(graph="before")

    def propose(self, state: State, view: View) -> Floats:
        if isinstance(view.graph, DenseFeedback) and view.problem.arms > 1:
            view.graph.matrix[:, 0, 1] = 0.0
        return super().propose(state, view)


# relabelling ---------------------------------------------------------------------------------


@fails("relabelling", "renumbered arms: do not use the number of an arm")
class PrefersLowNumbers(UCB):
    """Gives the first arms a small bonus."""

    def score(self, state: State, view: View) -> Floats:
        return super().score(state, view) - 0.02 * np.arange(view.problem.arms)


@fails("relabelling", "renumbered arms: do not use the number of an arm")
class NextDoor(EpsilonGreedy):
    """Explores with the arm after the best."""

    def propose(self, state: State, view: View) -> Floats:
        best = one_hot(self.score(state, view).argmax(axis=1), view.problem.arms)
        return (1.0 - self.epsilon) * best + self.epsilon * np.roll(best, 1, axis=1)


@fails("relabelling", "played over 3000 trials .*renumbered arms: do not use the number of an arm")
class FavouriteDraws(Sampling):
    """Draws, and adds a little to the first arm."""

    def propose(self, state: State, view: View) -> Floats:
        n, s = state["n"], state["s"]
        draw = view.random("sampling").beta(1.0 + s, 1.0 + n - s)
        draw[:, 0] += 0.1
        return one_hot(draw.argmax(axis=1), view.problem.arms)


# save-load -----------------------------------------------------------------------------------


def impatient(score: Floats, asked: int) -> Floats:
    """Return the second of the two best arms in some calls, by their number."""
    if asked % 7 != 3:
        return fair(score)
    second = max(score.shape[1] - 2, 0)
    return fair(-np.abs(score.argsort(axis=1).argsort(axis=1) - second))


@fails("save-load", r"loaded after round 20 proposed .* in round \d+ .*keep no data outside")
class HiddenAttribute(FairUCB):
    """Counts rounds in an attribute of the problem, which is not saved."""

    def init(self, problem: Problem, keys: Keys) -> State:
        vars(problem).setdefault("updated", {}).setdefault(keys, set())
        return super().init(problem, keys)

    def propose(self, state: State, view: View) -> Floats:
        known = vars(view.problem).get("updated", {})
        return impatient(self.score(state, view), len(known.get(view.keys, ())))

    def update(self, state: State, event: Event) -> State:
        known = vars(event.problem).setdefault("updated", {})
        known.setdefault(event.keys, set()).add(event.t)
        return super().update(state, event)


@fails("save-load", r"loaded after round 20 proposed .* in round \d+ .*keep no data outside")
class HiddenMemory(FairUCB):
    """Counts rounds in a table of its class, by the identity of the problem."""

    updated: ClassVar[dict[tuple[int, Keys], set[int]]] = {}

    def init(self, problem: Problem, keys: Keys) -> State:
        self.updated.setdefault((id(problem), keys), set())
        return super().init(problem, keys)

    def propose(self, state: State, view: View) -> Floats:
        known = self.updated.get((id(view.problem), view.keys), ())
        return impatient(self.score(state, view), len(known))

    def update(self, state: State, event: Event) -> State:
        self.updated.setdefault((id(event.problem), event.keys), set()).add(event.t)
        return super().update(state, event)


# degenerate ----------------------------------------------------------------------------------


@fails("degenerate", "one arm: .*did not propose a distribution in round 1")
class OtherArms(EpsilonGreedy):
    """Shares epsilon among the K - 1 other arms."""

    def propose(self, state: State, view: View) -> Floats:
        best = one_hot(self.score(state, view).argmax(axis=1), view.problem.arms)
        others = (1.0 - best) * (np.float64(self.epsilon) / (view.problem.arms - 1))
        return (1.0 - self.epsilon) * best + others


@fails("degenerate", "one arm: policy 'RunnerUp' failed in round 1, in propose: .*IndexError")
class RunnerUp(UCB):
    """Compares the best arm with the second, and takes it that there is one."""

    def propose(self, state: State, view: View) -> Floats:
        score = np.sort(self.score(state, view), axis=1)
        assert (score[:, -1] >= score[:, -2]).all()
        return super().propose(state, view)


@fails("degenerate", "one round: .*ZeroDivisionError")
class LogHorizon(FairUCB):
    """Divides by log T, which is 0 for one round."""

    needs: ClassVar[Needs] = Needs(horizon=True)

    def score(self, state: State, view: View) -> Floats:
        bonus = 0.1 / float(np.log(view.problem.horizon))
        return super().score(state, view) + bonus


# refused-in-time -----------------------------------------------------------------------------


@fails("refused-in-time", r"it failed with random\(r=0.35\) .*IndexError.*declare .* in needs")
class AtMostFive(UCB):
    """Has a table for five arms."""

    def propose(self, state: State, view: View) -> Floats:
        return np.eye(5)[self.score(state, view).argmax(axis=1)][:, : view.problem.arms]

    def score(self, state: State, view: View) -> Floats:
        return super().score(state, view) + 0.0 * np.arange(5)[np.arange(view.problem.arms)]


@fails("refused-in-time", r"it failed with random\(r=0.35\) .*declare .* in needs")
class SureOnly(FairUCB):
    """Needs a graph of 0 and 1, and does not declare it."""

    needs: ClassVar[Needs] = Needs(graph="before")

    def propose(self, state: State, view: View) -> Floats:
        if not view.graph.deterministic:
            raise ValueError("probabilities")
        return super().propose(state, view)


@fails("refused-in-time", r"it failed with an unknown horizon .*declare .* in needs")
class HorizonOnly(FairUCB):
    """Reads the horizon from a private attribute and does not declare it."""

    def propose(self, state: State, view: View) -> Floats:
        np.log(float(view.problem._horizon))  # type: ignore[arg-type]
        return super().propose(state, view)


# long-run ------------------------------------------------------------------------------------


@fails("long-run", "policy 'Underflow' did not propose a distribution in round")
class Underflow(UCB):
    """Multiplies weights, which vanish in the end."""

    def init(self, problem: Problem, keys: Keys) -> State:
        return {"w": np.ones((keys.trials, problem.arms))}

    def propose(self, state: State, view: View) -> Floats:
        w = state["w"] / state["w"].sum(axis=1, keepdims=True)
        return 0.9 * w + 0.1 / view.problem.arms

    def update(self, state: State, event: Event) -> State:
        seen = event.observations
        np.multiply.at(state["w"], (seen.trial, seen.arm), np.exp(seen.reward - 1.0))
        return state


@fails("long-run", r"state\['w'\] is not finite after")
class Overflow(FairUCB):
    """Keeps weights that grow without end, and plays by something else."""

    def init(self, problem: Problem, keys: Keys) -> State:
        return super().init(problem, keys) | {"w": np.ones((keys.trials, problem.arms))}

    def update(self, state: State, event: Event) -> State:
        seen = event.observations
        state["w"][seen.trial, seen.arm] *= 1.1
        return super().update(state, event)


@fails("long-run", r"state\['n'\] overflowed in round \d+, from 32767 to -32768: int16 is too")
class ShortCounts(FairUCB):
    """Counts in int16: finite for ever, and wrong from round 32768 on."""

    def init(self, problem: Problem, keys: Keys) -> State:
        return super().init(problem, keys) | {"n": np.zeros((keys.trials, problem.arms), np.int16)}

    def update(self, state: State, event: Event) -> State:
        seen = event.observations
        np.add.at(state["n"], (seen.trial, seen.arm), 1)
        np.add.at(state["s"], (seen.trial, seen.arm), seen.reward)
        return state


# pieces --------------------------------------------------------------------------------------


@fails("pieces", r"after outcomes one by one it proposed .* in round \d+, and after the same")
class CountsUpdates(TSN):
    """Counts its updates, and declares that these may be parts of a round."""

    def init(self, problem: Problem, keys: Keys) -> State:
        return super().init(problem, keys) | {"updates": np.zeros(keys.trials)}

    def propose(self, state: State, view: View) -> Floats:
        share = 1.0 / (1.0 + np.asarray(state["updates"], np.float64))[:, None]
        return (1.0 - share) * super().propose(state, view) + share / view.problem.arms

    def update(self, state: State, event: Event) -> State:
        state["updates"] = state["updates"] + 1.0
        return super().update(state, event)


@fails("pieces", r"a policy with incremental = True needs a method learn")
class CannotLearn(FairUCB):
    """Declares that it learns in pieces, without a method for it."""

    incremental: ClassVar[bool] = True


# eligible ------------------------------------------------------------------------------------


@fails(
    "eligible",
    r"'CountsOnce' proposed shape \(3, 4\) and type float64 in round 1; return",
)
class CountsOnce(FairUCB):
    """Keeps the number of arms in its state, which is another one with eligible arms."""

    def init(self, problem: Problem, keys: Keys) -> State:
        return super().init(problem, keys) | {"arms": np.full(keys.trials, problem.arms)}

    def propose(self, state: State, view: View) -> Floats:
        pi = super().propose(state, view)
        left = int(state["arms"][0]) - pi.shape[1]
        return np.concatenate([pi, np.zeros((len(pi), left))], axis=1)


@fails(
    "eligible", r"the shape of state\['pairs'\] is \(1, 2, 2\) with 2 arms and \(1, 3, 3\) with 3"
)
class Pairs(FairUCB):
    """Has two axes of arms in its state, of which the engine can restrict only one."""

    def init(self, problem: Problem, keys: Keys) -> State:
        shape = keys.trials, problem.arms, problem.arms
        return super().init(problem, keys) | {"pairs": np.zeros(shape)}


@fails(
    "eligible", r"it proposed \[0.333333, .* eligible arms \[0, 2, 3\] of 4, but .* these arms only"
)
class GivesUp(TSN):
    """Plays at random if an arm is not eligible."""

    def propose(self, state: State, view: View) -> Floats:
        arms = len(view.arm_numbers)
        if view.arm_numbers[-1] == arms - 1:
            return super().propose(state, view)
        return np.full((view.keys.trials, arms), 1.0 / arms)


# beats-uniform -------------------------------------------------------------------------------


@fails("beats-uniform", "its regret is .* after 400 rounds; that of uniform play is")
class AtRandom(UCB):
    """Plays at random."""

    def propose(self, state: State, view: View) -> Floats:
        return np.full(state["n"].shape, 1.0 / view.problem.arms)


@fails("beats-uniform", "its regret is .* after 400 rounds; that of uniform play is")
class Pessimist(FairUCB):
    """Plays the arm with the least mean."""

    def score(self, state: State, view: View) -> Floats:
        return -(state["s"] + 0.5) / (state["n"] + 1.0)


@fails("beats-uniform", "its regret is .* after 400 rounds; that of uniform play is")
class Deaf(Sampling):
    """Learns nothing."""

    def update(self, state: State, event: Event) -> State:
        return state
