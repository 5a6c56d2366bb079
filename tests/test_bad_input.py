"""Bad input through Python: one line that says what was given and what is allowed, no harm done."""

import gc
import json
import math
import os
import re
import shutil
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

import networkx
import numpy as np
import pytest
from helpers.recorded_runs import able
from typer.testing import CliRunner

from graphbandits import (
    Agent,
    Bernoulli,
    BetaBernoulli,
    Results,
    as_process,
    check_plugins,
    new_policy,
    open_study,
    simulate,
)
from graphbandits.cli import app
from graphbandits.engine import Plan
from graphbandits.errors import GraphBanditsError, InputError
from graphbandits.files import write_bytes
from graphbandits.graphs import Dense, Sparse, Uniform
from graphbandits.plugins import unload_plugin
from graphbandits.policies import Event, Needs, Problem, View
from graphbandits.results import FORMAT
from graphbandits.rng import Keys
from graphbandits.types import Floats, State

NAN, INF = math.nan, math.inf
ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
LINUX = sys.platform.startswith("linux")
FIXTURES = Path(__file__).parent / "fixtures"


def refused(call: Callable[[], object], *words: str) -> str:
    """The message with which a call is refused: one line that has all the words."""
    with pytest.raises(GraphBanditsError) as caught:
        call()
    message = str(caught.value)
    assert message.strip()
    assert len(message.splitlines()) == 1
    missing = [word for word in words if word not in message]
    assert not missing, f"{missing} not in: {message}"
    return message


def label(value: object) -> str:
    """What was given, without addresses: the same in every process."""
    return re.sub(r"<(\w+\.)*(\w+) object at \w+>", r"\2", repr(value))


def tree(place: Path) -> dict[str, bytes | None]:
    """Every path below a directory, with the content of the files."""
    return {
        str(path.relative_to(place)): path.read_bytes() if path.is_file() else None
        for path in sorted(place.rglob("*"))
    }


# --- graphs -----------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [np.array, list], ids=["array", "list"])
@pytest.mark.parametrize(
    ("matrix", "words"),
    [
        ([[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]], ["square", "(2, 3)"]),
        ([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]], ["square", "(3, 2)"]),
        ([[1.0, 1.5], [0.0, 1.0]], ["[0, 1]", "1.5"]),
        ([[1.0, 0.0], [-0.25, 1.0]], ["[0, 1]", "-0.25"]),
        ([[1.0, NAN], [0.0, 1.0]], ["[0, 1]", "nan"]),
        ([[1.0, INF], [0.0, 1.0]], ["[0, 1]", "inf"]),
        ([[NAN, 0.0], [0.0, 1.0]], ["[0, 1]", "nan"]),
        ([[1.0, 0.0], [0.0, 0.5]], ["diagonal", "ones", "(1, 1)", "0.5"]),
        ([[0.0, 1.0], [1.0, 0.0]], ["diagonal", "ones", "(0, 0)", "0"]),
        ([[1.0, "often"], [0.0, 1.0]], ["[0, 1]"]),
        ([[1.0, 0.5j], [0.0, 1.0]], ["[0, 1]"]),
    ],
)
def test_matrices(form: Callable[[Any], Any], matrix: list[list[Any]], words: list[str]) -> None:
    given = form(matrix)
    message = refused(lambda: as_process(given), *words)
    assert refused(lambda: simulate("ts-n", graph=given, horizon=2, trials=2)) == message
    assert refused(lambda: Agent("ts-n", graph=given, seed=1)) == message


