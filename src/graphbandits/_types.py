"""Names for the arrays that pass between the rooms; every array leads with the trial axis B."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
#: What a policy knows, as plain named arrays: saved as such, never pickled.
State = dict[str, NDArray[np.generic]]
