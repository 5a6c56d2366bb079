"""Tests of engine/plan.py: limits of a plan."""

from __future__ import annotations

from helpers.bad_input import refused

from graphbandits.engine import Plan


def test_too_many_trials_are_refused_before_anything_runs() -> None:
    refused(lambda: Plan.of("ts-n", horizon=1, trials=2**32 + 1), "trial", "2**32")
