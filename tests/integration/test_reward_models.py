"""Every reward model, from an experiment file to a report and to a saved agent.

A new family is one more line of ``helpers/reward_families.py``.
"""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import SRC
from helpers.agents import facts, reopened
from helpers.bad_input import refused
from helpers.cases import each
from helpers.command_line import answer, read_json, refused_command
from helpers.executor_tasks import alone, computed, tasks_of
from helpers.reward_families import COMMON, FAMILIES, Family, write_plugin

from graphbandits import Agent, Results, load_plugin, simulate
from graphbandits.plugins import unload_plugin
from graphbandits.simulation.plan import Plan
from graphbandits.simulation.workers import ProcessExecutor
from graphbandits.study.directory import Directory
from graphbandits.study.experiment import load_experiment
from graphbandits.study.study import open_study

GRAPH = "edges(1>2 2>3:0.5 3)"
HORIZON, TRIALS, SHARD, SEED = 40, 96, 6, 5
#: A policy of a plug-in file: with it, a run with two workers starts processes.
POLICY = '''
from dataclasses import dataclass
from graphbandits.policies.thompson import TSN
from graphbandits.registry import register


@register("policy", "my-ts")
@dataclass(frozen=True)
class MyTS(TSN):
    """As Thompson sampling."""
'''


def experiment(world: str, policies: tuple[str, ...], *more: str, trials: int = TRIALS) -> str:
    lines = [
        'title = "The whole path"',
        f'graph = "{GRAPH}"',
        f'world = "{world}"',
        f"horizon = {HORIZON}",
        f"trials = {trials}",
        f"seed = {SEED}",
        f"policies = {json.dumps(policies)}",
        *more,
    ]
    return "\n".join(lines)


def graphbandits(folder: Path, *words: object) -> list[str]:
    return [sys.executable, "-m", "graphbandits", *map(str, words)]


def run(folder: Path, *words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        graphbandits(folder, *words),
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(SRC)},
        capture_output=True,
        text=True,
        timeout=600,
    )


def shards(store: Path) -> list[Path]:
    return list((store / "shards").rglob("*.parquet"))


def children(pid: int) -> list[int]:
    found = []
    for file in Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(file.read_text().rpartition(")")[2].split()[1]) == pid:
                found.append(int(file.parent.name))
        except OSError:  # it has already ended
            continue
    return found


def killed_midway(folder: Path, *words: object, total: int) -> int:
    """Start a run, kill it and its workers when some shards are stored; return their number."""
    store = folder / "out"
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            graphbandits(folder, *words),
            cwd=folder,
            env=os.environ | {"PYTHONPATH": str(SRC)},
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    deadline = time.monotonic() + 500
    while not shards(store) and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)
    workers = children(process.pid)
    os.killpg(process.pid, signal.SIGSTOP)  # so that nothing more is stored before it is killed
    for worker in workers:
        os.kill(worker, signal.SIGKILL)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert workers, (folder / "log").read_text()[-3000:]
    stored = len(shards(store))
    assert 0 < stored < total
    return stored


