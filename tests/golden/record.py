"""Golden values: numbers, decisions, commands and names of version 0.12.0, for later versions.

``python tests/golden/record.py [DIRECTORY]`` records everything, by default next to this file.
Record only if numbers are meant to change, and give the reason in the commit.
``tests/integration/test_golden.py`` compares, and is bit for bit exact on the type of processor
that has recorded. On another type, record version 0.12.0 there first:

    git worktree add /tmp/base 8db5547
    PYTHONPATH=/tmp/base/src python tests/golden/record.py /tmp/golden
    GOLDEN=/tmp/golden python -m pytest tests/integration/test_golden.py

A case is a function without arguments that returns plain data and arrays. Only public names are
used, so that modules may move. Texts, times and file formats are not recorded.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import tomllib
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any

import httpx
import llvmlite
import networkx
import numba
import numpy as np
import scipy
import typer
from llvmlite.binding import get_host_cpu_features, get_host_cpu_name
from typer.testing import CliRunner

import graphbandits
from graphbandits import (
    Agent,
    Bernoulli,
    BetaBernoulli,
    Client,
    Results,
    as_process,
    audit_experiment,
    describe_graph,
    evaluate,
    inspect_prior,
    open_study,
    simulate,
)
from graphbandits.errors import GraphBanditsError
from graphbandits.registry import registered

HERE = Path(__file__).parent
EXPERIMENT = HERE / "experiment.toml"
HORIZON, TRIALS, SEED = 60, 6, 15
#: Arms that differ from the start, so that few decisions depend on a tie.
PRIOR = ((1.0, 3.0), (2.0, 2.0), (3.0, 1.5), (1.0, 1.0), (2.5, 4.0))
GRAPHS = {
    "fixed": "paper",
    "directed": "edges(1>2 2>3 3>4 4>5 5>1 1>3)",
    "uncertain": "edges(1>2:0.5 2>3 3>4:0.25 4-5)",
    "revealed": "revealed-er(p=0.4)",
    "random": "random(r=0.25)",
}
#: Other settings: policy, graph and other arguments of ``simulate``.
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
    "floor over a dominating set": ("floor(mass=0.3, over=dominating-set)", "directed", {}),
    "a star": ("ucb-maxn", "star(direction=out)", {}),
    "cliques": ("v-ids-n", "cliques(size=2)", {}),
    "eligible arms": ("ids-n", "directed", {"eligible": 0.6, "record": "eligible"}),
    "late and missing answers": ("ts-n", "fixed", {"delay": [0, 9], "answer_rate": 0.7}),
    "trajectories": ("idsn-lp", "random", {"record": ["actions", "observations"]}),
    "threads": ("ids-n", "random", {"workers": 2, "parallel": "threads", "block": 2}),
}
RATIOS = ("ratio", "ratio_sum", "psi", "entropy")

#: Rewards other than 0 and 1: world with its prior, and a posterior that differs from it.
REWARDS = {
    "beta": "beta(a=2, concentration=4, low=-1, high=4)",
    "categorical": "categorical(values=[0, 1, 5], weights=[2, 1, 1.5])",
    "gaussian": "gaussian(mean=0.5, sd=2, noise=0.75)",
    "gaussian-unknown-noise": "gaussian-unknown-noise(mean=1, count=2, shape=3, scale=2)",
    "poisson": "poisson(shape=2, rate=0.5)",
}
REWARD_POLICIES = (
    "ts-n",
    "ts-n-sampled",
    "ids-n",
    "idsn-lp",
    "v-ids-n",
    "bayes-ucb",
    "greedy",
    "exp3-ix(reward_range=[-60, 60])",
)
#: Posteriors with a prior of each arm, and rewards of which 50 are learned.
FAMILIES: dict[str, tuple[list[Any], tuple[float, ...]]] = {
    "beta-bernoulli": ([*map(list, PRIOR)], (0, 1, 1)),
    "beta-bernoulli(accuracy=strict)": ([[0.01, 0.5], [40, 60], [300, 200]], (0, 1, 1)),
    "beta-interval(low=-1, high=4)": ([[1, 3], [2, 2], [3, 1.5]], (-0.5, 4, 1.25)),
    "dirichlet(values=[0, 1, 5])": (
        [{"weights": weights} for weights in ([2, 1, 1.5], [1, 1, 1], [0.5, 3, 2])],
        (0, 1, 5, 1),
    ),
    "gamma-poisson": ([[2, 0.5], [1, 1], [7, 2], [0.5, 0.1]], (0, 3, 1, 7)),
    "normal(noise=0.75)": ([[0.5, 2], [0, 1], [1, 0.25], [0.9, 0.1]], (-0.5, 1.25, 0.75)),
    "normal-inverse-gamma": (
        [[1, 2, 3, 2], [0, 1, 2, 1], [0.5, 5, 4, 0.5]],
        (-1.5, 1.25, 0.25),
    ),
}

Facts = Any
Cases = dict[str, Callable[[], Facts]]


def fingerprint() -> dict[str, str]:
    """Return what the last bits of a number depend on."""
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


def plain(value: Any) -> Any:
    """Return JSON data without texts and times; ids of decisions become their numbers."""
    if isinstance(value, Mapping):
        return {plain(str(key)): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, str):
        value = re.sub(r"\b(\d+)-[0-9a-f]{12}\b", r"#\1", value)
        return re.sub(r".*(\s|\d\d:\d\d:\d\d).*", "<text>", value, flags=re.DOTALL)
    return value


# Simulations


def policies() -> list[str]:
    """Return the policies of this package, not those that another test has registered."""
    found = registered("policy").items()
    return [name for name, cls in found if cls.__module__.startswith("graphbandits.")]


def contents(results: Results) -> Facts:
    """Return the numbers of results."""
    found: Facts = {"ranking": results.ranking()}
    if len(results.rounds) < HORIZON:
        found["rounds"] = results.rounds
    for name, result in results.policies.items():
        arrays = {"regret": result.regret, "plays": result.plays}
        if result.ratios is not None:
            arrays |= {part: getattr(result.ratios, part) for part in RATIOS}
        found[name] = arrays
    return found


def simulated(policy: str, graph: str, world: object = None, **options: Any) -> Facts:
    """Return one simulation, or the class of the error by which it is refused."""
    if world is None:
        pairs = np.array(options.pop("prior", PRIOR))
        prior = BetaBernoulli(pairs[:, 0], pairs[:, 1], options.pop("accuracy", "simulation"))
        world = Bernoulli(prior, options.pop("fixed", None))
    usual = {"horizon": HORIZON, "trials": TRIALS, "seed": SEED, "progress": False}
    try:
        results = simulate(policy, world, GRAPHS.get(graph, graph), **(usual | options))
    except GraphBanditsError as error:
        return {"refused": type(error).__name__}
    found = contents(results)
    for table in np.atleast_1d(options.get("record", ())):
        frame = results.to_pandas(str(table)).drop(columns="policy")
        found[str(table)] = {column: frame[column].to_numpy() for column in frame}
    return found


def simulations() -> Cases:
    """Return every policy on every kind of graph, the variants, and the other rewards."""
    cases = {
        f"simulation: {policy} on {graph}": partial(simulated, policy, graph)
        for policy in policies()
        for graph in GRAPHS
    }
    for name, (policy, graph, options) in VARIANTS.items():
        cases[f"simulation: {name}"] = partial(simulated, policy, graph, **options)
    for name, world in REWARDS.items():
        on = partial(simulated, graph="edges(1>2 2>3:0.5)", world=world, arms=3)
        for policy in REWARD_POLICIES:
            cases[f"simulation: {policy}, {name}"] = partial(on, policy, horizon=20, trials=4)
        few = {"horizon": 5, "trials": 2, "ratios": "bound"}
        cases[f"simulation: ratios, {name}"] = partial(on, "ts-n", **few)
    return cases


# Beliefs


def beliefs(posterior: str, discount: float = 1.0) -> Facts:
    """Return the statistics of the arms before and after 50 outcomes, at both accuracies."""
    prior, rewards = FAMILIES[posterior]
    text = f"{posterior.rstrip(')')}{', ' if '(' in posterior else '('}discount={discount})"
    agent = Agent("ts-n", len(prior), "empty", posterior=text, prior=prior, seed=SEED)
    found = {"before": _statistics(agent)}
    for t in range(50):
        arm = (t * t + t // 7) % len(prior)
        value = float(rewards[(3 * t + arm) % len(rewards)])
        if discount < 1.0:  # by the round of the decision
            agent.observe(agent.decide(), {arm: value}, extra=True)
        else:
            agent.learn({arm: value})
    return found | {"after": _statistics(agent)}


def _statistics(agent: Agent) -> Facts:
    found: Facts = {"state": plain(agent.state)}
    for accuracy in ("simulation", "strict"):
        at = agent.beliefs(accuracy)
        found[accuracy] = {"rho": at.rho} | {
            name: getattr(at, name).tolist() for name in ("alpha", "delta", "h")
        }
    return found


# Agents


def reward(t: int, arm: int) -> int:
    """Return an outcome without random numbers."""
    return int((7 * t + 3 * arm + t * arm) % 5 < 1 + arm % 3)


def driven(policy: str) -> Facts:
    """Return the decisions of an agent, before and after it was saved with an open decision."""
    agent = Agent(policy, 5, GRAPHS["directed"], seed=SEED, prior=PRIOR, horizon=100, trial=2)
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for t in range(1, 19):
            decision = agent.decide()
            found.append([decision.arm, decision.probability, plain(decision.pi)])
            if t == 14:
                agent = saved(agent, Path(folder) / "agent.npz")
            else:
                agent.observe(decision, {arm: reward(t, arm) for arm in decision.reveals})
        return {"decisions": found, "open": plain(agent.pending), "state": plain(agent.state)}


def saved(agent: Agent, path: Path) -> Agent:
    """Return the agent after a round trip to disk."""
    agent.save(str(path))
    if hasattr(Agent, "load"):  # version 0.12.0
        return Agent.load(str(path))
    return Agent(store=str(path))


def evaluated() -> Facts:
    """Return estimates from the log of an agent that explores."""
    agent = Agent("ids-n", 5, GRAPHS["uncertain"], seed=SEED, prior=PRIOR, floor=0.5)
    for t in range(1, 201):
        decision = agent.decide()
        agent.observe(decision, {arm: reward(t, arm) for arm in decision.reveals})
    log = agent.log()
    targets = (("uniform", "ips"), ("ucb-n", "snips"), ("ts-n", "dr"), ("greedy", "dr-side"))
    return {
        f"{policy} by {estimator}": plain(evaluate(log, policy, estimator=estimator).to_dict())
        for policy, estimator in targets
    }


Ask = Callable[..., Any]
#: The agent of the scripted operations.
ARMS = ("ann", "bob", "eve", "joe", "kim")
SETTINGS: dict[str, Any] = {
    "policy": "ids-n",
    "arms": list(ARMS),
    "graph": "edges(1>2 2>3:0.5 3>4 4>5 5>1 1>3:0.25)",
    "seed": SEED,
    "prior": [list(pair) for pair in PRIOR],
    "horizon": 100,
    "expires": 1e6,
}


def script(ask: Ask) -> None:
    """Ask an agent for about 40 operations; ``ask`` takes the operation and its keys."""

    def decide(**keys: Any) -> list[dict[str, Any]]:
        made: list[dict[str, Any]] = ask("decide", **keys)
        return made

    def certain(made: dict[str, Any]) -> dict[str, int]:
        names = [arm for arm, chance in made["reveals"].items() if chance == 1.0]
        number = int(made["id"].partition("-")[0])
        return {arm: reward(number, len(arm) + ord(arm[0])) for arm in names}

    first, *_ = decide(n=1, context={"day": 7}, request="first")
    decide(n=1, context={"day": 7}, request="first")
    ask("observe", id=first["id"], outcomes={first["arm"]: 1}, partial=True)
    ask("observe", id=first["id"], outcomes=certain(first) | {first["arm"]: 1})
    ask("observe", id=first["id"], outcomes={first["arm"]: 0})  # refused
    ask("observe", id="no-such-id", outcomes={"ann": 0})  # refused
    batch = decide(n=3, distinct=True, pending="expected")
    ask("pending")
    outcomes = {made["id"]: certain(made) for made in batch[:2]}
    ask("observe_many", outcomes=outcomes, request="two of them")
    ask("observe_many", outcomes=outcomes, request="two of them")
    ask("beliefs")
    ask("beliefs", accuracy="strict")
    ask("explain", id=batch[0]["id"])
    ask("observe", id=batch[2]["id"], outcomes={"kim": 1, "ann": 0}, extra=True)
    ask("learn", outcomes={"ann": [30, 100], "bob": 1}, key="last year")
    ask("learn", outcomes={"ann": [30, 100], "bob": 1}, key="last year")
    ask("learn", outcomes={"zoe": 1, "eve": 0}, unknown="skip")
    ask("learn", outcomes={"zoe": 1})  # refused
    restricted, *_ = decide(n=1, among=["bob", "eve", "joe"], exclude=["joe"])
    ask("explain", id=restricted["id"])
    ask("close", id=restricted["id"])
    ask("close", id=restricted["id"])
    ask("add_arm", name="lea", prior=[2, 5], edges=["ann"], revealed_by=["kim"])
    ask("add_arm", name="lea")  # refused
    ask("pause", arms=["ann", "bob"])
    other, *_ = decide(n=1, graph="star")
    ask("observe", id=other["id"], outcomes=certain(other))
    ask("resume", arms=["ann"])
    ask("retire", arms=["joe"])
    ask("set_graph", graph="complete")
    for policy in ("ts-n", "idsn-lp(gain=joint)", "v-ids", "floor(policy=ids-n, mass=0.1)"):
        ask("set_policy", policy=policy)
        made, *_ = decide(n=1)
        ask("observe", id=made["id"], outcomes=certain(made))
    ask("decision", id=made["id"])
    ask("explain", id=made["id"])
    ask("health", level=0.05)
    ask("status")
    ask("set_policy", policy="exp3-ix")  # refused without reset
    ask("set_policy", policy="exp3-ix", reset=True)
    made, *_ = decide(n=2)
    ask("observe", id=made["id"], outcomes=certain(made))
    ask("explain", id=made["id"])
    ask("reset")
    ask("set_policy", policy="ts-n-sampled", reset=True)
    made, *_ = decide(n=2, distinct=True)
    ask("observe", id=made["id"], outcomes=certain(made))
    ask("history", last=12)
    ask("status")


def answered(ask: Ask) -> list[Any]:
    """Return the answers to the scripted operations; "refused" if there was an error."""
    found = []

    def asked(op: str, **keys: Any) -> Any:
        try:
            answer = ask(op, **keys)
        except GraphBanditsError:
            answer = "refused"
        found.append([op, _without_ages(plain(answer))])
        return answer

    script(asked)
    return found


def _without_ages(value: Any) -> Any:
    """Remove seconds of waiting from a report about an agent's health."""
    if isinstance(value, dict):
        return {k: _without_ages(v) for k, v in value.items() if k not in ("oldest", "median")}
    return value


