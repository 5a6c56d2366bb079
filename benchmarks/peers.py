"""``make peers``: public alternatives in environments of their own, on the same simulated worlds.

Each row of the tables is a process of its own with one thread, which runs ``peers.py --worker`` in
the environment of the peer. Nothing but NumPy is imported there, besides the peer.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import json
import math
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from common import MEGABYTE, digits, memory, print_table, seconds

BUILD = Path(__file__).parents[1] / "build" / "peers"
ROUNDS = 1_000
#: Rounds of the loop without a policy, whose time per round is subtracted.
LOOP_ROUNDS = 2_000
#: Trials from which an interval of the mean is shown.
ENOUGH = 3
#: Pairs (arm, reward) that a policy learns in a round.
Seen = Sequence[tuple[int, int]]


# Worlds -------------------------------------------------------------------------------------------


def neighbours_of(arms: int, graph: bool) -> list[list[int]]:
    """Arms that each arm reveals: of the paper's graph, or of cliques of five."""
    if not graph:
        return [[arm] for arm in range(arms)]
    if arms == 5:
        return [[0, 1, 2], [0, 1, 2], [0, 1, 2, 3, 4], [2, 3, 4], [2, 3, 4]]
    return [list(range(arm // 5 * 5, min(arm // 5 * 5 + 5, arms))) for arm in range(arms)]


def matrix_of(neighbours: list[list[int]]) -> Any:
    matrix = np.zeros((len(neighbours), len(neighbours)))
    for arm, revealed in enumerate(neighbours):
        matrix[arm, revealed] = 1.0
    return matrix


def draw_worlds(path: Path, arms: int, trials: int) -> None:
    """Save uniform means and all outcomes, so that no peer depends on its version of NumPy."""
    rngs = [np.random.default_rng([0, arms, trial]) for trial in range(trials)]
    means = np.array([rng.random(arms) for rng in rngs])
    np.save(path / f"means{arms}.npy", means)
    rewards = [rng.random((ROUNDS, arms)) < m for rng, m in zip(rngs, means, strict=True)]
    np.save(path / f"outcomes{arms}.npy", np.array(rewards, np.uint8))


# Adapters -----------------------------------------------------------------------------------------


class Adapter:
    """A policy for one trial. This one plays arm 0: its time is that of the loop around it."""

    #: The module that is imported.
    module: ClassVar[str] = "random"

    def __init__(self, neighbours: list[list[int]], seed: int) -> None:
        pass

    @classmethod
    def load(cls) -> Any:
        """Import the peer, without what it prints."""
        with contextlib.redirect_stdout(io.StringIO()):
            return importlib.import_module(cls.module)

    def choose(self) -> int:
        return 0

    def learn(self, seen: Seen) -> None:
        pass


class GraphbanditsIds(Adapter):
    """The live agent of graphbandits, in memory."""

    module = "graphbandits"
    policy: ClassVar[str] = "ids-n"

    def __init__(self, neighbours: list[list[int]], seed: int) -> None:
        # The stream of this trial is the same as in simulate, where the decisions are the same.
        self.agent = self.load().Agent(self.policy, graph=matrix_of(neighbours), seed=0, trial=seed)

    def choose(self) -> int:
        self.decision = self.agent.decide()
        return int(self.decision.arm)

    def learn(self, seen: Seen) -> None:
        self.agent.observe(self.decision, dict(seen))


class GraphbanditsTs(GraphbanditsIds):
    """Thompson sampling that learns all revealed outcomes."""

    policy = "ts-n"


class BayesianbanditsTs(Adapter):
    """One shared Dirichlet learner, which is faster than one learner for each arm."""

    module = "bayesianbandits"
    policy: ClassVar[str] = "ThompsonSampling"

    def __init__(self, neighbours: list[list[int]], seed: int) -> None:
        bb = self.load()
        self.context = np.empty((1, 0))
        self.agent = bb.LipschitzContextualAgent(
            arms=[bb.Arm(arm, self._success) for arm in range(len(neighbours))],
            learner=bb.DirichletClassifier({0: 1, 1: 1}),
            arm_featurizer=bb.ArmColumnFeaturizer(column_name="arm"),
            policy=getattr(bb, self.policy)(),
            random_seed=seed,
        )

    @staticmethod
    def _success(probabilities: Any) -> Any:
        return probabilities[..., 1]

    def choose(self) -> int:
        (arm,) = self.agent.pull(self.context)
        return int(arm)

    def learn(self, seen: Seen) -> None:
        for arm, reward in seen:
            self.agent.select_for_update(arm).update(self.context, np.array([reward]))


class BayesianbanditsIds(BayesianbanditsTs):
    """Its variance-based information-directed sampling, with 1000 draws by default."""

    policy = "InformationDirectedSampling"


class MabwiserTs(Adapter):
    """Thompson sampling; ``partial_fit`` learns all outcomes of a round in one call."""

    module = "mabwiser.mab"

    def __init__(self, neighbours: list[list[int]], seed: int) -> None:
        mab = self.load()
        policy = mab.LearningPolicy.ThompsonSampling()
        self.mab = mab.MAB(list(range(len(neighbours))), policy, seed=seed)
        self.mab.fit(np.array([], int), np.array([], int))  # nothing is known, but it asks for it

    def choose(self) -> int:
        return int(self.mab.predict())

    def learn(self, seen: Seen) -> None:
        arms, rewards = zip(*seen, strict=True)
        self.mab.partial_fit(np.array(arms), np.array(rewards))


class RiverTs(Adapter):
    """Thompson sampling with a Beta distribution for each arm."""

    module = "river.bandit"

    def __init__(self, neighbours: list[list[int]], seed: int) -> None:
        self.arms = list(range(len(neighbours)))
        self.policy = self.make(seed)

    def make(self, seed: int) -> Any:
        bandit, proba = self.load(), importlib.import_module("river.proba")
        return bandit.ThompsonSampling(reward_obj=proba.Beta(), seed=seed)

    def choose(self) -> int:
        return int(self.policy.pull(self.arms))

    def learn(self, seen: Seen) -> None:
        for arm, reward in seen:
            self.policy.update(arm, reward)


class RiverBayesUcb(RiverTs):
    """Bayes-UCB with a uniform prior."""

    def make(self, seed: int) -> Any:
        return self.load().BayesUCB(seed=seed)


class SmpybanditsTs(Adapter):
    """Thompson sampling with a Beta posterior for each arm."""

    module = "SMPyBandits.Policies"
    policy: ClassVar[str] = "Thompson"

    def __init__(self, neighbours: list[list[int]], seed: int) -> None:
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002, its policies draw from the global generator
        self.bandit = getattr(self.load(), self.policy)(len(neighbours))
        self.bandit.startGame()

    def choose(self) -> int:
        return int(self.bandit.choice())

    def learn(self, seen: Seen) -> None:
        for arm, reward in seen:
            self.bandit.getReward(arm, reward)


class SmpybanditsBayesUcb(SmpybanditsTs):
    """Bayes-UCB with a Beta posterior for each arm."""

    policy = "BayesUCB"


class VowpalWabbitSquareCb(Adapter):
    """SquareCB. The features of an action are its name, and examples are parsed once.

    The label of a revealed outcome has the probability with which it was revealed.
    """

    module = "vowpalwabbit"
    options: ClassVar[str] = "--cb_explore_adf --squarecb"

    def __init__(self, neighbours: list[list[int]], seed: int) -> None:
        self.workspace = self.load().Workspace(f"{self.options} --random_seed {seed} --quiet")
        self.neighbours = neighbours
        self.lines = [f"| arm{arm}" for arm in range(len(neighbours))]
        self.shared = self.shared_lines()
        self.examples = self.workspace.parse([*self.shared, *self.lines])
        self.actions, self.rng = range(len(neighbours)), random.Random(seed)

    def shared_lines(self) -> list[str]:
        return []

    def choose(self) -> int:
        # The prediction is a distribution; the application draws from it.
        self.pi = self.workspace.predict(self.examples)
        (arm,) = self.rng.choices(self.actions, self.pi)
        self.played = arm
        return arm

    def learn(self, seen: Seen) -> None:
        several = len(seen) > 1
        for arm, reward in seen:
            chance = sum(self.pi[near] for near in self.neighbours[arm]) if several else None
            lines = list(self.lines)
            lines[arm] = f"0:{-reward}:{min(1.0, chance or self.pi[arm])} {lines[arm]}"
            self.workspace.learn(lines)


class VowpalWabbitGraph(VowpalWabbitSquareCb):
    """Graph feedback: each example has the graph, and each revealed action a label."""

    options = "--cb_explore_adf --graph_feedback"

    def shared_lines(self) -> list[str]:
        pairs = ((i, j) for i, revealed in enumerate(self.neighbours) for j in revealed)
        return ["shared graph " + " ".join(f"{i},{j},1" for i, j in pairs) + " |"]

    def learn(self, seen: Seen) -> None:
        lines = list(self.lines)
        for arm, reward in seen:
            label = f"{self.played}:{-reward}:{self.pi[self.played]}"
            lines[arm] = f"{label} {lines[arm]}"
        self.workspace.learn([*self.shared, *lines])


@dataclass(frozen=True)
class Row:
    """A policy of a package; ``graph``: it uses the graph itself."""

    peer: str
    label: str
    adapter: type[Adapter]
    marker: str
    graph: bool = False

    def feedbacks(self, graph: bool) -> tuple[str, ...]:
        """What the policy learns: the outcome of the played arm, or of its neighbours too."""
        if not graph:
            return () if self.adapter is VowpalWabbitGraph else ("own",)
        return ("all",) if self.graph else ("own", "all")


REFERENCE = Row("graphbandits", "ids-n, simulate", GraphbanditsIds, "*", graph=True)
ROWS = (
    REFERENCE,
    Row("graphbandits", "ids-n, live", GraphbanditsIds, "s", graph=True),
    Row("graphbandits", "ts-n, live", GraphbanditsTs, "o", graph=True),
    Row("bayesianbandits", "IDS", BayesianbanditsIds, "s"),
    Row("bayesianbandits", "Thompson", BayesianbanditsTs, "o"),
    Row("mabwiser", "Thompson", MabwiserTs, "o"),
    Row("river", "Bayes-UCB", RiverBayesUcb, "^"),
    Row("river", "Thompson", RiverTs, "o"),
    Row("smpybandits", "Bayes-UCB", SmpybanditsBayesUcb, "^"),
    Row("smpybandits", "Thompson", SmpybanditsTs, "o"),
    Row("vowpalwabbit", "graph feedback", VowpalWabbitGraph, "P", graph=True),
    Row("vowpalwabbit", "SquareCB", VowpalWabbitSquareCb, "D"),
)
COLOURS = {
    "graphbandits": "#000000",
    "bayesianbandits": "#0072b2",
    "mabwiser": "#e69f00",
    "river": "#009e73",
    "smpybandits": "#cc79a7",
    "vowpalwabbit": "#d55e00",
}


# Workers ------------------------------------------------------------------------------------------


def work(task: dict[str, Any]) -> dict[str, Any]:
    """Play trials until all are played or the time is over; a few at least, if time allows."""
    row, neighbours = ROWS[task["row"]], task["neighbours"]
    arms = len(neighbours)
    means = np.load(Path(task["worlds"], f"means{arms}.npy"))
    outcomes = np.load(Path(task["worlds"], f"outcomes{arms}.npy"), mmap_mode="r")
    if row == REFERENCE:
        return simulate_all(means, outcomes, neighbours)
    before = time.process_time()
    row.adapter.load()
    imported = time.process_time() - before
    shown = neighbours if task["feedback"] == "all" else [[arm] for arm in range(arms)]
    start = time.monotonic()
    soft, hard = start + task["seconds"], start + task["most_seconds"]
    if task["warm_up"]:
        play(row.adapter(neighbours, 0), outcomes[0, :1].tolist(), shown)
    first = time.process_time()
    regrets, cpus, unfinished = list[float](), list[float](), 0
    for trial in range(len(means)):
        if time.monotonic() > (soft if len(regrets) >= task["least"] else hard):
            break
        policy = row.adapter(neighbours, trial)
        played, cpu = play(policy, outcomes[trial].tolist(), shown, hard)
        cpus.append(cpu / len(played))
        if len(played) < ROUNDS:
            unfinished = len(played)
            cpus = cpus[:-1] or cpus
            break
        regrets.append(float(np.sum(means[trial].max() - means[trial][played])))
    peak = memory(peak=True)
    loop = play(Adapter(neighbours, 0), outcomes[0, :1].tolist() * LOOP_ROUNDS, shown)[1]
    cpu = max(statistics.median(cpus) - loop / LOOP_ROUNDS, 0.0) if cpus else None
    times = {"cpu": cpu, "import": imported, "first": first if task["warm_up"] else None}
    return {"regrets": regrets, "unfinished": unfinished, "peak": peak, **times}


def play(
    policy: Adapter, outcomes: list[list[int]], shown: list[list[int]], until: float = math.inf
) -> tuple[list[int], float]:
    """Arms of one trial, and its CPU seconds; it ends early at the time ``until``."""
    played = []
    start = time.process_time()
    for row in outcomes:
        arm = policy.choose()
        policy.learn([(near, row[near]) for near in shown[arm]])
        played.append(arm)
        if time.monotonic() > until:
            break
    return played, time.process_time() - start


@dataclass(frozen=True, eq=False)
class Recorded:
    """A world of graphbandits that reads means and outcomes instead of drawing them."""

    prior: Any
    theta: Any
    recorded: Any

    @property
    def arms(self) -> int:
        return int(self.theta.shape[1])

    def means(self, keys: Any) -> Any:
        return self.theta[keys.first_trial : keys.first_trial + keys.trials].copy()

    def outcomes(self, theta: Any, keys: Any, t: int, trial: Any, arm: Any) -> Any:
        return self.recorded[keys.first_trial + trial, t - 1, arm].astype(np.float64)


def simulate_all(means: Any, outcomes: Any, neighbours: list[list[int]]) -> dict[str, Any]:
    """Regret of all trials in one call of ``simulate``, and CPU time per decision."""
    before = time.process_time()
    from graphbandits import BetaBernoulli, simulate

    imported = time.process_time() - before
    trials, arms = means.shape
    world = Recorded(BetaBernoulli.of(arms), means, np.array(outcomes))

    def simulated(rounds: int) -> Any:
        options = {"horizon": rounds, "trials": trials, "progress": False}
        return simulate("ids-n", world, matrix_of(neighbours), **options)

    simulated(2)
    first = time.process_time()
    (policy,) = simulated(ROUNDS).policies.values()
    cpu = (time.process_time() - first) / (trials * ROUNDS)
    regrets = [float(value) for value in policy.final]
    times = {"cpu": cpu, "import": imported, "first": first}
    return {"regrets": regrets, "unfinished": 0, "peak": memory(peak=True), **times}


# Environments -------------------------------------------------------------------------------------

NUMPY = "numpy==2.4.6"

#: Versions of the peers, and of what they need to run.
REQUIREMENTS: dict[str, tuple[str, ...]] = {
    "vowpalwabbit": ("vowpalwabbit==9.11.9", NUMPY),
    "bayesianbandits": ("bayesianbandits==1.5.0", "scikit-learn==1.9.1", "scipy==1.17.1", NUMPY),
    "mabwiser": ("mabwiser==2.7.4", "pandas==3.1.1", "scikit-learn==1.9.1", NUMPY),
    "river": ("river==0.26.1", "scipy==1.17.1", NUMPY),
    # Its last release uses numpy.int and scipy.special.btdtri, which later versions do not have.
    "smpybandits": (
        "SMPyBandits==0.9.7",
        "numpy==1.23.5",
        "scipy==1.10.1",
        "pandas==1.5.3",
        "matplotlib==3.7.5",
        "scikit-learn==1.2.2",
        "scikit-optimize==0.9.0",
    ),
}


def installed(peer: str) -> Path:
    """Python of an environment with a peer, created unless it is there with the same versions."""
    if peer == "graphbandits":
        return Path(sys.executable)
    own, wanted = BUILD / peer, json.dumps(REQUIREMENTS[peer])
    python, stamp = own / "bin" / "python", own / "installed.json"
    if not stamp.exists() or stamp.read_text() != wanted:
        shutil.rmtree(own, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", str(own)], check=True)
        pip = [str(python), "-m", "pip", "install", "--quiet", "--no-input", "--retries", "1"]
        subprocess.run([*pip, "--only-binary", ":all:", *REQUIREMENTS[peer]], check=True)
        stamp.write_text(wanted)
    return python


def in_worker(python: Path, task: dict[str, Any]) -> dict[str, Any]:
    """Report of one process; ``failed`` has the reason if there is none."""
    threads = dict.fromkeys(("NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1")
    variables = {**os.environ, **threads, "PYTHONWARNINGS": "ignore"}
    limit = task["most_seconds"] + 300.0  # with imports, the last round and compilation
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        command = [str(python), __file__, "--worker", json.dumps(task), str(report)]
        try:
            options: Any = {"capture_output": True, "text": True, "env": variables}
            done = subprocess.run(command, timeout=limit, **options)
        except subprocess.TimeoutExpired:
            return {"failed": "it did not end in time"}
        if done.returncode:
            lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
            return {"failed": lines[-1][:200]}
        result: dict[str, Any] = json.loads(report.read_text())
        return result


# Tables and figure --------------------------------------------------------------------------------

#: Reports by number of arms, whether there is a graph, row and what it learns.
Reports = dict[tuple[int, bool, Row, str], dict[str, Any]]


def measure(peers: list[str], all_arms: Sequence[int], quick: bool) -> Reports:
    """Run all workers, and print the versions of the packages."""
    reports: Reports = {}
    sizes = {"seconds": 0.3, "least": 1} if quick else {"seconds": 5.0, "least": 3}
    with tempfile.TemporaryDirectory() as worlds:
        for arms in all_arms:
            draw_worlds(Path(worlds), arms, 20 if quick else 200)
        for peer in peers:
            try:
                python = installed(peer)
            except (subprocess.CalledProcessError, OSError) as error:
                print(f"- **{peer}**: not installed: {error}")
                continue
            pinned = ", ".join(REQUIREMENTS.get(peer, ())).replace("==", " ")
            print(f"- **{peer}**: {pinned or version(peer)}", flush=True)
            compile_first = peer == "graphbandits"
            own = [row for row in ROWS if row.peer == peer]
            for graph, arms, row in product((False, True), all_arms, own):
                for feedback in row.feedbacks(graph):
                    slow = row.adapter is VowpalWabbitGraph
                    limit = 2.0 if quick else 260.0 if slow and arms == 5 else 40.0
                    task = {
                        "row": ROWS.index(row),
                        "neighbours": neighbours_of(arms, graph),
                        "feedback": feedback,
                        "worlds": worlds,
                        "most_seconds": limit,
                        "warm_up": not (slow and arms > 5),  # one round of it can take a minute
                        **sizes,
                    }
                    if compile_first:
                        in_worker(python, task)
                        compile_first = False
                    reports[arms, graph, row, feedback] = in_worker(python, task)
    print()
    return reports


def print_tables(reports: Reports, all_arms: Sequence[int]) -> None:
    for graph in (False, True):
        for arms in all_arms:
            reference = reports.get((arms, graph, REFERENCE, REFERENCE.feedbacks(graph)[0]), {})
            rows, notes = [], [f"{ROUNDS} rounds."]
            for (own_arms, own_graph, row, feedback), report in reports.items():
                if (own_arms, own_graph) == (arms, graph):
                    rows.append(line(row, feedback, report, reference.get("regrets", [])))
                    name = f"{row.peer} {row.label}"
                    if "failed" in report:
                        notes.append(f"{name} failed: {report['failed']}.")
                    elif not report["regrets"]:
                        rounds = report["unfinished"]
                        notes.append(f"{name} finished {rounds} rounds within the time limit.")
            title = f"{arms} arms, {'a graph' if graph else 'no graph'}"
            columns = ("package", "policy", "learns", "trials", "regret", "minus ids-n", "CPU")
            print_table(title, columns, rows, " ".join(notes), texts=3)
    rows = []
    for peer in COLOURS:
        own = {key: r for key, r in reports.items() if key[2].peer == peer and "failed" not in r}
        started = [r for r in own.values() if r["first"] is not None]
        if started:
            times = (statistics.median(r[key] for r in started) for key in ("import", "first"))
            peaks = (
                statistics.median(r["peak"] for key, r in own.items() if key[0] == arms)
                for arms in all_arms
            )
            rows.append([peer, *map(seconds, times), *(digits(p / MEGABYTE) for p in peaks)])
    print_table(
        "Start and memory of a process",
        ("package", "import", "first decision", *(f"MB, {arms} arms" for arms in all_arms)),
        rows,
        "CPU time of the import, after that of NumPy. CPU time of the whole process until its "
        "first decision is made and learned. Peak memory of a process, with Python and NumPy. "
        "Medians over the rows of a package.",
    )


def line(row: Row, feedback: str, report: dict[str, Any], reference: Sequence[float]) -> list[str]:
    """Cells of a row."""
    start = [row.peer, row.label, feedback]
    if "failed" in report:
        return [*start, "-", "failed", "-", "-"]
    regrets, cpu = report["regrets"], report["cpu"]
    paired = [own - other for own, other in zip(regrets, reference, strict=False)]
    difference = "-" if row == REFERENCE else plus_minus(paired)
    time_of_one = "-" if cpu is None else seconds(cpu)
    return [*start, str(len(regrets)), plus_minus(regrets), difference, time_of_one]


def mean_and_half(values: Sequence[float]) -> tuple[float, float]:
    """Mean, and half the width of its 95 % interval by Student's t."""
    from scipy.stats import t as student

    error = statistics.stdev(values) / math.sqrt(len(values))
    return statistics.fmean(values), float(student.ppf(0.975, len(values) - 1)) * error


def plus_minus(values: Sequence[float]) -> str:
    """Mean and interval as text; too few trials have no interval."""
    if not values:
        return "-"
    mean = f"{round(statistics.fmean(values), 1) + 0.0:.1f}"  # no -0.0
    return f"{mean} ± {mean_and_half(values)[1]:.1f}" if len(values) >= ENOUGH else mean


def draw(reports: Reports, all_arms: Sequence[int], path: Path) -> None:
    """Regret against CPU time: one panel for each number of arms and kind of worlds."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.lines import Line2D

    size = (4.0 * len(all_arms), 8.4)
    figure, panels = plt.subplots(
        2, len(all_arms), figsize=size, squeeze=False, sharex=True, sharey="col"
    )
    for (arms, graph, row, feedback), report in reports.items():
        if report.get("cpu") is None or len(report["regrets"]) < ENOUGH:
            continue
        mean, half = mean_and_half(report["regrets"])
        colour, filled = COLOURS[row.peer], not graph or feedback == "all"
        panels[int(graph)][list(all_arms).index(arms)].errorbar(
            max(report["cpu"], 1e-9),
            mean,
            # the lower end of a wide interval can be below 0, which a log scale does not have
            yerr=[[min(half, 0.9 * mean)], [half]],
            fmt=row.marker,
            color=colour,
            markerfacecolor=colour if filled else "white",
            markersize=10 if row == REFERENCE else 6.5,
            linewidth=1.0,
            capsize=2,
        )
    for graph, line_of_panels in enumerate(panels):
        for arms, panel in zip(all_arms, line_of_panels, strict=True):
            panel.set(
                xscale="log", yscale="log", title=f"{arms} arms, {'a' if graph else 'no'} graph"
            )
            panel.grid(alpha=0.25, which="both", linewidth=0.5)
        line_of_panels[0].set_ylabel(f"regret after {ROUNDS} rounds")
    for panel in panels[-1]:
        panel.set_xlabel("CPU seconds per decision")

    def key(label: str, **style: Any) -> Line2D:
        return Line2D([], [], linestyle="", label=label, **style)

    keys = [
        key(f"{row.peer}: {row.label}", color=COLOURS[row.peer], marker=row.marker) for row in ROWS
    ]
    keys.append(key("filled: learns all it can", color="grey", marker="o"))
    keys.append(
        key("hollow: learns only the played arm", color="grey", marker="o", markerfacecolor="white")
    )
    figure.legend(
        handles=keys, loc="lower center", ncols=4, frameon=False, fontsize=9, columnspacing=1.5
    )
    figure.tight_layout(rect=(0, 0.14, 1, 1))
    figure.savefig(path, dpi=110)


def main() -> None:
    if sys.argv[1:2] == ["--worker"]:
        Path(sys.argv[3]).write_text(json.dumps(work(json.loads(sys.argv[2]))))
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(COLOURS)}")
    parser.add_argument("--quick", action="store_true", help="five arms, few trials")
    parser.add_argument("--figure", type=Path, default=BUILD / "peers.png", help="where it goes")
    given = parser.parse_args()
    if unknown := sorted(set(given.names) - set(COLOURS)):
        parser.error(f"unknown package {unknown[0]}; the packages are {', '.join(COLOURS)}")
    peers = [peer for peer in COLOURS if peer in ("graphbandits", *(given.names or COLOURS))]
    all_arms = (5,) if given.quick else (5, 10, 50)
    reports = measure(peers, all_arms, given.quick)
    print_tables(reports, all_arms)
    given.figure.parent.mkdir(parents=True, exist_ok=True)
    draw(reports, all_arms, given.figure)
    print(f"Figure: {given.figure}")


if __name__ == "__main__":
    main()
