"""Threads of this process: they cost nothing, and kernels release Python's lock."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator

from graphbandits.engine.crews.local import LocalCrew
from graphbandits.engine.provenance import check_sources, noted
from graphbandits.engine.settings import cpu
from graphbandits.engine.tasks import Done, Task, Tell, nobody
from graphbandits.rng import Keys

#: How often a task tells how far it is, at most.
TIMES = 200


class Threads(LocalCrew):
    """``count`` threads; a single one is the caller's own, where a debugger and Ctrl-C reach it.

    >>> from graphbandits.engine import Plan
    >>> plan = Plan.of("ts-n", horizon=20, trials=6)
    >>> tasks = [Task(plan, "ts-n", first, 3) for first in (0, 3)]
    >>> with Threads(2) as crew:
    ...     sorted(done.shard.first for done in crew.work(tasks))
    [0, 3]
    """

    def work(self, tasks: Iterable[Task], advance: Tell = nobody) -> Iterator[Done]:
        if self.workers > 1:
            yield from super().work(tasks, advance)
            return
        self._stop.clear()
        for task in tasks:
            yield self._here(task, advance)

    def _here(self, task: Task, advance: Tell) -> Done:
        raised: list[BaseException] = []

        def tell(decisions: int) -> None:
            try:
                advance(task, decisions)
            except BaseException as error:
                raised.append(error)
                raise

        done = self._done(task, tell)
        if raised:  # by whoever was told: not the task's error
            raise raised[0]
        return done

    def _run(self, task: Task, tell: Callable[[int], None]) -> Done:
        plan, start = task.plan, time.perf_counter()
        every, passed = -(-plan.horizon // TIMES), 0

        def advance(rounds: int) -> None:
            nonlocal passed
            if self._stop.is_set():
                raise InterruptedError
            passed += rounds
            if passed >= every:
                passed, now = 0, passed
                tell(now * task.trials)

        sources = noted(plan, task.policy)
        check_sources(sources)
        keys = Keys(plan.seed, task.first, task.trials)
        shard = plan.run_shard(task.policy, keys, advance)
        check_sources(sources)  # it may have imported more on the way
        if passed:
            tell(passed * task.trials)
        return Done(task, time.perf_counter() - start, cpu(), shard)
