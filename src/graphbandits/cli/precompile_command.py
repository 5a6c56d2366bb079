"""``graphbandits precompile``: compile the numerical kernels before they are needed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated

from graphbandits.cli.formatting import print_text
from graphbandits.cli.options import option

#: Graphs that use the kernels of matrices, of probabilities and of lists of edges.
_GRAPHS = (("complete", 3), ("random(r=0.5)", 3), ("ring", 2000))


def precompile(
    policies: Annotated[
        list[str] | None,
        option("NAME", "Policy to compile for; repeat for several. Default: all policies."),
    ] = None,
    worlds: Annotated[
        list[str] | None,
        option("NAME", "Reward model to compile for; repeat for several. Default: bernoulli."),
    ] = None,
    cache: Annotated[
        Path | None, option("DIR", "Directory of the machine code, instead of NUMBA_CACHE_DIR.")
    ] = None,
) -> None:
    """Compile for this machine now, so that no later process has to.

    Decisions of each policy are simulated on small graphs. Use it when you build a container, with
    the same NUMBA_CACHE_DIR as at run time. NUMBA_CPU_NAME=generic compiles for all processors of
    this kind, if it is set at run time, too.

    Example: graphbandits precompile --policies ids-n --cache /opt/kernels
    """
    if cache is not None:  # the directory is read when the kernels are imported
        words = [f"--policies={name}" for name in policies or ()]
        words += [f"--worlds={name}" for name in worlds or ()]
        environment = os.environ | {"NUMBA_CACHE_DIR": str(cache.resolve())}
        command = [sys.executable, "-m", "graphbandits", "precompile", *words]
        raise SystemExit(subprocess.run(command, env=environment, check=False).returncode)
    import graphbandits
    from graphbandits import _jit
    from graphbandits.errors import InputError
    from graphbandits.policies import as_policy
    from graphbandits.worlds import as_world

    if not _jit.cache_is_writable():
        raise InputError(
            f"the machine code cannot be kept: {_jit.cache_directory()} cannot be written; "
            "choose another directory with --cache"
        )
    every = [entry["name"] for entry in graphbandits.list_available("policies")["policies"]]
    chosen, models = policies or every, worlds or ["bernoulli"]
    for name in chosen:  # all names are checked before the first one is compiled
        as_policy(name)
    for world in models:
        as_world(world, arms=2)
    for world in models:
        for name in chosen:
            print_text(f"Compiling {name} for {world} ...")
            for graph, arms in _GRAPHS:
                _decide(name, world, graph, arms)
    print_text(f"The machine code is in {_jit.cache_directory()}")


def _decide(policy: str, world: str, graph: str, arms: int) -> None:
    """Decide in a simulation and with a live agent, unless the policy does not accept the graph."""
    import graphbandits
    from graphbandits.errors import InputError, NeedsError
    from graphbandits.posteriors import BetaBernoulli
    from graphbandits.worlds import as_world

    prior = as_world(world, arms).prior
    if isinstance(prior, BetaBernoulli):  # many different posteriors have kernels of their own
        prior = BetaBernoulli.of(arms, a=[1.0 + arm / arms for arm in range(arms)])
    try:
        agent = graphbandits.Agent(policy, arms, graph, posterior=prior, horizon=10, seed=0)
        decision = agent.decide()
        agent.observe(decision, {decision.arm: 1.0})
        agent.explain(decision)
        agent.health()
        graphbandits.simulate(policy, world, graph, arms=arms, horizon=2, trials=2, progress=False)
        agent.beliefs()  # last: without a posterior it is refused
    except (InputError, NeedsError):
        return
