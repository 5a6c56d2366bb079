"""All mutants, the checks that they must fail, and what they cannot help failing as well."""

from __future__ import annotations

from helpers.mutant_graphs import GRAPHS
from helpers.mutant_policies import POLICIES
from helpers.mutant_posteriors import POSTERIORS

#: kind -> (class, the check that it fails, what the message says)
MUTANTS: dict[str, list[tuple[type, str, str]]] = {
    "policy": POLICIES,
    "graph": GRAPHS,
    "posterior": POSTERIORS,
}

#: The engine itself refuses what is no distribution, in whatever is played.
PLAYED = {
    "state",
    "simplex",
    "propose-leaves-state",
    "declared-needs",
    "own-randomness",
    "batch",
    "block-workers-order",
    "relabelling",
    "save-load",
    "degenerate",
    "refused-in-time",
    "long-run",
    "beats-uniform",
}

#: What a mutant fails beside its own check, because one sin has several effects.
ALSO_FAILS: dict[str, set[str]] = {
    # an agent that would be another one is not saved
    "Rounding": {"save-load"},
    # what is no array of numbers, or changes its type, cannot be loaded again
    "ListState": {"save-load"},
    "ObjectState": {"save-load", "long-run"},
    "DriftingState": {"save-load"},
    "Unnormalised": PLAYED,
    "Arms": PLAYED,
    "Silent": PLAYED,
    "Raises": PLAYED,
    # the array is still there after the update
    "AddsArray": {"state"},
    "AsksForHorizon": PLAYED,
    # numbers that nobody can draw again differ whenever something is run twice
    "OwnGenerator": {"propose-leaves-state", "batch", "block-workers-order"},
    "HeldGenerator": {"propose-leaves-state", "batch", "block-workers-order"},
    # trials that see each other make the size of a block matter; last bits alone do not
    "BatchMean": {"block-workers-order"},
    "FirstTrial": {"block-workers-order"},
    # it cannot play any scene with probabilities
    "SureOnly": PLAYED - {"save-load", "long-run", "beats-uniform"},
    "HorizonOnly": {"declared-needs"},
    # nothing can be asked of no graph
    "NoGraph": {
        "probabilities",
        "gain",
        "observed",
        "reveal-frequency",
        "reveal-independence",
        "batch",
    },
    "MoreThanSure": {"gain", "observed"},
    # whoever reads the pairs stumbles over their order
    "Backwards": {"reveal-independence", "batch"},
    "SameForTrials": {"batch"},
    "ForgetsTrials": {"refuses-rewards"},
    "OnlyTheFirst": {"batch"},
}
#: Failures that depend on chance, of those with numbers that nobody can draw again.
MAY_FAIL = {name: {"save-load", "relabelling"} for name in ("OwnGenerator", "HeldGenerator")}
