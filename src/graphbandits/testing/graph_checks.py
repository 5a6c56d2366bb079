"""The contract of a graph: what it reveals agrees with what it says it reveals."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from graphbandits._types import Floats
from graphbandits.errors import InputError
from graphbandits.graphs import Feedback, Process
from graphbandits.graphs.named import Recipe
from graphbandits.registry import build, text_of
from graphbandits.rng import Keys, Stream
from graphbandits.testing.contract import ContractViolation, check, check_form
from graphbandits.testing.scenarios import most_by_chance, same_bits

#: Rounds that are looked at, as far as the process has them.
ROUNDS = (1, 2, 7)


@check("graph", "form")
def form(recipe: Recipe) -> None:
    """A documented, enrolled recipe that comes back from its text and makes graphs of any size."""
    check_form("graph", recipe)
    text = text_of(recipe)
    if build("graph", text) != recipe:
        raise ContractViolation(
            f"its text form '{text}' gives {build('graph', text)!r}, not {recipe!r}"
        )
    for process in _processes(recipe):
        for part in ("arms", "names", "deterministic", "rounds", "round"):
            if not hasattr(process, part):
                raise ContractViolation(
                    f"{type(process).__name__} has no '{part}': a process needs it"
                )
        if process.names is not None and len(process.names) != process.arms:
            raise ContractViolation(f"it names {len(process.names)} arms and has {process.arms}")
        for t in _rounds(process):
            feedback = process.round(t, Keys(31, 2, 3))
            if feedback.arms != process.arms:
                raise ContractViolation(
                    f"round {t} has {feedback.arms} arms, the process {process.arms}"
                )


@check("graph", "probabilities")
def probabilities(recipe: Recipe) -> None:
    """Entries are probabilities, the arm played is observed for sure, 'deterministic' is true.

    ``shared``, of a round's feedback, is true as well.
    """
    for process in _processes(recipe):
        for t, keys, rows in _all_rows(process):
            where = f"{process.arms} arms, round {t}"
            wrong = rows[~((rows >= 0.0) & (rows <= 1.0))]
            if wrong.size:
                raise ContractViolation(f"{where}: an entry is {wrong[0]:g}, and no probability")
            loops = np.diagonal(rows, axis1=0, axis2=2)
            if not (loops == 1.0).all():
                i = int(np.argwhere(loops != 1.0)[0, 1])
                raise ContractViolation(
                    f"{where}: entry ({i}, {i}) is {loops[loops != 1.0][0]:g}; it is 1, for the "
                    "arm that is played is always observed"
                )
            feedback = process.round(t, keys)
            says_so = process.deterministic or feedback.deterministic
            if says_so and not np.isin(rows, (0.0, 1.0)).all():
                raise ContractViolation(
                    f"{where}: it says it is deterministic, and has entries between 0 and 1"
                )
            if feedback.shared and not (rows == rows[:, :1]).all():
                raise ContractViolation(
                    f"{where}: it says all trials share its entries, and they differ"
                )


@check("graph", "gain")
def gain(recipe: Recipe) -> None:
    """gain(h) is G h: what each arm reveals, weighted with its probability."""
    what = "entry (i, j) is what playing i shows of j"
    _check_product(recipe, "gain", "h", "ibj,bj->bi", "G h", what)


@check("graph", "observed")
def observed(recipe: Recipe) -> None:
    """observed(pi) is G'pi: how likely each arm is to be observed, the play drawn from pi."""
    what = "arm j is seen with the sum of pi_i times entry (i, j)"
    _check_product(recipe, "observed", "pi", "ibj,bi->bj", "G'pi", what)


def _check_product(
    recipe: Recipe, name: str, argument: str, formula: str, product: str, what: str
) -> None:
    """Compare a method of the feedback with the sum over all entries that it stands for."""
    for process in _processes(recipe):
        for t, keys, rows in _all_rows(process):
            given = Stream(keys, t, f"testing/{argument}").uniform(process.arms) + 0.01
            given /= given.sum(axis=1, keepdims=True)
            expected, kept = np.einsum(formula, rows, given), given.copy()
            off = np.abs(getattr(process.round(t, keys), name)(given) - expected)
            where = f"{process.arms} arms, round {t}: {name}({argument})"
            if not (off <= 1e-12).all():
                raise ContractViolation(
                    f"{where} differs from {product} by {off.max():.2g}; {what}"
                )
            if not same_bits(given, kept):
                raise ContractViolation(f"{where} wrote into {argument}")


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
                    j = int(np.argwhere(sure & (seen != chance))[0, 1])
                    did, entry = ("hid", 1) if (seen < chance)[:, j].any() else ("showed", 0)
                    raise ContractViolation(
                        f"round {t}: playing {i} {did} arm {j}, and entry ({i}, {j}) is {entry}"
                    )
                off = np.abs((seen - chance).sum(axis=0))
                beyond = off - most_by_chance((chance * (1.0 - chance)).sum(axis=0))
                if (beyond > 0.0).any():
                    j = int(beyond.argmax())
                    raise ContractViolation(
                        f"round {t}: playing {i} showed {j} in {seen[:, j].mean():.4f} of the "
                        f"trials; its probability is {chance[:, j].mean():.4f}"
                    )


