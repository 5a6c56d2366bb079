"""What reviewers found, each as the fact that would have shown it."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from helpers.mutant_policies import AtRandom
from helpers.valid_policies import UCB, enrolled

from graphbandits import Agent, Bernoulli, BetaBernoulli, simulate
from graphbandits.errors import GraphError, InputError, NeedsError, PolicyError
from graphbandits.experiments import load_experiment
from graphbandits.graphs import from_matrix
from graphbandits.plugins import load_plugin, unload_plugin
from graphbandits.policies import Event, Needs, View
from graphbandits.registry import examples_of
from graphbandits.rng import Keys
from graphbandits.testing import Case, contract
from graphbandits.types import Floats, State

SIZE: dict[str, Any] = {"graph": "paper", "horizon": 20, "trials": 6, "seed": 3, "progress": False}


@dataclass(frozen=True)
class Rewrites(AtRandom):
    """Tells the engine that it played the best arm."""

    def update(self, state: State, event: Event) -> State:
        event.action[:] = 2
        return super().update(state, event)


def test_a_policy_cannot_rewrite_its_regret() -> None:
    world = Bernoulli(BetaBernoulli.of(5), fixed=[0.1, 0.1, 0.9, 0.1, 0.1])
    honest, cheat = simulate([AtRandom(), Rewrites()], world, **SIZE).policies.values()
    assert (honest.final == cheat.final).all()
    assert (honest.plays == cheat.plays).all()


def test_the_prior_is_not_for_writing() -> None:
    prior = BetaBernoulli.of(3)
    with pytest.raises(ValueError, match="read-only"):
        prior.a[0] = 7.0


@dataclass(frozen=True)
class Exits(UCB):
    """Ends the program."""

    def propose(self, state: State, view: View) -> Floats:
        sys.exit(0)


def test_a_policy_that_exits_fails() -> None:
    with pytest.raises(PolicyError, match=r"in round 1, in propose.*SystemExit"):
        simulate(Exits(), **SIZE)
    with enrolled("policy", [Exits]):
        (simplex,) = (one for one in contract("policy") if one.name == "simplex")
        assert Case(simplex, Exits()).verdict().outcome == "broken"


@pytest.mark.parametrize("given", [[], [UCB()], "no list", None])
def test_examples_are_one_or_more_of_the_class(given: object) -> None:
    @dataclass(frozen=True)
    class Shy(UCB):
        """Has no example."""

        @classmethod
        def examples(cls) -> Any:
            return given

    with pytest.raises(InputError, match="examples"):
        examples_of(Shy)


SOURCE = '''
from dataclasses import dataclass
from typing import ClassVar
import numpy as np
from graphbandits.policies import Needs
from graphbandits.registry import register

@register("policy", "edited")
@dataclass(frozen=True)
class Edited:
    """Plays one arm."""
    labels: tuple = ()
    cap: float = 1.0
    needs: ClassVar[Needs] = Needs()
    exact: ClassVar[bool] = True
    def init(self, problem, keys):
        return {"least": np.full((keys.trials, problem.arms), np.inf)}
    def propose(self, state, view):
        pi = np.zeros((view.keys.trials, view.problem.arms))
        pi[:, ARM] = 1.0
        return pi
    def update(self, state, event):
        return state
'''


def test_a_file_that_was_edited_and_not_loaded_again_is_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "edited.py"
    file.write_text(SOURCE.replace("ARM", "0"))
    before = load_plugin(file).source
    try:
        run = simulate("edited", **SIZE)
        file.write_text(SOURCE.replace("ARM", "1"))
        again = simulate("edited", **SIZE)
        assert (run["edited"].final == again["edited"].final).all()
        assert again.settings["policies"]["edited"]["source"] == before
        apart = simulate("edited", **SIZE, workers=2, block=3)
        assert (run["edited"].final == apart["edited"].final).all()
        assert load_plugin(file).source != before
        assert (simulate("edited", **SIZE)["edited"].final != run["edited"].final).any()
    finally:
        unload_plugin(file)


def test_agents_keep_awkward_parameters_and_infinite_states(tmp_path: Path) -> None:
    file = tmp_path / "edited.py"
    file.write_text(SOURCE.replace("ARM", "0"))
    load_plugin(file)
    try:
        agent = Agent("edited(labels=[a, 'b c'], cap=inf)", arms=3, seed=1)
        copy = Agent.load(agent.save(tmp_path / "agent.npz"))
        assert copy.policy == agent.policy
        assert copy.policy.labels == ("a", "b c")  # type: ignore[attr-defined]
        assert copy.state == agent.state
    finally:
        unload_plugin(file)


@dataclass(frozen=True)
class Stumbles(UCB):
    """Counts, and then fails."""

    def update(self, state: State, event: Event) -> State:
        super().update(state, event)
        raise RuntimeError("after the counting")


def test_an_update_that_fails_has_taught_nothing() -> None:
    agent = Agent(Stumbles(), arms=3, seed=1)
    before = agent.state
    decision = agent.decide()
    for _ in range(3):
        with pytest.raises(PolicyError, match="after the counting"):
            agent.observe(decision, {decision.arm: 1})
    assert agent.state == before
    assert agent.pending == (1,)


class HalfBeta(BetaBernoulli):
    """As Beta-Bernoulli, of a plug-in's own."""


