"""Special functions of scipy, which is imported when the first one is called.

The import takes about a sixth of the time of all imports of a live agent. The kernels do not use
these functions, so most decisions do not need them.
"""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    from scipy import special

    return getattr(special, name)
