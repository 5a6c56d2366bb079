"""Timing, memory, posteriors and tables that the benchmarks share."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

# One thread, also for the NumPy that graphbandits is compared with.
for _variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

import numpy as np  # noqa: E402
from numpy.typing import NDArray  # noqa: E402

Floats = NDArray[np.float64]
Call = Callable[[], Any]
MEGABYTE = 1e6
#: An arm whose posterior is drawn has up to this many observations.
MAX_OBSERVATIONS = 60


# Tables -------------------------------------------------------------------------------------------


def print_table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], note: str, texts: int = 1
) -> None:
    """Print a table in Markdown; the first ``texts`` columns are aligned left."""
    aligned = [":--" if i < texts else "--:" for i in range(len(columns))]
    print(f"**{title}.** {note}\n")
    for cells in (columns, aligned, *rows):
        print(f"| {' | '.join(cells)} |")
    print(flush=True)


def digits(value: float, count: int = 3) -> str:
    """A number with ``count`` significant digits and no exponent: 1230, 12.3, 0.0123."""
    if value == 0.0:
        return "0"
    rounded = float(f"{value:.{count - 1}e}")
    places = max(0, count - 1 - int(f"{rounded:e}".split("e")[1]))
    return f"{rounded:.{places}f}"


def seconds(value: float) -> str:
    """A time with its unit: 45.0 ns, 5.31 us, 21.3 ms, 2.50 s."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if value >= size:
            return f"{digits(value / size)} {unit}"
    return f"{digits(value / 1e-9)} ns"


def number(value: float) -> str:
    """An integer with separators: 1,000,000."""
    return f"{value:,.0f}"


def error(value: float) -> str:
    """The magnitude of an absolute error: 3e-13."""
    return f"{value:.0e}".replace("e-0", "e-")


# Time and memory ----------------------------------------------------------------------------------


def least_cpu_in_turns(calls: Mapping[Any, Call], share: float) -> dict[Any, float]:
    """The least CPU seconds of each call, in about ``share`` seconds of CPU time for all.

    The calls take turns, so that a machine that is busy for a while slows all of them. The first
    turn does not count; at least two do. Within a turn, short calls are repeated.
    """
    for call in calls.values():
        call()
    least = dict.fromkeys(calls, np.inf)
    spent, turns = 0.0, 0
    while spent < share or turns < 2:
        for name, call in calls.items():
            own = 0.0
            while own == 0.0 or own + least[name] < share / len(calls) / 3.0:
                _, cpu = wall_and_cpu(call)
                own += cpu
                least[name] = min(least[name], cpu)
            spent += own
        turns += 1
    return least


def wall_and_cpu(call: Call) -> tuple[float, float]:
    """Wall and CPU seconds of one call."""
    wall, cpu = time.perf_counter(), time.process_time()
    call()
    return time.perf_counter() - wall, time.process_time() - cpu


def fresh(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function in a process of its own, whose memory nothing else has used."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def memory(peak: bool = False) -> float:
    """Resident bytes of this process, now or at most since :func:`reset_peak` (Linux only)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    values = dict(line.split(":", 1) for line in lines)
    return float(values["VmHWM" if peak else "VmRSS"].split()[0]) * 1024


def reset_peak() -> None:
    """Let the peak of the memory begin again from what is in use."""
    Path("/proc/self/clear_refs").write_text("5")


# Posteriors ---------------------------------------------------------------------------------------


def graph_of(arms: int) -> str:
    """The paper's graph of five arms; no edges for any other number."""
    return "paper" if arms == 5 else "empty"


def simulated(arms: int, count: int, horizon: int = 1000) -> tuple[Floats, Floats]:
    """Parameters (N, K) of every tenth round of at least four trials of IDS-N, in random order."""
    from graphbandits import Bernoulli, BetaBernoulli, as_process
    from graphbandits.policies import Event, Problem, View, as_policy
    from graphbandits.posteriors import Observations
    from graphbandits.rng import Keys, draw_actions

    trials = max(4, -(-10 * count // horizon))
    process, world = as_process(graph_of(arms), arms), Bernoulli(BetaBernoulli.of(arms))
    policy, keys = as_policy("ids-n"), Keys(0, 0, trials)
    problem = Problem(world.prior, horizon, policy.needs)
    state, theta = policy.init(problem, keys), world.means(keys)
    a, b = [], []
    for t in range(1, horizon + 1):
        if t % 10 == 1:
            a.append(state["a"].copy())
            b.append(state["b"].copy())
        feedback = process.round(t, keys)
        pi = policy.propose(state, View(t, keys, problem, feedback))
        action = draw_actions(pi, keys, t)
        trial, arm = feedback.reveal(action, keys, t)
        seen = Observations(trial, arm, world.outcomes(theta, keys, t, trial, arm))
        state = policy.update(state, Event(t, keys, problem, feedback, pi, action, seen))
    order = np.random.default_rng(0).permutation(trials * len(a))[:count]
    return np.concatenate(a)[order], np.concatenate(b)[order]


def distinct(arms: int, count: int) -> tuple[Floats, Floats]:
    """Parameters (N, K) of which no two arms have the same."""
    rng = np.random.default_rng(0)
    most = max(MAX_OBSERVATIONS, int(2.0 * np.sqrt(arms)))
    pairs = [(ones, seen) for seen in range(most + 1) for ones in range(seen + 1)]
    chance = np.array([1.0 / (seen + 1) for _, seen in pairs])
    chosen = np.stack(
        [rng.choice(len(pairs), arms, replace=False, p=chance / chance.sum()) for _ in range(count)]
    )
    ones, seen = np.array(pairs, float).T
    return 1.0 + ones[chosen], 1.0 + (seen - ones)[chosen]


def few_different(arms: int, different: int) -> tuple[Floats, Floats]:
    """Parameters (1, K) of very many arms, with at most ``different`` different pairs."""
    a, b = distinct(min(arms, different), 1)
    owner = np.random.default_rng(1).integers(0, a.shape[1], arms)
    owner[: a.shape[1]] = np.arange(a.shape[1])
    return a[:, owner], b[:, owner]
