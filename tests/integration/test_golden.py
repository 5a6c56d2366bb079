"""Numbers, decisions, commands and names are those of version 0.12.0 (``tests/golden/record.py``).

On a machine like the recording one (processor, Python, NumPy, SciPy, Numba, LLVM), numbers are
identical bit for bit. On others they agree within ``CLOSE``, absolutely and relatively. There a
decision may depend on the last bits of a number (a tie, an arm drawn at the edge of its
probability), and with it the rest of the trial: of each simulation, one trial in ``PARTED`` may
differ.

Commands, options, names and signatures differ exactly as ``tests/golden/removals.txt`` says.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from golden import record

CLOSE = 1e-5
PARTED = 6
#: Names of the cases, from the file alone: nothing is imported or computed for the collection.
FINGERPRINT, GOLDEN = record.read()


def group_of(name: str) -> str:
    """Return the test of a case: one for each policy and family, and one for each other topic."""
    topic, _, rest = name.partition(": ")
    if topic == "operations":
        return name
    if topic == "simulation" and " on " in rest:
        return f"{topic}: {rest.partition(' on ')[0]}"
    if topic == "simulation" and ", " in rest:
        return f"{topic}: {rest.rpartition(', ')[2]}"
    return topic


GROUPS: dict[str, list[str]] = {}
for _name in GOLDEN:
    GROUPS.setdefault(group_of(_name), []).append(_name)
OPERATIONS = ("operations: Python", "operations: JSON lines", "operations: HTTP")


def differences(found: Any, wanted: Any, close: float, path: str = "") -> Iterator[str]:
    """Yield where values differ; with ``close`` 0, numbers must have the same bits."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        for key in sorted(found.keys() | wanted.keys()):
            if key in found and key in wanted:
                yield from differences(found[key], wanted[key], close, f"{path}/{key}")
            else:
                yield f"{path}: {key} is {'new' if key in found else 'missing'}"
    elif isinstance(wanted, list) and isinstance(found, list) and len(wanted) == len(found):
        for i, pair in enumerate(zip(found, wanted, strict=True)):
            yield from differences(*pair, close, f"{path}[{i}]")
    elif isinstance(wanted, np.ndarray) and isinstance(found, np.ndarray):
        same = (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
        if same and found.tobytes() != wanted.tobytes():
            same = close > 0.0 and np.allclose(found, wanted, close, close, equal_nan=True)
        if not same:
            yield f"{path}: {found!r} instead of {wanted!r}"
    elif repr(found) != repr(wanted):
        floats = isinstance(found, float) and isinstance(wanted, float)
        if not (floats and np.isclose(found, wanted, close, close, equal_nan=True) and close):
            yield f"{path}: {found!r} instead of {wanted!r}"


def check(found: Any, wanted: Any, close: float, name: str = "") -> None:
    listed = list(differences(found, wanted, close, name))
    assert not listed, "\n".join(listed[:20])


def check_simulation(found: Any, wanted: Any, name: str) -> None:
    """Compare a simulation of another machine: one trial in ``PARTED`` may have another regret."""
    for policy, numbers in wanted.items():
        if isinstance(numbers, dict) and "regret" in numbers:
            regret = found[policy]["regret"]
            near = np.isclose(regret, numbers["regret"], CLOSE, CLOSE).all(axis=1)
            if not near.all():
                assert (~near).sum() <= max(1, len(near) // PARTED), name
                parts = [part for part in ("regret", *record.RATIOS) if part in numbers]
                kept = [
                    {part: one[policy][part][near] for part in parts} for one in (found, wanted)
                ]
                check(*kept, CLOSE, name)
                return
    check(found, wanted, CLOSE, name)


@pytest.mark.parametrize("group", [group for group in GROUPS if group != "surface"])
def test_recorded_values_are_repeated(group: str) -> None:
    same_machine = record.fingerprint() == FINGERPRINT
    for name in GROUPS[group]:
        found, wanted = record.compute(name), GOLDEN[name]
        if same_machine or group.partition(":")[0] != "simulation":
            check(found, wanted, 0.0 if same_machine else CLOSE, name)
        else:
            check_simulation(found, wanted, name)


def test_every_case_is_recorded() -> None:
    assert set(record.cases()) == set(GOLDEN)


def test_every_policy_has_recorded_numbers() -> None:
    for policy in record.policies():
        runs = [GOLDEN[f"simulation: {policy} on {graph}"] for graph in record.GRAPHS]
        assert sum("refused" not in run for run in runs) >= 2, policy


def test_decisions_are_identical_in_python_json_lines_and_http() -> None:
    made = []
    for name in OPERATIONS:
        answers = [answer for op, answer in GOLDEN[name]["answers"] if op == "decide"]
        made.append([[one["arm"], one["probability"]] for batch in answers for one in batch])
    assert len(made[0]) > 10
    assert made[0] == made[1] == made[2]


def test_a_client_answers_as_an_agent() -> None:
    python, _, http = (GOLDEN[name] for name in OPERATIONS)
    for part in ("answers", "arms", "state", "trend"):
        check(http[part], python[part], 0.0)


def changes(now: dict[str, str], before: dict[str, str]) -> set[str]:
    """Return the lines that were removed, and with a + those that were added.

    The lines below a removed command or name, and exit codes with a removed option, are left out.
    """
    gone, new = before.keys() - now.keys(), now.keys() - before.keys()

    def is_implied(line: str, lines: dict[str, str], changed: set[str]) -> bool:
        parent = lines[line]
        command = parent.partition(" ")[2]
        options = {f"option {command} {word}" for word in line.split()}
        return parent in changed or (line.startswith("exit") and bool(options & gone))

    removed = {line for line in gone if not is_implied(line, before, gone)}
    return removed | {f"+{line}" for line in new if not is_implied(line, now, new)}


def test_commands_and_names_differ_as_the_list_of_removals_says() -> None:
    text = (record.HERE / "removals.txt").read_text("utf-8")
    listed = {line.strip() for line in text.splitlines() if line.strip() and line[0] != "#"}
    made = changes(record.compute("surface"), GOLDEN["surface"])
    unlisted, stale = "\n".join(sorted(made - listed)), "\n".join(sorted(listed - made))
    assert made == listed, f"not in removals.txt:\n{unlisted}\nnot removed or added:\n{stale}"