def numbers(value: Any) -> Iterator[float]:
    """Yield all numbers of a JSON value."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for one in value:
            yield from numbers(one)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield value


def assert_same_bits(left: Results, right: Results) -> None:
    assert list(left.policies) == list(right.policies)
    for name in left.policies:
        assert (left[name].final == right[name].final).all(), name
        assert (left[name].mean == right[name].mean).all(), name
        assert (left[name].plays == right[name].plays).all(), name


@pytest.mark.nightly
@pytest.mark.parametrize("family", FAMILIES)
def test_killed_run_resumes_and_has_the_bits_of_a_simulation_in_memory(
    family: str, tmp_path: Path
) -> None:
    given = FAMILIES[family]
    policies = ("my-ts", *COMMON, *given.policies)
    (tmp_path / "my_ts.py").write_text(POLICY)
    (tmp_path / "study.toml").write_text(
        experiment(given.world, policies, 'plugins = ["my_ts.py"]', trials=given.trials)
    )
    words = ("run", "study.toml", "--output=out", f"--shard={SHARD}", "--workers=2")
    total = len(policies) * given.trials // SHARD
    killed_midway(tmp_path, *words, total=total)
    done = run(tmp_path, *words)
    assert done.returncode == 0, done.stderr[-3000:]
    assert len(shards(tmp_path / "out")) == total

    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert given.world_name.replace("-", "") in page.casefold()
    summary = read_json((tmp_path / "out" / "summary.json").read_text())
    assert all(math.isfinite(number) for number in numbers(summary))

    load_plugin(tmp_path / "my_ts.py")
    study = open_study(tmp_path / "out")
    (cell,) = study.cells
    fresh = simulate(
        policies,
        given.world,
        GRAPH,
        horizon=HORIZON,
        trials=given.trials,
        seed=SEED,
        workers=1,
        block=7,
    )
    stored = cell.results(curves=True)
    assert_same_bits(stored, fresh)
    assert all(np.isfinite(stored[name].mean).all() for name in policies)
    assert len(np.unique(stored["ts-n"].final)) > given.trials // 4  # the trials differ
    assert cell.world is not None
    assert cell.posterior is cell.world.prior


def test_killed_run_of_a_plug_in_world_and_posterior_resumes(tmp_path: Path) -> None:
    """The numbers are those of this process; a report needs no plug-in."""
    file = write_plugin(tmp_path / "mine.py")
    text = experiment("my-world(scale=0.5)", COMMON, 'plugins = ["mine.py"]')
    (tmp_path / "study.toml").write_text(text + '\nposterior = "my-beta(a=2, limit=3)"\n')
    words = ("run", "study.toml", "--output=out", f"--shard={SHARD}", "--workers=2")
    killed_midway(tmp_path, *words, total=len(COMMON) * TRIALS // SHARD)
    done = run(tmp_path, *words)
    assert done.returncode == 0, done.stderr[-3000:]

    (cell,) = open_study(tmp_path / "out").cells
    assert cell.world is None  # its plug-in is not loaded, and the results are readable
    stored = cell.results(curves=True)
    load_plugin(file)
    how: dict[str, Any] = {"horizon": HORIZON, "trials": TRIALS, "seed": SEED}
    how |= {"posterior": "my-beta(a=2, limit=3)"}
    fresh = simulate(COMMON, "my-world(scale=0.5)", GRAPH, workers=1, block=11, **how)
    assert_same_bits(stored, fresh)
    (cell,) = open_study(tmp_path / "out").cells
    assert cell.world is not None
    assert cell.posterior is not None
    assert (cell.world.scale, cell.posterior.limit) == (0.5, 3)  # type: ignore[attr-defined]
    assert cell.posterior.table == ((1, 2), (3.5, math.inf))  # type: ignore[attr-defined]
    assert set(cell.posterior.a) == {2.0}  # type: ignore[attr-defined]
    again = run(tmp_path, "report", "out", "--output=again.html")
    assert again.returncode == 0, again.stderr[-3000:]


def test_workers_give_the_bits_of_this_thread_for_every_family(tmp_path: Path) -> None:
    """In processes, with a posterior of its own."""
    load_plugin(write_plugin(tmp_path / "mine.py"))
    models = [(given.world, given.other_posterior) for given in FAMILIES.values()]
    models += [(given.world, None) for given in FAMILIES.values()]
    models += [("my-world(scale=0.5)", "my-beta(a=2, limit=3)"), ("my-world", None)]
    plans = [
        Plan.of(COMMON, world, GRAPH, horizon=15, trials=6, seed=3, posterior=posterior)
        for world, posterior in models
    ]
    tasks = tasks_of(plans)
    expected = alone(tasks)
    assert len(expected) == 2 * len(COMMON) * len(models)
    with ProcessExecutor(2) as executor:
        assert computed(executor, tasks) == expected


@pytest.mark.parametrize("family", FAMILIES)
def test_saved_agent_of_every_family_continues_bit_for_bit(family: str, tmp_path: Path) -> None:
    given = FAMILIES[family]
    for policy in (*COMMON, *given.policies):
        agent = Agent(policy, 3, GRAPH, seed=2, posterior=given.posterior, horizon=60)
        play(agent, given, 10)
        left_open = agent.decide()
        other = reopened(agent, tmp_path)
        assert other.pending == (left_open.id,)
        for one in (agent, other):
            one.observe(left_open.id, {left_open.arm: given.rewards[0]})
        assert play(agent, given, 15) == play(other, given, 15)
        for name, values in agent._state.policy_state.items():
            assert values.tobytes() == other._state.policy_state[name].tobytes(), (policy, name)


def play(agent: Agent, family: Family, rounds: int) -> list[tuple[Any, ...]]:
    """Make decisions and observe rewards of the family in turns; return the decisions."""
    made = []
    for _ in range(rounds):
        decision = agent.decide()
        made.append(facts(decision))
        choices = family.rewards
        agent.observe(
            decision,
            {arm: choices[(decision.number + int(arm)) % len(choices)] for arm in decision.reveals},
        )
    return made


@each("family", FAMILIES)
def test_refused_reward_leaves_the_agent_unchanged(family: str) -> None:
    given = FAMILIES[family]
    agent = Agent("ts-n", 3, GRAPH, seed=2, posterior=given.posterior)
    decision = agent.decide()
    before = {name: values.copy() for name, values in agent._state.policy_state.items()}
    for bad in given.bad_rewards:
        refused(lambda bad=bad: agent.observe(decision, {decision.arm: bad}))
        assert agent.pending == (decision.id,)
        after = agent._state.policy_state
        assert all((after[name] == values).all() for name, values in before.items())
    agent.observe(decision, {decision.arm: given.rewards[0]})
    assert agent.pending == ()


# Audit, bounds and joint gains ------------------------------------------------------------------


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("family", FAMILIES)
def test_audit_and_bounds_run_only_where_they_are_proved(family: str, place: Path) -> None:
    given = FAMILIES[family]
    text = experiment(given.world, ("ts-n", "ids-n")).replace(f"horizon = {HORIZON}", "horizon = 5")
    (place / "study.toml").write_text(text)
    audit = ["audit", "study.toml", "--trials=4"]
    simulated = ["simulate", "--policy=ts-n", f"--graph={GRAPH}", f"--world={given.world}"]
    simulated += ["--horizon=5", "--trials=3", "--bounds"]
    bounds = answer(*simulated)["bounds"]
    assert bool(bounds) == given.bounds
    if given.bounds:
        assert answer(*audit)["holds"] is True
    else:
        constant = family != "bernoulli-switch"
        reason = f"the posterior '{given.posterior_name}'" if constant else "the means of the arms"
        assert reason in refused_command(place, audit)


@pytest.mark.parametrize("family", [name for name in FAMILIES if not FAMILIES[name].joint])
def test_joint_gain_without_information_is_refused_in_one_line(family: str, place: Path) -> None:
    given = FAMILIES[family]
    named = (f"'{given.posterior_name}' has no method 'information'", "gain=bound")
    size = {"graph": GRAPH, "horizon": 5, "trials": 2}
    refused(lambda: simulate("ids-n(gain=joint)", given.world, **size), *named)
    refused(lambda: simulate("ts-n", given.world, ratios="joint", **size), *named)
    refused(lambda: Agent("ids-n(gain=joint)", 3, GRAPH, seed=1, posterior=given.posterior), *named)
    simulated = ["simulate", f"--graph={GRAPH}", f"--world={given.world}"]
    simulated += ["--horizon=5", "--trials=3"]
    for words in (
        ["--policy=ids-n(gain=joint)"],
        ["--policy=ts-n", "--ratios=joint", "--output=out"],
    ):
        message = refused_command(place, [*simulated, *words])
        assert all(word in message for word in named)


@each("family", FAMILIES)
def test_ratios_with_the_bound_are_recorded_for_every_family(family: str) -> None:
    given = FAMILIES[family]
    results = simulate("ids-n", given.world, GRAPH, horizon=6, trials=5, ratios="bound", workers=1)
    ratios = results["ids-n"].ratios
    assert ratios is not None
    sums = ratios.ratio_sum
    assert np.isfinite(sums).all()
    assert (np.diff(sums, axis=-1) >= 0.0).all()


# Bad input --------------------------------------------------------------------------------------


def bad_options() -> Iterator[tuple[list[str], list[str]]]:
    """Yield options of ``simulate`` in three arms, and words of their messages."""
    for given in FAMILIES.values():
        for kind, text in (("world", given.world_name), ("posterior", given.posterior_name)):
            for parameters in given.bad_parameters:
                key, named = (
                    parameters.partition("=")[0],
                    {"values": "must be", "weights": "weight"},
                )
                world = () if kind == "world" else (f"--world={given.world}",)
                yield [*world, f"--{kind}={text}({parameters})"], [named.get(key, key)]
            more = () if kind == "world" else (f"--world={given.world}",)
            named = [f"'{text}' has no parameter 'colour'"]
            yield [*more, f"--{kind}={text}(colour=1)"], named
        world = f"--world={given.world}"
        unknown = given.posterior_name[:-1]
        yield from (
            ([f"--world={given.world_name[:-1]}"], [f"unknown world '{given.world_name[:-1]}'"]),
            ([world, f"--posterior={unknown}"], [f"unknown posterior '{unknown}'"]),
            ([world, f"--means={given.bad_means}"], ["fixed means must be"]),
            ([world, "--means=0.5,0.5"], ["one finite number", "the 3 arms"]),
            ([world, "--means=a,b,c"], ["'--means'", "'a,b,c'"]),
            ([world, "--prior=colour=1"], ["no parameter 'colour'"]),
            ([world, "--prior=1,1", "--prior=1,1"], ["prior", "each of the 3 arms"]),
            ([world, "--means=0.5,0.5,0.5", "--arms=4"], ["one finite number", "the 4 arms"]),
        )
    gaussian, beta = FAMILIES["gaussian"], FAMILIES["bernoulli"]
    named = ["'beta-bernoulli' does not fit the world 'gaussian'", "'normal'"]
    yield [f"--world={gaussian.world}", f"--posterior={beta.posterior}"], named
    yield ["--world="], ["world ''"]
    yield ["--posterior="], ["posterior ''"]
    yield ["--world=gaussian("], ["'gaussian('"]
    yield ["--world=gaussian(1)"], ["key=value"]
    yield ["--prior="], ["two numbers"]


SIMULATE = ["simulate", "--policy=uniform", f"--graph={GRAPH}", "--horizon=3", "--trials=2"]


def test_bad_models_are_refused_in_one_line(place: Path) -> None:
    for number, (options, words) in enumerate(bad_options()):
        message = refused_command(place, [*SIMULATE, *options])
        missing = [word for word in words if word not in message]
        assert not missing, (options, message)
        if number % 10 == 0:
            assert refused_command(place, [*SIMULATE, "--json", *options]) == message


# Combined results -------------------------------------------------------------------------------


@pytest.fixture
def plugin(tmp_path: Path) -> Callable[[str], Path]:
    """Return a function that loads the plug-in file, with more text at its end."""

    def load(more: str = "") -> Path:
        file = tmp_path / "mine.py"
        unload_plugin(file)
        load_plugin(write_plugin(file, more))
        return file

    return load


def small(world: object, seed: int, **how: Any) -> Results:
    size: dict[str, Any] = {"horizon": 4, "trials": 3, "workers": 1} | how
    return simulate("ts-n", world, "star", arms=3, seed=seed, **size)  # type: ignore[arg-type]


def test_results_of_different_worlds_of_a_plug_in_are_not_combined(
    plugin: Callable[..., Path],
) -> None:
    plugin()
    one, other = small("my-world(scale=1)", 1), small("my-world(scale=0.1)", 2)
    refused(lambda: Results.concat([one, other]), "scale")
    refused(lambda: Results.concat([one, small("bernoulli", 2)]), "world")
    refused(lambda: Results.concat([one, small("my-world", 2, posterior="my-beta(a=3)")]))
    together = Results.concat([one, small("my-world(scale=1)", 2)])
    assert together.trials == 6
    assert (together["ts-n"].final[:3] == one["ts-n"].final).all()


def test_results_of_different_sources_of_a_world_are_not_combined(
    plugin: Callable[..., Path],
) -> None:
    plugin()
    one = small("my-world", 1)
    plugin("\nMORE = 1\n")
    refused(lambda: Results.concat([one, small("my-world", 2)]), "world_source")
    plugin()
    assert Results.concat([one, small("my-world", 2)]).trials == 6


@each("family", FAMILIES)
def test_results_of_a_family_are_combined_only_if_the_parameters_are_equal(family: str) -> None:
    given = FAMILIES[family]
    one = small(given.world, 1)
    assert Results.concat([one, small(given.world, 2)]).trials == 6
    refused(lambda: Results.concat([one, small(given.other_world, 2)]))
    refused(
        lambda: Results.concat([one, small(given.world, 2, posterior=given.other_posterior)]),
        "posterior",
    )


def test_results_of_a_world_that_is_not_registered_are_not_combined() -> None:
    """The world of the report of this bug: a class that is not registered."""

    class Scaled:
        """Bernoulli arms with means times a scale; no dataclass, and no registered name."""

        def __init__(self, scale: float) -> None:
            from graphbandits import Bernoulli, BetaBernoulli

            self.scale, self._base = scale, Bernoulli(BetaBernoulli.of(3))

        arms = 3

        @property
        def prior(self) -> Any:
            return self._base.prior

        def means(self, keys: Any) -> Any:
            return self.scale * self._base.means(keys)

        def outcomes(self, *given: Any) -> Any:
            return self._base.outcomes(*given)

    one = small(Scaled(1.0), 1)
    refused(lambda: Results.concat([one, small(Scaled(0.1), 2)]), "register", "the world")


def test_stored_worlds_of_an_edited_plug_in_are_read_as_unknown(
    plugin: Callable[..., Path], tmp_path: Path
) -> None:
    """A changed constructor must not make the results unreadable."""
    file = plugin()
    (tmp_path / "study.toml").write_text(
        experiment("my-world(scale=0.5)", ("ts-n",)).replace(f"trials = {TRIALS}", "trials = 4")
    )
    plans = load_experiment(str(tmp_path / "study.toml")).plans()
    assert isinstance(plans[0], Plan)
    from graphbandits.study.run import run_plan

    run_plan(plans[0], tmp_path / "out", title="T", rerun="", bounds=False, workers=1)
    assert Directory.open(tmp_path / "out")
    file.write_text(file.read_text().replace("scale: float = 1.0", "size: float = 1.0"))
    load_plugin(file)
    (cell,) = open_study(tmp_path / "out").cells
    assert cell.world is None
    assert cell.results().trials == 4
