"""A small run of benchmarks/evaluation_coverage.py, which fills tables of docs/evaluation.md."""

from __future__ import annotations

import importlib
from types import ModuleType

import pytest
from helpers import ROOT

pytestmark = pytest.mark.process


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("evaluation_coverage")


def cells(text: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()]


def test_rows_of_the_table(benchmark: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    benchmark.study("floor 10 %", 60, 20)
    rows = cells(capsys.readouterr().out)
    assert [(row[1], row[3]) for row in rows] == [
        (policy, estimator)
        for policy in ("uniform", "arm 0.6")
        for estimator in ("ips", "snips", "dr", "dr-side")
    ]
    for row in rows:
        bias, error = map(float, row[4].split(" ± "))
        assert abs(bias) < 4.0 * error
        assert float(row[7].rstrip("%")) >= 90.0  # guaranteed


def test_variances(benchmark: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    benchmark.variance(3)
    rows = cells(capsys.readouterr().out)[2:]
    assert [row[1] for row in rows] == ["0.0900", "0.0417", "1.3972"]
    for row in rows:
        assert abs(float(row[2]) / float(row[1]) - 1.0) < 0.2


def test_the_document_has_the_formulas(benchmark: ModuleType) -> None:
    text = (ROOT / "docs" / "evaluation.md").read_text("utf-8")
    for number in ("| 0.0900 |", "| 0.0417 |", "| 1.3972 |"):
        assert number in text
    rows = [
        line
        for line in text.splitlines()
        if line.startswith(("| uniform |", "| floor", "| `ts-n` |"))
    ]
    per_size = sum(4 * len(targets) for _, targets in benchmark.LOGS.values())
    assert len(rows) == len(benchmark.SIZES) * per_size
