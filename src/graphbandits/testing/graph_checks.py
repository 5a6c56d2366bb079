"""The contract of a graph: what it reveals agrees with what it says it reveals."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from graphbandits.errors import InputError
from graphbandits.graphs import Feedback, Process
from graphbandits.graphs.named import Recipe
from graphbandits.registry import build, text_of
from graphbandits.rng import Keys, Stream
from graphbandits.testing.contract import Violation, check, check_form
from graphbandits.testing.scenes import same_bits
from graphbandits.types import Floats

#: Rounds that are looked at, as far as the process has them.
ROUNDS = (1, 2, 7)


@check("graph", "form")
def form(recipe: Recipe) -> None:
    """A documented, enrolled recipe that comes back from its text and makes graphs of any size."""
    check_form("graph", recipe)
    text = text_of(recipe)
    if build("graph", text) != recipe:
        raise Violation(f"its text form '{text}' gives {build('graph', text)!r}, not {recipe!r}")
    for process in _processes(recipe):
        for part in ("arms", "names", "deterministic", "rounds", "round"):
            if not hasattr(process, part):
                raise Violation(f"{type(process).__name__} has no '{part}': a process needs it")
        if process.names is not None and len(process.names) != process.arms:
            raise Violation(f"it names {len(process.names)} arms and has {process.arms}")
        for t in _rounds(process):
            feedback = process.round(t, Keys(31, 2, 3))
            if feedback.arms != process.arms:
                raise Violation(f"round {t} has {feedback.arms} arms, the process {process.arms}")


@check("graph", "probabilities")
def probabilities(recipe: Recipe) -> None:
    """Entries are probabilities, the arm played is always observed, and 'deterministic' is true."""
    for process in _processes(recipe):
        for t, keys, rows in _all_rows(process):
            if not ((rows >= 0.0) & (rows <= 1.0)).all():
                raise Violation(f"round {t}, seed {keys.seed}: entries outside [0, 1]")
            if not (np.diagonal(rows, axis1=0, axis2=2) == 1.0).all():
                raise Violation(f"round {t}: an arm that is played is observed for sure")
            if process.deterministic and not np.isin(rows, (0.0, 1.0)).all():
                raise Violation(f"it says it is deterministic; round {t} has probabilities")


@check("graph", "gain")
def gain(recipe: Recipe) -> None:
    """gain(h) is G h: what each arm reveals, weighted with its probability."""
    for process in _processes(recipe):
        for t, keys, rows in _all_rows(process):
            h = Stream(keys, t, "testing/h").uniform(process.arms)
            expected = np.einsum("ibj,bj->bi", rows, h)
            off = np.abs(process.round(t, keys).gain(h) - expected)
            if not (off <= 1e-12 * process.arms).all():
                raise Violation(f"round {t}: gain(h) differs from G h by {off.max():.2g}")


@check("graph", "reveal-frequency")
def reveal_frequency(recipe: Recipe) -> None:
    """reveal shows arm j to who plays i as often as entry (i, j) says: checked over many trials."""
    trials = 4000
    for process in _processes(recipe)[-1:]:
        keys = Keys(32, 5, trials)
        for t in _rounds(process):
            feedback = process.round(t, keys)
            for i in range(process.arms):
                action = np.full(trials, i)
                seen = _seen(feedback, action, keys, t)
                chance = feedback.reach(action)
                sure = (chance == 0.0) | (chance == 1.0)
                if not (seen[sure] == chance[sure]).all():
                    raise Violation(f"round {t}, arm {i}: an entry of 0 or 1 was not kept to")
                error = np.sqrt((chance * (1.0 - chance)).sum(axis=0))
                off = np.abs((seen - chance).sum(axis=0))
                if (off > 5.5 * error + 1e-9).any():
                    j = int((off - 5.5 * error).argmax())
                    raise Violation(
                        f"round {t}: playing {i} showed {j} in {seen[:, j].mean():.4f} of the "
                        f"trials; its probability is {chance[:, j].mean():.4f}"
                    )


@check("graph", "reveal-independence")
def reveal_independence(recipe: Recipe) -> None:
    """Which arms are revealed is drawn independently for each of them."""
    trials = 4000
    for process in _processes(recipe)[-1:]:
        keys = Keys(33, 5, trials)
        t = _rounds(process)[-1]
        feedback = process.round(t, keys)
        for i in range(process.arms):
            action = np.full(trials, i)
            chance = feedback.reach(action)
            noise = _seen(feedback, action, keys, t) - chance
            spread = chance * (1.0 - chance)
            error = np.sqrt(spread.T @ spread)
            together = np.abs(noise.T @ noise)
            np.fill_diagonal(together, 0.0)
            if (together > 5.5 * error + 1e-9).any():
                raise Violation(f"round {t}: what playing {i} shows of two arms goes together")


@check("graph", "batch")
def batch_equals_one_by_one(recipe: Recipe) -> None:
    """A trial has the same graph and reveals the same in any block, and asked in any order."""
    for process in _processes(recipe):
        whole = {t: _everything(process, t, Keys(34, 3, 4)) for t in _rounds(process)}
        for t in reversed(_rounds(process)):
            for trial in range(4):
                alone = _everything(process, t, Keys(34, 3 + trial, 1))
                together = [part[:, trial : trial + 1] for part in whole[t]]
                if not all(same_bits(one, two) for one, two in zip(alone, together, strict=True)):
                    raise Violation(f"round {t}: alone, a trial has another graph than in a block")


def _processes(recipe: Recipe) -> list[Process]:
    """For one arm, two, and six; a graph with a number of its own keeps it."""
    made: dict[int, Process] = {}
    for arms in (1, 2, 6):
        try:
            process = recipe.process(arms)
        except InputError:  # a grid, say, has no such size
            continue
        made[process.arms] = process
    if not made:
        raise Violation("it makes no graph of 1, 2 or 6 arms")
    return [made[arms] for arms in sorted(made)]


def _rounds(process: Process) -> list[int]:
    return [t for t in ROUNDS if process.rounds is None or t <= process.rounds]


def _all_rows(process: Process) -> Iterator[tuple[int, Keys, Floats]]:
    """Round, keys, and entry (i, trial, j) of its graph."""
    for t in _rounds(process):
        for seed in (35, 36):
            keys = Keys(seed, 2, 3)
            feedback = process.round(t, keys)
            rows = [feedback.reach(np.full(3, i)) for i in range(process.arms)]
            yield t, keys, np.stack(rows)


def _seen(feedback: Feedback, action: Any, keys: Keys, t: int) -> Floats:
    """1 for each (trial, arm) that is revealed; each pair once, in order, in range."""
    trial, arm = feedback.reveal(action, keys, t)
    place = trial * feedback.arms + arm
    ordered = (np.diff(place) > 0).all()
    inside = not len(arm) or (arm.min() >= 0 and arm.max() < feedback.arms)
    if not (ordered and inside):
        raise Violation(f"round {t}: reveal gives pairs out of order, twice, or of no such arm")
    seen = np.zeros((len(action), feedback.arms))
    seen[trial, arm] = 1.0
    return seen


def _everything(process: Process, t: int, keys: Keys) -> list[Floats]:
    """Rows, gains and what is seen: each with the trial as its second axis."""
    feedback = process.round(t, keys)
    h = np.tile(np.linspace(0.1, 0.9, process.arms), (keys.trials, 1))
    actions = [np.full(keys.trials, i) for i in range(process.arms)]
    rows = np.stack([feedback.reach(action) for action in actions])
    seen = np.stack([_seen(feedback, action, keys, t) for action in actions])
    return [rows, seen, feedback.gain(h)[None]]
