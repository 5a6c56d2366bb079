"""Tests of benchmarks/regression.py: ratios compared with the stored ones."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import pytest
from helpers import ROOT

from graphbandits.errors import InputError


@pytest.fixture(scope="module")
def regression() -> ModuleType:
    if str(ROOT / "benchmarks") not in sys.path:
        sys.path.append(str(ROOT / "benchmarks"))
    import regression

    return regression


def table(regression: ModuleType, ratios: dict[str, float]) -> Any:
    rows = [(row, "1 s", str(ratio)) for row, ratio in ratios.items()]
    return regression.Table("Times", ("arms", "time", "ratio"), rows, "", texts=1)


def regressions(regression: ModuleType, section: str, before: float, now: float) -> list[str]:
    found = regression.compare(
        {section: [table(regression, {"5": before, "10": 8.0})]},
        {section: [table(regression, {"5": now, "10": 8.0, "new": 1.0})]},
    )
    assert [one.row for one in found] == ["Times: 5", "Times: 10"]
    return [one.row for one in found if one.is_regression]


def test_smaller_ratio_to_the_baseline_is_a_regression(regression: ModuleType) -> None:
    assert regressions(regression, "baseline", 60.0, 39.0) == ["Times: 5"]
    assert regressions(regression, "baseline", 60.0, 41.0) == []
    assert regressions(regression, "baseline", 60.0, 600.0) == []


def test_larger_ratio_of_an_empty_cache_is_a_regression(regression: ModuleType) -> None:
    assert regressions(regression, "start", 10.0, 15.1) == ["Times: 5"]
    assert regressions(regression, "start", 10.0, 14.9) == []
    assert regressions(regression, "start", 10.0, 1.0) == []


def test_worst_comes_first(regression: ModuleType) -> None:
    before = {"baseline": [table(regression, {"5": 60.0, "10": 60.0})]}
    now = {"baseline": [table(regression, {"5": 50.0, "10": 20.0})]}
    rows = regression.table_of(regression.compare(before, now)).rows
    assert [(row[1], row[-2], row[-1]) for row in rows] == [
        ("Times: 10", "3.00", "regression"),
        ("Times: 5", "1.20", ""),
    ]


def test_nothing_in_common_is_an_error(regression: ModuleType) -> None:
    one = {"baseline": [table(regression, {"5": 1.0})]}
    with pytest.raises(InputError, match="nothing to compare"):
        regression.compare(one, {"machine": [table(regression, {"5": 1.0})]})
