"""Kill processes that share an agent at random moments, and check what is left.

    python killed_writers.py STORE KILLS SEED

Each round, several processes are forked from this one, which has loaded everything: they make
decisions, report outcomes and change the agent. What a call has returned from is written to a pipe,
which survives the process. All are killed with SIGKILL. Then the journal must have every event that
was acknowledged, each outcome once, and the state must be the sum of the outcomes in the journal.
"""

from __future__ import annotations

import os
import random
import select
import signal
import sys
import time
import traceback
from typing import Any, NoReturn

from graphbandits import Agent
from graphbandits.errors import InputError

WRITERS = 3
ARMS = ["ann", "bob", "eve", "joe"]


def work(store: str, seed: int, acknowledge: int) -> NoReturn:
    """Use the agent until the process is killed."""
    rng, agent = random.Random(seed), Agent(store=store)

    def done(*words: object) -> None:
        os.write(acknowledge, (" ".join(map(str, words)) + "\n").encode())

    while True:
        act = rng.random()
        if act < 0.35:
            for one in agent.decide(rng.randint(1, 3), distinct=rng.random() < 0.5):
                done("decision", one.id)
        elif act < 0.40:
            key = f"{seed}-{rng.getrandbits(40)}"
            for _ in range(2):  # the second one must not count
                agent.learn({rng.choice(ARMS): (1, 2)}, key=key)
            done("table", key)
        elif act < 0.45:
            agent.pause("eve")
            agent.resume("eve")
        elif waiting := agent.pending:  # another process may close some of them
            decision = agent.decision(rng.choice(waiting))
            arm = rng.choice(list(decision.reveals))
            # the same value from every process
            value = random.Random(f"{decision.id} {arm}").randint(0, 1)
            try:
                agent.observe(decision, {arm: value}, partial=rng.random() < 0.8)
            except InputError as error:
                if "is closed" not in str(error):  # by another process
                    raise
            else:
                done("outcome", decision.id, arm, value)


def check(store: str, acknowledged: list[list[str]]) -> int:
    """Compare the journal and the state with what was acknowledged; return the entries."""
    agent = Agent(store=store)
    history = agent.history()
    assert [line["number"] for line in history] == list(range(1, len(history) + 1))
    made = [line["decision"] for line in history if line["kind"] == "decide"]
    assert len(made) == len(set(made))
    outcomes: dict[tuple[str, str], float] = {}
    tables = []
    for line in history:
        for arm, value in line.get("outcomes", {}).items() if line["kind"] == "observe" else ():
            assert (line["decision"], arm) not in outcomes, "an outcome was counted twice"
            outcomes[line["decision"], arm] = value
        if line["kind"] == "learn":
            tables.append(line["key"])
    assert len(tables) == len(set(tables))
    for kind, *words in acknowledged:
        if kind == "decision":
            assert words[0] in made
        elif kind == "table":
            assert words[0] in tables
        else:
            assert outcomes[words[0], words[1]] == float(words[2])
    # the posterior is the prior plus the outcomes; a table has one success and one failure
    assert agent.status()["outcomes"] == len(outcomes)
    successes, failures = (
        sum(agent.state[name].values()) - len(ARMS) - len(tables) for name in ("a", "b")
    )
    assert successes == sum(outcomes.values())
    assert failures == len(outcomes) - sum(outcomes.values())
    agent.verify()
    return len(history)


def main() -> None:
    store, kills, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    rng = random.Random(seed)
    with_graph: dict[str, Any] = {"graph": "edges(1>2 2-3 3>4)", "seed": 5}
    agent = Agent("ids-lp", ARMS, store=store, **with_graph)
    agent.observe(agent.decide(), {})  # loads the kernels
    agent.disconnect()
    entries = 0
    for number in range(kills):
        read, write = os.pipe()  # short lines of several processes do not mix
        children = []
        for writer in range(WRITERS):
            child = os.fork()
            if child == 0:
                os.close(read)
                try:
                    work(store, 1000 * number + writer, write)
                finally:  # it ends by an error only
                    traceback.print_exc()
                    os._exit(1)
            children.append(child)
        os.close(write)
        select.select([read], [], [], 60)  # the first one is at work
        time.sleep(rng.uniform(0.0, 0.2))
        for child in children:
            os.kill(child, signal.SIGKILL)
        for child in children:
            _, status = os.waitpid(child, 0)
            assert os.WIFSIGNALED(status), "a writer has failed"
        with os.fdopen(read) as pipe:
            entries = check(store, [line.split() for line in pipe.read().splitlines()])
    print(f"{kills} kills, {entries} entries")


if __name__ == "__main__":
    main()
