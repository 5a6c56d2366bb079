"""All mutants of plug-ins, the checks that they must fail, and other checks that they fail."""

from __future__ import annotations

from helpers.mutant_graphs import GRAPHS
from helpers.mutant_policies import POLICIES
from helpers.mutant_posteriors import POSTERIORS
from helpers.mutant_worlds import WORLDS

#: kind -> (class, the check that it fails, text of the message)
MUTANTS: dict[str, list[tuple[type, str, str]]] = {
    "policy": POLICIES,
    "graph": GRAPHS,
    "posterior": POSTERIORS,
    "world": WORLDS,
}

#: The engine rejects invalid distributions, and every check that plays rounds fails.
PLAYED = {
    *("state", "simplex", "propose-leaves-state", "declared-needs", "own-randomness"),
    *("batch", "block-workers-order", "relabelling", "save-load", "pieces", "degenerate"),
    *("refused-in-time", "eligible", "long-run", "beats-uniform"),
}

#: Checks that use the rewards of a world, and those that use its means.
REWARDS = {
    *("outcomes", "rewards-in-support", "mean-of-rewards", "independence", "prior"),
    *("calibration", "own-randomness"),
}
MEANS = REWARDS | {"means"}
#: Checks that use the density and the draws of a posterior.
GRID = {
    *("bayes", "batch", "beliefs", "mean", "quantile", "sample", "rewards", "weights"),
    *("evidence", "refuses-rewards", "refuses-states"),
}

#: Other checks that a mutant fails, because one defect has several effects.
ALSO_FAILS: dict[str, set[str]] = {
    # an agent whose copy would differ is not saved
    "Rounding": {"save-load"},
    # states other than arrays of one type cannot be loaded
    "ListState": {"save-load", "pieces", "refused-in-time"},
    "ObjectState": {"save-load", "long-run"},
    "DriftingState": {"save-load", "pieces", "refused-in-time"},
    "Unnormalised": PLAYED,
    "Arms": PLAYED,
    "Silent": PLAYED,
    "Raises": PLAYED,
    # the array is still there after the update
    "AddsArray": {"state"},
    "AsksForHorizon": PLAYED,
    # random numbers that cannot be reproduced differ between two runs
    "OwnGenerator": {"propose-leaves-state", "batch", "block-workers-order", "pieces"},
    "HeldGenerator": {"propose-leaves-state", "batch", "block-workers-order", "pieces"},
    # two agents with the same keys share what its class remembers
    "Remembers": {"pieces"},
    # trials that depend on each other make the block size matter; last bits alone do not
    "BatchMean": {"block-workers-order"},
    "FirstTrial": {"block-workers-order"},
    # it cannot play any scenario with probabilities
    "SureOnly": PLAYED - {"save-load", "pieces", "long-run", "beats-uniform"},
    "HorizonOnly": {"declared-needs"},
    # without a graph these checks cannot run
    "NoGraph": {
        "probabilities",
        "gain",
        "observed",
        "reveal-frequency",
        "reveal-independence",
        "batch",
    },
    "MoreThanSure": {"gain", "observed"},
    # checks that read the pairs depend on their order
    "Backwards": {"reveal-independence", "batch"},
    "SameForTrials": {"batch"},
    "ForgetsTrials": GRID - {"weights", "refuses-rewards"},
    "OnlyTheFirst": {"batch"},
    "ForgetsRepeats": {"weights", "discount"},
    # the marginal likelihood is that of the updates
    "Forgetful": {"evidence", "discount"},
    "UnfinishedPosterior": GRID | {"discount"},
    # rewards are drawn with the means of sample
    "FromThePrior": {"rewards"},
    "OwnDraws": {"rewards"},
    # the first checks of a world use means and rewards that the other checks need
    "UnfinishedWorld": MEANS,
    "NamedSupport": REWARDS - {"calibration", "own-randomness"},
    "OneMean": MEANS,
    "MeansWithNaN": MEANS,
    "ChangesToOutside": {"mean-of-rewards"},
    "MeansAtRandom": {"own-randomness"},
    "SameMeans": {"prior", "calibration"},
    "MeansOutside": {"mean-of-rewards", "independence", "prior", "calibration"},
    "RewardsAtRandom": {"own-randomness"},
    "SameEveryRound": {"mean-of-rewards", "independence", "calibration"},
    "RowOfRewards": REWARDS,
    "RareNaN": {"mean-of-rewards", "calibration"},
    "OppositeMeans": {"independence", "calibration"},
    "SlowNoise": {"calibration"},
}
#: Failures that depend on chance, of mutants with random numbers that cannot be reproduced.
MAY_FAIL = {name: {"save-load", "relabelling"} for name in ("OwnGenerator", "HeldGenerator")}
# the identity of a removed problem may return
MAY_FAIL["HiddenMemory"] = {"own-randomness"}