@check("graph", "reveal-independence")
def reveal_independence(recipe: Recipe) -> None:
    """Which arms are revealed is drawn independently, for each arm and in each round."""
    trials = 4000
    for process in _processes(recipe)[-1:]:
        keys = Keys(33, 5, trials)
        for i in range(process.arms):
            action = np.full(trials, i)
            noises, spreads = [], []
            for t in _rounds(process)[:2]:
                feedback = process.round(t, keys)
                chance = feedback.reach(action)
                noises.append(_seen(feedback, action, keys, t) - chance)
                spreads.append(chance * (1.0 - chance))
            noise, spread = np.concatenate(noises, axis=1), np.concatenate(spreads, axis=1)
            bias = noise.mean(axis=0)  # the other check's concern
            together = np.abs((noise - bias).T @ (noise - bias))
            np.fill_diagonal(together, 0.0)
            most = most_by_chance(spread.T @ spread) + trials * np.abs(np.outer(bias, bias))
            if (together > most).any():
                one, two = np.argwhere(together > most)[0]
                rounds = [_rounds(process)[k // process.arms] for k in (one, two)]
                raise ContractViolation(
                    f"playing {i}, whether it shows {one % process.arms} in round {rounds[0]} and "
                    f"{two % process.arms} in round {rounds[1]} goes together: draw each by itself"
                )


@check("graph", "batch")
def batch_equals_one_by_one(recipe: Recipe) -> None:
    """A trial has the same graph and reveals the same in any block, and asked in any order.

    Also of a process that was made anew, as in an agent that is loaded, and in other processes.
    """
    for process, anew in zip(_processes(recipe), _processes(recipe), strict=True):
        whole = {t: _everything(process, t, Keys(34, 3, 4)) for t in _rounds(process)}
        for t in reversed(_rounds(process)):
            for trial in range(4):
                alone = _everything(anew, t, Keys(34, 3 + trial, 1))
                together = [part[:, trial : trial + 1] for part in whole[t]]
                if not all(same_bits(one, two) for one, two in zip(alone, together, strict=True)):
                    raise ContractViolation(
                        f"{process.arms} arms, round {t}: a trial has another graph or reveals "
                        "others alone than in a block, or asked in another order; draw with "
                        "Stream(keys, t, purpose), and remember nothing"
                    )


def _processes(recipe: Recipe) -> list[Process]:
    """For one arm, two, and six, or what it has; a graph with a number of its own keeps it."""
    made: dict[int, Process] = {}
    for arms in (1, 2, 6, 4, 8, 9, 12):
        if made and arms not in (1, 2, 6):
            break
        try:
            process = recipe.process(arms)
        except InputError:  # a grid, say, has no such size
            continue
        made[process.arms] = process
    if not made:
        raise ContractViolation("it makes no graph of 1, 2, 4, 6, 8, 9 or 12 arms")
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
        raise ContractViolation(
            f"round {t}: reveal gives pairs (trial, arm) twice, out of order, or of no such arm"
        )
    seen = np.zeros((len(action), feedback.arms))
    seen[trial, arm] = 1.0
    return seen


def _everything(process: Process, t: int, keys: Keys) -> list[Floats]:
    """Rows, what is seen, gains and chances: each with the trial as its second axis."""
    feedback = process.round(t, keys)
    h = np.tile(np.linspace(0.1, 0.9, process.arms), (keys.trials, 1))
    actions = [np.full(keys.trials, i) for i in range(process.arms)]
    rows = np.stack([feedback.reach(action) for action in actions])
    seen = np.stack([_seen(feedback, action, keys, t) for action in actions])
    return [rows, seen, feedback.gain(h)[None], feedback.observed(h)[None]]
