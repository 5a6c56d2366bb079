"""An audit: the paper's statements, checked in every round and trial of a simulation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from threading import Event, Lock
from typing import Any

import numpy as np

from graphbandits.engine import Plan, run_block
from graphbandits.engine.progress import Advance
from graphbandits.errors import InputError, whole_number
from graphbandits.gains import check_joint
from graphbandits.graphs import Feedback
from graphbandits.graphs.outcome_space import most_outcomes
from graphbandits.policies import Policy
from graphbandits.rng import Keys
from graphbandits.theory.auditor import Auditor, Rounds, Tally
from graphbandits.theory.limits import ratio_limit
from graphbandits.theory.means import Curve
from graphbandits.theory.regret import entropy_of
from graphbandits.theory.statements import COVERED, LINEAR, STATEMENTS
from graphbandits.theory.violations import Violation
from graphbandits.types import Floats
from graphbandits.worlds import Bernoulli

#: Trials that are audited at once by a worker.
BLOCK = 25
#: The gains that Psi can be by: g wherever it is affordable, g, or G h.
GAINS = ("auto", "joint", "bound")
#: Outcomes of the arms seen together up to which g is computed in every round unasked.
QUICK = 5000


@dataclass(frozen=True, eq=False)
class Audit:
    """What came out: a tally for each statement, and a curve for each policy.

    ``rounds`` counts rounds of all policies and trials, and how many of them could be checked.
    ``gain`` is "joint" where Psi is by the exact g; where it is "bound", by G h, ``why`` says why.
    """

    tallies: tuple[Tally, ...]
    curves: tuple[Curve, ...]
    rounds: Rounds
    gain: str
    why: str = ""

    @property
    def violations(self) -> list[Violation]:
        """The worst violation of each statement that has one."""
        return [tally.worst for tally in self.tallies if tally.worst is not None]

    @property
    def broken(self) -> list[str]:
        """All that does not hold, a sentence for each."""
        means = [sentence for curve in self.curves for sentence in curve.broken]
        return [str(violation) for violation in self.violations] + means

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers; of a curve those of its last round."""
        return {
            "gain": self.gain,
            "why": self.why,
            "rounds": asdict(self.rounds) | {"share": self.rounds.share},
            "statements": [
                {
                    "name": tally.statement.name,
                    "text": tally.statement.text,
                    "checks": tally.checks,
                    "margin": tally.margin,
                    "nearest": tally.nearest,
                    "violations": tally.violations,
                    "worst": None if tally.worst is None else asdict(tally.worst),
                }
                for tally in self.tallies
            ],
            "means": [
                {
                    "policy": curve.policy,
                    "mean": float(curve.mean[-1]),
                    "standard_error": float(curve.standard_error[-1]),
                    "general": float(curve.general[-1]),
                    "theorem": curve.theorem,
                    "bound": float(curve.bound[-1]),
                    "broken": curve.broken,
                }
                for curve in self.curves
            ],
        }


def audited(policies: Mapping[str, Policy]) -> dict[str, Policy]:
    """Those of the policies that a theorem is about, or that are derived from one of them.

    >>> from graphbandits.policies import as_policy
    >>> list(audited({name: as_policy(name) for name in ("ucb-n", "ids-lp", "ts-n")}))
    ['ids-lp', 'ts-n']
    """
    return {n: policy for n, policy in policies.items() if isinstance(policy, COVERED + LINEAR)}


def audit(
    plan: Plan,
    *,
    gain: str = "auto",
    limit: Callable[[Feedback], Floats] = ratio_limit,
    workers: int = 1,
    progress: Advance | None = None,
) -> Audit:
    """Play the plan by strict statistics, and check in every round what the paper proves of it.

    Propositions 1 and 2, Lemmas 2 and 3 and Theorems 1 to 3 of Liu, Buccapatnam and Shroff (2018),
    each for the policies and graphs that it is about; then Lemma 1 and the theorems for the means
    over the trials. ``gain`` says what Psi is divided by: the exact joint gain ("joint"), the bound
    G h ("bound"), or the first where it is quick in every round ("auto"). ``limit`` is what
    psi cannot exceed on a graph. Rounds whose play teaches less than 1e-30 and loses nothing are
    not checked: there the statistics have no digits that count.

    >>> plan = Plan.of(["ts-n", "ids-lp"], graph="paper", horizon=20, trials=3)
    >>> found = audit(plan)
    >>> found.broken, found.rounds.all, found.tallies[0].statement.name
    ([], 120, 'Proposition 1')
    """
    if gain not in GAINS:
        raise InputError(f"gain is one of {', '.join(GAINS)}, not {gain!r}")
    whole_number(workers, "workers")
    world = plan.world
    if type(world) is not Bernoulli or world.fixed is not None:
        raise InputError(
            "the statements are on Bernoulli arms whose means are drawn from their Beta priors: "
            "audit a world that draws them"
        )
    chosen, why = _gain(plan, gain)
    posterior = replace(world.prior, accuracy="strict")
    # policies decide by what they are judged by: a ratio of small numbers has no other digits
    plan = replace(plan, world=Bernoulli(posterior))
    information = entropy_of(posterior)
    starts = range(plan.first_trial, plan.first_trial + plan.trials, BLOCK)
    tasks = [(name, first) for name in plan.policies for first in starts]

    lock, stop = Lock(), Event()

    def work(task: tuple[str, int]) -> Auditor:
        name, first = task
        keys = Keys(plan.seed, first, min(BLOCK, starts.stop - first))
        auditor = Auditor(name, plan.policies[name], posterior, keys, chosen, limit, plan.horizon)
        every = np.arange(1, plan.horizon + 1)

        def advance(rounds: int) -> None:
            if stop.is_set():
                raise InterruptedError
            if progress is not None:
                with lock:
                    progress(rounds * keys.trials)

        run_block(
            plan.policies[name],
            plan.world,
            plan.process,
            plan.horizon,
            keys,
            every,
            advance=advance,
            watch=auditor,
        )
        return auditor

    with ThreadPoolExecutor(workers) as pool:
        futures = [pool.submit(work, task) for task in tasks]
        try:
            parts = [future.result() for future in futures]
        except BaseException:
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise
    tallies = [Tally.merged([part.tallies[i] for part in parts]) for i in range(len(STATEMENTS))]
    curves = (
        Curve.of([part for part in parts if part.name == name], information)
        for name in plan.policies
    )
    rounds = Rounds.merged([part.rounds for part in parts])
    return Audit(tuple(tallies), tuple(curves), rounds, chosen, why)


def _gain(plan: Plan, wanted: str) -> tuple[str, str]:
    """Which gain Psi is by, and why if it is not the exact one."""
    by_joint = [name for name, policy in plan.policies.items() if _plays_by_joint(policy)]
    if wanted == "bound" and by_joint:
        raise InputError(
            f"'{by_joint[0]}' plays by the exact gain, and of its ratio by G h nothing is proved: "
            "audit it with the gain joint"
        )
    if wanted == "bound":
        return "bound", "the bound G h was asked for"
    if wanted == "joint" or by_joint:
        check_joint(plan.world.prior, plan.process)
        return "joint", ""
    outcomes = most_outcomes(plan.process)
    if outcomes > QUICK:
        why = f"the arms seen together may have {outcomes:.2g} outcomes in a round, and above "
        return "bound", why + f"{QUICK} the exact gain is computed only if it is asked for"
    return "joint", ""


def _plays_by_joint(policy: Policy) -> bool:
    return getattr(policy, "gain", None) == "joint"
