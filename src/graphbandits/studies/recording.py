"""What a store keeps of a simulation besides its numbers."""

from __future__ import annotations

from typing import Any

from graphbandits.engine import Plan
from graphbandits.errors import InputError
from graphbandits.graphs.storage import Arrays, pack_process
from graphbandits.posteriors import BetaBernoulli


def describe_cell(plan: Plan) -> tuple[dict[str, Any], Arrays]:
    """The description of a cell, for :meth:`graphbandits.store.Store.put_cell`.

    Settings, names of the arms, recorded rounds, graph and prior: all that reading results takes,
    without the file that described the experiment.

    >>> meta, arrays = describe_cell(Plan.of("ts-n", graph="paper", horizon=10, trials=5))
    >>> meta["arms"], meta["rounds"][-1], sorted(arrays)
    (['1', '2', '3', '4', '5'], 10, ['graph/feedback/matrix', 'prior/a', 'prior/b'])
    """
    prior = plan.world.prior
    if not isinstance(prior, BetaBernoulli):
        raise InputError(f"a prior of {type(prior).__name__} cannot be kept in a store")
    arrays: Arrays = {"prior/a": prior.a, "prior/b": prior.b}
    meta = {
        "settings": plan.settings(),
        "arms": list(plan.process.names or map(str, range(1, plan.process.arms + 1))),
        "rounds": list(plan.recording.rounds),
        "graph": pack_process(plan.process, plan.given_text, arrays),
    }
    return meta, arrays
