"""Experiment files: a single run and two sweeps."""

from __future__ import annotations

SINGLE = """
title = "One run"
graph = "star(direction=out)"
arms = 4
horizon = 20
trials = 5
policies = ["ts-n", "ids-n", "ucb-n"]
notes = ["A note of mine."]

[[claims]]
text = "Information pays."
source = "me"
better = ["ids-n"]
than = ["ts-n()", "ucb-n"]

[published]
source = "someone (2001)"
means = { ts-n = [3.5, 0.25], ids-n = [1e6, 1] }
"""
SWEEP = """
title = "Two sweeps"
arms = 4
horizon = 20
trials = 5
seed = 3
policies = ["ts-n", "eps-greedy-lp(c={c})"]
notes = ["A note of mine."]

[[sweeps]]
parameter = "c"
title = "Exploration"
graph = "star"
values = [5, 0.5, 2]
label = "c/d²"
scale = "log"

[[sweeps]]
parameter = "arms"
graph = "random(r=0.25)"
policies = ["ids-n", "ts-n"]
values = [2, 4]
"""
