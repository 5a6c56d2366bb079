"""Adapter until the executors branch lands."""

from dataclasses import replace

from graphbandits.engine.crews import crew_of


class Executor:
    def __init__(self, crew):
        self._crew = crew

    @property
    def workers(self):
        return self._crew.workers

    def __enter__(self):
        self._crew.__enter__()
        return self

    def __exit__(self, *r):
        return self._crew.__exit__(*r)

    def run(self, tasks, progress=lambda t, n: None):
        for done in self._crew.work(tasks, progress):
            yield (
                done.task,
                (
                    done.error
                    if done.shard is None
                    else replace(done.shard, cpu=done.cpu, seconds=done.seconds)
                ),
            )


def executor_for(*a):
    return Executor(crew_of(*a))