def test_the_entry_of_a_matrix_is_named_by_its_row_and_column() -> None:
    refused(lambda: as_process(np.array([[1.0, 1.5], [0.0, 1.0]])), "(0, 1)")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([[1.0, 0.0], [0.0]], ["matrix", "rows"]),
        (np.ones(3), ["square", "(3,)"]),
        (np.ones((0, 0)), ["(0, 0)"]),
        (np.ones((2, 2, 2)), ["one K x K matrix", "2"]),
        (5, ["int", "matrix"]),
        (None, ["NoneType", "matrix"]),
        ([], ["list"]),
        ("sta", ["unknown graph 'sta'", "'star'"]),
        ("star(way=in)", ["no parameter 'way'", "direction"]),
        ([np.eye(2), np.eye(3)], ["2", "3", "arms"]),
        (networkx.Graph(), ["no nodes"]),
        (Path("no/such/file"), ["no/such/file", "No such file"]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_graph(given: object, words: list[str]) -> None:
    refused(lambda: as_process(given), *words)


# --- priors -----------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [0, -1, NAN, INF, -INF, 1e-300, 1e-4, 9e-4, 1.1e9, 2e9, 1e300])
@pytest.mark.parametrize("place", [0, 1])
def test_beta_parameters_out_of_range(value: float, place: int) -> None:
    good, bad = [1.0, 2.0], [1.0, value]
    a, b = (bad, good) if place == 0 else (good, bad)
    words = ["Beta parameter", "from 0.001 to 1e+09", f"not {value:g}"]
    refused(lambda: BetaBernoulli(np.array(a), np.array(b)), *words)
    refused(lambda: Agent("ids-n", 2, prior=list(zip(a, b, strict=True)), seed=1), *words)
    pair = (a[1], b[1])
    refused(lambda: Agent("ids-n", 2, prior=pair, seed=1), *words)
    refused(lambda: BetaBernoulli.of(2, *pair), *words)


@pytest.mark.parametrize("pair", [(1e-3, 1e-3), (1e9, 1e9), (1e-3, 1e9), (1e9, 1e-3)])
def test_the_ends_of_the_range_are_in_it(pair: tuple[float, float]) -> None:
    """Equal arms: alpha is 1/3, whatever they are."""
    for accuracy in ("simulation", "strict"):
        agent = Agent("ts-n", 3, prior=pair, seed=1, accuracy=accuracy)
        assert list(agent.decide().pi.values()) == pytest.approx([1 / 3] * 3, abs=1e-10)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: BetaBernoulli([1.0, 1.0], [1.0]), ["(2,)", "(1,)", "each arm"]),
        (lambda: BetaBernoulli([[1.0]], [[1.0]]), ["(1, 1)", "each arm"]),
        (lambda: BetaBernoulli(["x"], [1.0]), ["number", "x"]),
        (lambda: BetaBernoulli([], []), ["arm"]),
        (lambda: BetaBernoulli.of(0), ["arms", "at least 1", "0"]),
        (lambda: BetaBernoulli.of(2.5), ["arms", "whole number", "2.5"]),
        (lambda: BetaBernoulli.of(2, a="x"), ["number", "x"]),
        (lambda: BetaBernoulli.of(2, b="1"), ["number", "'1'"]),
        (lambda: BetaBernoulli([1.0], [2.0], "exact"), ["'simulation' or 'strict'", "'exact'"]),
        (lambda: BetaBernoulli([1.0], [2.0], None), ["'simulation' or 'strict'", "None"]),
        (lambda: Agent("ids-n", 3, prior=BetaBernoulli.of(4), seed=1), ["4", "3", "arms"]),
        (lambda: Agent("ids-n", 3, prior=[(1, 1), (2, 2)], seed=1), ["pair", "3 arms"]),
        (lambda: Agent("ids-n", 3, prior=(1, 2, 3), seed=1), ["pair", "(1, 2, 3)"]),
        (lambda: Agent("ids-n", 3, prior="flat", seed=1), ["pair", "'flat'"]),
        (lambda: Agent("ids-n", 3, prior=2.0, seed=1), ["pair", "2.0"]),
        (lambda: Agent("ids-n", 3, prior=(2.0,), seed=1), ["pair", "(2.0,)"]),
        (lambda: Agent("ids-n", 3, prior=[[2.0], [3.0], [4.0]], seed=1), ["pair"]),
        (lambda: Agent("ids-n", 3, prior=None, seed=1), ["pair", "None"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_is_no_prior(call: Callable[[], object], words: list[str]) -> None:
    refused(call, *words)


# --- agents -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"arms": ["ann", "bob"], "graph": "paper"}, ["5 arms", "2"]),
        ({"arms": 4, "graph": "paper"}, ["5 arms", "4"]),
        ({"arms": ["ann", "bob", "ann"]}, ["'ann'", "differ"]),
        ({"arms": ["ann", "bob"], "graph": np.eye(3)}, ["3", "2"]),
        ({"arms": ["ann", "eve"], "graph": networkx.path_graph(["ann", "bob"])}, ["'eve'", "bob"]),
        ({"arms": 0}, ["arms", "at least 1", "0"]),
        ({"arms": -1}, ["arms", "at least 1", "-1"]),
        ({"arms": True}, ["arms", "whole number", "True"]),
        ({"arms": 2.5}, ["arms", "2.5"]),
        ({"arms": []}, ["arms", "at least 1", "0"]),
        ({"arms": [["ann"], ["bob"]]}, ["name", "['ann']"]),
        ({"policy": "ids-m"}, ["unknown policy 'ids-m'", "did you mean 'ids-n'"]),
        ({"policy": "ids-n(x=1)"}, ["'ids-n'", "no parameter 'x'"]),
        ({"policy": None}, ["policy", "None"]),
        ({"policy": ["ids-n"]}, ["policy", "ids-n"]),
        ({"graph": "sta"}, ["unknown graph 'sta'", "did you mean 'star'"]),
        ({"graph": None}, ["graph", "NoneType"]),
        ({"seed": -1}, ["seed", "at least 0", "-1"]),
        ({"seed": 1.5}, ["seed", "whole number", "1.5"]),
        ({"seed": None}, ["seed", "whole number", "None"]),
        ({"horizon": 0}, ["horizon", "at least 1", "0"]),
        ({"horizon": 2.5}, ["horizon", "whole number", "2.5"]),
        ({"trial": -1}, ["trial", "at least 0", "-1"]),
        ({"accuracy": "high"}, ["'simulation' or 'strict'", "'high'"]),
        ({"accuracy": 1e-8}, ["'simulation' or 'strict'", "1e-08"]),
        ({"accuracy": ["strict"]}, ["'simulation' or 'strict'", "['strict']"]),
    ],
    ids=label,
)
def test_agents_that_cannot_be(change: dict[str, Any], words: list[str]) -> None:
    given: dict[str, Any] = {"policy": "ids-n", "arms": 3, "graph": "star", "seed": 1}
    refused(lambda: Agent(**(given | change)), *words)


@pytest.mark.parametrize("names", [[1, 2, 3], ["ann", 2, "eve"], [2, "ann", "eve"], [2.5, 3.5]])
def test_names_that_are_no_text_are_refused_or_survive(names: list[Any], tmp_path: Path) -> None:
    with suppress(GraphBanditsError):
        agent = Agent("ids-n", names, "star", seed=1)
        assert Agent.load(agent.save(tmp_path / "agent.npz")).arms == tuple(names)


@pytest.fixture
def agent() -> Agent:
    """Three named arms; 'bob' shows 'eve', and nothing else shows anything."""
    matrix = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.5], [0.0, 0.0, 1.0]])
    agent = Agent("ids-n", ["ann", "bob", "eve"], matrix, seed=1, prior=[(1, 9), (9, 1), (1, 9)])
    assert agent.decide().arm == "bob"
    return agent


def everything(agent: Agent, place: Path) -> bytes:
    """All that an agent is, as it is saved."""
    return agent.save(place / "everything.npz").read_bytes()


@pytest.mark.parametrize(
    "reward",
    [
        *[0.5, 2, -1, NAN, INF, "x", "1", None, [1], 1j, np.array([1, 0]), np.array([]), {}],
        *[1 + 0j, np.complex128(1), np.timedelta64(1, "s"), np.timedelta64(1), b"1", np.str_("1")],
        *[Decimal("sNaN"), Decimal("0.5"), Fraction(1, 2), 10**400, np.array(1)],
    ],
    ids=label,
)
def test_rewards_outside_the_model_change_nothing(
    agent: Agent, tmp_path: Path, reward: Any
) -> None:
    before = everything(agent, tmp_path)
    refused(lambda: agent.observe(1, {"bob": reward}), "0 or 1")
    refused(lambda: agent.observe(1, {"bob": 1, "eve": reward}), "0 or 1")
    assert agent.pending == (1,)
    assert everything(agent, tmp_path) == before


