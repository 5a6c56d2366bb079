"""Conversion of the world and the posterior of a simulation to JSON and arrays, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from graphbandits._serialization import Arrays, pack_plugin, unpack_plugin
from graphbandits.errors import InputError
from graphbandits.posteriors import Posterior
from graphbandits.registry import name_of
from graphbandits.worlds.base import World


class _HasModels(Protocol):
    """A simulation; see :class:`graphbandits.engine.Plan`."""

    @property
    def world(self) -> World: ...

    @property
    def posterior(self) -> Posterior: ...


def models_of(plan: _HasModels) -> list[object]:
    """Return the world of a plan, its prior, and the posterior of the policies, without repeats."""
    return list({id(one): one for one in (plan.world, plan.world.prior, plan.posterior)}.values())


def pack_models(world: World, posterior: Posterior, arrays: Arrays) -> dict[str, Any]:
    """Convert a world, and a posterior if it is not that of the world, to JSON and arrays.

    >>> from graphbandits.worlds import as_world
    >>> world, arrays = as_world("bernoulli", arms=2), {}
    >>> list(pack_models(world, world.prior, arrays)), list(arrays)
    (['world'], ['world/prior/a', 'world/prior/b'])
    """
    models: dict[str, object] = {"world": world} | (
        {} if posterior is world.prior else {"posterior": posterior}
    )
    packed = {path: pack_plugin(model, arrays, path) for path, model in models.items()}
    for path, model in models.items():
        _check_restored(model, packed[path], arrays)
    return packed


def unpack_models(
    packed: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> tuple[World, Posterior]:
    """Restore a world and the posterior of the policies from the result of :func:`pack_models`."""
    world: World = unpack_plugin(packed["world"], arrays)
    if "posterior" in packed:
        return world, unpack_plugin(packed["posterior"], arrays)
    return world, world.prior


def _check_restored(model: Any, packed: Mapping[str, Any], arrays: Arrays) -> None:
    """Raise InputError if a stored model would differ from the original."""
    again: Arrays = {}
    same = pack_plugin(unpack_plugin(packed, arrays), again, packed["kind"]) == packed
    if not same or not all(np.array_equal(again[name], arrays[name]) for name in again):
        raise InputError(
            f"'{name_of(model)}' does not keep its parameters: the constructor must accept the "
            "values of its fields"
        )
