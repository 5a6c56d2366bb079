"""Results: regret of each policy, by round and by trial, in the same worlds."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from graphbandits._types import Floats, Ints
from graphbandits.engine.shard import Ratios
from graphbandits.errors import InputError, check_integer, nearest
from graphbandits.results.data_frames import NO_CURVES, QUANTILES, full_table, to_pandas, to_polars
from graphbandits.results.differences import (
    Difference,
    Moments,
    paired_differences,
    standard_error,
    t_quantile,
)

if TYPE_CHECKING:
    import pandas
    import polars

    from graphbandits.graphs import Fixed


@dataclass(frozen=True, eq=False)
class PolicyResult:
    """One policy: the cumulative regret at ``Results.rounds`` and what each trial ended with."""

    mean: Floats
    standard_error: Floats
    quantiles: Floats  # (len(QUANTILES), rounds)
    final: Floats  # (trials,)
    plays: Ints  # (arms,), over all trials
    regret: Floats | None = None  # (trials, rounds); not in format 1, nor in summaries of stores
    ratios: Ratios | None = None  # where they were asked for
    ratio_sums: Moments | None = None  # of ``ratios.ratio_sum``, which summaries of stores keep
    rank_plays: Ints | None = None  # (arms,), by the rank of each trial's true means; not in files

    @classmethod
    def from_trials(cls, regret: Floats, plays: Ints, ratios: Ratios | None = None) -> PolicyResult:
        """Summarise the regret (trials, rounds)."""
        return cls(
            mean=regret.mean(axis=0),
            standard_error=standard_error(regret),
            quantiles=np.quantile(regret, QUANTILES, axis=0),
            final=regret[:, -1].copy(),
            plays=plays,
            regret=regret,
            ratios=ratios,
        )

    def final_quantiles(self) -> dict[str, float]:
        """Quantiles of the final regret over the trials, by their level."""
        values = np.quantile(self.final, QUANTILES)
        return {f"{q:g}": float(v) for q, v in zip(QUANTILES, values, strict=True)}

    def quantile(self, q: float) -> Floats:
        """The quantile of the trials' regret in each recorded round, for any level in [0, 1].

        >>> regret = np.array([[0.0, 1.0], [1.0, 3.0], [1.0, 5.0]])
        >>> PolicyResult.from_trials(regret, np.array([6])).quantile(0.5)
        array([1., 3.])
        """
        if not isinstance(q, numbers.Real) or not 0.0 <= q <= 1.0:
            raise InputError(f"a quantile has a level in [0, 1], not {q!r}")
        if q in QUANTILES:
            kept: Floats = self.quantiles[QUANTILES.index(q)].copy()
            return kept
        if self.regret is None:
            levels = ", ".join(f"{level:g}" for level in QUANTILES)
            raise InputError(f"no quantile {q:g}, but {levels}: {NO_CURVES}")
        values: Floats = np.quantile(self.regret, q, axis=0)
        return values


@dataclass(frozen=True, eq=False)
class Results:
    """The outcome of :func:`graphbandits.simulate`.

    ``graph`` is the feedback graph if it is the same in every round. ``settings`` is what was
    asked for, as plain values; docs/results.md lists them.

    >>> from graphbandits import simulate
    >>> results = simulate(["ts-n"], graph="paper", horizon=20, trials=10, seed=1)
    >>> results["ts-n"].regret.shape, int(results["ts-n"].plays.sum())
    ((10, 20), 200)
    """

    rounds: Ints
    policies: Mapping[str, PolicyResult]
    arms: tuple[str, ...]
    settings: Mapping[str, Any]
    graph: Fixed | None = None

    def __post_init__(self) -> None:
        if not self.policies:
            raise InputError("results are of one policy at least; there is none")
        trials, rounds = self.trials, len(self.rounds)
        for name, result in self.policies.items():
            regret = (trials, rounds) if result.regret is None else result.regret.shape
            sizes = {
                "mean": (result.mean.shape, (rounds,)),
                "standard_error": (result.standard_error.shape, (rounds,)),
                "quantiles": (result.quantiles.shape, (len(QUANTILES), rounds)),
                "final": (result.final.shape, (trials,)),
                "plays": (result.plays.shape, (len(self.arms),)),
                "regret": (regret, (trials, rounds)),
            }
            if result.rank_plays is not None:
                sizes["rank_plays"] = result.rank_plays.shape, (len(self.arms),)
            for part, array in result.ratios.items() if result.ratios is not None else ():
                sizes[part] = array.shape, (trials, rounds)
            for part, (found, wanted) in sizes.items():
                if found != wanted or 0 in found:
                    raise InputError(
                        f"results of {trials} trials, {rounds} recorded rounds and "
                        f"{len(self.arms)} arms: '{part}' of '{name}' has the shape {found}"
                    )
        if self.graph is not None and self.graph.arms != len(self.arms):
            raise InputError(
                f"the graph has {self.graph.arms} arms, and the results {len(self.arms)}"
            )
        if self.graph is not None and self.graph.names not in (None, self.arms):
            raise InputError("the arms of the graph and of the results have different names")

    @property
    def trials(self) -> int:
        """How many worlds each policy met."""
        return len(next(iter(self.policies.values())).final)

    @property
    def runs(self) -> list[dict[str, Any]]:
        """Where the trials come from, in their order: seed, first_trial and trials of each run.

        >>> from graphbandits import simulate
        >>> simulate("ts-n", horizon=2, trials=3, seed=8).runs
        [{'seed': 8, 'first_trial': 0, 'trials': 3}]
        """
        return runs_of(self.settings, self.trials)

    @property
    def notes(self) -> dict[str, str]:
        """What is to be said wherever a policy is shown, from the settings; most have none.

        >>> from graphbandits import simulate
        >>> simulate("ts-n", horizon=2, trials=3).notes
        {}
        """
        told = self.settings.get("policies")
        facts = told if isinstance(told, Mapping) else {}
        notes = {
            name: str(facts[name].get("note") or "").strip()
            for name in self.policies
            if isinstance(facts.get(name), Mapping)
        }
        return {name: text for name, text in notes.items() if text}

    def __getitem__(self, policy: str) -> PolicyResult:
        if policy not in self.policies:
            raise InputError(f"no policy '{policy}' in these results: {', '.join(self.policies)}")
        return self.policies[policy]

    def __repr__(self) -> str:
        one = self.trials == 1  # and then there is no interval
        half = math.nan if one else t_quantile(0.95, self.trials)
        regrets = ", ".join(
            f"{name} {self[name].mean[-1]:.4g}"
            + ("" if one else f" ± {half * self[name].standard_error[-1]:.2g}")
            for name in self.ranking()
        )
        size = f"{len(self.arms)} arms, {self.rounds[-1]} rounds"
        trials = "1 trial" if one else f"{self.trials} trials"
        what = "regret" if one else "regret ± 95%"
        return f"<Results of {trials}, {size}: {what}: {regrets}>"

    def ranking(self) -> list[str]:
        """The policies by their mean final regret, best first."""
        return sorted(self.policies, key=lambda name: float(self.policies[name].mean[-1]))

    def interval(self, policy: str, confidence: float = 0.95) -> tuple[float, float]:
        """A confidence interval for the expected final regret (Student's t)."""
        low, high = self.band(policy, confidence=confidence)
        return float(low[-1]), float(high[-1])

    def band(
        self,
        policy: str,
        kind: str = "interval",
        confidence: float = 0.95,
        levels: tuple[float, float] = (0.1, 0.9),
    ) -> tuple[Floats, Floats]:
        """Lower and upper ends of a band around the curve, one number a recorded round.

        ``interval``: where the expected regret of that round is, with ``confidence`` (Student's
        t, each round by itself). ``quantiles``: between which ``levels`` the trials lie.

        >>> from graphbandits import simulate
        >>> results = simulate("ts-n", graph="paper", horizon=20, trials=50, seed=1)
        >>> low, high = results.band("ts-n", "quantiles", levels=(0.05, 0.95))
        >>> bool((low <= high).all()), len(low)
        (True, 20)
        """
        result = self[policy]
        if kind == "interval":
            half = t_quantile(confidence, self.trials) * result.standard_error
            return result.mean - half, result.mean + half
        if kind == "quantiles":
            pair = isinstance(levels, tuple | list) and len(levels) == 2
            known = pair and all(isinstance(level, numbers.Real) for level in levels)
            if not known or not levels[0] <= levels[1]:
                raise InputError(f"levels are a lower and an upper one in [0, 1], not {levels!r}")
            return result.quantile(levels[0]), result.quantile(levels[1])
        raise InputError(f"no band '{kind}': {nearest(kind, ['interval', 'quantiles'])}")

    def differences(
        self, reference: str | None = None, confidence: float = 0.95, simultaneous: bool = False
    ) -> list[Difference]:
        """Paired differences of the final regret: each policy with ``reference``, or all pairs.

        All policies meet the same worlds, so the difference of two is known far better than
        either of them. The intervals are Student's t, each at ``confidence`` by itself; with
        ``simultaneous`` all of the list hold together (:func:`~.compare.max_t`).

        >>> from graphbandits import simulate
        >>> names = ["ts-n", "ids-n", "ids-lp"]
        >>> results = simulate(names, graph="star", horizon=100, trials=50, seed=1)
        >>> (alone, _, _), (together, _, _) = (
        ...     results.differences(simultaneous=choice) for choice in (False, True)
        ... )
        >>> together.low < alone.low < alone.mean == together.mean
        True
        """
        names = self.ranking()
        if reference is None:
            pairs = list(combinations(names, 2))
        else:
            self[reference]
            pairs = [(name, reference) for name in names if name != reference]
        t_quantile(confidence, self.trials)  # refuses what is no confidence, with or without pairs
        final = {name: result.final for name, result in self.policies.items()}
        return paired_differences(final, pairs, confidence, simultaneous)

    def from_best(self, confidence: float = 0.95) -> dict[str, Difference]:
        """Each other policy minus the one of least mean regret, out of all pairs taken together.

        Which one is best is read from the same trials, so that the intervals of a comparison
        with a policy chosen beforehand would be too narrow; those of all pairs are not.
        """
        best = self.ranking()[0]
        pairs = self.differences(None, confidence, simultaneous=True)
        return {d.second: d.reversed() for d in pairs if d.first == best}

    def summary(self) -> dict[str, Any]:
        """The outcome as plain numbers, ready for JSON."""
        policies = {}
        for name, result in self.policies.items():
            regret = {
                "mean": float(result.mean[-1]),
                "standard_error": _number(result.standard_error[-1]),
                "quantiles": result.final_quantiles(),
            }
            curve = {"round": self.rounds.tolist(), "mean": result.mean.tolist()}
            plays = dict(zip(self.arms, result.plays.tolist(), strict=True))
            policies[name] = {"regret": regret, "curve": curve, "plays": plays}
        return {"policies": policies, "settings": dict(self.settings)}

    def only(self, names: Iterable[str]) -> Results:
        """The results of some of the policies, in the order given.

        >>> from graphbandits import simulate
        >>> results = simulate(["ts-n", "ids-n"], horizon=2, trials=3)
        >>> list(results.only(["ids-n"]).policies)
        ['ids-n']
        """
        policies = {name: self[name] for name in names}
        settings = dict(self.settings)
        if isinstance(described := settings.get("policies"), Mapping):
            settings["policies"] = {k: described[k] for k in policies if k in described}
        return replace(self, policies=policies, settings=settings)

    def renamed(self, names: Mapping[str, str]) -> Results:
        """The same results with other names for some policies, by their names until now.

        >>> from graphbandits import simulate
        >>> results = simulate(["ts-n", "ids-n"], horizon=2, trials=3)
        >>> list(results.renamed({"ts-n": "Thompson"}).policies)
        ['Thompson', 'ids-n']
        """
        for name in names:
            self[name]
        new = [names.get(name, name) for name in self.policies]
        if twice := [name for name in new if new.count(name) > 1]:
            raise InputError(f"two policies would be called '{twice[0]}'")
        policies = dict(zip(new, self.policies.values(), strict=True))
        settings = dict(self.settings)
        if isinstance(described := settings.get("policies"), Mapping):
            settings["policies"] = {names.get(k, k): entry for k, entry in described.items()}
        return replace(self, policies=policies, settings=settings)

    @classmethod
    def concat(cls, results: Sequence[Results]) -> Results:
        """Further policies in the same worlds, further worlds of the same policies, or both."""
        from graphbandits.results.combine import concat

        return concat(results)

    def to_pandas(self, table: str = "curve") -> pandas.DataFrame:
        """A table of docs/results.md: curve, final, plays, regret, ratios or graph."""
        return to_pandas(full_table(self, table))

    def to_polars(self, table: str = "curve") -> polars.DataFrame:
        """The same for polars."""
        return to_polars(full_table(self, table))

    @property
    def hash(self) -> str:
        """A sha256 of all that is saved: the same for the same results, wherever they were made."""
        from graphbandits.results.file_formats import content_hash

        return content_hash(self)

    def save(self, directory: str | Path) -> Path:
        """Write the results into a directory: Parquet tables and a JSON manifest.

        The directory appears whole or not at all; results that were there before are replaced.
        """
        from graphbandits.results.file_formats import save

        return save(self, Path(directory))

    @classmethod
    def load(cls, directory: str | Path) -> Results:
        """Read what :meth:`save` wrote, to the last bit; a damaged file is named."""
        from graphbandits.results.file_formats import load

        return load(Path(directory))


def runs_of(settings: Mapping[str, Any], trials: int) -> list[dict[str, Any]]:
    """The runs that the settings tell; one from trial 0 where they tell none."""
    alone = {"seed": settings.get("seed"), "first_trial": 0, "trials": trials}
    runs = [_run(given) for given in settings.get("runs") or [alone]]
    told = sum(run["trials"] for run in runs)
    if told != trials:
        raise InputError(f"the runs have {told} trials together, the results {trials}")
    return runs


def _run(given: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        raise InputError(f"a run has seed, first_trial and trials; got {given!r}")
    seed = given.get("seed")
    return {
        "seed": None if seed is None else check_integer(seed, "seed of a run", least=0),
        "first_trial": check_integer(given.get("first_trial", 0), "first_trial of a run", least=0),
        "trials": check_integer(given.get("trials"), "trials of a run"),
    }


def _number(value: float) -> float | None:
    return None if math.isnan(value) else float(value)
