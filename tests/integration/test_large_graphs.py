"""Tests with 100,000 arms in 2 GiB of address space and 1,000,000 arms in 4 GiB.

A dense matrix would need 75 GiB and 7450 GiB.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from helpers.cases import each

from graphbandits.policies import as_policy
from graphbandits.registry import registered

resource = pytest.importorskip("resource")
PROGRAM = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (2 * 2**30, 2 * 2**30))

import numpy as np
from graphbandits import rules
from graphbandits.graphs import SparseFeedback, UniformFeedback, as_process
from graphbandits.rng import Keys

K, kind = 10**5, sys.argv[1]
try:
    np.empty((K, K))
    sys.exit("the limit does not hold")
except MemoryError:
    pass
rng = np.random.default_rng(0)
source, target = rng.integers(0, K, (2, 20 * K))
edges, first = np.unique(source * K + target, return_index=True)
source, target = source[first], target[first]
weight = np.where(source == target, 1.0, rng.random(len(source)))
h = rng.random((1, K)) * 1e-3
keys = Keys(seed=1)
arm = int(source[0])

if kind == "sparse":
    feedback = SparseFeedback.from_edges(K, source, target, weight)
    want = h[0] + np.bincount(source, weight * h[0, target] * (source != target), minlength=K)
    possible = set(target[source == arm].tolist()) | {arm}
    chance = weight[(source == arm) & (target != arm)]
else:
    feedback = UniformFeedback(0.3, K)
    want = h[0] + 0.3 * (h.sum() - h[0])
    possible = set(range(K))
    chance = np.full(K - 1, 0.3)

process = as_process(feedback)
assert process.arms == K and not process.deterministic
gain = process.round(1, keys).gain(h)
np.testing.assert_allclose(gain[0], want, rtol=1e-9)

count, rounds = 0, 40
for t in range(1, rounds + 1):
    trial, seen = feedback.reveal(np.array([arm]), keys, t)
    assert (trial == 0).all() and (np.diff(seen) > 0).all()
    assert arm in seen and set(seen.tolist()) <= possible
    count += len(seen) - 1
error = np.sqrt(rounds * (chance * (1.0 - chance)).sum())
assert abs(count - rounds * chance.sum()) <= 4.5 * error, (count, rounds * chance.sum())

alpha = rng.dirichlet(np.ones(K))[None]
delta = rng.random((1, K))
threshold = {"idsn_lp": (alpha * gain).sum(), "ids_lp": (alpha * h).sum()}
for name in rules.__all__:
    pi = getattr(rules, name)(alpha, delta, h, gain)
    assert pi.shape == (1, K) and (pi >= 0.0).all(), name
    assert abs(pi.sum() - 1.0) <= 1e-9, (name, pi.sum())
    assert (pi * gain).sum() >= threshold.get(name, 0.0) * (1.0 - 1e-9), name
    print(name)
"""
WHOLE_RUNS = """
import resource, sys, tempfile
from pathlib import Path

kind, arms, gib = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
resource.setrlimit(resource.RLIMIT_AS, (gib * 2**30, gib * 2**30))

import numpy as np
from graphbandits import Agent, Bernoulli, BetaBernoulli, simulate
from graphbandits.graphs import SparseFeedback, UniformFeedback
from graphbandits.rng import Keys

rng = np.random.default_rng(0)
if kind == "sparse":
    source, target = rng.integers(0, arms, (2, 20 * arms))
    weight = np.where(source == target, 1.0, (source + target) % 4 / 4 + 0.25)
    graph = SparseFeedback.from_edges(arms, source, target, weight)
    del source, target, weight
else:
    graph = UniformFeedback(0.1, arms)
world, rounds, trials = Bernoulli(BetaBernoulli.of(arms)), 3, 2

for policy in sys.argv[4:]:
    settings = dict(horizon=rounds, trials=trials, seed=5, progress=False)
    results = simulate(policy, world, graph, **settings)
    assert results.graph.feedback is graph
    (name,) = results.policies
    plays = np.zeros(arms, int)
    for trial in range(trials):
        agent = Agent(policy, arms, graph, seed=5, trial=trial, horizon=rounds)
        keys = Keys(5, trial)
        theta = world.means(keys)
        regret = 0.0
        for t in range(1, rounds + 1):
            decision = agent.decide()
            zeros, seen = graph.reveal(np.array([decision.arm]), keys, t)
            rewards = world.outcomes(theta, keys, t, zeros, seen).tolist()
            assert set(seen.tolist()) <= decision.reveals.keys()
            agent.observe(decision, dict(zip(seen.tolist(), rewards)))
            plays[decision.arm] += 1
            regret += theta.max() - theta[0, decision.arm]
        assert abs(results[name].final[trial] - regret) <= 1e-12
    assert (results[name].plays == plays).all()
    print(policy)

with tempfile.TemporaryDirectory() as folder:
    agent.save(Path(folder, "agent.db"))
    copy = Agent(store=Path(folder, "agent.db"))
    one, other = agent.decide(), copy.decide()
    copy.disconnect()
assert (one.arm, one.reveals) == (other.arm, other.reveals)
assert abs(sum(one.pi.values()) - 1.0) <= 1e-9 and one.pi == other.pi
"""


def run_alone(program: str, *words: str) -> set[str]:
    """Run a program in a new process and return its output."""
    # the stacks of threads count as address space: one thread is enough
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    run = subprocess.run(
        [sys.executable, "-c", program, *words],
        env=os.environ | threads,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return set(run.stdout.split())


@each("kind", ["sparse", "uniform"])
def test_many_arms_fit_into_limited_memory(kind: str) -> None:
    assert run_alone(PROGRAM, kind) >= {"ts_n", "ids_n", "idsn_lp", "ids_lp"}


def agree(kind: str, arms: int, gib: int) -> None:
    """All policies that accept random feedback, with memory for the graph and a few vectors."""
    policies = [name for name in registered("policy") if not as_policy(name).needs.deterministic]
    assert run_alone(WHOLE_RUNS, kind, str(arms), str(gib), *policies) == set(policies)


def test_simulation_and_agent_with_100_000_arms_agree() -> None:
    agree("sparse", 10**5, 2)


@pytest.mark.nightly
@each("kind", ["sparse", "uniform"])
def test_simulation_and_agent_with_many_arms_agree(kind: str) -> None:
    agree(kind, 10**5, 2)
    agree(kind, 10**6, 4)
