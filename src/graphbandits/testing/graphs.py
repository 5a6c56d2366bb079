"""Checks of graphs: declared probabilities agree with the observations that are revealed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from graphbandits._types import Floats
from graphbandits.errors import InputError
from graphbandits.graphs import Feedback, Process
from graphbandits.graphs.named import Recipe
from graphbandits.rng import Keys, Stream
from graphbandits.testing.contract import ContractViolation, check, check_form, check_text
from graphbandits.testing.scenarios import deviation_bound, same_bits

#: Rounds that are checked, if the process has them.
ROUNDS = (1, 2, 7)


@check("graph", "form")
def form(recipe: Recipe) -> None:
    """The class is documented and registered, round-trips through its text, and makes graphs."""
    check_form("graph", recipe)
    check_text("graph", recipe)
    for process in _processes(recipe):
        for part in ("arms", "names", "deterministic", "rounds", "round"):
            if not hasattr(process, part):
                raise ContractViolation(
                    f"{type(process).__name__} has no attribute '{part}', which a process needs"
                )
        if process.names is not None and len(process.names) != process.arms:
            raise ContractViolation(f"it has {len(process.names)} names, but {process.arms} arms")
        for t in _rounds(process):
            feedback = process.round(t, Keys(31, 2, 3))
            if feedback.arms != process.arms:
                raise ContractViolation(
                    f"round {t} has {feedback.arms} arms, but the process has {process.arms}"
                )


@check("graph", "probabilities")
def probabilities(recipe: Recipe) -> None:
    """Entries are probabilities, the diagonal is 1, 'deterministic' and 'shared' are correct."""
    for process in _processes(recipe):
        for t, keys, rows in _all_rows(process):
            where = f"{process.arms} arms, round {t}"
            wrong = rows[~((rows >= 0.0) & (rows <= 1.0))]
            if wrong.size:
                raise ContractViolation(
                    f"{where}: an entry is {wrong[0]:g}, which is no probability"
                )
            loops = np.diagonal(rows, axis1=0, axis2=2)
            if not (loops == 1.0).all():
                i = int(np.argwhere(loops != 1.0)[0, 1])
                raise ContractViolation(
                    f"{where}: entry ({i}, {i}) is {loops[loops != 1.0][0]:g}; it must be 1, "
                    "because the arm played is always observed"
                )
            feedback = process.round(t, keys)
            declared = process.deterministic or feedback.deterministic
            if declared and not np.isin(rows, (0.0, 1.0)).all():
                raise ContractViolation(
                    f"{where}: 'deterministic' is True, but an entry is between 0 and 1"
                )
            if feedback.shared and not (rows == rows[:, :1]).all():
                raise ContractViolation(
                    f"{where}: 'shared' is True, but the entries differ between trials"
                )


@check("graph", "gain")
def gain(recipe: Recipe) -> None:
    """gain(h) is G h: the sum of h over the arms, weighted by the probability of observation."""
    what = "entry (i, j) is the probability that playing i reveals j"
    _check_product(recipe, "gain", "h", "ibj,bj->bi", "G h", what)


@check("graph", "observed")
def observed(recipe: Recipe) -> None:
    """observed(pi) is G'pi: the probability that each arm is observed if the play is from pi."""
    what = "the probability of arm j is the sum over i of pi_i times entry (i, j)"
    _check_product(recipe, "observed", "pi", "ibj,bi->bj", "G'pi", what)


def _check_product(
    recipe: Recipe, name: str, argument: str, formula: str, product: str, what: str
) -> None:
    for process in _processes(recipe):
        for t, keys, rows in _all_rows(process):
            given = Stream(keys, t, f"testing/{argument}").uniform(process.arms) + 0.01
            given /= given.sum(axis=1, keepdims=True)
            expected, before = np.einsum(formula, rows, given), given.copy()
            off = np.abs(getattr(process.round(t, keys), name)(given) - expected)
            where = f"{process.arms} arms, round {t}: {name}({argument})"
            if not (off <= 1e-12).all():
                raise ContractViolation(
                    f"{where} differs from {product} by {off.max():.2g}; {what}"
                )
            if not same_bits(given, before):
                raise ContractViolation(f"{where} modified {argument}: work on a copy")


