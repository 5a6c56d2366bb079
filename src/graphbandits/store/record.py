"""Record of a study: what a store contains of an experiment besides its shards."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Self
from weakref import WeakKeyDictionary

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from graphbandits._io import to_npz
from graphbandits.engine import Plan, Task
from graphbandits.engine.identity import series_of
from graphbandits.errors import InputError
from graphbandits.graphs._storage import Arrays, pack_process
from graphbandits.results import Claim, Published
from graphbandits.store.directory import Store
from graphbandits.worlds._storage import pack_models

#: Format of the record of a study. A newer format raises an error.
FORMAT = 1

FIGURE_KINDS = ("regret", "final", "differences", "plays", "sweep")

NonNegative = Annotated[int, Field(ge=0, strict=True)]
Positive = Annotated[int, Field(ge=1, strict=True)]
#: Name of a file in the store. The pattern prevents other paths.
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


_CELL_NAMES: WeakKeyDictionary[Plan, str] = WeakKeyDictionary()


class _RecordModel(BaseModel):
    # a later version may add keys to a record
    model_config = ConfigDict(extra="ignore", strict=True, frozen=True)


class SweepRecord(_RecordModel):
    """A sweep: its parameters, and the axis of its figures.

    ``x`` is the parameter on the axis; None if the points are categories.
    """

    title: str
    parameters: Annotated[list[str], Field(min_length=1)]
    x: str | None
    label: str
    scale: Literal["linear", "log"]

    @model_validator(mode="after")
    def _axis(self) -> Self:
        if self.x is not None and self.x not in self.parameters:
            raise ValueError(f"x is '{self.x}', which is not one of its parameters")
        return self


class CellRecord(_RecordModel):
    """One simulation: its point in a sweep, its description and its series."""

    sweep: NonNegative | None
    point: dict[str, bool | int | float | str]
    name: str
    cell: Sha256
    policies: Annotated[dict[str, Sha256], Field(min_length=1)]
    lines: dict[str, str]

    @model_validator(mode="after")
    def _lines(self) -> Self:
        if self.lines.keys() != self.policies.keys():
            raise ValueError("the keys of lines are not its policies")
        if len(set(self.lines.values())) < len(self.lines):
            raise ValueError("two policies have the same line")
        return self


class StudyRecord(_RecordModel):
    """A study, as stored in the file ``studies/KEY.json``."""

    format: Positive
    key: str
    title: str
    notes: list[str]
    rerun: str
    seed: NonNegative
    first_trial: NonNegative
    trials: Positive
    claims: list[Claim]
    published: Published | None
    figures: list[dict[str, Any]]
    bounds: bool
    sweeps: list[SweepRecord]
    cells: Annotated[list[CellRecord], Field(min_length=1)]

    @model_validator(mode="after")
    def _figures(self) -> Self:
        for number, figure in enumerate(self.figures, start=1):
            if figure.get("kind") not in FIGURE_KINDS:
                raise ValueError(f"figure {number} has the kind {figure.get('kind')!r}")
            formats = figure.get("formats", [])
            if not isinstance(formats, list | tuple) or not all(
                isinstance(f, str) for f in formats
            ):
                raise ValueError(f"figure {number} has the formats {formats!r}")
        return self

    @model_validator(mode="after")
    def _places(self) -> Self:
        for number, cell in enumerate(self.cells, start=1):
            if cell.sweep is None:
                known: list[str] = []
            elif cell.sweep < len(self.sweeps):
                known = self.sweeps[cell.sweep].parameters
            else:
                raise ValueError(f"cell {number} refers to a sweep that does not exist")
            if cell.point.keys() != set(known):
                raise ValueError(f"the point of cell {number} has other parameters than its sweep")
        return self

    @classmethod
    def of(
        cls,
        plans: Sequence[Plan],
        *,
        key: str,
        title: str,
        rerun: str,
        notes: Sequence[str] = (),
        claims: Sequence[Claim] = (),
        published: Published | None = None,
        figures: Sequence[Mapping[str, Any]] = (),
        sweeps: Sequence[SweepRecord] = (),
        bounds: bool = False,
    ) -> StudyRecord:
        """Create the record of a study without writing it."""
        return cls(
            format=FORMAT,
            key=key,
            title=title,
            notes=list(notes),
            rerun=rerun,
            seed=plans[0].seed,
            first_trial=plans[0].first_trial,
            trials=plans[0].trials,
            claims=list(claims),
            published=published,
            figures=[dict(figure) for figure in figures],
            bounds=bounds,
            sweeps=list(sweeps),
            cells=[
                CellRecord(
                    sweep=plan.sweep,
                    point=dict(plan.point),
                    name=plan.name,
                    cell=cell_name(plan),
                    policies={name: series_of(plan, name).name for name in plan.policies},
                    lines=dict(plan.lines),
                )
                for plan in plans
            ],
        )

    @property
    def series(self) -> dict[str, str]:
        """Series of all cells, without duplicates, with their policies."""
        return {series: policy for cell in self.cells for policy, series in cell.policies.items()}

    @property
    def policies(self) -> tuple[str, ...]:
        """Policies of all cells, without duplicates."""
        return tuple(dict.fromkeys(name for cell in self.cells for name in cell.policies))

    def write(self, store: Store, plans: Sequence[Plan]) -> None:
        """Write the record and the descriptions of its cells into a store."""
        content = self.model_dump()
        store.check_study(self.key, content)  # before the first file is written
        for plan in plans:
            store.put_cell(*describe_cell(plan))
        store.put_study(self.key, content)


def read_record(store: Store, key: str) -> StudyRecord:
    """Read the record of a study; raise InputError if it is damaged or too new."""
    path = store.path / "studies" / f"{key}.json"
    content: Any = store.study(key)
    number = content.get("format") if isinstance(content, dict) else None
    if isinstance(number, int) and number > FORMAT:
        raise InputError(
            f"the study '{key}' in {store.path} has format {number}, but this version of "
            f"graphbandits reads formats up to {FORMAT}: update graphbandits"
        )
    try:
        # from JSON, because strict validation accepts lists as tuples only there
        record = StudyRecord.model_validate_json(json.dumps(content))
        wrong = "" if record.key == key else f"its key is '{record.key}'"
    except (ValidationError, RecursionError) as error:
        first = error.errors()[0] if isinstance(error, ValidationError) else None
        place = ".".join(map(str, first["loc"])) if first else ""
        message = first["msg"] if first else str(error)
        wrong = f"{place}: {message}" if place else message
    if wrong:
        raise InputError(
            f"{path} is damaged ({wrong}): run the experiment again to write a new one"
        )
    return record


def describe_cell(plan: Plan) -> tuple[dict[str, Any], Arrays]:
    """Describe a simulation for :meth:`Store.put_cell`.

    The description has the settings, the names of the arms, the recorded rounds, the graph, the
    prior and given eligible arms. It is sufficient to read the results without the experiment file.

    >>> meta, arrays = describe_cell(Plan.of("ts-n", graph="paper", horizon=10, trials=5))
    >>> meta["arms"], meta["rounds"][-1], sorted(arrays)
    (['1', '2', '3', '4', '5'], 10, ['graph/feedback/matrix', 'prior/a', 'prior/b'])
    """
    arrays: Arrays = {}
    models = pack_models(plan.world, plan.posterior, arrays)
    arrays.pop("fixed", None)  # among the settings, like the accuracy
    models.pop("accuracy", None)
    if isinstance(plan.eligible, np.ndarray):
        arrays["eligible"] = plan.eligible
    meta = ({"models": models} if models else {}) | {
        "settings": plan.settings(),
        "arms": list(plan.arm_names),
        "rounds": list(plan.recording.rounds),
        "graph": pack_process(plan.process, plan.graph_spec, arrays),
    }
    return meta, arrays


def cell_name(plan: Plan) -> str:
    """Return the sha256 that names the description of a simulation in a store."""
    if plan not in _CELL_NAMES:  # large graphs are serialized only once
        _CELL_NAMES[plan] = hashlib.sha256(to_npz(*describe_cell(plan))).hexdigest()
    return _CELL_NAMES[plan]


def tasks_of_plans(plans: Sequence[Plan]) -> list[Task]:
    """Return a task with all trials for each series of the plans, without duplicates.

    Simulations at several points of a sweep share a series if its policy does not depend on the
    swept parameter.
    """
    tasks: dict[str, Task] = {}
    for plan in plans:
        for policy in plan.policies:
            name = series_of(plan, policy).name
            if name not in tasks or tasks[name].trials < plan.trials:
                tasks[name] = Task(plan, policy, plan.first_trial, plan.trials)
    return list(tasks.values())
