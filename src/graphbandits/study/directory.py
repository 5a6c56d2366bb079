"""Directory of studies: shards, problems and records, written atomically."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import shutil
import warnings
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from graphbandits import __version__, _files
from graphbandits.errors import InputError, InputWarning, nearest
from graphbandits.simulation.identity import Series, facts_hash, series_of
from graphbandits.simulation.plan import Plan, Task
from graphbandits.simulation.shard import Shard
from graphbandits.study.claims import Claim, Published

#: Format of the directory. Another format raises an error.
FORMAT = 1
MANIFEST = "study.json"
IDENTITY_FILE = "identity.json"
_SHARD = re.compile(r"([0-9]{10})-([1-9][0-9]*)\.([0-9a-f]{64})\.parquet")
_HASH = re.compile(r"[0-9a-f]{64}")
#: Advice for most damaged or missing files.
RUN_AGAIN = "run the experiment again to repair it"


def read_errors() -> tuple[type[Exception], ...]:
    """Return the exceptions that reading a damaged file may raise."""
    from pyarrow import ArrowException  # after an error only: a simulation in memory has no files

    return (
        ArithmeticError,
        AttributeError,
        LookupError,
        OSError,
        RecursionError,
        TypeError,
        ValueError,
        ArrowException,
    )


@dataclass(frozen=True, order=True)
class ShardFile:
    """File of a shard: series, first trial, number of trials, and sha256 of the content."""

    series: str
    first: int
    trials: int
    checksum: str

    @classmethod
    def of(cls, series: str, name: str) -> ShardFile | None:
        """Parse the name of a file; None if it is not that of a shard."""
        match = _SHARD.fullmatch(name)
        return cls(series, int(match[1]), int(match[2]), match[3]) if match else None

    @property
    def end(self) -> int:
        return self.first + self.trials

    @property
    def name(self) -> str:
        return f"{self.first:010d}-{self.trials}.{self.checksum}.parquet"


@dataclass(frozen=True)
class ShardIndex:
    """Files that contain trials, in order and without overlap, and gaps as (first, trials)."""

    used: tuple[ShardFile, ...]
    gaps: tuple[tuple[int, int], ...]

    @property
    def missing(self) -> int:
        """Number of trials that no file contains."""
        return sum(trials for _, trials in self.gaps)


def index_shards(shards: Iterable[ShardFile], trials: int, first: int = 0) -> ShardIndex:
    """Select the shards that contain a range of trials, without overlap, and find the gaps.

    The selection has the maximum number of trials, and among those the minimum number of shards.
    Ties are broken by the end, the start and the name of the files, from the last one. The result
    depends only on the set of files.
    """
    end = first + trials
    inside = [file for file in shards if first <= file.first and file.end <= end]
    inside.sort(key=lambda file: (file.end, file.first, file.checksum))
    ends = [file.end for file in inside]
    # best[n]: (trials, -shards) of the first n files; taken[n - 1]: whether file n is used
    best: list[tuple[int, int]] = [(0, 0)]
    taken: list[bool] = []
    for number, file in enumerate(inside):
        have, count = best[bisect_right(ends, file.first, hi=number)]
        found = have + file.trials, count - 1
        taken.append(found > best[-1])
        best.append(max(found, best[-1]))
    used: list[ShardFile] = []
    number = len(inside)
    while number:
        if taken[number - 1]:
            file = inside[number - 1]
            used.append(file)
            number = bisect_right(ends, file.first, hi=number - 1)
        else:
            number -= 1
    used.reverse()
    return ShardIndex(tuple(used), tuple(_gaps(used, first, end)))


def _gaps(used: Sequence[ShardFile], first: int, end: int) -> list[tuple[int, int]]:
    starts = [first, *(file.end for file in used)]
    stops = [*(file.first for file in used), end]
    return [(at, stop - at) for at, stop in zip(starts, stops, strict=True) if at < stop]


class DamagedShardError(InputError):
    """The content of a shard is not what was written."""


class Directory:
    """Shards, problems and records of studies; see :meth:`create` and :meth:`open`."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def create(cls, path: str | Path) -> Directory:
        """Open a directory, and create it if it does not exist; other files in it stay."""
        directory = cls(_files.make_directory(Path(path)))
        manifest = directory.path / MANIFEST
        if not manifest.exists():
            entry = {"format": FORMAT, "made_by": f"graphbandits {__version__}"}
            # does not replace a manifest that another process has just written
            _files.write_new(manifest, (json.dumps(entry, indent=2) + "\n").encode())
        directory._check()
        return directory

    @classmethod
    def open(cls, path: str | Path) -> Directory:
        directory = cls(Path(path))
        if not os.path.lexists(directory.path / MANIFEST):
            is_there = os.path.isdir(directory.path)
            reason = f"it has no {MANIFEST}" if is_there else "the directory does not exist"
            raise InputError(
                f"{path} has no studies: {reason}; give the output directory of 'graphbandits run'"
            )
        directory._check()
        return directory

    def _check(self) -> None:
        path = self.path / MANIFEST
        entry = parse_json(_files.read_bytes(path, "description of a directory"))
        number = entry.get("format") if isinstance(entry, dict) else None
        if type(number) is not int:
            raise InputError(
                f"{path} is damaged: delete it and run the experiment again; the stored trials are "
                "kept and verified"
            )
        if number != FORMAT:
            raise InputError(
                f"{self.path} has studies of format {number}, but this version of graphbandits "
                f"reads format {FORMAT}: use the version that wrote them, or another directory"
            )

    # --- shards

    def series(self) -> list[str]:
        """List the names of all series."""
        return [name for name in list_names(self.path / "shards") if _HASH.fullmatch(name)]

    def shards(self, series: str) -> list[ShardFile]:
        """List the shards of a series by their file names; no file is read."""
        found = (ShardFile.of(series, name) for name in list_names(self.path / "shards" / series))
        return sorted(file for file in found if file is not None)

    def index(self, series: str, trials: int, first: int = 0) -> ShardIndex:
        """Select the shards that contain a range of trials, and find the gaps."""
        return index_shards(self.shards(series), trials, first)

    def path_of(self, file: ShardFile) -> Path:
        return self.path / "shards" / file.series / file.name

    def identity(self, series: str) -> dict[str, Any] | None:
        """Read what determines a series; None if it is missing, or not what its name says."""
        with suppress(*read_errors()):
            facts = parse_json(_files.read_regular(self.path / "shards" / series / IDENTITY_FILE))
            return facts if facts_hash(facts) == series else None
        return None

    def write(self, series: Series, shard: Shard, facts: Mapping[str, Any]) -> ShardFile:
        """Write a shard atomically.

        The facts must not vary between runs, because the file is named by its content.
        """
        data = shard.to_parquet({**facts, "series": series.name})
        file = ShardFile(series.name, shard.first, shard.trials, hashlib.sha256(data).hexdigest())
        self._describe(series)
        _files.write_bytes(make_directory(self.path_of(file).parent) / file.name, data)
        return file

    def _describe(self, series: Series) -> None:
        directory = make_directory(self.path / "shards" / series.name)
        text = json.dumps(series.facts, indent=1) + "\n"
        write_if_changed(directory / IDENTITY_FILE, text.encode())

    def read(self, file: ShardFile, rounds: int | None = None, trajectories: bool = True) -> Shard:
        """Read and verify a shard; ``rounds`` is the expected number of recorded rounds."""
        path = self.path_of(file)

        def damaged(reason: str) -> DamagedShardError:
            return DamagedShardError(f"the shard {path} {reason}: {RUN_AGAIN}")

        try:
            data = _files.read_regular(path)
        except FileNotFoundError:
            raise damaged("is missing") from None
        except (OSError, InputError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            if isinstance(error, OSError) and error.errno == errno.EIO:
                raise damaged(f"is damaged ({reason})") from None
            raise InputError(f"cannot read the shard {path}: {reason}") from None
        if hashlib.sha256(data).hexdigest() != file.checksum:
            raise damaged("is damaged (its sha256 differs from the one in its name)")
        try:
            shard, facts = Shard.from_parquet(data, trajectories)
            found = shard.first, shard.trials, facts["series"]
        except read_errors() as error:
            reason = str(error).split("\n")[0]
            raise damaged(f"is damaged ({reason})") from None
        if found != (file.first, file.trials, file.series):
            raise damaged("is damaged (its trials are not those in its name)")
        if rounds is not None and shard.regret.shape[1] != rounds:
            raise damaged(f"is damaged (it has {shard.regret.shape[1]} rounds, not {rounds})")
        if not np.isfinite(shard.regret).all():
            raise damaged("is damaged (a regret is not a finite number)")
        return shard

    # --- used by a run

    def missing(self, task: Task) -> tuple[tuple[int, int], ...]:
        """Return the trials of a task that no shard contains, as ranges (first, trials)."""
        series = series_of(task.plan, task.policy)
        return self.index(series.name, task.trials, task.first).gaps

    def put(self, task: Task, shard: Shard) -> bool:
        """Write the shard of a task; return whether it is new."""
        before = self.missing(task)
        series = series_of(task.plan, task.policy)
        self.write(series, shard, {"policy": task.policy, "cpu": shard.cpu})
        return bool(before)

    def remove_damaged(self, task: Task) -> None:
        """Read all shards of a task, and remove those that are damaged, with a warning."""
        series = series_of(task.plan, task.policy)
        self._describe(series)
        sound: set[ShardFile] = set()
        # after a shard is removed, others may replace it; these are read too
        while unread := set(self.index(series.name, task.trials, task.first).used) - sound:
            for file in sorted(unread):
                try:
                    self.read(file)
                    sound.add(file)
                except DamagedShardError as error:
                    path = self.path_of(file)
                    with _files.readable_errors(path):
                        path.unlink(missing_ok=True)
                    message = str(error).removesuffix(f": {RUN_AGAIN}")
                    warnings.warn(f"{message}; it is computed again", InputWarning, stacklevel=2)

    # --- problems and studies

    def put_problem(self, data: bytes) -> None:
        """Write a packed problem; its name is the sha256 of its content."""
        name = f"{hashlib.sha256(data).hexdigest()}.npz"
        write_if_changed(make_directory(self.path / "problems") / name, data)

    def problems(self) -> list[str]:
        names = list_names(self.path / "problems")
        return [name[:-4] for name in names if re.fullmatch(r"[0-9a-f]{64}\.npz", name)]

    def problem(self, name: str) -> bytes:
        path = self.path / "problems" / f"{name}.npz"
        if not path.exists():
            raise InputError(f"the problem {path} is missing: {RUN_AGAIN}")
        data = _files.read_bytes(path, "problem")
        if hashlib.sha256(data).hexdigest() != name:
            raise InputError(f"{path} is damaged: {RUN_AGAIN}")
        return data

    def put_study(self, record: StudyRecord) -> None:
        """Write the record of a study, and replace an earlier record."""
        path = self._study_path(record.key)
        text = json.dumps(record.model_dump(), indent=1, allow_nan=False)
        _files.write_text(make_directory(path.parent) / path.name, text + "\n")

    def study(self, key: str) -> StudyRecord:
        """Read the record of a study; raise InputError if it is missing or damaged."""
        path = self._study_path(key)
        if not os.path.lexists(path):
            known = self.studies()
            hint = nearest(key, known) if known else "there are none"
            raise InputError(f"no study '{key}' in {self.path}: {hint}")
        try:
            record = StudyRecord.model_validate_json(_files.read_bytes(path, "study"))
            wrong = "" if record.key == key else f"its key is '{record.key}'"
        except ValidationError as error:
            first = error.errors()[0]
            wrong = ".".join(map(str, first["loc"])) + f": {first['msg']}"
        if wrong:
            raise InputError(f"{path} is damaged ({wrong}): {RUN_AGAIN}")
        return record

    def studies(self) -> list[str]:
        names = list_names(self.path / "studies")
        return [name[:-5] for name in names if name.endswith(".json") and name[0] != "."]

    def _study_path(self, key: str) -> Path:
        if not re.fullmatch(r"[^./\\\0][^/\\\0]*", key):
            raise InputError(f"the key of a study must be a valid file name, not {key!r}")
        return self.path / "studies" / f"{key}.json"

    def remove(
        self, study: str | None, series: Iterable[str], problems: Iterable[str] = ()
    ) -> None:
        """Remove the record of a study, and then series and problems."""
        with _files.readable_errors(self.path):
            if study is not None:
                self._study_path(study).unlink(missing_ok=True)
            for name in series:
                shutil.rmtree(self.path / "shards" / name)
            for name in problems:
                (self.path / "problems" / f"{name}.npz").unlink(missing_ok=True)


def make_directory(path: Path) -> Path:
    with _files.readable_errors(path):
        path.mkdir(parents=True, exist_ok=True)
    return path


def list_names(path: Path) -> list[str]:
    """List the names in a directory, sorted; empty if it does not exist."""
    try:
        return sorted(os.listdir(path))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise InputError(f"cannot list {path}: {error.strerror}") from None


def write_if_changed(path: Path, data: bytes) -> None:
    """Write a file, unless it exists with the same content."""
    try:
        sound = _files.read_regular(path) == data
    except (OSError, InputError):
        sound = False
    if not sound:
        _files.write_bytes(path, data)


def parse_json(data: bytes) -> Any:
    """Parse JSON; return None if it is not valid."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


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
                    lines={name: plan.lines.get(name, name) for name in plan.policies},
                    rounds=list(plan.recording.rounds),
                    settings=plan.settings(),
                )
                for plan in plans
            ],
            **more,
        )

    @property
    def series(self) -> set[str]:
        return {series for point in self.points for series in point.policies.values()}

    def write(self, directory: Directory, plans: Sequence[Plan]) -> None:
        """Write the record and the problems of its points."""
        for plan in {plan.problem: plan for plan in plans}.values():
            directory.put_problem(plan.pack())
        directory.put_study(self)


def tasks_of_plans(plans: Sequence[Plan]) -> list[Task]:
    """Return a task with all trials for each series of the plans, without duplicates.

    Points of a sweep share the series of a policy that does not depend on the swept parameter.
    """
    tasks: dict[str, Task] = {}
    for plan in plans:
        for policy in plan.policies:
            name = series_of(plan, policy).name
            if name not in tasks or tasks[name].trials < plan.trials:
                tasks[name] = Task(plan, policy, plan.first_trial, plan.trials)
    return list(tasks.values())


@dataclass(frozen=True)
class Finding:
    """A damaged, missing or inconsistent file."""

    path: Path
    problem: str


def verify(directory: Directory, advance: Callable[[int], None] = lambda _: None) -> list[Finding]:
    """Verify every file; ``advance`` is called with 1 after each shard."""
    return [*_studies(directory), *_problems(directory), *_shards(directory, advance)]


def _finding(path: Path, error: InputError) -> Finding:
    return Finding(path, str(error).replace(f"the shard {path} ", "").replace(f"{path} ", ""))


def _studies(directory: Directory) -> Iterator[Finding]:
    for key in directory.studies():
        try:
            record = directory.study(key)
        except InputError as error:
            yield _finding(directory.path / "studies" / f"{key}.json", error)
            continue
        for name in dict.fromkeys(point.problem for point in record.points):
            path = directory.path / "problems" / f"{name}.npz"
            if not path.exists():
                yield Finding(path, f"is missing, but the study '{key}' needs it: {RUN_AGAIN}")


def _problems(directory: Directory) -> Iterator[Finding]:
    for name in directory.problems():
        try:
            directory.problem(name)
        except InputError as error:
            yield _finding(directory.path / "problems" / f"{name}.npz", error)


def _shards(directory: Directory, advance: Callable[[int], None]) -> Iterator[Finding]:
    for series in directory.series():
        files = directory.shards(series)
        if files and directory.identity(series) is None:
            path = directory.path / "shards" / series / "identity.json"
            yield Finding(path, f"is damaged or missing: {RUN_AGAIN}")
        # the regret of the trials that were read before, with their file and CPU type
        seen: dict[int, tuple[bytes, ShardFile, str]] = {}
        end = 0
        for file in files:
            path = directory.path_of(file)
            try:
                shard = directory.read(file)
            except InputError as error:
                yield _finding(path, error)
                continue
            finally:
                advance(1)
            if file.first >= end:
                seen.clear()
            end = max(end, file.end)
            for trial, row in enumerate(shard.regret, start=file.first):
                numbers, other, cpu = seen.setdefault(trial, (row.tobytes(), file, shard.cpu))
                if numbers != row.tobytes():
                    yield Finding(
                        path,
                        f"trial {trial} has other numbers than in {other.name} (computed on "
                        f"{shard.cpu} and {cpu}): delete one of the two files",
                    )
                    break