def by_methods(agent: Agent | Client) -> Ask:
    """Return a function that calls the methods of an agent or a client."""

    def ask(op: str, **keys: Any) -> Any:
        member = getattr(agent, op)
        if not callable(member):
            return member
        first = [keys.pop(key) for key in ("id", "outcomes", "policy", "graph") if key in keys]
        if op == "decide":
            keys |= {"graph": first[0]} if first else {}
            return [made.to_dict() for made in member(**keys)]
        found = member(*first, *keys.pop("arms", ()), **keys)
        if op == "beliefs":
            return {name: getattr(found, name) for name in ("alpha", "delta", "h", "rho")}
        return found.to_dict() if hasattr(found, "to_dict") else found

    return ask


def by_python() -> Facts:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "agents.db"
        agent = Agent(**SETTINGS, store=path)
        found = answered(by_methods(agent))
        agent.disconnect()
        again = Agent(store=path)
        again.verify()
        more = {
            "arms": list(again.arms),
            "state": plain(again.state),
            "trend": plain(again.trend()),
        }
        again.disconnect()
    return {"answers": found} | more


def by_json_lines() -> Facts:
    with tempfile.TemporaryDirectory() as folder:
        store = f"{folder}/agents.db"
        options: list[str] = []
        for name, value in SETTINGS.items():
            if name == "prior":
                options += [f"--prior={a},{b}" for a, b in value]
            else:
                options.append(f"--{name}={','.join(value) if name == 'arms' else value}")
        assert run("agent", "init", store, *options) == 0
        with subprocess.Popen(
            [sys.executable, "-m", "graphbandits", "agent", "run", store],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None

            def ask(op: str, **keys: Any) -> Any:
                print(json.dumps({"op": op} | keys), file=process.stdin, flush=True)
                answer = json.loads(process.stdout.readline())
                if not answer.pop("ok"):
                    raise GraphBanditsError
                return answer["decisions"] if op == "decide" else answer

            found = answered(ask)
            process.stdin.close()
    return {"answers": found, "exit": process.returncode}


#: Routes that read an agent.
READERS = (
    "/agents",
    "/agents/default",
    "/agents/default/decisions?limit=3",
    "/agents/default/decisions/{id}?pi=true",
    "/agents/default/pending",
    "/agents/default/beliefs",
    "/agents/default/arms?search=e",
    "/agents/default/graph?around=ann",
    "/agents/default/trend",
    "/agents/default/overview",
    "/agents/default/health?level=0.1",
    "/agents/default/history?last=4",
    "/agents/default/log?format=jsonl",
    "/agents/nobody",
)


@contextmanager
def service(folder: str) -> Iterator[httpx.Client]:
    """Start the service on a new store."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    assert run("agent", "init", f"{folder}/agents.db", "--policy=ts", "--arms=2", "--name=x") == 0
    command = [sys.executable, "-m", "graphbandits", "serve", "agents.db", f"--port={port}"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command, cwd=folder, **quiet)
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60.0) as client:
            for _ in range(1200):
                try:
                    client.get("/health")
                    break
                except httpx.TransportError:
                    assert process.poll() is None
                    time.sleep(0.1)
            yield client
    finally:
        process.terminate()
        process.wait()


def by_http() -> Facts:
    with tempfile.TemporaryDirectory() as folder, service(folder) as http:
        agent = Client(**SETTINGS, service=http)
        found = answered(by_methods(agent))
        id_ = agent.pending[-1]
        read = {}
        for path in READERS:
            answer = http.get(path.format(id=id_))
            body = [json.loads(line) for line in answer.text.splitlines() if answer.is_success]
            read[path] = [answer.status_code, _without_ages(plain(body[0])) if body else None]
        more = {
            "arms": list(agent.arms),
            "state": plain(agent.state),
            "trend": plain(agent.trend()),
        }
    return {"answers": found, "read": read} | more


def routes() -> list[str]:
    with tempfile.TemporaryDirectory() as folder, service(folder) as http:
        paths = http.get("/openapi.json").json()["paths"]
        found = [f"route {method.upper()} {path}" for path in paths for method in paths[path]]
        return found + [f"route GET {path}" for path in ("/", "/docs") if http.get(path).is_success]


# Experiments


def experiment() -> Facts:
    """Return the numbers of an experiment that the command line has run, and of its report."""
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder) / "study"
        command = f"run {EXPERIMENT} --output {directory} --shard 4 --workers 1 --ratios bound"
        arguments = [sys.executable, "-m", "graphbandits", *command.split()]
        subprocess.run(arguments, check=True, stdout=subprocess.DEVNULL)
        study = open_study(directory)
        found: Facts = {"trials": study.trials, "report": reported(directory)}
        for r in (0.25, 0.75):
            results = study.results(r=r, curves=True)
            found[f"r={r}"] = contents(results) | {
                name: {
                    part: getattr(result, part)
                    for part in ("mean", "standard_error", "quantiles", "final")
                }
                for name, result in study.results(r=r).policies.items()
            }
        return found


def reported(directory: Path) -> Facts:
    """Return the numbers of the report: regret, plays and differences of each simulation."""
    summary = json.loads((directory / "summary.json").read_text("utf-8"))
    (sweep,) = summary.values()
    return plain(
        [{key: run[key] for key in ("value", "policies", "differences")} for run in sweep["runs"]]
    )


# Theory


def graphs() -> dict[str, tuple[Any, int | None]]:
    """Return 30 graphs and their numbers of arms."""
    texts = (
        "paper 5,empty 4,complete 6,star 7,star(direction=out) 6,star(direction=in) 6,ring 9,"
        "ring(directed=true) 8,path 7,path(directed=true) 7,cliques(size=3) 10,grid(columns=4) 12,"
        "random(r=0.25) 8,random(r=uniform) 6,revealed-er(p=0.3) 9,"
        "revealed-er(p=0.3, directed=true) 9"
    )
    found: dict[str, tuple[Any, int | None]] = {}
    for line in texts.replace("3, d", "3; d").split(","):
        text, _, arms = line.replace(";", ",").rpartition(" ")
        found[line] = (text, int(arms))
    found["shared r"] = ("random(r=uniform, low=0.5, shared=true)", 5)
    found["directed"] = (GRAPHS["directed"], 5)
    found["uncertain"] = (GRAPHS["uncertain"], 5)
    found["karate"] = (as_process(networkx.karate_club_graph(), weight=None), None)
    found["petersen"] = (networkx.petersen_graph(), None)
    found["cubic"] = (networkx.random_regular_graph(3, 24, seed=1), None)
    found["lollipop"] = (networkx.lollipop_graph(5, 6), None)
    found["tree"] = (networkx.balanced_tree(2, 4), None)
    chances = [("a", "b", 1.0), ("b", "c", 0.5), ("c", "a", 0.25), ("d", "a", 1.0)]
    weighted = networkx.DiGraph()
    weighted.add_weighted_edges_from(chances)
    found["named with probabilities"] = (weighted, None)
    rng = np.random.default_rng(8)
    for arms, density in ((12, 0.2), (20, 0.1), (25, 0.5), (40, 0.05)):
        matrix = (rng.random((arms, arms)) < density).astype(float)
        np.fill_diagonal(matrix, 1.0)
        found[f"directed matrix of {arms} arms"] = (matrix, None)
        if arms < 40:
            both = np.maximum(matrix, matrix.T)
            found[f"undirected matrix of {arms} arms"] = (both, None)
    return found


def described(graph: Any, arms: int | None) -> Facts:
    """Return the description of a graph without its name."""
    found = plain(describe_graph(graph, arms, horizon=500).to_dict())
    del found["graph"]
    return found


def inspected(*arguments: str) -> Facts:
    return plain(json.loads(printed("inspect", *arguments, "--json")))


def bounded(graph: str) -> Facts:
    """Return the bounds of the regret that the command line shows with a simulation."""
    size = ("--arms=4", "--horizon=20", "--trials=4", "--workers=1")
    names = ("--policy=ids-n", "--policy=ids-lp", "--bounds", "--ratios=bound", "--json")
    found = plain(json.loads(printed("simulate", f"--graph={graph}", *size, *names)))
    return {part: found[part] for part in ("policies", "bounds")}


def audited() -> Facts:
    return plain(audit_experiment(EXPERIMENT, trials=2, policies=["ids-lp"]).to_dict())


# Commands and names


def run(*arguments: object) -> int:
    """Return the exit code of a command."""
    return CliRunner().invoke(_app(), [str(argument) for argument in arguments]).exit_code


def printed(*arguments: object) -> str:
    return CliRunner().invoke(_app(), [str(argument) for argument in arguments]).stdout


@cache
def _app() -> Any:
    from graphbandits.cli import app

    return app


#: Commands whose exit codes are recorded; {x} is a new directory.
COMMANDS = """
list --json
list nonsense
graph paper --json
graph nonsense
graph edges(1-2:3)
inspect --beta 1,2 --beta 2,3 --graph complete
inspect --beta 1,2 --beta 0,3
inspect --policy ids-n
simulate --policy ts-n --graph paper --horizon 5 --trials 2 --workers 1
simulate --policy nonsense --graph paper --horizon 5 --trials 2
simulate --policy ts-n --graph paper --horizon 0 --trials 2
run {x}/missing.toml
audit missing
new policy mine --output {x}/mine.py
new policy mine --output {x}/mine.py
new experiment --output {x}/mine.toml
run {x}/mine.toml --dry-run
check missing.py
agent init {x}/a.db --policy ids-n --graph star --arms ann,bob --floor 0.5 --seed 1
agent init {x}/a.db --policy nonsense --arms 2
agent decide {x}/a.db
agent observe {x}/a.db 9-000000000000 {"ann":1}
agent learn {x}/a.db --outcomes {"ann":1}
agent learn {x}/a.db --outcomes {"zoe":1}
agent pause {x}/a.db bob
agent resume {x}/a.db bob
agent add-arm {x}/a.db eve
agent retire {x}/a.db eve
agent set-graph {x}/a.db complete
agent set-policy {x}/a.db floor(policy=ts-n,mass=0.5)
agent decide {x}/a.db --n 3
agent status {x}/a.db
agent health {x}/a.db
agent history {x}/a.db
agent list {x}/a.db
agent verify {x}/a.db
agent compact {x}/a.db
agent log {x}/a.db --output {x}/log.parquet
agent backup {x}/a.db {x}/b.db
agent backup {x}/a.db {x}/b.db
agent reset {x}/a.db
agent status {x}/missing.db
evaluate {x}/log.parquet --policy uniform
evaluate {x}/missing.parquet --policy uniform
token list {x}/a.db
token revoke {x}/a.db nobody
store ls {x}/missing
store verify {x}/missing
report {x}/missing
serve {x}/missing.db
""".strip().splitlines()


def surface() -> dict[str, str]:
    """Return a line for each command, option, name and signature, with the line it belongs to."""
    found: dict[str, str] = {}
    _walk(typer.main.get_command(_app()), "", found)
    with tempfile.TemporaryDirectory() as folder:
        for line in COMMANDS:
            words = line.split()
            command = " ".join(words[: 2 if f"command {' '.join(words[:2])}" in found else 1])
            code = run(*(word.replace("{x}", folder) for word in words))
            found[f"exit {code} of {' '.join(words)}"] = f"command {command}"
    for name in graphbandits.__all__:
        member = getattr(graphbandits, name)
        line = f"name graphbandits.{name}"
        found[line] = ""
        if callable(member):
            _sign(f"graphbandits.{name}", member, line, found)
        for owner in inspect.getmro(member) if inspect.isclass(member) else ():
            for part, value in vars(owner).items():
                if owner.__module__.startswith("graphbandits") and not part.startswith("_"):
                    found[f"method {name}.{part}"] = line
                    if callable(value := getattr(member, part)):
                        _sign(f"{name}.{part}", value, f"method {name}.{part}", found)
    project = tomllib.loads((HERE.parents[1] / "pyproject.toml").read_text("utf-8"))["project"]
    extras = [f"extra {name}" for name in project["optional-dependencies"]]
    return found | dict.fromkeys(extras + routes(), "")


def _walk(command: Any, name: str, found: dict[str, str]) -> None:
    line = f"command {name}" if name else ""
    if name:
        found[line] = f"command {name.rpartition(' ')[0]}" if " " in name else ""
        found[f"exit {run(*name.split(), '--none')} of {name} --none"] = line
    for one in command.params:
        if one.param_type_name == "argument":
            found[f"argument {name} {one.name}"] = line
        else:
            found |= {f"option {name} {opt}": line for opt in (*one.opts, *one.secondary_opts)}
    for word, child in getattr(command, "commands", {}).items():
        _walk(child, f"{name} {word}".strip(), found)


def _sign(name: str, member: Any, line: str, found: dict[str, str]) -> None:
    """Add the signature of a function, without types."""
    try:
        signature = inspect.signature(member)
    except ValueError:  # an exception
        return
    bare = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
    text = str(signature.replace(parameters=bare, return_annotation=signature.empty))
    found[f"signature {name}{re.sub(' at 0x[0-9a-f]+', '', text)}"] = line


# All cases


@cache
def cases() -> Cases:
    found = simulations()
    found |= {f"beliefs: {name}": partial(beliefs, name) for name in FAMILIES}
    found |= {f"discounted: {name}": partial(beliefs, name, 0.9) for name in FAMILIES}
    found |= {f"agent: {name}": partial(driven, name) for name in policies()}
    found |= {
        "operations: Python": by_python,
        "operations: JSON lines": by_json_lines,
        "operations: HTTP": by_http,
        "evaluation": evaluated,
        "experiment": experiment,
    }
    found |= {f"graph: {name}": partial(described, *given) for name, given in graphs().items()}
    three = ("--beta=1,2", "--beta=4,4", "--beta=12,9", "--samples=500")
    for graph in ("star", "edges(1>2:0.5 2>3 3>1)", "random(r=0.3)"):
        found[f"inspect: {graph}"] = partial(inspected, *three, f"--graph={graph}")
    normal = ("--posterior=normal(noise=0.5)", "--arm=mean=0.3,sd=0.2", "--arm=mean=0.1,sd=0.4")
    found["inspect: normal"] = partial(inspected, *normal, "--graph=edges(1>2)")
    for prior in ("beta-bernoulli(a=2)", "gamma-poisson(shape=2)", "dirichlet(weights=2)"):
        found[f"prior: {prior}"] = lambda prior=prior: plain(inspect_prior(prior).to_dict())
    for graph in ("cliques(size=2)", "revealed-er(p=0.4)", "random(r=0.3)"):
        found[f"bounds: {graph}"] = partial(bounded, graph)
    return found | {"audit": audited, "surface": surface}


def compute(name: str) -> Facts:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # such as that rewards contradict the prior
        return cases()[name]()


def write(directory: Path) -> None:
    """Record all cases: plain data in a JSON file, a line each, and arrays in an npz file."""
    arrays: dict[str, Any] = {}
    lines = []
    for name in cases():
        facts = _detach(compute(name), name, arrays)
        lines.append(f"{json.dumps(name)}: {json.dumps(facts, separators=(',', ':'))}")
        print(name)
    head = f'{{"fingerprint": {json.dumps(fingerprint())},\n"cases": {{\n'
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "golden.json").write_text(head + ",\n".join(lines) + "\n}}\n", "utf-8")
    np.savez_compressed(directory / "golden.npz", **arrays)


def _detach(value: Any, key: str, arrays: dict[str, Any]) -> Any:
    if isinstance(value, np.ndarray):
        arrays[key] = value
        return {"array": key}
    if isinstance(value, dict):
        return {name: _detach(item, f"{key}/{name}", arrays) for name, item in value.items()}
    return value


@cache
def read(directory: Path | None = None) -> tuple[dict[str, str], dict[str, Facts]]:
    """Return the fingerprint of the recorded values, and the cases."""
    directory = directory or Path(os.environ.get("GOLDEN", HERE))
    text = (directory / "golden.json").read_text("utf-8")
    with np.load(directory / "golden.npz", allow_pickle=False) as file:
        arrays = dict(file)

    def attach(value: dict[str, Any]) -> Any:
        return arrays[value["array"]] if value.keys() == {"array"} else value

    stored = json.loads(text, object_hook=attach)
    return stored["fingerprint"], stored["cases"]


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)
