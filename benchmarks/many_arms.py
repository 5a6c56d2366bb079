"""One IDS-N decision among very many arms: time, memory and how they grow.

Each case runs in a fresh process. The graph is made in another one and read from files, so that
the memory of its making does not count.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from display import Table, count, digits, seconds
from posteriors import few_different
from processes import MEGABYTE, forget_peak, in_fresh_process, memory_now, peak_memory
from settings import Settings
from timing import growth_exponent, least_cpu_in_turns, least_wall_and_cpu, wall_and_cpu

from graphbandits import Agent, BetaBernoulli
from graphbandits.graphs import Feedback, SparseFeedback, UniformFeedback
from graphbandits.policies import Problem, View
from graphbandits.registry import build
from graphbandits.rng import Keys
from graphbandits.rules import ids_n

RATE = 0.1
#: The exponent is that of the sizes from here on: below, not all posteriors are shared.
SHARED_FROM = 10_000
PARTS = ("beliefs", "gain", "rule")
CALLS = ("propose", "decide")


def measure(settings: Settings, earlier: dict[str, Any]) -> dict[str, Any]:
    """Every number of arms, on a sparse directed graph and with uniform random feedback."""
    cases: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        for kind in ("sparse", "uniform"):
            for arms in settings.many_arms:
                distinct = min(arms, settings.distinct)
                if kind == "sparse":
                    in_fresh_process(make_graph, folder, arms, settings.degree, settings.seed)
                given = (folder, kind, arms, distinct, settings.seed, settings.seconds)
                cases.append(in_fresh_process(decide_once, *given))
    return {
        "degree": settings.degree,
        "rate": RATE,
        "cases": cases,
        "exponents": {kind: _exponents(cases, kind) for kind in ("sparse", "uniform")},
    }


def _exponents(cases: list[dict[str, Any]], kind: str) -> dict[str, float | None]:
    mine = [case for case in cases if case["graph"] == kind and case["arms"] >= SHARED_FROM]
    sizes = [case["arms"] for case in mine]
    return {
        **{part: growth_exponent(sizes, [case["cpu"][part] for case in mine]) for part in PARTS},
        **{call: growth_exponent(sizes, [case[call]["cpu"] for case in mine]) for call in CALLS},
    }


def make_graph(folder: str, arms: int, degree: int, seed: int) -> int:
    """Write a directed graph of this mean out-degree, beside the self-loops; return its edges."""
    rng = np.random.default_rng(seed)
    source = np.repeat(np.arange(arms), rng.poisson(degree, arms))
    place = source * arms + rng.integers(0, arms, len(source))
    place = np.union1d(place, np.arange(arms) * (arms + 1))
    row, column = np.divmod(place, arms)
    start = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=arms))])
    weight = np.where(row == column, 1.0, rng.uniform(0.1, 1.0, len(row)))
    for name, part in (("start", start), ("column", column), ("weight", weight)):
        np.save(Path(folder) / f"{name}.npy", part)
    return len(column)


def decide_once(
    folder: str, kind: str, arms: int, distinct: int, seed: int, share: float
) -> dict[str, Any]:
    """Times of one decision and its parts, and memory beyond the graph and the posteriors."""
    feedback: Feedback = UniformFeedback(RATE, arms)
    if kind == "sparse":
        parts = (np.load(Path(folder) / f"{name}.npy") for name in ("start", "column", "weight"))
        feedback = SparseFeedback(*parts)
    a, b = few_different(arms, distinct, seed)
    policy, posterior = build("policy", "ids-n"), BetaBernoulli(a[0], b[0])
    keys = Keys(seed)
    view = View(1, keys, Problem(posterior, None, policy.needs), feedback)
    state = posterior.init(1)
    small = BetaBernoulli.of(3)  # compiles, or reads what was compiled before
    small_view = View(1, keys, Problem(small, None, policy.needs), UniformFeedback(RATE, 3))
    policy.propose(small.init(1), small_view)

    forget_peak()
    loaded = memory_now()
    first = wall_and_cpu(lambda: policy.propose(state, view))
    peak = peak_memory()

    beliefs = posterior.beliefs(state)
    gain = feedback.gain(beliefs.h)
    calls = {
        "beliefs": lambda: posterior.beliefs(state),
        "gain": lambda: feedback.gain(beliefs.h),
        "rule": lambda: ids_n(beliefs.alpha, beliefs.delta, beliefs.h, gain),
    }
    cpu = least_cpu_in_turns(calls, share)
    held = [part for part in vars(feedback).values() if isinstance(part, np.ndarray)]
    result = {
        "graph": kind,
        "arms": arms,
        "distinct": distinct,
        "edges": len(getattr(feedback, "column", ())) or None,
        "graph_bytes": sum(part.nbytes for part in held),
        "vector_bytes": beliefs.h.nbytes + gain.nbytes,
        "first": {"wall": first[0], "cpu": first[1]},
        "cpu": cpu,
        "memory": {"loaded": loaded, "peak": peak, "more": peak - loaded},
    }
    agent = Agent("ids-n", graph=feedback, seed=seed, prior=posterior)
    return result | {
        "propose": least_wall_and_cpu(lambda: policy.propose(state, view), share / 4),
        "decide": least_wall_and_cpu(agent.decide, share / 4),
    }


def tables(section: dict[str, Any]) -> list[Table]:
    """Times for each kind of graph, with the exponents below, and memory."""
    graphs = {
        "sparse": f"a sparse directed graph of mean degree {section['degree']}",
        "uniform": f"every other arm seen with probability {section['rate']}",
    }
    return [*(_times(section, kind, text) for kind, text in graphs.items()), _memory(section)]


def _times(section: dict[str, Any], kind: str, text: str) -> Table:
    rows = []
    for case in section["cases"]:
        if case["graph"] == kind:
            times = [case["cpu"][part] for part in PARTS]
            times += [case[call][clock] for call in CALLS for clock in ("cpu", "wall")]
            rows.append([count(case["arms"]), *map(seconds, times)])
    exponents = section["exponents"][kind].values()
    slopes = ["" if slope is None else digits(slope) for slope in exponents]
    rows.append(["slope", *slopes[:4], "", slopes[4], ""])
    distinct = max(case["distinct"] for case in section["cases"])
    return Table(
        f"Very many arms, one IDS-N decision: {text}",
        ["arms", "beliefs", "gain", "rule", "propose", "wall", "Agent", "wall"],
        rows,
        f"CPU time, and wall time in the columns 'wall'; minimum of several passes; at most "
        f"{distinct} different posteriors among the arms. propose: beliefs, gain and rule "
        "together. Agent: Agent.decide, including its checks, the draw and the record of the "
        f"decision. Slope: of log time against log arms, from {count(SHARED_FROM)} arms on.",
    )


def _memory(section: dict[str, Any]) -> Table:
    rows = []
    for case in section["cases"]:
        edges = "" if case["edges"] is None else digits(case["edges"] / 1e6)
        memory = [f"{case['memory'][part] / MEGABYTE:.0f}" for part in ("loaded", "peak", "more")]
        rows.append([case["graph"], count(case["arms"]), edges, *memory])
    return Table(
        "Very many arms: memory of one decision, MB",
        ["graph", "arms", "million edges", "loaded", "peak", "more"],
        rows,
        "Resident memory of a process after loading the graph and the posteriors, its peak during "
        "the first propose, and the difference.",
        texts=1,
    )
