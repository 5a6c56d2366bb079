"""Golden values: what this version computes, writes and reads, for later versions to repeat.

``python tests/golden/record.py`` records everything anew, next to this file. Do that only where
numbers are meant to change (another kernel, another stream of random numbers), and say why in the
commit; a change of structure repeats them. ``tests/integration/test_golden.py`` compares.

Only what users have is used, ``simulate``, ``Agent``, the registry and the command line, so that
modules may move. Each golden is a JSON file of facts, with the fingerprint of the machine it was
recorded on, and an ``.npz`` file of numbers.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numpy as np
import pyarrow.parquet as pq
import scipy
from llvmlite.binding import get_host_cpu_features, get_host_cpu_name

from graphbandits import Agent, Bernoulli, BetaBernoulli, simulate
from graphbandits.errors import GraphBanditsError
from graphbandits.registry import registered

PLACE = Path(__file__).parent
FIXTURES = PLACE.parent / "fixtures"
HORIZON, TRIALS, SEED = 60, 6, 15
#: Arms that differ from the start, so that few decisions hang on a tie.
PRIOR = ((1.0, 3.0), (2.0, 2.0), (3.0, 1.5), (1.0, 1.0), (2.5, 4.0))
GRAPHS = {
    "fixed": "paper",
    "directed": "edges(1>2 2>3 3>4 4>5 5>1 1>3)",
    "uncertain": "edges(1>2:0.5 2>3 3>4:0.25 4-5)",
    "revealed": "revealed-er(p=0.4)",
    "random": "random(r=0.25)",
}
#: Settings other than the usual ones: policy, graph and other arguments of ``simulate``.
VARIANTS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "ratios by the joint gain": ("ids-n", "fixed", {"ratios": "joint"}),
    "ratios by the bound": ("ts-n", "revealed", {"ratios": "bound"}),
    "ratios under random feedback": ("ids-lp", "random", {"ratios": "joint"}),
    "realised regret": ("ucb-n", "directed", {"regret": "realised"}),
    "fixed means": ("ids-n", "random", {"fixed": [0.1, 0.5, 0.55, 0.9, 0.3]}),
    "strict beliefs": ("ids-n", "uncertain", {"accuracy": "strict"}),
    "uniform priors": ("ts-maxn", "fixed", {"prior": [(1.0, 1.0)] * 5}),
    "later trials": ("ts-n", "random", {"first_trial": 1000}),
    "few rounds": ("ts-n", "fixed", {"rounds": [1, 7, 31]}),
    "r of each trial": ("idsn-lp", "random(r=uniform)", {}),
    "shared directed graphs": ("ids-lp", "revealed-er(p=0.3, directed=true, shared=true)", {}),
    "graphs told after": ("exp3-ix", "revealed-er(p=0.3, graph_known=after)", {}),
    "side observations": ("ids(side=true)", "fixed", {}),
    "ids-n, joint gain": ("ids-n(gain=joint)", "uncertain", {}),
    "idsn-lp, joint gain": ("idsn-lp(gain=joint)", "fixed", {}),
    "ids-lp, joint gain": ("ids-lp(gain=joint)", "directed", {}),
    "exp3-g, its parameters": ("exp3-g(gamma=0.1, eta=0.05)", "fixed", {}),
    "eps-greedy-lp, its parameters": ("eps-greedy-lp(c=1, d=0.5)", "revealed", {}),
    "a star": ("ucb-maxn", "star(direction=out)", {}),
    "cliques": ("v-ids-n", "cliques(size=2)", {}),
}
#: Rounds that an agent is driven, and decisions it makes once it is loaded.
DRIVEN, GOES_ON = 14, 5
AGENT = "agent-0.6.0.npz"
EXPERIMENT = PLACE / "experiment.toml"
RATIOS = ("ratio", "ratio_sum", "psi", "entropy")

Facts = dict[str, Any]
Arrays = dict[str, Any]


def fingerprint() -> dict[str, str]:
    """What the last bits of a number hang on."""
    asked = numba.config.CPU_FEATURES
    features = get_host_cpu_features().flatten() if asked is None else asked
    return {
        "cpu": str(numba.config.CPU_NAME or get_host_cpu_name()),
        "cpu_features": hashlib.sha256(features.encode()).hexdigest()[:16],
        "compiled": str(not numba.config.DISABLE_JIT),
        "python": f"{sys.version_info.major}.{sys.version_info.minor}",
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "numba": numba.__version__,
        "llvmlite": llvmlite.__version__,
    }


def policies() -> list[str]:
    """The policies of this package, not those that a test or another package has registered.

    ``floor`` came later and is tested against the policies that it contains.
    """
    found = registered("policy").items()
    own = [name for name, cls in found if cls.__module__.startswith("graphbandits.")]
    return [name for name in own if name != "floor"]


def cases() -> dict[str, tuple[str, str, dict[str, Any]]]:
    """All simulations: every policy on every kind of graph, and the variants."""
    usual = {f"{name} on {kind}": (name, kind, {}) for name in policies() for kind in GRAPHS}
    return usual | {f"variant: {name}": given for name, given in VARIANTS.items()}


def simulated(policy: str, graph: str, options: Mapping[str, Any]) -> tuple[Facts, Arrays]:
    """One simulation, or the class of the error by which it is refused."""
    more = dict(options)
    pairs = np.array(more.pop("prior", PRIOR))
    prior = BetaBernoulli(pairs[:, 0], pairs[:, 1], more.pop("accuracy", "simulation"))
    try:
        results = simulate(
            policy,
            Bernoulli(prior, more.pop("fixed", None)),
            GRAPHS.get(graph, graph),
            horizon=HORIZON,
            trials=TRIALS,
            seed=SEED,
            progress=False,
            **more,
        )
    except GraphBanditsError as error:
        return {"refused": type(error).__name__}, {}
    (result,) = results.policies.values()
    arrays = {"rounds": results.rounds, "regret": result.regret, "plays": result.plays}
    if result.ratios is not None:
        arrays |= {name: getattr(result.ratios, name) for name in RATIOS}
    if len(results.rounds) == HORIZON:
        del arrays["rounds"]  # all of them: not worth their room
    return {}, arrays


def reward(t: int, arm: int) -> int:
    """An outcome for an agent, from no stream of random numbers."""
    return int((7 * t + 3 * arm + t * arm) % 5 < 1 + arm % 3)


def driven(policy: str) -> Agent:
    """An agent after some rounds, with its last decision open."""
    graph = GRAPHS["directed"]
    agent = Agent(policy, 5, graph, seed=SEED, prior=PRIOR, horizon=100, trial=2)
    index = {arm: i for i, arm in enumerate(agent.arms)}
    for t in range(1, DRIVEN + 1):
        decision = agent.decide()
        agent.observe(decision, {arm: reward(t, index[arm]) for arm in decision.reveals})
    agent.decide()
    return agent


def going_on(agent: Agent) -> tuple[Facts, Arrays]:
    """The open decisions of an agent, and the next ones; none of them is observed."""
    opened = [int(id_.partition("-")[0]) for id_ in agent.pending]
    decisions = [agent.decide() for _ in range(GOES_ON)]
    facts = {"pending": opened, "arms": [decision.arm for decision in decisions]}
    pi = np.zeros((GOES_ON, len(agent.arms)))
    index = {arm: i for i, arm in enumerate(agent.arms)}
    for row, decision in zip(pi, decisions, strict=True):
        # a policy that draws the arm itself was recorded with the probability 1 of this arm
        for arm, p in (decision.pi or {decision.arm: 1.0}).items():
            row[index[arm]] = p
    return facts, {"pi": pi}


def agent_file(path: Path) -> tuple[Facts, Arrays]:
    """What an agent's file says: its JSON object and its arrays."""
    with np.load(path, allow_pickle=False) as file:
        arrays = dict(file)
    return json.loads(arrays.pop("meta").tobytes()), arrays


