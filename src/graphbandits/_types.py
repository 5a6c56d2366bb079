"""Types of arrays. The first axis of every array is the trial, of length B."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
#: State of a policy or a posterior: named arrays, saved without pickle.
State = dict[str, NDArray[np.generic]]
