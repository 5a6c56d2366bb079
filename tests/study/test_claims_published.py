"""Tests of study/claims.py: claims and published regrets on small results."""

from __future__ import annotations

import math

import numpy as np
import pytest
from helpers.bad_input import refuses
from scipy import stats

from graphbandits import Results
from graphbandits._types import Floats
from graphbandits.errors import InputError
from graphbandits.simulation.results import PolicyResult
from graphbandits.study.claims import Claim, Published, compare, judge

TRIALS = 40


def of(**final: Floats) -> Results:
    """Results of one round with these final regrets."""
    policies = {
        name: PolicyResult.from_trials(values[:, None], np.array([len(values)]))
        for name, values in final.items()
    }
    return Results(np.array([1]), policies, ("a",), {})


@pytest.fixture(scope="module")
def results() -> Results:
    """Results of common worlds: regrets differ more between worlds than within a world."""
    rng = np.random.default_rng(8)
    world = rng.gamma(2.0, 20.0, TRIALS)
    noise = rng.normal(0.0, 0.5, (4, TRIALS))
    return of(
        low=world + noise[0],
        near=world + 0.05 + noise[1],
        high=world + 1.5 + noise[2],
        higher=world + 2.0 + noise[3],
        twin=world + noise[0],
    )


def test_claim_holds_fails_or_has_no_clear_difference(results: Results) -> None:
    def verdict(better: tuple[str, ...], than: tuple[str, ...]) -> str:
        return judge(Claim("x", better, than), results).verdict

    assert verdict(("low", "near"), ("high", "higher")) == "holds"
    assert verdict(("high",), ("low",)) == "fails"
    assert verdict(("near",), ("low",)) == "no clear difference"
    # one unclear pair keeps the claim from holding, and one above 0 fails it
    assert verdict(("low",), ("near", "high")) == "no clear difference"
    assert verdict(("low", "higher"), ("near", "high")) == "fails"


def test_the_intervals_are_those_of_all_pairs_of_the_claim_at_once(results: Results) -> None:
    judged = judge(Claim("x", ("low", "near"), ("high",)), results, confidence=0.9)
    assert [(d.first, d.second) for d in judged.differences] == [("low", "high"), ("near", "high")]
    together = results.differences("high", 0.9)  # not simultaneous
    for d in judged.differences:
        paired = results[d.first].final - results[d.second].final
        assert (d.mean, d.standard_error) == pytest.approx((paired.mean(), stats.sem(paired)))
        alone = next(e for e in together if e.first == d.first)
        sidak = stats.t.ppf(0.5 + 0.9**0.5 / 2, TRIALS - 1) * d.standard_error
        assert alone.high < d.high <= d.mean + sidak * (1 + 1e-9)
        assert d.simultaneous
    (one,) = judge(Claim("x", ("low",), ("high",)), results).differences
    interval = stats.ttest_rel(results["low"].final, results["high"].final).confidence_interval()
    assert (one.low, one.high) == pytest.approx((interval.low, interval.high))


def test_more_pairs_can_make_a_difference_unclear() -> None:
    """At t = 2.2 of 40 trials one pair is significant; as one of ten independent ones it is not."""
    rng = np.random.default_rng(3)
    columns = np.linalg.qr(rng.normal(size=(TRIALS, 12)))[0]
    columns = np.linalg.qr(columns - columns.mean(axis=0))[0][:, :11]
    shift = 2.2 / math.sqrt(TRIALS) * columns.std(axis=0, ddof=1)
    final = {f"p{i}": columns[:, i] + shift[i] for i in range(10)} | {"zero": np.zeros(TRIALS)}
    results = of(**final)
    assert judge(Claim("x", ("zero",), ("p0",)), results).verdict == "holds"
    everything = Claim("x", ("zero",), tuple(f"p{i}" for i in range(10)))
    assert judge(everything, results).verdict == "no clear difference"