@check("graph", "reveal-frequency")
def reveal_frequency(recipe: Recipe) -> None:
    """Playing i reveals j with the frequency of entry (i, j): checked over many trials."""
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
                    did, entry = ("hid", 1) if (seen < chance)[:, j].any() else ("revealed", 0)
                    raise ContractViolation(
                        f"round {t}: playing {i} {did} arm {j}, but entry ({i}, {j}) is {entry}"
                    )
                off = np.abs((seen - chance).sum(axis=0))
                beyond = off - deviation_bound((chance * (1.0 - chance)).sum(axis=0))
                if (beyond > 0.0).any():
                    j = int(beyond.argmax())
                    raise ContractViolation(
                        f"round {t}: playing {i} revealed {j} in {seen[:, j].mean():.4f} of the "
                        f"trials, but the probability is {chance[:, j].mean():.4f}"
                    )


@check("graph", "reveal-independence")
def reveal_independence(recipe: Recipe) -> None:
    """Revealed arms are drawn independently, for each arm and in each round."""
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
            bias = noise.mean(axis=0)  # checked by reveal-frequency
            together = np.abs((noise - bias).T @ (noise - bias))
            np.fill_diagonal(together, 0.0)
            most = deviation_bound(spread.T @ spread) + trials * np.abs(np.outer(bias, bias))
            if (together > most).any():
                one, two = np.argwhere(together > most)[0]
                rounds = [_rounds(process)[k // process.arms] for k in (one, two)]
                raise ContractViolation(
                    f"playing {i} reveals {one % process.arms} in round {rounds[0]} and "
                    f"{two % process.arms} in round {rounds[1]} with correlation: draw each "
                    "independently"
                )


@check("graph", "batch")
def batch_equals_one_by_one(recipe: Recipe) -> None:
    """A trial has the same graph and observations in any block and any order of calls.

    This includes a process that was created again, as in a loaded agent or a worker.
    """
    for process, anew in zip(_processes(recipe), _processes(recipe), strict=True):
        block = {t: _everything(process, t, Keys(34, 3, 4)) for t in _rounds(process)}
        for t in reversed(_rounds(process)):
            for trial in range(4):
                alone = _everything(anew, t, Keys(34, 3 + trial, 1))
                together = [part[:, trial : trial + 1] for part in block[t]]
                if not all(same_bits(one, two) for one, two in zip(alone, together, strict=True)):
                    raise ContractViolation(
                        f"{process.arms} arms, round {t}: the graph or the observations of a "
                        "trial depend on the block or on the order of calls: draw with "
                        "Stream(keys, t, purpose), and keep no state"
                    )


def _processes(recipe: Recipe) -> list[Process]:
    """Create processes of 1, 2 and 6 arms, or of another size if these are not possible."""
    made: dict[int, Process] = {}
    for arms in (1, 2, 6, 4, 8, 9, 12):
        if made and arms not in (1, 2, 6):
            break
        try:
            process = recipe.process(arms)
        except InputError:  # a grid, for example, has no such size
            continue
        made[process.arms] = process
    if not made:
        raise ContractViolation("it creates no graph of 1, 2, 4, 6, 8, 9 or 12 arms")
    return [made[arms] for arms in sorted(made)]


def _rounds(process: Process) -> list[int]:
    return [t for t in ROUNDS if process.rounds is None or t <= process.rounds]


def _all_rows(process: Process) -> Iterator[tuple[int, Keys, Floats]]:
    """Yield the round, the keys, and the entries (i, trial, j) of the graph."""
    for t in _rounds(process):
        for seed in (35, 36):
            keys = Keys(seed, 2, 3)
            feedback = process.round(t, keys)
            rows = [feedback.reach(np.full(3, i)) for i in range(process.arms)]
            yield t, keys, np.stack(rows)


def _seen(feedback: Feedback, action: Any, keys: Keys, t: int) -> Floats:
    """Return 1 for each revealed (trial, arm); check that pairs are unique, sorted and in range."""
    trial, arm = feedback.reveal(action, keys, t)
    place = trial * feedback.arms + arm
    ordered = (np.diff(place) > 0).all()
    inside = not len(arm) or (arm.min() >= 0 and arm.max() < feedback.arms)
    if not (ordered and inside):
        raise ContractViolation(
            f"round {t}: reveal must return each (trial, arm) once, sorted, with a valid arm"
        )
    seen = np.zeros((len(action), feedback.arms))
    seen[trial, arm] = 1.0
    return seen


def _everything(process: Process, t: int, keys: Keys) -> list[Floats]:
    """Return entries, observations, gains and probabilities, with the trial as second axis."""
    feedback = process.round(t, keys)
    h = np.tile(np.linspace(0.1, 0.9, process.arms), (keys.trials, 1))
    actions = [np.full(keys.trials, i) for i in range(process.arms)]
    rows = np.stack([feedback.reach(action) for action in actions])
    seen = np.stack([_seen(feedback, action, keys, t) for action in actions])
    return [rows, seen, feedback.gain(h)[None], feedback.observed(h)[None]]