@pytest.mark.parametrize(
    "one", [1, 1.0, True, np.bool_(True), np.int8(1), np.float16(1), Decimal(1), Fraction(1)]
)
def test_a_number_of_any_type_is_a_reward(agent: Agent, one: Any) -> None:
    agent.observe(1, {"bob": one, "eve": type(one)(0)})
    assert agent.state["a"] == {"ann": 1.0, "bob": 10.0, "eve": 1.0}
    assert agent.state["b"] == {"ann": 9.0, "bob": 1.0, "eve": 10.0}


@pytest.mark.parametrize("reward", [0.5, 2, NAN, "x"])
def test_the_reward_is_in_the_message(agent: Agent, reward: Any) -> None:
    refused(lambda: agent.observe(1, {"bob": reward}), repr(reward))


@pytest.mark.parametrize(
    ("rewards", "words"),
    [
        ({"bib": 1}, ["unknown arm 'bib'", "did you mean 'bob'", "ann", "eve"]),
        ({"bob": 1, "nobody": 1}, ["unknown arm 'nobody'", "ann"]),
        ({1: 1}, ["unknown arm 1", "bob"]),
        ({None: 1}, ["unknown arm None", "bob"]),
        ({"ann": 1}, ["'bob'", "does not reveal 'ann'"]),
        ({"bob": 1, "eve": 0, "ann": 1}, ["'bob'", "does not reveal 'ann'"]),
        (None, ["rewards", "None"]),
        ([1, 0], ["rewards", "[1, 0]"]),
        (1, ["rewards", "1"]),
    ],
    ids=label,
)
def test_arms_that_cannot_have_been_seen_change_nothing(
    agent: Agent, tmp_path: Path, rewards: Any, words: list[str]
) -> None:
    before = everything(agent, tmp_path)
    refused(lambda: agent.observe(1, rewards), *words)
    assert agent.pending == (1,)
    assert everything(agent, tmp_path) == before


@pytest.mark.parametrize("number", [0, 2, -1, 99, "1", None, 1.5, [1], True, 1 + 0j], ids=label)
def test_decisions_that_were_never_made(agent: Agent, tmp_path: Path, number: Any) -> None:
    before = everything(agent, tmp_path)
    refused(lambda: agent.observe(number, {"bob": 1}), "decision", repr(number), "open: [1]")
    assert everything(agent, tmp_path) == before


def test_numbers_that_python_does_not_print(agent: Agent) -> None:
    large = 10**5000
    refused(lambda: agent.observe(1, {"bob": large}), "0 or 1", "int")
    refused(lambda: agent.observe(1, {large: 1}), "unknown arm", "int", "bob")
    refused(lambda: agent.observe(large, {"bob": 1}), "decision", "int", "open: [1]")


def test_a_decision_is_observed_once(agent: Agent, tmp_path: Path) -> None:
    second = agent.decide()
    agent.observe(second, {second.arm: 1})
    before = everything(agent, tmp_path)
    for again in (second, second.id):
        refused(lambda again=again: agent.observe(again, {second.arm: 0}), "2", "open: [1]")
    assert agent.pending == (1,)
    assert everything(agent, tmp_path) == before
    agent.observe(1, {"bob": 1})
    refused(lambda: agent.observe(1, {"bob": 1}), "1", "open: none")


def test_an_agent_that_refused_goes_on_as_if_nothing_had_happened(agent: Agent) -> None:
    matrix = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.5], [0.0, 0.0, 1.0]])
    names, prior = ["ann", "bob", "eve"], [(1, 9), (9, 1), (1, 9)]
    other = Agent("ids-n", names, matrix, seed=1, prior=prior)
    other.decide()
    for rewards in ({"bob": 1, "eve": 0.5}, {"bob": 0, "ann": 1}, {"bob": 1, "x": 1}):
        refused(lambda rewards=rewards: agent.observe(1, rewards))
    for one in (agent, other):
        one.observe(1, {"bob": 0, "eve": 1})
    assert agent.decide() == other.decide()


# --- simulations ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "words"),
    [
        *(
            ({name: value}, [name, "whole number", "at least 1", repr(value)])
            for name in ("trials", "horizon", "workers", "block")
            for value in (0, -1, 2.5, True, "3", None)
        ),
        *(({"seed": value}, ["seed", "at least 0", repr(value)]) for value in (-1, 0.5, None)),
        *(
            ({"arms": value, "graph": "star"}, ["arms", "at least 1", repr(value)])
            for value in (0, -1, 2.5, True, "3")
        ),
        ({"arms": 4}, ["'paper'", "5 arms", "4"]),
        ({"regret": "true"}, ["'pseudo'", "'realised'", "'true'"]),
        ({"regret": None}, ["'pseudo'", "'realised'", "None"]),
        ({"policies": "ids-m"}, ["unknown policy 'ids-m'", "did you mean 'ids-n'"]),
        ({"policies": ["ts-n", "idsn"]}, ["unknown policy 'idsn'", "did you mean 'ids-n'"]),
        ({"policies": "ids-n(5)"}, ["ids-n", "'bound'", "'joint'", "not 5"]),
        ({"policies": "ts-n(5)"}, ["ts-n(5)", "key=value"]),
        ({"policies": ["ts-n", "ts-n"]}, ["'ts-n'", "twice"]),
        ({"policies": []}, ["no policy", "ids-n"]),
        ({"policies": None}, ["policy", "None"]),
        ({"policies": 5}, ["policy", "5"]),
        ({"graph": "sta"}, ["unknown graph 'sta'", "did you mean 'star'"]),
        ({"graph": 7}, ["graph", "int"]),
        ({"graph": [np.eye(5)] * 2}, ["2 rounds", "3"]),
        ({"world": Bernoulli(BetaBernoulli.of(4))}, ["5 arms", "4"]),
        ({"world": Bernoulli(BetaBernoulli.of(4)), "arms": 5}, ["5", "4"]),
        ({"world": "bernoulli"}, ["world", "bernoulli"]),
    ],
    ids=label,
)
def test_simulations_that_cannot_be(change: dict[str, Any], words: list[str]) -> None:
    given = {"policies": "ts-n", "graph": "paper", "horizon": 3, "trials": 2}
    refused(lambda: simulate(**(given | change)), *words)


