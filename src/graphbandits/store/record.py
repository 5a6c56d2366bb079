"""Record of a study: the points of an experiment with their settings, problems and series."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from graphbandits.engine import Plan, Task
from graphbandits.engine.identity import series_of
from graphbandits.errors import InputError
from graphbandits.results import Claim, Published
from graphbandits.store.directory import RUN_AGAIN, Directory

NonNegative = Annotated[int, Field(ge=0, strict=True)]
Positive = Annotated[int, Field(ge=1, strict=True)]
#: Name of a file in the directory. The pattern prevents other paths.
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class _RecordModel(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class SweepRecord(_RecordModel):
    """A sweep: its parameters, and the axis of its figure (None: the points are categories)."""

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


class PointRecord(_RecordModel):
    """One simulation: its point in a sweep, its settings and problem, and its series by policy."""

    sweep: NonNegative | None
    point: dict[str, bool | int | float | str]
    problem: Sha256
    policies: Annotated[dict[str, Sha256], Field(min_length=1)]
    lines: dict[str, str]
    rounds: Annotated[list[Positive], Field(min_length=1)]
    settings: dict[str, Any]

    @model_validator(mode="after")
    def _lines(self) -> Self:
        if self.lines.keys() != self.policies.keys():
            raise ValueError("the keys of lines are not its policies")
        if len(set(self.lines.values())) < len(self.lines):
            raise ValueError("two policies have the same line")
        return self


class StudyRecord(_RecordModel):
    """A study, as stored in the file ``studies/KEY.json``."""

    key: str
    title: str
    rerun: str
    trials: Positive
    first_trial: NonNegative
    points: Annotated[list[PointRecord], Field(min_length=1)]
    notes: list[str] = []
    claims: list[Claim] = []
    published: Published | None = None
    sweeps: list[SweepRecord] = []
    bounds: bool = False

    @model_validator(mode="after")
    def _check_points(self) -> Self:
        for number, point in enumerate(self.points, start=1):
            if point.sweep is None:
                known: list[str] = []
            elif point.sweep < len(self.sweeps):
                known = self.sweeps[point.sweep].parameters
            else:
                raise ValueError(f"point {number} refers to a sweep that does not exist")
            if point.point.keys() != set(known):
                raise ValueError(f"point {number} has other parameters than its sweep")
        return self

    @classmethod
    def of(
        cls, plans: Sequence[Plan], *, key: str, title: str, rerun: str = "", **more: Any
    ) -> StudyRecord:
        """Create the record of a study without writing it."""
        return cls(
            key=key,
            title=title,
            rerun=rerun,
            trials=plans[0].trials,
            first_trial=plans[0].first_trial,
            points=[
                PointRecord(
                    sweep=plan.sweep,
                    point=dict(plan.point),
                    problem=plan.problem,
                    policies={name: series_of(plan, name).name for name in plan.policies},
                    lines=dict(plan.lines),
                    rounds=list(plan.recording.rounds),
                    settings=plan.settings(),
                )
                for plan in plans
            ],
            **more,
        )

    @property
    def series(self) -> set[str]:
        """Series of all points."""
        return {series for point in self.points for series in point.policies.values()}

    def write(self, directory: Directory, plans: Sequence[Plan]) -> None:
        """Write the record and the problems of its points."""
        for plan in {plan.problem: plan for plan in plans}.values():
            directory.put_problem(plan.pack())
        directory.put_study(self.key, self.model_dump())


def read_record(directory: Directory, key: str) -> StudyRecord:
    """Read the record of a study; raise InputError if it is damaged."""
    try:
        # from JSON, because strict validation accepts lists as tuples only there
        record = StudyRecord.model_validate_json(json.dumps(directory.study(key)))
        wrong = "" if record.key == key else f"its key is '{record.key}'"
    except (ValidationError, RecursionError) as error:
        first = error.errors()[0] if isinstance(error, ValidationError) else None
        path = ".".join(map(str, first["loc"])) if first else ""
        message = first["msg"] if first else str(error)
        wrong = f"{path}: {message}" if path else message
    if wrong:
        path = str(directory.path / "studies" / f"{key}.json")
        raise InputError(f"{path} is damaged ({wrong}): {RUN_AGAIN}")
    return record


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
