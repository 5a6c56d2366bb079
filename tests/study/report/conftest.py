"""Pages without drawn pictures, which take most of the time of a page."""

from __future__ import annotations

import pytest

from graphbandits.study import report


@pytest.fixture
def drawn_pictures() -> None:
    """Ask for real pictures."""


@pytest.fixture(autouse=True)
def quick_pictures(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace each picture by an address, unless real ones are asked for."""
    if "drawn_pictures" not in request.fixturenames:
        address = "data:image/webp;base64,"
        monkeypatch.setattr(
            report,
            "_picture",
            lambda draw, about: {"wide": f"{address}7", "narrow": f"{address}3", "about": about},
        )