def test_more_trials_than_there_are_numbers_for_are_refused_before_anything_runs() -> None:
    refused(lambda: Plan.of("ts-n", horizon=1, trials=2**32 + 1), "trial", "2**32")


@dataclass(frozen=True)
class Proposes:
    """Proposes the same row in every trial."""

    row: tuple[float, ...]
    needs: ClassVar[Needs] = Needs()
    exact: ClassVar[bool] = True

    def init(self, problem: Problem, keys: Keys) -> State:
        return {}

    def propose(self, state: State, view: View) -> Floats:
        return np.tile(np.array(self.row), (view.keys.trials, 1))

    def update(self, state: State, event: Event) -> State:
        return state


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize(
    ("row", "words"),
    [
        ((0.5, 0.6, 0.0), ["no distribution", "1.1"]),
        ((0.25, 0.25, 0.25), ["no distribution", "0.75"]),
        ((1.5, -0.5, 0.0), ["no distribution", "-0.5"]),
        ((0.0, 0.0, 0.0), ["no distribution", "0"]),
        ((NAN, 0.5, 0.5), ["no distribution", "nan"]),
        ((INF, 0.0, 0.0), ["no distribution", "inf"]),
        ((0.5, 0.5), ["shape", "(2, 2)", "(2, 3)"]),
        ((0.25, 0.25, 0.25, 0.25), ["shape", "(2, 4)", "(2, 3)"]),
    ],
)
def test_a_policy_that_proposes_no_distribution_is_named(
    row: tuple[float, ...], words: list[str], workers: int
) -> None:
    def call() -> Results:
        return simulate(
            Proposes(row), graph="star", arms=3, horizon=4, trials=2 * workers, workers=workers
        )

    refused(call, "Proposes", "round 1", *words)


def test_a_policy_that_proposes_a_distribution_is_not_refused() -> None:
    results = simulate(Proposes((0.0, 1.0, 0.0)), graph="star", arms=3, horizon=4, trials=2)
    assert next(iter(results.policies.values())).plays.tolist() == [0, 8, 0]


def test_a_policy_that_proposes_no_distribution_leaves_the_agent_as_it_was() -> None:
    agent = Agent(Proposes((0.5, 0.6, 0.0)), 3, "star", seed=1)
    for _ in range(2):
        refused(agent.decide, "Proposes", "round 1", "1.1")
        assert agent.pending == ()


def test_an_agent_with_an_unregistered_policy_cannot_be_saved(tmp_path: Path) -> None:
    agent = Agent(Proposes((0.0, 1.0, 0.0)), 3, "star", seed=1)
    refused(lambda: agent.save(tmp_path / "agent.npz"), "Proposes", "not registered", "@register")
    assert tree(tmp_path) == {}


# --- saved results ----------------------------------------------------------------------------

TABLES = ["curve.parquet", "final.parquet", "plays.parquet", "regret.parquet"]


@pytest.fixture(scope="module")
def results() -> Results:
    return simulate(["ts-n", "ids-n"], graph="paper", horizon=3, trials=4, seed=1)


@pytest.fixture
def saved(results: Results, tmp_path: Path) -> Path:
    return results.save(tmp_path / "saved")


def test_results_of_a_place_where_there_are_none(tmp_path: Path) -> None:
    refused(lambda: Results.load(tmp_path / "missing"), str(tmp_path / "missing"), "No such file")
    refused(lambda: Results.load(tmp_path), str(tmp_path), "manifest.json")
    (tmp_path / "file").write_text("x")
    refused(lambda: Results.load(tmp_path / "file"), str(tmp_path / "file"), "Not a directory")


@pytest.mark.parametrize("table", TABLES)
def test_a_missing_table_is_named(saved: Path, table: str) -> None:
    (saved / table).unlink()
    refused(lambda: Results.load(saved), str(saved / table), "missing")


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: b"no table",
        lambda data: b"PAR1 no table PAR1",
        lambda data: data[:-1],
        lambda data: data[: len(data) // 2],
        lambda data: data[:20] + bytes(100) + data[120:],
        lambda data: data[:-200] + bytes(100) + data[-100:],
    ],
    ids=["empty", "text", "magic", "shorter", "half", "zeros", "zeros in the footer"],
)
def test_a_damaged_table_is_named(
    saved: Path, table: str, damage: Callable[[bytes], bytes]
) -> None:
    path = saved / table
    path.write_bytes(damage(path.read_bytes()))
    refused(lambda: Results.load(saved), str(path), "damaged")


@pytest.mark.parametrize("table", TABLES)
def test_the_table_of_other_policies_is_named(saved: Path, table: str) -> None:
    other = simulate("idsn-lp", graph="paper", horizon=3, trials=4).save(saved.parent / "other")
    (saved / table).write_bytes((other / table).read_bytes())
    refused(lambda: Results.load(saved), table)


@pytest.mark.parametrize(("one", "other"), [(0, 1), (1, 2), (2, 0)])
def test_tables_that_changed_places_are_named(saved: Path, one: int, other: int) -> None:
    (saved / TABLES[one]).write_bytes((saved / TABLES[other]).read_bytes())
    refused(lambda: Results.load(saved), str(saved))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no json",
        "[]",
        "null",
        "{}",
        '{"format": "x"}',
        '{"format": null}',
        '{"format": 1}',
        '{"format": 1, "policies": [], "arms": [], "settings": {}}',
        '{"format": 1, "policies": ["nobody"], "arms": ["1"], "settings": {}}',
    ],
)
def test_a_damaged_manifest(saved: Path, text: str) -> None:
    (saved / "manifest.json").write_text(text)
    refused(lambda: Results.load(saved), str(saved))


def test_a_manifest_that_is_not_text(saved: Path) -> None:
    (saved / "manifest.json").write_bytes(b"\xff\xfe\x00")
    refused(lambda: Results.load(saved), str(saved))


def test_results_of_a_newer_format(saved: Path) -> None:
    manifest = json.loads((saved / "manifest.json").read_text())
    number = FORMAT
    (saved / "manifest.json").write_text(json.dumps(manifest | {"format": number + 1}))
    words = [f"format {number + 1}", f"up to {number}", "update", str(saved)]
    refused(lambda: Results.load(saved), *words)
    (saved / "manifest.json").write_text(json.dumps({"format": number + 1}))
    refused(lambda: Results.load(saved), *words)