def test_identical_policies_have_no_clear_difference(results: Results) -> None:
    judged = judge(Claim("x", ("low",), ("twin",)), results)
    (d,) = judged.differences
    assert (d.mean, d.low, d.high, judged.verdict) == (0.0, 0.0, 0.0, "no clear difference")
    # rounding by another order of summation is no difference, even if negative in every trial
    low = results["low"].final
    other = np.nextafter(low, np.inf)
    assert (low < other).all()
    assert judge(Claim("x", ("a",), ("b",)), of(a=low, b=other)).verdict == "no clear difference"
    # a constant difference in every trial is one, even if small compared with the spread
    assert judge(Claim("x", ("a",), ("b",)), of(a=low, b=low + 1e-6)).verdict == "holds"


def test_one_trial_gives_no_verdict() -> None:
    judged = judge(
        Claim("x", ("a",), ("b", "c")),
        of(a=np.array([1.0]), b=np.array([5.0]), c=np.array([3.0])),
    )
    assert judged.verdict == "unknown"
    assert judged.decisive.second == "c"


def test_the_decisive_pair_is_the_one_nearest_to_the_other_verdict(results: Results) -> None:
    holds = judge(Claim("x", ("low", "near"), ("high", "higher")), results)
    assert holds.decisive.high == max(d.high for d in holds.differences)
    assert (holds.decisive.first, holds.decisive.second) == ("near", "high")
    fails = judge(Claim("x", ("higher",), ("low", "high")), results)
    assert fails.decisive.second == "low"
    unsure = judge(Claim("x", ("low",), ("near", "high")), results)
    assert unsure.decisive.second == "near"


def test_invalid_claims_are_refused(results: Results) -> None:
    for better, than in (
        (("lo",), ("high",)),
        (("low",), ("hihger",)),
        ((), ("high",)),
        ("low", ("high",)),
        (("low",), (3,)),
        (("low",), ("high", "low")),
    ):
        with refuses(InputError):
            judge(Claim("x", better, than), results)


def test_claim_accepts_lists_and_repeated_names() -> None:
    claim = Claim("x", ["a", "b", "a"], ["c"])  # type: ignore[arg-type]
    assert claim == Claim("x", ("a", "b"), ("c",))
    assert claim.pairs == [("a", "c"), ("b", "c")]


def test_published_regrets_are_measured_in_combined_standard_errors(results: Results) -> None:
    here = {name: (r.final.mean(), stats.sem(r.final)) for name, r in results.policies.items()}
    mean, error = here["low"]
    both = math.hypot(error, 0.3)
    published = Published({"low": (mean - 2.9 * both, 0.3), "high": (1e4, 0.0)}, "a table")
    first, second = compare(published, results)
    assert (first.policy, first.within) == ("low", True)
    assert first.distance == pytest.approx(2.9)
    assert (first.mean, first.standard_error) == pytest.approx((mean, error))
    assert (second.policy, second.within) == ("high", False)
    assert second.distance == pytest.approx((here["high"][0] - 1e4) / here["high"][1])
    (beyond,) = compare(Published({"low": (mean - 3.1 * both, 0.3)}, ""), results)
    assert not beyond.within


def test_published_regrets_without_chance_and_of_one_trial() -> None:
    sure = of(a=np.full(5, 2.0), b=np.full(5, 3.0))
    same, less = compare(Published({"a": (2.0, 0.0), "b": (4.0, 0.0)}, ""), sure)
    assert (same.distance, same.within) == (0.0, True)
    assert (less.distance, less.within) == (-math.inf, False)
    (one,) = compare(Published({"a": (2.0, 0.1)}, ""), of(a=np.array([2.0])))
    assert math.isnan(one.distance)
    assert not one.within


def test_invalid_published_regrets_are_refused(results: Results) -> None:
    for means in (
        {},
        {"low": 3.0},
        {"low": (3.0, -1.0)},
        {"low": (3.0, math.nan)},
        {"lwo": (3.0, 1.0)},
    ):
        with refuses(InputError):
            compare(Published(means, "a table"), results)
