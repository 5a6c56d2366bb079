"""``graphbandits list``, ``new``, ``check``, ``audit`` and ``precompile``."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.padding import Padding

import graphbandits
from graphbandits.cli import _ui
from graphbandits.errors import InputError, NeedsError

if TYPE_CHECKING:
    from graphbandits.study.run import SimulationAudit
    from graphbandits.testing import Verdict
    from graphbandits.theory.audit import Tally

new = typer.Typer(
    no_args_is_help=True, help="Create a plug-in or experiment file from a commented template."
)


#: Policies of the simulations that are suggested.
_POLICIES = "--policy ids-n --policy ts-n"
_SIZE = "--horizon 300 --trials 100"


def list_(
    what: Annotated[
        str,
        typer.Argument(help="policies, graphs, worlds, posteriors or experiments. Default: all."),
    ] = "",
    plugin: _ui.Plugin = None,
    json: _ui.Json = False,
) -> None:
    """List the available plug-ins and experiments with their parameters.

    Example: graphbandits list policies
    """
    _ui.load(plugin)
    listing = graphbandits.list_available(what)
    if json:
        _ui.print_json(listing)
        return
    for plural, entries in listing.items():
        _ui.print_records(plural, [_row(entry) for entry in entries])


def _row(entry: dict[str, Any]) -> dict[str, str]:
    row = {"name": entry["name"], "description": entry["description"]}
    if "size" in entry:
        size = {what: number for what, number in entry["size"].items() if number is not None}
        row["size"] = ", ".join(f"{_size_text(number)} {what}" for what, number in size.items())
        row["simulations"] = str(entry["runs"])
    if "parameters" in entry:
        row["parameters"] = ", ".join(
            name if default is None else f"{name}={default}"
            for name, default in entry["parameters"].items()
        )
    return row | ({"needs": entry["graph_known"]} if "graph_known" in entry else {})


def _size_text(number: int | list[int]) -> str:
    return f"{min(number)} to {max(number)}" if isinstance(number, list) else str(number)


def _name(kind: str, example: str) -> Any:
    return typer.Argument(help=f"Name of the {kind}, such as {example}.")


Output = Annotated[
    Path | None, _ui.option("FILE", "File to write. Default: named after the first argument.")
]


@new.command("policy")
def new_policy(name: Annotated[str, _name("policy", "my-ucb")], output: Output = None) -> None:
    """Create a commented, working policy that passes the contract tests, as a starting point.

    Example: graphbandits new policy my-ucb
    """
    suggested = f"--policy {name} --policy ids-n --graph paper {_SIZE}"
    _print_new_plugin(graphbandits.new_policy(name, output), suggested)


@new.command("graph")
def new_graph(name: Annotated[str, _name("graph", "my-path")], output: Output = None) -> None:
    """Create a commented, working graph that passes the contract tests, as a starting point.

    Example: graphbandits new graph my-path
    """
    suggested = f"--graph {name} --arms 6 {_POLICIES} {_SIZE}"
    _print_new_plugin(graphbandits.new_graph(name, output), suggested)


@new.command("world")
def new_world(name: Annotated[str, _name("world", "my-world")], output: Output = None) -> None:
    """Create a commented, working world that passes the contract tests, as a starting point.

    Example: graphbandits new world my-world
    """
    suggested = f"--world {name} --graph star --arms 5 {_POLICIES} {_SIZE}"
    _print_new_plugin(graphbandits.new_world(name, output), suggested)


@new.command("posterior")
def new_posterior(
    name: Annotated[str, _name("posterior", "my-normal")], output: Output = None
) -> None:
    """Create a commented, working posterior that passes the contract tests, as a starting point.

    Example: graphbandits new posterior my-normal
    """
    # sums over a grid are slow
    size = "--graph star --arms 3 --horizon 50 --trials 10"
    suggested = f"--world gaussian --posterior {name} {_POLICIES} {size}"
    _print_new_plugin(graphbandits.new_posterior(name, output), suggested)


@new.command("experiment")
def new_experiment(
    name: Annotated[str, _name("experiment", "my-study")] = "my-experiment", output: Output = None
) -> None:
    """Create a commented experiment file that shows every key and runs in seconds.

    Example: graphbandits new experiment my-study
    """
    target = str(graphbandits.new_experiment(name, output))
    _print_written(target, ["run", target, "--dry-run"], ["run", target])


def _print_new_plugin(path: Path, options: str) -> None:
    target = str(path)
    simulation = ["simulate", "--plugin", target, *options.split()]
    _print_written(target, ["check", target], simulation)


def _print_written(target: str, *commands: list[str]) -> None:
    _ui.print_line(f"Wrote {target}. Next:")
    for command in commands:
        _ui.print_line(f"  {shlex.join(['graphbandits', *command])}")


STYLES = {"passed": "green", "failed": "bold red", "exempt": "yellow", "needless": "bold red"}


def check(
    plugin: Annotated[
        list[str], typer.Argument(help="Python file with plug-ins, or the name of a plug-in.")
    ],
    only: Annotated[
        list[str] | None, _ui.option("CHECK", "Run only this check; repeat for several.")
    ] = None,
    json: _ui.Json = False,
) -> None:
    """Run the contract tests on a policy, graph, world or posterior.

    Prints one verdict per check. The exit code is 1 if a check fails.

    Example: graphbandits check my_ucb.py
    """
    printer = _Printer()
    finished = None if json else printer.print
    verdicts = graphbandits.check_plugins(plugin, only=only or [], progress=True, finished=finished)
    if json:
        _ui.print_json([verdict.to_dict() for verdict in verdicts])
    printer.print_totals()
    raise typer.Exit(0 if all(verdict.ok for verdict in verdicts) else 1)


class _Printer:
    """Prints verdicts as they arrive, and the totals of each plug-in."""

    def __init__(self) -> None:
        self._console = _ui.plain_console()
        self._verdicts: list[Verdict] = []  # of the current plug-in
        self._first_check: dict[str, str] = {}  # the check that first reported a failure

    def print(self, verdict: Verdict) -> None:
        console, name = self._console, verdict.check.name
        if not self._verdicts or verdict.example is not self._verdicts[-1].example:
            self.print_totals()
            console.print(f"{verdict.check.kind} {verdict.plugin}", style="bold")
        self._verdicts.append(verdict)
        style = STYLES[verdict.outcome]
        console.print(f"  {verdict.outcome:9}", style=style, end="")
        promise = verdict.check.promise.partition(":")[0].rstrip(".")
        console.print(f"{name:22}{promise}.")
        if verdict.why:
            first = self._first_check.setdefault(_failure_cause(verdict.why), name)
            why = verdict.why if first == name else f"same failure as in '{first}' above"
            console.print(Padding(why, (0, 0, 0, 11)), style=style)

    def print_totals(self) -> None:
        if self._verdicts:
            found = [verdict.outcome for verdict in self._verdicts]
            sums = [f"{found.count(one)} {one}" for one in STYLES if one in found]
            self._console.print(f"  {_ui.count(len(found), 'check')}: {', '.join(sums)}.\n")
        self._verdicts, self._first_check = [], {}


def _failure_cause(why: str) -> str:
    """Return the cause of a failure without its location, to report each bug once.

    >>> _failure_cause("star: policy 'x' failed in round 3, in propose: x.py, line 9: NameError: n")
    'x.py, line 9: NameError: n'
    """
    match = re.search(r"failed in round \d+, in \w+: (.*?)(?:\): declare .*)?$", why)
    return match[1] if match else re.sub(r"^[^:]*: |round \d+", "", why)


def audit(
    experiment: _ui.ExperimentName,
    trials: Annotated[int | None, _ui.number("Trials per policy. Default: 100.")] = None,
    seed: _ui.FileSeed = None,
    policy: Annotated[
        list[str] | None, _ui.option("NAME", "Additional policy to audit; repeat for several.")
    ] = None,
    gain: Annotated[
        str, _ui.option("GAIN", "Information gain: joint (exact), bound (G h), or auto.")
    ] = "auto",
    workers: _ui.Workers = None,
    plugin: _ui.Plugin = None,
    json: _ui.Json = False,
) -> None:
    """Check the paper's statements in every round of an experiment.

    Checks Propositions 1 and 2, Lemmas 2 and 3 and Theorems 1 to 3 for the policies and graphs
    that they cover. If a statement is violated, prints a command that shows the state, and exits
    with code 1.

    Example: graphbandits audit paper-1a --trials 20
    """
    found = graphbandits.audit_experiment(
        experiment,
        trials=trials,
        seed=seed,
        policies=policy or [],
        plugins=plugin or [],
        gain=gain,
        workers=workers,
        finished=None if json else _print_audit,
    )
    if json:
        _ui.print_json(found.to_dict())
    for sentence in found.broken:
        typer.echo(f"Error: {sentence}", err=True)
    raise typer.Exit(0 if found.holds else 1)


def _print_audit(simulation: SimulationAudit) -> None:
    from graphbandits.theory.audit import FLOOR, SMALL

    plan, found = simulation.plan, simulation.audit
    size = f"{_ui.count(plan.trials, 'trial')} of {plan.horizon} rounds, seed {plan.seed}"
    _ui.print_text(f"{simulation.title}: {', '.join(plan.policies)}; {size}")
    records = []
    for tally in found.tallies:
        record = {
            "statement": tally.statement.name,
            "content": tally.statement.text,
            "checks": f"{tally.checks:,}" if tally.checks else "none",
            "tightest margin": f"{tally.violations:,} violations"
            if tally.violations
            else _margin(tally),
        }
        records.append(record)
    _ui.print_records("", records)
    records = []
    for curve in found.curves:
        theorem = f"{curve.bound[-1]:.2f} ({curve.theorem})" if curve.theorem else "none"
        record = {
            "policy": curve.policy,
            "mean regret": f"{curve.mean[-1]:.2f}",
            # undefined for a single trial
            "s.e.": "unknown" if plan.trials == 1 else f"{curve.standard_error[-1]:.2f}",
            "bound of Lemma 1": f"{curve.general[-1]:.2f}",
            "bound of its theorem": theorem,
        }
        records.append(record)
    _ui.print_records("", records)
    rounds = found.rounds
    _ui.print_text(
        f"Checked {rounds.share:.1%} of {rounds.all:,} rounds. In {rounds.unchecked:,} rounds the "
        f"information gain\nof the play is below {FLOOR:g} nats: not checked (below {SMALL:g} in "
        f"{rounds.small:,} rounds, {rounds.small / rounds.all:.1%})."
    )
    if found.gain != "joint":
        _ui.print_text(f"Psi is computed with G h, and Proposition 1 is not checked: {found.why}.")
    for name, why in found.skipped.items():
        _ui.print_text(f"{name} is not checked: {why}.")
    verdict = "A statement is violated." if found.broken else "No violation."
    if rounds.unchecked == rounds.all:
        verdict = "Nothing was checked: no play has an information gain."
    _ui.print_text(f"{verdict} {_ui.duration(simulation.seconds)}.\n")


def _margin(tally: Tally) -> str:
    """Format the smallest relative distance to the limit, and its policy."""
    if not tally.checks:
        return ""
    share = f"{tally.margin:.1%}" if abs(tally.margin) >= 1e-3 else f"{tally.margin:.0e}"
    return f"{share} ({tally.nearest})"


#: Graphs that use the kernels of matrices, of probabilities and of lists of edges.
_GRAPHS = (("complete", 3), ("random(r=0.5)", 3), ("ring", 2000))


def precompile(
    policies: Annotated[
        list[str] | None,
        _ui.option("NAME", "Policy to compile for; repeat for several. Default: all policies."),
    ] = None,
    worlds: Annotated[
        list[str] | None,
        _ui.option("NAME", "Reward model to compile for; repeat for several. Default: bernoulli."),
    ] = None,
    cache: Annotated[
        Path | None, _ui.option("DIR", "Directory of the machine code, instead of NUMBA_CACHE_DIR.")
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
    from graphbandits import _jit
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
            _ui.print_text(f"Compiling {name} for {world} ...")
            for graph, arms in _GRAPHS:
                _decide(name, world, graph, arms)
    _ui.print_text(f"The machine code is in {_jit.cache_directory()}")


def _decide(policy: str, world: str, graph: str, arms: int) -> None:
    """Decide in a simulation and with a live agent, unless the policy does not accept the graph."""
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
