"""Lists of policies that several tests share."""

from __future__ import annotations

INDEX_POLICIES = ["ucb-n", "ucb1", "ucb-tuned", "moss", "kl-ucb"]
FORMULA_POLICIES = [
    *INDEX_POLICIES,
    "ucb-maxn",
    "ts-maxn",
    "eps-greedy-lp",
    "ucb-lp",
    "exp3-set",
    "exp3-res",
    "exp3-ix",
    "exp3-g",
    "uniform",
]