@pytest.mark.parametrize(
    "files",
    [
        {"thesis.tex": "mine"},
        {"below/thesis.tex": "mine"},
        {"manifest.json": '{"name": "my web page"}', "index.html": "mine"},
        {"manifest.json": "no json"},
        {"curve.parquet": "mine"},
    ],
    ids=lambda files: " ".join(files),
)
def test_what_is_no_results_directory_is_left_untouched(
    results: Results, tmp_path: Path, files: dict[str, str]
) -> None:
    target = tmp_path / "target"
    for name, text in files.items():
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        (target / name).write_text(text)
    before = tree(tmp_path)
    try:
        refused(lambda: results.save(target), str(target), "choose another place")
    finally:
        assert tree(tmp_path) == before


def test_files_that_somebody_put_beside_the_results_are_not_lost(
    results: Results, saved: Path
) -> None:
    (saved / "notes.txt").write_text("mine")
    with suppress(GraphBanditsError):
        results.save(saved)
    assert (saved / "notes.txt").read_text() == "mine"


def test_results_cannot_take_the_place_of_a_file(results: Results, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    before = tree(tmp_path)
    refused(lambda: results.save(tmp_path / "file"), str(tmp_path / "file"))
    refused(lambda: results.save(tmp_path / "file" / "below"), str(tmp_path / "file" / "below"))
    assert tree(tmp_path) == before


def test_what_is_asked_of_results_must_be_in_them(results: Results) -> None:
    refused(lambda: results["ids-lp"], "'ids-lp'", "ts-n", "ids-n")
    refused(lambda: results.interval("ids-lp"), "'ids-lp'", "ts-n")
    refused(lambda: results.differences("ids-lp"), "'ids-lp'", "ts-n")
    for confidence in (0.0, 1.0, 95, -1, NAN):
        refused(
            lambda confidence=confidence: results.interval("ts-n", confidence),
            "confidence",
            "between 0 and 1",
            repr(confidence),
        )


# --- saved agents -----------------------------------------------------------------------------


def change(path: Path, meta: dict[str, Any] | None = None, **arrays: Any) -> None:
    """Change what an agent's file says: entries of its JSON, or arrays."""
    with np.load(path) as file:
        content = dict(file)
    known = json.loads(content["meta"].tobytes()) | (meta or {})
    content["meta"] = np.frombuffer(json.dumps(known).encode(), np.uint8)
    content |= {name.replace("_", "/"): value for name, value in arrays.items()}
    np.savez(path, **content)


@pytest.fixture
def file(agent: Agent, tmp_path: Path) -> Path:
    return agent.save(tmp_path / "agent.npz")


def test_an_agent_that_is_not_there(tmp_path: Path) -> None:
    refused(lambda: Agent.load(tmp_path / "no.npz"), str(tmp_path / "no.npz"), "No such file")
    refused(lambda: Agent.load(tmp_path), str(tmp_path), "directory")


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: b"no agent at all\n",
        lambda data: b"\x80\x04K\x01.",  # a pickle
        lambda data: b"\x93NUMPY",
        lambda data: b"PK\x03\x04",
        lambda data: data[:-1],
        lambda data: data[: len(data) // 2],
        lambda data: data[:300] + bytes(50) + data[350:],
        lambda data: data.replace(b'"policy"', b'"polizy"'),
    ],
    ids=["empty", "text", "pickle", "npy", "zip", "shorter", "half", "zeros", "letter"],
)
def test_garbage_is_no_agent(file: Path, damage: Callable[[bytes], bytes]) -> None:
    file.write_bytes(damage(file.read_bytes()))
    refused(lambda: Agent.load(file), str(file), "no saved agent")
    gc.collect()  # a file left open is a warning, and so an error


