"""Tests of study/experiment.py: parts of file names."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from graphbandits.study.experiment import MAX_PART_LENGTH, file_name_part


@settings(deadline=None)
@given(value=st.one_of(st.text(), st.floats(allow_nan=False), st.integers()))
def test_file_part_is_short_and_plain(value: str | float) -> None:
    part = file_name_part(value)
    assert re.fullmatch(r"[\w.+-]*", part)
    assert len(part) <= MAX_PART_LENGTH
    assert file_name_part(part) == part
