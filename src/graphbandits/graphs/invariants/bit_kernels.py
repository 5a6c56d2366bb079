"""Sets of arms as words of 64 bits."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphbandits.jit import kernel

Words = NDArray[np.uint64]

_0 = np.uint64(0)
_1 = np.uint64(1)
_2 = np.uint64(2)
_4 = np.uint64(4)
_56 = np.uint64(56)
_PAIRS = np.uint64(0x5555555555555555)
_FOURS = np.uint64(0x3333333333333333)
_EIGHTS = np.uint64(0x0F0F0F0F0F0F0F0F)
_SUMS = np.uint64(0x0101010101010101)


@kernel(inline=True)
def bits(word: np.uint64) -> int:
    """How many members a word has; compiled to one instruction where the machine has it."""
    word = word - ((word >> _1) & _PAIRS)
    word = (word & _FOURS) + ((word >> _2) & _FOURS)
    word = (word + (word >> _4)) & _EIGHTS
    return int((word * _SUMS) >> _56)


@kernel(inline=True)
def first(word: np.uint64) -> int:
    """The place of the lowest member of a word that has one."""
    return bits((word & (~word + _1)) - _1)


@kernel()
def pack(matrix: NDArray[np.bool_], words: Words) -> None:
    """Rows of a matrix (n, m) as bit sets (n, ceil(m / 64))."""
    words[:] = _0
    for i in range(matrix.shape[0]):
        for j in range(matrix.shape[1]):
            if matrix[i, j]:
                words[i, j >> 6] |= _1 << np.uint64(j & 63)
