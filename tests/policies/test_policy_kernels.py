"""Tests of policies/_policy_kernels.py."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.special import rel_entr

from graphbandits.policies._policy_kernels import upper_bound


@settings(deadline=None)  # the first example compiles the kernel
@given(st.floats(0.0, 1.0), st.floats(1e-6, 30.0))
def test_upper_bound_is_root_of_divergence(p: float, most: float) -> None:
    q = upper_bound(p, most)
    assert p <= q <= 1.0

    def excess(x: float) -> float:
        return float(rel_entr(p, x) + rel_entr(1.0 - p, 1.0 - x)) - most

    last = np.nextafter(1.0, 0.0)
    if p >= last or excess(last) <= 0.0:
        assert q >= last
    else:
        root = brentq(excess, max(p, 1e-300), last, xtol=1e-15, rtol=1e-14)
        # rounding moves the root if the divergence is flat
        slope = max((root - p) / (root * (1.0 - root)), 1e-300)
        assert abs(q - root) <= 1e-13 + 4e-15 / slope