def test_a_flipped_bit_is_refused_with_a_message_or_changes_nothing(file: Path) -> None:
    expected = Agent.load(file).decide()
    data = file.read_bytes()
    for i in range(0, 8 * len(data), 37):
        flipped = bytearray(data)
        flipped[i // 8] ^= 1 << i % 8
        file.write_bytes(bytes(flipped))
        with suppress(GraphBanditsError):
            assert Agent.load(file).decide() == expected, i
    gc.collect()  # a file left open is a warning, and so an error


def test_arrays_of_somebody_else_are_no_agent(tmp_path: Path) -> None:
    np.savez(tmp_path / "other.npz", x=np.eye(2))
    refused(lambda: Agent.load(tmp_path / "other.npz"), "other.npz", "no saved agent")
    np.save(tmp_path / "other.npy", np.eye(2))
    refused(lambda: Agent.load(tmp_path / "other.npy"), "other.npy", "no saved agent")


def test_an_agent_of_a_newer_format(file: Path) -> None:
    with np.load(file) as content:
        number = json.loads(content["meta"].tobytes())["format"]
    change(file, {"format": number + 1})
    words = [f"format {number + 1}", f"up to {number}", "update", str(file)]
    refused(lambda: Agent.load(file), *words)
    change(file, {"policy": "of-the-future", "graph": None})
    refused(lambda: Agent.load(file), *words)


@pytest.mark.parametrize(
    "meta",
    [
        {"format": "x"},
        {"format": None},
        {"policy": "of-the-future"},
        {"arms": ["ann", "bob"]},
        {"arms": 4},
        {"graph": None},
        {"graph": {"kind": "Unheard", "fields": {}}},
        {"seed": -1},
        {"horizon": 0},
        {"pending": 5},
        {"pending": [[7, 1]]},
    ],
    ids=label,
)
def test_an_agent_that_does_not_add_up(file: Path, meta: dict[str, Any]) -> None:
    change(file, meta)
    refused(lambda: Agent.load(file))


@pytest.mark.parametrize(
    "arrays",
    [
        {"state_a": np.ones((1, 7))},
        {"state_a": np.ones((2, 3))},
        {"state_a": np.array([[1.0, NAN, 1.0]])},
        {"state_a": np.array([["x", "y", "z"]])},
        {"state_a": np.array([[1.0, 0.0, 1.0]])},
        {"state_b": np.array([[1.0, INF, 1.0]])},
        {"state_b": np.array([[1.0, -1.0, 1.0]])},
        {"state_b": np.array([[1.0, 1.0, 1e11]])},
        {"pending_1": np.ones((1, 3))},
        {"pending_1": np.array([[NAN, 1.0, 0.0]])},
        {"pending_1": np.array([[-1.0, 1.0, 1.0]])},
        {"pending_1": np.array([[0, 1, 0]])},
    ],
    ids=label,
)
def test_a_state_that_does_not_fit_the_agent(file: Path, arrays: dict[str, Any]) -> None:
    change(file, **arrays)
    refused(lambda: Agent.load(file), str(file), "it is damaged")


@pytest.mark.parametrize(
    ("meta", "words"),
    [
        ({"t": 2**70}, ["more than 4294967295 decisions"]),
        ({"t": 1.5}, ["t must be a whole number", "1.5"]),
        ({"t": True}, ["t must be a whole number", "True"]),
        ({"t": -1}, ["t must be a whole number", "-1"]),
        ({"t": 0}, ["open decision 1 does not fit"]),
        ({"pending": [[1, 1.5]]}, ["open decision 1 does not fit"]),
        ({"pending": [[1, True]]}, ["open decision 1 does not fit"]),
        ({"pending": [[1, -1]]}, ["open decision 1 does not fit"]),
        ({"pending": [[1, 3]]}, ["open decision 1 does not fit"]),
        ({"pending": [[1, 2**70]]}, ["open decision 1 does not fit"]),
        ({"pending": [[1, 1], [1, 1]]}, ["open decision 1 does not fit"]),
        ({"pending": [["1", 1]]}, ["open decision '1' does not fit"]),
        ({"pending": [[1]]}, ["no saved agent"]),
    ],
    ids=label,
)
def test_rounds_and_open_decisions_that_cannot_be(
    file: Path, meta: dict[str, Any], words: list[str]
) -> None:
    change(file, meta)
    refused(lambda: Agent.load(file), str(file), *words)


def test_an_agent_at_the_end_of_its_rounds(file: Path) -> None:
    change(file, {"t": 2**32 - 1})
    agent = Agent.load(file)
    refused(agent.decide, "at most 4294967295 decisions")
    agent.observe(1, {"bob": 1})


HUGE = 10**12


@pytest.mark.parametrize(
    "graph",
    [
        {"text": "star", "arms": HUGE},
        {"kind": "RandomFeedback", "fields": {"arms": HUGE, "r": 0.5}},
        {"kind": "RevealedErdosRenyi", "fields": {"arms": HUGE, "p": 0.5}},
        {"kind": "Fixed", "fields": {"feedback": {"kind": "Uniform", "fields": {"count": HUGE}}}},
    ],
    ids=label,
)
def test_a_small_file_does_not_ask_for_all_memory(file: Path, graph: dict[str, Any]) -> None:
    change(file, {"graph": graph, "arms": HUGE})
    refused(lambda: Agent.load(file), str(file), f"its graph has {HUGE} arms, its prior 3")


def test_a_compressed_file_is_no_saved_agent(file: Path) -> None:
    """A megabyte would unpack to a gigabyte."""
    with np.load(file) as content:
        arrays = dict(content)
    np.savez_compressed(file, **arrays, more=np.zeros(10**6))
    refused(lambda: Agent.load(file), str(file), "compressed")


def test_a_pickled_array_is_not_loaded(file: Path) -> None:
    with np.load(file) as content:
        arrays = dict(content)
    arrays["state/a"] = np.array([[1, "x", None]], object)
    np.savez(file, **arrays)
    refused(lambda: Agent.load(file), str(file), "no saved agent")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
def test_what_is_no_regular_file_is_neither_read_nor_replaced(agent: Agent, tmp_path: Path) -> None:
    """Reading from a pipe without a writer, or from a device, would never end."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, Path("/dev/zero")):
        refused(lambda path=path: Agent.load(path), str(path), "no regular file")
    refused(lambda: agent.save(pipe), str(pipe), "no saved agent")
    refused(lambda: write_bytes(pipe, b""), str(pipe), "no regular file")
    assert pipe.is_fifo()


def test_a_file_of_more_than_can_be_an_agent_is_not_read(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graphbandits.live.agent.MOST_BYTES", 100)
    refused(lambda: Agent.load(file), str(file), "at most 100 are read")


#: What an array of a saved agent is replaced by.
DAMAGES: dict[str, Callable[[Any], Any]] = {
    "zeros": np.zeros_like,
    "ones": np.ones_like,
    "negative": lambda array: np.full_like(array, -1),
    "inf": lambda array: np.full(array.shape, INF),
    "-inf": lambda array: np.full(array.shape, -INF),
    "nan": lambda array: np.full(array.shape, NAN),
    "huge": lambda array: np.full(array.shape, 1e308),
    "tiny": lambda array: np.full(array.shape, 5e-324),
    "one inf": lambda array: np.where(np.arange(array.size).reshape(array.shape) == 1, INF, array),
    "largest int": lambda array: np.full(array.shape, 2**63 - 1),
    "longer": lambda array: np.concatenate([array, array], axis=-1),
    "shorter": lambda array: array[..., :-1],
    "more trials": lambda array: np.repeat(array, 3, axis=0),
    "no trials": lambda array: array[:0],
    "scalar": lambda array: array.ravel()[0],
    "float32": lambda array: array.astype(np.float32),
    "int64": lambda array: array.astype(np.int64),
    "complex": lambda array: array.astype(np.complex128),
    "text": lambda array: array.astype(str),
    "big-endian": lambda array: array.astype(array.dtype.newbyteorder(">")),
}
CHAIN = np.eye(5) + np.eye(5, k=1)


@pytest.mark.parametrize("policy", [*able(CHAIN, 5, 60), "ids-n(gain=joint)"])
def test_no_array_of_a_file_harms_an_agent(policy: str, tmp_path: Path) -> None:
    """A file is refused when it is loaded, or the agent goes on.

    Without the checks kernels read beyond their arrays, or never return.
    """
    agent = Agent(policy, graph=CHAIN, seed=1, horizon=60)
    for _ in range(12):
        decision = agent.decide()
        agent.observe(decision, dict.fromkeys(decision.reveals, decision.id % 2))
    agent.decide()
    path = agent.save(tmp_path / "agent.npz")
    change(path, {"has_nan": ["a", "b", "count", "total", "loss", "spread", "squares"]})
    with np.load(path) as file:
        content = dict(file)
    refusals = 0
    for name in sorted(content.keys() - {"meta"}):
        for damage in DAMAGES.values():
            np.savez(path, **{**content, name: damage(content[name])})
            try:
                damaged = Agent.load(path)
            except InputError:
                refusals += 1
                continue
            damaged.observe(damaged.pending[0], {})
            decision = damaged.decide()
            damaged.observe(decision, dict.fromkeys(decision.reveals, 1))
            damaged.decide()
    assert refusals > 10 * (len(content) - 1)


ODD = [None, True, -1, 0, 1.5, 2**40, 2**70, "x", "", [], [[]], {}, {"x": 1}, [None], [1, 2, 3]]


def test_no_entry_of_a_file_harms_an_agent(file: Path, tmp_path: Path) -> None:
    with np.load(file) as content:
        meta = json.loads(content["meta"].tobytes())
    data = file.read_bytes()
    for name in meta:
        for value in ODD:
            file.write_bytes(data)
            change(file, {name: value})
            with suppress(InputError):
                agent = Agent.load(file)
                decision = agent.decide()
                agent.observe(decision, dict.fromkeys(decision.reveals, 1))


def test_an_agent_saved_where_nothing_can_be_written(agent: Agent, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder").mkdir()
    before = tree(tmp_path)
    for name in ("missing/agent.npz", "file/agent.npz", "folder"):
        refused(lambda name=name: agent.save(tmp_path / name), "cannot write", str(tmp_path / name))
    assert tree(tmp_path) == before
    assert agent.pending == (1,)


@pytest.mark.skipif(not LINUX, reason="/proc is a matter of Linux")
def test_nobody_can_save_in_proc(agent: Agent, results: Results) -> None:
    refused(lambda: agent.save("/proc/agent.npz"), "cannot write", "/proc/agent.npz")
    refused(lambda: results.save("/proc/results"), "cannot write", "/proc/results")


@pytest.mark.skipif(ROOT, reason="root may write everywhere")
def test_saving_without_permission(agent: Agent, results: Results, tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    refused(lambda: agent.save(locked / "agent.npz"), "cannot write", "Permission denied")
    refused(lambda: results.save(locked / "results"), "cannot write", "Permission denied")
    assert tree(locked) == {}


def test_a_refused_save_keeps_what_was_there(
    agent: Agent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = agent.save(tmp_path / "agent.npz")
    before = tree(tmp_path)

    def full(*args: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    agent.decide()
    refused(lambda: agent.save(path), "cannot write", str(path), "No space left")
    assert tree(tmp_path) == before


@pytest.mark.parametrize(
    ("part", "index", "value"),
    [("column", 5, 10**9), ("column", 5, -1), ("start", 3, 10**6), ("weight", 2, 7.0)],
)
def test_a_damaged_graph_of_a_saved_agent_is_refused(tmp_path, part, index, value) -> None:
    """Kernels do not check where they read, so nothing unsound may reach them."""
    agent = Agent("ids-n", arms=101, graph="star", seed=1)
    path = agent.save(tmp_path / "agent.npz")
    with np.load(path) as file:
        arrays = dict(file)
    arrays[f"graph/feedback/{part}"][index] = value
    np.savez(path, **arrays)
    with pytest.raises(GraphBanditsError, match=r"agent\.npz"):
        Agent.load(path)


def test_an_agent_does_not_overwrite_what_is_no_agent(tmp_path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("keep me")
    with pytest.raises(GraphBanditsError, match="no saved agent"):
        Agent("ids-n", arms=2, seed=1).save(notes)
    assert notes.read_text() == "keep me"


@pytest.mark.parametrize(
    "graph", [Dense(np.stack([np.eye(2)] * 3)), Uniform([0.1, 0.2, 0.3], 2)], ids=["dense", "r"]
)
def test_feedback_of_three_trials_is_not_asked_about_five(graph) -> None:
    with pytest.raises(GraphBanditsError, match="trials"):
        graph.gain(np.ones((5, 2)))
    with pytest.raises(GraphBanditsError, match="each trial"):
        graph.reveal(np.zeros(5, int), Keys(1, 0, 5), 1)


def test_an_action_out_of_range_is_refused() -> None:
    for graph in (Dense(np.eye(2)), Uniform(0.5, 2), Sparse.from_edges(2, [0], [1])):
        for action in (99, -1):
            with pytest.raises(GraphBanditsError, match="from 0 to 1"):
                graph.reveal(np.array([action]), Keys(1), 1)


def test_results_are_saved_through_a_link(tmp_path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.mkdir()
    link.symlink_to(real)
    results = simulate("ts-n", graph="paper", horizon=3, trials=2)
    for _ in range(2):
        results.save(link)
    assert Results.load(link)["ts-n"].final.shape == (2,)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "real"]
    assert link.is_symlink()


# --- the command line -------------------------------------------------------------------------

EXPERIMENT = (
    'title = "A"\ngraph = "paper"\nhorizon = 5\ntrials = 2\npolicies = ["ts-n"]\nseed = 0\n'
)
DEEP = "[" * 2000 + "]" * 2000


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a store, an experiment, pipes and a directory."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(FIXTURES / "store-0.6.0", "store")
    Path("good.toml").write_text(EXPERIMENT)
    Path("directory.html").mkdir()
    for ending in ("toml", "py", "txt"):
        os.mkfifo(f"pipe.{ending}")
    return tmp_path


def refused_command(place: Path, *args: str) -> str:
    """The message of a command that must refuse: one line, exit code 2, nothing written."""
    before = tree(place)
    result = CliRunner().invoke(app, list(args))
    assert isinstance(result.exception, SystemExit), repr(result.exception)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    assert result.stderr[:-1].isprintable()
    assert len(result.stderr) < 1500
    assert tree(place) == before
    return result.stderr


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("horizon = 5", f"horizon = {'9' * 5000}", ["more than 300 digits"]),
        ("horizon = 5", f"horizon = {'9' * 4000}", ["more than 300 digits"]),
        ("seed = 0", f"seed = 0x{'f' * 5000}", ["more than 300 digits"]),
        ("seed = 0", f"seed = 0\n[record]\nrounds = [0x{'f' * 5000}]", ["more than 300 digits"]),
        ("seed = 0", f"seed = 0\nx = {DEEP}", ["nested too deeply"]),
        ("seed = 0", f"seed = 0\nx = {'{a=' * 2000}1{'}' * 2000}", ["nested too deeply"]),
        ("horizon = 5", f"horizon.{'a.' * 5000}a = 1", ["nested too deeply"]),
        ("ts-n", f"eps-greedy-lp(c={'-' * 100000}1)", ["c must be a finite number above 0"]),
        ("ts-n", f"eps-greedy-lp(c={DEEP})", ["cannot read the list"]),
        ("paper", f"cliques(size={'9' * 5000})", ["size must be a whole number"]),
        ("paper", "file:a\\u0000b", ["cannot read the graph file a\\x00b"]),
        ("paper", f"file:{'a' * 5000}", ["cannot read the graph file aaa", "File name too long"]),
        ("paper", "file:pipe.txt", ["pipe.txt", "regular file"]),
        ("seed = 0", 'seed = 0\nplugins = ["pipe.py"]', ["pipe.py", "regular file"]),
    ],
    ids=lambda value: value[:30] if isinstance(value, str) else "",
)
@pytest.mark.parametrize("command", ["run", "audit"])
def test_experiment_files_that_cannot_be(
    place: Path, command: str, old: str, new: str, words: list[str]
) -> None:
    assert old in EXPERIMENT
    (place / "bad.toml").write_text(EXPERIMENT.replace(old, new))
    message = refused_command(place, command, "bad.toml", "--trials=1")
    assert all(word in message for word in ["bad.toml", *words])


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["run", "pipe.toml"], ["pipe.toml", "regular file"]),
        (["run", "directory.html"], ["unknown experiment 'directory.html'"]),
        (["run", ""], ["unknown experiment ''"]),
        (["run", "a\x1b[31m\x00"], [r"unknown experiment 'a\x1b[31m\x00'"]),
        (["run", "good.toml", "--output=new", "--cluster="], ["a cluster is 'local' or"]),
        (["run", "good.toml", "--output=new", "--cluster=x y"], ["not 'x y'"]),
        (["run", "good.toml", f"--workers={'9' * 25}"], ["workers must be at most 10000"]),
        (["run", "good.toml", "--dry-run", f"--workers={'9' * 4000}"], ["at most 10000"]),
        (["run", "good.toml", f"--trials={'9' * 5000}"], ["is not a whole number"]),
        (["list", "--plugin=pipe.py"], ["pipe.py", "regular file"]),
        (["check", "pipe.py"], ["pipe.py", "regular file"]),
        (["check", "x" * 5000], ["neither a Python file nor a known name"]),
        (["graph", "file:pipe.txt"], ["pipe.txt", "regular file"]),
        (["graph", "papr", "--plot=new/a.png"], ["unknown graph 'papr'"]),
        (["graph", "paper", f"--plot={'x' * 300}.png"], ["File name too long"]),
        (["graph", "paper", "--plot=\x00.png"], ["embedded null byte"]),
        (["inspect", "--beta=1,1", "--beta=1,1", "--graph=file:pipe.txt"], ["regular file"]),
        (["new", "policy", "x" * 300], ["File name too long", "choose a shorter name"]),
        (["new", "policy", "my-x", f"--output={'x' * 300}"], ["File name too long"]),
        (["new", "policy", "my-x", "--output=\x00"], ["embedded null byte"]),
        (["new", "policy", "my-x", "--output="], ["exists"]),
        (["new", "policy", "my-x", "--output=pipe.py"], ["pipe.py exists"]),
        (["new", "policy", "my-x", "--output=good.toml/x"], ["Not a directory"]),
        (["new", "experiment", "x" * 300], ["an experiment's name"]),
        (["new", "experiment", ""], ["an experiment's name"]),
        (["new", "experiment", "my-x", "--output=missing/x"], ["No such file"]),
        (["report", "store", "--output="], ["its name is empty"]),
        (["report", "store", "--output=."], ["must not be empty"]),
        (["report", "store", "--output=/"], ["must not be empty"]),
        (["report", "store", "--output=\x00.html"], ["cannot write"]),
        (["report", "store", "--output=directory.html"], ["directory.html is a directory"]),
        (["report", "store", f"--output={'x' * 300}"], ["File name too long"]),
        (["report", "good.toml"], ["good.toml"]),
        (["compare", "pipe.toml"], ["pipe.toml"]),
        (["store", "ls", ""], ["store"]),
        (["store", "export", "store", f"--output={'x' * 300}.csv"], ["File name too long"]),
        (["store", "export", "store", "--output=\x00.csv"], ["embedded null byte"]),
    ],
    ids=lambda value: " ".join(value)[:60].encode("unicode_escape").decode(),
)
def test_commands_that_cannot_be(place: Path, args: list[str], words: list[str]) -> None:
    message = refused_command(place, *args)
    assert all(word in message for word in words), message


@pytest.mark.skipif(ROOT, reason="root may read everything")
def test_an_experiment_without_permission(place: Path) -> None:
    (place / "good.toml").chmod(0)
    result = CliRunner().invoke(app, ["run", "good.toml"])
    assert result.exit_code == 2
    assert result.stderr == "Error: cannot read the experiment good.toml: Permission denied\n"


def test_a_key_of_a_later_version_in_a_stored_sweep_is_no_obstacle(place: Path) -> None:
    (path,) = (place / "store" / "studies").iterdir()
    record = json.loads(path.read_text())
    assert record["sweeps"]
    for sweep in record["sweeps"]:
        sweep["of-the-future"] = 1
    path.write_text(json.dumps(record))
    assert open_study("store").progress().complete
    result = CliRunner().invoke(app, ["report", "store", "--output=page.html"])
    assert result.exit_code == 0, result.stderr
    assert (place / "page.html").is_file()


def test_a_policy_of_a_long_name_is_written_elsewhere(place: Path) -> None:
    path = new_policy("x" * 300, place / "mine.py")
    assert check_plugins([path], only=["form"])[0].ok
    unload_plugin(path)