def shards(store: Path) -> tuple[Facts, Arrays]:
    """The columns of every shard, by point, policy and first trial; series have any names."""
    arrays: Arrays = {}
    for cell in _record(store)["points"]:
        for policy, series in cell["policies"].items():
            for path in sorted((store / "shards" / series).glob("*.parquet")):
                table = pq.ParquetFile(path).read(use_threads=False)
                key = f"{json.dumps(cell['point'])} {policy} {table['trial'][0].as_py()}"
                for column in table.column_names:
                    lists = table[column].combine_chunks()
                    if column == "trial":
                        arrays[f"{key}/trial"] = lists.to_numpy()
                        continue
                    arrays[f"{key}/{column}"] = lists.flatten().to_numpy()
                    if column == "played":
                        arrays[f"{key}/arms played"] = np.diff(lists.offsets.to_numpy())
    return {"shards": sorted({name.rsplit("/", 1)[0] for name in arrays})}, arrays


def _record(store: Path) -> dict[str, Any]:
    (path,) = (store / "studies").glob("*.json")
    record: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return record


def command(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """``graphbandits`` with these arguments."""
    command = [sys.executable, "-m", "graphbandits", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def run_experiment(store: Path) -> None:
    """Fill a store by the command line."""
    given = (EXPERIMENT, "--output", store, "--shard", "4", "--workers", "1", "--ratios", "bound")
    done = command("run", *given)
    if done.returncode:
        raise RuntimeError(done.stderr)


def write(name: str, parts: Mapping[str, tuple[Facts, Arrays]]) -> None:
    """Keep a golden; the arrays of a part are called ``part/array``."""
    facts = {part: found for part, (found, _) in parts.items()}
    text = json.dumps({"fingerprint": fingerprint(), "facts": facts}, indent=1, ensure_ascii=False)
    (PLACE / f"{name}.json").write_text(text + "\n", "utf-8")
    arrays = {f"{part}/{k}": v for part, (_, found) in parts.items() for k, v in found.items()}
    np.savez_compressed(PLACE / f"{name}.npz", **arrays)


def read(name: str) -> tuple[dict[str, str], dict[str, tuple[Facts, Arrays]]]:
    """The fingerprint of a golden, and its parts."""
    stored = json.loads((PLACE / f"{name}.json").read_text("utf-8"))
    parts: dict[str, tuple[Facts, Arrays]] = {k: (v, {}) for k, v in stored["facts"].items()}
    with np.load(PLACE / f"{name}.npz", allow_pickle=False) as file:
        for key in file.files:
            part = next(p for p in _fronts(key) if p in parts)
            parts[part][1][key.removeprefix(f"{part}/")] = file[key]
    return stored["fingerprint"], parts


def _fronts(key: str) -> list[str]:
    """All that stands before a slash."""
    words = key.split("/")
    return ["/".join(words[:i]) for i in range(1, len(words))]


def record_agents() -> None:
    folder = PLACE / "agents"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    write("agents", {name: going_on(_saved(name, folder)) for name in policies()})


def _saved(policy: str, folder: Path) -> Agent:
    return Agent.load(driven(policy).save(folder / f"{policy}.npz"))


def record_shards() -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "store"
        run_experiment(store)
        write("shards", {"all": shards(store)})


RECORD: dict[str, Callable[[], None]] = {
    "simulations": lambda: write("simulations", {k: simulated(*v) for k, v in cases().items()}),
    "agents": record_agents,
    "fixture_agent": lambda: write(
        "fixture_agent", {AGENT: going_on(Agent.load(FIXTURES / AGENT))}
    ),
    "shards": record_shards,
}

if __name__ == "__main__":
    for chosen, write_down in RECORD.items():
        print(chosen)
        write_down()
