"""Tests of study/experiment.py: points, keys and names of files of a sweep."""

from __future__ import annotations

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from graphbandits.study.experiment import (
    MAX_PART_LENGTH,
    NOT_SWEEPABLE,
    SWEEPABLE,
    Experiment,
    RecordTable,
    SweepTable,
    file_name_part,
    keys_of,
)


@settings(deadline=None, max_examples=60)
@given(
    grid=st.dictionaries(
        st.sampled_from(["a", "b", "c", "horizon"]),
        st.lists(st.integers(1, 9), min_size=1, max_size=3, unique=True),
        min_size=1,
    )
)
def test_grid_equals_the_list_of_its_points(
    grid: dict[str, list[int]],
) -> None:
    wanted = [dict(zip(grid, p, strict=True)) for p in itertools.product(*grid.values())]
    assert SweepTable(grid=grid).points() == wanted
    assert SweepTable(list=wanted).points() == wanted


def test_long_values_have_distinct_file_names() -> None:
    graphs = [f"edges({' '.join(f'{i}-{i + 1}' for i in range(1, 40))} 1-{k})" for k in (5, 6)]
    sweep = SweepTable(parameter="graph", values=graphs)
    first, second = (file_name_part(str(point["graph"])) for point in sweep.points())
    assert first != second
    assert len(first) == len(second) == MAX_PART_LENGTH


def test_every_key_can_be_swept_or_is_listed_as_fixed() -> None:
    keys = {*keys_of(Experiment), *keys_of(RecordTable)}
    assert not SWEEPABLE.keys() & NOT_SWEEPABLE.keys()
    assert keys == SWEEPABLE.keys() | NOT_SWEEPABLE.keys()
