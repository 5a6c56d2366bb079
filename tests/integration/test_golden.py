"""Version 0.6.0 is the reference: computed, written and read values are compared with its values.

The golden files are recorded by ``tests/golden/record.py``, each with the fingerprint of its
machine (processor, Python, NumPy, SciPy, Numba, LLVM). On a machine with the same fingerprint,
numbers are identical bit for bit. On other machines a number may differ in its last bits. A
decision that depends on these bits (a tie between two arms, an arm drawn at the very edge of its
probability) may then be different, and with it the rest of the trial. On such machines

- in every simulation all trials except one in ``PARTED`` have the regret of the golden file within
  ``COMPUTED``, absolutely and relatively; a trial that differs changes no more plays than it has
  rounds;
- information ratios of the other trials agree within ``RATIO``: they are quotients of beliefs that
  are accurate to 1e-10 absolutely, and the divisor, an information, may be small;
- the state and the probabilities of agents agree within ``COMPUTED``, and decisions are identical.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from golden import record
from golden.record import Arrays, Facts
from helpers.agents import SavedAgent

from graphbandits import Agent
from graphbandits._old_words import translate_keys

pytestmark = pytest.mark.oracle

COMPUTED = 1e-9
RATIO = 1e-5
PARTED = 6
AGENTS = record.PLACE / "agents"


@cache
def golden(name: str) -> tuple[bool, dict[str, tuple[Facts, Arrays]]]:
    """Return whether numbers must be identical bit for bit, and the parts of a golden file."""
    fingerprint, parts = record.read(name)
    return fingerprint == record.fingerprint(), parts


def same(found: Any, wanted: Any, tolerance: float | None, what: str) -> None:
    """Check that arrays are equal: bit for bit without a tolerance, and for integers always."""
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape), what
    if tolerance is None or found.dtype.kind != "f":
        if found.tobytes() != wanted.tobytes():
            np.testing.assert_array_equal(found, wanted, what)
            pytest.fail(f"{what}: zeros or NaNs differ in their bits")
    else:
        np.testing.assert_allclose(found, wanted, tolerance, tolerance, err_msg=what)


def all_same(found: Arrays, wanted: Arrays, tolerance: float | None) -> None:
    assert sorted(found) == sorted(wanted)
    for name, array in wanted.items():
        same(found[name], array, tolerance, name)


def includes(found: Any, wanted: Any, where: str = "") -> None:
    """Check that plain data is equal; objects may have additional keys."""
    if isinstance(wanted, dict):
        assert isinstance(found, dict), where
        for key, value in translate_keys(wanted).items():  # words of earlier versions
            assert key in found, f"{where}: no '{key}'"
            includes(found[key], value, f"{where}.{key}")
    elif isinstance(wanted, list):
        assert isinstance(found, list), where
        assert len(found) == len(wanted), where
        for i, value in enumerate(wanted):
            includes(found[i], value, f"{where}[{i}]")
    else:
        assert (type(found), found) == (type(wanted), wanted), where


# Simulations


def check_trials(found: Arrays, wanted: Arrays, exact: bool, what: str) -> None:
    """Check one simulation with the tolerances of the module docstring."""
    if exact:
        all_same(found, wanted, None)
        return
    assert sorted(found) == sorted(wanted)
    assert found["regret"].shape == wanted["regret"].shape
    close = np.isclose(found["regret"], wanted["regret"], COMPUTED, COMPUTED).all(axis=1)
    parted = int((~close).sum())
    assert parted <= len(close) / PARTED, f"{what}: {parted} of {len(close)} trials parted"
    moved = np.abs(found["plays"] - wanted["plays"]).sum()
    assert moved <= 2 * record.HORIZON * parted, f"{what}: {moved} plays moved"
    for name in record.RATIOS:
        if name in wanted:
            same(found[name][close], wanted[name][close], RATIO, f"{what}, {name}")
    if "rounds" in wanted:
        same(found["rounds"], wanted["rounds"], None, what)


@pytest.mark.parametrize("kind", record.GRAPHS)
@pytest.mark.parametrize("policy", record.policies())
def test_every_policy_repeats_its_recorded_run_on_every_kind_of_graph(
    policy: str, kind: str
) -> None:
    check_case(f"{policy} on {kind}")


@pytest.mark.parametrize("variant", record.VARIANTS)
def test_other_settings_of_a_simulation_repeat_their_recorded_runs(variant: str) -> None:
    check_case(f"variant: {variant}")


def check_case(case: str) -> None:
    exact, parts = golden("simulations")
    assert case in parts, f"no golden of '{case}': record it (tests/golden/record.py)"
    facts, arrays = record.simulated(*record.cases()[case])
    wanted, numbers = parts[case]
    assert facts == wanted
    if numbers:
        check_trials(arrays, numbers, exact, case)
    else:
        assert "refused" in wanted
        assert not arrays


def test_every_recorded_policy_still_exists() -> None:
    assert set(golden("simulations")[1]) == set(record.cases())
    assert set(golden("agents")[1]) == set(record.policies())
    assert {path.stem for path in AGENTS.glob("*.npz")} == set(record.policies())


@pytest.mark.parametrize("policy", record.policies())
def test_every_policy_has_a_recorded_run(policy: str) -> None:
    """A golden file with refusals only would pin no number."""
    parts = golden("simulations")[1]
    assert sum(bool(parts[f"{policy} on {kind}"][1]) for kind in record.GRAPHS) >= 2


# Agents


@pytest.mark.parametrize("policy", record.policies())
def test_agents_write_the_same_files(policy: str, tmp_path: Path) -> None:
    exact, _ = golden("agents")
    saved = SavedAgent.read(record.driven(policy).save(tmp_path / "agent.npz")).as_format_1()
    wanted, numbers = record.agent_file(AGENTS / f"{policy}.npz")
    includes(saved.meta, wanted)
    found = {name: saved.arrays[name] for name in numbers}
    all_same(found, numbers, None if exact else COMPUTED)


@pytest.mark.parametrize("policy", record.policies())
def test_agents_continue_from_the_recorded_files(policy: str) -> None:
    exact, parts = golden("agents")
    facts, arrays = record.going_on(Agent.load(AGENTS / f"{policy}.npz"))
    wanted, numbers = parts[policy]
    assert facts == wanted
    all_same(arrays, numbers, None if exact else COMPUTED)


def test_agent_of_version_0_6_0_continues() -> None:
    exact, parts = golden("fixture_agent")
    agent = Agent.load(record.FIXTURES / record.AGENT)
    facts, arrays = record.going_on(agent)
    wanted, numbers = parts[record.AGENT]
    assert facts == wanted
    all_same(arrays, numbers, None if exact else COMPUTED)
    agent.observe(agent.pending[0], {})  # the decision that was open when it was saved
    assert agent.decide().arm in agent.arms


# Studies


@pytest.mark.oracle
def test_shards_contain_the_same_numbers(tmp_path: Path) -> None:
    exact, parts = golden("shards")
    record.run_experiment(tmp_path / "store")
    found, arrays = record.shards(tmp_path / "store")
    wanted, numbers = parts["all"]
    assert found == wanted
    if exact:
        all_same(arrays, numbers, None)
        return
    regrets = {name: array for name, array in numbers.items() if name.endswith("/regret")}
    parted = [
        name
        for name, array in regrets.items()
        if not np.allclose(arrays[name], array, COMPUTED, COMPUTED)
    ]
    assert len(parted) <= len(regrets) / PARTED, parted
    for name, array in numbers.items():
        if f"{name.rsplit('/', 1)[0]}/regret" not in parted:
            column = name.rsplit("/", 1)[1]
            same(arrays[name], array, RATIO if column in record.RATIOS else COMPUTED, name)
