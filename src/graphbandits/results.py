"""What came out of a simulation: regret curves, final regrets, plays; summaries and files."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from scipy.special import stdtrit

from graphbandits.errors import InputError
from graphbandits.files import replace_directory, write_text
from graphbandits.types import Floats, Ints

if TYPE_CHECKING:
    import pandas

#: Quantiles that are kept of every curve and reported of the final regret.
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.95)
#: Rounds that are kept of a curve, at most.
POINTS = 200
#: The layout of saved results; a newer one is refused by name.
FORMAT = 1


@dataclass(frozen=True, eq=False)
class PolicyResult:
    """One policy: the cumulative regret at ``Results.rounds`` and what each trial ended with."""

    mean: Floats
    standard_error: Floats
    quantiles: Floats  # (len(QUANTILES), rounds)
    final: Floats  # (trials,)
    plays: Ints  # (arms,), over all trials

    @classmethod
    def from_trials(cls, regret: Floats, plays: Ints) -> PolicyResult:
        """Summarise the regret (trials, rounds)."""
        return cls(
            mean=regret.mean(axis=0),
            standard_error=standard_error(regret),
            quantiles=np.quantile(regret, QUANTILES, axis=0),
            final=regret[:, -1].copy(),
            plays=plays,
        )

    def final_quantiles(self) -> dict[str, float]:
        """Quantiles of the final regret over the trials, by their level."""
        values = np.quantile(self.final, QUANTILES)
        return {f"{q:g}": float(v) for q, v in zip(QUANTILES, values, strict=True)}


@dataclass(frozen=True)
class Difference:
    """Final regret of ``first`` minus that of ``second``, trial by trial in the same worlds."""

    first: str
    second: str
    mean: float
    standard_error: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Results:
    """The outcome of :func:`graphbandits.simulate`.

    >>> from graphbandits import simulate
    >>> results = simulate(["ts-n"], graph="paper", horizon=20, trials=10, seed=1)
    >>> len(results["ts-n"].final), int(results["ts-n"].plays.sum())
    (10, 200)
    """

    rounds: Ints
    policies: Mapping[str, PolicyResult]
    arms: tuple[str, ...]
    settings: Mapping[str, Any]

    def __getitem__(self, policy: str) -> PolicyResult:
        if policy not in self.policies:
            raise InputError(f"no policy '{policy}' in these results: {', '.join(self.policies)}")
        return self.policies[policy]

    def __repr__(self) -> str:
        ranking = self.ranking()
        regrets = ", ".join(
            f"{name} {self[name].mean[-1]:.4g} ± {self[name].standard_error[-1]:.2g}"
            for name in ranking
        )
        size = f"{len(self.arms)} arms, {self.rounds[-1]} rounds"
        return f"<Results of {len(self[ranking[0]].final)} trials, {size}: regret {regrets}>"

    def ranking(self) -> list[str]:
        """The policies by their mean final regret, best first."""
        return sorted(self.policies, key=lambda name: float(self.policies[name].mean[-1]))

    def interval(self, policy: str, confidence: float = 0.95) -> tuple[float, float]:
        """A confidence interval for the expected final regret (Student's t)."""
        result = self[policy]
        half = _quantile(confidence, len(result.final)) * float(result.standard_error[-1])
        return float(result.mean[-1]) - half, float(result.mean[-1]) + half

    def differences(
        self, reference: str | None = None, confidence: float = 0.95
    ) -> list[Difference]:
        """Paired differences of the final regret: each policy with ``reference``, or all pairs.

        All policies meet the same worlds, so the difference of two is known far better than
        either of them. The intervals are Student's t, each at ``confidence`` by itself.
        """
        names = self.ranking()
        if reference is None:
            pairs = list(combinations(names, 2))
        else:
            self[reference]
            pairs = [(name, reference) for name in names if name != reference]
        return [self._difference(first, second, confidence) for first, second in pairs]

    def _difference(self, first: str, second: str, confidence: float) -> Difference:
        paired = self[first].final - self[second].final
        mean, error = float(paired.mean()), float(standard_error(paired))
        half = _quantile(confidence, len(paired)) * error
        return Difference(first, second, mean, error, mean - half, mean + half)

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

    def to_pandas(self) -> pandas.DataFrame:
        """The curves: columns policy, round, mean, standard_error and one for each quantile."""
        try:
            import pandas  # noqa: F401
        except ImportError:
            raise InputError("to_pandas needs pandas: pip install pandas") from None
        frame: pandas.DataFrame = self._tables()["curve"].to_pandas()
        return frame

    def save(self, directory: str | Path) -> Path:
        """Write the results into a directory: Parquet tables and a JSON manifest.

        The directory appears whole or not at all; results that were there before are replaced.
        """
        target = Path(directory)
        check_place(target)
        with replace_directory(target) as temporary:
            for name, table in self._tables().items():
                pq.write_table(table, temporary / f"{name}.parquet")
            manifest = {
                "format": FORMAT,
                "policies": list(self.policies),
                "arms": list(self.arms),
                "settings": dict(self.settings),
            }
            write_text(temporary / "manifest.json", json.dumps(manifest, indent=2) + "\n")
        return target

    @classmethod
    def load(cls, directory: str | Path) -> Results:
        """Read what :meth:`save` wrote, to the last bit."""
        source = Path(directory)
        try:
            manifest = json.loads(_manifest_text(source))
            if not (isinstance(manifest, dict) and isinstance(manifest.get("format"), int)):
                raise InputError(f"{source / 'manifest.json'} is not the manifest of results")
            if manifest["format"] > FORMAT:
                raise InputError(
                    f"{source} has results of format {manifest['format']}, and this version of "
                    f"graphbandits reads up to {FORMAT}: update graphbandits"
                )
            names = ("curve", "final", "plays")
            curve, final, plays = (_read(source / f"{name}.parquet") for name in names)
            policies = {
                name: PolicyResult(
                    mean=_column(curve, name, "mean"),
                    standard_error=_column(curve, name, "standard_error"),
                    quantiles=np.array([_column(curve, name, f"q{q:g}") for q in QUANTILES]),
                    final=_column(final, name, "regret"),
                    plays=_column(plays, name, "plays").astype(np.int64),
                )
                for name in manifest["policies"]
            }
            rounds = _column(curve, manifest["policies"][0], "round").astype(np.int64)
            results = cls(rounds, policies, tuple(manifest["arms"]), manifest["settings"])
        except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
            if isinstance(error, InputError):
                raise
            reason = f"{type(error).__name__} {error}".splitlines()[0]
            raise InputError(f"the results in {source} are damaged: {reason}") from None
        results._check_sizes(source)
        return results

    def _check_sizes(self, source: Path) -> None:
        """The tables must belong together."""
        trials = max(len(result.final) for result in self.policies.values())
        for name, result in self.policies.items():
            rows = {
                "curve": (len(result.mean), max(1, len(self.rounds))),
                "final": (len(result.final), max(1, trials)),
                "plays": (len(result.plays), len(self.arms)),
            }
            for table, (found, wanted) in rows.items():
                if found != wanted:
                    raise InputError(
                        f"the file {source / table}.parquet is damaged, or of another run: it has "
                        f"{found} rows of '{name}' where {wanted} are needed"
                    )

    def _tables(self) -> dict[str, pa.Table]:
        curve: dict[str, list[Any]] = {"policy": [], "round": [], "mean": [], "standard_error": []}
        curve |= {f"q{q:g}": [] for q in QUANTILES}
        final: dict[str, list[Any]] = {"policy": [], "trial": [], "regret": []}
        plays: dict[str, list[Any]] = {"policy": [], "arm": [], "plays": []}
        for name, result in self.policies.items():
            curve["policy"] += [name] * len(self.rounds)
            curve["round"] += self.rounds.tolist()
            curve["mean"] += result.mean.tolist()
            curve["standard_error"] += result.standard_error.tolist()
            for q, values in zip(QUANTILES, result.quantiles, strict=True):
                curve[f"q{q:g}"] += values.tolist()
            final["policy"] += [name] * len(result.final)
            final["trial"] += list(range(len(result.final)))
            final["regret"] += result.final.tolist()
            plays["policy"] += [name] * len(self.arms)
            plays["arm"] += self.arms
            plays["plays"] += result.plays.tolist()
        return {"curve": pa.table(curve), "final": pa.table(final), "plays": pa.table(plays)}


def check_place(target: Path) -> None:
    """Refuse to replace anything but nothing, an empty directory, or earlier results."""
    if not target.exists():
        return
    names = {path.name for path in target.iterdir()} if target.is_dir() else {""}
    ours = {"manifest.json", "curve.parquet", "final.parquet", "plays.parquet"}
    if names and names != ours:
        raise InputError(f"{target} exists and is not just results: choose another place")


def recorded_rounds(horizon: int, points: int = POINTS) -> Ints:
    """At most ``points`` rounds, evenly spread, the first and the last among them.

    >>> recorded_rounds(5).tolist(), len(recorded_rounds(10**6))
    ([1, 2, 3, 4, 5], 200)
    """
    spread = np.linspace(1, horizon, min(points, horizon))
    return np.unique(np.rint(spread).astype(np.int64))


def standard_error(values: Floats) -> Floats:
    """Of the mean over the first axis; NaN for a single value, for nothing is known."""
    count = len(values)
    if count < 2:
        return np.full(values.shape[1:], np.nan)
    error: Floats = values.std(axis=0, ddof=1) / math.sqrt(count)
    return error


def _quantile(confidence: float, count: int) -> float:
    if not 0.0 < confidence < 1.0:
        raise InputError(f"confidence is a number between 0 and 1, not {confidence!r}")
    # Student's quantile from scipy.special: scipy.stats takes a second to import
    return float(stdtrit(count - 1, 0.5 + confidence / 2.0)) if count > 1 else math.nan


def _number(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def _manifest_text(source: Path) -> str:
    path = source / "manifest.json"
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise InputError(f"no results in {source}: cannot read {path}: {reason}") from None


def _read(path: Path) -> pa.Table:
    try:
        return pq.read_table(path)
    except (OSError, pa.ArrowException) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"the file {path} is missing or damaged: {reason}") from None


def _column(table: pa.Table, policy: str, column: str) -> Floats:
    rows = table.column("policy").to_numpy(zero_copy_only=False) == policy
    values: Floats = table.column(column).to_numpy()[rows]
    return values