def test_an_agent_keeps_the_posterior_it_was_given() -> None:
    agent = Agent("ts-n", arms=2, seed=1, prior=HalfBeta(np.array([1.0, 2.0]), np.ones(2)))
    assert type(agent.posterior) is HalfBeta
    with pytest.raises(InputError, match="not registered"):
        agent.save("never.npz")


@dataclass(frozen=True)
class OddRecipe:
    """Makes what it is told to."""

    what: str

    def process(self, arms: int | None) -> Any:
        if self.what == "raises":
            raise ValueError("no such thing")
        return np.eye(3) if self.what == "matrix" else OddProcess()


@dataclass(frozen=True)
class OddProcess:
    arms: int = 3
    names: None = None
    deterministic: bool = True
    rounds: None = None

    def round(self, t: int, keys: Keys) -> Any:
        if t == 3:
            raise ZeroDivisionError("in the third")
        return from_matrix(np.eye(3)).feedback


@pytest.mark.parametrize(
    ("what", "kind", "words"),
    [
        ("raises", InputError, "failed: ValueError: no such thing"),
        ("matrix", InputError, "made ndarray, which has no arms"),
        ("round", GraphError, r"failed in round 3: .*ZeroDivisionError: in the third"),
    ],
)
def test_graphs_of_plug_ins_fail_with_their_place(what: str, kind: Any, words: str) -> None:
    with pytest.raises(kind, match=words):
        simulate("ts-n", **(SIZE | {"graph": OddRecipe(what)}))


def test_what_a_policy_lacks_is_said_before_it_runs() -> None:
    class Bare:
        def init(self, *args: object) -> None: ...
        def propose(self, *args: object) -> None: ...
        def update(self, *args: object) -> None: ...

    with pytest.raises(InputError, match="has no needs, no exact"):
        simulate(Bare(), **SIZE)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="did you mean 'never'"):
        Needs(graph="nevr")


@dataclass(frozen=True)
class Curious(UCB):
    """Asks for what it has not declared."""

    def propose(self, state: State, view: View) -> Floats:
        view.graph  # noqa: B018
        return super().propose(state, view)


def test_a_refused_question_names_the_policy_and_the_round() -> None:
    with pytest.raises(NeedsError, match="policy 'Curious' in round 1, in propose: this policy"):
        simulate([UCB(), Curious()], **SIZE)


@dataclass(frozen=True)
class Mixed(UCB):
    """With eps = 1 it is uniform, and only then."""

    eps: float = 0.0
    excuses: ClassVar[dict[str, str]] = {"beats-uniform": "uniform with eps = 1"}

    @classmethod
    def examples(cls) -> list[Mixed]:
        return [cls(), cls(eps=1.0)]

    def propose(self, state: State, view: View) -> Floats:
        pi = super().propose(state, view)
        return (1.0 - self.eps) * pi + self.eps / view.problem.arms


def test_an_excuse_is_needed_if_one_example_needs_it() -> None:
    (check,) = (one for one in contract("policy") if one.name == "beats-uniform")
    with enrolled("policy", [Mixed]):
        outcomes = [Case(check, example).verdict().outcome for example in Mixed.examples()]
    assert outcomes == ["kept", "excused"]


def test_an_experiment_finds_its_graph_beside_itself(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("source,target\nann,bob\n")
    for graph in ("file:edges.csv", "file(path=edges.csv, directed=false)"):
        text = f'title = "T"\ngraph = "{graph}"\nhorizon = 3\ntrials = 2\npolicies = ["ts-n"]\n'
        (tmp_path / "study.toml").write_text(text)
        plan = load_experiment(tmp_path / "study.toml").plan()
        assert plan.process.names == ("ann", "bob")


@pytest.mark.parametrize("name", ["none", "json", "random", "true"])
def test_a_new_policy_of_an_awkward_name_works(tmp_path: Path, name: str) -> None:
    def command(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "graphbandits", *words],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )

    assert command("new", "policy", name).returncode == 0
    (file,) = tmp_path.glob("*.py")
    done = command("check", file.name, "--only", "form", "--only", "block-workers-order")
    assert "2 promises: 2 kept" in done.stdout, done.stdout + done.stderr


def test_a_plug_in_that_uses_another_travels_with_it(tmp_path: Path) -> None:
    (tmp_path / "inner.py").write_text(SOURCE.replace("ARM", "1").replace("edited", "inner"))
    outer = textwrap.dedent(
        '''
        from dataclasses import dataclass
        from typing import ClassVar
        from graphbandits.policies import Needs, as_policy
        from graphbandits.registry import register

        @register("policy", "outer")
        @dataclass(frozen=True)
        class Outer:
            """As another."""
            inner: str = "inner"
            needs: ClassVar[Needs] = Needs()
            exact: ClassVar[bool] = True
            def init(self, problem, keys):
                return as_policy(self.inner).init(problem, keys)
            def propose(self, state, view):
                return as_policy(self.inner).propose(state, view)
            def update(self, state, event):
                return state
        '''
    )
    (tmp_path / "outer.py").write_text(outer)
    try:
        for name in ("inner", "outer"):
            load_plugin(tmp_path / f"{name}.py")
        alone = simulate("outer", **SIZE)
        apart = simulate("outer", **SIZE, workers=2, block=3, parallel="processes")
        assert (alone["outer"].final == apart["outer"].final).all()
    finally:
        for name in ("inner", "outer"):
            unload_plugin(tmp_path / f"{name}.py")
