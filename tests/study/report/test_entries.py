"""Tests of study/report.py: anchors and invalid entries."""

from __future__ import annotations

from helpers.bad_input import refuses
from helpers.report_pages import page_of, study, sweep_entry, swept

from graphbandits.errors import InputError
from graphbandits.study.claims import Claim, Published
from graphbandits.study.report import anchors


def test_invalid_sweeps_claims_and_keys_are_named() -> None:
    with refuses(InputError, match="the sweep is empty: pass"):
        sweep_entry("s", "S", "r", {}, "")
    with refuses(InputError, match=r"scale='log' needs values above 0, not 0\.0"):
        swept(scale="log")
    with refuses(InputError):
        page_of(study(key="a"), swept(key="a"))
    with refuses(InputError):
        page_of(study(claims=(Claim("x", ("idsn",), ("ts-n",)),)))
    with refuses(InputError):
        page_of(study(published=Published({"idsn": (1.0, 1.0)}, "a table")))


def test_anchors_are_unique_and_fit_into_an_address() -> None:
    keys = ["1a", "A b!", "a-b", "东京", "4"]
    assert anchors([study(key=key) for key in keys]) == [
        "study-1a",
        "study-a-b",
        "study-a-b-3",
        "study-4",
        "study-4-5",
    ]
